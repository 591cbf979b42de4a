//! Every fault a person can inject, by name.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use tsify::Tsify;
use wellwritten_arena::{FaultBoard, KernelName, fault_catalogue};
use wellwritten_envelope::Id;

/// A fault to arm. Two act at once: `device-loss` and `kill-participant`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tsify)]
#[serde(
    tag = "name",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum FaultSpec {
    /// The next launch of a kernel uses a shader that does not compile.
    InvalidShader {
        /// Which kernel.
        kernel: KernelName,
        /// Whether only one launch is broken (the default), or every one until it is disarmed.
        #[serde(default = "once")]
        #[tsify(optional)]
        once: bool,
    },
    /// The real device is destroyed now.
    DeviceLoss,
    /// A participant goes away now.
    KillParticipant {
        /// Which: `world`, or an agent.
        #[tsify(type = "string")]
        participant: Id,
    },
}

fn once() -> bool {
    true
}

/// Read from the fields of all faults at once, which is far less code than a reader for each.
impl<'de> Deserialize<'de> for FaultSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "kebab-case")]
        enum Name {
            InvalidShader,
            DeviceLoss,
            KillParticipant,
        }

        #[derive(Deserialize)]
        struct Fields {
            name: Name,
            kernel: Option<KernelName>,
            #[serde(default = "once")]
            once: bool,
            participant: Option<Id>,
        }

        let fields = Fields::deserialize(deserializer)?;
        let missing = |field| move || D::Error::missing_field(field);
        Ok(match fields.name {
            Name::InvalidShader => Self::InvalidShader {
                kernel: fields.kernel.ok_or_else(missing("kernel"))?,
                once: fields.once,
            },
            Name::DeviceLoss => Self::DeviceLoss,
            Name::KillParticipant => Self::KillParticipant {
                participant: fields.participant.ok_or_else(missing("participant"))?,
            },
        })
    }
}

/// A choice a fault offers.
#[derive(Clone, Debug, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct FaultParameter {
    /// Its name in the specification of the fault.
    pub name: String,
    /// What it means.
    pub description: String,
    /// What to choose from.
    pub choices: Vec<String>,
}

/// A fault, for a menu.
#[derive(Clone, Debug, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct FaultInfo {
    /// Its name.
    pub name: String,
    /// What it does, and what then happens.
    pub description: String,
    /// What to choose.
    pub parameters: Vec<FaultParameter>,
    /// Whether it acts the moment it is armed.
    pub immediate: bool,
    /// Whether it is armed now.
    pub armed: bool,
    /// How it is armed now.
    pub armed_as: Vec<FaultSpec>,
}

/// Every fault, as armed now.
pub fn list_faults(board: &FaultBoard, participants: Vec<String>) -> Vec<FaultInfo> {
    let armed: Vec<FaultSpec> = board
        .list()
        .into_iter()
        .map(|fault| FaultSpec::InvalidShader {
            kernel: fault.kernel,
            once: fault.once,
        })
        .collect();
    let mut faults: Vec<FaultInfo> = fault_catalogue()
        .into_iter()
        .map(|fault| FaultInfo {
            name: "invalid-shader".to_owned(),
            description: fault.text,
            parameters: fault
                .parameters
                .into_iter()
                .map(|parameter| FaultParameter {
                    name: parameter.name,
                    description: parameter.text,
                    choices: parameter.values,
                })
                .collect(),
            immediate: false,
            armed: !armed.is_empty(),
            armed_as: armed.clone(),
        })
        .collect();
    faults.push(FaultInfo {
        name: "device-loss".to_owned(),
        description: "The real device is destroyed now: every byte on it is gone, and the epoch \
                      fails. Restore a checkpoint to go on."
            .to_owned(),
        parameters: Vec::new(),
        immediate: true,
        armed: false,
        armed_as: Vec::new(),
    });
    faults.push(FaultInfo {
        name: "kill-participant".to_owned(),
        description: "A participant goes away now. The session finds out when it next asks, and \
                      the epoch fails by its name."
            .to_owned(),
        parameters: vec![FaultParameter {
            name: "participant".to_owned(),
            description: "Who goes away.".to_owned(),
            choices: participants,
        }],
        immediate: true,
        armed: false,
        armed_as: Vec::new(),
    });
    faults
}
