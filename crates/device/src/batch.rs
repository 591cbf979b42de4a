//! Units of work waiting to become one submission.

use std::rc::Rc;

use wellwritten_memory::SubmissionId;

use crate::access::Access;
use crate::backend::PageId;
use crate::kernel::CompiledKernel;

/// Bytes of one page, as a launch binds them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundBytes {
    pub(crate) page: PageId,
    pub(crate) offset: u64,
    pub(crate) size_bytes: u64,
    pub(crate) access: Access,
}

/// One unit of work, ready to encode.
pub(crate) enum Work {
    /// Copies host bytes into a page.
    Write {
        page: PageId,
        offset: u64,
        bytes: Rc<[u8]>,
    },
    /// Fills bytes with zero.
    Clear {
        page: PageId,
        offset: u64,
        size_bytes: u64,
    },
    /// Runs a kernel.
    Launch {
        label: Rc<str>,
        kernel: CompiledKernel,
        bindings: Vec<BoundBytes>,
        workgroups: [u32; 3],
    },
}

impl Work {
    /// The pages it names.
    pub(crate) fn pages(&self) -> impl Iterator<Item = PageId> {
        let (one, bindings) = match self {
            Self::Write { page, .. } | Self::Clear { page, .. } => (Some(*page), &[][..]),
            Self::Launch { bindings, .. } => (None, bindings.as_slice()),
        };
        one.into_iter()
            .chain(bindings.iter().map(|bound| bound.page))
    }

    /// Whether WebGPU executes it before the commands of the same submission, whatever the order
    /// in which they were recorded.
    pub(crate) fn is_queue_write(&self) -> bool {
        matches!(self, Self::Write { .. })
    }
}

/// The open submission: units recorded but not yet handed to the backend.
pub(crate) struct Batch {
    pub(crate) submission: SubmissionId,
    pub(crate) work: Vec<Work>,
}

impl Batch {
    /// A submission that has grown to this many units is handed over: it bounds how much one
    /// failure can void and how long the GPU idles while a large batch is recorded.
    pub(crate) const MAX_UNITS: usize = 64;

    pub(crate) fn new(submission: SubmissionId) -> Self {
        Self {
            submission,
            work: Vec::new(),
        }
    }

    /// Whether `next` may join without changing the order of effects: a queue write runs before
    /// every command of its submission, so it cannot follow one.
    pub(crate) fn admits(&self, next: &Work) -> bool {
        self.work.len() < Self::MAX_UNITS
            && !(next.is_queue_write() && self.work.iter().any(|work| !work.is_queue_write()))
    }
}
