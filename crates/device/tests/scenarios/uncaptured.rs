//! An error outside every scope. Oracle: it is told; what was in flight could have been it and fails under it; what
//! had settled is kept; what comes later is not concerned.

use wellwritten_device::{Access, DeviceEvent, ReadError, WindowError};

use super::stage::{DUE, Stage};

const SAID: &str = "somebody else's mistake";

fn is_uncaptured(event: &DeviceEvent) -> bool {
    matches!(event, DeviceEvent::Uncaptured { .. })
}

pub(crate) async fn an_error_outside_every_scope_claims_what_is_in_flight(stage: Stage) {
    let [kept, doubted, _] = stage.recycled().await;
    let fill = stage.fill("fill");
    stage.prove(&fill, &[Access::Write]).await;
    stage.launch(&fill, &[(&kept, Access::Write)]);
    stage.device.settled().await;
    stage.forcing.hold_answers();
    stage.launch(&fill, &[(&doubted, Access::Write)]);
    // Begun before, from bytes that are settled and from bytes that are not.
    let (sound, pending) = (stage.read(&kept.binding()), stage.read(&doubted.binding()));
    stage.forcing.report_uncaptured(SAID);
    let event = stage.heard(is_uncaptured).await;
    stage.forcing.release_answers();
    match event {
        DeviceEvent::Uncaptured { message, claimed } => {
            assert!(message.contains(SAID), "{message}");
            assert_eq!(claimed, 1);
        }
        other => panic!("{other:?}"),
    }
    // Nothing says that it was not the copy of this one.
    match sound.await {
        Err(ReadError::Transfer { buffer, .. }) => assert_eq!(buffer, kept.id()),
        other => panic!("{other:?}"),
    }
    match pending.await {
        Err(ReadError::Unwritten(report)) => {
            assert!(report.to_string().contains(SAID), "{report}");
        }
        other => panic!("{other:?}"),
    }
    stage.holds(&kept, DUE).await;
    stage.refused(&doubted, &[SAID, "kernel fill"]).await;
    stage.launch(&fill, &[(&doubted, Access::Write)]);
    stage.holds(&doubted, DUE).await;
    assert_eq!(stage.count(is_uncaptured), 1);
    assert_eq!(stage.device.lost(), None);
}

pub(crate) async fn an_error_outside_every_scope_dooms_the_window_that_waits(stage: Stage) {
    let [a, b, _] = stage.recycled().await;
    let fill = stage.fill("fill");
    stage.prove(&fill, &[Access::Write]).await;
    stage.forcing.hold_answers();
    let window = stage.device.window("doubted").unwrap();
    stage.launch(&fill, &[(&a, Access::Write)]);
    let sealing = window.seal();
    stage.forcing.report_uncaptured(SAID);
    stage.heard(is_uncaptured).await;
    stage.forcing.release_answers();
    match sealing.await {
        Err(error @ WindowError::Doomed { .. }) => {
            assert!(error.to_string().contains(SAID), "{error}");
        }
        other => panic!("{other:?}"),
    }
    stage.refused(&a, &[SAID]).await;
    // A window that opens afterwards is not concerned.
    let window = stage.device.window("sound").unwrap();
    stage.launch(&fill, &[(&b, Access::Write)]);
    window.seal().await.unwrap().replay().unwrap();
    stage.holds(&b, DUE).await;
}

/// The buffer could be what failed: nothing of it is believed, and nothing of it is used again.
pub(crate) async fn an_error_outside_every_scope_while_a_buffer_is_created(stage: Stage) {
    let increment = stage.increment("increment");
    let accesses = [Access::Read, Access::Write];
    stage.prove(&increment, &accesses).await;
    let output = stage.alloc(64, "output");
    stage.device.settled().await;
    stage.forcing.hold_answers();
    let doubted = stage.alloc(512, "doubted");
    stage.write(&doubted, 1);
    let bindings = [(&doubted, Access::Read), (&output, Access::Write)];
    stage.launch(&increment, &bindings);
    stage.forcing.report_uncaptured(SAID);
    stage.heard(is_uncaptured).await;
    stage.forcing.release_answers();
    stage.refused(&doubted, &[SAID]).await;
    stage.refused(&output, &[SAID]).await;
    drop(doubted);
    let next = stage.alloc(512, "next");
    stage.write(&next, 5);
    stage.launch(
        &increment,
        &[(&next, Access::Read), (&output, Access::Write)],
    );
    stage.holds(&output, 6).await;
    stage.holds(&next, 5).await;
}

pub(crate) async fn an_error_outside_every_scope_while_nothing_is_in_flight_is_shown(stage: Stage) {
    let [a, ..] = stage.recycled().await;
    stage.write(&a, 5);
    stage.device.settled().await;
    stage.forcing.report_uncaptured(SAID);
    let event = stage.heard(is_uncaptured).await;
    assert!(
        matches!(event, DeviceEvent::Uncaptured { claimed: 0, .. }),
        "{event:?}"
    );
    stage.holds(&a, 5).await;
}
