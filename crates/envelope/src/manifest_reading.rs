//! How the parts of a manifest are read: fields this crate knows, and a map of those it does not.
//!
//! Written out rather than derived: a derived reader of a struct with a flattened map first keeps every unknown
//! field in a form of its own, with much code for each struct.

use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Map;

use crate::manifest::{UnknownFields, WatermarkFields};
use crate::{
    AgentEntry, Compatibility, CoordinatorEntry, EnvironmentEntry, ExecutorEntry, Manifest,
    PayloadRow, PortBinding,
};

/// A field that must be there.
fn required<T, E: Error>(value: Option<T>, name: &'static str) -> Result<T, E> {
    value.ok_or_else(|| E::missing_field(name))
}

/// A field that may be absent but not null: null would not survive a round trip.
#[expect(
    clippy::unnecessary_wraps,
    reason = "called in the same place as `required`"
)]
fn optional<T, E: Error>(value: Option<T>, _name: &'static str) -> Result<Option<T>, E> {
    Ok(value)
}

/// Reads a struct whose last field is `unknown: UnknownFields`.
macro_rules! reads_fields {
    ($type:ident { $($field:ident = $name:literal $kind:ident,)* }) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Fields;

                impl<'de> Visitor<'de> for Fields {
                    type Value = $type;

                    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                        formatter.write_str(concat!("struct ", stringify!($type)))
                    }

                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$type, A::Error> {
                        $(let mut $field = None;)*
                        let mut unknown = Map::new();
                        while let Some(key) = map.next_key::<String>()? {
                            match key.as_str() {
                                $($name if $field.is_some() => {
                                    return Err(A::Error::duplicate_field($name));
                                })*
                                $($name => $field = Some(map.next_value()?),)*
                                _ => {
                                    unknown.insert(key, map.next_value()?);
                                }
                            }
                        }
                        Ok($type {
                            $($field: $kind($field, $name)?,)*
                            unknown: UnknownFields(unknown),
                        })
                    }
                }

                deserializer.deserialize_map(Fields)
            }
        }
    };
}

reads_fields!(Manifest {
    envelope_version = "envelopeVersion" required,
    digest_algorithm = "digestAlgorithm" optional,
    checkpoint_id = "checkpointId" required,
    source_scope = "sourceScope" required,
    episode_id = "episodeId" required,
    world_time = "worldTime" required,
    scheduler_id = "schedulerId" required,
    composition_digest = "compositionDigest" required,
    port_map = "portMap" required,
    compatibility = "compatibility" required,
    environment = "environment" required,
    agents = "agents" required,
    coordinator = "coordinator" required,
    helper_state = "helperState" required,
    payloads = "payloads" required,
});

reads_fields!(PortBinding {
    port_id = "portId" required,
    agent_id = "agentId" required,
});

reads_fields!(Compatibility {
    backend_digest = "backendDigest" required,
    content_digest = "contentDigest" required,
    patch_digest = "patchDigest" required,
    controller_digest = "controllerDigest" required,
    parser_digest = "parserDigest" required,
    state_format_id = "stateFormatId" required,
});

reads_fields!(EnvironmentEntry {
    worker_id = "workerId" required,
    payload = "payload" required,
});

reads_fields!(AgentEntry {
    agent_id = "agentId" required,
    profile_digest = "profileDigest" required,
    dataset_digest = "datasetDigest" required,
    index_digest = "indexDigest" optional,
    model_version = "modelVersion" required,
    plasticity_version = "plasticityVersion" required,
    seed = "seed" required,
    brain_ticks = "brainTicks" required,
    remainder = "remainder" required,
    payload = "payload" required,
});

reads_fields!(CoordinatorEntry {
    task_ledger = "taskLedger" required,
    prior_inspection = "priorInspection" required,
    executor_state = "executorState" required,
    admission_state = "admissionState" required,
    event_watermarks = "eventWatermarks" required,
});

reads_fields!(ExecutorEntry {
    agent_id = "agentId" required,
    payload = "payload" required,
});

reads_fields!(WatermarkFields {
    last_source_step = "lastSourceStep" optional,
    issued = "issued" optional,
    last_event_id = "lastEventId" optional,
    last_ordinal = "lastOrdinal" optional,
});

reads_fields!(PayloadRow {
    name = "name" required,
    byte_length = "byteLength" required,
    digest = "digest" required,
});
