//! [`Plan`]: what is decided before a run begins.

use super::choices::Choices;
use super::sabotage::Sabotage;
use wellwritten_memory::{MemoryConfiguration, PoolConfiguration, PoolKind, Uninitialized};

/// What a run does.
#[derive(Clone, Debug)]
pub struct Plan {
    pub configuration: MemoryConfiguration,
    pub uninitialized: Uninitialized,
    /// The run ends here, or where its choices are spent.
    pub operations: usize,
    /// Whether units end pending and settle late.
    pub late: bool,
    /// Whether bindings are always whole buffers.
    pub whole: bool,
    /// The comparison must notice it.
    pub sabotage: Option<Sabotage>,
}

impl Plan {
    /// An honest run over partial bindings whose bytes are trusted when they are fresh.
    pub fn new(configuration: MemoryConfiguration, operations: usize) -> Self {
        Self {
            configuration,
            uninitialized: Uninitialized::Trust,
            operations,
            late: false,
            whole: false,
            sabotage: None,
        }
    }

    /// An honest run of any kind, until the choices are spent.
    pub fn chosen(choices: &mut impl Choices) -> Self {
        let kind = choices.below(16);
        let configuration = if kind & 1 == 0 {
            small_sub_slices()
        } else {
            MemoryConfiguration::ExclusivePages
        };
        let uninitialized = if kind & 8 == 0 {
            Uninitialized::Trust
        } else {
            Uninitialized::Refuse
        };
        Self {
            uninitialized,
            late: kind & 2 == 0,
            whole: kind & 4 != 0,
            ..Self::new(configuration, usize::MAX)
        }
    }
}

/// Sub-slices of pages that hold a handful of a run's buffers, so that there are several of them.
pub fn small_sub_slices() -> MemoryConfiguration {
    MemoryConfiguration::Custom(vec![PoolConfiguration::new(PoolKind::SubSlices {
        page_size_bytes: 512,
    })])
}
