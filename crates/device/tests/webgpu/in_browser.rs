//! Scenarios on the real WebGPU of the browser.

use std::future::Future;
use std::rc::Rc;

use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use wasm_bindgen_futures::spawn_local;
use wellwritten_device::{BackendKind, GuardedDevice, Spawner, WebGpuOptions};

use crate::scenarios::stage::{Forcing, Stage};
use crate::witness;

struct OnWebGpu;

impl Forcing for OnWebGpu {
    fn another(&self) -> LocalBoxFuture<'static, Stage> {
        open().boxed_local()
    }

    fn spoil_next_submission(&self) {
        witness::spoil_next_submission();
    }

    fn fail_creation_after(&self, skipped: u64) {
        witness::fail_creation_after(skipped);
    }

    fn reject_mapping(&self) {
        witness::reject_next_mapping();
    }

    fn report_uncaptured(&self, said: &str) {
        witness::report_uncaptured(said);
    }

    fn lose_behind_its_back(&self) {
        witness::destroy_the_real_device();
    }

    fn refuse_connections(&self, times: u32) {
        witness::refuse_adapters(times);
    }

    fn pauses(&self) -> Vec<u64> {
        witness::pauses()
    }
}

/// A device on the real thing.
pub(crate) async fn open() -> Stage {
    witness::install();
    let device = GuardedDevice::webgpu(WebGpuOptions::default(), Spawner::new(spawn_local))
        .await
        .expect("this browser has a WebGPU adapter");
    assert_eq!(device.backend().kind, BackendKind::Webgpu);
    Stage::new(device, Rc::new(OnWebGpu), Rc::default())
}

/// Plays a scenario, in which nothing may go wrong that it did not ask for.
pub(crate) async fn play<F: Future<Output = ()>>(scenario: impl FnOnce(Stage) -> F) {
    let stage = open().await;
    let device = stage.device.clone();
    scenario(stage).await;
    device.settled().await;
    assert_eq!(witness::complaints().await, "");
    device.close();
}
