//! [`sort_by_key`]: the lists here in order, in little code.

/// Sorts by a key that tells all elements apart, or whose equals may stand in any order.
///
/// A heap sort, after a look whether there is anything to do: most lists come in order. The library's own sorts are
/// faster on long lists out of order, and are several kilobytes of the download for every type of element.
pub(crate) fn sort_by_key<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    if list.is_sorted_by_key(&key) {
        return;
    }
    for root in (0..list.len() / 2).rev() {
        sift_down(list, root, &key);
    }
    for end in (1..list.len()).rev() {
        list.swap(0, end);
        sift_down(&mut list[..end], 0, &key);
    }
}

/// Lets the element at `root` sink to where no child has a larger key.
fn sift_down<T, K: Ord>(heap: &mut [T], mut root: usize, key: &impl Fn(&T) -> K) {
    loop {
        let mut child = 2 * root + 1;
        if child >= heap.len() {
            return;
        }
        if child + 1 < heap.len() && key(&heap[child]) < key(&heap[child + 1]) {
            child += 1;
        }
        if key(&heap[root]) >= key(&heap[child]) {
            return;
        }
        heap.swap(root, child);
        root = child;
    }
}

#[cfg(test)]
mod tests {
    //! Oracle: the library's own sort, on lists of every length up to 70 and a long one.

    use super::sort_by_key;
    use alloc::vec::Vec;

    fn list(length: u64, seed: u64) -> Vec<(u64, u64)> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005);
            state = state.wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        // Few keys on every other list, so that many are equal.
        let modulus = if seed.is_multiple_of(2) { 5 } else { 1 << 20 };
        (0..length).map(|at| (next() % modulus, at)).collect()
    }

    #[test]
    fn every_list_comes_out_as_the_library_sorts_it() {
        for length in (0..70).chain([5000]) {
            for seed in 0..20 {
                let mut ours = list(length, seed);
                let mut theirs = ours.clone();
                sort_by_key(&mut ours, |entry| *entry);
                theirs.sort_unstable();
                assert_eq!(ours, theirs, "length {length}, seed {seed}");
                // By a key that does not tell them apart: in order, and nothing lost.
                let mut ours = list(length, seed);
                sort_by_key(&mut ours, |(key, _)| *key);
                assert!(ours.is_sorted_by_key(|(key, _)| *key));
                ours.sort_unstable();
                assert_eq!(ours, theirs, "length {length}, seed {seed}");
            }
        }
    }
}
