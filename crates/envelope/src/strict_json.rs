//! [`parse_strict_json`]: a JSON reader with exactly one reading of every accepted text.

use serde_json::{Map, Number, Value};

use crate::plain_length::plain_length;

/// Deepest nesting of arrays and objects that is read.
pub const MAX_DEPTH: usize = 64;
/// The most values that are read out of one text, lists, objects and what is in them counted. A value of two bytes takes
/// hundreds in memory, so a text's length alone bounds too little.
pub const MAX_VALUES: usize = 1_000_000;
/// Largest magnitude of a number written as an integer: 2^53 - 1.
pub const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Why bytes are not strict JSON. Offsets are in bytes from the start of the text; retrying the same
/// bytes fails again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StrictJsonError {
    /// The bytes are not UTF-8.
    #[error("invalid UTF-8 at byte {offset}")]
    InvalidUtf8 {
        /// Offset of the first byte that cannot be read.
        offset: usize,
    },
    /// The text ended inside a value.
    #[error("the text ends at byte {offset}, expected {expected}")]
    UnexpectedEnd {
        /// Length of the text.
        offset: usize,
        /// What should follow.
        expected: &'static str,
    },
    /// A character that does not belong there.
    #[error("found {found:?} at byte {offset}, expected {expected}")]
    Unexpected {
        /// Offset of the character.
        offset: usize,
        /// The character.
        found: char,
        /// What should stand there.
        expected: &'static str,
    },
    /// An object names a key twice.
    #[error("the key {key:?} at byte {offset} appears twice in its object")]
    DuplicateKey {
        /// Offset of the second spelling.
        offset: usize,
        /// The key.
        key: String,
    },
    /// A number written as an integer beyond 2^53-1 either way.
    #[error(
        "the integer at byte {offset} is beyond 2^53-1; larger counters are written as strings"
    )]
    UnsafeInteger {
        /// Offset of the number.
        offset: usize,
    },
    /// A number too large for a double.
    #[error("the number at byte {offset} is not finite as a 64-bit float")]
    NonFinite {
        /// Offset of the number.
        offset: usize,
    },
    /// A string escape that names half a surrogate pair.
    #[error("the escape at byte {offset} is half of a surrogate pair")]
    LoneSurrogate {
        /// Offset of the escape.
        offset: usize,
    },
    /// Arrays and objects nested deeper than [`MAX_DEPTH`].
    #[error("the value at byte {offset} is nested deeper than {limit}")]
    TooDeep {
        /// Offset of the bracket that goes too far.
        offset: usize,
        /// [`MAX_DEPTH`].
        limit: usize,
    },
    /// More than [`MAX_VALUES`] values.
    #[error(
        "the value at byte {offset} is one more than the {limit} that are read out of one text"
    )]
    TooManyValues {
        /// Offset of the first value too many.
        offset: usize,
        /// [`MAX_VALUES`].
        limit: usize,
    },
    /// Something follows the value.
    #[error("the value ends at byte {offset} and something follows it")]
    TrailingBytes {
        /// Offset of the first byte after the value and its white space.
        offset: usize,
    },
}

impl StrictJsonError {
    /// Byte offset of what is wrong.
    #[must_use]
    pub const fn offset(&self) -> usize {
        match *self {
            Self::InvalidUtf8 { offset }
            | Self::UnexpectedEnd { offset, .. }
            | Self::Unexpected { offset, .. }
            | Self::DuplicateKey { offset, .. }
            | Self::UnsafeInteger { offset }
            | Self::NonFinite { offset }
            | Self::LoneSurrogate { offset }
            | Self::TooDeep { offset, .. }
            | Self::TooManyValues { offset, .. }
            | Self::TrailingBytes { offset } => offset,
        }
    }
}

/// Reads one JSON value.
///
/// Refused, besides malformed text: duplicate keys, invalid UTF-8, numbers that are not finite,
/// integers beyond 2^53-1, trailing bytes, nesting beyond [`MAX_DEPTH`], more than [`MAX_VALUES`] values.
///
/// A reader of our own, because `serde_json` keeps the last of two equal keys, does not tell `1e20` from
/// the integer it stands for, and by default rounds some doubles to a neighbour, which would make a
/// canonical text look non-canonical.
pub fn parse_strict_json(bytes: &[u8]) -> Result<Value, StrictJsonError> {
    Ok(read_strict_json(bytes)?.value)
}

/// What a strict text says, and whether it says it in its canonical spelling.
pub(crate) struct StrictRead {
    pub(crate) value: Value,
    /// True only of a text that is canonical (RFC 8785). False of any other, and of a canonical one with a number that
    /// is no integer or with a key in which a character is U+E000 or beyond: whether those are spelled and ordered
    /// as they should be is left to whoever writes the value again. No manifest of ours has either.
    pub(crate) is_surely_canonical: bool,
}

/// Reads as [`parse_strict_json`] does, and sees on the way whether the text is canonical.
pub(crate) fn read_strict_json(bytes: &[u8]) -> Result<StrictRead, StrictJsonError> {
    let text = std::str::from_utf8(bytes).map_err(|error| StrictJsonError::InvalidUtf8 {
        offset: error.valid_up_to(),
    })?;
    let mut reader = Reader {
        text,
        offset: 0,
        values: 0,
        is_surely_canonical: true,
    };
    let value = reader.value(0)?;
    reader.skip_space();
    if reader.offset < text.len() {
        return Err(StrictJsonError::TrailingBytes {
            offset: reader.offset,
        });
    }
    Ok(StrictRead {
        value,
        is_surely_canonical: reader.is_surely_canonical,
    })
}

/// A position in the text; always on a character boundary.
struct Reader<'a> {
    text: &'a str,
    offset: usize,
    /// How many were begun.
    values: usize,
    /// Of what is before the offset.
    is_surely_canonical: bool,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.offset).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.offset += 1;
            self.is_surely_canonical = false;
        }
    }

    fn unexpected(&self, expected: &'static str) -> StrictJsonError {
        let offset = self.offset;
        match self.text[offset..].chars().next() {
            Some(found) => StrictJsonError::Unexpected {
                offset,
                found,
                expected,
            },
            None => StrictJsonError::UnexpectedEnd { offset, expected },
        }
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), StrictJsonError> {
        if self.peek() != Some(byte) {
            return Err(self.unexpected(expected));
        }
        self.offset += 1;
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Value, StrictJsonError> {
        self.skip_space();
        if self.values == MAX_VALUES {
            return Err(StrictJsonError::TooManyValues {
                offset: self.offset,
                limit: MAX_VALUES,
            });
        }
        self.values += 1;
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.keyword(),
        }
    }

    fn keyword(&mut self) -> Result<Value, StrictJsonError> {
        let words = [
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
            ("null", Value::Null),
        ];
        for (word, value) in words {
            if self.text[self.offset..].starts_with(word) {
                self.offset += word.len();
                return Ok(value);
            }
        }
        Err(self.unexpected("a JSON value"))
    }

    fn enter(&mut self, depth: usize) -> Result<(), StrictJsonError> {
        if depth >= MAX_DEPTH {
            return Err(StrictJsonError::TooDeep {
                offset: self.offset,
                limit: MAX_DEPTH,
            });
        }
        self.offset += 1;
        self.skip_space();
        Ok(())
    }

    fn array(&mut self, depth: usize) -> Result<Value, StrictJsonError> {
        self.enter(depth)?;
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            self.offset += 1;
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if self.peek() == Some(b',') {
                self.offset += 1;
                continue;
            }
            self.expect(b']', "',' or ']'")?;
            return Ok(Value::Array(items));
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, StrictJsonError> {
        self.enter(depth)?;
        let mut members = Map::new();
        if self.peek() == Some(b'}') {
            self.offset += 1;
            return Ok(Value::Object(members));
        }
        loop {
            self.skip_space();
            let offset = self.offset;
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key in quotes"));
            }
            let key = self.string()?;
            // A key beyond the last one is no duplicate.
            if members.keys().next_back().is_some_and(|last| key <= *last) {
                self.is_surely_canonical = false;
                if members.contains_key(&key) {
                    return Err(StrictJsonError::DuplicateKey { offset, key });
                }
            }
            // The map is in UTF-8 order, which is UTF-16 order below U+E000.
            if key.bytes().any(|byte| byte >= 0xee) {
                self.is_surely_canonical = false;
            }
            self.skip_space();
            self.expect(b':', "':'")?;
            let value = self.value(depth + 1)?;
            members.insert(key, value);
            self.skip_space();
            if self.peek() == Some(b',') {
                self.offset += 1;
                continue;
            }
            self.expect(b'}', "',' or '}'")?;
            return Ok(Value::Object(members));
        }
    }

    /// Reads a string; the opening quote is known to be there.
    fn string(&mut self) -> Result<String, StrictJsonError> {
        self.offset += 1;
        // Mostly the whole of it, and then allocated once and exactly.
        let mut read = self.plain().to_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.offset += 1;
                    return Ok(read);
                }
                Some(b'\\') => {
                    read.push(self.escape()?);
                    read.push_str(self.plain());
                }
                _ => return Err(self.unexpected("the rest of a string")),
            }
        }
    }

    /// What comes before the next character with a meaning of its own.
    fn plain(&mut self) -> &'a str {
        let rest = &self.text[self.offset..];
        let length = plain_length(rest);
        self.offset += length;
        &rest[..length]
    }

    fn escape(&mut self) -> Result<char, StrictJsonError> {
        let start = self.offset;
        self.offset += 1;
        let plain = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => {
                self.is_surely_canonical = false;
                '/'
            }
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.offset += 1;
                return self.unicode_escape(start);
            }
            _ => return Err(self.unexpected("an escape")),
        };
        self.offset += 1;
        Ok(plain)
    }

    fn unicode_escape(&mut self, start: usize) -> Result<char, StrictJsonError> {
        let lone = StrictJsonError::LoneSurrogate { offset: start };
        let first = self.four_hexadecimal_digits()?;
        let code = if (0xd800..0xdc00).contains(&first) {
            if !self.text[self.offset..].starts_with("\\u") {
                return Err(lone);
            }
            self.offset += 2;
            let second = self.four_hexadecimal_digits()?;
            if !(0xdc00..0xe000).contains(&second) {
                return Err(lone);
            }
            0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)
        } else {
            first
        };
        // Canonical are only control characters without a short escape, in small letters.
        let is_short = matches!(code, 0x8 | 0x9 | 0xa | 0xc | 0xd);
        if code > 0x1f
            || is_short
            || self.text[start..self.offset]
                .bytes()
                .any(|byte| byte.is_ascii_uppercase())
        {
            self.is_surely_canonical = false;
        }
        char::from_u32(code).ok_or(lone)
    }

    fn four_hexadecimal_digits(&mut self) -> Result<u32, StrictJsonError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self
                .peek()
                .and_then(|byte| char::from(byte).to_digit(16))
                .ok_or_else(|| self.unexpected("four hexadecimal digits"))?;
            code = code << 4 | digit;
            self.offset += 1;
        }
        Ok(code)
    }

    fn digits(&mut self) -> Result<(), StrictJsonError> {
        let start = self.offset;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.offset += 1;
        }
        if self.offset == start {
            return Err(self.unexpected("a digit"));
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value, StrictJsonError> {
        let start = self.offset;
        let mut integer = true;
        if self.peek() == Some(b'-') {
            self.offset += 1;
        }
        if self.peek() == Some(b'0') {
            self.offset += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            integer = false;
            self.offset += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            integer = false;
            self.offset += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.offset += 1;
            }
            self.digits()?;
        }
        let spelled = &self.text[start..self.offset];
        // Integers have one spelling, but for that of zero.
        if !integer || spelled == "-0" {
            self.is_surely_canonical = false;
        }
        if integer {
            return Self::integer(spelled, start);
        }
        spelled
            .parse()
            .ok()
            .and_then(Number::from_f64)
            .map(Value::Number)
            .ok_or(StrictJsonError::NonFinite { offset: start })
    }

    fn integer(spelled: &str, offset: usize) -> Result<Value, StrictJsonError> {
        spelled
            .parse::<i64>()
            .ok()
            .filter(|integer| integer.unsigned_abs() <= MAX_SAFE_INTEGER)
            .map(|integer| match u64::try_from(integer) {
                Ok(positive) => Value::from(positive),
                Err(_) => Value::from(integer),
            })
            .ok_or(StrictJsonError::UnsafeInteger { offset })
    }
}
