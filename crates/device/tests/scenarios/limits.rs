//! What is over a limit is refused before it is encoded. Oracle: the refusal has the limit, the request and the grant
//! as numbers; counters and bytes are as they were.

use wellwritten_device::{Access, Binding, DeviceError, LimitName};

use super::stage::Stage;

#[track_caller]
fn is_refused(answer: Result<(), DeviceError>, limit: LimitName, requested: u64, granted: u64) {
    match answer {
        Err(DeviceError::Limit {
            limit: said,
            requested: asked,
            granted: has,
            ..
        }) => assert_eq!((said, asked, has), (limit, requested, granted)),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn workgroups_over_the_limit(stage: Stage) {
    let [a, ..] = stage.recycled().await;
    let kernel = stage.fill("good");
    let before = stage.device.counters();
    let granted = stage.device.limits().max_compute_workgroups_per_dimension;
    let over = granted + 1;
    for workgroups in [[over, 1, 1], [1, over, 1], [1, 1, over], [u32::MAX, 1, 1]] {
        let bindings = [Binding::new(a.binding(), Access::Write)];
        is_refused(
            stage.device.launch(&kernel, &bindings, workgroups),
            LimitName::MaxComputeWorkgroupsPerDimension,
            workgroups.into_iter().max().unwrap().into(),
            granted.into(),
        );
    }
    assert_eq!(stage.device.counters(), before);
    stage.holds(&a, 0).await;
}

pub(crate) async fn more_bindings_than_the_limit(stage: Stage) {
    let granted = stage.device.limits().max_storage_buffers_per_shader_stage;
    let buffers: Vec<_> = (0..=granted).map(|_| stage.alloc(64, "many")).collect();
    let bindings: Vec<_> = buffers.iter().map(|one| (one, Access::Write)).collect();
    stage.device.settled().await;
    let before = stage.device.counters();
    is_refused(
        stage.try_launch(&stage.fill("good"), &bindings),
        LimitName::MaxStorageBuffersPerShaderStage,
        u64::from(granted) + 1,
        granted.into(),
    );
    assert_eq!(stage.device.counters(), before);
    stage.holds(&buffers[0], 0).await;
}

pub(crate) async fn a_binding_larger_than_the_limit(stage: Stage) {
    let granted = stage.device.limits().max_storage_buffer_binding_size;
    let large = stage.device.alloc(granted + 4, "large").unwrap();
    let small = stage.alloc(64, "small");
    let before = stage.device.counters();
    is_refused(
        stage.try_launch(&stage.fill("good"), &[(&large, Access::Write)]),
        LimitName::MaxStorageBufferBindingSize,
        granted + 4,
        granted,
    );
    assert_eq!(stage.device.counters(), before);
    stage.holds(&small, 0).await;
}

pub(crate) async fn a_buffer_larger_than_the_limit(stage: Stage) {
    let granted = stage.device.limits().max_buffer_size;
    for requested in [granted + 4, 1 << 31, 1 << 32, (1 << 32) + 4, u64::MAX - 3] {
        let answer = stage.device.alloc(requested, "large").map(drop);
        is_refused(answer, LimitName::MaxBufferSize, requested, granted);
    }
    let small = stage.alloc(64, "small");
    stage.holds(&small, 0).await;
}
