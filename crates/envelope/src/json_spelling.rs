//! How RFC 8785 spells strings and numbers, and how it orders keys.
//!
//! A writer of our own: it is the only one in the module that every visitor downloads, where the tables of a
//! general one for numbers would weigh more than all of this crate.

use std::cmp::Ordering;

use crate::MAX_SAFE_INTEGER;
use crate::plain_length::plain_length;

const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";

/// Writes `string` in quotes.
pub(crate) fn write_string(text: &mut String, string: &str) {
    text.push('"');
    write_string_part(text, string);
    text.push('"');
}

/// Writes `string` as it stands within quotes.
pub(crate) fn write_string_part(text: &mut String, string: &str) {
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
}

/// A whole number: its sign and its distance from zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole {
    pub is_negative: bool,
    pub magnitude: u64,
}

impl Whole {
    /// Writes it as a number, which ECMAScript keeps as a double.
    pub(crate) fn write_number(self, text: &mut String) {
        if self.magnitude <= MAX_SAFE_INTEGER {
            // Doubles hold these exactly, and ECMAScript writes them with all their digits.
            self.write_digits(text);
            return;
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "the double next to it is what ECMAScript would hold"
        )]
        let double = self.magnitude as f64;
        write_double(text, if self.is_negative { -double } else { double });
    }

    /// Writes all its digits, however many.
    pub(crate) fn write_digits(self, text: &mut String) {
        if self.is_negative {
            text.push('-');
        }
        text.push_str(decimal(self.magnitude, &mut [0; 20]));
    }
}

/// The decimal digits of `number`.
pub(crate) fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &str {
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    std::str::from_utf8(&digits[start..]).expect("digits are ASCII")
}

/// Writes a finite double: ECMAScript's spelling, ties between two shortest spellings included, which Rust's own breaks
/// otherwise.
pub(crate) fn write_double(text: &mut String, value: f64) {
    text.push_str(ryu_js::Buffer::new().format(value));
}

/// The order of two keys, spelled as within quotes, by the UTF-16 units of what they spell: that of UTF-8 bytes, except
/// that U+E000 to U+FFFF, whose first byte is 0xee or 0xef, come after all characters beyond them, which UTF-16 spells in
/// surrogates.
pub(crate) fn spelled_order(left: &str, right: &str) -> Ordering {
    let rank = |byte: u8| match byte {
        0xee | 0xef => byte + 0x10,
        _ => byte,
    };
    spelled_bytes(left)
        .map(rank)
        .cmp(spelled_bytes(right).map(rank))
}

/// The bytes that [`write_string_part`] spelled.
fn spelled_bytes(spelling: &str) -> impl Iterator<Item = u8> {
    let mut bytes = spelling.bytes();
    std::iter::from_fn(move || {
        let byte = bytes.next()?;
        if byte != b'\\' {
            return Some(byte);
        }
        Some(match bytes.next()? {
            b'b' => 0x8,
            b't' => b'\t',
            b'n' => b'\n',
            b'f' => 0xc,
            b'r' => b'\r',
            b'u' => {
                // Control characters only, and so the first two digits are zeros.
                let digits = [(); 4].map(|()| bytes.next().unwrap_or(b'0'));
                let value = |digit: u8| match digit {
                    b'0'..=b'9' => digit - b'0',
                    letter => letter.wrapping_sub(b'a').wrapping_add(10),
                };
                value(digits[2])
                    .wrapping_mul(16)
                    .wrapping_add(value(digits[3]))
            }
            quoted => quoted,
        })
    })
}

#[cfg(test)]
mod tests {
    //! Oracle: the standard library's encoding into UTF-16 units and its spelling of numbers.

    use super::*;

    #[test]
    fn keys_are_ordered_by_what_they_spell() {
        let characters = [
            '\0',
            '\u{8}',
            '\t',
            '\n',
            '\u{c}',
            '\r',
            '\u{1f}',
            ' ',
            '!',
            '"',
            '#',
            '[',
            '\\',
            ']',
            'b',
            'u',
            '\u{7f}',
            '\u{e9}',
            '\u{d7ff}',
            '\u{e000}',
            '\u{ffff}',
            '\u{10000}',
        ];
        let mut keys = vec![String::new()];
        for first in characters {
            keys.push(first.to_string());
            keys.extend(characters.map(|second| format!("{first}{second}")));
        }
        let spelled = |key: &String| {
            let mut text = String::new();
            write_string_part(&mut text, key);
            text
        };
        for left in &keys {
            for right in &keys {
                let expected = left.encode_utf16().cmp(right.encode_utf16());
                assert_eq!(
                    spelled_order(&spelled(left), &spelled(right)),
                    expected,
                    "{left:?} {right:?}"
                );
            }
        }
    }

    #[test]
    fn digits_are_those_of_the_standard_library() {
        for power in 0..20 {
            for near in [-1_i64, 0, 1] {
                let number = 10_u64.pow(power).saturating_add_signed(near);
                assert_eq!(decimal(number, &mut [0; 20]), number.to_string());
            }
        }
        assert_eq!(decimal(u64::MAX, &mut [0; 20]), u64::MAX.to_string());
    }
}
