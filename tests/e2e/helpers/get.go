// SPDX-License-Identifier: Apache-2.0

// A static client without the C library: prints the body of each address in its arguments.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	for _, address := range os.Args[1:] {
		reply, err := http.Get(address)
		if err != nil {
			fmt.Println("error:", err)
			continue
		}
		body, _ := io.ReadAll(reply.Body)
		fmt.Print(string(body))
	}
}
