//! [`NativeStage`]: participants wherever a native host can put them.

use std::rc::Rc;

use async_trait::async_trait;
use wellwritten_conformance::{Launched, Stage};
use wellwritten_counter::{CounterComposition, Faults, WORLD};
use wellwritten_native::{Launcher, Made, Participant, Program, Recipe, ThreadBudget, TokioClock};
use wellwritten_session::{
    BoxedFuture, Clock, Id, ParticipantError, ParticipantFactory, Reply, Request, RouteEnd,
    Transport, TransportError,
};

/// Where participants run, and how they are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NativeStage {
    Direct,
    SocketPair,
    Thread,
    Process,
}

impl NativeStage {
    pub const ALL: [Self; 4] = [Self::Direct, Self::SocketPair, Self::Thread, Self::Process];

    pub const fn label(self) -> &'static str {
        match self {
            Self::Direct => "direct_in_process",
            Self::SocketPair => "unix_in_process",
            Self::Thread => "unix_thread",
            Self::Process => "unix_process",
        }
    }

    fn recipe(self, counter: &CounterComposition, life: u32) -> Recipe {
        let of = counter.clone();
        let make = move |incarnation: &wellwritten_native::Incarnation| -> Made {
            let faults = Faults::new(&of.faults, Some(Rc::new(TokioClock::new())))?;
            let incarnation_id = incarnation.incarnation_id.clone();
            let runtime =
                of.participant(&incarnation.participant_id, incarnation_id, life, faults)?;
            Ok(Participant::from(runtime))
        };
        match self {
            Self::Direct => Recipe::direct(make),
            Self::SocketPair => Recipe::socket_pair(make),
            Self::Thread => Recipe::thread(make),
            Self::Process => {
                let counter = serde_json::to_string(counter).expect("strings and numbers");
                let life = life.to_string();
                let arguments = [
                    "session",
                    "participant",
                    "--counter",
                    &counter,
                    "--life",
                    &life,
                ];
                let program = Program::new(env!("CARGO_BIN_EXE_wellwritten"));
                Recipe::process(arguments.into_iter().fold(program, Program::argument))
            }
        }
    }
}

/// A route, and what keeps its participant alive.
struct Held {
    route: Rc<dyn Transport>,
    _launcher: Rc<Launcher>,
}

#[async_trait(?Send)]
impl Transport for Held {
    async fn call(&self, request: &Request) -> Result<Reply, TransportError> {
        self.route.call(request).await
    }

    fn close(&self) {
        self.route.close();
    }

    fn end(&self) -> Option<&RouteEnd> {
        self.route.end()
    }
}

#[async_trait(?Send)]
impl Stage for NativeStage {
    fn name(&self) -> String {
        self.label().to_owned()
    }

    async fn launch(
        &self,
        composition: &CounterComposition,
        worker_id: &Id,
        incarnation_id: &Id,
        life: u32,
    ) -> Result<Launched, ParticipantError> {
        // A launcher each: which of them run at once is the scenario's.
        let budget = ThreadBudget::new(2, 1).expect("one is not above it");
        let launcher = Launcher::new(composition.session_id.clone(), budget);
        let recipe = self.recipe(composition, life);
        let route = if worker_id.as_str() == WORLD {
            launcher.set_environment(worker_id.clone(), recipe);
            launcher.make_environment(incarnation_id).await?
        } else {
            launcher.set_agent(worker_id.clone(), recipe);
            launcher.make_agent(worker_id, incarnation_id).await?
        };
        let (worker_id, killing) = (worker_id.clone(), Rc::downgrade(&launcher));
        Ok(Launched {
            route: Rc::new(Held {
                route,
                _launcher: launcher,
            }),
            kill: Rc::new(move || {
                if let Some(launcher) = killing.upgrade() {
                    // Refused where it has ended, which is all that is asked.
                    let _ = launcher.kill(&worker_id);
                }
            }),
        })
    }

    fn clock(&self) -> Rc<dyn Clock> {
        Rc::new(TokioClock::new())
    }

    fn spawn(&self, future: BoxedFuture<'static, ()>) {
        tokio::task::spawn_local(future);
    }

    fn survives_panics(&self) -> bool {
        true
    }
}
