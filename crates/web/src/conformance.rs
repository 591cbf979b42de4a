//! The scenarios of conformance on the stages that a browser has: for tests, and in no module that anyone downloads.

use std::rc::Rc;

use async_trait::async_trait;
use js_sys::Array;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen_futures::spawn_local;
use web_sys::MessageChannel;
use wellwritten_conformance::{Launched as Started, SCENARIOS, Stage};
use wellwritten_counter::{CounterComposition, Faults, WORLD};
use wellwritten_session::wire::{FrameChannel as _, Remote, serve};
use wellwritten_session::{BoxedFuture, Clock, Direct, Id, ParticipantError};

use crate::error::{WebError, WebResult, WellwrittenErrorCode};
use crate::launcher::{Launched, Launcher};
use crate::message_port_channel::MessagePortChannel;
use crate::participant_start::{ParticipantStart, StartRole};
use crate::web_clock::WebClock;

/// The name of every scenario.
#[wasm_bindgen(js_name = scenarioNames)]
pub fn scenario_names() -> Array {
    SCENARIOS
        .iter()
        .map(|scenario| JsValue::from_str(scenario.name))
        .collect()
}

/// Plays a scenario with participants called `direct`ly, over a `port` in this program, in a `worker` or `isolated`;
/// says what it found where that is not what it expected.
#[wasm_bindgen(js_name = playScenario)]
pub async fn play_scenario(
    name: String,
    place: String,
    launcher: Launcher,
) -> WebResult<Option<String>> {
    let unknown = |what: &str| {
        WebError::new(
            WellwrittenErrorCode::InvalidArgument,
            format!("there is no {what}"),
        )
    };
    let scenario = SCENARIOS
        .iter()
        .find(|scenario| scenario.name == name)
        .ok_or_else(|| unknown(&name))?;
    let place = match place.as_str() {
        "direct" => Place::Direct,
        "port" => Place::Port,
        "worker" => Place::Worker,
        "isolated" => Place::Isolated,
        other => return Err(unknown(other)),
    };
    let launcher = Rc::new(launcher);
    let verdict = (scenario.run)(Rc::new(BrowserStage { place, launcher })).await;
    Ok(verdict.err().map(|failure| failure.to_string()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Direct,
    Port,
    Worker,
    Isolated,
}

struct BrowserStage {
    place: Place,
    launcher: Rc<Launcher>,
}

#[async_trait(?Send)]
impl Stage for BrowserStage {
    fn name(&self) -> String {
        format!("{:?}", self.place)
    }

    async fn launch(
        &self,
        composition: &CounterComposition,
        worker_id: &Id,
        incarnation_id: &Id,
        life: u32,
    ) -> Result<Started, ParticipantError> {
        if matches!(self.place, Place::Worker | Place::Isolated) {
            let is_world = worker_id.as_str() == WORLD;
            let start = ParticipantStart {
                session_id: composition.session_id.clone(),
                incarnation_id: incarnation_id.clone(),
                participant_id: worker_id.clone(),
                role: if is_world {
                    StartRole::Environment
                } else {
                    StartRole::Agent
                },
                port_id: None,
                seed: None,
                ports: Vec::new(),
                life,
                counter: Some(composition.clone()),
            };
            let isolated = self.place == Place::Isolated;
            let route = Launched::start(self.launcher.clone(), start, None, isolated).await?;
            let killed = route.clone();
            return Ok(Started {
                route,
                kill: Rc::new(move || killed.kill()),
            });
        }
        let faults = Faults::new(&composition.faults, Some(self.clock()))?;
        let runtime = composition.participant(worker_id, incarnation_id.clone(), life, faults)?;
        if self.place == Place::Direct {
            let route = Direct::new(runtime);
            let killed = route.clone();
            return Ok(Started {
                route,
                kill: Rc::new(move || killed.kill()),
            });
        }
        let channel = MessageChannel::new().expect("every browser has message channels");
        let there = MessagePortChannel::new(channel.port2());
        let (route, driving) = Remote::new(MessagePortChannel::new(channel.port1()));
        spawn_local(driving);
        let served = there.clone();
        spawn_local(async move {
            serve(Rc::new(runtime), served).await;
        });
        Ok(Started {
            route,
            kill: Rc::new(move || there.close()),
        })
    }

    fn clock(&self) -> Rc<dyn Clock> {
        Rc::new(WebClock::of_this_thread())
    }

    fn spawn(&self, future: BoxedFuture<'static, ()>) {
        spawn_local(future);
    }

    fn survives_panics(&self) -> bool {
        matches!(self.place, Place::Worker | Place::Isolated)
    }
}
