//! Capture windows and sealed graphs. Oracle: what doing the recorded work again by hand would give; and a graph that
//! lacks something is never sealed.

use futures::future::join_all;
use wellwritten_device::{Access, DeviceError, GuardedBuffer, SealedGraph, WindowError};

use super::stage::{DUE, SAID, Stage};

/// `output` becomes `input` plus two, through `middle`.
async fn plus_two(
    stage: &Stage,
    [input, middle, output]: [&GuardedBuffer; 3],
) -> Result<SealedGraph, WindowError> {
    let increment = stage.increment("increment");
    let window = stage.device.window("plus two")?;
    stage.launch(
        &increment,
        &[(input, Access::Read), (middle, Access::Write)],
    );
    stage.launch(
        &increment,
        &[(middle, Access::Read), (output, Access::Write)],
    );
    window.seal().await
}

pub(crate) async fn a_window_runs_what_it_records_and_a_replay_runs_it_again(stage: Stage) {
    let [input, middle, output] = stage.recycled().await;
    stage.write(&input, 1);
    let graph = plus_two(&stage, [&input, &middle, &output]).await.unwrap();
    assert_eq!((graph.label(), graph.units()), ("plus two", 2));
    stage.holds(&output, 3).await;
    // Inputs are those of the replay.
    for value in [10, 20] {
        stage.write(&input, value);
        stage.holds(&output, if value == 10 { 3 } else { 12 }).await;
        let before = stage.device.counters();
        graph.replay().unwrap();
        assert_eq!(stage.device.counters().launches, before.launches + 2);
        stage.holds(&output, value + 2).await;
        stage.holds(&middle, value + 1).await;
    }
}

pub(crate) async fn writes_and_copies_of_a_window_are_replayed_with_their_own_bytes(stage: Stage) {
    let [a, b, c] = stage.recycled().await;
    let increment = stage.increment("increment");
    let window = stage.device.window("all kinds").unwrap();
    stage.write(&a, 5);
    stage.device.copy(&a.binding(), &b.binding()).unwrap();
    stage.launch(&increment, &[(&b, Access::Read), (&c, Access::Write)]);
    stage.write(&a, 6);
    let graph = window.seal().await.unwrap();
    assert_eq!(graph.units(), 4);
    for buffer in [&a, &b, &c] {
        stage.write(buffer, 99);
        stage.holds(buffer, 99).await;
    }
    graph.replay().unwrap();
    stage.holds(&a, 6).await;
    stage.holds(&b, 5).await;
    stage.holds(&c, 6).await;
}

pub(crate) async fn a_replay_is_recorded_by_the_window_around_it(stage: Stage) {
    let [input, middle, output] = stage.recycled().await;
    let inner = plus_two(&stage, [&input, &middle, &output]).await.unwrap();
    let window = stage.device.window("outer").unwrap();
    stage.write(&input, 7);
    inner.replay().unwrap();
    let outer = window.seal().await.unwrap();
    stage.holds(&output, 9).await;
    stage.write(&input, 100);
    stage.write(&output, 100);
    outer.replay().unwrap();
    stage.holds(&output, 9).await;
}

pub(crate) async fn an_empty_window_seals_and_replays_nothing(stage: Stage) {
    let [a, ..] = stage.recycled().await;
    let graph = stage
        .device
        .window("nothing")
        .unwrap()
        .seal()
        .await
        .unwrap();
    assert_eq!(graph.units(), 0);
    graph.replay().unwrap();
    stage.holds(&a, 0).await;
}

/// Whether its page was recycled, and so had to be zeroed, or was new.
pub(crate) async fn an_allocation_within_a_window_is_not_replayed(stage: Stage) {
    drop(stage.recycled().await);
    for count in [64, 512] {
        let output = stage.alloc(count, "output");
        let window = stage.device.window("copies").unwrap();
        let input = stage.alloc(count, "input");
        stage
            .device
            .copy(&input.binding(), &output.binding())
            .unwrap();
        let graph = window.seal().await.unwrap();
        assert_eq!(graph.units(), 1);
        stage.holds(&output, 0).await;
        stage.write(&input, 7);
        graph.replay().unwrap();
        stage.holds(&input, 7).await;
        stage.holds(&output, 7).await;
    }
}

#[track_caller]
fn is_doomed(answer: Result<SealedGraph, WindowError>, because: &[&str]) {
    match answer {
        Err(error @ WindowError::Doomed { .. }) => {
            let text = error.to_string();
            for part in because {
                assert!(text.contains(part), "no `{part}` in: {text}");
            }
        }
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn a_failed_launch_dooms_its_window_however_late(stage: Stage) {
    for is_settled_between in [false, true] {
        let [first, second, third] = stage.recycled().await;
        let (good, bad) = (stage.fill("good"), stage.broken("diffuse"));
        let window = stage.device.window("doomed").unwrap();
        stage.launch(&good, &[(&first, Access::Write)]);
        stage.launch(&bad, &[(&second, Access::Write)]);
        if is_settled_between {
            stage.device.settled().await;
        }
        stage.launch(&good, &[(&third, Access::Write)]);
        let because = ["window `doomed`", "kernel diffuse failed", SAID];
        is_doomed(window.seal().await, &because);
        // What ran has run.
        stage.holds(&first, DUE).await;
        stage.refused(&second, &[SAID]).await;
        stage.holds(&third, DUE).await;
    }
}

pub(crate) async fn a_skipped_launch_dooms_its_window_under_the_root_failure(stage: Stage) {
    let [input, middle, output] = stage.recycled().await;
    stage.launch(&stage.broken("diffuse"), &[(&input, Access::Write)]);
    stage.device.settled().await;
    let sealed = plus_two(&stage, [&input, &middle, &output]).await;
    is_doomed(sealed, &["window `plus two`", SAID]);
    // The next window is not concerned.
    stage.write(&input, 1);
    let graph = plus_two(&stage, [&input, &middle, &output]).await.unwrap();
    graph.replay().unwrap();
    stage.holds(&output, 3).await;
}

pub(crate) async fn an_input_that_fails_later_dooms_the_window_that_read_it(stage: Stage) {
    let [input, middle, output] = stage.recycled().await;
    stage.launch(&stage.broken("diffuse"), &[(&input, Access::Write)]);
    let sealed = plus_two(&stage, [&input, &middle, &output]).await;
    is_doomed(sealed, &["window `plus two`", SAID]);
    stage.refused(&output, &[SAID]).await;
}

pub(crate) async fn a_dropped_submission_dooms_the_window_that_recorded_into_it(stage: Stage) {
    let good = stage.fill("good");
    stage.prove(&good, &[Access::Write]).await;
    let [first, ..] = stage.recycled().await;
    stage.device.settled().await;
    let window = stage.device.window("doomed").unwrap();
    stage.forcing.spoil_next_submission();
    stage.launch(&good, &[(&first, Access::Write)]);
    is_doomed(window.seal().await, &["window `doomed`", "spoilt"]);
    stage.refused(&first, &["spoilt"]).await;
}

pub(crate) async fn work_outside_a_window_does_not_doom_it(stage: Stage) {
    let [input, middle, output] = stage.recycled().await;
    let other = stage.alloc(64, "other");
    let bad = stage.broken("diffuse");
    stage.launch(&bad, &[(&other, Access::Write)]);
    let increment = stage.increment("increment");
    let window = stage.device.window("sound").unwrap();
    stage.launch(
        &increment,
        &[(&input, Access::Read), (&middle, Access::Write)],
    );
    let sealing = window.seal();
    stage.launch(&bad, &[(&output, Access::Write)]);
    let graph = sealing.await.unwrap();
    stage.write(&input, 4);
    graph.replay().unwrap();
    stage.holds(&middle, 5).await;
    stage.refused(&other, &[SAID]).await;
    stage.refused(&output, &[SAID]).await;
}

pub(crate) async fn a_window_within_a_window_is_refused_by_name(stage: Stage) {
    let [a, ..] = stage.recycled().await;
    let window = stage.device.window("outer").unwrap();
    match stage.device.window("inner") {
        Err(WindowError::Open { open }) => assert_eq!(open, "outer"),
        other => panic!("{other:?}"),
    }
    stage.write(&a, 4);
    let graph = window.seal().await.unwrap();
    assert_eq!(graph.units(), 1, "the refused one recorded nothing");
    stage.write(&a, 5);
    graph.replay().unwrap();
    stage.holds(&a, 4).await;
}

pub(crate) async fn a_replay_over_a_freed_buffer_is_refused_by_name(stage: Stage) {
    let [input, middle, output] = stage.recycled().await;
    let graph = plus_two(&stage, [&input, &middle, &output]).await.unwrap();
    let name = middle.id().to_string();
    drop(middle);
    // It may lie on the freed one's page.
    let heir = stage.alloc(64, "heir");
    stage.write(&heir, 77);
    stage.write(&input, 5);
    let before = stage.device.counters();
    let refused = graph.replay().unwrap_err();
    assert!(matches!(refused, DeviceError::Handle(_)), "{refused}");
    assert!(refused.to_string().contains(&name), "{refused}");
    assert_eq!(stage.device.counters(), before);
    stage.holds(&heir, 77).await;
    stage.holds(&output, 2).await;
}

/// One failure claims the whole write set.
pub(crate) async fn a_replay_that_fails_fails_as_one_unit(stage: Stage) {
    let [input, middle, output] = stage.recycled().await;
    stage.write(&input, 1);
    let graph = plus_two(&stage, [&input, &middle, &output]).await.unwrap();
    stage.holds(&output, 3).await;
    stage.forcing.spoil_next_submission();
    graph.replay().unwrap();
    for buffer in [&middle, &output] {
        stage.refused(buffer, &["graph plus two", "spoilt"]).await;
    }
    assert_eq!(stage.device.failures().failures.len(), 1);
    stage.holds(&input, 1).await;
    graph.replay().unwrap();
    stage.holds(&output, 3).await;
}

pub(crate) async fn a_replay_whose_input_failed_is_skipped_as_a_whole(stage: Stage) {
    let [input, middle, output] = stage.recycled().await;
    let graph = plus_two(&stage, [&input, &middle, &output]).await.unwrap();
    stage.launch(&stage.broken("diffuse"), &[(&input, Access::Write)]);
    stage.device.settled().await;
    let before = stage.device.counters();
    graph.replay().unwrap();
    let after = stage.device.counters();
    assert_eq!(after.skipped_units, before.skipped_units + 1);
    assert_eq!(after.submissions, before.submissions);
    for buffer in [&middle, &output] {
        let because = ["kernel diffuse", SAID, "graph plus two"];
        stage.refused(buffer, &because).await;
    }
    stage.write(&input, 1);
    graph.replay().unwrap();
    stage.holds(&output, 3).await;
}

/// What a graph writes before it reads it is no input of its.
pub(crate) async fn a_replay_over_failed_bytes_that_it_writes_itself_is_not_skipped(stage: Stage) {
    let [input, middle, output] = stage.recycled().await;
    stage.write(&input, 1);
    let graph = plus_two(&stage, [&input, &middle, &output]).await.unwrap();
    let bad = stage.broken("diffuse");
    for is_settled_between in [true, false] {
        for buffer in [&middle, &output] {
            stage.launch(&bad, &[(buffer, Access::Write)]);
        }
        if is_settled_between {
            stage.refused(&output, &[SAID]).await;
        }
        graph.replay().unwrap();
        stage.holds(&middle, 2).await;
        stage.holds(&output, 3).await;
    }
}

pub(crate) async fn a_dropped_window_gives_its_place_back(stage: Stage) {
    let [a, ..] = stage.recycled().await;
    for round in 0..20 {
        let window = stage.device.window("dropped").unwrap();
        stage.write(&a, round);
        drop(window);
        let window = stage.device.window("sealing dropped").unwrap();
        drop(window.seal());
    }
    stage.holds(&a, 19).await;
    let window = stage.device.window("kept").unwrap();
    stage.write(&a, 3);
    window.seal().await.unwrap().replay().unwrap();
    stage.holds(&a, 3).await;
}

pub(crate) async fn eight_windows_may_wait_and_a_ninth_is_refused(stage: Stage) {
    let buffers: Vec<_> = (0..8).map(|_| stage.alloc(64, "one of eight")).collect();
    let mut sealing = Vec::new();
    for (value, buffer) in (0..).zip(&buffers) {
        let window = stage.device.window("one of eight").unwrap();
        stage.write(buffer, value);
        sealing.push(window.seal());
    }
    match stage.device.window("ninth") {
        Err(WindowError::TooMany { sealing }) => assert_eq!(sealing, 8),
        other => panic!("{other:?}"),
    }
    let graphs = join_all(sealing).await;
    for (value, (graph, buffer)) in (0..).zip(graphs.iter().zip(&buffers)) {
        stage.write(buffer, 99);
        graph.as_ref().unwrap().replay().unwrap();
        stage.holds(buffer, value).await;
    }
    drop(stage.device.window("ninth").unwrap());
}

fn is_lost(error: &WindowError) -> bool {
    matches!(
        error,
        WindowError::Device(DeviceError::Lost { .. } | DeviceError::StaleGraph { .. })
    ) || matches!(error, WindowError::Doomed { .. }) && error.to_string().contains("was lost")
}

pub(crate) async fn a_loss_between_the_record_and_the_seal(stage: Stage) {
    for is_recovered_before_the_seal in [false, true] {
        for is_settled_before_the_loss in [false, true] {
            let [a, b, _] = stage.recycled().await;
            let increment = stage.increment("increment");
            let window = stage.device.window("lost").unwrap();
            stage.launch(&increment, &[(&a, Access::Read), (&b, Access::Write)]);
            if is_settled_before_the_loss {
                stage.device.settled().await;
            }
            stage.device.lose();
            if is_recovered_before_the_seal {
                stage.device.recover().await.unwrap();
            }
            let refused = window.seal().await.unwrap_err();
            assert!(is_lost(&refused), "{refused}");
            stage.refused(&b, &["was lost"]).await;
            stage.device.recover().await.unwrap();
        }
    }
}

pub(crate) async fn a_graph_of_a_lost_device_is_refused_by_name(stage: Stage) {
    let [input, middle, output] = stage.recycled().await;
    let graph = plus_two(&stage, [&input, &middle, &output]).await.unwrap();
    stage.device.lose();
    let refused = graph.replay().unwrap_err();
    assert!(matches!(refused, DeviceError::Lost { .. }), "{refused}");
    stage.device.recover().await.unwrap();
    match graph.replay() {
        Err(DeviceError::StaleGraph {
            graph,
            recorded_on: 1,
            generation: 2,
        }) => assert_eq!(graph, "plus two"),
        other => panic!("{other:?}"),
    }
    let fresh = stage.three(["input", "middle", "output"]);
    stage.write(&fresh[0], 1);
    let [input, middle, output] = &fresh;
    let graph = plus_two(&stage, [input, middle, output]).await.unwrap();
    stage.write(input, 2);
    graph.replay().unwrap();
    stage.holds(output, 4).await;
    stage.device.close();
    assert!(matches!(graph.replay(), Err(DeviceError::Closed)));
}
