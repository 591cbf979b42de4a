//! The device goes at every point at which something waits. Oracle: everything ends; bytes are returned only if the
//! loss was not yet known, and are then the right ones; every refusal names the loss; nothing escapes.

use std::cell::Cell;
use std::future::Future;

use futures::future::{join, join3};
use js_sys::Promise;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::wasm_bindgen_test;
use wellwritten_device::Access;

use crate::in_browser::open;
use crate::scenarios::stage::{DUE, Stage, bytes};
use crate::witness;

/// As many microtasks as a read, or a window, goes through before it waits for the GPU, and some more.
const MICROTASKS: u32 = 24;
/// Milliseconds, which lie between the answers of the GPU.
const DELAYS: [u32; 4] = [0, 1, 2, 4];

#[derive(Clone, Copy, Debug)]
enum Moment {
    Microtasks(u32),
    Milliseconds(u32),
}

impl Moment {
    async fn comes(self) {
        match self {
            Self::Microtasks(count) => {
                for _ in 0..count {
                    let turn = JsFuture::from(Promise::resolve(&JsValue::UNDEFINED));
                    turn.await.expect("it is resolved");
                }
            }
            Self::Milliseconds(delay) => gloo_timers::future::TimeoutFuture::new(delay).await,
        }
    }
}

/// By our own call, or behind the program's back.
fn lose(stage: &Stage, is_announced: bool) {
    if is_announced {
        stage.device.lose();
    } else {
        witness::destroy_the_real_device();
    }
}

/// Runs `operation`, which says whether it was refused, with a loss at every moment.
async fn at_every_moment<F: Future<Output = Result<(), String>>>(operation: impl Fn(Stage) -> F) {
    let stage = open().await;
    let [succeeded, refused] = [Cell::new(0), Cell::new(0)];
    let moments = (0..MICROTASKS)
        .map(Moment::Microtasks)
        .chain(DELAYS.map(Moment::Milliseconds));
    for (moment, is_announced) in moments.flat_map(|moment| [(moment, true), (moment, false)]) {
        let loss = async {
            moment.comes().await;
            lose(&stage, is_announced);
        };
        let (outcome, ()) = join(operation(stage.clone()), loss).await;
        match outcome {
            Ok(()) => succeeded.set(succeeded.get() + 1),
            Err(refusal) => {
                assert!(
                    refusal.contains("lost") || refusal.contains("recorded on device generation"),
                    "{moment:?}, announced: {is_announced}: {refusal}"
                );
                refused.set(refused.get() + 1);
            }
        }
        let complaints = witness::complaints().await;
        assert_eq!(complaints, "", "{moment:?}, announced: {is_announced}");
        stage.device.recover().await.unwrap();
    }
    assert!(refused.get() > 10, "{succeeded:?} {refused:?}");
    stage.device.close();
}

#[wasm_bindgen_test]
async fn a_loss_at_every_await_point_of_allocating_launching_and_reading() {
    at_every_moment(|stage| async move {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let device = &stage.device;
        let a = device.alloc(256, "a").map_err(|error| text(&error))?;
        let fill = stage.fill("fill");
        stage
            .try_launch(&fill, &[(&a, Access::Write)])
            .map_err(|error| text(&error))?;
        let source = [a.binding()];
        let (read, (), verified) = join3(
            device.read(&source[0]),
            device.settled(),
            device.verify(&source),
        )
        .await;
        let read = read.map_err(|error| text(&error))?;
        assert_eq!(read, bytes(&[DUE; 64]));
        verified.map_err(|error| text(&error))
    })
    .await;
}

#[wasm_bindgen_test]
async fn a_loss_at_every_await_point_of_a_window() {
    at_every_moment(|stage| async move {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let device = &stage.device;
        let a = device.alloc(256, "a").map_err(|error| text(&error))?;
        let fill = stage.fill("fill");
        let window = device.window("window").map_err(|error| text(&error))?;
        stage
            .try_launch(&fill, &[(&a, Access::Write)])
            .map_err(|error| text(&error))?;
        let graph = window.seal().await.map_err(|error| text(&error))?;
        graph.replay().map_err(|error| text(&error))?;
        let read = device.read(&a.binding()).await;
        let read = read.map_err(|error| text(&error))?;
        assert_eq!(read, bytes(&[DUE; 64]));
        Ok(())
    })
    .await;
}

/// The device that a recovery is about to get goes before it is here, or right after.
#[wasm_bindgen_test]
async fn a_loss_at_every_await_point_of_a_recovery() {
    let stage = open().await;
    let moments = (0..MICROTASKS)
        .step_by(4)
        .map(Moment::Microtasks)
        .chain([0, 1, 2, 4, 8, 16].map(Moment::Milliseconds));
    for (moment, is_announced) in moments.flat_map(|moment| [(moment, true), (moment, false)]) {
        stage.device.lose();
        let generation = stage.device.generation();
        let loss = async {
            moment.comes().await;
            lose(&stage, is_announced);
        };
        let (recovered, ()) = join(stage.device.recover(), loss).await;
        recovered.unwrap();
        assert!(stage.device.generation() > generation);
        assert_eq!(witness::complaints().await, "", "{moment:?}");
        stage.device.recover().await.unwrap();
        let a = stage.alloc(64, "a");
        stage.write(&a, 5);
        stage.holds(&a, 5).await;
    }
    stage.device.close();
}
