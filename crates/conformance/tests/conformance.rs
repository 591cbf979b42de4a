//! Oracle: the scenarios are what is written of a session, each played by itself in a time that takes none. The canaries
//! below break a stage on purpose, and the scenario that must notice does.

use wellwritten_conformance::{ProgramStage, Reach, SCENARIOS, Stage, VirtualTime};

/// Every scenario on a stage; those that failed, with what they said.
fn failures(reach: Reach) -> Vec<String> {
    let only = std::env::var("WELLWRITTEN_SCENARIO").unwrap_or_default();
    let mut failures = Vec::new();
    for scenario in SCENARIOS.iter().filter(|it| it.name.contains(&only)) {
        let began = std::time::Instant::now();
        let verdict = VirtualTime::run(|time| {
            let stage: std::rc::Rc<dyn Stage> = ProgramStage::new(reach, time);
            (scenario.run)(stage)
        });
        println!("{} {reach:?}: {:?}", scenario.name, began.elapsed());
        match verdict {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => failures.push(format!("{}: {failure}", scenario.name)),
            Err(stalled) => failures.push(format!("{}: {stalled}", scenario.name)),
        }
    }
    failures
}

#[test]
fn every_scenario_holds_where_participants_are_called() {
    let failures = failures(Reach::Direct);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_scenario_holds_over_frames() {
    let failures = failures(Reach::Frames);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
