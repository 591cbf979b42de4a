import { element } from "./element.js";

/** Shows the text of a source file in `host`, with a button that copies it. Lines that contain `marked` stand out. */
export function showCode(host, file, source, marked) {
  const copy = element("button", { type: "button", class: "quiet" }, ["Copy"]);
  copy.setAttribute("aria-label", `Copy ${file}`);
  const code = element("code");
  for (const line of source.trimEnd().split("\n")) code.append(...lineOf(line, marked), "\n");
  const text = element("pre", { tabindex: "0", role: "region", "aria-label": file }, [code]);
  copy.addEventListener("click", async () => {
    copy.textContent = await copyText(source, text);
    setTimeout(() => {
      copy.textContent = "Copy";
    }, 2000);
  });
  const head = element("div", { class: "code-head" }, [element("span", {}, [file]), copy]);
  host.replaceChildren(head, text);
}

function lineOf(line, marked) {
  if (/^\s*(\/\/|\/?\*)/.test(line)) return [element("span", { class: "comment" }, [line])];
  const at = marked === undefined ? -1 : line.indexOf(marked);
  if (at < 0) return [line];
  const found = element("mark", {}, [marked]);
  return [line.slice(0, at), found, line.slice(at + marked.length)];
}

/** Copies, or selects what could not be copied; says which. */
async function copyText(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    return "Copied";
  } catch {
    getSelection()?.selectAllChildren(shown);
    return "Selected";
  }
}
