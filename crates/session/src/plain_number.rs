//! Which numbers a message may hold.

use serde_json::Value;

/// Where doubles no longer tell neighbouring integers apart.
const FIRST_UNSAFE: f64 = 9_007_199_254_740_992.0;
/// From here on canonical JSON writes exponents, not digits.
const FIRST_WITH_EXPONENT: f64 = 1e21;

/// Whether a number reads back as what it is. Canonical JSON writes a double from 2^53 to 10^21 as an integer, and integers of
/// that size are refused wherever JSON is read, since one that was a counter would have lost its last digits.
pub(crate) fn is_plain(number: f64) -> bool {
    let magnitude = number.abs();
    number.is_finite() && !(FIRST_UNSAFE..FIRST_WITH_EXPONENT).contains(&magnitude)
}

/// The first number in a value that is not plain.
pub(crate) fn first_not_plain(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64().filter(|number| !is_plain(*number)),
        Value::Array(values) => values.iter().find_map(first_not_plain),
        Value::Object(fields) => fields.values().find_map(first_not_plain),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    //! Oracle: written as canonical JSON and read strictly, a number is there or it is not.

    use serde_json::json;
    use wellwritten_envelope::{canonical_text, parse_strict_json};

    use super::{first_not_plain, is_plain};

    #[test]
    fn what_is_plain_reads_back_and_nothing_else_does() {
        let edge = 9_007_199_254_740_992.0_f64;
        let numbers = [
            0.0,
            -0.0,
            0.1,
            edge.next_down(),
            edge,
            edge.next_up(),
            1e20,
            1e21_f64.next_down(),
            1e21,
            1e300,
            f64::MAX,
            f64::MIN_POSITIVE,
        ];
        for number in numbers.into_iter().flat_map(|number| [number, -number]) {
            let text = canonical_text(&json!([number]));
            let reads = parse_strict_json(text.as_bytes()).is_ok();
            assert_eq!(is_plain(number), reads, "{text}");
            let nested = json!({"a": [1, {"b": number}]});
            assert_eq!(first_not_plain(&nested).is_none(), reads, "{text}");
        }
        assert!(!is_plain(f64::NAN) && !is_plain(f64::INFINITY));
    }
}
