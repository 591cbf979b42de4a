//! [`manifest_schema`]: the rules of a manifest that JSON Schema can say, generated from the types.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::{Digest, EventWatermarks, Id, MAX_PAYLOADS, Manifest, RationalNs, U64};

/// Where the two versions differ, so that each has a definition of its own.
const VERSIONED: [&str; 8] = [
    "AgentEntry",
    "Compatibility",
    "CoordinatorEntry",
    "EnvironmentEntry",
    "EventWatermarks",
    "ExecutorEntry",
    "PayloadRow",
    "PortBinding",
];

/// How many payloads every manifest refers to, each once: the world, the ledger and the inspection.
const LEAST_PAYLOADS: u32 = 3;

/// How many a list of further ones can refer to.
const MAX_OTHERS: u32 = MAX_PAYLOADS - LEAST_PAYLOADS;

/// The JSON Schema (2020-12) of the manifest of a file, either version: one of two definitions.
///
/// It says every rule of a reader that is about one value or about the shape of an object. What it cannot say is
/// that payload names are referred to once, that rows equal the table, that a fraction is reduced, that a number
/// within an unknown field is strict JSON, or that the text is canonical: a file that satisfies it may still be
/// refused, and none that a reader accepts fails it.
#[must_use]
pub fn manifest_schema() -> Value {
    let generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let mut generated = Value::from(generator.into_root_schema_for::<Manifest>());
    plain_prose(&mut generated);
    bound_integers(&mut generated);
    let Value::Object(mut open) = generated else {
        unreachable!("a struct's schema is an object")
    };
    let Some(Value::Object(shared)) = open.remove("$defs") else {
        unreachable!("a manifest is made of named types")
    };
    let dialect = open.remove("$schema");
    let title = open.remove("title");
    let mut definitions = Map::new();
    for version in [1, 2] {
        let mut add = |name: &str, mut schema: Value| {
            point_to_version(&mut schema, version);
            if version == 2 {
                close(&mut schema);
            }
            restrict(name, &mut schema, version);
            definitions.insert(format!("{name}Version{version}"), schema);
        };
        add("Manifest", Value::Object(open.clone()));
        for name in VERSIONED {
            add(name, shared[name].clone());
        }
    }
    definitions.extend(
        shared
            .into_iter()
            .filter(|(name, _)| !VERSIONED.contains(&name.as_str())),
    );
    json!({
        "$schema": dialect,
        "title": title,
        "description": "The manifest of a FLYSESS1 envelope. Not said here, and enforced by a reader: each payload \
            is referred to exactly once, the rows equal the payload table, a fraction is reduced, and the text is \
            canonical JSON (RFC 8785).",
        "oneOf": [
            {"$ref": "#/$defs/ManifestVersion1"},
            {"$ref": "#/$defs/ManifestVersion2"},
        ],
        "$defs": definitions,
    })
}

/// Rules that depend on the version, beyond whether unknown fields are kept.
fn restrict(name: &str, schema: &mut Value, version: u32) {
    match (name, version) {
        ("Manifest", _) => {
            let properties = &mut schema["properties"];
            properties["envelopeVersion"] = json!({"description": "Version of the envelope.", "type": "integer", "const": version});
            properties["digestAlgorithm"]["const"] =
                json!(["sha256", "blake3"][version as usize - 1]);
            // Whoever hands a manifest to `encode` may leave the list empty; a file has it.
            properties["payloads"]["description"] =
                json!("The payload table again, so that a listing needs only the manifest.");
            properties["payloads"]["minItems"] = json!(LEAST_PAYLOADS);
            properties["payloads"]["maxItems"] = json!(MAX_PAYLOADS);
            properties["agents"]["maxItems"] = json!(MAX_OTHERS);
            properties["helperState"]["maxItems"] = json!(MAX_OTHERS);
            properties["helperState"]["uniqueItems"] = json!(true);
            if version == 2 {
                let required = schema["required"].as_array_mut();
                required
                    .expect("a struct requires its fields")
                    .push("digestAlgorithm".into());
            }
        }
        ("CoordinatorEntry", _) => {
            schema["properties"]["executorState"]["maxItems"] = json!(MAX_OTHERS);
        }
        _ => {}
    }
}

/// Refuses the fields that it does not name, at every level that keeps them in version 1.
fn close(schema: &mut Value) {
    each_object(schema, &mut |object| {
        if object.get("additionalProperties") == Some(&json!(true)) {
            object.insert("additionalProperties".to_owned(), json!(false));
        }
    });
}

/// References to a definition that each version has of its own become references to this version's.
fn point_to_version(schema: &mut Value, version: u32) {
    each_object(schema, &mut |object| {
        if let Some(Value::String(reference)) = object.get_mut("$ref")
            && VERSIONED.contains(&reference.trim_start_matches("#/$defs/"))
        {
            *reference = format!("{reference}Version{version}");
        }
    });
}

/// Descriptions come from the documentation of the types, whose links lead nowhere outside it.
fn plain_prose(schema: &mut Value) {
    each_object(schema, &mut |object| {
        if let Some(Value::String(text)) = object.get_mut("description") {
            *text = text
                .replace("[`crate::", "`")
                .replace("[`", "`")
                .replace("`]", "`")
                .replace('\n', " ");
        }
    });
}

/// What a validator has to know of a format, which it may ignore, as bounds, which it may not.
fn bound_integers(schema: &mut Value) {
    each_object(schema, &mut |object| {
        if object.get("format") == Some(&json!("int32")) {
            object.remove("format");
            object.insert("minimum".to_owned(), json!(i32::MIN));
            object.insert("maximum".to_owned(), json!(i32::MAX));
        }
    });
}

fn each_object(value: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            change(object);
            object
                .values_mut()
                .for_each(|value| each_object(value, change));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| each_object(value, change)),
        _ => {}
    }
}

/// A pattern of exactly the decimal numbers from 0 to `largest` without leading zeros.
fn decimal_pattern(largest: u64) -> String {
    let digits = largest.to_string();
    let count = digits.len();
    // Shorter ones; then those that agree with the largest up to some digit and are smaller in it; then itself.
    let mut choices = vec!["0".to_owned(), format!("[1-9][0-9]{{0,{}}}", count - 2)];
    for (at, digit) in digits.bytes().enumerate() {
        let least = if at == 0 { b'1' } else { b'0' };
        if digit > least {
            let (least, below) = (char::from(least), char::from(digit - 1));
            let rest = count - at - 1;
            choices.push(format!("{}[{least}-{below}][0-9]{{{rest}}}", &digits[..at]));
        }
    }
    choices.push(digits);
    format!("^(?:{})$", choices.join("|"))
}

impl JsonSchema for Id {
    fn schema_name() -> Cow<'static, str> {
        "Id".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A name: 1 to 64 of a-z, 0-9, '.', '_' and '-', the first a letter or a digit.",
            "type": "string",
            "pattern": format!("^[a-z0-9][a-z0-9._-]{{0,{}}}$", Self::MAX_BYTES - 1),
        })
    }
}

impl JsonSchema for U64 {
    fn schema_name() -> Cow<'static, str> {
        "U64".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": format!("A counter as decimal digits without a leading zero, at most {}.", u64::MAX),
            "type": "string",
            "pattern": decimal_pattern(u64::MAX),
        })
    }
}

impl JsonSchema for Digest {
    fn schema_name() -> Cow<'static, str> {
        "Digest".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A digest as lowercase hexadecimal.",
            "type": "string",
            "pattern": format!("^[0-9a-f]{{{}}}$", 2 * Self::BYTES),
        })
    }
}

impl JsonSchema for RationalNs {
    fn schema_name() -> Cow<'static, str> {
        "RationalNs".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let part = generator.subschema_for::<U64>();
        json_schema!({
            "description": "Nanoseconds as an exact fraction. It is reduced; zero is 0/1.",
            "type": "object",
            "properties": {
                "numerator": part,
                "denominator": {"allOf": [part, {"not": {"const": "0"}}]},
            },
            "required": ["numerator", "denominator"],
            "additionalProperties": false,
            "if": {"properties": {"numerator": {"const": "0"}}},
            "then": {"properties": {"denominator": {"const": "1"}}},
        })
    }
}

impl JsonSchema for EventWatermarks {
    fn schema_name() -> Cow<'static, str> {
        "EventWatermarks".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let number = generator.subschema_for::<U64>();
        let event = generator.subschema_for::<Id>();
        json_schema!({
            "description": "Where the event numbering of the session stood.",
            "oneOf": [
                {
                    "description": "What is written today: the highest source step of any recorded event, and how \
                        many events the ledger has issued.",
                    "type": "object",
                    "properties": {
                        "lastSourceStep": number, "issued": number,
                        "lastEventId": false, "lastOrdinal": false,
                    },
                    "required": ["lastSourceStep", "issued"],
                    "additionalProperties": true,
                },
                {
                    "description": "What older writers hold: the last event and its ordinal.",
                    "type": "object",
                    "properties": {
                        "lastEventId": event, "lastOrdinal": number,
                        "lastSourceStep": false, "issued": false,
                    },
                    "required": ["lastEventId", "lastOrdinal"],
                    "additionalProperties": true,
                },
            ],
        })
    }
}
