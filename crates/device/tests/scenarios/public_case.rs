//! The public report: three launches into three recycled buffers, the middle one invalid, and reads returned 512
//! where 2048 was due. Oracle: every read returns what its own launch wrote, or names the cause.

use futures::future::join_all;
use wellwritten_device::{Access, GuardedBuffer, ReadError, TaintState};

use super::stage::{DUE, SAID, Stage};

pub(crate) async fn an_invalid_shader_between_two_good_ones(stage: Stage) {
    let [first, second, third] = stage.recycled().await;
    let (good, bad) = (stage.fill("good"), stage.broken("diffuse"));
    stage.launch(&good, &[(&first, Access::Write)]);
    stage.launch(&bad, &[(&second, Access::Write)]);
    stage.launch(&good, &[(&third, Access::Write)]);
    let spans = stage.device.taint(&second.binding()).unwrap();
    assert_ne!(spans[0].state, TaintState::Trusted);
    stage.holds(&first, DUE).await;
    stage.refused(&second, &["kernel diffuse", SAID]).await;
    stage.holds(&third, DUE).await;

    // Known by now.
    stage.launch(&bad, &[(&first, Access::Write)]);
    stage.refused(&first, &["kernel diffuse", SAID]).await;
    // A rewrite recovers.
    stage.launch(&good, &[(&second, Access::Write)]);
    stage.holds(&second, DUE).await;
    stage.write(&first, 3);
    stage.holds(&first, 3).await;
}

pub(crate) async fn three_reads_asked_at_once_around_an_invalid_shader(stage: Stage) {
    let buffers = stage.recycled().await;
    let (good, bad) = (stage.fill("good"), stage.broken("diffuse"));
    for (kernel, buffer) in [&good, &bad, &good].into_iter().zip(&buffers) {
        stage.launch(kernel, &[(buffer, Access::Write)]);
    }
    let sources = buffers.each_ref().map(GuardedBuffer::binding);
    let answers = join_all(sources.iter().map(|source| stage.read(source))).await;
    let due = super::stage::bytes(&[DUE; 64]);
    assert_eq!(answers[0].as_ref().unwrap(), &due);
    assert_eq!(answers[2].as_ref().unwrap(), &due);
    match &answers[1] {
        Err(ReadError::Unwritten(report)) => {
            assert_eq!(report.failures.len(), 1, "{report}");
            assert_eq!(report.failures[0].work, "kernel diffuse");
            assert!(report.failures[0].message.contains(SAID), "{report}");
            assert!(report.steps.is_empty(), "{report}");
        }
        other => panic!("{other:?}"),
    }
}

/// Proven kernels share a submission, and whatever turns out wrong with it voids them all.
pub(crate) async fn a_submission_that_turns_out_invalid_drops_its_batch(stage: Stage) {
    let good = stage.fill("good");
    stage.prove(&good, &[Access::Write]).await;
    let buffers = stage.recycled().await;
    stage.device.settled().await;
    let before = stage.device.counters().submissions;
    stage.forcing.spoil_next_submission();
    for buffer in &buffers {
        stage.launch(&good, &[(buffer, Access::Write)]);
    }
    for buffer in &buffers {
        stage.refused(buffer, &["kernel good", "spoilt"]).await;
    }
    assert_eq!(stage.device.counters().submissions, before + 1);
    // The valid work beside it is asked for again, and done.
    for buffer in &buffers {
        stage.launch(&good, &[(buffer, Access::Write)]);
        stage.holds(buffer, DUE).await;
    }
}

/// Skipped work leaves old values in recycled buffers; so does a zero-fill that was dropped.
pub(crate) async fn a_recycled_buffer_reads_as_zero_or_not_at_all(stage: Stage) {
    for buffer in &stage.recycled().await {
        stage.holds(buffer, 0).await;
    }
    let again = stage.recycled().await;
    stage.forcing.spoil_next_submission();
    for buffer in &again {
        stage.refused(buffer, &["zero ", "spoilt"]).await;
    }
}

pub(crate) async fn a_failure_goes_down_a_chain_of_launches(stage: Stage) {
    let [a, b, c] = stage.three(["a", "b", "c"]);
    let bad = stage.broken("diffuse");
    let (second, third) = (stage.increment("second"), stage.increment("third"));
    for is_settled_between in [false, true] {
        stage.launch(&bad, &[(&a, Access::Write)]);
        if is_settled_between {
            stage.device.settled().await;
        }
        stage.launch(&second, &[(&a, Access::Read), (&b, Access::Write)]);
        stage.launch(&third, &[(&b, Access::Read), (&c, Access::Write)]);
        let steps = ["kernel diffuse", SAID, "kernel second", "kernel third"];
        stage.refused(&c, &steps).await;
        stage.write(&a, 1);
        stage.launch(&second, &[(&a, Access::Read), (&b, Access::Write)]);
        stage.launch(&third, &[(&b, Access::Read), (&c, Access::Write)]);
        stage.holds(&c, 3).await;
    }
}
