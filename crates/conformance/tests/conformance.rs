//! Oracle: the scenarios are what is written of a session, each played by itself in a time that takes none. That each can
//! fail is what `canaries.rs` is for.
//!
//! `WELLWRITTEN_SCENARIO=<part of a name>` plays only those; `WELLWRITTEN_LONG=1` plays the longest over frames too.

use std::rc::Rc;

use wellwritten_conformance::{ProgramStage, RECOVERY, Reach, SCENARIOS, Stage, VirtualTime};

/// Every scenario on a stage; those that failed, with what they said.
fn failures(reach: Reach, leaves_out: &[&str]) -> Vec<String> {
    let only = std::env::var("WELLWRITTEN_SCENARIO").unwrap_or_default();
    let is_long = std::env::var("WELLWRITTEN_LONG").is_ok_and(|it| it == "1");
    let mut failures = Vec::new();
    for scenario in SCENARIOS {
        let is_left_out = !is_long && leaves_out.contains(&scenario.name);
        if !scenario.name.contains(&only) || is_left_out {
            continue;
        }
        let began = std::time::Instant::now();
        let verdict = VirtualTime::run(|time| {
            let stage: Rc<dyn Stage> = ProgramStage::new(reach, time);
            (scenario.run)(stage)
        });
        println!("{} <{:.2}s>", scenario.name, began.elapsed().as_secs_f64());
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
    let failures = failures(Reach::Direct, &[]);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_scenario_holds_over_frames() {
    let longest = [
        "traces::a_thousand_steps_of_two_agents_behave_as_written_down",
        "traces::a_thousand_steps_of_four_agents_behave_as_written_down",
    ];
    let failures = failures(Reach::Frames, &longest);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
}

/// What is written of the demands is true: every scenario named is there, every scenario about recovery is named, and no
/// demand is without one.
#[test]
fn every_demand_of_recovery_is_held_by_scenarios_that_exist() {
    let numbers: Vec<&str> = RECOVERY.iter().map(|demand| demand.number).collect();
    let due: Vec<String> = (1..=14).map(|number| format!("B.{number}")).collect();
    assert_eq!(numbers[..14], due, "and seeking after them");
    let named: Vec<&str> = RECOVERY
        .iter()
        .flat_map(|demand| demand.scenarios)
        .copied()
        .collect();
    for name in &named {
        assert!(SCENARIOS.iter().any(|it| it.name == *name), "{name}");
    }
    assert!(RECOVERY.iter().all(|demand| !demand.scenarios.is_empty()));
    let files = [
        "resuming",
        "corruption",
        "identity",
        "staging",
        "fencing",
        "saving",
        "queueing",
        "seeking",
        "restores",
    ];
    for scenario in SCENARIOS {
        let file = scenario.name.split("::").next().unwrap();
        assert!(
            !files.contains(&file) || named.contains(&scenario.name),
            "{}",
            scenario.name
        );
    }
}
