//! The device goes while work is under way. Oracle: until the recovery nothing reads, and everything
//! that was in flight ends by name.

use std::cell::RefCell;
use std::rc::Rc;

use crate::rig::{BOTH, Rig, Under};
use wellwritten_device::fake::{FailureKind, Question};
use wellwritten_device::{Access, DeviceError, DeviceEvent, GuardedDevice, ReadError, TaintState};

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
fn a_loss_at_every_await_point_of_a_read() {
    // What is answered before the loss; `None` lets background work run without an answer.
    let steps: [&[Option<Question>]; 6] = [
        &[],
        &[None],
        &[Some(Question::Submission)],
        &[Some(Question::Read)],
        &[Some(Question::Submission), None],
        &[Some(Question::Read), None],
    ];
    for answered in steps {
        let rig = Rig::late();
        let a = rig.alloc(64, "a");
        rig.settle();
        rig.write(&a.binding(), &[1; 64]);
        let read = rig.start_read(&a.binding());
        for step in answered {
            match step {
                Some(question) => {
                    rig.control().deliver_first(*question);
                }
                None => rig.turn(),
            }
        }
        rig.device.lose();
        rig.turn();
        let refusal = read.take().expect("no read hangs").unwrap_err().to_string();
        assert!(
            refusal.contains("device generation 1 was lost"),
            "{answered:?}: {refusal}"
        );
    }
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
fn recovery_is_a_new_generation_that_touches_nothing_of_the_old() {
    for under in BOTH {
        let rig = Rig::new(under);
        let events = Rc::new(RefCell::new(Vec::new()));
        let heard = Rc::clone(&events);
        rig.device
            .observe(move |event| heard.borrow_mut().push(event.clone()));
        let fill = rig.fill("fill", 8);
        let old = rig.alloc(64, "old");
        rig.launch(&fill, &[(&old, Access::Write)]);
        assert_eq!(rig.read_words(&old.binding()).unwrap(), [8; 64]);
        rig.write(&old.binding(), &[1; 64]);
        rig.device.lose();
        rig.recover().unwrap();
        assert_eq!(rig.device.generation(), 2);
        assert_eq!(rig.device.lost(), None);

        let new = rig.alloc(64, "new");
        rig.launch(&fill, &[(&new, Access::Write)]);
        assert_eq!(rig.read_words(&new.binding()).unwrap(), [8; 64]);
        if under == Under::Late {
            assert_eq!(
                rig.control().compiled(),
                1,
                "compiled anew for the new generation"
            );
        }
        let refusal = rig.refusal(&old.binding());
        assert!(
            refusal.contains("device generation 1 was lost"),
            "{refusal}"
        );
        let refused = rig.device.write(&old.binding(), &[0; 256]).unwrap_err();
        assert!(refused.to_string().contains("old"), "{refused}");
        rig.launch(&fill, &[(&new, Access::Write)]);
        let bindings = [
            wellwritten_device::Binding::new(old.binding(), Access::Read),
            wellwritten_device::Binding::new(new.binding(), Access::Write),
        ];
        assert!(rig.device.launch(&fill, &bindings, [1, 1, 1]).is_err());
        assert_eq!(rig.read_words(&new.binding()).unwrap(), [8; 64]);

        let events = events.borrow();
        let lost = DeviceEvent::Lost {
            generation: 1,
            reason: "destroyed by the program".to_owned(),
        };
        assert_eq!(events.iter().filter(|event| **event == lost).count(), 1);
        assert_eq!(
            events
                .iter()
                .filter(|event| **event == DeviceEvent::Recovered { generation: 2 })
                .count(),
            1
        );
    }
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
fn two_recoveries_at_once_make_one_generation() {
    let rig = Rig::late();
    rig.device.lose();
    let [first, second] = [0, 1].map(|_| rig.start_recovery());
    rig.connect();
    first.take().unwrap().unwrap();
    let a = rig.alloc(64, "a");
    rig.write(&a.binding(), &[2; 64]);
    rig.connect();
    second.take().unwrap().unwrap();
    assert_eq!(rig.device.generation(), 2, "the second found the work done");
    assert_eq!(rig.read_words(&a.binding()).unwrap(), [2; 64]);
}

#[test]
fn a_device_closed_during_its_recovery_stays_closed() {
    let rig = Rig::late();
    rig.device.lose();
    let recovery = rig.start_recovery();
    rig.device.close();
    rig.connect();
    assert!(matches!(recovery.take(), Some(Err(DeviceError::Closed))));
    assert!(matches!(
        rig.device.alloc(4, "late"),
        Err(DeviceError::Closed)
    ));
}

#[test]
fn a_closed_device_refuses_every_call() {
    for under in BOTH {
        let rig = Rig::new(under);
        let a = rig.alloc(64, "a");
        let fill = rig.fill("fill", 1);
        let read = (under == Under::Late).then(|| rig.start_read(&a.binding()));
        rig.device.close();
        rig.turn();
        if let Some(read) = read {
            assert!(read.take().unwrap().is_err());
        }
        assert!(matches!(rig.device.alloc(4, "b"), Err(DeviceError::Closed)));
        assert!(matches!(
            rig.device.write(&a.binding(), &[0; 256]),
            Err(DeviceError::Closed)
        ));
        let bindings = [wellwritten_device::Binding::new(a.binding(), Access::Write)];
        assert!(matches!(
            rig.device.launch(&fill, &bindings, [1, 1, 1]),
            Err(DeviceError::Closed)
        ));
        assert!(rig.read(&a.binding()).is_err());
        assert!(matches!(rig.recover(), Err(DeviceError::Closed)));
        rig.device.close();
    }
}

#[test]
fn an_error_outside_every_scope_is_passed_on() {
    let rig = Rig::late();
    let events = Rc::new(RefCell::new(Vec::new()));
    let heard = Rc::clone(&events);
    rig.device
        .observe(move |event| heard.borrow_mut().push(event.clone()));
    rig.control()
        .report_uncaptured(FailureKind::Validation, "somebody else");
    rig.turn();
    let message = "WebGPU reported an error outside every scope: somebody else".to_owned();
    assert_eq!(
        *events.borrow(),
        [DeviceEvent::Uncaptured {
            message,
            claimed: 0
        }]
    );
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
