//! The device goes, and comes back. Oracle: until the recovery nothing reads and everything that was under way ends
//! by name; afterwards there is a new device, and nothing of the old one.

use futures::future::{join, join_all, join3};
use wellwritten_device::{Access, DeviceError, DeviceEvent, ReadError};

use super::stage::{DUE, Stage};

const LOST: &str = "device generation 1 was lost";

fn is_lost(event: &DeviceEvent) -> bool {
    matches!(event, DeviceEvent::Lost { generation: 1, .. })
}

/// Work and reads in flight, half of them of bytes that are pending.
async fn in_flight(stage: Stage, lose: impl AsyncFn(&Stage)) {
    let good = stage.fill("good");
    stage.prove(&good, &[Access::Write]).await;
    let buffers: Vec<_> = (0..10).map(|_| stage.alloc(64, "flight")).collect();
    stage.device.settled().await;
    stage.forcing.hold_answers();
    let mut reads = Vec::new();
    for (index, buffer) in buffers.iter().enumerate() {
        if index % 2 == 0 {
            stage.launch(&good, &[(buffer, Access::Write)]);
        }
        reads.push(stage.read(&buffer.binding()));
    }
    let settled = stage.device.settled();
    let verified = stage.device.verify(&[buffers[0].binding()]);
    lose(&stage).await;
    let (answers, (), verified) = join3(join_all(reads), settled, verified).await;
    for answer in answers {
        match answer {
            Err(ReadError::Unwritten(report)) => {
                assert!(report.to_string().contains(LOST), "{report}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(verified.unwrap_err().to_string().contains(LOST));
    // What arrives afterwards changes nothing.
    stage.forcing.release_answers();
    for buffer in &buffers {
        stage.refused(buffer, &[LOST]).await;
    }
    let refused = stage.try_launch(&good, &[(&buffers[0], Access::Write)]);
    assert!(matches!(
        refused,
        Err(DeviceError::Lost { generation: 1, .. })
    ));
    stage.device.recover().await.unwrap();
    let fresh = stage.alloc(64, "fresh");
    stage.launch(&good, &[(&fresh, Access::Write)]);
    stage.holds(&fresh, DUE).await;
    assert_eq!(stage.count(is_lost), 1);
}

pub(crate) async fn losing_the_device_with_reads_in_flight(stage: Stage) {
    in_flight(stage, async |stage| stage.device.lose()).await;
}

pub(crate) async fn a_loss_that_only_the_device_announces(stage: Stage) {
    in_flight(stage, async |stage| {
        stage.forcing.lose_behind_its_back();
        stage.heard(is_lost).await;
    })
    .await;
}

pub(crate) async fn a_recovered_device_is_a_new_generation_and_nothing_of_the_old(stage: Stage) {
    let fill = stage.fill("fill");
    let [old, other, _] = stage.recycled().await;
    stage.launch(&fill, &[(&old, Access::Write)]);
    stage.holds(&old, DUE).await;
    stage.write(&old, 1);
    stage.device.lose();
    assert!(stage.device.lost().is_some());
    stage.device.recover().await.unwrap();
    assert_eq!(stage.device.generation(), 2);
    assert_eq!(stage.device.lost(), None);

    // Kernels are compiled anew; buffers stay lost.
    let new = stage.alloc(64, "new");
    stage.holds(&new, 0).await;
    stage.launch(&fill, &[(&new, Access::Write)]);
    stage.holds(&new, DUE).await;
    let submissions = stage.device.counters().submissions;
    stage.refused(&old, &[LOST]).await;
    let device = &stage.device;
    let refusals = [
        device.write(&old.binding(), &[0; 256]),
        device.copy(&new.binding(), &old.binding()),
        device.copy(&old.binding(), &new.binding()),
        stage.try_launch(&fill, &[(&old, Access::Write)]),
    ];
    for refused in refusals {
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("first"), "{refused}");
    }
    assert_eq!(device.counters().submissions, submissions);
    stage.holds(&new, DUE).await;
    // Freeing what is lost is no work for anyone.
    drop((old, other));
    device.trim();
    stage.holds(&new, DUE).await;
    device.recover().await.unwrap();
    assert_eq!(device.generation(), 2, "a live device is left as it is");
    let recovered = DeviceEvent::Recovered { generation: 2 };
    assert_eq!(stage.count(|event| *event == recovered), 1);
    assert_eq!(stage.count(is_lost), 1);
}

pub(crate) async fn a_recovery_tries_three_times_and_gives_up_by_name(stage: Stage) {
    stage.forcing.refuse_connections(2);
    stage.device.lose();
    stage.device.recover().await.unwrap();
    assert_eq!(stage.device.generation(), 2);
    assert_eq!(stage.forcing.pauses(), [100, 400]);

    stage.device.lose();
    stage.forcing.refuse_connections(3);
    match stage.device.recover().await {
        Err(DeviceError::RecoveryFailed { attempts: 3, last }) => {
            assert!(last.contains("adapter"), "{last}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(stage.forcing.pauses(), [100, 400, 100, 400]);
    assert!(matches!(
        stage.device.alloc(4, "still lost"),
        Err(DeviceError::Lost { generation: 2, .. })
    ));
    // Later it may work.
    stage.device.recover().await.unwrap();
    let a = stage.alloc(64, "a");
    stage.write(&a, 5);
    stage.holds(&a, 5).await;
    assert_eq!(stage.device.generation(), 3);
}

pub(crate) async fn two_recoveries_at_once_make_one_generation(stage: Stage) {
    stage.device.lose();
    let (first, second) = join(stage.device.recover(), stage.device.recover()).await;
    first.unwrap();
    second.unwrap();
    assert_eq!(stage.device.generation(), 2);
    let a = stage.alloc(64, "a");
    stage.write(&a, 5);
    stage.holds(&a, 5).await;
}

/// The second caller's device is one too many, and must not replace the first's.
pub(crate) async fn a_recovery_that_comes_second_leaves_the_first_ones_buffers(stage: Stage) {
    stage.device.lose();
    let second = stage.device.recover();
    let first = async {
        stage.device.recover().await.unwrap();
        let a = stage.alloc(64, "a");
        stage.write(&a, 5);
        a
    };
    let (a, second) = join(first, second).await;
    second.unwrap();
    stage.holds(&a, 5).await;
    assert_eq!(stage.device.generation(), 2);
}

pub(crate) async fn a_device_closed_during_its_recovery_stays_closed(stage: Stage) {
    stage.device.lose();
    let device = stage.device.clone();
    let mut recovery = Box::pin(stage.device.recover());
    assert!(futures::poll!(&mut recovery).is_pending(), "it asks");
    device.close();
    assert!(matches!(recovery.await, Err(DeviceError::Closed)));
    assert!(matches!(device.alloc(4, "late"), Err(DeviceError::Closed)));
    assert!(matches!(device.recover().await, Err(DeviceError::Closed)));
}

pub(crate) async fn a_closed_device_refuses_every_call(stage: Stage) {
    let [a, b, _] = stage.recycled().await;
    let fill = stage.fill("fill");
    stage.write(&a, 5);
    let read = stage.read(&a.binding());
    let device = &stage.device;
    device.close();
    assert!(read.await.is_err());
    let refusals = [
        device.alloc(4, "late").map(drop),
        device.write(&a.binding(), &[0; 256]),
        device.copy(&a.binding(), &b.binding()),
        stage.try_launch(&fill, &[(&a, Access::Write)]),
        device.recover().await,
    ];
    for refused in refusals {
        assert!(matches!(refused, Err(DeviceError::Closed)), "{refused:?}");
    }
    assert!(device.window("late").is_err());
    assert!(stage.read(&a.binding()).await.is_err());
    device.settled().await;
    device.close();
}
