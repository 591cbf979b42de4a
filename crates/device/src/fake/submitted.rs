//! What reached the fake, as its holder sees it.

use crate::batch::Work;

/// One unit of work that reached the backend.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Encoded {
    /// A host write.
    Write {
        /// Its first word.
        first_word: u32,
    },
    /// A zero-fill of recycled bytes.
    Clear,
    /// A copy from buffer to buffer.
    Copy,
    /// A launch.
    Launch {
        /// The kernel's label.
        label: String,
        /// Its workgroup count in x.
        workgroups_x: u32,
    },
    /// A replay of a sealed graph.
    Graph {
        /// What it runs.
        units: Vec<Encoded>,
    },
}

impl Encoded {
    pub(super) fn of(unit: &Work) -> Self {
        match unit {
            Work::Write { bytes, .. } => Self::Write {
                first_word: u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            },
            Work::Clear { .. } => Self::Clear,
            Work::Copy { .. } => Self::Copy,
            Work::Launch {
                label, workgroups, ..
            } => Self::Launch {
                label: label.to_string(),
                workgroups_x: workgroups[0],
            },
            Work::Graph { units } => Self::Graph {
                units: units.iter().map(Self::of).collect(),
            },
        }
    }
}

/// One submission that reached the backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// Its units of work, in order.
    pub units: Vec<Encoded>,
    /// Whether it was applied; otherwise it was dropped.
    pub applied: bool,
}
