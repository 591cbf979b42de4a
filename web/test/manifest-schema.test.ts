/// <reference types="vite/client" />
import "./wasm-from-disk.ts";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import type { BrokenRule } from "#wasm/page";
import { decodeEnvelope } from "../src/envelope.ts";
import { type JSONSchema, manifestSchema } from "../src/manifest-schema.ts";
import type { WellwrittenError } from "../src/wellwritten-error.ts";
import { canonical, type ForgedPayload, forgerOf } from "./forge-envelope.ts";
import text from "./generated/manifest-corpus.json?raw";

// Oracle: what the reader, run natively, said of every field of four manifests with every probe in its place. The
// reader as wasm must say the same, and the schema, in a validator that is not ours, too: but for the refusals of
// which the corpus says that no schema can share them, and there it must not.

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

type Probe = { readonly name: string } & (
  | { readonly do: "set"; readonly value: Json }
  | { readonly do: "add-field"; readonly field: string; readonly value: Json }
  | { readonly do: "remove" | "shorten" | "repeat" | "flood" | "as-list" }
);

interface Row {
  readonly at: string;
  readonly accepted: readonly number[];
  readonly refused: Readonly<Record<string, readonly number[]>>;
  readonly beyondSchema: Readonly<Record<string, readonly number[]>>;
}

interface Subject {
  readonly manifest: { [key: string]: Json };
  readonly payloads: readonly { readonly name: string; readonly bytes: readonly number[] }[];
  readonly rows: readonly Row[];
}

interface Corpus {
  readonly probes: readonly Probe[];
  readonly texts: readonly {
    readonly name: string;
    readonly text: string;
    readonly rule: string;
  }[];
  readonly manifests: Readonly<Record<string, Subject>>;
}

const corpus = JSON.parse(text) as Corpus;

/** What a schema says of a manifest. Strict: a keyword it does not know, or a type that is missing, is an error. */
function validatorOf(schema: JSONSchema): (manifest: unknown) => boolean {
  return new Ajv2020({ strict: true, allErrors: false, strictRequired: false }).compile(schema);
}
const accepts = validatorOf(manifestSchema);

/** The value after a probe. */
function changed(value: Json, probe: Probe): Json {
  if (probe.do === "set") return probe.value;
  if (Array.isArray(value)) {
    const [first = null] = value;
    if (probe.do === "shorten") return value.slice(0, -1);
    if (probe.do === "repeat") return [...value, first];
    if (probe.do === "flood") return Array.from({ length: 65 }, () => first);
  } else if (typeof value === "object" && value !== null) {
    if (probe.do === "add-field") return { ...value, [probe.field]: probe.value };
    if (probe.do === "as-list") return Object.values(value);
  }
  throw new Error(`the corpus does not do "${probe.name}" to ${JSON.stringify(value)}`);
}

/** A manifest with a probe at `path`, the original left as it is. */
function probed(value: Json, [step, ...rest]: readonly string[], probe: Probe): Json {
  if (step === undefined) return changed(value, probe);
  if (Array.isArray(value)) {
    const index = Number(step);
    if (rest.length === 0 && probe.do === "remove") return value.filter((_, at) => at !== index);
    return value.map((part, at) => (at === index ? probed(part, rest, probe) : part));
  }
  const { [step]: part, ...others } = value as { [key: string]: Json };
  if (part === undefined) throw new Error(`the manifest has no ${step}`);
  return rest.length === 0 && probe.do === "remove"
    ? others
    : { ...others, [step]: probed(part, rest, probe) };
}

/** What the reader says of a file: the rule it breaks, or `null`. */
function ruleOf(file: Uint8Array): string | null {
  try {
    decodeEnvelope(file);
    return null;
  } catch (thrown) {
    const { code, context, message } = thrown as WellwrittenError;
    if (code !== "ENVELOPE_INVALID") throw new Error(message);
    return (context as BrokenRule).rule;
  }
}

interface Verdict {
  readonly what: string;
  readonly manifest: Json;
  /** The rule that the native reader names. */
  readonly rule: string | null;
  /** Why the schema cannot share that. */
  readonly beyondSchema: string | null;
}

/** Which group of a row a probe is in. */
const groupOf = (groups: Readonly<Record<string, readonly number[]>>, index: number) =>
  Object.entries(groups).find(([, members]) => members.includes(index))?.[0] ?? null;

function* verdictsOn(subject: Subject): Generator<Verdict> {
  for (const { at, accepted, refused, beyondSchema } of subject.rows) {
    for (const [index, probe] of corpus.probes.entries()) {
      const rule = groupOf(refused, index);
      if (rule === null && !accepted.includes(index)) continue;
      yield {
        what: `${at || "/"} ${probe.name}`,
        manifest: probed(subject.manifest, at.split("/").slice(1), probe),
        rule,
        beyondSchema: groupOf(beyondSchema, index),
      };
    }
  }
}

/** Where a validator differs from what the corpus says that a schema says. */
function differences(validator: (manifest: unknown) => boolean, verdicts: Iterable<Verdict>) {
  const found: string[] = [];
  for (const { what, manifest, rule, beyondSchema } of verdicts) {
    const expected = rule === null || beyondSchema !== null;
    if (validator(manifest) !== expected)
      found.push(`${what}: ${expected ? "refused" : "accepted"}, but ${rule ?? "it is sound"}`);
  }
  return found;
}

/** Where the reader as wasm says something else than natively. */
function readingDifferences(subject: Subject, verdicts: Iterable<Verdict>) {
  const forge = forgerOf(subject.manifest.envelopeVersion as 1 | 2, payloadsOf(subject));
  const found: string[] = [];
  for (const { what, manifest, rule } of verdicts) {
    const said = ruleOf(forge(canonical(manifest)));
    if (said !== rule) found.push(`${what}: ${said ?? "sound"}, natively ${rule ?? "sound"}`);
  }
  return found;
}

const payloadsOf = ({ payloads }: Subject): ForgedPayload[] =>
  payloads.map(({ name, bytes }) => ({ name, bytes: Uint8Array.from(bytes) }));

const subjects = Object.entries(corpus.manifests);

describe("the schema of a manifest", () => {
  it.each(subjects)(
    "%s: the schema refuses what the reader refuses, but for what it cannot say",
    (_name, subject) => {
      expect(accepts(subject.manifest)).toBe(true);
      const verdicts = [...verdictsOn(subject)];
      expect(verdicts.length).toBeGreaterThan(3000);
      expect(differences(accepts, verdicts)).toEqual([]);
      const reasons = new Set(verdicts.map(({ beyondSchema }) => beyondSchema));
      expect([...reasons].sort()).toEqual([null, "reduction", "references", "the table"].sort());
    },
  );

  it.each(subjects)(
    "%s: the reader as wasm says what it says natively",
    (_name, subject) => {
      const verdicts = [...verdictsOn(subject)];
      expect(verdicts.length).toBeGreaterThan(3000);
      expect(readingDifferences(subject, verdicts)).toEqual([]);
    },
    60_000,
  );

  it("what is wrong with the text alone, the reader refuses and no schema sees", () => {
    const subject = corpus.manifests["version-1"];
    if (subject === undefined) throw new Error("the corpus has a manifest of version 1");
    expect(corpus.texts.length).toBeGreaterThan(5);
    const forge = forgerOf(1, payloadsOf(subject));
    for (const { name, text, rule } of corpus.texts) {
      expect(accepts(JSON.parse(text)), name).toBe(true);
      expect(ruleOf(forge(text)), name).toBe(rule);
    }
  });

  it("every definition is reached and says what type it is", () => {
    const text = JSON.stringify(manifestSchema);
    const names = Object.keys(manifestSchema.$defs ?? {});
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name) => !text.includes(`"#/$defs/${name}"`))).toEqual([]);
  });
});

describe("canaries", () => {
  const verdicts = () => [...verdictsOn(corpus.manifests["version-2"] as Subject)];
  const counter = (pattern: string) => ({ U64: { type: "string", pattern } });
  const definition = (name: string) => manifestSchema.$defs?.[name] as Record<string, Json>;
  const required = (name: string) => definition(name).required as string[];

  it.each<[string, Record<string, JSONSchema>]>([
    [
      "keeps unknown fields",
      { ManifestVersion2: { ...definition("ManifestVersion2"), additionalProperties: true } },
    ],
    ["has a looser id", { Id: { type: "string", pattern: "^[a-z0-9][a-z0-9._-]*$" } }],
    ["has a looser counter", counter("^(0|[1-9][0-9]{0,19})$")],
    ["has a stricter counter", counter("^(0|[1-9][0-9]{0,18})$")],
    [
      "asks for the optional index",
      {
        AgentEntryVersion2: {
          ...definition("AgentEntryVersion2"),
          required: [...required("AgentEntryVersion2"), "indexDigest"],
        },
      },
    ],
    [
      "forgets a required field",
      {
        ManifestVersion2: {
          ...definition("ManifestVersion2"),
          required: required("ManifestVersion2").slice(1),
        },
      },
    ],
  ])("a schema that %s is noticed", (_name, changed) => {
    const other = { ...manifestSchema, $defs: { ...manifestSchema.$defs, ...changed } };
    expect(differences(validatorOf(other), verdicts())).not.toEqual([]);
  });

  it("another verdict than the native one is noticed", () => {
    const subject = corpus.manifests["version-2"] as Subject;
    const some = verdicts().filter((_, index) => index % 200 === 0);
    expect(readingDifferences(subject, some)).toEqual([]);
    const other = some.map((verdict) => ({
      ...verdict,
      rule: verdict.rule === null ? "manifest-field" : null,
    }));
    expect(readingDifferences(subject, other).length).toBe(other.length);
  });

  it("a mark that does not belong is noticed", () => {
    const marked = verdicts().map((verdict) =>
      verdict.rule === "unknown-field" ? { ...verdict, beyondSchema: "references" } : verdict,
    );
    expect(differences(accepts, marked)).not.toEqual([]);
  });
});
