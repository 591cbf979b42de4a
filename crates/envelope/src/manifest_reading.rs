//! How the parts of a manifest are read out of JSON: fields this crate knows, and a map of those it does not.
//!
//! Field by field out of a value, rather than through a visitor, derived or not: that is twice as much code for each
//! struct, in a module that every visitor downloads.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::from_json::unexpected;
use crate::manifest::{UnknownFields, WatermarkFields};
use crate::{
    AgentEntry, Compatibility, CoordinatorEntry, Digest, DigestAlgorithm, EnvelopeVersion,
    EnvironmentEntry, EventWatermarks, ExecutorEntry, Id, JsonShapeError, Manifest, PayloadRow,
    PortBinding, RationalNs, Scope, U64, from_json,
};

/// What a field of a manifest can hold.
trait FromJson: Sized {
    fn from_json(value: Value) -> Result<Self, JsonShapeError>;
}

macro_rules! reads_scalars {
    ($($type:ident)*) => {$(
        impl FromJson for $type {
            fn from_json(value: Value) -> Result<Self, JsonShapeError> {
                from_json(value)
            }
        }
    )*};
}

reads_scalars!(Digest DigestAlgorithm EnvelopeVersion Id RationalNs Scope String U64 i32);

impl<T: FromJson> FromJson for Option<T> {
    fn from_json(value: Value) -> Result<Self, JsonShapeError> {
        match value {
            Value::Null => Ok(None),
            value => T::from_json(value).map(Some),
        }
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(value: Value) -> Result<Self, JsonShapeError> {
        let elements = match value {
            Value::Array(elements) => elements,
            other => return Err(unexpected(&other, &"a list")),
        };
        let mut list = Self::new();
        for (index, element) in elements.into_iter().enumerate() {
            list.push(T::from_json(element).map_err(|error| error.under(&format!("[{index}]")))?);
        }
        Ok(list)
    }
}

impl FromJson for EventWatermarks {
    fn from_json(value: Value) -> Result<Self, JsonShapeError> {
        let fields = WatermarkFields::from_json(value)?;
        fields.try_into().map_err(serde::de::Error::custom)
    }
}

/// The fields of an object that were not read yet.
struct Fields(Vec<(String, Value)>);

impl Fields {
    fn of(value: Value) -> Result<Self, JsonShapeError> {
        match value {
            Value::Object(object) => Ok(Self(object.into_iter().collect())),
            other => Err(unexpected(&other, &"an object")),
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        let at = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.swap_remove(at).1)
    }

    /// A field that must be there.
    fn required<T: FromJson>(&mut self, name: &'static str) -> Result<T, JsonShapeError> {
        match self.take(name) {
            Some(value) => T::from_json(value).map_err(|error| error.under(name)),
            None => Err(serde::de::Error::missing_field(name)),
        }
    }

    /// A field that may be absent but not null: null would not survive a round trip.
    fn optional<T: FromJson>(&mut self, name: &'static str) -> Result<Option<T>, JsonShapeError> {
        let value = self.take(name).map(T::from_json).transpose();
        value.map_err(|error| error.under(name))
    }

    fn rest(self) -> UnknownFields {
        UnknownFields(self.0.into_iter().collect())
    }
}

/// Reads a struct whose last field is `unknown: UnknownFields`.
macro_rules! reads_fields {
    ($type:ident { $($field:ident = $name:literal $kind:ident,)* }) => {
        impl FromJson for $type {
            fn from_json(value: Value) -> Result<Self, JsonShapeError> {
                let mut fields = Fields::of(value)?;
                Ok(Self {
                    $($field: fields.$kind($name)?,)*
                    unknown: fields.rest(),
                })
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = Value::deserialize(deserializer)?;
                Self::from_json(value).map_err(serde::de::Error::custom)
            }
        }
    };
}

/// A manifest, or a part of one, is read where it is: an error keeps its path.
macro_rules! reads_in_place {
    ($($type:ident)*) => {$(
        impl $type {
            /// Reads it out of JSON; an error says in which field.
            pub fn from_json(value: Value) -> Result<Self, JsonShapeError> {
                FromJson::from_json(value)
            }
        }
    )*};
}

reads_in_place!(Manifest Compatibility);

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
