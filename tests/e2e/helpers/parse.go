// SPDX-License-Identifier: Apache-2.0

// What Go's standard library understands of each line of stdin (base64): into a struct, as servers in Go do it, so
// that keys fold; {id, method, name, whole} as JSON, or "error".
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
)

type message struct {
	ID     any    `json:"id"`
	Method string `json:"method"`
	Params struct {
		Name *string `json:"name"`
	} `json:"params"`
}

func write(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return []byte(`"error"`)
	}
	return bytes.TrimSpace(out.Bytes())
}

func view(line []byte) []byte {
	var m message
	var whole any
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if json.Unmarshal(line, &m) != nil || decoder.Decode(&whole) != nil {
		return []byte(`"error"`)
	}
	return write(map[string]any{"id": m.ID, "method": m.Method, "name": m.Params.Name, "whole": string(write(whole))})
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		line, _ := base64.StdEncoding.DecodeString(lines.Text())
		fmt.Println(string(view(line)))
	}
}
