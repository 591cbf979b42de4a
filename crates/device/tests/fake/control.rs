//! The fake itself. Oracle: what its documentation promises.

use std::cell::RefCell;
use std::rc::Rc;

use futures::executor::LocalPool;
use futures::task::LocalSpawnExt as _;
use wellwritten_device::fake::{Delivery, FakeControl, FakeDevice, Question};
use wellwritten_device::{
    Access, Binding, DeviceError, GuardedDevice, HostLaunch, KernelSource, Spawner,
};

use crate::rig::{Rig, bytes};

fn open(pool: &LocalPool) -> (GuardedDevice, FakeControl) {
    let spawner = pool.spawner();
    FakeDevice::open(Spawner::new(move |future| {
        spawner.spawn_local(future).expect("the pool is there");
    }))
}

/// In which order eight reads that overlap are answered.
fn order(plan: Delivery) -> Vec<u32> {
    let mut pool = LocalPool::new();
    let (device, control) = open(&pool);
    let a = device.alloc(256, "a").unwrap();
    let answered = Rc::new(RefCell::new(Vec::new()));
    for round in 0..8 {
        device.write(&a.binding(), &bytes(&[round; 64])).unwrap();
        let (read, put) = (device.read(&a.binding()), Rc::clone(&answered));
        let reading = async move {
            assert_eq!(read.await.unwrap(), bytes(&[round; 64]));
            put.borrow_mut().push(round);
        };
        pool.spawner().spawn_local(reading).unwrap();
    }
    pool.run_until_stalled();
    assert!(answered.borrow().is_empty(), "everything is held back");
    control.deliver_by(plan);
    pool.run_until_stalled();
    assert!(control.held().is_empty());
    answered.take()
}

#[test]
fn a_plan_delivers_by_itself_in_its_order_and_a_seed_gives_the_same_again() {
    assert_eq!(order(Delivery::OldestFirst), [0, 1, 2, 3, 4, 5, 6, 7]);
    let seeds: Vec<_> = (0..4).map(|seed| Delivery::Random { seed }).collect();
    let orders: Vec<_> = seeds.iter().map(|plan| order(*plan)).collect();
    for (plan, first) in seeds.iter().zip(&orders) {
        assert_eq!(order(*plan), *first);
        let mut sorted = first.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4, 5, 6, 7], "each is answered once");
    }
    assert!(orders.iter().any(|order| *order != orders[0]));
}

#[test]
fn answers_are_held_back_again_when_asked() {
    let mut pool = LocalPool::new();
    let (device, control) = open(&pool);
    control.deliver_by(Delivery::OldestFirst);
    let a = device.alloc(256, "a").unwrap();
    pool.run_until_stalled();
    assert!(control.held().is_empty());
    control.hold_answers();
    device.write(&a.binding(), &[1; 256]).unwrap();
    pool.run_until_stalled();
    assert_eq!(control.held(), [Question::Submission]);
    let before = control.delivered();
    assert_eq!(control.deliver(1), None);
    assert_eq!(control.deliver_first(Question::Read), None);
    assert_eq!(control.deliver(0), Some(Question::Submission));
    assert_eq!(control.delivered(), before + 1);
}

#[test]
fn a_device_whose_control_and_answers_are_gone_waits_and_does_not_panic() {
    let mut pool = LocalPool::new();
    let (device, control) = open(&pool);
    let a = device.alloc(256, "a").unwrap();
    let read = device.read(&a.binding());
    pool.spawner()
        .spawn_local(async move { drop(read.await) })
        .unwrap();
    drop((device, control, a));
    pool.run_until_stalled();
}

#[test]
fn a_kernel_without_a_host_function_is_refused_by_name() {
    let rig = Rig::late();
    let a = rig.alloc(64, "a");
    let kernel = rig.device.kernel(KernelSource::wgsl("gpu only", "..."));
    let bindings = [Binding::new(a.binding(), Access::Write)];
    match rig.device.launch(&kernel, &bindings, [1, 1, 1]) {
        Err(DeviceError::KernelForm {
            kernel,
            missing: "host function",
            backend: "fake",
        }) => assert_eq!(kernel, "gpu only"),
        other => panic!("{other:?}"),
    }
}

/// None can on a GPU, so its submission fails rather than the test.
#[test]
fn a_host_function_that_fails_fails_its_submission() {
    let rig = Rig::late();
    let a = rig.alloc(64, "a");
    let fails = Rc::new(|_: &mut HostLaunch<'_>| Err("gave up".to_owned().into()));
    let kernel = rig.device.kernel(KernelSource::host("fails", fails));
    rig.launch(&kernel, &[(&a, Access::Write)]);
    let refusal = rig.refusal(&a.binding());
    assert!(refusal.contains("kernel `fails` failed"), "{refusal}");
    assert!(!rig.control().submitted().last().unwrap().applied);
}

#[test]
fn generations_are_counted_and_those_there_never_were_announce_nothing() {
    let rig = Rig::late();
    rig.control().announce_loss_of(0, "never");
    rig.control().announce_loss_of(2, "never");
    rig.turn();
    assert_eq!(rig.device.lost(), None);
    rig.control().announce_loss_of(1, "by its number");
    rig.turn();
    assert_eq!(rig.device.lost().as_deref(), Some("by its number"));
    rig.recover().unwrap();
    assert_eq!(rig.control().generations(), 2);
    assert_eq!(rig.control().pages_created(), 0, "of the present one");
}
