//! A stimulus that comes from outside the task ([`Admission`]), and what becomes of it ([`AdmissionEvent`]).

use serde::{Deserialize, Serialize};
use wellwritten_envelope::Id;

use crate::Stimulus;

/// A stimulus that was accepted for an agent and waits for the next step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct Admission {
    /// Its name, `adm-<epoch>-<n>` of the epoch it was first accepted in; the agent gets the stimulus under it.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub admission_id: Id,
    /// The agent.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub agent_id: Id,
    /// The kind of stimulus; one the agent supports.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub kind_id: Id,
    /// How long it lasts, in milliseconds, finite and above zero.
    pub duration_ms: f64,
}

impl Admission {
    /// The stimulus as the agent gets it.
    pub(crate) fn stimulus(&self) -> Stimulus {
        Stimulus {
            id: self.admission_id.clone(),
            kind_id: self.kind_id.clone(),
            duration_ms: self.duration_ms,
        }
    }
}

/// What was promised about an accepted admission.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct Admitted {
    /// What was accepted.
    pub admission: Admission,
    /// The epoch it was accepted for. Where that ends before it is applied, it is aborted.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub epoch: Id,
    /// The boundary of the first step that can apply it.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub earliest_step: u64,
}

/// One station of an admission: rejected, or accepted and then applied or aborted, each once in an epoch.
///
/// What a checkpoint holds waiting is accepted again, under the new epoch, by the restore that installs it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(
    tag = "stage",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[non_exhaustive]
pub enum AdmissionEvent {
    /// It was refused and nothing waits.
    Rejected {
        /// The agent asked for.
        #[cfg_attr(feature = "typescript", tsify(type = "string"))]
        agent_id: Id,
        /// The kind asked for.
        #[cfg_attr(feature = "typescript", tsify(type = "string"))]
        kind_id: Id,
        /// Why, for a person.
        reason: String,
    },
    /// It waits for the next step.
    Accepted {
        /// What was promised.
        admitted: Admitted,
    },
    /// The agent was stimulated before the ticks of the step that led to this boundary, and everyone has committed it.
    Applied {
        /// The admission.
        #[cfg_attr(feature = "typescript", tsify(type = "string"))]
        admission_id: Id,
        /// The boundary.
        #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
        boundary: u64,
    },
    /// Its epoch ended before a step that applied it was committed.
    Aborted {
        /// The admission.
        #[cfg_attr(feature = "typescript", tsify(type = "string"))]
        admission_id: Id,
    },
}
