//! What only the text tells: naga folds constants before it shows them.

use std::collections::BTreeMap;

/// The lines of `text` without their comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
}

/// How often each word stands in `text`, comments left out.
pub fn words_of_code(text: &str) -> BTreeMap<&str, u32> {
    let mut words = BTreeMap::new();
    for line in code(text) {
        for word in line.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
            *words.entry(word).or_default() += 1;
        }
    }
    words
}

/// Every literal and type in `text` that is not of integers.
pub fn fractions(text: &str) -> impl Iterator<Item = String> {
    code(text)
        .flat_map(|line| {
            line.split(|letter: char| !letter.is_alphanumeric() && !"_.".contains(letter))
        })
        .filter(|word| is_fraction(word))
        .map(str::to_owned)
}

fn is_fraction(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let is_number = lower
        .trim_start_matches('.')
        .starts_with(|letter: char| letter.is_ascii_digit());
    if is_number {
        return match lower.strip_prefix("0x") {
            Some(digits) => digits.contains(['.', 'p']),
            None => lower.contains(['.', 'e', 'f', 'h']),
        };
    }
    word.split('.').any(|part| {
        let vector = part.starts_with("vec") || part.starts_with("mat");
        ["f16", "f32", "f64"].contains(&part) || (vector && part.ends_with(['f', 'h']))
    })
}

#[test]
fn fractions_are_told_from_integers() {
    for word in [
        "1.0", "1.", ".5", "1f", "2h", "1e3", "0x1.8p1", "0x1p4f", "f32", "f16", "vec2f", "mat2x2h",
    ] {
        assert!(is_fraction(word), "{word}");
    }
    for word in [
        "1",
        "1u",
        "16i",
        "0xffu",
        "0x7feb352du",
        "cell.x",
        "half",
        "vec3",
        "u32",
        "food_y",
        "",
    ] {
        assert!(!is_fraction(word), "{word}");
    }
}
