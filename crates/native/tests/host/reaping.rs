//! Bringing participants to their end, and what a launcher leaves behind: nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wellwritten_counter::CounterComposition;
use wellwritten_native::{LaunchError, Participant, ReapOutcome, Recipe};
use wellwritten_session::{Agent, ErrorCode, Phase, SessionError};

use crate::counter_host::{Way, id, launcher, session};
use crate::processes::{is_gone, state};
use crate::runtime::{host, settle};
use crate::stubborn_agent::StubbornAgent;

#[test]
fn a_dropped_launcher_leaves_no_process() {
    let counter = CounterComposition::default();
    let processes = host(async {
        let launcher = launcher(Way::Process, &counter);
        let session = session(&launcher, &counter).await.unwrap();
        session.step().await.unwrap();
        let processes =
            ["world", "fly-a", "fly-b"].map(|name| launcher.process_id(&id(name)).unwrap());
        assert!(processes.iter().all(|process| state(*process).is_some()));
        drop(session);
        drop(launcher);
        assert!(
            processes.into_iter().all(is_gone),
            "killed and reaped by the drop"
        );
        processes
    });
    assert!(processes.into_iter().all(is_gone));
}

#[test]
fn a_runtime_that_ends_in_the_middle_leaves_no_process() {
    let counter = CounterComposition::default();
    let mut processes = Vec::new();
    host(async {
        let launcher = launcher(Way::Process, &counter);
        let session = session(&launcher, &counter).await.unwrap();
        processes.extend(launcher.process_id(&id("fly-a")));
        processes.extend(launcher.process_id(&id("world")));
        // Both stay alive for as long as the runtime: a task owns them.
        tokio::task::spawn_local(async move {
            std::future::pending::<()>().await;
            drop((launcher, session));
        });
    });
    assert_eq!(processes.len(), 2);
    assert!(processes.into_iter().all(is_gone));
}

#[test]
fn a_thread_that_never_waits_is_abandoned_and_its_budget_stays_taken_until_it_ends() {
    let counter = CounterComposition::default();
    host(async {
        let let_go = Arc::new(AtomicBool::new(false));
        let launcher = launcher(Way::Thread, &counter);
        let (of, holding) = (counter.clone(), let_go.clone());
        let stubborn = Recipe::thread(move |incarnation| {
            let agent = StubbornAgent::new(&of, incarnation, holding.clone());
            Ok(Participant::from(Box::new(agent) as Box<dyn Agent>))
        });
        launcher.set_agent(id("fly-b"), stubborn);
        let session = session(&launcher, &counter).await.unwrap();
        let stepping = tokio::task::spawn_local({
            let session = session.clone();
            async move { session.step().await.map(drop) }
        });
        settle().await;
        assert_eq!(session.phase(), Phase::Preparing { boundary: 0 });
        let reaped = launcher.reap(&id("fly-b")).await.unwrap();
        assert_eq!(reaped.outcome, ReapOutcome::Abandoned, "{reaped:?}");
        assert_eq!(launcher.free_threads(), 0, "it still runs");
        let error = stepping.await.unwrap().unwrap_err();
        assert_eq!(error.participant(), Some(&id("fly-b")), "{error}");
        // Somebody else cannot have its thread.
        let error = session.replace_participants().await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::Busy, "{error}");
        let_go.store(true, Ordering::Release);
        for _ in 0..100 {
            if launcher.free_threads() > 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        launcher.set_agent(
            id("fly-b"),
            crate::counter_host::recipe(Way::Thread, &counter),
        );
        session.replace_participants().await.unwrap();
        assert_eq!(launcher.free_threads(), 0);
    });
}

#[test]
fn a_second_life_beside_the_first_is_refused_and_so_is_one_too_many() {
    for way in Way::ALL {
        let counter = CounterComposition::default();
        host(async {
            let launcher = launcher(way, &counter);
            let running = session(&launcher, &counter).await.unwrap();
            let error = session(&launcher, &counter).await.map(drop).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Conflict, "{way:?}: {error}");
            assert!(matches!(error, SessionError::Refused { .. }));
            running.step().await.unwrap();
        });
    }
    let counter = CounterComposition::default();
    host(async {
        let launcher = launcher(Way::Thread, &counter);
        let greedy = crate::counter_host::recipe(Way::Thread, &counter).with_threads(2);
        launcher.set_agent(id("fly-b"), greedy);
        let error = session(&launcher, &counter).await.map(drop).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Busy, "{error}");
        assert_eq!(error.participant(), Some(&id("fly-b")));
        let reaped = launcher.shutdown().await;
        assert_eq!(reaped.len(), 2, "it was not started: {reaped:?}");
        assert!(matches!(
            launcher.reap(&id("fly-b")).await,
            Err(LaunchError::NotRunning { .. })
        ));
    });
}
