// Drives the simulation beside this file and draws it.

import { WellwrittenError } from "wellwritten";
import { showCode } from "../code-block.js";
import * as life from "./life.js";
import source from "./life.js?raw";

const REPLAYS = 100;
const byId = (id) => document.getElementById(id);
const buttons = ["replay", "anew", "broken"].map(byId);

let field;
let graph;
let generation = 0;

let lost = false;

async function open() {
  showCode(byId("code"), "life.js", source);
  await openField();
  await begin();
}

async function openField() {
  const wantsCpu = new URLSearchParams(location.search).get("backend") === "cpu";
  field = await life.open(wantsCpu ? "cpu" : "auto");
  lost = false;
  field.device.addEventListener("lost", ({ detail }) => {
    lost = true;
    say(`The device is lost (${detail.reason}), and every byte on it. Record anew on another.`);
  });
  const { kind, adapter, reason } = field.device.backend();
  byId("backend").textContent =
    kind === "webgpu" ? `WebGPU · ${adapter}` : `CPU · host kernels${reason ? ` (${reason})` : ""}`;
}

/** Seeds the field and records; recording runs the two steps, too. */
async function begin() {
  if (lost) {
    field.device.close();
    await openField();
  }
  life.seed(field, firstCells());
  const counts = await life.counted(field, async () => {
    graph = await life.record(field);
  });
  generation = 2;
  draw(await life.replay(field, graph, 0), counts);
  say("Recorded: two launches and a copy. They ran once.");
}

async function replay() {
  let cells;
  const counts = await life.counted(field, async () => {
    cells = await life.replay(field, graph, REPLAYS);
  });
  generation += 2 * REPLAYS;
  draw(cells, counts);
  say(`Replayed ${REPLAYS} times. Each replay is one unit: it succeeds or fails as a whole.`);
}

/** A window in which anything fails gives no graph, however late the failure is known. */
async function broken() {
  const refusal = await life.record(field, "fn main() { nothing_like_it(); }").then(
    () => "It was sealed: on the CPU the kernel is a function, and has no typo.",
    (error) => refusalOf(error),
  );
  await begin();
  say(refusal);
}

function refusalOf(error) {
  if (!(error instanceof WellwrittenError && error.is("WINDOW_DOOMED"))) return error.message;
  const { work, failure } = error.context;
  return `${error.code}, so there is no graph. ${work} failed: ${failure.message}. Recorded anew, without the typo.`;
}

/** The same cells every time: a plain congruential sequence, about a third of them alive. */
function firstCells() {
  const cells = new Uint32Array(life.SIDE * life.SIDE);
  let state = 42;
  for (let index = 0; index < cells.length; index += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    cells[index] = state >>> 16 < 22_000 ? 1 : 0;
  }
  return cells;
}

function draw(cells, { submissions, launches }) {
  const canvas = byId("field");
  const context = canvas.getContext("2d");
  const picture = context.createImageData(life.SIDE, life.SIDE);
  const alive = Uint8ClampedArray.of(47, 179, 163, 255);
  for (const [index, cell] of cells.entries()) if (cell === 1) picture.data.set(alive, 4 * index);
  context.putImageData(picture, 0, 0);
  const living = cells.reduce((sum, cell) => sum + cell, 0);
  const facts = { generation, living, launches, submissions, units: graph.units };
  for (const [name, value] of Object.entries(facts)) byId(name).textContent = String(value);
}

function say(text) {
  byId("status").textContent = text;
}

async function act(work) {
  for (const button of buttons) button.disabled = true;
  try {
    await work();
  } catch (thrown) {
    say(thrown instanceof Error ? thrown.message : String(thrown));
  }
  for (const button of buttons) button.disabled = graph === undefined;
  document.body.dataset.ready = "true";
}

byId("replay").addEventListener("click", () => act(replay));
byId("anew").addEventListener("click", () => act(begin));
byId("broken").addEventListener("click", () => act(broken));
await act(open);
