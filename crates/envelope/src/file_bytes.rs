//! [`FileBytes`]: what the rules of a reader ask of a file, so that one text of the rules reads bytes in memory and
//! files that do not fit into it.

use std::convert::Infallible;
use std::ops::Range;

use crate::byte_layout::{bytes_at, file_length};
use crate::{Digest, DigestAlgorithm, EnvelopeError};

/// Why the walk over a file ended: the file broke a rule, or it could not be read.
pub(crate) enum Halt<F> {
    /// It broke a rule.
    Refused(EnvelopeError),
    /// It could not be read.
    Fault(F),
}

impl<F> From<EnvelopeError> for Halt<F> {
    fn from(error: EnvelopeError) -> Self {
        Self::Refused(error)
    }
}

impl<F> Halt<F> {
    /// A broken rule as a value to judge; whatever else happened as the error it is.
    pub(crate) fn judged<T>(result: Result<T, Self>) -> Result<Result<T, EnvelopeError>, Self> {
        match result {
            Ok(value) => Ok(Ok(value)),
            Err(Self::Refused(error)) => Ok(Err(error)),
            Err(fault) => Err(fault),
        }
    }
}

impl Halt<Infallible> {
    /// What it can only be where nothing can fail to be read.
    pub(crate) fn refusal(self) -> EnvelopeError {
        match self {
            Self::Refused(error) => error,
            Self::Fault(never) => match never {},
        }
    }
}

/// A file of known length.
pub(crate) trait FileBytes {
    /// What can go wrong besides a broken rule.
    type Fault;

    /// Length of the file in bytes.
    fn length(&self) -> u64;

    /// At least the first `length` bytes, or the whole file where it is shorter. The caller has checked that they
    /// are meant to be there: this much is allocated.
    fn prefix(&mut self, length: u64) -> Result<&[u8], Halt<Self::Fault>>;

    /// `N` bytes at `offset`, or `None` where they are not all there.
    fn array<const N: usize>(&mut self, offset: u64) -> Result<Option<[u8; N]>, Halt<Self::Fault>>;

    /// The digest of a range, or `None` where it is not all there.
    fn digest(
        &mut self,
        algorithm: DigestAlgorithm,
        range: Range<u64>,
    ) -> Result<Option<Digest>, Halt<Self::Fault>>;
}

/// A file in memory: nothing is copied.
pub(crate) struct InMemory<'a>(pub(crate) &'a [u8]);

impl FileBytes for InMemory<'_> {
    type Fault = Infallible;

    fn length(&self) -> u64 {
        file_length(self.0.len())
    }

    fn prefix(&mut self, _length: u64) -> Result<&[u8], Halt<Infallible>> {
        Ok(self.0)
    }

    fn array<const N: usize>(&mut self, offset: u64) -> Result<Option<[u8; N]>, Halt<Infallible>> {
        let bytes = bytes_at(self.0, offset, file_length(N));
        Ok(bytes.and_then(|bytes| bytes.try_into().ok()))
    }

    fn digest(
        &mut self,
        algorithm: DigestAlgorithm,
        range: Range<u64>,
    ) -> Result<Option<Digest>, Halt<Infallible>> {
        let bytes = bytes_at(self.0, range.start, range.end - range.start);
        Ok(bytes.map(|bytes| algorithm.digest(bytes)))
    }
}
