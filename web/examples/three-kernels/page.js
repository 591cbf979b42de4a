// Runs the programs beside this file and shows what each of them was told.

import { WellwrittenError } from "wellwritten";
import { showCode } from "../code-block.js";
import { element } from "../element.js";
import { showReport } from "../unwritten-report.js";
import * as webgpu from "./guarded.js";
import webgpuSource from "./guarded.js?raw";
import * as host from "./guarded-host-kernels.js";
import hostSource from "./guarded-host-kernels.js?raw";
import * as raw from "./raw-webgpu.js";
import rawSource from "./raw-webgpu.js?raw";

const DUE = 2048;
const byId = (id) => document.getElementById(id);
const buttons = { run: byId("run"), lose: byId("lose"), recover: byId("recover") };

/** One of the two programs: its device, and what its last run left to read. */
class Side {
  device;
  outputs = [];

  constructor(name, program) {
    this.name = name;
    this.program = program;
  }

  /** Computes anew. What throws is told like a failed read. */
  async run() {
    for (const output of this.outputs) (output.free ?? output.destroy).call(output);
    this.outputs = [];
    try {
      this.outputs = this.program.compute(this.device);
    } catch (thrown) {
      this.show([], thrown);
      return;
    }
    await this.read();
  }

  async read() {
    const { device, outputs, program } = this;
    const answers = await Promise.allSettled(outputs.map((output) => program.read(device, output)));
    const refusals = answers.filter(({ status }) => status === "rejected");
    this.show(answers, refusals[0]?.reason);
  }

  /** Three rows, and under them the first thing the program was told other than a value. */
  show(answers, told) {
    const rows = [0, 1, 2].map((index) => rowOf(index, answers[index]));
    byId(`${this.name}-rows`).replaceChildren(...rows);
    byId(`${this.name}-told`).replaceChildren(...toldOf(told));
  }
}

function rowOf(index, answer) {
  const [verdict, text, read] = verdictOn(answer);
  return element("tr", { "data-verdict": verdict, "data-testid": `row-${index + 1}` }, [
    element("th", { scope: "row" }, [`output ${index + 1}`]),
    element("td", { class: "num" }, [String(DUE)]),
    element("td", { class: "num value" }, [read]),
    element("td", {}, [element("span", { class: `verdict ${verdict}` }, [text])]),
  ]);
}

function verdictOn(answer) {
  if (answer === undefined) return ["refused", "not run", "–"];
  if (answer.status === "rejected")
    return ["refused", answer.reason instanceof WellwrittenError ? "refused" : "rejected", "–"];
  const read = String(answer.value);
  return answer.value === DUE ? ["right", "right", read] : ["stale", "stale, unnoticed", read];
}

function toldOf(thrown) {
  if (thrown === undefined)
    return [
      element("p", { class: "nothing" }, ["Nothing. No exception, no rejected promise."]),
      element("p", { class: "soft" }, ["Every call returned and every await resolved."]),
    ];
  if (thrown instanceof WellwrittenError) return showReport(thrown);
  const name = thrown instanceof Error ? thrown.name : "Error";
  return [
    element("p", {}, [element("code", { class: "code" }, [name]), ` ${thrown.message ?? thrown}`]),
    element("p", { class: "soft" }, ["Which work was lost, and which bytes with it, is not said."]),
  ];
}

/** `raw` where there is WebGPU; `guarded` always, with functions for kernels where there is none. */
const sides = {};
let lost = false;
let busy = false;

async function open() {
  const wantsCpu = new URLSearchParams(location.search).get("backend") === "cpu";
  const device = wantsCpu ? undefined : await raw.open().catch(() => undefined);
  const source = device === undefined ? hostSource : webgpuSource;
  sides.guarded = new Side("guarded", device === undefined ? host : webgpu);
  sides.guarded.device = await sides.guarded.program.open();
  sides.guarded.device.addEventListener("lost", ({ detail }) => {
    lost = true;
    say(`The device is lost (${detail.reason}). Each read says so, until you recover.`);
    if (!busy) showButtons();
  });
  showCode(byId("raw-code"), "raw-webgpu.js", rawSource, "deu");
  const file = device === undefined ? "guarded-host-kernels.js" : "guarded.js";
  showCode(byId("guarded-code"), file, source, "deu");
  byId("raw-absent").hidden = device !== undefined;
  byId("raw-present").hidden = device === undefined;
  if (device === undefined) {
    byId("raw-why").textContent = wantsCpu
      ? "You asked for the CPU with ?backend=cpu."
      : "This browser gives this page no WebGPU adapter.";
  } else {
    sides.raw = new Side("raw", raw);
    sides.raw.device = device;
  }
  const { kind, adapter } = sides.guarded.device.backend();
  byId("backend").textContent = kind === "webgpu" ? `WebGPU · ${adapter}` : "CPU · host kernels";
  await run();
}

async function run() {
  await Promise.all([runRaw(), sides.guarded.run()]);
  const { generation } = sides.guarded.device;
  const answers = sides.raw === undefined ? "" : " The same typo, two answers.";
  say(
    lost
      ? `Device generation ${generation} is lost, so nothing ran. Recover it first.`
      : `Ran on device generation ${generation}.${answers}`,
  );
}

/**
 * Its own program asks for no error, so nobody would see the one there is; the page asks, to show it here rather than
 * in the console. One scope keeps one error of many, and says it after the program has gone on.
 */
async function runRaw() {
  const { raw: side } = sides;
  if (side === undefined) return;
  side.device.pushErrorScope("validation");
  await side.run();
  const error = await side.device.popErrorScope().catch(() => null);
  byId("overheard").hidden = error === null;
  byId("overheard-text").textContent = error?.message.trim().split("\n")[0] ?? "";
}

async function lose() {
  sides.raw?.device.destroy();
  sides.guarded.device.lose();
  byId("overheard").hidden = true;
  await Promise.all([sides.raw?.read(), sides.guarded.read()]);
}

async function recover() {
  await sides.guarded.device.recover();
  lost = false;
  if (sides.raw !== undefined) {
    sides.raw.device = await raw.open();
    sides.raw.outputs = [];
  }
  await run();
}

function say(text) {
  byId("status").textContent = text;
}

/** Runs one thing at a time, and says what stopped it. */
async function act(work) {
  busy = true;
  for (const button of Object.values(buttons)) button.disabled = true;
  try {
    await work();
  } catch (thrown) {
    say(thrown instanceof Error ? thrown.message : String(thrown));
  }
  busy = false;
  showButtons();
  document.body.dataset.ready = "true";
}

function showButtons() {
  const hasDevice = sides.guarded?.device !== undefined;
  buttons.run.disabled = !hasDevice;
  buttons.lose.disabled = !hasDevice || lost;
  buttons.recover.disabled = !hasDevice || !lost;
  document.body.dataset.lost = String(lost);
}

buttons.run.addEventListener("click", () => act(run));
buttons.lose.addEventListener("click", () => act(lose));
buttons.recover.addEventListener("click", () => act(recover));
await act(open);
