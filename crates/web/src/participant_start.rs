//! [`ParticipantStart`]: who a participant is to be, as its program is told.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use tsify::Tsify;
use wasm_bindgen::JsValue;
use wellwritten_counter::{CounterComposition, Faults};
use wellwritten_envelope::Id;
use wellwritten_session::{Clock, ErrorCode, ParticipantError, ParticipantRuntime};

use crate::js_participant::{JsAgent, JsEnvironment};
use crate::web_clock::WebClock;

/// As what a participant takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Tsify)]
#[serde(rename_all = "lowercase")]
pub enum StartRole {
    /// The world.
    Environment,
    /// A brain.
    Agent,
}

/// Who a participant is to be.
#[derive(Clone, Debug, Serialize, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ParticipantStart {
    /// The session.
    #[tsify(type = "string")]
    pub session_id: Id,
    /// Which life of the participant this is.
    #[tsify(type = "string")]
    pub incarnation_id: Id,
    /// The participant.
    #[tsify(type = "string")]
    pub participant_id: Id,
    /// As what.
    pub role: StartRole,
    /// Of an agent: the port it drives.
    #[tsify(type = "string | null")]
    pub port_id: Option<Id>,
    /// Of an agent.
    #[tsify(type = "number | null")]
    pub seed: Option<i32>,
    /// Every port of the composition, in its order.
    #[tsify(type = "string[]")]
    pub ports: Vec<Id>,
    /// How often the participant was built before, and this time.
    pub life: u32,
    /// The counting world's composition, of a participant that is built in.
    #[tsify(type = "unknown")]
    pub counter: Option<CounterComposition>,
}

/// What a module defined: what the participant says it is, and its functions.
pub struct JsDefinition {
    /// Of a world its descriptor, of an agent its profile.
    pub declaration: JsValue,
    /// Its functions.
    pub handlers: JsValue,
}

impl ParticipantStart {
    /// The participant, uninitialized: what `definition` makes of it, or the one that is built in.
    pub fn build(
        self,
        definition: Option<JsDefinition>,
    ) -> Result<ParticipantRuntime, ParticipantError> {
        let Some(JsDefinition {
            declaration,
            handlers,
        }) = definition
        else {
            return self.built_in();
        };
        Ok(match self.role {
            StartRole::Environment => {
                let world = JsEnvironment::new(self.participant_id, declaration, handlers)?;
                ParticipantRuntime::environment(
                    self.session_id,
                    self.incarnation_id,
                    Box::new(world),
                )
            }
            StartRole::Agent => {
                let seed = self.seed.unwrap_or(1);
                let agent = JsAgent::new(self.participant_id, seed, declaration, handlers)?;
                ParticipantRuntime::agent(self.session_id, self.incarnation_id, Box::new(agent))
            }
        })
    }

    fn built_in(self) -> Result<ParticipantRuntime, ParticipantError> {
        let refused = |message: String| ParticipantError::refused(ErrorCode::Unsupported, message);
        let Some(counter) = self.counter else {
            let message = format!("no participant {} is built in", self.participant_id);
            return Err(refused(message));
        };
        let clock: Rc<dyn Clock> = Rc::new(WebClock::of_this_thread());
        Faults::new(&counter.faults, Some(clock))
            .and_then(|faults| {
                counter.participant(&self.participant_id, self.incarnation_id, self.life, faults)
            })
            .map_err(|error| refused(error.to_string()))
    }
}
