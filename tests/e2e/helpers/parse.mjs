// SPDX-License-Identifier: Apache-2.0
// What JavaScript understands of each line of stdin (base64, because a line may hold anything): {id, method, name,
// whole} as JSON, or "error". `whole` is the value as JavaScript itself writes it, or null in a batch.
import { readFileSync } from "node:fs";

for (const encoded of readFileSync(0, "latin1").split("\n").slice(0, -1)) {
  let view = "error";
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(encoded, "base64"));
    const value = JSON.parse(text);
    view = { id: value?.id ?? null, method: value?.method ?? null, name: value?.params?.name ?? null, whole: JSON.stringify(value) };
  } catch { /* it is no JSON */ }
  console.log(JSON.stringify(view));
}
