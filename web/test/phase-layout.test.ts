import { describe, expect, it } from "vitest";
import { DIAGRAM, edgePath, NODE, PLACES } from "../src/inspector/phase-layout.ts";

// Oracle: no edge between two phases touches a third, sampled along the very path that is drawn.

type Point = readonly [x: number, y: number];

function pointsOf(path: string): Point[] {
  const numbers = path.match(/-?[0-9.]+/g)?.map(Number) ?? [];
  const [x0 = 0, y0 = 0, x1 = 0, y1 = 0, x2, y2] = numbers;
  const points: Point[] = [];
  for (let t = 0; t <= 1; t += 1 / 64) {
    if (x2 === undefined || y2 === undefined) points.push([x0 + (x1 - x0) * t, y0 + (y1 - y0) * t]);
    else {
      points.push([
        (1 - t) ** 2 * x0 + 2 * t * (1 - t) * x1 + t ** 2 * x2,
        (1 - t) ** 2 * y0 + 2 * t * (1 - t) * y1 + t ** 2 * y2,
      ]);
    }
  }
  return points;
}

function touched(path: string, from: string, to: string): string[] {
  return PLACES.filter(({ name }) => name !== from && name !== to)
    .filter(({ x, y }) =>
      pointsOf(path).some(
        ([px, py]) => Math.abs(px - x) < NODE.width / 2 && Math.abs(py - y) < NODE.height / 2,
      ),
    )
    .map(({ name }) => name);
}

describe("the phase diagram", () => {
  it("has every node inside it and none on another", () => {
    for (const { x, y } of PLACES) {
      expect(x).toBeGreaterThanOrEqual(NODE.width / 2);
      expect(x).toBeLessThanOrEqual(DIAGRAM.width - NODE.width / 2);
      expect(y).toBeGreaterThanOrEqual(NODE.height / 2);
      expect(y).toBeLessThanOrEqual(DIAGRAM.height - NODE.height / 2);
    }
    for (const a of PLACES) {
      for (const b of PLACES) {
        if (a === b) continue;
        const apart = Math.abs(a.x - b.x) >= NODE.width || Math.abs(a.y - b.y) >= NODE.height;
        expect(apart, `${a.name} and ${b.name}`).toBe(true);
      }
    }
  });

  const EDGES = [
    ["starting", "ready"],
    ["starting", "restoring"],
    ["ready", "preparing"],
    ["preparing", "applying"],
    ["applying", "observing"],
    ["observing", "committing"],
    ["committing", "ready"],
    ["ready", "paused"],
    ["paused", "ready"],
    ["ready", "capturing"],
    ["paused", "capturing"],
    ["capturing", "ready"],
    ["capturing", "paused"],
    ["failed", "restoring"],
    ["restoring", "paused"],
    ["paused", "resetting"],
    ["resetting", "ready"],
  ] as const;

  it.each(EDGES)("draws %s to %s past every other phase", (from, to) => {
    const twoWay = EDGES.some(([a, b]) => a === to && b === from);
    const path = edgePath(from, to, twoWay);
    expect(path).not.toBeNull();
    expect(touched(path ?? "", from, to)).toEqual([]);
  });

  it("draws an edge to failed past every other phase, or not at all", () => {
    const drawn = PLACES.flatMap(({ name }) => {
      const path = edgePath(name, "failed", name === "restoring");
      return path === null ? [] : [touched(path, name, "failed")];
    });
    expect(drawn.flat()).toEqual([]);
    expect(drawn.length).toBeGreaterThan(PLACES.length / 2);
  });

  it("has a check that notices a path through a phase", () => {
    expect(touched("M0 22L372 22", "starting", "applying")).toEqual(["preparing"]);
  });

  it("draws nothing for a phase it does not know, or to itself", () => {
    expect(edgePath("ready", "dreaming", false)).toBeNull();
    expect(edgePath("ready", "ready", false)).toBeNull();
  });
});
