// Oracle: plain arithmetic on arrays says what each read is due, and a read gives exactly that or names the failure it
// came from; on real WebGPU and on the CPU alike. A refused call changes nothing that can be asked for.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { openHostPage } from "./package-host.mjs";

let host;
let page;
before(async () => {
  host = await openHostPage();
  ({ page } = host);
});
after(async () => {
  await host.close();
  assert.deepEqual(host.complaints, []);
});

const BACKENDS = ["webgpu", "cpu"];

test("the program in the README, pasted as it is, prints what it says", async () => {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const [, program] = /## The guarded device\n.*?```js\n(.*?)```/s.exec(readme);
  const body = program.replace('"wellwritten"', '"/pkg/wellwritten.js"');
  await page.route("**/readme.js", (route) =>
    route.fulfill({ contentType: "text/javascript", body }),
  );
  const printed = [];
  const listen = (message) => printed.push(message.args()[0]);
  page.on("console", listen);
  await page.evaluate(() => import("/readme.js"));
  page.off("console", listen);
  const values = await Promise.all(
    printed.map((handle) => handle.evaluate((value) => (value.length ? [...value] : value))),
  );
  const [doubled, code, root] = values.map((value, index) => (index > 0 ? value.join("") : value));
  assert.deepEqual(
    doubled,
    Array.from({ length: 64 }, (_, index) => 2 * index),
  );
  assert.equal(code, "UNWRITTEN");
  const [, promised] = /\/\/ (shader `misspelt` failed to compile: line \d+, column \d+)/.exec(
    program,
  );
  assert.ok(root.startsWith(promised), root);
  assert.equal(printed.length, 3);
});

test("reservations, writes, launches, copies, slices and reads give what arithmetic gives", async () => {
  const found = await page.evaluate(async () => {
    const { backends, both, bytesOf, open, ask, read, write } = await import("/kernels.js");
    const results = {};
    for (const backend of backends) {
      const { device, kernel } = await open(backend);
      const [a, b] = [device.alloc(512, { label: "a" }), device.alloc(16)];
      const part = a.slice(256, 272);
      const answers = { fresh: await ask(device, part) };
      device.write(part, bytesOf(1, 2, 3, 4));
      device.launch(kernel("set 7"), [write(b)], [1]);
      device.launch(kernel("add"), [read(part), both(b)], [1, 1, 1]);
      const states = (slice) => device.taint(slice).map(({ state }) => state);
      answers.soon = states(b);
      device.copy(b, part);
      device.write(a.slice(260, 264), bytesOf(90));
      answers.sum = await ask(device, b);
      answers.later = states(b);
      answers.copied = await ask(device, part.buffer.slice(256, 272));
      answers.rest = new Set(await ask(device, a.slice(0, 256))).size;
      answers.names = [a.label, b.label, a.sizeBytes, part.buffer === a, a.whole().buffer === a];
      answers.ids = a.bufferId < b.bufferId;
      answers.generation = String(device.generation);
      answers.settled = (await device.settled()) === undefined;
      const { launches, bytesWritten, bytesCopied, bytesRead, failedUnits, skippedUnits } =
        device.counters();
      answers.counters = [
        launches,
        bytesWritten,
        bytesCopied,
        bytesRead,
        failedUnits,
        skippedUnits,
      ];
      answers.counters = answers.counters.map(Number);
      answers.limits = Object.values(device.limits()).every((limit) => typeof limit === "number");
      answers.failures = device.failures().failures.length;
      device.close();
      results[backend] = answers;
    }
    return results;
  });
  const sum = [7 + 1, 7 + 2, 7 + 3, 7 + 4];
  for (const backend of BACKENDS)
    assert.deepEqual(
      found[backend],
      {
        fresh: [0, 0, 0, 0],
        soon: [backend === "webgpu" ? "pending" : "trusted"],
        later: ["trusted"],
        sum,
        copied: sum.with(1, 90),
        rest: 1,
        names: ["a", "unnamed", 512, true, true],
        ids: true,
        generation: "1",
        settled: true,
        counters: [2, 16 + 4, 16, 16 + 16 + 16 + 256, 0, 0],
        limits: true,
        failures: 0,
      },
      backend,
    );
});

test("a wrong argument of any kind is a typed error, and nothing has changed", async () => {
  const found = await page.evaluate(async () => {
    const { backends, both, bytesOf, open, outcome, read, write } = await import("/kernels.js");
    const { createGuardedDevice } = await import("/pkg/wellwritten.js");
    const everything = async (device, buffer) => {
      await device.settled();
      return JSON.stringify(
        [
          ...[device.counters(), device.memory(), device.failures(), device.generation],
          ...[device.taint(buffer), [...(await device.read(buffer))]],
        ],
        (key, value) =>
          key === "bytesRead" ? undefined : typeof value === "bigint" ? `${value}` : value,
      );
    };
    const results = {};
    for (const backend of backends) {
      const { device, kernel } = await open(backend);
      const other = await open(backend);
      const [buffer, copy, freed] = [device.alloc(1024), device.alloc(1024), device.alloc(16)];
      const foreign = other.device.alloc(1024);
      freed.free();
      const set = kernel("set 7");
      device.write(buffer.slice(0, 4), bytesOf(42));
      const before = await everything(device, buffer);
      const launch = (bindings, groups) => () => device.launch(set, bindings, groups);
      const numbers = { nan: Number.NaN, minus: -1, half: 0.5, large: 2 ** 53, endless: Infinity };
      const others = { text: "4", none: null, nothing: undefined, big: 4n, object: {}, list: [4] };
      const calls = {};
      for (const [name, value] of Object.entries({ ...numbers, ...others })) {
        calls[`alloc ${name}`] = () => device.alloc(value);
        calls[`slice from ${name}`] = () => buffer.slice(value, 8);
        calls[`slice to ${name}`] = () => buffer.slice(0, value);
        calls[`workgroups ${name}`] = launch([write(buffer)], [value]);
        if (value !== undefined) {
          calls[`workgroups in z ${name}`] = launch([write(buffer)], [1, 1, value]);
          calls[`spans ${name}`] = () => device.taint(buffer, { spans: value });
        }
      }
      const wrong = { text: "buffer", none: null, nothing: undefined, number: 4, object: {} };
      for (const [name, value] of Object.entries(wrong)) {
        calls[`write to ${name}`] = () => device.write(value, new Uint8Array(4));
        calls[`write of ${name}`] = () => device.write(buffer, value);
        calls[`copy from ${name}`] = () => device.copy(value, copy);
        calls[`copy to ${name}`] = () => device.copy(copy, value);
        calls[`read ${name}`] = () => device.read(value);
        calls[`taint ${name}`] = () => device.taint(value);
        calls[`launch ${name}`] = () => device.launch(value, [write(buffer)], [1]);
        calls[`bindings ${name}`] = launch(value, [1]);
        calls[`binding ${name}`] = launch([value], [1]);
        calls[`bound ${name}`] = launch([write(value)], [1]);
        calls[`access ${name}`] = launch([{ slice: buffer, access: value }], [1]);
        calls[`groups ${name}`] = launch([write(buffer)], value);
        calls[`kernel ${name}`] = () => device.kernel(value);
        calls[`run ${name}`] = () => device.kernel({ label: "k", run: value });
        calls[`window ${name}`] = () => device.window(value);
        if (name !== "text") {
          calls[`wgsl ${name}`] = () => device.kernel({ label: "k", wgsl: value });
          calls[`kernel named ${name}`] = () => device.kernel({ label: value, wgsl: "" });
          if (value !== undefined) {
            calls[`alloc named ${name}`] = () => device.alloc(16, { label: value });
            calls[`window named ${name}`] = () => device.window(() => {}, { label: value });
            calls[`entry point ${name}`] = () =>
              device.kernel({ label: "k", wgsl: "", entryPoint: value });
          }
        }
        if (value !== undefined && name !== "object") {
          calls[`alloc options ${name}`] = () => device.alloc(16, value);
          calls[`create options ${name}`] = () => createGuardedDevice(value);
        }
      }
      calls["write of words"] = () => device.write(buffer, new Uint32Array(1024));
      calls["write of a list"] = () => device.write(buffer, Array(1024).fill(1));
      const gone = new Uint8Array(1024);
      structuredClone(gone.buffer, { transfer: [gone.buffer] });
      calls["write of what is gone"] = () => device.write(buffer, gone);
      const tagged = { [Symbol.toStringTag]: "Uint8Array", length: 1024 };
      calls["write of a tag"] = () => device.write(buffer, tagged);
      const long = Object.defineProperty(new Uint8Array(4), "length", { value: 1024 });
      calls["write of a length"] = () => device.write(buffer, long);
      calls["write of less"] = () => device.write(buffer, new Uint8Array(1020));
      calls["copy of less"] = () => device.copy(buffer.slice(0, 512), copy);
      calls["access unknown"] = launch([{ slice: buffer, access: "scribble" }], [1]);
      calls["no workgroups"] = launch([write(buffer)], [0]);
      calls["a hole in the bindings"] = launch(Array(1), [1]);
      calls["a hole in the workgroups"] = launch([write(buffer)], Array(3));
      const forged = (real) => Object.create(Object.getPrototypeOf(real));
      calls["kernel that was not made"] = () => device.launch(forged(set), [write(buffer)], [1]);
      calls["slice that was not made"] = () => device.taint(forged(buffer.whole()));
      const throwing = {
        get field() {
          throw new Error("in the middle of wasm");
        },
      };
      calls["backend that throws"] = () => createGuardedDevice({ backend: throwing });
      calls["limit that throws"] = () =>
        createGuardedDevice({ backend, requiredLimits: { maxBufferSize: throwing } });
      calls["four workgroups"] = launch([write(buffer)], [1, 1, 1, 1]);
      calls["empty binding"] = launch([write(buffer.slice(256, 256))], [1]);
      const form = backend === "cpu" ? { wgsl: "fn f() {}" } : { run: () => {} };
      const alien = device.kernel({ label: "alien", ...form });
      calls["kernel of the other backend"] = () => device.launch(alien, [write(buffer)], [1]);
      calls["backend unknown"] = () => createGuardedDevice({ backend: "quantum" });
      calls["option unknown"] = () => createGuardedDevice({ backend, speed: 9 });
      calls["limit unknown"] = () => createGuardedDevice({ backend, requiredLimits: { size: 1 } });
      const coded = {
        ALIGNMENT: {
          size: () => device.alloc(10),
          offset: launch([write(buffer.slice(4, 8))], [1]),
          length: launch([write(buffer.slice(0, 6))], [1]),
          read: () => device.read(buffer.slice(1, 5)),
          write: () => device.write(buffer.slice(2, 6), new Uint8Array(4)),
          copy: () => device.copy(buffer.slice(2, 6), copy.slice(0, 4)),
        },
        BAD_HANDLE: {
          bounds: () => buffer.slice(0, 1028),
          reversed: () => buffer.slice(8, 4),
          "write freed": () => device.write(freed, new Uint8Array(16)),
          "read freed": () => device.read(freed),
          "copy freed": () => device.copy(freed, copy.slice(0, 16)),
          "taint freed": () => device.taint(freed),
          "launch freed": launch([write(freed)], [1]),
          "write foreign": () => device.write(foreign, new Uint8Array(1024)),
          "read foreign": () => device.read(foreign),
          "copy foreign": () => device.copy(buffer, foreign),
          "taint foreign": () => device.taint(foreign),
          "launch foreign": launch([write(foreign)], [1]),
        },
        BINDING_CONFLICT: {
          twice: launch([read(buffer), both(buffer)], [1]),
          slices: launch([read(buffer.slice(0, 256)), write(buffer.slice(512, 768))], [1]),
          "copy within": () => device.copy(buffer.slice(0, 4), buffer.slice(512, 516)),
        },
        NOT_RESERVED: { nothing: () => device.alloc(0) },
        LIMIT_EXCEEDED: {
          size: () => device.alloc(2 ** 40),
          groups: launch([write(buffer)], [1, 65_536]),
          wrapped: launch([write(buffer)], [2 ** 32 + 1]),
          bindings: launch(Array(9).fill(read(buffer)), [1]),
        },
      };
      const odd = [];
      let count = 0;
      const expect = async (name, call, code) => {
        count += 1;
        const error = await outcome(call);
        const typed = error?.name === "WellwrittenError" && error.code === code;
        if (!typed || error.message.length < 12)
          odd.push([name, code, String(error?.code), String(error?.message)]);
      };
      for (const [name, call] of Object.entries(calls)) {
        await expect(
          name,
          call,
          name === "workgroups large" ? "INVALID_ARGUMENT" : "INVALID_ARGUMENT",
        );
      }
      for (const [code, named] of Object.entries(coded))
        for (const [name, call] of Object.entries(named)) await expect(name, call, code);
      const after = await everything(device, buffer);
      device.launch(set, [write(copy)], [64]);
      const works = new Set(await device.read(copy)).size;
      const limit = (await outcome(() => device.alloc(2 ** 40))).context;
      const exceeded = { ...limit, requested: `${limit.requested}`, granted: `${limit.granted}` };
      results[backend] = { odd, count, same: after === before, works, exceeded };
      if (after !== before) results[backend].difference = [before, after];
      device.close();
      other.device.close();
    }
    return results;
  });
  for (const backend of BACKENDS) {
    const { odd, count, same, works, exceeded, difference } = found[backend];
    assert.deepEqual(odd, [], backend);
    assert.ok(count > 150, `${count} calls`);
    assert.equal(same, true, `${backend}: ${difference}`);
    assert.equal(works, 2, "bytes 7, 0, 0, 0: the device still computes");
    const { what, ...numbers } = exceeded;
    assert.deepEqual(numbers, {
      limit: "maxBufferSize",
      requested: "1099511627776",
      granted: "268435456",
    });
    assert.ok(what.length > 0);
  }
});

test("UNWRITTEN's context is the report: the root, the skips after it, and the bytes", async () => {
  const found = await page.evaluate(async () => {
    const { backends, both, open, ask, read, write } = await import("/kernels.js");
    const results = {};
    for (const backend of backends) {
      const { device, kernel } = await open(backend);
      const [a, b, c] = ["a", "b", "c"].map((label) => device.alloc(512, { label }));
      const add = kernel("add");
      device.launch(kernel("broken"), [write(a.slice(256, 272))], [1]);
      await device.settled();
      device.launch(add, [read(a.slice(256, 272)), both(b.slice(0, 16))], [1]);
      device.copy(b.slice(0, 16), c.slice(128, 144));
      const plain = (span) => ({ ...span, start: Number(span.start), end: Number(span.end) });
      const state = ({ start, end, state: found, failureId }) => [
        Number(start),
        Number(end),
        found,
        failureId === undefined ? null : "failure",
      ];
      const refusal = await ask(device, c);
      const { code, message, context } = refusal;
      const { label, start, end, ranges, failures, steps } = context;
      results[backend] = {
        code,
        root: message.includes("no_such_value"),
        read: [label, Number(start), Number(end)],
        ranges: ranges.map((range) => [plain(range).start, plain(range).end, range.state]),
        failures: failures.map(({ kind, work }) => [kind, work]),
        located: /line \d+, column \d+/.test(failures[0].message),
        steps: steps.map(({ work, needed, produced }) => [work, needed.label, produced.label]),
        sound: await ask(device, c.slice(0, 4)),
        spans: device.taint(c).map(state),
        two: device.taint(c, { spans: 2 }).map(state),
        one: device.taint(c, { spans: 1 }).map(state),
        part: device.taint(c.slice(136, 200)).map(state),
        graph: device.failures().failures[0].carriers.map((carrier) => carrier.label),
        skipped: Number(device.counters().skippedUnits),
      };
      device.launch(kernel("set 5"), [write(b.slice(0, 16))], [1]);
      device.copy(b.slice(0, 16), c.slice(128, 144));
      results[backend].again = await ask(device, c.slice(128, 144));
      a.free();
      await device.settled();
      results[backend].carried = device.failures().failures.flatMap(({ carriers }) => carriers);
      device.close();
    }
    return results;
  });
  const trusted = (start, end) => [start, end, "trusted", null];
  const skipped = (start, end) => [start, end, "skipped", "failure"];
  for (const backend of BACKENDS) {
    const { located, failures, steps, ...rest } = found[backend];
    assert.equal(located, backend === "webgpu");
    const kind = backend === "webgpu" ? "shader" : "host-kernel";
    assert.deepEqual(failures, [[kind, "kernel broken"]]);
    assert.deepEqual(
      steps.map(([, needed, produced]) => [needed, produced]),
      [
        ["a", "b"],
        ["b", "c"],
      ],
    );
    assert.match(steps[0][0], /add/);
    assert.match(steps[1][0], /copy/);
    assert.deepEqual(
      rest,
      {
        code: "UNWRITTEN",
        root: true,
        read: ["c", 0, 512],
        ranges: [[128, 144, "skipped"]],
        sound: [0],
        spans: [trusted(0, 128), skipped(128, 144), trusted(144, 512)],
        two: [skipped(0, 256), trusted(256, 512)],
        one: [skipped(0, 512)],
        part: [skipped(136, 144), trusted(144, 200)],
        graph: ["a", "b", "c"],
        skipped: 2,
        again: [5, 5, 5, 5],
        carried: [],
      },
      backend,
    );
  }
});

test("a window records what runs and replays it as one unit; what is wrong with it is told by code", async () => {
  const found = await page.evaluate(async () => {
    const { backends, both, bytesOf, open, ask, outcome, read, write } = await import(
      "/kernels.js"
    );
    const results = {};
    for (const backend of backends) {
      const { device, kernel } = await open(backend);
      const code = async (call) => (await outcome(call))?.code ?? "fine";
      const [a, b] = ["a", "b"].map((label) => device.alloc(16, { label }));
      const add = kernel("add");
      const record = () => {
        device.launch(add, [read(a), both(b)], [1]);
        device.copy(b, a);
      };
      device.write(a, bytesOf(1, 1, 1, 1));
      const graph = await device.window(record, { label: "doubling" });
      const before = Number(device.counters().submissions);
      for (let time = 0; time < 9; time += 1) graph.replay();
      const doubled = await ask(device, a);
      const answers = {
        doubled,
        batched: backend === "cpu" || Number(device.counters().submissions) - before < 9,
        named: [graph.label, graph.units],
        nested: null,
      };
      await device.window(() => {
        answers.nested = device.window(() => {}).catch((error) => error.code);
      });
      answers.nested = await answers.nested;
      const mine = new RangeError("mine");
      answers.thrown = await device
        .window(() => {
          throw mine;
        })
        .catch((error) => error === mine);
      class Late extends Promise {}
      answers.promised = await code(() => device.window(async () => {}));
      answers.derived = await code(() => device.window(() => Late.resolve()));
      const doomed = await outcome(() =>
        device.window(() => device.launch(kernel("broken"), [write(a)], [1]), { label: "bad" }),
      );
      answers.doomed = [doomed.code, doomed.context.work, doomed.context.failure.kind];
      answers.cause = doomed.context.failure.message.includes("no_such_value");
      const skipping = device.counters().skippedUnits;
      graph.replay();
      answers.skipped = Number(device.counters().skippedUnits - skipping) > 0;
      answers.refused = (await ask(device, b)).code;
      device.write(a, bytesOf(0, 0, 0, 0));
      device.write(b, bytesOf(0, 0, 0, 0));
      const inner = await device.window(() => graph.replay());
      device.write(a, bytesOf(3, 3, 3, 3));
      inner.replay();
      answers.nestedReplay = await ask(device, b);
      b.free();
      answers.freed = [await code(() => graph.replay()), await code(() => inner.replay())];
      device.lose();
      answers.lost = await code(() => graph.replay());
      await device.recover();
      answers.recovered = await code(() => graph.replay());
      answers.losing = await code(() => device.window(() => device.lose()));
      device.close();
      answers.closed = [
        await code(() => graph.replay()),
        await code(() => device.window(() => {})),
      ];
      results[backend] = answers;
    }
    return results;
  });
  for (const backend of BACKENDS) {
    // a = b after each step, b += a: recorded once and replayed nine times.
    let [a, b] = [1, 0];
    for (let step = 0; step < 10; step += 1) [a, b] = [b + a, b + a];
    assert.deepEqual(
      found[backend],
      {
        doubled: Array(4).fill(a),
        batched: true,
        named: ["doubling", 2],
        nested: "BUSY",
        thrown: true,
        promised: "INVALID_ARGUMENT",
        derived: "INVALID_ARGUMENT",
        doomed: ["WINDOW_DOOMED", "kernel broken", backend === "webgpu" ? "shader" : "host-kernel"],
        cause: true,
        skipped: true,
        refused: "UNWRITTEN",
        nestedReplay: [3, 3, 3, 3],
        freed: ["BAD_HANDLE", "BAD_HANDLE"],
        lost: "DEVICE_LOST",
        recovered: "DEVICE_LOST",
        losing: "DEVICE_LOST",
        closed: ["CLOSED", "CLOSED"],
      },
      backend,
    );
  }
});

test("what is written is what the array holds, whatever it says of itself and wherever it was made", async () => {
  const found = await page.evaluate(async () => {
    const { backends, bytesOf, open, ask, outcome } = await import("/kernels.js");
    class Liar extends Uint8Array {
      get length() {
        return 16;
      }
      get byteLength() {
        return 16;
      }
      get byteOffset() {
        return 0;
      }
    }
    const frame = document.body.appendChild(document.createElement("iframe"));
    const Foreign = frame.contentWindow.Uint8Array;
    const results = {};
    for (const backend of backends) {
      const { device } = await open(backend);
      const buffer = device.alloc(16);
      const told = async (call) => (await outcome(call))?.code ?? (await ask(device, buffer));
      device.write(buffer, bytesOf(7, 7, 7, 7));
      const { write: alone } = device;
      const memory = bytesOf(0, 1, 2, 3, 4, 5).buffer;
      results[backend] = {
        short: await told(() => device.write(buffer, new Liar(4))),
        none: await told(() => device.write(buffer, new Liar(0))),
        untouched: await ask(device, buffer),
        liar: await told(() => device.write(buffer, new Liar(memory, 4, 16))),
        foreign: await told(() => device.write(buffer, new Foreign(bytesOf(9, 8, 7, 6)))),
        // No error of ours, and nothing has ended: the device goes on.
        alone: await told(async () => alone(buffer, new Uint8Array(16))),
        after: await ask(device, buffer),
      };
      device.close();
    }
    frame.remove();
    return results;
  });
  for (const backend of BACKENDS)
    assert.deepEqual(
      found[backend],
      {
        short: "INVALID_ARGUMENT",
        none: "INVALID_ARGUMENT",
        untouched: [7, 7, 7, 7],
        liar: [1, 2, 3, 4],
        foreign: [9, 8, 7, 6],
        alone: [9, 8, 7, 6],
        after: [9, 8, 7, 6],
      },
      backend,
    );
});

test("memory figures tell live bytes from those that pages take, and trim gives the pages back", async () => {
  const found = await page.evaluate(async () => {
    const { backends, open } = await import("/kernels.js");
    const results = {};
    for (const backend of backends) {
      const { device } = await open(backend);
      const figures = () => {
        const { buffers, liveBytes, takenBytes, pageBytes, pages } = device.memory();
        return [buffers, liveBytes, takenBytes, pageBytes, pages].map(Number);
      };
      const start = figures();
      const [small, large] = [device.alloc(20), device.alloc(3 << 20)];
      const full = figures();
      small.free();
      large.free();
      large.free();
      await device.settled();
      const freed = figures();
      device.trim();
      results[backend] = { start, full, freed, trimmed: figures() };
      device.close();
    }
    return results;
  });
  for (const backend of BACKENDS) {
    const { start, full, freed, trimmed } = found[backend];
    assert.deepEqual(start, [0, 0, 0, 0, 0]);
    const [buffers, live, taken, page_, pages] = full;
    assert.deepEqual([buffers, live], [2, 20 + 3 * 1024 * 1024]);
    assert.ok(taken >= live && page_ >= taken && pages >= 1, `${full}`);
    assert.deepEqual(freed.slice(0, 3), [0, 0, 0]);
    assert.equal(freed[3], page_, "what is free stays committed until it is trimmed");
    assert.deepEqual(trimmed, start);
  }
});

test("events: what settles, is lost and recovers is told, and listeners may use the device and throw", async () => {
  const found = await page.evaluate(async () => {
    const { backends, bytesOf, open, ask, outcome, write } = await import("/kernels.js");
    const results = {};
    for (const backend of backends) {
      const { device, kernel } = await open(backend);
      const told = [];
      let settled = 0;
      let inside;
      const count = () => {
        settled += 1;
      };
      device.addEventListener("settled", count);
      device.addEventListener("lost", ({ detail }) => {
        told.push(["lost", /destroyed/.test(detail.reason)]);
        inside = outcome(() => device.alloc(4));
      });
      device.addEventListener("recovered", ({ detail }) => told.push(["recovered", detail]));
      device.addEventListener("error", ({ detail }) => told.push(["error", detail.message]));
      const buffer = device.alloc(16);
      device.launch(kernel("set 3"), [write(buffer)], [1]);
      await device.settled();
      const heard = settled > 0;
      device.removeEventListener("settled", count);
      settled = 0;
      device.launch(kernel("set 4"), [write(buffer)], [1]);
      await device.settled();
      device.lose();
      const during = told.length;
      device.lose();
      const refused = (await ask(device, buffer)).context.failures[0].kind;
      const codes = [];
      for (const call of [
        () => device.write(buffer, bytesOf(1, 1, 1, 1)),
        () => device.launch(kernel("set 1"), [write(buffer)], [1]),
        () => device.copy(buffer, buffer),
        () => device.window(() => {}),
      ])
        codes.push((await outcome(call)).code);
      await Promise.all([device.recover(), device.recover()]);
      await device.recover();
      const young = device.alloc(16);
      device.launch(kernel("set 5"), [write(young)], [1]);
      const works = await ask(device, young);
      const old = (await ask(device, buffer)).code;
      const generation = Number(device.generation);
      device.close();
      device.close();
      const ended = (await outcome(() => device.recover())).code;
      results[backend] = { heard, settled, told, inside: (await inside).code, refused };
      Object.assign(results[backend], { during, codes, works, old, generation, ended });
    }
    return results;
  });
  for (const backend of BACKENDS)
    assert.deepEqual(
      found[backend],
      {
        heard: backend === "webgpu",
        settled: 0,
        during: 0,
        told: [
          ["lost", true],
          ["recovered", null],
        ],
        inside: "DEVICE_LOST",
        refused: "device-lost",
        codes: ["DEVICE_LOST", "DEVICE_LOST", "DEVICE_LOST", "DEVICE_LOST"],
        works: [5, 5, 5, 5],
        old: found[backend].old,
        generation: 2,
        ended: "CLOSED",
      },
      backend,
    );
  for (const backend of BACKENDS)
    assert.match(found[backend].old, /^(UNWRITTEN|DEVICE_LOST)$/, "never the bytes");
});

test("an error outside every scope, of whoever else has the device, is told by `error` and claims what it may have hit", async () => {
  const found = await page.evaluate(async () => {
    const { requestDevice } = GPUAdapter.prototype;
    let raw;
    GPUAdapter.prototype.requestDevice = async function (...options) {
      raw = await requestDevice.apply(this, options);
      return raw;
    };
    const { open, ask, write } = await import("/kernels.js");
    const { device, kernel } = await open("webgpu");
    GPUAdapter.prototype.requestDevice = requestDevice;
    const told = new Promise((resolve) => {
      device.addEventListener("error", ({ detail }) => resolve(detail));
      setTimeout(resolve, 10_000, { message: "nothing for 10 s" });
    });
    const buffer = device.alloc(16);
    device.launch(kernel("set 6"), [write(buffer)], [1]);
    raw.createShaderModule({ code: "nothing_like_wgsl" });
    const answer = ask(device, buffer);
    const { message, claimed } = await told;
    const { code } = await answer;
    device.launch(kernel("set 8"), [write(buffer)], [1]);
    const later = await ask(device, buffer);
    device.close();
    return { message, claimed, code: code ?? (await answer), later };
  });
  assert.match(found.message, /nothing_like_wgsl|parsing WGSL/);
  assert.ok(Number.isInteger(found.claimed), `${found.claimed} submissions`);
  // Sound, spoiled, or sound but read by a copy that is itself in doubt: never bytes of before.
  if (typeof found.code === "string") assert.match(found.code, /^(UNWRITTEN|TRANSFER)$/);
  else assert.deepEqual(found.code, [6, 6, 6, 6]);
  assert.deepEqual(found.later, [8, 8, 8, 8]);
  // The browser itself prints what no scope caught; nothing else may be printed.
  const { complaints } = host;
  const others = complaints.filter((text) => !/nothing_like_wgsl|parsing WGSL/.test(text));
  complaints.splice(0, complaints.length, ...others);
});

test("after close every call that would do work says so, and what only tells still tells", async () => {
  const found = await page.evaluate(async () => {
    const { backends, open, outcome, write } = await import("/kernels.js");
    const results = {};
    for (const backend of backends) {
      const { device, kernel } = await open(backend);
      const [a, b] = [device.alloc(16), device.alloc(16)];
      const set = kernel("set 3");
      const flight = outcome(() => device.read(a));
      device.close();
      const calls = {
        alloc: () => device.alloc(4),
        write: () => device.write(a, new Uint8Array(16)),
        copy: () => device.copy(a, b),
        launch: () => device.launch(set, [write(a)], [1]),
        window: () => device.window(() => {}),
        recover: () => device.recover(),
      };
      const codes = {};
      for (const [name, call] of Object.entries(calls)) codes[name] = (await outcome(call))?.code;
      for (const call of ["backend", "limits", "counters", "memory", "failures", "trim", "lose"])
        device[call]();
      await device.settled();
      a.free();
      const settled = await Promise.race([
        flight.then((answer) => ["UNWRITTEN", undefined].includes(answer.code)),
        new Promise((resolve) => setTimeout(resolve, 5000, "still open")),
      ]);
      results[backend] = { codes: [...new Set(Object.values(codes))], settled };
    }
    return results;
  });
  for (const backend of BACKENDS)
    assert.deepEqual(found[backend], { codes: ["CLOSED"], settled: true }, backend);
});

test("20 calls of every kind on top of each other: all settle, each read with the value of its moment", async () => {
  const found = await page.evaluate(async () => {
    const { backends, bytesOf, open, ask, outcome, write } = await import("/kernels.js");
    const results = {};
    for (const backend of backends) {
      const { device, kernel } = await open(backend);
      const buffer = device.alloc(16);
      const broken = kernel("broken");
      const reads = [];
      for (let round = 0; round < 20; round += 1) {
        if (round % 5 === 4) device.launch(broken, [write(buffer)], [1]);
        else device.write(buffer, bytesOf(round, round, round, round));
        reads.push(ask(device, buffer).then((answer) => answer.code ?? answer[3]));
      }
      const windows = Array.from({ length: 20 }, () =>
        outcome(() => device.window(() => device.write(buffer, bytesOf(1, 2, 3, 4)))).then(
          (answer) => answer.code ?? "sealed",
        ),
      );
      const settled = Array.from({ length: 20 }, () => device.settled());
      const recovers = Array.from({ length: 20 }, () => device.recover());
      await Promise.all([...settled, ...recovers]);
      results[backend] = {
        reads: await Promise.all(reads),
        windows: [...new Set(await Promise.all(windows))].sort(),
        generation: Number(device.generation),
      };
      device.close();
    }
    return results;
  });
  const due = Array.from({ length: 20 }, (_, round) => (round % 5 === 4 ? "UNWRITTEN" : round));
  for (const backend of BACKENDS)
    assert.deepEqual(
      found[backend],
      { reads: due, windows: ["BUSY", "sealed"], generation: 1 },
      backend,
    );
});

test("host kernels: copies of their bindings, failures in their own words, no way into the device", async () => {
  const found = await page.evaluate(async () => {
    const { both, bytesOf, open, ask, outcome, read } = await import("/kernels.js");
    const { device } = await open("cpu");
    const other = await open("cpu");
    const [a, b, spare] = [device.alloc(16), device.alloc(16), device.alloc(16)];
    const run = (label, body, bindings = [read(a), both(b)]) => {
      device.launch(device.kernel({ label, run: body }), bindings, [2, 3, 4]);
    };
    device.write(a, bytesOf(1, 2, 3, 4));
    let kept;
    run("sum", ([from, to], [x, y, z]) => {
      to.set(from.map((word) => word * x * y * z));
      from.fill(99);
      kept = to;
    });
    kept.fill(77);
    const answers = { sum: await ask(device, b), input: await ask(device, a) };
    const failing = async (label, body) => {
      run(label, body);
      const { code, context } = await ask(device, b);
      device.write(b, bytesOf(0, 0, 0, 0));
      return [code, context?.failures[0].message];
    };
    answers.thrown = await failing("thrown", () => {
      throw new TypeError("no such luck");
    });
    answers.text = await failing("text", () => {
      throw "just words";
    });
    answers.promised = await failing("promised", async () => {});
    answers.thenable = await failing("thenable", () => ({
      // biome-ignore lint/suspicious/noThenProperty: that is what is tested.
      then() {},
    }));
    const frame = document.body.appendChild(document.createElement("iframe"));
    const ForeignPromise = frame.contentWindow.Promise;
    answers.foreign = await failing("foreign", () => ForeignPromise.resolve());
    frame.remove();
    class Unspeakable extends Error {
      get message() {
        throw new Error("in the middle of wasm");
      }
    }
    answers.unspeakable = await failing("unspeakable", () => {
      throw new Unspeakable();
    });
    answers.endless = await failing("endless", function endless() {
      endless();
    });
    answers.moved = await failing("moved", ([, to]) => {
      structuredClone(to.buffer, { transfer: [to.buffer] });
    });
    answers.hidden = await failing("hidden", ([, to]) => {
      structuredClone(to.buffer, { transfer: [to.buffer] });
      Object.defineProperty(to, "length", { value: 4 });
    });
    run("longer", ([, to]) => {
      to.fill(6);
      Object.defineProperty(to, "length", { value: 5 });
    });
    answers.longer = await ask(device, b);
    device.write(b, bytesOf(0, 0, 0, 0));
    run("replaced", (arrays) => {
      arrays[1] = "nothing like it";
    });
    answers.replaced = await ask(device, b);
    const graph = await device.window(() => device.write(spare, bytesOf(1, 1, 1, 1)));
    const calls = {
      alloc: () => device.alloc(4),
      write: () => device.write(a, bytesOf(5, 5, 5, 5)),
      read: () => device.read(a),
      launch: () => run("inner", () => {}),
      replay: () => graph.replay(),
      window: () => device.window(() => {}),
      settled: () => device.settled(),
      recover: () => device.recover(),
      lose: () => device.lose(),
      close: () => device.close(),
      memory: () => device.memory(),
    };
    answers.inside = {};
    for (const [name, call] of Object.entries(calls)) {
      let promise;
      run(name, () => {
        promise = outcome(call);
      });
      answers.inside[name] = (await promise)?.code;
    }
    let elsewhere;
    run("elsewhere", () => {
      elsewhere = other.device.alloc(4).sizeBytes;
      spare.free();
    });
    answers.elsewhere = elsewhere;
    answers.input2 = await ask(device, a);
    answers.spare = (await ask(device, spare)).code;
    device.close();
    other.device.close();
    return answers;
  });
  const { inside, thrown, text, promised, moved, ...others } = found;
  const { thenable, foreign, unspeakable, endless, hidden, ...rest } = others;
  assert.deepEqual(rest, {
    sum: [24, 48, 72, 96],
    input: [1, 2, 3, 4],
    longer: [6, 6, 6, 6],
    replaced: [0, 0, 0, 0],
    elsewhere: 4,
    input2: [1, 2, 3, 4],
    spare: "BAD_HANDLE",
  });
  const failures = [thrown, text, promised, moved, thenable, foreign, unspeakable, endless, hidden];
  for (const [code, message] of failures) assert.equal(code, "UNWRITTEN", message);
  assert.match(thrown[1], /`thrown`.*no such luck/);
  assert.match(text[1], /`text`.*just words/);
  assert.match(promised[1], /`promised`.*promise/);
  assert.match(moved[1], /`moved`.*binding 1 away/);
  for (const [, message] of [thenable, foreign]) assert.match(message, /returned a promise/);
  assert.match(unspeakable[1], /`unspeakable`.*cannot be shown/);
  assert.match(endless[1], /`endless`.*call stack/);
  assert.match(hidden[1], /`hidden`.*binding 1 away/);
  assert.deepEqual([...new Set(Object.values(inside))], ["BUSY"], JSON.stringify(inside));
});

test("what is read is the reader's own: it stays as it is while wasm memory grows and the buffer is overwritten", async () => {
  const found = await page.evaluate(async () => {
    const { backends, open } = await import("/kernels.js");
    const SIZE = 16 << 20;
    const results = {};
    for (const backend of backends) {
      const { device } = await open(backend);
      const buffer = device.alloc(SIZE);
      const pattern = (seed) => {
        const words = new Uint32Array(SIZE / 4);
        for (let i = 0; i < words.length; i += 1) words[i] = Math.imul(i ^ seed, 2654435761);
        return new Uint8Array(words.buffer);
      };
      const differs = (bytes, expected) => {
        if (bytes.length !== expected.length) return true;
        return bytes.some((byte, index) => byte !== expected[index]);
      };
      const [first, second] = [pattern(1), pattern(2)];
      device.write(buffer, first);
      const reading = device.read(buffer);
      // Each write stages a copy, and each buffer has its books: wasm memory grows while the read is under way.
      const others = [];
      for (let i = 0; i < 300; i += 1)
        others.push(device.alloc(4 + 4 * i, { label: "x".repeat(4000) }));
      device.write(buffer, second);
      const bytes = await reading;
      const right = !differs(bytes, first);
      const again = await device.read(buffer);
      for (let i = 0; i < 300; i += 1) others.push(device.alloc(4, { label: "y".repeat(4000) }));
      device.write(buffer, first);
      results[backend] = {
        right,
        kept: !differs(bytes, first),
        again: !differs(again, second),
        own: bytes.byteOffset === 0 && bytes.buffer.byteLength === SIZE,
        canary: differs(bytes, second),
      };
      device.close();
    }
    return results;
  });
  for (const backend of BACKENDS)
    assert.deepEqual(
      found[backend],
      { right: true, kept: true, again: true, own: true, canary: true },
      backend,
    );
});
