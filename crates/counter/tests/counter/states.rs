//! What is captured, and that nothing else is taken for a state.

use futures::executor::block_on;
use wellwritten_counter::{CounterAgent, CounterComposition, CounterWorld, Faults, controls};
use wellwritten_session::{
    Advance, Agent, Digest, Environment, EnvironmentInitialize, ErrorCode, Id, ParticipantError,
    PortBinding, Scope, StepResult, U64,
};

use crate::id;

fn composition() -> CounterComposition {
    CounterComposition {
        agents: 1,
        view_delay_steps: 1,
        sample_rate: 8_000,
        ..CounterComposition::default()
    }
}

fn fresh() -> CounterWorld {
    CounterWorld::new(&composition(), 1, Faults::none()).unwrap()
}

fn step(world: &mut CounterWorld, at: u64, presses: &str) -> Result<StepResult, ParticipantError> {
    let mut intent = controls().neutral();
    for button in &mut intent.buttons {
        button.down = presses.contains(button.id.as_str());
    }
    let scope = Scope {
        session_id: id("demo"),
        epoch: id("e1"),
        step: U64(at),
    };
    let batch = Advance {
        batch_id: Id::parse(&format!("batch-e1-{at}")).unwrap(),
        controls: vec![intent.on_port(id("p1"))],
    };
    block_on(world.advance(&scope, &batch))
}

/// A world that has come to boundary 4 and counts -2.
fn moved() -> CounterWorld {
    let mut world = fresh();
    let begins = EnvironmentInitialize {
        episode_id: id("ep1"),
        port_bindings: vec![PortBinding {
            port_id: id("p1"),
            agent_id: id("fly-a"),
        }],
    };
    block_on(world.initialize(&begins)).unwrap();
    for (at, presses) in ["inc", "dec", "dec", "dec"].into_iter().enumerate() {
        step(&mut world, at as u64, presses).unwrap();
    }
    world
}

const CAPTURED: &str = r#"{"counter":-2,"episode":"ep1","frames":[{"counter":-1,"step":"3"},{"counter":-2,"step":"4"}],"sound":{"nextSample":"533","remainder":{"denominator":"3","numerator":"125000"},"sampleRate":8000},"step":"4","time":{"denominator":"3","numerator":"200000000"}}"#;

#[test]
fn a_world_is_captured_as_described_and_restored_to_the_same() {
    let mut world = moved();
    let captured = block_on(world.capture()).unwrap();
    assert_eq!(String::from_utf8(captured.clone()).unwrap(), CAPTURED);
    let mut other = fresh();
    let found = block_on(other.stage_restore(&captured)).unwrap();
    assert_eq!(
        (found.boundary, found.audio[0].next_sample),
        (U64(4), U64(533))
    );
    let shown = block_on(other.activate_restore()).unwrap();
    assert_eq!(shown.sensory_views[0].produced_step, U64(3));
    assert_eq!(
        shown.sensory_views[0].pixels.bytes()[0],
        255,
        "the low byte of -1"
    );
    let (one, two) = (step(&mut world, 4, "inc"), step(&mut other, 4, "inc"));
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!(one.state_digest, two.state_digest);
    assert_eq!(
        one.state_digest,
        Some(Digest::blake3(&block_on(world.capture()).unwrap()))
    );
    let (one, two) = (&one.observation.audio[0], &two.observation.audio[0]);
    assert_eq!(one.samples.bytes(), two.samples.bytes());
    assert_eq!((one.discontinuity, two.discontinuity), (false, true));
    assert_eq!((two.first_sample, two.sample_frames), (U64(533), 133));
}

#[test]
fn sound_is_what_is_described() {
    let mut world = moved();
    let chunk = step(&mut world, 4, "").unwrap().observation.audio.remove(0);
    let (samples, rest) = chunk.samples.bytes().as_chunks::<4>();
    assert!(rest.is_empty());
    for (index, bytes) in (0_i64..).zip(samples) {
        let (frame, channel) = (533 + index / 2, index % 2);
        let phase = (frame + 37 * -2 + 128 * channel).rem_euclid(256);
        let due = (f64::from(u8::try_from(phase).unwrap()) - 128.0) / 128.0;
        assert!((f64::from(f32::from_le_bytes(*bytes)) - due).abs() < f64::EPSILON);
    }
}

#[test]
fn no_other_world_is_taken_for_a_state() {
    let replacements = [
        (r#""counter":-2,"e"#, r#""counter":-3,"e"#),
        (r#""episode":"ep1""#, r#""episode":null"#),
        (r#"{"counter":-1,"step":"3"},"#, ""),
        (r#""step":"3""#, r#""step":"2""#),
        (r#""counter":-2,"step":"4"}"#, r#""counter":-1,"step":"4"}"#),
        ("533", "534"),
        ("125000", "125001"),
        ("8000", "48000"),
        (r#""step":"4","time""#, r#""step":"5","time""#),
        ("200000000", "200000001"),
        (r#""step":"4","time""#, r#""step":"04","time""#),
        (r#""step":"4","time""#, r#""step":4,"time""#),
        (r#"{"counter":-2,"e"#, r#"{ "counter":-2,"e"#),
        (r#"{"counter":-2,"e"#, r#"{"a":1,"counter":-2,"e"#),
        (r#"{"counter":-2,"e"#, r#"{"counter":-2,"counter":-2,"e"#),
        (r#"{"counter":-2,"e"#, r#"{"counter":-2.0,"e"#),
        (r#"{"counter":-2,"e"#, r#"{"counter":-9007199254740993,"e"#),
        (
            r#""counter":-2,"episode":"ep1""#,
            r#""episode":"ep1","counter":-2"#,
        ),
        ("}}", "}"),
        ("}}", "}}}"),
    ];
    for (from, to) in replacements {
        assert!(CAPTURED.contains(from), "{from}");
        let changed = CAPTURED.replacen(from, to, 1);
        let mut world = fresh();
        let refused = block_on(world.stage_restore(changed.as_bytes())).unwrap_err();
        assert_eq!(
            refused.code,
            ErrorCode::IncompatibleState,
            "{changed}: {refused}"
        );
        let nothing = block_on(world.activate_restore()).unwrap_err();
        assert_eq!(nothing.code, ErrorCode::InvalidPhase, "{changed}");
    }
    // And the state of a world with another delay, which keeps other frames.
    let shape = CounterComposition {
        view_delay_steps: 0,
        ..composition()
    };
    let mut other = CounterWorld::new(&shape, 1, Faults::none()).unwrap();
    assert!(block_on(other.stage_restore(CAPTURED.as_bytes())).is_err());
    assert!(block_on(fresh().stage_restore(CAPTURED.as_bytes())).is_ok());
}

#[test]
fn no_other_brain_is_taken_for_a_state() {
    let fresh = || CounterAgent::new(&composition(), &id("fly-a"), 1, Faults::none()).unwrap();
    let context = wellwritten_session::TypedValue::new(
        wellwritten_counter::context_schema(),
        serde_json::json!({"transitions": 2})
            .as_object()
            .unwrap()
            .clone(),
    );
    let context = serde_json::to_string(&context.unwrap()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&context).unwrap();
    let state = serde_json::json!({
        "clock": {
            "remainder": {"denominator": "3", "numerator": "1000000"},
            "tickDuration": {"denominator": "1", "numerator": "1000000"},
        },
        "context": value, "lcg": "18446744073709551615", "signal": -1, "ticks": "43", "updates": "2",
    });
    // Keys come in order from a map of this library, which makes this the canonical spelling.
    let text = state.to_string();
    let found = block_on(fresh().stage_restore(text.as_bytes())).unwrap();
    assert_eq!((found.boundary, found.brain_ticks), (U64(2), U64(43)));
    for (from, to) in [
        (
            r#""numerator":"1000000"},"tick"#,
            r#""numerator":"3000000"},"tick"#,
        ),
        (
            r#"{"denominator":"1","numerator":"1000000"}"#,
            r#"{"denominator":"1","numerator":"2000000"}"#,
        ),
        ("18446744073709551615", "18446744073709551616"),
        (r#""signal":-1"#, r#""signal":-1.0"#),
        (r#""signal":-1"#, r#""signal":null"#),
        (r#""ticks":"43""#, r#""ticks":43"#),
        (r#","updates":"2""#, ""),
    ] {
        assert!(text.contains(from), "{from} in {text}");
        let changed = text.replacen(from, to, 1);
        let refused = block_on(fresh().stage_restore(changed.as_bytes())).unwrap_err();
        assert_eq!(refused.code, ErrorCode::IncompatibleState, "{changed}");
    }
    let mut contextless = state;
    contextless["context"] = serde_json::Value::Null;
    let refused = block_on(fresh().stage_restore(contextless.to_string().as_bytes())).unwrap_err();
    assert!(refused.message.contains("no context"), "{refused}");
}
