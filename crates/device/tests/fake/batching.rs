//! What shares a submission, and in which order effects happen. Oracle: the work's own order.

use crate::rig::{BOTH, Rig};
use wellwritten_device::Access;

#[test]
fn unproven_kernels_go_alone_and_proven_ones_together() {
    let rig = Rig::late();
    let buffers: Vec<_> = (0..4).map(|_| rig.alloc(64, "target")).collect();
    rig.settle();
    let fill = rig.fill("fill", 5);

    let before = rig.device.counters().submissions;
    for buffer in &buffers {
        rig.launch(&fill, &[(buffer, Access::Write)]);
    }
    rig.turn();
    assert_eq!(
        rig.device.counters().submissions,
        before + 4,
        "not proven yet"
    );
    rig.settle();

    for buffer in &buffers {
        rig.launch(&fill, &[(buffer, Access::Write)]);
    }
    assert_eq!(
        rig.device.counters().submissions,
        before + 4,
        "recorded, not submitted"
    );
    rig.turn();
    assert_eq!(
        rig.device.counters().submissions,
        before + 5,
        "submitted though nobody asked"
    );
    assert_eq!(rig.control().submitted().last().unwrap().units.len(), 4);
    assert_eq!(
        rig.device.counters().submissions,
        rig.control().submitted().len() as u64
    );
}

#[test]
fn a_page_not_yet_proven_does_not_share_a_submission() {
    let rig = Rig::late();
    let old = rig.alloc(64, "old");
    rig.settle();
    rig.control().fail_creation_after(0);
    let new = rig.alloc(64, "new");
    rig.write(&old.binding(), &[1; 64]);
    rig.write(&new.binding(), &[2; 64]);
    rig.write(&old.slice(0, 4).unwrap(), &[3]);
    rig.settle();
    assert_eq!(rig.read_words(&old.slice(0, 8).unwrap()).unwrap(), [3, 1]);
    assert!(rig.refusal(&new.binding()).contains("no memory"));
}

#[test]
fn host_writes_keep_their_place_among_launches() {
    for under in BOTH {
        let rig = Rig::new(under);
        let [a, b, c] = ["a", "b", "c"].map(|label| rig.alloc(64, label));
        let copy = rig.increment("copy");
        rig.prove(&copy, &[Access::Read, Access::Write]);
        rig.write(&a.binding(), &[10; 64]);
        rig.launch(&copy, &[(&a, Access::Read), (&b, Access::Write)]);
        rig.write(&a.binding(), &[20; 64]);
        rig.launch(&copy, &[(&a, Access::Read), (&c, Access::Write)]);
        rig.write(&a.slice(0, 4).unwrap(), &[30]);
        assert_eq!(rig.read_words(&b.binding()).unwrap(), [11; 64]);
        assert_eq!(rig.read_words(&c.binding()).unwrap(), [21; 64]);
        assert_eq!(rig.read_words(&a.slice(0, 8).unwrap()).unwrap(), [30, 20]);
    }
}

#[test]
fn writes_and_launches_in_turn_share_one_submission() {
    let rig = Rig::late();
    let a = rig.alloc(64, "a");
    let copies: Vec<_> = (0..3).map(|_| rig.alloc(64, "copy")).collect();
    let copy = rig.increment("copy");
    rig.prove(&copy, &[Access::Read, Access::Write]);
    let before = rig.device.counters().submissions;
    for (round, target) in (0..).zip(&copies) {
        rig.write(&a.binding(), &[10 * round; 64]);
        rig.launch(&copy, &[(&a, Access::Read), (target, Access::Write)]);
    }
    rig.settle();
    assert_eq!(rig.device.counters().submissions, before + 1);
    for (round, target) in (0..).zip(&copies) {
        let words = rig.read_words(&target.binding()).unwrap();
        assert_eq!(words, [10 * round + 1; 64]);
    }
}

#[test]
fn host_bytes_behind_a_command_are_staged_up_to_a_bound() {
    let rig = Rig::late();
    let [large, small] = [rig.alloc(1 << 18, "large"), rig.alloc(64, "small")];
    let fill = rig.fill("fill", 1);
    rig.prove(&fill, &[Access::Write]);
    let before = rig.device.counters().submissions;
    rig.launch(&fill, &[(&small, Access::Write)]);
    rig.write(&large.binding(), &vec![2; 1 << 18]);
    rig.write(&large.binding(), &vec![3; 1 << 18]);
    let words = rig.read_words(&large.binding()).unwrap();
    assert!(words.iter().all(|word| *word == 3));
    assert_eq!(rig.device.counters().submissions, before + 2);
}

#[test]
fn a_large_batch_is_cut() {
    let rig = Rig::late();
    let a = rig.alloc(64, "a");
    rig.settle();
    let before = rig.device.counters().submissions;
    for round in 0..900 {
        rig.write(&a.binding(), &[round; 64]);
    }
    rig.turn();
    assert_eq!(rig.device.counters().submissions, before + 4);
    assert_eq!(rig.read_words(&a.binding()).unwrap(), [899; 64]);
}
