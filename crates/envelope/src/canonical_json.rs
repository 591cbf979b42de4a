//! Canonical JSON (RFC 8785) and the digest of a value.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Number, Value};

use crate::heap_sort::heap_sort_by;
use crate::plain_length::plain_length;
use crate::plain_value::finite;
use crate::{Digest, MAX_SAFE_INTEGER, PlainError, PlainValue};

/// Room for a message or a typed value, most of which are shorter.
const USUAL_BYTES: usize = 512;

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
    Ok(plain_text(&PlainValue::of(value)?)?.into_bytes())
}

/// BLAKE3 of the canonical JSON of `value`.
///
/// # Errors
/// As [`canonical_json`].
pub fn digest_json<T: Serialize + ?Sized>(value: &T) -> Result<Digest, CanonicalError> {
    Ok(Digest::blake3(&canonical_json(value)?))
}

/// The canonical spelling of a JSON value; every one has it.
#[must_use]
pub fn canonical_text(value: &Value) -> String {
    let plain = PlainValue::of(value).and_then(|plain| plain_text(&plain));
    plain.expect("a JSON value holds only what JSON can say")
}

/// The canonical spelling of a plain value. Of two members of one name the later counts, as in any map.
///
/// A writer of our own: it is the only one in the module that every visitor downloads, where the tables of a
/// general one for numbers would weigh more than all of this crate.
pub(crate) fn plain_text(value: &PlainValue) -> Result<String, PlainError> {
    let mut text = String::with_capacity(USUAL_BYTES);
    write_value(&mut text, value)?;
    Ok(text)
}

fn write_value(text: &mut String, value: &PlainValue) -> Result<(), PlainError> {
    match value {
        PlainValue::Null => text.push_str("null"),
        PlainValue::Bool(true) => text.push_str("true"),
        PlainValue::Bool(false) => text.push_str("false"),
        PlainValue::Small(number) | PlainValue::Signed(number) => {
            write_number(text, &Number::from(*number));
        }
        PlainValue::Unsigned(number) => write_number(text, &Number::from(*number)),
        PlainValue::Float(number) => write_number(text, &finite(*number)?),
        PlainValue::Text(string) => write_string(text, string),
        PlainValue::List(elements) => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                separate(text, index);
                write_value(text, element)?;
            }
            text.push(']');
        }
        PlainValue::Object(fields) => write_object(text, fields)?,
    }
    Ok(())
}

fn separate(text: &mut String, index: usize) {
    if index > 0 {
        text.push(',');
    }
}

fn write_object(
    text: &mut String,
    fields: &[(Cow<'static, str>, PlainValue)],
) -> Result<(), PlainError> {
    // A map is in order already, but for the keys in which UTF-8 and UTF-16 differ, and so are many structs.
    if fields.is_sorted_by(|(left, _), (right, _)| utf16_order(left, right).is_lt()) {
        text.push('{');
        for (index, (key, value)) in fields.iter().enumerate() {
            separate(text, index);
            write_member(text, key, value)?;
        }
        text.push('}');
        return Ok(());
    }
    let mut order: Vec<usize> = (0..fields.len()).collect();
    heap_sort_by(&mut order, |&left, &right| {
        utf16_order(&fields[left].0, &fields[right].0).then(left.cmp(&right))
    });
    text.push('{');
    let start = text.len();
    for (place, &at) in order.iter().enumerate() {
        let (key, value) = &fields[at];
        if order
            .get(place + 1)
            .is_some_and(|&next| fields[next].0 == *key)
        {
            continue;
        }
        separate(text, text.len() - start);
        write_member(text, key, value)?;
    }
    text.push('}');
    Ok(())
}

fn write_member(text: &mut String, key: &str, value: &PlainValue) -> Result<(), PlainError> {
    write_string(text, key);
    text.push(':');
    write_value(text, value)
}

/// The order of UTF-16 units: that of UTF-8 bytes, except that U+E000 to U+FFFF, whose first byte is 0xee or 0xef, come
/// after all characters beyond them, which UTF-16 spells in surrogates.
fn utf16_order(left: &str, right: &str) -> Ordering {
    let rank = |byte: u8| match byte {
        0xee | 0xef => byte + 0x10,
        _ => byte,
    };
    let mut pairs = left.bytes().zip(right.bytes());
    match pairs.find(|(left, right)| left != right) {
        Some((left, right)) => rank(left).cmp(&rank(right)),
        None => left.len().cmp(&right.len()),
    }
}

fn write_string(text: &mut String, string: &str) {
    const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";
    text.push('"');
    let mut rest = string;
    loop {
        let (plain, special) = rest.split_at(plain_length(rest));
        text.push_str(plain);
        let Some(byte) = special.bytes().next() else {
            break;
        };
        match byte {
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
        rest = &special[1..];
    }
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
