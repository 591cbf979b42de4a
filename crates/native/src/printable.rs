//! [`printable`]: other people's text, made safe for a terminal.

use std::fmt::Write as _;

/// The text with its control characters escaped: names and file contents are other people's, and a
/// terminal obeys escape sequences.
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            let _ = write!(safe, "{}", character.escape_default());
        } else {
            safe.push(character);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn a_terminal_is_told_nothing_by_other_peoples_text() {
        assert_eq!(
            printable("a\u{1b}[2Jb\r\u{9b}c\nd é"),
            "a\\u{1b}[2Jb\\r\\u{9b}c\\nd é"
        );
    }
}
