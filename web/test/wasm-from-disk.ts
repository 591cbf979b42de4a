// The page's wasm module that the build left in dist/wasm, loaded into this process.

import { loadWellwritten } from "../src/load-wellwritten.ts";

await loadWellwritten({
  wasmUrl: new URL("../../dist/wasm/wellwritten_page_bg.wasm", import.meta.url),
});
