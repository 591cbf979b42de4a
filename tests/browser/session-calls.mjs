// Calls on a session, or a store, that lives in a page of a browser.

import assert from "node:assert/strict";
import { inspect } from "node:util";

/** What a call on a session comes to: its value, or the error as plain data. */
export const ask = (session, method, ...args) =>
  session.evaluate(
    async (session, [method, args]) => {
      try {
        return { value: await session[method](...args) };
      } catch ({ name, code, message, context }) {
        return { error: { name, code, message, context } };
      }
    },
    [method, args],
  );

/** The value of a call that must succeed. */
export async function value(session, method, ...args) {
  const { value, error } = await ask(session, method, ...args);
  assert.equal(error, undefined, `${method}: ${inspect(error)}`);
  return value;
}

/** The error of a call that must fail. */
export async function failure(session, method, ...args) {
  const { value, error } = await ask(session, method, ...args);
  assert.notEqual(error, undefined, `${method} succeeded: ${inspect(value)}`);
  return error;
}

/** Opens a session in `page`, over the browser's private storage unless told otherwise. */
export const openSession = (page, options) =>
  page.evaluateHandle(async (options) => {
    const { createSession } = await import("/pkg/wellwritten.js");
    return createSession(options);
  }, options);

/** Why no session opens in `page`. */
export const refusalOf = (page, options) =>
  page.evaluate(async (options) => {
    const { createSession } = await import("/pkg/wellwritten.js");
    return createSession(options).then(
      () => null,
      ({ code, message }) => ({ code, message }),
    );
  }, options);

/** Opens the store of a session in `page`, without one. */
export const openStoreOf = (page, sessionId, options = {}) =>
  page.evaluateHandle(
    async ([sessionId, options]) => {
      const { openStore } = await import("/pkg/wellwritten.js");
      return openStore(sessionId, options);
    },
    [sessionId, options],
  );

/** The files of a session's store, by name. */
export const filesOf = (page, sessionId) =>
  page.evaluate(async (sessionId) => {
    let folder = await navigator.storage.getDirectory();
    for (const name of ["wellwritten", sessionId]) folder = await folder.getDirectoryHandle(name);
    const names = [];
    for await (const name of folder.keys()) names.push(name);
    return names.sort();
  }, sessionId);

/** Waits until `holds()`; says what it waited for in vain. */
export async function until(what, holds) {
  const deadline = performance.now() + 10_000;
  while (!(await holds())) {
    assert.ok(performance.now() < deadline, `in vain for 10 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * What workers answer; null from one that does not. Playwright may not hear of the end of a worker that was hardly begun,
 * and then waits for it for ever.
 */
export function inWorkers(page, ask) {
  const answers = page.workers().map((worker) => {
    const answer = worker.evaluate(ask).catch(() => null);
    return Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 500, null))]);
  });
  return Promise.all(answers);
}

/** The names of workers that are there. */
export const answering = async (page) =>
  (await inWorkers(page, () => globalThis.name)).filter((name) => name !== null);
