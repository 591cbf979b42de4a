//! Oracle: a checkpoint of the arena whose participants hold something else than the rest of it says, with every digest
//! recomputed. No such group is ever run: the coordinator refuses it before anyone activates, and the intact bytes then
//! restore and step. Words that a participant alone knows are listed by name.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use async_trait::async_trait;
use futures::executor::block_on;
use serde_json::Value;
use wellwritten_arena::{Arena, ArenaConfig, FaultBoard, WORLD_ID};
use wellwritten_device::GuardedDevice;
use wellwritten_envelope::{Digest, Manifest, PayloadRow, decode};
use wellwritten_session::{
    AgentBinding, Clock, Composition, Coordinator, Direct, DispatchOrder, Executor, Host, Id,
    ParticipantError, ParticipantFactory, PayloadHeader, Phase, RestoreRequest, StatePayload,
    Transport, WriterConfig,
};
use wellwritten_store::{MemoryMedium, PayloadBytes, SaveRequest, Store, StoreClient, StoreConfig};

use crate::lockstep::id;

/// A fly's own learning and wiring, which nobody else is told.
const SAID_ONCE: [&str; 4] = ["/turnBias", "/changed", "/signalBits", "/stimulusTicks"];

struct Factory(Arena);

#[async_trait(?Send)]
impl ParticipantFactory for Factory {
    async fn make_environment(
        &self,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        let world = Box::new(self.0.world());
        Ok(Direct::environment(
            id("demo"),
            incarnation_id.clone(),
            world,
        ))
    }

    async fn make_agent(
        &self,
        agent_id: &Id,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        let fly = Box::new(self.0.fly(agent_id).unwrap());
        Ok(Direct::agent(id("demo"), incarnation_id.clone(), fly))
    }
}

#[derive(Default)]
struct CountingClock(Cell<u64>);

#[async_trait(?Send)]
impl Clock for CountingClock {
    fn now_ns(&self) -> u64 {
        self.0.set(self.0.get() + 1);
        self.0.get()
    }

    async fn sleep_ns(&self, _duration_ns: u64) {}
}

/// A session of the real participants that failed after it saved `good` at boundary 3.
fn failed() -> (Coordinator, StoreClient) {
    let config = StoreConfig {
        keep_generations: 200,
    };
    let (store, _) = block_on(Store::open(MemoryMedium::new(), config)).unwrap();
    let store = StoreClient::local(store);
    let arena = Arena::new(
        ArenaConfig::default(),
        GuardedDevice::cpu(),
        FaultBoard::new(),
    );
    let arena = arena.unwrap();
    let binding = |binding: &wellwritten_session::PortBinding| AgentBinding {
        agent_id: binding.agent_id.clone(),
        port_id: binding.port_id.clone(),
        executor: Box::new(arena.executor()) as Box<dyn Executor>,
    };
    let composition = Composition {
        session_id: id("demo"),
        episode_id: id("ep1"),
        epoch: None,
        environment_id: id(WORLD_ID),
        agents: arena.bindings().iter().map(binding).collect(),
        task: Box::new(arena.task()),
        dispatch: DispatchOrder::default(),
    };
    let host = Host {
        budgets: wellwritten_session::CallBudgets::default(),
        factory: Rc::new(Factory(arena)),
        clock: Rc::new(CountingClock::default()),
        store: Some(store.clone()),
        saves: WriterConfig::default(),
        observer: None,
    };
    let session = block_on(Coordinator::new(composition, host)).unwrap();
    block_on(async {
        session.bootstrap().await.unwrap();
        for _ in 0..3 {
            session.step().await.unwrap();
        }
        session.checkpoint(Some(id("good"))).await.unwrap();
    });
    fail(&session);
    (session, store)
}

fn fail(session: &Coordinator) {
    let lost = ParticipantError::uncertain(
        wellwritten_session::ErrorCode::BackendFailure,
        "the device was lost",
    );
    session.fail_epoch(None, lost).unwrap();
}

/// Commits a copy of `good` as `name`, changed in the header or the body of one payload.
fn commit_copy(
    store: &StoreClient,
    name: &str,
    payload: &str,
    change: &dyn Fn(&mut PayloadHeader, &mut Vec<u8>),
) {
    let bytes = block_on(store.read(&id("good"))).unwrap();
    let envelope = decode(&bytes).unwrap();
    let payloads: Vec<(Id, PayloadBytes)> = envelope
        .payloads
        .iter()
        .map(|view| {
            let good = StatePayload::decode(view.bytes).unwrap();
            let (mut header, mut body) = (good.header, good.body.to_vec());
            header.checkpoint_id = id(name);
            if view.name.as_str() == payload {
                change(&mut header, &mut body);
            }
            let framed = StatePayload::encode(&header, &body).unwrap();
            (view.name.clone(), Arc::new(framed) as PayloadBytes)
        })
        .collect();
    let manifest = Manifest {
        checkpoint_id: id(name),
        payloads: Vec::<PayloadRow>::new(),
        ..envelope.manifest.clone()
    };
    let committed = block_on(store.save(SaveRequest { manifest, payloads }));
    committed.unwrap();
}

const SCALARS_AT: usize = 52;

/// The scalars of an arena payload, and the bytes of its buffers after them.
fn parts(body: &[u8]) -> (Value, &[u8]) {
    let (head, rest) = body.split_at(SCALARS_AT);
    let length = u32::from_le_bytes(*head.last_chunk().unwrap()) as usize;
    let (scalars, rest) = rest.split_at(length);
    let buffers = &rest[..rest.len() - Digest::BYTES];
    (serde_json::from_slice(scalars).unwrap(), buffers)
}

/// Puts a payload together again, under its right digest.
fn joined(body: &mut Vec<u8>, scalars: &Value, buffers: &[u8]) {
    let scalars = scalars.to_string();
    let mut bytes = body[..SCALARS_AT - 4].to_vec();
    bytes.extend(u32::try_from(scalars.len()).unwrap().to_le_bytes());
    bytes.extend(scalars.as_bytes());
    bytes.extend(buffers);
    bytes.extend(Digest::blake3(&bytes).as_bytes());
    *body = bytes;
}

fn leaves(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                leaves(field, &format!("{place}/{name}"), found);
            }
        }
        _ => found.push(place.to_owned()),
    }
}

fn other(value: &Value) -> Value {
    match value {
        Value::Number(number) => (number.as_i64().unwrap() + 1).into(),
        Value::String(text) => match text.parse::<u64>() {
            Ok(number) => (number + 1).to_string().into(),
            Err(_) if text.len() == 64 => Digest::blake3(text.as_bytes()).to_string().into(),
            Err(_) => format!("{text}x").into(),
        },
        other => panic!("{other} is no scalar of the arena"),
    }
}

fn restore(
    session: &Coordinator,
    checkpoint_id: &str,
) -> Result<(), wellwritten_session::SessionError> {
    let request = RestoreRequest {
        checkpoint_id: Some(id(checkpoint_id)),
        ..RestoreRequest::default()
    };
    block_on(session.restore(request)).map(drop)
}

/// Refused, the fence closed, and those that staged are replaced; the intact bytes then restore and step.
fn refused(session: &Coordinator, name: &str, what: &str, says: &str) {
    let error = restore(session, name).expect_err(what);
    assert!(error.to_string().contains(says), "{what}: {error}");
    assert_eq!(session.phase(), Phase::Failed, "{what}: {error}");
    block_on(session.replace_participants()).unwrap();
    restore(session, "good").expect(what);
    session.resume().unwrap();
    block_on(session.step()).expect(what);
    fail(session);
}

#[test]
fn no_scalar_of_a_participant_can_be_changed_alone() {
    let (session, store) = failed();
    commit_copy(&store, "same", "world", &|_, body| {
        let copy = body.clone();
        let (scalars, buffers) = parts(&copy);
        joined(body, &scalars, buffers);
    });
    restore(&session, "same").expect("canary: the copying itself is not what is refused");
    fail(&session);
    for payload in ["world", "agent-fly-a", "agent-fly-b"] {
        let mut places = Vec::new();
        {
            let bytes = block_on(store.read(&id("good"))).unwrap();
            let envelope = decode(&bytes).unwrap();
            let framed = envelope.payload(&id(payload)).unwrap();
            let framed = StatePayload::decode(framed).unwrap();
            leaves(&parts(framed.body).0, "", &mut places);
        }
        assert!(places.len() >= if payload == "world" { 2 } else { 14 });
        for (index, place) in places.iter().enumerate() {
            let name = format!("{payload}-{index}");
            commit_copy(&store, &name, payload, &|_, body| {
                let copy = body.clone();
                let (mut scalars, buffers) = parts(&copy);
                let value = scalars.pointer_mut(place).unwrap();
                *value = other(value);
                joined(body, &scalars, buffers);
            });
            let what = format!("{payload}{place}");
            if SAID_ONCE.contains(&place.as_str()) {
                restore(&session, &name).expect(&what);
                fail(&session);
            } else {
                refused(&session, &name, &what, "");
            }
        }
    }
}

#[test]
fn what_the_runtime_recorded_of_a_fly_must_be_what_the_fly_holds() {
    type Change = fn(&mut wellwritten_session::AgentRecord);
    let (session, store) = failed();
    let changes: [(&str, Change); 3] = [
        ("brainTicks", |record| record.brain_ticks.0 += 1),
        ("remainder", |record| {
            record.remainder = wellwritten_session::RationalNs::from_nanoseconds(7);
        }),
        ("decisionContextDigest", |record| {
            record.decision_context_digest = Digest::blake3(b"other");
        }),
    ];
    for (index, (field, change)) in changes.into_iter().enumerate() {
        let name = format!("record-{index}");
        commit_copy(&store, &name, "agent-fly-b", &|header, _| {
            change(header.agent.as_mut().unwrap());
        });
        let says = format!("its {field} is");
        refused(&session, &name, &format!("fly-b {field}"), &says);
    }
    for (name, payload) in [("none", "agent-fly-a"), ("some", "world")] {
        let record = wellwritten_session::AgentRecord {
            decision_context_digest: Digest::blake3(b"other"),
            brain_ticks: wellwritten_session::U64(1),
            remainder: wellwritten_session::RationalNs::ZERO,
        };
        commit_copy(&store, name, payload, &|header, _| {
            header.agent = header.agent.is_none().then(|| record.clone());
        });
        refused(&session, name, payload, "agent record");
    }
}

/// Both fields, food, flies, view: what follows from the others, and what others know, is held against them.
#[test]
fn a_world_that_shows_what_its_state_does_not_give_is_refused() {
    let (session, store) = failed();
    // Words of a buffer, from the end: the view is last, then flies, food, the field before, the field.
    let (cells, flies, food) = (256 * 192, 4 * 8, 6 * 4 + 8);
    let cases = [
        ("view", 1, "the view"),
        ("flies", cells + 1 + flies - 4, "inspectionDigest"),
        ("before", cells + flies + food + 3 + 7, "the field"),
        ("field", 2 * cells + flies + food + 4 + 7, "the field"),
    ];
    for (name, from_end, says) in cases {
        commit_copy(&store, name, "world", &|_, body| {
            let copy = body.clone();
            let (scalars, buffers) = parts(&copy);
            let mut buffers = buffers.to_vec();
            let at = buffers.len() - 4 * from_end;
            buffers[at] ^= 1;
            joined(body, &scalars, &buffers);
        });
        refused(&session, name, name, says);
    }
}
