//! Where participants run leaves no mark on what they do.

use wellwritten_counter::CounterComposition;
use wellwritten_native::ReapOutcome;
use wellwritten_session::{Phase, RunOptions, TraceVerdict, compare_traces};

use crate::counter_host::{Way, launcher, session};
use crate::processes::is_gone;
use crate::runtime::host;

const STEPS: u64 = 60;

#[test]
fn every_way_of_running_participants_gives_the_same_trace_and_they_stop_when_told() {
    let mut traces = Vec::new();
    for way in Way::ALL {
        for agents in [1, 4] {
            let counter = CounterComposition {
                agents,
                ..CounterComposition::default()
            };
            let trace = host(async {
                let launcher = launcher(way, &counter);
                assert_eq!(launcher.free_threads(), agents + 1);
                let session = session(&launcher, &counter).await.unwrap();
                assert_eq!(launcher.free_threads(), 0);
                let options = RunOptions {
                    until: Some(STEPS),
                    ..RunOptions::default()
                };
                session.run(options).await.unwrap();
                assert_eq!(session.phase(), Phase::Ready { boundary: STEPS });
                let processes: Vec<_> = counter
                    .agent_ids()
                    .iter()
                    .filter_map(|agent| launcher.process_id(agent))
                    .collect();
                let expected = if way == Way::Process { agents } else { 0 };
                assert_eq!(processes.len(), expected, "{way:?}");
                let (trace, _) = session.trace();
                drop(session);
                let reaped = launcher.shutdown().await;
                assert_eq!(reaped.len(), agents + 1);
                for reaped in reaped {
                    assert_eq!(reaped.outcome, ReapOutcome::Stopped, "{way:?}: {reaped:?}");
                }
                assert!(processes.into_iter().all(is_gone));
                assert_eq!(launcher.free_threads(), agents + 1);
                trace
            });
            traces.push((way, agents, trace));
        }
    }
    for (way, agents, trace) in &traces {
        assert_eq!(trace.len() as u64, STEPS);
        for (other_way, other_agents, other) in &traces {
            let verdict = compare_traces(trace, other).verdict;
            let expected = if agents == other_agents {
                TraceVerdict::Equal
            } else {
                // The canary.
                TraceVerdict::Different
            };
            assert_eq!(
                verdict, expected,
                "{way:?} {agents} and {other_way:?} {other_agents}"
            );
        }
    }
}
