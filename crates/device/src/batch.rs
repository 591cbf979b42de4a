//! Units of work waiting to become one submission.

use std::rc::Rc;

use wellwritten_memory::SubmissionId;

use crate::access::Access;
use crate::backend::PageId;
use crate::kernel::CompiledKernel;
use crate::launch_check::Bound;

/// Bytes of one page, as a launch binds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BoundBytes {
    pub(crate) page: PageId,
    pub(crate) offset: u64,
    pub(crate) size_bytes: u64,
    pub(crate) access: Access,
}

/// One unit of work, ready to encode. Cheap to clone: a capture window keeps what it hears of.
#[derive(Clone)]
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
    /// Copies bytes from one page to another.
    Copy {
        from: PageId,
        from_offset: u64,
        to: PageId,
        to_offset: u64,
        size_bytes: u64,
    },
    /// Runs a kernel.
    Launch {
        label: Rc<str>,
        kernel: CompiledKernel,
        bindings: Bound,
        workgroups: [u32; 3],
    },
    /// Runs what a capture window recorded, in its order.
    Graph { units: Rc<[Self]> },
}

impl Work {
    /// Whether it names a page of which `wanted` holds.
    pub(crate) fn names(&self, wanted: &mut dyn FnMut(PageId) -> bool) -> bool {
        match self {
            Self::Write { page, .. } | Self::Clear { page, .. } => wanted(*page),
            Self::Copy { from, to, .. } => wanted(*from) || wanted(*to),
            Self::Launch { bindings, .. } => bindings.iter().any(|bound| wanted(bound.page)),
            Self::Graph { units } => units.iter().any(|unit| unit.names(wanted)),
        }
    }

    /// Calls `each` for every unit that is not made of others, in order.
    pub(crate) fn visit<'a>(&'a self, each: &mut dyn FnMut(&'a Self)) {
        match self {
            Self::Graph { units } => units.iter().for_each(|unit| unit.visit(each)),
            simple => each(simple),
        }
    }

    /// Host bytes it carries.
    fn host_bytes(&self) -> u64 {
        let mut sum = 0;
        self.visit(&mut |unit| {
            if let Self::Write { bytes, .. } = unit {
                sum += bytes.len() as u64;
            }
        });
        sum
    }
}

/// The open submission: units recorded but not yet handed to the backend.
pub(crate) struct Batch {
    pub(crate) submission: SubmissionId,
    pub(crate) work: Vec<Work>,
    /// Host bytes that follow a command and so have to be staged: bytes at the front go in directly.
    staged_bytes: u64,
    has_commands: bool,
}

impl Batch {
    /// A submission that has grown to this many units is handed over: it bounds how much one
    /// failure can void and how long the GPU idles while a large batch is recorded.
    pub(crate) const MAX_UNITS: usize = 256;

    /// Host bytes that one submission stages at most, unless one unit alone has more.
    const MAX_STAGED_BYTES: u64 = 1 << 20;

    pub(crate) fn new(submission: SubmissionId) -> Self {
        Self {
            submission,
            work: Vec::new(),
            staged_bytes: 0,
            has_commands: false,
        }
    }

    /// Whether `next` may join.
    pub(crate) fn admits(&self, next: &Work) -> bool {
        let staged = if self.has_commands {
            self.staged_bytes + next.host_bytes()
        } else {
            0
        };
        self.work.len() < Self::MAX_UNITS && staged <= Self::MAX_STAGED_BYTES
    }

    pub(crate) fn push(&mut self, work: Work) {
        if self.has_commands {
            self.staged_bytes += work.host_bytes();
        } else {
            self.has_commands = !matches!(work, Work::Write { .. });
        }
        self.work.push(work);
    }
}
