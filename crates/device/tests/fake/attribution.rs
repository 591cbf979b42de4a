//! An error scope may deliver any one of its errors, and the others are lost. Oracle: whichever it delivers, no byte
//! of the submission is returned, every report names all work of it, and where there is a first cause, that.

use wellwritten_device::Access;
use wellwritten_device::fake::{ErrorChoice, FailureKind};

use crate::rig::Rig;

const CHOICES: [ErrorChoice; 4] = [
    ErrorChoice::First,
    ErrorChoice::Last,
    ErrorChoice::Nth(1),
    ErrorChoice::Nth(100),
];

#[test]
fn whichever_error_is_delivered_every_unit_of_the_submission_is_refused() {
    for (choice, told) in CHOICES.into_iter().zip([
        "the dispatch of x is invalid",
        "the dispatch of z is invalid",
        "the dispatch of y is invalid",
        "the dispatch of z is invalid",
    ]) {
        let rig = Rig::late();
        let kernels = ["x", "good", "y", "z"].map(|label| rig.fill(label, 7));
        for kernel in &kernels {
            rig.prove(kernel, &[Access::Write]);
        }
        let buffers = ["a", "b", "c", "d"].map(|label| rig.alloc(64, label));
        rig.settle();
        rig.control().choose_error(choice);
        for label in ["x", "y", "z"] {
            rig.control().fail_dispatch(label);
        }
        let before = rig.control().submitted().len();
        for (kernel, buffer) in kernels.iter().zip(&buffers) {
            rig.launch(kernel, &[(buffer, Access::Write)]);
        }
        rig.turn();
        assert_eq!(rig.control().submitted().len(), before + 1);
        for buffer in &buffers {
            let refusal = rig.refusal(&buffer.binding());
            for part in [told, "kernel x", "kernel good", "kernel y", "kernel z"] {
                assert!(
                    refusal.contains(part),
                    "{choice:?}: no `{part}` in {refusal}"
                );
            }
        }
        // Two of the three were not told; nothing is believed that was not proven since.
        for (kernel, buffer) in kernels.iter().zip(&buffers) {
            rig.launch(kernel, &[(buffer, Access::Write)]);
            assert_eq!(rig.read_words(&buffer.binding()).unwrap(), [7; 64]);
        }
    }
}

#[test]
fn a_shader_that_does_not_compile_is_the_cause_whichever_error_is_delivered() {
    for choice in CHOICES {
        let rig = Rig::late();
        let a = rig.alloc(64, "a");
        rig.settle();
        rig.control().choose_error(choice);
        rig.control()
            .fail_submission(FailureKind::OutOfMemory, "no memory for commands");
        rig.launch(&rig.broken("diffuse"), &[(&a, Access::Write)]);
        let refusal = rig.refusal(&a.binding());
        let cause = "shader `diffuse` failed to compile: line 3, column 5";
        assert!(refusal.contains(cause), "{choice:?}: {refusal}");
    }
}

#[test]
fn a_buffer_that_was_never_created_is_the_cause_whichever_error_is_delivered() {
    for choice in CHOICES {
        let rig = Rig::late();
        let increment = rig.increment("increment");
        rig.prove(&increment, &[Access::Read, Access::Write]);
        let target = rig.alloc(64, "target");
        rig.settle();
        rig.control().choose_error(choice);
        rig.control().fail_creation_after(0);
        let doomed = rig.alloc(128, "doomed");
        rig.control().fail_dispatch("increment");
        rig.launch(
            &increment,
            &[(&doomed, Access::Read), (&target, Access::Write)],
        );
        let refusal = rig.refusal(&target.binding());
        let cause = "buffer `doomed`: no memory for 512 bytes";
        assert!(refusal.contains(cause), "{choice:?}: {refusal}");
    }
}

#[test]
fn errors_of_every_kind_keep_their_kind_and_words() {
    for kind in [
        FailureKind::Validation,
        FailureKind::OutOfMemory,
        FailureKind::Internal,
    ] {
        let rig = Rig::late();
        let a = rig.alloc(64, "a");
        rig.settle();
        rig.control().fail_submission(kind, "as the test asked");
        rig.write(&a.binding(), &[1; 64]);
        let refusal = rig.refusal(&a.binding());
        assert!(refusal.contains("as the test asked"), "{refusal}");
        let failures = rig.device.failures().failures;
        assert_eq!(failures.len(), 1);
        assert_eq!(failures[0].kind, kind);
    }
}
