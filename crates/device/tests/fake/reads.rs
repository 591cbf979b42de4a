//! What a read returns, and when. Oracle: the bytes as they were when the read began, or a reason.

use crate::rig::{BOTH, Rig, bytes, words};
use wellwritten_device::fake::Question;
use wellwritten_device::{Access, ReadError};

#[test]
fn a_read_waits_for_what_its_bytes_are_pending_on() {
    let rig = Rig::late();
    let a = rig.alloc(64, "a");
    rig.settle();
    rig.write(&a.binding(), &[6; 64]);
    let read = rig.start_read(&a.binding());
    assert_eq!(rig.control().held(), [Question::Submission, Question::Read]);
    rig.control().deliver_first(Question::Read);
    rig.turn();
    assert!(
        read.borrow().is_none(),
        "the bytes are here, the verdict is not"
    );
    rig.control().deliver_first(Question::Submission);
    rig.turn();
    assert_eq!(read.take().unwrap().unwrap(), bytes(&[6; 64]));
    assert_eq!(rig.device.counters().bytes_read, 256);
}

#[test]
fn a_refusal_that_is_certain_does_not_wait_for_the_copy() {
    let rig = Rig::late();
    let a = rig.alloc(64, "a");
    rig.settle();
    rig.launch(&rig.broken("diffuse"), &[(&a, Access::Write)]);
    let read = rig.start_read(&a.binding());
    rig.control().deliver_first(Question::Submission);
    rig.turn();
    let refusal = read.take().expect("certain").unwrap_err();
    assert!(matches!(refusal, ReadError::Unwritten(_)));
    rig.settle();
}

#[test]
fn a_copy_that_fails_says_so_and_the_next_one_works() {
    let rig = Rig::late();
    let a = rig.alloc(64, "a");
    rig.write(&a.binding(), &[6; 64]);
    rig.control().fail_read();
    match rig.read(&a.binding()) {
        Err(ReadError::Transfer { buffer, reason }) => {
            assert_eq!(buffer, a.id());
            assert_eq!(reason, "the copy failed");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(rig.read_words(&a.binding()).unwrap(), [6; 64]);
}

#[test]
fn a_read_of_nothing_returns_nothing() {
    for under in BOTH {
        let rig = Rig::new(under);
        let a = rig.alloc(64, "a");
        assert_eq!(rig.read(&a.slice(8, 8).unwrap()).unwrap(), []);
    }
}

#[test]
fn a_read_that_is_dropped_leaves_the_others_alone() {
    let rig = Rig::late();
    let a = rig.alloc(64, "a");
    rig.write(&a.binding(), &[6; 64]);
    let source = a.binding();
    let mut dropped = Box::pin(rig.device.read(&source));
    assert!(futures::FutureExt::now_or_never(&mut dropped).is_none());
    let kept = rig.start_read(&a.binding());
    drop(dropped);
    rig.settle();
    assert_eq!(kept.take().unwrap().unwrap(), bytes(&[6; 64]));
}

#[test]
fn settled_and_verify_wait_for_verdicts_without_copying() {
    let rig = Rig::late();
    let [a, b] = ["a", "b"].map(|label| rig.alloc(64, label));
    rig.settle();
    rig.write(&a.binding(), &[6; 64]);
    rig.launch(&rig.broken("diffuse"), &[(&b, Access::Write)]);
    let device = rig.device.clone();
    let settled = rig.start(async move { device.settled().await });
    let device = rig.device.clone();
    let sources = [a.binding(), b.binding()];
    let verified = rig.start(async move { device.verify(&sources).await });
    assert!(settled.borrow().is_none());
    assert_eq!(rig.control().held(), [Question::Submission; 2]);
    rig.settle();
    assert!(settled.take().is_some());
    let refusal = verified.take().unwrap().unwrap_err();
    assert!(refusal.to_string().contains("diffuse"), "{refusal}");
    // Work asked for later is not waited for.
    let device = rig.device.clone();
    let again = rig.start(async move { device.settled().await });
    assert!(again.take().is_some());
}

#[test]
fn a_copy_shares_a_submission_only_with_work_that_its_bytes_wait_for() {
    // A copy behind work in one command buffer is dropped with it, and then the staging buffer holds anything.
    let rig = Rig::late();
    let [sound, spoiled] = ["sound", "spoiled"].map(|label| rig.alloc(64, label));
    let fill = rig.fill("fill", 7);
    rig.prove(&fill, &[Access::Write]);
    rig.write(&sound.binding(), &[1; 64]);
    rig.settle();
    rig.control().fail_dispatch("fill");
    rig.launch(&fill, &[(&spoiled, Access::Write)]);
    let submissions = rig.device.counters().submissions;
    // At once: the background would submit the launch first.
    let of_sound = rig.device.read(&sound.binding());
    assert_eq!(rig.device.counters().submissions, submissions + 1);
    let of_spoiled = rig.device.read(&spoiled.binding());
    let [of_sound, of_spoiled] = [rig.start(of_sound), rig.start(of_spoiled)];
    rig.settle();
    let read = of_sound.take().expect("it has ended");
    assert_eq!(words(&read.expect("its bytes are sound")), [1; 64]);
    let refused = of_spoiled.take().expect("it has ended");
    assert!(refused.is_err(), "{refused:?}");
    // Bytes that wait for the submission go with it, and are right when it is clean.
    rig.launch(&fill, &[(&spoiled, Access::Write)]);
    let of_spoiled = rig.start(rig.device.read(&spoiled.binding()));
    rig.settle();
    let read = of_spoiled.take().expect("it has ended");
    assert_eq!(words(&read.expect("its bytes are sound")), [7; 64]);
}
