//! A buffer whose creation fails late. Oracle: every read downstream names the allocation.

use crate::rig::Rig;
use wellwritten_device::fake::Question;
use wellwritten_device::{Access, DeviceError, DeviceLimits};

const SAID: &str = "buffer `doomed`: no memory for 256 bytes";

#[test]
fn a_launch_that_also_writes_elsewhere_names_the_allocation_there_too() {
    let rig = Rig::late();
    let other = rig.alloc(64, "other");
    rig.settle();
    rig.control().fail_creation_after(0);
    let doomed = rig.alloc(64, "doomed");
    // A host write overwrites the claim of the allocation; what follows must name it all the same.
    rig.write(&doomed.binding(), &[1; 64]);
    let copy = rig.increment("copy");
    rig.launch(&copy, &[(&doomed, Access::Read), (&other, Access::Write)]);
    // The creation's verdict comes last.
    rig.control().deliver_first(Question::Submission);
    rig.control().deliver_first(Question::Submission);
    rig.turn();
    let refusal = rig.refusal(&other.binding());
    assert!(refusal.contains(SAID), "{refusal}");
}

#[test]
fn a_page_that_never_was_is_not_used_again() {
    for freed_before_the_verdict in [false, true] {
        let rig = Rig::late();
        rig.control().fail_creation_after(0);
        let doomed = rig.alloc(64, "doomed");
        if freed_before_the_verdict {
            drop(doomed);
            rig.settle();
        } else {
            rig.settle();
            drop(doomed);
        }
        let next = rig.alloc(64, "next");
        assert_eq!(rig.control().pages_created(), 2);
        assert_eq!(
            rig.control().pages(),
            1,
            "the page that never was is given back"
        );
        rig.write(&next.binding(), &[4; 64]);
        assert_eq!(rig.read_words(&next.binding()).unwrap(), [4; 64]);
    }
}

#[test]
fn a_page_that_never_was_spoils_who_took_it_over_before_the_verdict() {
    let rig = Rig::late();
    rig.control().fail_creation_after(0);
    drop(rig.alloc(64, "doomed"));
    let heir = rig.alloc(64, "heir");
    assert_eq!(rig.control().pages_created(), 1, "the page is used again");
    rig.write(&heir.binding(), &[4; 64]);
    let refusal = rig.refusal(&heir.binding());
    assert!(refusal.contains("no memory for 256 bytes"), "{refusal}");
}

#[test]
fn failures_go_with_the_last_buffer_that_carries_them() {
    let rig = Rig::late();
    rig.control().fail_creation_after(0);
    let doomed = rig.alloc(64, "doomed");
    rig.settle();
    assert!(!rig.device.failures().failures.is_empty());
    drop(doomed);
    drop(rig.alloc(64, "sweeps"));
    rig.settle();
    drop(rig.alloc(64, "sweeps again"));
    assert_eq!(rig.device.failures().failures.len(), 0);
}

#[test]
fn the_largest_buffer_is_not_rounded_over_the_limit() {
    let rig = Rig::late();
    // Not a size class of the pool, which would round it up.
    let granted = 1_000_020;
    rig.control().grant(DeviceLimits {
        max_buffer_size: granted,
        ..DeviceLimits::WEBGPU_DEFAULT
    });
    let largest = rig.device.alloc(granted, "largest").unwrap();
    assert_eq!(rig.read(&largest.binding()).unwrap().len() as u64, granted);
    let refused = rig.device.alloc(granted + 4, "too large").unwrap_err();
    assert!(matches!(refused, DeviceError::Limit { requested, .. } if requested == granted + 4));
}
