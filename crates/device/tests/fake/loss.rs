//! The device goes while work is under way. Oracle: until the recovery nothing reads, and everything
//! that was in flight ends by name.

use crate::rig::Rig;
use wellwritten_device::fake::Question;
use wellwritten_device::{Access, DeviceError, GuardedDevice, ReadError, TaintState};

#[test]
fn ten_reads_in_flight_all_end_by_name_within_a_turn() {
    let rig = Rig::late();
    let buffers: Vec<_> = (0..10).map(|_| rig.alloc(64, "flight")).collect();
    rig.settle();
    let reads: Vec<_> = (0u32..)
        .zip(&buffers)
        .map(|(round, buffer)| {
            if round % 2 == 0 {
                rig.write(&buffer.binding(), &[round; 64]);
            }
            rig.start_read(&buffer.binding())
        })
        .collect();
    let device = rig.device.clone();
    let settled = rig.start(async move { device.settled().await });
    rig.device.lose();
    rig.turn();
    assert!(settled.take().is_some(), "nothing is left to settle");
    for read in reads {
        match read.take().expect("no read hangs") {
            Err(ReadError::Unwritten(report)) => {
                let text = report.to_string();
                assert!(text.contains("device generation 1 was lost"), "{text}");
            }
            other => panic!("{other:?}"),
        }
    }
    for buffer in &buffers {
        assert_eq!(
            rig.device.taint(&buffer.binding()).unwrap()[0].state,
            TaintState::Failed
        );
    }
    // What arrives afterwards changes nothing.
    rig.settle();
    assert!(rig.refusal(&buffers[0].binding()).contains("was lost"));
}

#[test]
fn success_reported_after_a_loss_is_not_believed() {
    for announced_by_the_device in [false, true] {
        let rig = Rig::late();
        let a = rig.alloc(64, "a");
        rig.settle();
        rig.control().let_copies_survive();
        rig.write(&a.binding(), &[1; 64]);
        let read = rig.start_read(&a.binding());
        if announced_by_the_device {
            rig.control().lose("the driver was reset");
        } else {
            rig.device.lose();
        }
        // Everything resolves as if all were well, the copy included.
        rig.settle();
        let refusal = read.take().unwrap().unwrap_err().to_string();
        assert!(
            refusal.contains("device generation 1 was lost"),
            "{refusal}"
        );
        let reason = rig.device.lost().unwrap();
        assert_eq!(
            announced_by_the_device,
            reason == "the driver was reset",
            "{reason}"
        );
        assert!(matches!(
            rig.device.write(&a.binding(), &[0; 256]),
            Err(DeviceError::Lost { generation: 1, .. })
        ));
    }
}

#[test]
fn an_aborted_mapping_before_the_loss_is_announced_gives_no_bytes() {
    let rig = Rig::late();
    let a = rig.alloc(64, "a");
    rig.write(&a.binding(), &[1; 64]);
    rig.settle();
    let read = rig.start_read(&a.binding());
    rig.control().fail_read();
    let second = rig.start_read(&a.binding());
    rig.control().deliver(1);
    rig.turn();
    assert!(matches!(
        second.take(),
        Some(Err(ReadError::Transfer { .. }))
    ));
    rig.control().lose("the driver was reset");
    rig.turn();
    assert!(matches!(read.take(), Some(Err(ReadError::Unwritten(_)))));
}

#[test]
fn a_late_announcement_of_an_old_loss_does_not_touch_the_new_generation() {
    let rig = Rig::late();
    let a = rig.alloc(64, "a");
    rig.write(&a.binding(), &[1; 64]);
    rig.turn();
    rig.device.lose();
    rig.recover().unwrap();
    rig.control().announce_loss_of(1, "destroyed");
    let b = rig.alloc(64, "b");
    rig.write(&b.binding(), &[2; 64]);
    // Those of the old generation too.
    rig.settle();
    assert_eq!(rig.device.lost(), None);
    assert_eq!(rig.read_words(&b.binding()).unwrap(), [2; 64]);
}

#[test]
fn losing_a_device_again_changes_nothing() {
    let device = GuardedDevice::cpu();
    let a = device.alloc(4, "a").unwrap();
    device.lose();
    let revision = device.revision();
    device.lose();
    assert_eq!(device.revision(), revision);
    assert!(device.taint(&a.binding()).is_ok());
}

#[test]
fn kernels_are_compiled_anew_for_the_new_generation_and_buffers_are_not() {
    let rig = Rig::late();
    let fill = rig.fill("fill", 8);
    let old = rig.alloc(64, "old");
    rig.launch(&fill, &[(&old, Access::Write)]);
    rig.settle();
    rig.device.lose();
    rig.recover().unwrap();
    assert_eq!(rig.control().compiled(), 0);
    assert_eq!(rig.control().pages(), 0);
    let new = rig.alloc(64, "new");
    rig.launch(&fill, &[(&new, Access::Write)]);
    assert_eq!(rig.read_words(&new.binding()).unwrap(), [8; 64]);
    assert_eq!(rig.control().compiled(), 1);
    // The fake would panic if anything named a buffer of the old generation.
    drop(old);
    rig.device.trim();
    rig.settle();
    assert_eq!(rig.control().pages(), 1);
}

#[test]
fn a_recovery_that_is_not_needed_any_more_after_its_pause_asks_for_no_device() {
    for is_closed in [false, true] {
        let rig = Rig::late();
        rig.device.lose();
        rig.control().refuse_connections(1);
        let slow = rig.start_recovery();
        rig.connect();
        assert_eq!(rig.control().held(), [Question::Pause]);
        if is_closed {
            rig.device.close();
        } else {
            let fast = rig.start_recovery();
            rig.connect();
            fast.take().unwrap().unwrap();
        }
        rig.control().deliver_first(Question::Pause);
        rig.turn();
        let ended = slow.take().expect("it asks for nothing more");
        assert_eq!(ended.is_err(), is_closed, "{ended:?}");
        assert_eq!(rig.control().generations(), if is_closed { 1 } else { 2 });
    }
}
