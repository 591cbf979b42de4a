// Oracle: readings written down by hand, with what a person would say of them.

import { expect, test } from "vitest";
import { SubmissionsPerStep } from "../src/inspector/submissions-per-step.ts";

const reading = (boundary: bigint, submissions: bigint, epoch = "e1") => ({
  boundary,
  submissions,
  epoch,
});

test("nothing is said before a step was seen", () => {
  const perStep = new SubmissionsPerStep();
  expect(perStep.note(reading(0n, 40n))).toBe(null);
  expect(perStep.note(reading(0n, 41n))).toBe(null);
});

test("the steps between two readings share what was submitted between them", () => {
  const perStep = new SubmissionsPerStep();
  perStep.note(reading(0n, 40n));
  expect(perStep.note(reading(1n, 47n))).toBe(7);
  expect(perStep.note(reading(5n, 67n))).toBe(5);
});

test("work at a standstill belongs to no step", () => {
  const perStep = new SubmissionsPerStep();
  perStep.note(reading(0n, 40n));
  expect(perStep.note(reading(1n, 47n))).toBe(7);
  expect(perStep.note(reading(1n, 90n))).toBe(7);
  expect(perStep.note(reading(2n, 97n))).toBe(7);
});

test("another epoch begins anew, and so does a boundary that went back", () => {
  const perStep = new SubmissionsPerStep();
  perStep.note(reading(0n, 40n));
  perStep.note(reading(1n, 47n));
  expect(perStep.note(reading(1n, 60n, "e2"))).toBe(null);
  expect(perStep.note(reading(2n, 66n, "e2"))).toBe(6);
  expect(perStep.note(reading(0n, 70n, "e2"))).toBe(null);
});
