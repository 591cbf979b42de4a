import schema from "./generated/manifest.schema.json" with { type: "json" };

/** A JSON Schema, of which this package says no more than that it is an object. */
export interface JSONSchema {
  readonly $schema?: string;
  readonly $defs?: Readonly<Record<string, JSONSchema>>;
  readonly [keyword: string]: unknown;
}

/**
 * The JSON Schema (2020-12) of the manifest of a FLYSESS1 file, of either version, generated from the types that read
 * it. It refuses nothing that `decodeEnvelope` accepts, and says every rule that a schema can. Left to `decodeEnvelope`
 * are the rules that tie the manifest to the rest of the file, and its exact spelling. The same is a file of the
 * package, `wellwritten/manifest.schema.json`.
 */
export const manifestSchema: JSONSchema = schema;
