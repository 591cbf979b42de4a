//! Canonical JSON (RFC 8785) and the digest of a value.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Number, Value};

use crate::{Digest, MAX_SAFE_INTEGER, PlainError, to_json};

/// Why a value has no canonical JSON. Nothing is written; retrying the same value fails again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CanonicalError {
    /// The value does not map to JSON: a non-finite number, a key that is neither text nor an integer, or its
    /// own `Serialize` refused.
    #[error("the value has no canonical JSON: {0}")]
    NotJson(#[from] PlainError),
}

/// The one spelling of `value` under RFC 8785: keys in UTF-16 order, ECMAScript numbers, no space.
///
/// # Errors
/// [`CanonicalError::NotJson`].
pub fn canonical_json<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    Ok(canonical_text(&to_json(value)?).into_bytes())
}

/// BLAKE3 of the canonical JSON of `value`.
///
/// # Errors
/// As [`canonical_json`].
pub fn digest_json<T: Serialize + ?Sized>(value: &T) -> Result<Digest, CanonicalError> {
    Ok(Digest::blake3(&canonical_json(value)?))
}

/// The canonical spelling of a JSON value; every one has it.
///
/// A writer of our own: it is the only one in the module that every visitor downloads, where the tables of a
/// general one for numbers would weigh more than all of this crate.
#[must_use]
pub fn canonical_text(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value);
    text
}

/// Writes the canonical spelling of a JSON value behind what is in `text`.
pub(crate) fn write_value(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(true) => text.push_str("true"),
        Value::Bool(false) => text.push_str("false"),
        Value::Number(number) => write_number(text, number),
        Value::String(string) => write_string(text, string),
        Value::Array(elements) => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                separate(text, index);
                write_value(text, element);
            }
            text.push(']');
        }
        Value::Object(object) => write_object(text, object),
    }
}

fn separate(text: &mut String, index: usize) {
    if index > 0 {
        text.push(',');
    }
}

fn write_object(text: &mut String, object: &Map<String, Value>) {
    // The map is in UTF-8 order, which is UTF-16 order but for keys beyond the basic plane.
    let is_in_order = !object
        .keys()
        .any(|key| key.bytes().any(|byte| byte >= 0xf0));
    let mut members: Vec<(&String, &Value)> = Vec::with_capacity(object.len());
    for (key, value) in object {
        let at = if is_in_order {
            members.len()
        } else {
            members.partition_point(|(other, _)| other.encode_utf16().lt(key.encode_utf16()))
        };
        members.insert(at, (key, value));
    }
    text.push('{');
    for (index, (key, value)) in members.into_iter().enumerate() {
        separate(text, index);
        write_string(text, key);
        text.push(':');
        write_value(text, value);
    }
    text.push('}');
}

fn write_string(text: &mut String, string: &str) {
    const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";
    text.push('"');
    let mut rest = string;
    let is_escaped = |byte: u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    while let Some(at) = rest.bytes().position(is_escaped) {
        text.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            0x8 => text.push_str("\\b"),
            b'\t' => text.push_str("\\t"),
            b'\n' => text.push_str("\\n"),
            0xc => text.push_str("\\f"),
            b'\r' => text.push_str("\\r"),
            control => {
                text.push_str("\\u00");
                text.push(HEXADECIMAL[usize::from(control >> 4)].into());
                text.push(HEXADECIMAL[usize::from(control & 15)].into());
            }
        }
        rest = &rest[at + 1..];
    }
    text.push_str(rest);
    text.push('"');
}

fn write_number(text: &mut String, number: &Number) {
    let value = match number.as_i64() {
        // Doubles hold these exactly, and ECMAScript writes them with all their digits.
        Some(whole) if whole.unsigned_abs() <= MAX_SAFE_INTEGER => {
            write(text, format_args!("{whole}"));
            return;
        }
        _ => number
            .as_f64()
            .expect("a number without arbitrary precision is a double or becomes one"),
    };
    // ECMAScript's spelling, ties between two shortest spellings included, which Rust's own breaks otherwise.
    text.push_str(ryu_js::Buffer::new().format(value));
}

fn write(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments)
        .expect("a string takes everything");
}
