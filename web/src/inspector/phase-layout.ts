/** Where each phase stands in the diagram, in SVG user units on {@link DIAGRAM}. */
export interface PhasePlace {
  readonly name: string;
  readonly x: number;
  readonly y: number;
}

export const DIAGRAM = { width: 372, height: 200 } as const;
export const NODE = { width: 78, height: 22 } as const;

/** The step cycle runs along the top and back; what is around it stands below. */
export const PLACES: readonly PhasePlace[] = [
  { name: "starting", x: 54, y: 22 },
  { name: "preparing", x: 190, y: 22 },
  { name: "applying", x: 326, y: 22 },
  { name: "ready", x: 54, y: 76 },
  { name: "committing", x: 190, y: 76 },
  { name: "observing", x: 326, y: 76 },
  { name: "paused", x: 54, y: 130 },
  { name: "capturing", x: 204, y: 130 },
  { name: "resetting", x: 54, y: 176 },
  { name: "restoring", x: 162, y: 176 },
  { name: "failed", x: 326, y: 150 },
];

const BY_NAME = new Map(PLACES.map((place) => [place.name, place]));

export function placeOf(name: string): PhasePlace | undefined {
  return BY_NAME.get(name);
}

/** How far an edge may bow out to pass by what stands between, nearest first. */
const BOWS = [0, 26, 44, 50, 62, 90, 120] as const;
const SAMPLES = 24;
const CLEARANCE = 4;

interface Point {
  readonly x: number;
  readonly y: number;
}

/**
 * The path of the edge from one phase to another as SVG path data, from border to border, or `null` if
 * one of them has no place or nothing leads past the others. It bows out as little as it must to touch no third phase. Where both
 * directions exist each keeps to its right, so that both show.
 */
export function edgePath(from: string, to: string, twoWay: boolean): string | null {
  const a = placeOf(from);
  const b = placeOf(to);
  if (a === undefined || b === undefined || a === b) return null;
  const length = Math.hypot(b.x - a.x, b.y - a.y);
  const right = { x: -(b.y - a.y) / length, y: (b.x - a.x) / length };
  const aside = twoWay ? 4 : 0;
  const start = { x: a.x + right.x * aside, y: a.y + right.y * aside };
  const end = { x: b.x + right.x * aside, y: b.y + right.y * aside };
  const others = PLACES.filter((place) => place !== a && place !== b);
  for (const bow of bothSides(start, end, right)) {
    const via = control(start, end, right, bow);
    const leave = border(start, via, 0);
    const arrive = border(end, via, 3);
    if (!isClear(leave, via, arrive, others)) continue;
    return bow === 0
      ? `M${text(leave)}L${text(arrive)}`
      : `M${text(leave)}Q${text(via)} ${text(arrive)}`;
  }
  return null;
}

/** Every bow to both sides, the smaller first, and of two equal ones the one towards the rim. */
function bothSides(start: Point, end: Point, right: Point): number[] {
  const outward =
    ((start.x + end.x) / 2 - DIAGRAM.width / 2) * right.x +
    ((start.y + end.y) / 2 - DIAGRAM.height / 2) * right.y;
  const sign = outward < 0 ? -1 : 1;
  return BOWS.flatMap((bow) => (bow === 0 ? [0] : [bow * sign, -bow * sign]));
}

function control(start: Point, end: Point, right: Point, bow: number): Point {
  // the control point of a quadratic curve lies twice as far out as the curve itself
  return {
    x: (start.x + end.x) / 2 + right.x * bow * 2,
    y: (start.y + end.y) / 2 + right.y * bow * 2,
  };
}

function isClear(start: Point, via: Point, end: Point, others: readonly Point[]): boolean {
  for (let sample = 0; sample <= SAMPLES; sample += 1) {
    const t = sample / SAMPLES;
    const x = (1 - t) ** 2 * start.x + 2 * t * (1 - t) * via.x + t ** 2 * end.x;
    const y = (1 - t) ** 2 * start.y + 2 * t * (1 - t) * via.y + t ** 2 * end.y;
    if (x < 1 || x > DIAGRAM.width - 1 || y < 0 || y > DIAGRAM.height) return false;
    const touches = others.some(
      (other) =>
        Math.abs(x - other.x) < NODE.width / 2 + CLEARANCE &&
        Math.abs(y - other.y) < NODE.height / 2 + CLEARANCE,
    );
    if (touches) return false;
  }
  return true;
}

/** Where the line from the centre of a node towards `via` crosses its border, and `gap` further. */
function border(centre: Point, via: Point, gap: number): Point {
  const dx = via.x - centre.x;
  const dy = via.y - centre.y;
  const length = Math.hypot(dx, dy);
  const across = dx === 0 ? Number.POSITIVE_INFINITY : (NODE.width / 2) * (length / Math.abs(dx));
  const up = dy === 0 ? Number.POSITIVE_INFINITY : (NODE.height / 2) * (length / Math.abs(dy));
  const out = Math.min(across, up) + gap;
  return { x: centre.x + (dx / length) * out, y: centre.y + (dy / length) * out };
}

function text({ x, y }: Point): string {
  return `${Math.round(x * 10) / 10} ${Math.round(y * 10) / 10}`;
}
