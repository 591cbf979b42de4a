//! The public report: three launches into three recycled buffers, the middle one broken, and a read
//! returned what the recycled buffer held. Oracle: every read returns what its own launch wrote, or
//! names the broken shader.

use crate::rig::{BOTH, Rig, Under};
use wellwritten_device::{Access, GuardedBuffer, TaintState};

const OLD: u32 = 512;
const DUE: u32 = 2048;

/// Three buffers whose pages held a plausible old value.
fn recycled(rig: &Rig) -> [GuardedBuffer; 3] {
    let old = ["a", "b", "c"].map(|label| rig.alloc(64, label));
    for buffer in &old {
        rig.write(&buffer.binding(), &[OLD; 64]);
    }
    for buffer in &old {
        assert_eq!(rig.read_words(&buffer.binding()).unwrap(), [OLD; 64]);
    }
    drop(old);
    let new = ["first", "second", "third"].map(|label| rig.alloc(64, label));
    if rig.device.backend().kind == wellwritten_device::BackendKind::Webgpu {
        assert_eq!(rig.control().pages_created(), 3, "the pages are used again");
    }
    new
}

#[test]
fn a_dispatch_that_turns_out_invalid_late_drops_its_batch_and_no_read_is_stale() {
    let rig = Rig::late();
    let [first, second, third] = recycled(&rig);
    let good = rig.fill("good", DUE);
    let bad = rig.fill("turns bad", DUE);
    rig.prove(&good, &[Access::Write]);
    rig.prove(&bad, &[Access::Write]);
    rig.control().fail_dispatch("turns bad");

    let before = rig.control().submitted().len();
    rig.launch(&good, &[(&first, Access::Write)]);
    rig.launch(&bad, &[(&second, Access::Write)]);
    rig.launch(&good, &[(&third, Access::Write)]);
    rig.turn();
    let submitted = rig.control().submitted();
    assert_eq!(
        submitted.len(),
        before + 1,
        "proven kernels share a submission"
    );
    assert!(
        !submitted[before].applied,
        "one invalid dispatch drops it all"
    );

    for buffer in [&first, &second, &third] {
        let refusal = rig.refusal(&buffer.binding());
        assert!(
            refusal.contains("the dispatch of turns bad is invalid"),
            "{refusal}"
        );
        assert!(refusal.contains("kernel good"), "{refusal}");
    }
    // What the dropped submission did not touch is unharmed, and what it spoiled can be rewritten.
    for buffer in [&first, &second, &third] {
        rig.launch(&good, &[(buffer, Access::Write)]);
        assert_eq!(rig.read_words(&buffer.binding()).unwrap(), [DUE; 64]);
    }
}

#[test]
fn a_recycled_buffer_reads_as_zero_and_the_zeroing_itself_can_fail() {
    for under in BOTH {
        let rig = Rig::new(under);
        for buffer in recycled(&rig) {
            assert_eq!(rig.read_words(&buffer.binding()).unwrap(), [0; 64]);
        }
    }
    let rig = Rig::late();
    let bad = rig.fill("turns bad", DUE);
    rig.prove(&bad, &[Access::Write]);
    let [first, second, third] = recycled(&rig);
    rig.control().fail_dispatch("turns bad");
    rig.launch(&bad, &[(&second, Access::Write)]);
    // The fills of all three were in the submission that was dropped.
    for buffer in [&first, &second, &third] {
        let refusal = rig.refusal(&buffer.binding());
        assert!(
            refusal.contains("the dispatch of turns bad is invalid"),
            "{refusal}"
        );
    }
}

#[test]
fn old_bytes_are_pending_or_failed_but_never_trusted_while_a_launch_is_undecided() {
    let rig = Rig::new(Under::Late);
    let [first, ..] = recycled(&rig);
    rig.settle();
    let bad = rig.broken("diffuse");
    rig.launch(&bad, &[(&first, Access::Write)]);
    let state = |rig: &Rig| {
        let spans = rig.device.taint(&first.binding()).unwrap();
        assert_eq!(spans.len(), 1);
        spans[0].state
    };
    assert_eq!(state(&rig), TaintState::Pending);
    rig.settle();
    assert_eq!(state(&rig), TaintState::Failed);
}
