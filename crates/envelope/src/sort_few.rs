//! [`sort_few_by`]: a sort for lists that a person could count.

use std::cmp::Ordering;

/// Sorts `list` by insertion; equal elements keep their order. Right for lists that are short, or sorted already:
/// the general sorts are twenty times the code for each type of element, and every visitor downloads that code.
pub fn sort_few_by<T>(list: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    for end in 1..list.len() {
        let mut at = end;
        while at > 0 && compare(&list[at - 1], &list[at]) == Ordering::Greater {
            list.swap(at - 1, at);
            at -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    //! Oracle: the standard library's stable sort, on every list of up to six small numbers.

    use super::sort_few_by;

    #[test]
    fn every_short_list_is_sorted_and_equals_keep_their_order() {
        for length in 0..=6 {
            for code in 0..3_usize.pow(length) {
                let list: Vec<(usize, u32)> = (0..length)
                    .map(|place| (code / 3_usize.pow(place) % 3, place))
                    .collect();
                let (mut sorted, mut expected) = (list.clone(), list);
                sort_few_by(&mut sorted, |left, right| left.0.cmp(&right.0));
                expected.sort_by_key(|element| element.0);
                assert_eq!(sorted, expected);
            }
        }
    }
}
