//! One call and one answer of every method, with every field filled.

use serde_json::json;
use wellwritten_envelope::{Digest, Id, RationalNs, Scope, U64};

use crate::{
    Advance, AgentGraph, AgentInitialize, AgentInitialized, AgentProfile, AgentTelemetry, Answer,
    Artifact, AudioDescriptor, AudioFormat, AudioRef, AxisRange, AxisSchema, AxisValue,
    ButtonState, Call, Commit, Committed, ControllerSchema, EnvironmentDescriptor,
    EnvironmentInitialize, Hello, HelloResult, LearningTelemetry, ParticipantError, PixelAspect,
    PortBinding, PortControl, PortDescriptor, Prepare, Prepared, Reply, Request, RequestId, Reward,
    Role, RoleRate, SchemaRef, SensoryInput, StageRestore, StagedAgent, StagedState, StagedWorld,
    StepResult, Stimulus, TypedValue, ViewAudience, ViewDescriptor, ViewRef, WorkerLimits,
    WorkerState, WorkerStatus, WorldObservation,
};

/// Whether what may be null is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    /// Every field has a value.
    Full,
    /// Every field that may be null is.
    Null,
}

impl Filling {
    fn of<T>(self, value: T) -> Option<T> {
        (self == Self::Full).then_some(value)
    }
}

fn id(text: &str) -> Id {
    Id::parse(text).expect("a legal id")
}

fn digest() -> Digest {
    Digest::blake3(b"sample")
}

fn schema() -> SchemaRef {
    SchemaRef::synthetic(id("sample.schema"), 1)
}

fn value() -> TypedValue {
    TypedValue::from_serialize(schema(), &json!({"field": 1})).expect("a small object")
}

fn scope() -> Scope {
    Scope {
        session_id: id("demo"),
        epoch: id("e1"),
        step: U64(41),
    }
}

fn rational() -> RationalNs {
    RationalNs::new(50_000_000, 3).expect("a reduced fraction")
}

fn view() -> ViewRef {
    ViewRef {
        view_id: id("arena"),
        produced_step: U64(41),
        pixels: Artifact::seal(vec![1, 2, 3, 255], Artifact::RGBA8),
    }
}

fn input(filling: Filling) -> SensoryInput {
    SensoryInput {
        boundary: U64(42),
        views: vec![view()],
        structured: filling.of(value()),
    }
}

fn stimulus() -> Stimulus {
    Stimulus {
        id: id("ev-1"),
        kind_id: id("spark"),
        duration_ms: 20.0,
    }
}

fn telemetry(filling: Filling) -> AgentTelemetry {
    AgentTelemetry {
        brain_ticks: U64(60),
        population_rate_hz: 1.5,
        rates: vec![RoleRate {
            role_id: id("motor"),
            hz: 2.5,
        }],
        learning: LearningTelemetry {
            enabled: true,
            updates: U64(3),
            changed: U64(2),
            signal: 0.5,
        },
        stimulus_remaining_ms: filling.of(1.0),
    }
}

fn observation(filling: Filling) -> WorldObservation {
    WorldObservation {
        boundary: U64(42),
        world_time: rational(),
        engine_frame: filling.of("frame 42".to_owned()),
        sensory_views: vec![view()],
        broadcast_views: vec![view()],
        audio: vec![AudioRef {
            stream_id: id("arena"),
            first_sample: U64(800),
            sample_frames: 1,
            samples: Artifact::seal(vec![0; 8], Artifact::F32LE),
            discontinuity: true,
        }],
        inspection: value(),
    }
}

fn descriptor() -> EnvironmentDescriptor {
    EnvironmentDescriptor {
        worker_id: id("world"),
        backend_digest: digest(),
        content_digest: digest(),
        patch_digest: digest(),
        parser_digest: digest(),
        state_format_id: id("sample-1"),
        step_duration: rational(),
        ports: vec![PortDescriptor {
            port_id: id("p1"),
            controls: ControllerSchema {
                schema: schema(),
                buttons: vec![id("inc")],
                axes: vec![AxisSchema {
                    id: id("bias"),
                    range: AxisRange::Bipolar,
                    neutral: 0.0,
                }],
            },
        }],
        inspection_schema: schema(),
        views: vec![ViewDescriptor {
            view_id: id("arena"),
            width: 1,
            height: 1,
            pixel_aspect: PixelAspect::SQUARE,
            observation_delay_steps: 0,
            audience: ViewAudience::Sensory,
        }],
        audio: vec![AudioDescriptor {
            stream_id: id("arena"),
            sample_rate: 48_000,
            channels: 2,
            format: AudioFormat::F32leInterleaved,
        }],
    }
}

fn profile() -> AgentProfile {
    AgentProfile {
        agent_id: id("fly-a"),
        profile_digest: digest(),
        dataset_digest: digest(),
        model_version: id("sample-1"),
        plasticity_version: id("sample-1"),
        seed: -7,
        tick_duration: RationalNs::from_nanoseconds(1_000_000),
        decision_schema: schema(),
        context_schema: schema(),
        graph: AgentGraph {
            neuron_count: U64(1),
            rate_roles: vec![id("motor")],
            supported_stimuli: vec![id("spark")],
        },
    }
}

fn hello(filling: Filling) -> HelloResult {
    let (role, worker_id) = match filling {
        Filling::Full => (Role::Environment, id("world")),
        Filling::Null => (Role::Agent, id("fly-a")),
    };
    HelloResult {
        selected_major: 1,
        selected_minor: 0,
        worker_id,
        incarnation_id: id("incarnation-1"),
        role,
        build_digest: digest(),
        contract_digest: digest(),
        capabilities: vec![id("checkpoint-v1")],
        limits: WorkerLimits {
            max_agents: 4,
            max_ports: 4,
            worker_threads: 1,
        },
        environment: filling.of(descriptor()),
        agent: (filling == Filling::Null).then(profile),
    }
}

/// A call of every method, in the order of [`Call::METHODS`].
#[must_use]
pub fn sample_calls(filling: Filling) -> Vec<Call> {
    vec![
        Call::Hello(Hello {
            session_id: id("demo"),
            expected_worker_id: id("world"),
            role: Role::Environment,
            supported_majors: vec![1],
        }),
        Call::Status {},
        Call::Acknowledge {
            request_ids: vec![RequestId(7)],
        },
        Call::Shutdown {
            reason: id("finished"),
        },
        Call::InitializeEnvironment(EnvironmentInitialize {
            episode_id: id("ep1"),
            port_bindings: vec![PortBinding {
                port_id: id("p1"),
                agent_id: id("fly-a"),
            }],
        }),
        Call::Advance(Advance {
            batch_id: id("batch-e1-41"),
            controls: vec![PortControl {
                port_id: id("p1"),
                buttons: vec![ButtonState {
                    id: id("inc"),
                    down: true,
                }],
                axes: vec![AxisValue {
                    id: id("bias"),
                    value: 0.25,
                }],
            }],
        }),
        Call::InitializeAgent(AgentInitialize {
            agent_id: id("fly-a"),
            seed: -7,
            initial_input: input(filling),
            initial_decision_context: value(),
        }),
        Call::Prepare(Prepare {
            interval: rational(),
            decision_context_digest: digest(),
            pre_step_stimulations: vec![stimulus()],
        }),
        Call::Commit(Commit {
            prepared_request_id: "req-7".to_owned(),
            next_input: input(filling),
            next_decision_context: value(),
            rewards: vec![Reward {
                event_id: id("ev-1"),
                rule_id: id("delta"),
                value: -1.0,
            }],
            task_stimulations: vec![stimulus()],
        }),
        Call::Verify {},
        Call::Rewrite {
            buffer_label: "world/field".to_owned(),
        },
        Call::Capture {
            checkpoint_id: id("ckpt-1"),
        },
        Call::StageRestore(StageRestore {
            checkpoint_id: id("ckpt-1"),
            source_scope: scope(),
            compatibility_digest: digest(),
            payload: Artifact::seal(b"state".to_vec(), Artifact::CHECKPOINT_PAYLOAD),
        }),
        Call::ActivateRestore {
            restore_token: "rt-0".to_owned(),
        },
    ]
}

/// An answer of every method, in the order of [`Call::METHODS`].
#[must_use]
pub fn sample_answers(filling: Filling) -> Vec<Answer> {
    vec![
        Answer::Hello(Box::new(hello(filling))),
        Answer::Status(WorkerStatus {
            state: WorkerState::Ready,
            current_scope: filling.of(scope()),
            active_request_id: filling.of(RequestId(7)),
            last_completed_request_id: filling.of(RequestId(6)),
            last_batch_id: filling.of(id("batch-e1-41")),
            progress_counter: U64(9),
        }),
        Answer::Acknowledged {
            acknowledged: vec![RequestId(7)],
        },
        Answer::Stopping { stopping: true },
        Answer::WorldInitialized(observation(filling)),
        Answer::Stepped(Box::new(StepResult {
            batch_id: id("batch-e1-41"),
            applied_from_step: U64(41),
            next_step: U64(42),
            applied_controls_digest: digest(),
            state_digest: filling.of(digest()),
            observation: observation(filling),
        })),
        Answer::AgentInitialized {
            initialized: AgentInitialized {
                warmup_ticks: U64(10),
                telemetry: telemetry(filling),
            },
            decision_context_digest: digest(),
        },
        Answer::Prepared(Prepared {
            ticks_advanced: U64(16),
            brain_ticks: U64(26),
            remainder: RationalNs::new(2_000_000, 3).expect("a reduced fraction"),
            decision: value(),
        }),
        Answer::Committed {
            committed: Committed {
                committed_step: U64(42),
                telemetry: telemetry(filling),
                state_digest: filling.of(digest()),
            },
            decision_context_digest: digest(),
        },
        Answer::Verified {},
        Answer::Rewritten {},
        Answer::Captured {
            checkpoint_id: id("ckpt-1"),
            boundary: U64(41),
            compatibility_digest: digest(),
            payload: Artifact::seal(b"state".to_vec(), Artifact::CHECKPOINT_PAYLOAD),
        },
        Answer::Staged {
            checkpoint_id: id("ckpt-1"),
            restore_token: "rt-0".to_owned(),
            state: staged(filling),
        },
        Answer::Activated {
            checkpoint_id: id("ckpt-1"),
            committed_step: U64(41),
            observation: filling.of(observation(filling)),
        },
    ]
}

fn staged(filling: Filling) -> StagedState {
    match filling {
        Filling::Full => StagedState::World(StagedWorld {
            boundary: U64(41),
            world_time: rational(),
            episode_id: id("ep1"),
            inspection_digest: digest(),
            audio: vec![crate::AudioPosition {
                stream_id: id("arena"),
                next_sample: U64(800),
            }],
        }),
        Filling::Null => StagedState::Agent(StagedAgent {
            boundary: U64(41),
            brain_ticks: U64(26),
            remainder: RationalNs::ZERO,
            decision_context_digest: digest(),
        }),
    }
}

/// A request around a call.
#[must_use]
pub fn sample_request(serial: u64, call: Call) -> Request {
    let is_scoped = !call.method().starts_with("Worker.");
    Request {
        request_id: RequestId(serial),
        scope: is_scoped.then(scope),
        call,
    }
}

/// A reply of `world` around an outcome.
#[must_use]
pub fn sample_reply(serial: u64, outcome: Result<Answer, ParticipantError>) -> Reply {
    Reply {
        request_id: RequestId(serial),
        worker_id: id("world"),
        incarnation_id: id("incarnation-1"),
        scope: Some(scope()),
        outcome,
    }
}
