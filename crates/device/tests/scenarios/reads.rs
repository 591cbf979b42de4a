//! Reads that overlap. Oracle: the bytes as they were when the read was asked for, or a reason.

use futures::future::join_all;
use wellwritten_device::{Access, ReadError};

use super::stage::{DUE, SAID, Stage, bytes};

pub(crate) async fn a_hundred_overlapping_reads_return_in_order_what_was_there(stage: Stage) {
    let a = stage.alloc(64, "a");
    let mut reads = Vec::new();
    for round in 0..100u32 {
        stage.write(&a, round);
        let start = u64::from(round % 7) * 4;
        let source = a
            .slice(start, start + 4 * u64::from(1 + round % 50))
            .unwrap();
        reads.push(stage.read(&source));
    }
    stage.write(&a, 1000);
    for (round, answer) in (0..).zip(join_all(reads).await) {
        let count = usize::try_from(1 + round % 50).unwrap();
        assert_eq!(answer.unwrap(), bytes(&vec![round; count]), "read {round}");
    }
    stage.holds(&a, 1000).await;
}

/// Nothing is asked of the device between the call and the answer.
pub(crate) async fn a_read_needs_no_other_submission_to_resolve(stage: Stage) {
    let [a, b, _] = stage.recycled().await;
    let fill = stage.fill("fill");
    stage.prove(&fill, &[Access::Write]).await;
    stage.launch(&fill, &[(&a, Access::Write)]);
    stage.holds(&a, DUE).await;
    // Nor does work that nobody waits for, and that fails, keep it from resolving.
    stage.launch(&stage.broken("diffuse"), &[(&b, Access::Write)]);
    stage.holds(&a, DUE).await;
    stage.refused(&b, &[SAID]).await;
}

pub(crate) async fn later_work_does_not_change_what_an_earlier_read_returns(stage: Stage) {
    let a = stage.alloc(64, "a");
    let bad = stage.broken("diffuse");
    stage.write(&a, 1);
    let first = stage.read(&a.binding());
    stage.launch(&bad, &[(&a, Access::Write)]);
    let second = stage.read(&a.binding());
    stage.write(&a, 3);
    let third = stage.read(&a.binding());
    drop(a);
    assert_eq!(first.await.unwrap(), bytes(&[1; 64]));
    let refusal = second.await.unwrap_err();
    assert!(matches!(refusal, ReadError::Unwritten(_)), "{refusal}");
    assert!(refusal.to_string().contains(SAID), "{refusal}");
    assert_eq!(third.await.unwrap(), bytes(&[3; 64]));
}

pub(crate) async fn a_mapping_that_rejects_fails_one_read(stage: Stage) {
    let a = stage.alloc(64, "a");
    stage.write(&a, 5);
    stage.device.settled().await;
    stage.forcing.reject_mapping();
    match stage.read(&a.binding()).await {
        Err(ReadError::Transfer { buffer, .. }) => assert_eq!(buffer, a.id()),
        other => panic!("{other:?}"),
    }
    stage.holds(&a, 5).await;
}

pub(crate) async fn verify_says_what_a_read_would_say(stage: Stage) {
    let [a, b, _] = stage.recycled().await;
    stage.write(&a, 5);
    stage.launch(&stage.broken("diffuse"), &[(&b, Access::Write)]);
    let before = stage.device.counters().bytes_read;
    stage.device.verify(&[a.binding()]).await.unwrap();
    let both = [a.binding(), b.binding()];
    let refusal = stage.device.verify(&both).await.unwrap_err();
    assert!(refusal.to_string().contains(SAID), "{refusal}");
    assert_eq!(stage.device.counters().bytes_read, before);
    stage.holds(&a, 5).await;
    stage.refused(&b, &[SAID]).await;
}
