//! A failure that arrives late reaches everything that was computed from it, under its own name.

use crate::rig::{BOTH, Rig};
use wellwritten_device::fake::Question;
use wellwritten_device::{Access, ReadError, TaintState, UnwrittenReport};

fn report(rig: &Rig, source: &wellwritten_device::BufferBinding) -> UnwrittenReport {
    match rig.read(source) {
        Err(ReadError::Unwritten(report)) => *report,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_chain_of_launches_names_its_root_and_every_step() {
    for under in BOTH {
        let rig = Rig::new(under);
        let [a, b, c] = ["a", "b", "c"].map(|label| rig.alloc(64, label));
        let bad = rig.broken("diffuse");
        let (second, third) = (rig.increment("second"), rig.increment("third"));
        rig.launch(&bad, &[(&a, Access::Write)]);
        rig.launch(&second, &[(&a, Access::Read), (&b, Access::Write)]);
        rig.launch(&third, &[(&b, Access::Read), (&c, Access::Write)]);

        let report = report(&rig, &c.binding());
        assert_eq!(report.failures.len(), 1, "{report}");
        let failure = &report.failures[0];
        assert_eq!(failure.work, "kernel diffuse");
        assert!(failure.message.contains("line 3, column 5"), "{report}");
        let path = report.path(&report.ranges[0]).into_iter();
        let path: Vec<&str> = path.map(|step| step.work.as_str()).collect();
        assert_eq!(path, ["kernel second", "kernel third"]);
        assert_eq!(rig.device.failures().failures.len(), 1);
    }
}

#[test]
fn a_launch_over_known_bad_bytes_is_skipped_and_not_encoded() {
    let rig = Rig::late();
    let [a, b] = ["a", "b"].map(|label| rig.alloc(64, label));
    let copy = rig.increment("copy");
    rig.prove(&copy, &[Access::Read, Access::Write]);
    rig.launch(&rig.broken("diffuse"), &[(&a, Access::Write)]);
    rig.settle();

    let (encoded, counted) = (rig.control().submitted().len(), rig.device.counters());
    rig.launch(&copy, &[(&a, Access::Read), (&b, Access::Write)]);
    rig.settle();
    assert_eq!(rig.control().submitted().len(), encoded);
    let counters = rig.device.counters();
    assert_eq!(counters.submissions, counted.submissions);
    assert_eq!(counters.launches, counted.launches + 1);
    assert_eq!(counters.skipped_units, counted.skipped_units + 1);
    let spans = rig.device.taint(&b.binding()).unwrap();
    assert_eq!(spans[0].state, TaintState::Skipped);
    assert!(rig.refusal(&b.binding()).contains("diffuse"));

    // A launch that only overwrites depends on nothing and runs.
    let good = rig.fill("good", 9);
    rig.launch(&good, &[(&a, Access::Write)]);
    rig.launch(&copy, &[(&a, Access::Read), (&b, Access::Write)]);
    assert_eq!(rig.read_words(&b.binding()).unwrap(), [10; 64]);
}

#[test]
fn verdicts_in_reverse_order_give_the_same_answer() {
    for reverse in [false, true] {
        let rig = Rig::late();
        let [a, b, c] = ["a", "b", "c"].map(|label| rig.alloc(64, label));
        rig.settle();
        let (second, third) = (rig.increment("second"), rig.increment("third"));
        rig.launch(&rig.broken("diffuse"), &[(&a, Access::Write)]);
        rig.launch(&second, &[(&a, Access::Read), (&b, Access::Write)]);
        rig.launch(&third, &[(&b, Access::Read), (&c, Access::Write)]);
        assert_eq!(rig.control().held(), [Question::Submission; 3]);
        while !rig.control().held().is_empty() {
            let last = rig.control().held().len() - 1;
            rig.control().deliver(if reverse { last } else { 0 });
            rig.turn();
            // Clean verdicts of the later two do not make their bytes trusted.
            let state = rig.device.taint(&c.binding()).unwrap()[0].state;
            assert_ne!(state, TaintState::Trusted);
        }
        let report = report(&rig, &c.binding());
        assert_eq!(
            report.failures[0].work, "kernel diffuse",
            "reverse: {reverse}"
        );
        assert_eq!(report.path(&report.ranges[0]).len(), 2);
    }
}

#[test]
fn a_failed_unit_claims_only_the_bytes_it_still_owns() {
    let rig = Rig::late();
    let a = rig.alloc(64, "a");
    rig.settle();
    rig.launch(&rig.broken("diffuse"), &[(&a, Access::Write)]);
    rig.write(&a.slice(0, 128).unwrap(), &[3; 32]);
    assert_eq!(rig.read_words(&a.slice(0, 128).unwrap()).unwrap(), [3; 32]);
    let report = report(&rig, &a.binding());
    assert_eq!(report.ranges.len(), 1);
    assert_eq!((report.ranges[0].start, report.ranges[0].end), (128, 256));
}
