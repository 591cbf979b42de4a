//! [`Desk`]: one participant, asked by hand.

use std::rc::Rc;

use wellwritten_counter::{
    ARENA, CounterComposition, VIEW_HEIGHT, VIEW_WIDTH, WORLD, context_schema, controls,
};
use wellwritten_session::{
    Advance, AgentInitialize, Answer, Artifact, Call, Commit, EnvironmentInitialize, ErrorCode,
    Hello, Id, PROTOCOL_MAJOR, ParticipantError, PortBinding, Prepare, RationalNs, Request,
    RequestId, Reward, Role, Scope, SensoryInput, Stimulus, Transport, TypedValue, U64, ViewRef,
    WorkerStatus,
};

use crate::play::id;
use crate::{Launched, ScenarioFailure, Stage};

/// One participant on a stage, and whoever asks it.
pub(crate) struct Desk {
    pub route: Rc<dyn Transport>,
    pub stage: Rc<dyn Stage>,
}

impl Desk {
    /// A participant that has just been started.
    pub(crate) async fn open(
        stage: &Rc<dyn Stage>,
        composition: &CounterComposition,
        worker: &str,
    ) -> Result<Self, ScenarioFailure> {
        let incarnation_id = id("incarnation-1");
        let Launched { route, .. } = stage
            .launch(composition, &id(worker), &incarnation_id, 1)
            .await?;
        Ok(Self {
            route,
            stage: stage.clone(),
        })
    }

    /// The world of a composition of one agent, at boundary 0 of `e1`.
    pub(crate) async fn world(
        stage: &Rc<dyn Stage>,
        composition: CounterComposition,
    ) -> Result<Self, ScenarioFailure> {
        let composition = CounterComposition {
            agents: 1,
            ..composition
        };
        let desk = Self::open(stage, &composition, WORLD).await?;
        desk.answer(request(1, "e1", 0, initialize_world())).await?;
        Ok(desk)
    }

    /// `fly-a`, at boundary 0 of `e1`.
    pub(crate) async fn agent(
        stage: &Rc<dyn Stage>,
        composition: &CounterComposition,
    ) -> Result<Self, ScenarioFailure> {
        let desk = Self::open(stage, composition, "fly-a").await?;
        desk.answer(request(1, "e1", 0, initialize_agent())).await?;
        Ok(desk)
    }

    pub(crate) async fn ask(
        &self,
        request: Request,
    ) -> Result<Result<Answer, ParticipantError>, ScenarioFailure> {
        Ok(self.route.call(&request).await?.outcome)
    }

    /// It does as asked.
    pub(crate) async fn answer(&self, request: Request) -> Result<Answer, ScenarioFailure> {
        Ok(self.ask(request).await??)
    }

    /// It does not do as asked; a code that says so by itself must come with the word that nothing changed.
    pub(crate) async fn code(&self, request: Request) -> Result<ErrorCode, ScenarioFailure> {
        let method = request.call.method();
        match self.ask(request).await? {
            Err(error) => {
                let is_honest = !error.code.changes_nothing()
                    || error.mutation == wellwritten_session::MutationCertainty::None;
                crate::scenario_failure::holds(
                    "an error whose code says that nothing changed to say so too",
                    is_honest,
                    &error,
                )?;
                Ok(error.code)
            }
            Ok(answer) => Err(ScenarioFailure::new(format!("{method} to fail"), answer)),
        }
    }

    pub(crate) async fn status(&self) -> Result<WorkerStatus, ScenarioFailure> {
        let question = Request {
            request_id: RequestId(0),
            scope: None,
            call: Call::Status {},
        };
        match self.answer(question).await? {
            Answer::Status(status) => Ok(status),
            other => Err(ScenarioFailure::new("a status", other)),
        }
    }

    /// What it has done so far, of which a repetition is no part.
    pub(crate) async fn progress(&self) -> Result<u64, ScenarioFailure> {
        Ok(self.status().await?.progress_counter.0)
    }
}

pub(crate) fn scope(epoch: &str, step: u64) -> Scope {
    Scope {
        session_id: id("demo"),
        epoch: id(epoch),
        step: U64(step),
    }
}

pub(crate) fn request(serial: u64, epoch: &str, step: u64, call: Call) -> Request {
    Request {
        request_id: RequestId(serial),
        scope: Some(scope(epoch, step)),
        call,
    }
}

pub(crate) fn hello(worker: &str, role: Role) -> Hello {
    Hello {
        session_id: id("demo"),
        expected_worker_id: id(worker),
        role,
        supported_majors: vec![PROTOCOL_MAJOR],
    }
}

pub(crate) fn initialize_world() -> Call {
    Call::InitializeEnvironment(EnvironmentInitialize {
        episode_id: id("ep1"),
        port_bindings: vec![PortBinding {
            port_id: id("p1"),
            agent_id: id("fly-a"),
        }],
    })
}

pub(crate) fn advance(epoch: &str, step: u64, is_up: bool) -> Call {
    let mut intent = controls().neutral();
    intent.buttons[0].down = is_up;
    Call::Advance(Advance {
        batch_id: id(&format!("batch-{epoch}-{step}")),
        controls: vec![intent.on_port(id("p1"))],
    })
}

pub(crate) fn context(transitions: u64) -> TypedValue {
    let value = [("transitions".to_owned(), transitions.into())];
    TypedValue::new(context_schema(), value.into_iter().collect()).expect("one integer")
}

pub(crate) fn input(boundary: u64, red: u8) -> SensoryInput {
    let pixels = [red, 0, 0, 255].repeat((VIEW_WIDTH * VIEW_HEIGHT) as usize);
    SensoryInput {
        boundary: U64(boundary),
        views: vec![ViewRef {
            view_id: id(ARENA),
            produced_step: U64(boundary),
            pixels: Artifact::seal(pixels, Artifact::RGBA8),
        }],
        structured: None,
    }
}

pub(crate) fn initialize_agent() -> Call {
    Call::InitializeAgent(AgentInitialize {
        agent_id: id("fly-a"),
        seed: 7,
        initial_input: input(0, 0),
        initial_decision_context: context(0),
    })
}

pub(crate) fn prepare(transitions: u64, stimuli: Vec<Stimulus>) -> Call {
    Call::Prepare(Prepare {
        interval: RationalNs::new(50_000_000, 3).expect("a reduced fraction"),
        decision_context_digest: context(transitions).digest(),
        pre_step_stimulations: stimuli,
    })
}

pub(crate) fn commit(prepared: u64, step: u64, red: u8) -> Commit {
    Commit {
        prepared_request_id: RequestId(prepared).to_string(),
        next_input: input(step + 1, red),
        next_decision_context: context(step + 1),
        rewards: vec![Reward {
            event_id: id("ev-1"),
            rule_id: id("counter-delta"),
            value: 1.0,
        }],
        task_stimulations: Vec::new(),
    }
}

pub(crate) fn stimulus(kind: &str) -> Stimulus {
    Stimulus {
        id: id("stimulus-1"),
        kind_id: Id::parse(kind).expect("a legal id"),
        duration_ms: 20.0,
    }
}
