//! What only the real thing can do wrong, or right.

use std::rc::Rc;

use wasm_bindgen_futures::spawn_local;
use wasm_bindgen_test::wasm_bindgen_test;
use wellwritten_device::{
    Access, DeviceError, DeviceEvent, GuardedDevice, HostKernel, KernelSource, LimitName,
    RequiredLimits, Spawner, WebGpuOptions,
};

use crate::in_browser::{open, play};
use crate::scenarios::stage::{DUE, Stage, bytes, fill, increment};
use crate::witness;

/// A real invalid dispatch: a proven kernel over a binding smaller than its array.
#[wasm_bindgen_test]
async fn a_proven_kernel_whose_binding_is_too_small_drops_its_batch() {
    play(|stage| async move {
        let good = stage.fill("good");
        stage.prove(&good, &[Access::Write]).await;
        let wgsl = fill("fixed").wgsl.expect("it has one");
        let wgsl = wgsl
            .replace("array<u32>;", "array<u32, 128>;")
            .replace("arrayLength(&output)", "128u");
        let fixed = stage.device.kernel(KernelSource::wgsl("fixed", wgsl));
        let large = stage.alloc(128, "large");
        stage.launch(&fixed, &[(&large, Access::Write)]);
        stage.holds(&large, DUE).await;
        let [first, second, third] = stage.recycled().await;
        stage.device.settled().await;
        let before = stage.device.counters().submissions;
        stage.launch(&good, &[(&first, Access::Write)]);
        stage.launch(&fixed, &[(&second, Access::Write)]);
        stage.launch(&good, &[(&third, Access::Write)]);
        let because = [
            "(kernel good, kernel fixed)",
            "WebGPU dropped the submission",
            "fixed",
        ];
        for buffer in [&first, &second, &third] {
            stage.refused(buffer, &because).await;
        }
        assert_eq!(stage.device.counters().submissions, before + 1);
        stage.launch(&good, &[(&second, Access::Write)]);
        stage.holds(&second, DUE).await;
    })
    .await;
}

#[wasm_bindgen_test]
async fn a_device_with_more_than_the_adapter_has_is_refused_by_name() {
    let asked: [(LimitName, RequiredLimits); 2] = [
        (
            LimitName::MaxBufferSize,
            RequiredLimits {
                max_buffer_size: Some(1 << 50),
                ..RequiredLimits::default()
            },
        ),
        (
            LimitName::MaxStorageBuffersPerShaderStage,
            RequiredLimits {
                max_storage_buffers_per_shader_stage: Some(1 << 20),
                ..RequiredLimits::default()
            },
        ),
    ];
    for (wanted, required_limits) in asked {
        let options = WebGpuOptions { required_limits };
        let opened = GuardedDevice::webgpu(options, Spawner::new(spawn_local)).await;
        match opened.map(drop) {
            Err(DeviceError::Limit {
                limit,
                requested,
                granted,
                ..
            }) => {
                assert_eq!(limit, wanted);
                assert!(requested >= 1 << 20 && granted < requested && granted > 0);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[wasm_bindgen_test]
async fn a_device_grants_what_was_asked_for_above_the_default() {
    let required_limits = RequiredLimits {
        max_buffer_size: Some(300_000_000),
        ..RequiredLimits::default()
    };
    let options = WebGpuOptions { required_limits };
    let device = GuardedDevice::webgpu(options, Spawner::new(spawn_local))
        .await
        .expect("this adapter has more than the default");
    assert_eq!(device.limits().max_buffer_size, 300_000_000);
    let large = device.alloc(300_000_000, "large").unwrap();
    let end = large.slice(299_999_996, 300_000_000).unwrap();
    device.write(&end, &[1, 2, 3, 4]).unwrap();
    assert_eq!(device.read(&end).await.unwrap(), [1, 2, 3, 4]);
    device.close();
}

/// A mistake of somebody else who uses the real device.
#[wasm_bindgen_test]
async fn a_real_error_outside_every_scope_is_told() {
    let stage = open().await;
    let a = stage.alloc(64, "a");
    stage.write(&a, 5);
    stage.device.settled().await;
    // Chromium sends nothing on its way before something is submitted.
    witness::script(
        "const device = witness.devices.at(-1);
         device.createBuffer({ size: 5, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.STORAGE });
         device.queue.submit([]);",
    );
    let event = stage
        .heard(|event| matches!(event, DeviceEvent::Uncaptured { .. }))
        .await;
    let DeviceEvent::Uncaptured { message, .. } = event else {
        unreachable!("it was just found")
    };
    assert!(message.contains("outside every scope"), "{message}");
    assert!(message.contains("usage"), "{message}");
    stage.holds(&a, 5).await;
    assert_ne!(witness::complaints().await, "", "the witness heard it too");
    stage.device.close();
}

const SCRAMBLE: &str = "
@group(0) @binding(0) var<storage, read_write> state: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= arrayLength(&state)) { return; }
    var word = state[id.x] * 2654435761u + id.x;
    word = word ^ (word >> 15u);
    state[id.x] = word * 2246822519u;
}";

fn scramble() -> HostKernel {
    Rc::new(|launch| {
        let mut state = launch.take(0)?;
        for (index, word) in (0u32..).zip(&mut state) {
            let mut mixed = word.wrapping_mul(2_654_435_761).wrapping_add(index);
            mixed ^= mixed >> 15;
            *word = mixed.wrapping_mul(2_246_822_519);
        }
        launch.put(0, state)
    })
}

#[wasm_bindgen_test]
async fn the_cpu_backend_gives_the_same_bytes() {
    play(|stage| async move {
        let cpu = GuardedDevice::cpu();
        let scramble = KernelSource::wgsl("scramble", SCRAMBLE).with_host(scramble());
        let (scramble, increment) = (cpu.kernel(scramble), cpu.kernel(increment("increment")));
        for count in [1u32, 63, 64, 65, 1000] {
            let seed: Vec<u32> = (0..count).map(|index| index.wrapping_mul(77)).collect();
            let mut results = Vec::new();
            for device in [stage.device.clone(), cpu.clone()] {
                let on = Stage::new(device, Rc::clone(&stage.forcing), Rc::default());
                let [a, b] = ["a", "b"].map(|label| on.alloc(count, label));
                on.device.write(&a.binding(), &bytes(&seed)).unwrap();
                on.launch(&scramble, &[(&a, Access::ReadWrite)]);
                on.launch(&increment, &[(&a, Access::Read), (&b, Access::Write)]);
                on.launch(&scramble, &[(&b, Access::ReadWrite)]);
                let result = on.read(&b.binding()).await.unwrap();
                assert_ne!(result, bytes(&seed));
                results.push(result);
            }
            assert_eq!(results[0].len(), 4 * count as usize);
            assert_eq!(results[0], results[1], "{count} words");
        }
    })
    .await;
}
