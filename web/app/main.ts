import { adviseOn } from "../src/format/error-advice.ts";
import { createSession, define, type SessionOptions, WellwrittenError } from "../src/index.ts";

/** The page: one demo session, kept in this browser's storage, and an inspector of it. */

const inspector = document.querySelector("wellwritten-inspector");
const opening = document.querySelector("#opening");
const happened = document.querySelector("#happened");
const retry = document.querySelector<HTMLButtonElement>("#retry");
if (inspector === null || opening === null || happened === null || retry === null) {
  throw new Error("index.html and main.ts do not belong together");
}

async function open(): Promise<void> {
  if (inspector === null || opening === null || happened === null || retry === null) return;
  retry.hidden = true;
  happened.textContent = "Opening the session…";
  opening.setAttribute("data-code", "");
  try {
    const options: SessionOptions = { sessionId: "demo", ...chosenByAddress(), resume: "ask" };
    inspector.session = await createSession(options);
    inspector.focus({ preventScroll: true });
  } catch (thrown) {
    const error = WellwrittenError.from(thrown);
    const { happened: what, safe, todo } = adviseOn(error);
    opening.setAttribute("data-code", error.code);
    happened.textContent = [what, safe, todo].join(" ");
    retry.hidden = false;
  }
}

/**
 * `?backend=cpu`, `?seed=42`, `?composition=counter` and with it `&mode=worker`, for a link to a particular session;
 * anything else is left alone. Another composition has a store of its own.
 */
function chosenByAddress(): SessionOptions {
  const query = new URLSearchParams(location.search);
  if (query.get("composition") === "counter") {
    const mode = query.get("mode");
    const isMode = mode === "worker" || mode === "isolated";
    return { sessionId: "counter", composition: "counter", ...(isMode ? { mode } : {}) };
  }
  const backend = query.get("backend");
  const seed = query.get("seed");
  return {
    ...(backend === "cpu" || backend === "webgpu" ? { backend } : {}),
    ...(seed !== null && /^[0-9]{1,19}$/.test(seed) ? { masterSeed: BigInt(seed) } : {}),
  };
}

retry.addEventListener("click", () => void open());
// The session of a page that was put aside has given its store back.
addEventListener("pageshow", (event) => {
  if (event.persisted) void open();
});

await define();
await open();
