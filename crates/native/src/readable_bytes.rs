//! Lengths for a person's eye.

/// `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A length as `2.1 KiB (2,168 bytes)`, or as `168 bytes` where that is short enough.
pub fn readable_bytes(bytes: u64) -> String {
    match short_bytes(bytes) {
        Some(short) => format!("{short} ({} bytes)", grouped(bytes)),
        None => format!("{bytes} bytes"),
    }
}

/// A length as `2.1 KiB`, rounded down so that nothing unfinished looks finished; `None` below 1 KiB.
pub fn short_bytes(bytes: u64) -> Option<String> {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = bytes.checked_ilog2()? / 10;
    let unit = UNITS.get(usize::try_from(power.checked_sub(1)?).ok()?)?;
    let tenths = (u128::from(bytes) * 10) >> (10 * power);
    Some(format!("{}.{} {unit}", tenths / 10, tenths % 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_read_well_at_every_size() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB (1,024 bytes)"),
            (1_048_575, "1023.9 KiB (1,048,575 bytes)"),
            (5 << 30, "5.0 GiB (5,368,709,120 bytes)"),
            (u64::MAX, "15.9 EiB (18,446,744,073,709,551,615 bytes)"),
        ] {
            assert_eq!(readable_bytes(bytes), expected);
        }
    }
}
