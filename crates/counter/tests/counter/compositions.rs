//! What a composition and a plan of faults may be, and how they are written down.

use wellwritten_counter::{
    CounterComposition, CounterError, Fault, FaultKind, FaultPlan, FaultPoint, Faults, Lie,
    Terminal,
};
use wellwritten_session::ErrorCode;

use crate::id;

fn plan() -> FaultPlan {
    FaultPlan::new(vec![
        Fault::new(id("world"), FaultPoint::Advance, FaultKind::Lie(Lie::Cheat)).at_boundary(3),
        Fault::new(
            id("fly-b"),
            FaultPoint::Stage,
            FaultKind::Refuse(ErrorCode::Busy),
        )
        .in_life(2),
        Fault::new(
            id("task"),
            FaultPoint::Evaluate,
            FaultKind::UndeclaredStimulus,
        ),
        Fault::new(id("fly-a"), FaultPoint::Prepare, FaultKind::DelayMs(20)),
    ])
}

#[test]
fn a_composition_is_written_down_and_read_again() {
    let composition = CounterComposition {
        agents: 3,
        terminal: Terminal::Counter(-4),
        faults: plan(),
        ..CounterComposition::default()
    };
    let text = serde_json::to_string(&composition).unwrap();
    let read: CounterComposition = serde_json::from_str(&text).unwrap();
    assert_eq!(read, composition);
    let fault =
        r#"{"participant":"world","life":1,"at":"advance","boundary":"3","kind":{"lie":"cheat"}}"#;
    assert!(text.contains(fault), "{text}");
    for (from, to) in [
        (r#""agents":3"#, r#""agents":-3"#),
        (r#""agents":3"#, r#""agents":3,"more":1"#),
        (r#""epoch":null,"#, ""),
        (r#""lie":"cheat""#, r#""lie":"cheats""#),
        (r#""boundary":"3""#, r#""boundary":3"#),
        (r#""life":1"#, r#""life":1,"times":2"#),
        (r#""counter":-4"#, r#""counter":"-4""#),
    ] {
        assert!(text.contains(from), "{from}");
        let changed = text.replace(from, to);
        assert!(
            serde_json::from_str::<CounterComposition>(&changed).is_err(),
            "{to}"
        );
    }
}

#[test]
fn what_no_session_can_be_is_refused() {
    let default = CounterComposition::default;
    for agents in [0, 5, usize::MAX] {
        let refused = CounterComposition {
            agents,
            ..default()
        }
        .check();
        assert_eq!(refused, Err(CounterError::Agents { agents, limit: 4 }));
    }
    let delayed = CounterComposition {
        view_delay_steps: 9,
        ..default()
    };
    assert_eq!(
        delayed.check(),
        Err(CounterError::ViewDelay { steps: 9, limit: 8 })
    );
    for sample_rate in [7_999, 192_001] {
        let refused = CounterComposition {
            sample_rate,
            ..default()
        }
        .check();
        assert!(
            matches!(refused, Err(CounterError::SampleRate(_))),
            "{sample_rate}"
        );
    }
    let worker = id("fly-c");
    let absent = default().participant(&worker, id("incarnation-1"), 1, Faults::none());
    assert_eq!(absent.unwrap_err(), CounterError::UnknownWorker { worker });
}

#[test]
fn a_fault_that_could_never_happen_is_refused() {
    use FaultPoint::{Activate, Advance, Capture, Commit, Evaluate, Initialize, Prepare};
    assert_eq!(plan().check(), Ok(()));
    for (participant, at, kind) in [
        ("fly-a", Advance, FaultKind::Break),
        ("world", Prepare, FaultKind::Break),
        ("world", Evaluate, FaultKind::Break),
        ("task", Commit, FaultKind::Break),
        ("task", Evaluate, FaultKind::Hang),
        ("world", Advance, FaultKind::BreakAfterInput),
        ("fly-a", Commit, FaultKind::ExtraTicks(1)),
        ("fly-a", Initialize, FaultKind::Dirty),
        ("world", Capture, FaultKind::Lie(Lie::Boundary)),
        ("world", Activate, FaultKind::Lie(Lie::Batch)),
        ("world", Advance, FaultKind::Lie(Lie::AudioAtRest)),
        ("fly-a", Activate, FaultKind::Lie(Lie::ViewMissing)),
        ("world", Advance, FaultKind::UndeclaredStimulus),
    ] {
        let fault = Fault::new(id(participant), at, kind);
        let refused = FaultPlan::new(vec![fault.clone()]).check();
        let due = CounterError::FaultCannotHappen {
            fault: Box::new(fault.clone()),
        };
        assert_eq!(refused, Err(due), "{fault:?}");
        assert!(Faults::none().arm(fault).is_err());
    }
    let unborn = Fault::new(id("world"), Advance, FaultKind::Break).in_life(0);
    assert!(FaultPlan::new(vec![unborn]).check().is_err());
}

#[test]
fn an_episode_is_over_when_it_says() {
    assert!(!Terminal::Never.is_over(u64::MAX, 0));
    assert!(!Terminal::Counter(0).is_over(0, 0), "nothing has moved yet");
    assert!(Terminal::Counter(0).is_over(1, 0) && !Terminal::Counter(0).is_over(1, 1));
    assert!(!Terminal::After(3).is_over(2, 0) && Terminal::After(3).is_over(3, 0));
    assert!(!Terminal::After(0).is_over(0, 0) && Terminal::After(0).is_over(1, 0));
}
