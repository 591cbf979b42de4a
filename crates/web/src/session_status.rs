//! A session at a glance, for the page.

use serde::Serialize;
use tsify::Tsify;
use wellwritten_device::{BackendInfo, DeviceCounters};
use wellwritten_session::Status;
use wellwritten_store::{GenerationInfo, OpenReport};

use crate::store_start::StoreChoice;

/// What the page shows of a session: the coordinator's status and what the host adds.
#[derive(Debug, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct SessionStatus {
    /// The coordinator's own.
    #[serde(flatten)]
    pub coordinator: Status,
    /// What computes.
    pub backend: BackendInfo,
    /// Counts devices from 1: a recovered device is the next generation.
    #[tsify(type = "bigint")]
    pub device_generation: u64,
    /// Why the device is lost, if it is.
    #[tsify(type = "string | null")]
    pub device_lost: Option<String>,
    /// What the device has done so far.
    pub device_counters: DeviceCounters,
    /// Moves whenever a claim or a buffer changes.
    #[tsify(type = "bigint")]
    pub taint_revision: u64,
    /// Whether `run` is stepping.
    pub running: bool,
    /// Where checkpoints go.
    pub store: StoreChoice,
    /// What opening the store removed, kept and missed.
    pub store_report: OpenReport,
    /// The newest generation of this session that was not abandoned, while it waits in phase
    /// `starting` to be told whether to go on from it.
    pub resumable: Option<GenerationInfo>,
    /// The seed every other is derived from.
    #[tsify(type = "bigint")]
    pub master_seed: u64,
}
