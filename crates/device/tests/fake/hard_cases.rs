//! Cases in which a device could be left half-way. Oracle: everything ends, by name, and later work is as good as ever.

use std::rc::Rc;

use futures::FutureExt as _;
use wellwritten_device::{Access, Binding, DeviceError, KernelSource, SealedGraph, WindowError};
use wellwritten_memory::FailureKind;

use crate::rig::{BOTH, Rig, words};

#[test]
fn a_host_kernel_that_panics_fails_its_launch_and_dooms_its_window() {
    for under in BOTH {
        let rig = Rig::new(under);
        let [out, other] = ["out", "other"].map(|label| rig.alloc(64, label));
        let boom = rig.device.kernel(KernelSource::host(
            "boom",
            Rc::new(|_| panic!("it fell over")),
        ));
        let window = rig.device.window("with a panic").unwrap();
        rig.launch(&boom, &[(&out, Access::Write)]);
        let sealed = rig.start(window.seal());
        rig.settle();
        let sealed = sealed.take().expect("it ends");
        assert!(
            matches!(sealed, Err(WindowError::Doomed { .. })),
            "{sealed:?}"
        );
        assert!(rig.refusal(&out.binding()).contains("it fell over"));
        rig.write(&other.binding(), &[1; 64]);
        rig.write(&out.binding(), &[2; 64]);
        assert_eq!(rig.read_words(&out.binding()).unwrap(), [2; 64]);
        assert_eq!(rig.read_words(&other.binding()).unwrap(), [1; 64]);
    }
}

#[test]
fn a_host_kernel_that_calls_its_own_device_fails_and_the_device_goes_on() {
    for under in BOTH {
        let rig = Rig::new(under);
        let out = rig.alloc(64, "out");
        let device = rig.device.clone();
        let calls = rig.device.kernel(KernelSource::host(
            "calls",
            Rc::new(move |_| {
                device.trim();
                Ok(())
            }),
        ));
        rig.launch(&calls, &[(&out, Access::Write)]);
        assert!(rig.refusal(&out.binding()).contains("panicked"));
        rig.write(&out.binding(), &[2; 64]);
        assert_eq!(rig.read_words(&out.binding()).unwrap(), [2; 64]);
    }
}

#[test]
fn an_error_outside_every_scope_spoils_no_buffer_for_good() {
    let rig = Rig::late();
    let fresh = rig.alloc(64, "fresh");
    rig.control()
        .report_uncaptured(FailureKind::Validation, "somebody else's");
    rig.settle();
    rig.write(&fresh.binding(), &[5; 64]);
    assert_eq!(rig.read_words(&fresh.binding()).unwrap(), [5; 64]);
    // One that really was not there still names its creation.
    rig.control().fail_creation_after(0);
    let never = rig.alloc(128, "never");
    rig.control()
        .report_uncaptured(FailureKind::Validation, "somebody else's");
    rig.settle();
    assert!(rig.refusal(&never.binding()).contains("never"));
}

#[test]
fn a_window_does_not_seal_on_a_device_that_is_gone() {
    for under in BOTH {
        for closes in [false, true] {
            let rig = Rig::new(under);
            let buffer = rig.alloc(64, "buffer");
            rig.settle();
            let window = rig.device.window("late").unwrap();
            rig.write(&buffer.binding(), &[1; 64]);
            let sealed = rig.start(window.seal());
            if sealed.borrow().is_some() {
                // The CPU has settled at the call.
                continue;
            }
            if closes {
                rig.device.close();
            } else {
                rig.device.lose();
            }
            rig.settle();
            let sealed = sealed.take().expect("it ends");
            assert!(matches!(sealed, Err(WindowError::Device(_))), "{sealed:?}");
        }
    }
}

#[test]
fn a_kernel_is_compiled_once_for_each_device_it_is_launched_on() {
    let rigs = [Rig::late(), Rig::late()];
    let fill = rigs[0].fill("fill", 3);
    for _ in 0..10 {
        for rig in &rigs {
            let buffer = rig.alloc(64, "buffer");
            rig.launch(&fill, &[(&buffer, Access::Write)]);
            assert_eq!(rig.read_words(&buffer.binding()).unwrap(), [3; 64]);
        }
    }
    for rig in &rigs {
        assert_eq!(rig.control().compiled(), 1);
    }
}

#[test]
fn graphs_in_graphs_are_flat_and_bounded() {
    let rig = Rig::late();
    let buffer = rig.alloc(64, "buffer");
    rig.settle();
    let seal = |work: &dyn Fn()| {
        let window = rig.device.window("nested").unwrap();
        work();
        let sealed = rig.start(window.seal());
        rig.settle();
        sealed.take().expect("it ends")
    };
    let mut graph = seal(&|| rig.write(&buffer.binding(), &[1; 64])).unwrap();
    // As deep as it likes.
    for _ in 0..3000 {
        graph = seal(&|| graph.replay().unwrap()).unwrap();
    }
    assert_eq!(graph.units(), 1);
    // Twice as long each time, until it is too long.
    let too_long = loop {
        match seal(&|| {
            graph.replay().unwrap();
            graph.replay().unwrap();
        }) {
            Ok(longer) => graph = longer,
            Err(error) => break error,
        }
    };
    assert!(
        matches!(too_long, WindowError::TooLong { .. }),
        "{too_long:?}"
    );
    assert_eq!(graph.units(), SealedGraph::MAX_UNITS);
    rig.write(&buffer.binding(), &[9; 64]);
    graph.replay().unwrap();
    assert_eq!(rig.read_words(&buffer.binding()).unwrap(), [1; 64]);
}

#[test]
fn reads_that_are_polled_once_and_dropped_leave_nothing() {
    let rig = Rig::late();
    let buffer = rig.alloc(64, "buffer");
    rig.write(&buffer.binding(), &[1; 64]);
    for _ in 0..10_000 {
        let read = rig.device.read(&buffer.binding());
        assert!(read.now_or_never().is_none(), "its verdict is held back");
    }
    let bindings = [Binding::new(buffer.binding(), Access::Write)];
    rig.device
        .launch(&rig.fill("fill", 2), &bindings, [1, 1, 1])
        .unwrap();
    let read = rig.read(&buffer.binding()).unwrap();
    assert_eq!(words(&read), [2; 64]);
}

#[test]
fn a_mistaken_call_is_refused_whatever_became_of_its_buffers() {
    for exists in [true, false] {
        let rig = Rig::late();
        if !exists {
            rig.control().fail_creation_after(0);
        }
        let [a, b] = ["a", "b"].map(|label| rig.alloc(512, label));
        rig.settle();
        let odd = a.slice(2, 6).unwrap();
        let refused = |outcome: Result<(), DeviceError>| {
            assert!(
                matches!(outcome, Err(DeviceError::Alignment { .. })),
                "exists: {exists}, {outcome:?}"
            );
        };
        refused(rig.device.write(&odd, &[0; 4]));
        refused(rig.device.copy(&odd, &b.slice(0, 4).unwrap()));
        let bindings = [Binding::new(odd, Access::Write)];
        refused(
            rig.device
                .launch(&rig.fill("fill", 1), &bindings, [1, 1, 1]),
        );
        let short = rig.device.write(&a.binding(), &[0; 4]);
        assert!(
            matches!(short, Err(DeviceError::WriteLength { .. })),
            "{short:?}"
        );
    }
}
