//! [`heap_sort_by`]: a sort for lists of any length.

use std::cmp::Ordering;

/// Sorts `list` in place with at most about 2 n log n comparisons, whatever its order; equal elements do not keep
/// theirs. Where [`crate::sort_few_by`] would take n^2, and without the general sorts' code, which every visitor
/// downloads.
pub(crate) fn heap_sort_by<T>(list: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    for root in (0..list.len() / 2).rev() {
        sift_down(list, root, &mut compare);
    }
    for end in (1..list.len()).rev() {
        list.swap(0, end);
        sift_down(&mut list[..end], 0, &mut compare);
    }
}

/// Makes a heap of what is below `root`, where everything below its children is one: none is greater than its parent.
fn sift_down<T>(heap: &mut [T], mut root: usize, compare: &mut impl FnMut(&T, &T) -> Ordering) {
    loop {
        let mut child = 2 * root + 1;
        if child >= heap.len() {
            return;
        }
        if child + 1 < heap.len() && compare(&heap[child], &heap[child + 1]) == Ordering::Less {
            child += 1;
        }
        if compare(&heap[root], &heap[child]) != Ordering::Less {
            return;
        }
        heap.swap(root, child);
        root = child;
    }
}

#[cfg(test)]
mod tests {
    //! Oracle: the standard library's sort, on every list of up to seven small numbers; and the count of comparisons
    //! that n log n allows, for lists in the orders that are hard on simple sorts. A swap follows a comparison.

    use super::heap_sort_by;
    use crate::sort_few_by;

    #[test]
    fn every_short_list_is_sorted() {
        for length in 0..=7 {
            for code in 0..3_usize.pow(length) {
                let list: Vec<usize> = (0..length)
                    .map(|place| code / 3_usize.pow(place) % 3)
                    .collect();
                let (mut sorted, mut expected) = (list.clone(), list);
                heap_sort_by(&mut sorted, usize::cmp);
                expected.sort_unstable();
                assert_eq!(sorted, expected);
            }
        }
    }

    type Sort = fn(&mut [usize], &mut dyn FnMut());

    fn by_heap(list: &mut [usize], count: &mut dyn FnMut()) {
        heap_sort_by(list, |left, right| {
            count();
            left.cmp(right)
        });
    }

    fn by_insertion(list: &mut [usize], count: &mut dyn FnMut()) {
        let count = std::cell::RefCell::new(count);
        sort_few_by(list, |left, right| {
            count.borrow_mut()();
            left.cmp(right)
        });
    }

    /// The most comparisons for a list of so many numbers: sorted, reversed, and its second half before its first.
    fn most_comparisons(sort: Sort, length: usize) -> usize {
        let ascending = 0..length;
        let orders: [Vec<usize>; 3] = [
            ascending.clone().collect(),
            ascending.clone().rev().collect(),
            ascending
                .clone()
                .cycle()
                .skip(length / 2)
                .take(length)
                .collect(),
        ];
        let counts = orders.map(|mut list| {
            let mut comparisons = 0;
            sort(&mut list, &mut || comparisons += 1);
            assert!(list.into_iter().eq(ascending.clone()));
            comparisons
        });
        counts.into_iter().max().unwrap_or_default()
    }

    /// Whether four times the elements take no more than five times the comparisons.
    fn is_nearly_linear(sort: Sort) -> bool {
        let (few, many) = (most_comparisons(sort, 1000), most_comparisons(sort, 4000));
        many <= 5 * few && many <= 2 * 4000 * 12
    }

    #[test]
    fn four_times_the_elements_are_not_sixteen_times_the_work() {
        assert!(is_nearly_linear(by_heap));
    }

    #[test]
    fn canary_a_quadratic_sort_is_noticed() {
        assert!(!is_nearly_linear(by_insertion));
    }
}
