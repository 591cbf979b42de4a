//! What is asked: each operation as it should be, and with one thing wrong.

use serde_json::json;
use wellwritten_counter::{
    ARENA, SPARK, UNDECLARED, VIEW_HEIGHT, VIEW_WIDTH, context_schema, controls, progress_schema,
};
use wellwritten_session::{
    Advance, AgentInitialize, Artifact, Call, Commit, EnvironmentInitialize, ErrorCode,
    PortBinding, Prepare, RationalNs, Request, RequestId, Reward, SchemaRef, Scope, SensoryInput,
    Stimulus, TypedValue, U64, ViewRef,
};

use super::choices::Choices;
use super::line::id;
use super::model::{Asked, Flaw};

pub fn scope(epoch: &str, step: u64) -> Scope {
    Scope {
        session_id: id("demo"),
        epoch: id(epoch),
        step: U64(step),
    }
}

pub fn asked(serial: u64, scope: Scope, (call, flaw): (Call, Flaw)) -> Asked {
    let request = Request {
        request_id: RequestId(serial),
        scope: Some(scope),
        call,
    };
    Asked { request, flaw }
}

fn context_of(schema: SchemaRef, step: u64) -> TypedValue {
    TypedValue::from_serialize(schema, &json!({"transitions": step})).expect("a small value")
}

/// What an agent decodes with at a boundary.
pub fn context(step: u64) -> TypedValue {
    context_of(context_schema(), step)
}

fn view(step: u64, bytes: u32) -> ViewRef {
    let red = step.to_le_bytes()[0];
    let bytes = usize::try_from(bytes).expect("a small view");
    ViewRef {
        view_id: id(ARENA),
        produced_step: U64(step),
        pixels: Artifact::seal(vec![red; bytes], Artifact::RGBA8),
    }
}

const VIEW_BYTES: u32 = 4 * VIEW_WIDTH * VIEW_HEIGHT;

fn input(step: u64) -> SensoryInput {
    SensoryInput {
        boundary: U64(step),
        views: vec![view(step, VIEW_BYTES)],
        structured: None,
    }
}

fn stimulus(name: &str, kind: &str, duration_ms: f64) -> Stimulus {
    Stimulus {
        id: id(name),
        kind_id: id(kind),
        duration_ms,
    }
}

fn reward(name: &str) -> Reward {
    Reward {
        event_id: id(name),
        rule_id: id("rule"),
        value: 1.0,
    }
}

/// How many variants each maker below has that are as they should be; the rest have a flaw.
pub const SOUND: u8 = 2;
/// Variants of each maker.
pub const VARIANTS: u8 = 9;

/// A variant that is as it should be.
pub fn sound(choices: &mut Choices<'_>) -> u8 {
    choices.below(SOUND)
}

/// A variant with a flaw.
pub fn flawed(choices: &mut Choices<'_>) -> u8 {
    SOUND + choices.below(VARIANTS - SOUND)
}

pub fn initialize_world(variant: u8) -> (Call, Flaw) {
    let (ports, flaw): (&[(&str, &str)], Flaw) = match variant {
        2 | 3 => (&[], Flaw::Early(ErrorCode::IdentityMismatch)),
        4 | 5 => (&[("p2", "fly-a")], Flaw::Early(ErrorCode::IdentityMismatch)),
        6..=8 => (
            &[("p1", "fly-a"), ("p2", "fly-a")],
            Flaw::Early(ErrorCode::IdentityMismatch),
        ),
        _ => (&[("p1", "fly-a")], Flaw::None),
    };
    let bindings = ports.iter().map(|(port, agent)| PortBinding {
        port_id: id(port),
        agent_id: id(agent),
    });
    let call = Call::InitializeEnvironment(EnvironmentInitialize {
        episode_id: id(if variant == 1 { "ep2" } else { "ep1" }),
        port_bindings: bindings.collect(),
    });
    (call, flaw)
}

pub fn initialize_agent(variant: u8) -> (Call, Flaw) {
    let mut call = AgentInitialize {
        agent_id: id("fly-a"),
        seed: 7,
        initial_input: input(0),
        initial_decision_context: context(0),
    };
    let flaw = match variant {
        2 => {
            call.seed = 8;
            Flaw::Early(ErrorCode::IdentityMismatch)
        }
        3 => {
            call.agent_id = id("fly-b");
            Flaw::Early(ErrorCode::IdentityMismatch)
        }
        4 => {
            call.initial_decision_context = context_of(progress_schema(), 0);
            Flaw::Early(ErrorCode::InvalidArgument)
        }
        5 => {
            call.initial_input.boundary = U64(1);
            Flaw::Early(ErrorCode::InvalidArgument)
        }
        6 => {
            call.initial_input.views.push(view(0, 4));
            Flaw::Early(ErrorCode::BufferInvalid)
        }
        7 => {
            call.initial_input.views[0].produced_step = U64(1);
            Flaw::Early(ErrorCode::BufferInvalid)
        }
        // The agent itself finds these.
        8 => {
            call.initial_input.views.clear();
            Flaw::None
        }
        _ => Flaw::None,
    };
    (Call::InitializeAgent(call), flaw)
}

pub fn advance(epoch: &str, step: u64, variant: u8) -> (Call, Flaw) {
    let mut control = controls().neutral().on_port(id("p1"));
    control.buttons[usize::from(variant == 1)].down = true;
    let mut batch = Advance {
        batch_id: id(&format!("batch-{epoch}-{step}")),
        controls: vec![control],
    };
    let control = &mut batch.controls[0];
    let flaw = match variant {
        2 => {
            batch.batch_id = id("batch-other-0");
            Flaw::Early(ErrorCode::Conflict)
        }
        3 => {
            batch.controls.clear();
            Flaw::Early(ErrorCode::IdentityMismatch)
        }
        4 => {
            let again = control.clone();
            batch.controls.push(again);
            Flaw::Early(ErrorCode::IdentityMismatch)
        }
        5 => {
            control.axes[0].value = 1.5;
            Flaw::Early(ErrorCode::InvalidArgument)
        }
        6 => {
            control.buttons.pop();
            Flaw::Early(ErrorCode::InvalidArgument)
        }
        7 => {
            control.buttons.swap(0, 1);
            Flaw::Early(ErrorCode::InvalidArgument)
        }
        8 => {
            control.port_id = id("p2");
            Flaw::Early(ErrorCode::IdentityMismatch)
        }
        _ => Flaw::None,
    };
    (Call::Advance(batch), flaw)
}

pub fn prepare(step: u64, variant: u8) -> (Call, Flaw) {
    let mut call = Prepare {
        interval: RationalNs::new(50_000_000, 3).expect("a fraction"),
        decision_context_digest: context(step).digest(),
        pre_step_stimulations: Vec::new(),
    };
    let stimuli = &mut call.pre_step_stimulations;
    let flaw = match variant {
        1 => {
            stimuli.push(stimulus("s1", SPARK, 20.0));
            Flaw::None
        }
        2 => {
            call.interval = RationalNs::ZERO;
            Flaw::Early(ErrorCode::InvalidArgument)
        }
        3 => {
            call.decision_context_digest = context(step.wrapping_add(7)).digest();
            Flaw::Early(ErrorCode::IdentityMismatch)
        }
        4 => {
            stimuli.push(stimulus("s1", UNDECLARED, 20.0));
            Flaw::Early(ErrorCode::Unsupported)
        }
        5 => {
            stimuli.push(stimulus("s1", SPARK, 0.0));
            Flaw::Early(ErrorCode::InvalidArgument)
        }
        6 => {
            stimuli.extend(vec![stimulus("s1", SPARK, 1.0); 2]);
            Flaw::Early(ErrorCode::InvalidArgument)
        }
        7 => {
            stimuli.extend((0..65).map(|n| stimulus(&format!("s{n}"), SPARK, 1.0)));
            Flaw::Early(ErrorCode::InvalidArgument)
        }
        // The agent itself finds it.
        8 => {
            call.interval = RationalNs::from_nanoseconds(u64::MAX);
            Flaw::None
        }
        _ => Flaw::None,
    };
    (Call::Prepare(call), flaw)
}

pub fn commit(step: u64, prepared: u64, variant: u8) -> (Call, Flaw) {
    let next = step.saturating_add(1);
    let mut call = Commit {
        prepared_request_id: format!("req-{prepared}"),
        next_input: input(next),
        next_decision_context: context(next),
        rewards: Vec::new(),
        task_stimulations: Vec::new(),
    };
    let flaw = match variant {
        1 => {
            call.rewards.push(reward("ev-1"));
            Flaw::None
        }
        2 => {
            call.next_input.boundary = U64(step);
            Flaw::Early(ErrorCode::InvalidArgument)
        }
        3 => {
            call.next_input.views[0].produced_step = U64(next.saturating_add(1));
            Flaw::Early(ErrorCode::BufferInvalid)
        }
        4 => {
            call.next_input.views.push(view(next, 4));
            Flaw::Early(ErrorCode::BufferInvalid)
        }
        5 => {
            call.rewards
                .extend((0..65).map(|n| reward(&format!("ev-{n}"))));
            Flaw::Early(ErrorCode::InvalidArgument)
        }
        6 => {
            call.next_decision_context = context_of(progress_schema(), next);
            Flaw::Early(ErrorCode::InvalidArgument)
        }
        7 => {
            call.task_stimulations.push(stimulus("s1", UNDECLARED, 1.0));
            Flaw::Early(ErrorCode::Unsupported)
        }
        // The agent itself finds it.
        8 => {
            call.next_input.views[0] = view(next, VIEW_BYTES - 1);
            Flaw::None
        }
        _ => Flaw::None,
    };
    if variant == 3 && next == u64::MAX {
        return commit(step, prepared, 0);
    }
    (Call::Commit(call), flaw)
}
