//! Choices spelled out by bytes, one each.

pub struct Choices<'a> {
    bytes: &'a [u8],
}

impl<'a> Choices<'a> {
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// One of `count`; none where no byte is left.
    pub fn next(&mut self, count: u8) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(first % count)
    }

    /// One of `count`; the first where no byte is left.
    pub fn below(&mut self, count: u8) -> u8 {
        self.next(count).unwrap_or(0)
    }

    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        let count = u8::try_from(all.len()).expect("few");
        all[usize::from(self.below(count))]
    }
}
