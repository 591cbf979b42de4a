// Oracle: the published package, in a page that is not ours and under a strict policy, does what its documentation
// says, and a read on the guarded device is the right value or names the shader at fault; never an old value.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { wasmModules } from "../../scripts/build/wasm.mjs";
import { openHostPage } from "./package-host.mjs";

const root = new URL("../../", import.meta.url);

let host;
let page;
let complaints;

before(async () => {
  host = await openHostPage();
  ({ page, complaints } = host);
});
after(async () => {
  await host.close();
  assert.deepEqual(complaints, []);
});

function expectThreeKernels(answers) {
  const [first, middle, last, rewritten] = answers;
  assert.deepEqual(first, [2048]);
  assert.deepEqual(last, [2050]);
  assert.equal(middle.code, "UNWRITTEN");
  assert.match(
    middle.root,
    /shader `middle` failed to compile: line 4, column \d+: .*no_such_value/,
  );
  assert.match(middle.message, /middle/);
  assert.deepEqual(rewritten, [512], "writing the bytes again recovers them");
}

/** What a strict compiler says of a declaration file, for a user who does not skip those of libraries. */
function compilerOn(file) {
  const strict = ["--ignoreConfig", "--noEmit", "--skipLibCheck", "false", "--target", "es2022"];
  const library = ["--lib", "es2023,dom,dom.iterable,dom.asynciterable,esnext"];
  const tsc = fileURLToPath(new URL("node_modules/.bin/tsc", root));
  return spawnSync(tsc, [...strict, ...library, file], { encoding: "utf8" });
}

test("every type the package's declarations name is declared", () => {
  for (const { stem } of wasmModules) {
    const declarations = fileURLToPath(new URL(`pkg/types/${stem}.d.ts`, root));
    const { status, stdout } = compilerOn(declarations);
    assert.equal(status, 0, stdout);
  }
  const folder = mkdtempSync(`${tmpdir()}/declarations-`);
  const dangling = `${folder}/dangling.d.ts`;
  writeFileSync(dangling, "export type Spec = { kernel: KernelNobodyDeclared };\n");
  const canary = compilerOn(dangling);
  rmSync(folder, { recursive: true });
  assert.notEqual(canary.status, 0, "canary: a name that nobody declares is found");
  assert.match(canary.stdout, /KernelNobodyDeclared/);
});

test("the public three-kernel case, in a page", async () => {
  const { backend, answers } = await page.evaluate(async () => {
    const { createGuardedDevice } = await import("/pkg/wellwritten.js");
    const { threeKernels } = await import("/three-kernels.js");
    const device = await createGuardedDevice({ backend: "webgpu" });
    const result = { backend: device.backend().kind, answers: await threeKernels(device) };
    device.close();
    return result;
  });
  assert.equal(backend, "webgpu");
  expectThreeKernels(answers);
});

test("the public three-kernel case, in a worker", async () => {
  const { backend, answers } = await page.evaluate(
    () =>
      new Promise((resolve, reject) => {
        const worker = new Worker("/in-worker.js", { type: "module" });
        worker.onmessage = ({ data }) => {
          worker.terminate();
          resolve(data);
        };
        worker.onerror = ({ message }) => reject(new Error(message));
      }),
  );
  assert.equal(backend, "webgpu");
  expectThreeKernels(answers);
});

test("canary: the same case on plain WebGPU does return old values without an error", async () => {
  // What the guard is for. Should a browser stop doing this, the case above proves less than it says.
  const words = await page.evaluate(async () => {
    const adapter = await navigator.gpu.requestAdapter();
    const device = await adapter.requestDevice();
    device.addEventListener("uncapturederror", (event) => event.preventDefault());
    const { COPY_SRC, COPY_DST, STORAGE, MAP_READ } = GPUBufferUsage;
    const buffer = device.createBuffer({ size: 4, usage: COPY_SRC | COPY_DST | STORAGE });
    device.queue.writeBuffer(buffer, 0, new Uint32Array([512]));
    const code = `@group(0) @binding(0) var<storage, read_write> output: array<u32>;
      @compute @workgroup_size(1) fn main() { output[0] = no_such_value; }`;
    const layout = device.createBindGroupLayout({
      entries: [{ binding: 0, visibility: GPUShaderStage.COMPUTE, buffer: { type: "storage" } }],
    });
    const pipeline = device.createComputePipeline({
      layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module: device.createShaderModule({ code }) },
    });
    const group = device.createBindGroup({
      layout,
      entries: [{ binding: 0, resource: { buffer } }],
    });
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(1);
    pass.end();
    device.queue.submit([encoder.finish()]);
    const staging = device.createBuffer({ size: 4, usage: COPY_DST | MAP_READ });
    const copy = device.createCommandEncoder();
    copy.copyBufferToBuffer(buffer, 0, staging, 0, 4);
    device.queue.submit([copy.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const found = [...new Uint32Array(staging.getMappedRange())];
    device.destroy();
    return found;
  });
  assert.deepEqual(words, [512]);
  // The browser itself prints the invalid shader of this test; nothing else may be printed.
  complaints.splice(
    0,
    complaints.length,
    ...complaints.filter((text) => !/no_such_value/.test(text)),
  );
});

test("mistakes are typed errors that name limit, request and grant, and change nothing", async () => {
  const errors = await page.evaluate(async () => {
    const { createGuardedDevice } = await import("/pkg/wellwritten.js");
    const device = await createGuardedDevice({ backend: "webgpu" });
    const other = await createGuardedDevice({ backend: "webgpu" });
    const buffer = device.alloc(1024, { label: "buffer" });
    const wgsl = `@group(0) @binding(0) var<storage, read_write> a: array<u32>;
      @compute @workgroup_size(1) fn main() { a[0] = 7u; }`;
    const kernel = device.kernel({ label: "seven", wgsl });
    const bind = (slice, access = "read-write") => [{ slice, access }];
    const freed = device.alloc(16);
    freed.free();
    const calls = {
      large: () => device.alloc(2 ** 40),
      odd: () => device.alloc(10),
      zero: () => device.alloc(0),
      dispatch: () => device.launch(kernel, bind(buffer), [70_000]),
      offset: () => device.launch(kernel, bind(buffer.slice(4, 8)), [1]),
      twice: () =>
        device.launch(kernel, [...bind(buffer), ...bind(buffer.slice(512, 1024), "read")], [1]),
      bounds: () => buffer.slice(0, 2048),
      length: () => device.write(buffer, new Uint8Array(4)),
      foreign: () => other.write(buffer, new Uint8Array(1024)),
      access: () => device.launch(kernel, bind(buffer, "scribble"), [1]),
      none: () => device.launch(kernel, bind(buffer), [0]),
      half: () => device.launch(kernel, bind(buffer), [1.5]),
      notANumber: () => device.launch(kernel, bind(buffer), [Number.NaN]),
      negative: () => device.launch(kernel, bind(buffer), [1, -1]),
      wrapped: () => device.launch(kernel, bind(buffer), [2 ** 32 + 1]),
      wrappedSize: () => device.alloc(2 ** 64 + 4096),
      halfSlice: () => buffer.slice(0, 4.5),
      freed: () => device.write(freed, new Uint8Array(16)),
      freedRead: () => device.read(freed),
      freedTwice: () => freed.free(),
    };
    const found = {};
    for (const [name, call] of Object.entries(calls)) {
      try {
        await call();
        found[name] = null;
      } catch (error) {
        found[name] = { name: error.name, code: error.code, message: error.message };
      }
    }
    const untouched = [...new Set(await device.read(buffer))];
    device.close();
    other.close();
    return { found, untouched };
  });
  const codes = Object.fromEntries(
    Object.entries(errors.found).map(([name, error]) => [name, error?.code ?? null]),
  );
  assert.deepEqual(codes, {
    large: "LIMIT_EXCEEDED",
    odd: "ALIGNMENT",
    zero: "NOT_RESERVED",
    dispatch: "LIMIT_EXCEEDED",
    offset: "ALIGNMENT",
    twice: "BINDING_CONFLICT",
    bounds: "BAD_HANDLE",
    length: "INVALID_ARGUMENT",
    foreign: "BAD_HANDLE",
    access: "INVALID_ARGUMENT",
    none: "INVALID_ARGUMENT",
    half: "INVALID_ARGUMENT",
    notANumber: "INVALID_ARGUMENT",
    negative: "INVALID_ARGUMENT",
    wrapped: "LIMIT_EXCEEDED",
    wrappedSize: "INVALID_ARGUMENT",
    halfSlice: "INVALID_ARGUMENT",
    freed: "BAD_HANDLE",
    freedRead: "BAD_HANDLE",
    freedTwice: null,
  });
  assert.match(errors.found.large.message, /maxBufferSize.*1099511627776.*268435456/);
  assert.match(errors.found.dispatch.message, /maxComputeWorkgroupsPerDimension.*70000.*65535/);
  assert.deepEqual(errors.untouched, [0]);
});

test("a read is of the moment it is asked for, whatever is done to the buffer next", async () => {
  const found = await page.evaluate(async () => {
    const { createGuardedDevice } = await import("/pkg/wellwritten.js");
    const results = {};
    for (const backend of ["webgpu", "cpu"]) {
      const device = await createGuardedDevice({ backend });
      const wgsl = `@group(0) @binding(0) var<storage, read_write> a: array<u32>;
        @compute @workgroup_size(1) fn main() { a[0] = no_such_value; }`;
      const broken = device.kernel(
        backend === "webgpu"
          ? { label: "broken", wgsl }
          : {
              label: "broken",
              run: () => {
                throw new Error("broken");
              },
            },
      );
      const first = async (then) => {
        const buffer = device.alloc(16);
        device.write(buffer, new Uint8Array(16).fill(1));
        const read = device.read(buffer);
        then(buffer);
        return read.then(
          (bytes) => bytes[0],
          (error) => error.code,
        );
      };
      results[backend] = [
        await first((buffer) => device.write(buffer, new Uint8Array(16).fill(2))),
        await first((buffer) => device.launch(broken, [{ slice: buffer, access: "write" }], [1])),
        await first((buffer) => buffer.free()),
        await first((buffer) => {
          buffer.free();
          device.write(device.alloc(16), new Uint8Array(16).fill(3));
        }),
      ];
      device.close();
    }
    return results;
  });
  assert.deepEqual(found, { webgpu: [1, 1, 1, 1], cpu: [1, 1, 1, 1] });
});

test("losing the device refuses every read by name until it is recovered", async () => {
  const answers = await page.evaluate(async () => {
    const { createGuardedDevice } = await import("/pkg/wellwritten.js");
    const { threeKernels } = await import("/three-kernels.js");
    const device = await createGuardedDevice({ backend: "webgpu" });
    const buffer = device.alloc(256, { label: "precious" });
    device.write(buffer, new Uint8Array(256).fill(9));
    const inFlight = Array.from({ length: 10 }, () =>
      device.read(buffer).then(
        () => "bytes",
        (e) => e.code,
      ),
    );
    device.lose();
    const during = await Promise.all(inFlight);
    const afterLoss = await device.read(buffer).catch((error) => `${error.code} ${error.message}`);
    const launch = (() => {
      try {
        device.alloc(16);
      } catch (error) {
        return error.code;
      }
    })();
    await device.recover();
    const old = await device.read(buffer).catch((error) => error.code);
    const again = await threeKernels(device);
    const generation = String(device.generation);
    device.close();
    return { during, afterLoss, launch, old, again, generation };
  });
  assert.deepEqual(new Set(answers.during), new Set(["UNWRITTEN"]));
  assert.match(answers.afterLoss, /^UNWRITTEN .*lost/s);
  assert.equal(answers.launch, "DEVICE_LOST");
  assert.notEqual(answers.old, "bytes");
  assert.equal(answers.generation, "2");
  expectThreeKernels(answers.again);
});

test("a CPU device takes functions, and fails by their own words", async () => {
  const answers = await page.evaluate(async () => {
    const { createGuardedDevice } = await import("/pkg/wellwritten.js");
    const device = await createGuardedDevice({ backend: "cpu" });
    const words = device.alloc(16, { label: "words" });
    const double = device.kernel({
      label: "double",
      run: ([buffer], [groups]) => buffer.set(buffer.map((word) => word * 2 + groups)),
    });
    const broken = device.kernel({
      label: "broken",
      run: () => {
        throw new Error("no such luck");
      },
    });
    device.write(words, new Uint8Array(new Uint32Array([1, 2, 3, 4]).buffer));
    device.launch(double, [{ slice: words, access: "read-write" }], [3]);
    const good = [...new Uint32Array((await device.read(words)).buffer)];
    device.launch(broken, [{ slice: words, access: "read-write" }], [1]);
    const bad = await device.read(words).catch((error) => error.message);
    const spans = device.taint(words).map(({ state }) => state);
    const after = async (label, run) => {
      const buffer = device.alloc(16);
      device.launch(device.kernel({ label, run }), [{ slice: buffer, access: "write" }], [1]);
      return device.read(buffer).catch((error) => error.message);
    };
    const promise = await after("late", async () => {});
    const reentrant = await after("reentrant", () => device.alloc(4));
    device.close();
    return { good, bad, spans, promise, reentrant };
  });
  assert.match(answers.promise, /returned a promise/);
  assert.match(answers.reentrant, /cannot call the device that runs it/);
  assert.deepEqual(answers.good, [5, 7, 9, 11]);
  assert.match(answers.bad, /kernel `broken` failed on the CPU: no such luck/);
  assert.deepEqual(answers.spans, ["failed"]);
});

test("a session without any UI: exact events, queued calls, typed errors, nothing left behind", async () => {
  const found = await page.evaluate(async () => {
    const { createSession } = await import("/pkg/wellwritten.js");
    const session = await createSession({
      sessionId: "headless",
      store: "memory",
      agents: [{ agentId: "solo" }],
    });
    const boundaries = [];
    session.addEventListener("boundary", ({ detail }) => boundaries.push(Number(detail.boundary)));
    await Promise.all(Array.from({ length: 20 }, () => session.step()));
    const { boundary, phase } = await session.status();
    const errors = {};
    const rejected = async (name, call) => {
      errors[name] = await call().then(
        () => null,
        (error) => error.code,
      );
    };
    await rejected("resume", () => session.resume());
    await rejected("restore", () => session.restore());
    await rejected("replace", () => session.replaceParticipants());
    await rejected("buffer", () => session.read(999999n, 0n, 4n));
    await rejected("fault", () => session.arm({ name: "earthquake" }));
    await rejected("rate", () => session.run({ stepsPerSecond: -1 }));
    await rejected("generation", () => session.verify("no-such"));
    await rejected("id", () => session.checkpoint({ checkpointId: "Not An Id" }));
    const saved = await session.checkpoint({ checkpointId: "first" });
    await rejected("again", () => session.checkpoint({ checkpointId: "first" }));
    await session.step(1);
    await session.close();
    await rejected("closed", () => session.step());
    const config = await createSession({ backend: "quantum" }).catch((error) => error.code);
    return { boundaries, boundary: Number(boundary), phase, errors, saved: saved.kind, config };
  });
  assert.deepEqual(
    found.boundaries,
    Array.from({ length: 21 }, (_, i) => i + 1),
  );
  assert.equal(found.boundary, 20);
  assert.equal(found.saved, "committed");
  assert.equal(found.config, "INVALID_ARGUMENT");
  assert.deepEqual(found.errors, {
    resume: "INVALID_PHASE",
    restore: "INVALID_PHASE",
    replace: "INVALID_PHASE",
    buffer: "BAD_HANDLE",
    fault: "INVALID_ARGUMENT",
    rate: "INVALID_ARGUMENT",
    generation: "NO_GENERATION",
    id: "INVALID_ARGUMENT",
    again: "INVALID_ARGUMENT",
    closed: "SESSION_ENDED",
  });
});

test("calls of every kind on top of a run: all settle, only a pause ends the run, nothing hangs", async () => {
  const found = await page.evaluate(async () => {
    const { createSession } = await import("/pkg/wellwritten.js");
    const session = await createSession({ sessionId: "storm", keepGenerations: 2 });
    await session.checkpoint({ checkpointId: "base" });
    const odd = [];
    const settle = (name, call) =>
      call.then(
        () => name,
        (error) => {
          if (!["BUSY", "INVALID_PHASE", "NO_GENERATION"].includes(error.code))
            odd.push(`${name}: ${error.code} ${error.message}`);
          return name;
        },
      );
    const rounds = [];
    for (let round = 0; round < 4; round += 1) {
      const run = session.run({ stepsPerSecond: 150 });
      const calls = [];
      for (let i = 0; i < 12; i += 1) {
        calls.push(settle("verify", session.verify("base")), settle("usage", session.storeUsage()));
        calls.push(settle("checkpoint", session.checkpoint()), settle("step", session.step()));
        await new Promise((resolve) => setTimeout(resolve, 17));
      }
      const { running } = await session.status();
      calls.push(settle("pause", session.pause()));
      await Promise.all([...calls, settle("run", run)]);
      const { phase } = await session.status();
      rounds.push({ running, phase: phase.kind });
    }
    const queued = [session.checkpoint(), session.run({ stepsPerSecond: 100 }), session.pause()];
    await Promise.all(queued);
    const { phase: last, running: runs } = await session.status();
    rounds.push({ running: !runs, phase: last.kind });
    await session.close();
    const closing = await createSession({ sessionId: "storm", resume: "latest" });
    const run = settle("run", closing.run());
    await new Promise((resolve) => setTimeout(resolve, 100));
    await Promise.all([closing.checkpoint().catch(() => {}), closing.close(), run]);
    const again = await createSession({ sessionId: "storm", resume: "latest" });
    await Promise.all([again.checkpoint(), settle("run", again.run()), again.close()]);
    return { rounds, odd };
  });
  assert.deepEqual(found.odd, []);
  assert.deepEqual(
    found.rounds,
    Array.from({ length: 5 }, () => ({ running: true, phase: "paused" })),
  );
});

test("envelopes are read, described and written in a page without a session", async () => {
  const samples = new URL("web/test/generated/envelopes/", root);
  const read = (name) => JSON.parse(readFileSync(new URL(`${name}.json`, samples), "utf8"));
  const sample = read("version-1-older-extended");
  const broken = read("refused/payload-rows");
  const found = await page.evaluate(
    async ([sound, damaged]) => {
      const wellwritten = await import("/pkg/wellwritten.js");
      const { compareCompatibility, decodeEnvelope, describeEnvelope, encodeEnvelope } =
        wellwritten;
      await wellwritten.loadWellwritten();
      const bytesOf = (base64) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
      const file = bytesOf(sound);
      const { version, manifest, payloads } = decodeEnvelope(file);
      const again = encodeEnvelope(manifest, new Map(payloads.map((p) => [p.name, p.bytes()])));
      const other = { ...manifest.compatibility, stateFormatId: "another" };
      const refusal = (() => {
        try {
          decodeEnvelope(bytesOf(damaged));
        } catch (error) {
          const { code, message, context } = error;
          return { class: error instanceof wellwritten.WellwrittenError, code, message, context };
        }
      })();
      return {
        ...{ version, manifest, refusal, count: payloads.length },
        same: again.length === file.length && again.every((byte, index) => byte === file[index]),
        verdict: describeEnvelope(file).refusal,
        differences: compareCompatibility(manifest.compatibility, other),
        dialect: wellwritten.manifestSchema.$schema,
      };
    },
    [sample.base64, broken.base64],
  );
  assert.deepEqual(found, {
    version: 1,
    manifest: sample.manifest,
    refusal: {
      ...{ class: true, code: "ENVELOPE_INVALID" },
      ...{ message: broken.message, context: broken.context },
    },
    count: sample.payloads.length,
    same: true,
    verdict: null,
    differences: [
      {
        field: "state-format",
        stored: sample.manifest.compatibility.stateFormatId,
        running: "another",
      },
    ],
    dialect: "https://json-schema.org/draft/2020-12/schema",
  });
});

test("the element works in a hostile page, and leaves nothing behind", async () => {
  const found = await page.evaluate(async () => {
    const before = { defined: customElements.get("wellwritten-inspector") !== undefined };
    const { createSession, define, openInspector } = await import("/pkg/wellwritten.js");
    await define();
    await define();
    const hostile = new CSSStyleSheet();
    hostile.replaceSync("* { display: none !important; color: red !important; font-size: 80px }");
    const session = await createSession({ sessionId: "embedded", store: "memory" });
    const host = document.querySelector("main");
    const inspector = await openInspector(session, host);
    await session.step(2);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const shadow = inspector.shadowRoot;
    document.adoptedStyleSheets = [hostile];
    const inside = getComputedStyle(shadow.querySelector("*")).display;
    document.adoptedStyleSheets = [];
    inspector.remove();
    const left = { children: host.childElementCount, head: document.head.childElementCount };
    await session.step(1);
    const boundary = Number((await session.status()).boundary);
    await session.close();
    return { before, inside, left, boundary, history: history.length };
  });
  assert.equal(found.before.defined, false, "importing defines nothing");
  assert.notEqual(found.inside, "none");
  assert.equal(found.left.children, 0);
  assert.equal(found.left.head, 1, "only the host's own title");
  assert.equal(found.boundary, 3);
});
