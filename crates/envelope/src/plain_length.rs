//! [`plain_length`]: how much of a JSON string stands for itself.

/// How many bytes of `text` come before the first quote, backslash or control character: what a JSON string spells as
/// it is. Eight bytes at a time, since most of a manifest is names and digests.
pub(crate) fn plain_length(text: &str) -> usize {
    const ONES: u64 = u64::MAX / 0xff;
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    for (index, bytes) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*bytes);
        // The high bit of each byte that is below `limit`. A borrow can only spoil bytes behind the first such byte.
        let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word;
        let special = below(word, 0x20)
            | below(word ^ (ONES * u64::from(b'"')), 1)
            | below(word ^ (ONES * u64::from(b'\\')), 1);
        let marks = special & (ONES << 7);
        if marks != 0 {
            return index * 8 + marks.trailing_zeros() as usize / 8;
        }
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    let plain = rest.iter().position(is_special).unwrap_or(rest.len());
    words.len() * 8 + plain
}

#[cfg(test)]
mod tests {
    //! Oracle: one character after the other, on every pair of ASCII characters (and some others) at every distance
    //! from each other and from the end.

    use super::plain_length;

    fn slow(text: &str) -> usize {
        let is_special = |&(_, character): &(usize, char)| {
            character == '"' || character == '\\' || character < ' '
        };
        text.char_indices()
            .find(is_special)
            .map_or(text.len(), |(at, _)| at)
    }

    #[test]
    fn it_stops_where_the_slow_one_stops() {
        let characters = || ('\0'..='\u{a2}').chain(['\u{7ff}', '\u{20ac}', '\u{1f600}']);
        let mut stopped = [false; 24];
        for first in characters() {
            for second in characters() {
                for (before, between) in
                    (0..9).flat_map(|before| [(before, 0), (before, 8 - before)])
                {
                    let text = format!(
                        "{}{first}{}{second}mnop",
                        "abcdefghi".split_at(before).0,
                        "ABCDEFGHI".split_at(between).0
                    );
                    let length = plain_length(&text);
                    assert_eq!(length, slow(&text), "{text:?}");
                    stopped[length] = true;
                }
            }
        }
        assert!(stopped[..10].iter().all(|&stopped| stopped));
    }
}
