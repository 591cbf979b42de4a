//! Bad input is refused before anything is encoded, with the numbers. Oracle: counters, submissions and
//! bytes are as they were.

use std::rc::Rc;

use crate::rig::{BOTH, Rig, Under};
use wellwritten_device::{
    Access, Binding, DeviceError, GuardedBuffer, GuardedDevice, HostKernelError, KernelSource,
    LimitName, ReadError,
};

/// A launch that must be refused without a trace.
fn refused(rig: &Rig, bindings: &[Binding], workgroups: [u32; 3]) -> DeviceError {
    let kernel = rig.fill("refused", 1);
    let (revision, counters) = (rig.device.revision(), rig.device.counters());
    let error = rig
        .device
        .launch(&kernel, bindings, workgroups)
        .expect_err("must be refused");
    assert_eq!(rig.device.revision(), revision);
    assert_eq!(rig.device.counters(), counters);
    error
}

fn write_all(buffer: &GuardedBuffer) -> Binding {
    Binding::new(buffer.binding(), Access::Write)
}

#[test]
fn launches_over_a_limit() {
    for under in BOTH {
        let rig = Rig::new(under);
        let a = rig.alloc(64, "a");
        for (axis, workgroups) in [[65_536, 1, 1], [1, 65_536, 1], [1, 1, 65_536]]
            .into_iter()
            .enumerate()
        {
            match refused(&rig, &[write_all(&a)], workgroups) {
                DeviceError::Limit {
                    what,
                    limit: LimitName::MaxComputeWorkgroupsPerDimension,
                    requested: 65_536,
                    granted: 65_535,
                } => assert!(what.ends_with(["x", "y", "z"][axis]), "{what}"),
                other => panic!("{other}"),
            }
        }
        let many: Vec<_> = (0..9).map(|_| rig.alloc(64, "many")).collect();
        let bindings: Vec<_> = many.iter().map(write_all).collect();
        assert!(matches!(
            refused(&rig, &bindings, [1, 1, 1]),
            DeviceError::Limit {
                limit: LimitName::MaxStorageBuffersPerShaderStage,
                requested: 9,
                granted: 8,
                ..
            }
        ));
    }
}

#[test]
fn a_storage_binding_over_the_limit() {
    let rig = Rig::new(Under::Cpu);
    let limit = rig.device.limits().max_storage_buffer_binding_size;
    let large = rig.device.alloc(limit + 4, "large").unwrap();
    assert!(matches!(
        refused(&rig, &[write_all(&large)], [1, 1, 1]),
        DeviceError::Limit {
            limit: LimitName::MaxStorageBufferBindingSize,
            requested,
            granted,
            ..
        } if requested == limit + 4 && granted == limit
    ));
}

#[test]
fn a_launch_of_no_workgroups_does_not_make_failed_bytes_trusted() {
    for under in BOTH {
        let rig = Rig::new(under);
        let a = rig.alloc(16, "a");
        for workgroups in [[0, 1, 1], [1, 0, 1], [4, 4, 0], [0, 0, 0]] {
            assert!(matches!(
                refused(&rig, &[write_all(&a)], workgroups),
                DeviceError::NoWorkgroups { .. }
            ));
        }
    }
}

#[test]
fn bindings_out_of_alignment_empty_or_conflicting() {
    for under in BOTH {
        let rig = Rig::new(under);
        let a = rig.alloc(256, "a");
        let bind = |start, end, access| Binding::new(a.slice(start, end).unwrap(), access);
        assert!(matches!(
            refused(&rig, &[bind(128, 256, Access::Write)], [1, 1, 1]),
            DeviceError::Alignment {
                value: 128,
                required: 256,
                ..
            }
        ));
        assert!(matches!(
            refused(&rig, &[bind(0, 6, Access::Write)], [1, 1, 1]),
            DeviceError::Alignment {
                value: 6,
                required: 4,
                ..
            }
        ));
        assert!(matches!(
            refused(&rig, &[bind(256, 256, Access::Write)], [1, 1, 1]),
            DeviceError::EmptyBinding { index: 0, .. }
        ));
        for (first, second) in [
            (Access::Read, Access::Write),
            (Access::Write, Access::Read),
            (Access::ReadWrite, Access::Write),
        ] {
            let bindings = [bind(0, 256, first), bind(512, 768, second)];
            assert!(matches!(
                refused(&rig, &bindings, [1, 1, 1]),
                DeviceError::BindingConflict {
                    first: 0,
                    second: 1,
                    ..
                }
            ));
        }
        let b = rig.alloc(64, "b");
        let sum = rig.device.kernel(KernelSource::host(
            "sum",
            Rc::new(|launch| {
                let sum = launch.words(0)?[0] + launch.words(1)?[0];
                let mut words = launch.take(2)?;
                words.fill(sum);
                launch.put(2, words)
            }),
        ));
        rig.write(&a.slice(0, 4).unwrap(), &[4]);
        rig.write(&a.slice(256, 260).unwrap(), &[5]);
        let bindings = [
            bind(0, 256, Access::Read),
            bind(256, 512, Access::Read),
            write_all(&b),
        ];
        rig.device.launch(&sum, &bindings, [1, 1, 1]).unwrap();
        assert_eq!(
            rig.read_words(&b.binding()).unwrap(),
            [9; 64],
            "reading twice is no conflict"
        );
    }
}

#[test]
fn writes_and_allocations() {
    for under in BOTH {
        let rig = Rig::new(under);
        let a = rig.alloc(64, "a");
        rig.write(&a.binding(), &[3; 64]);
        rig.settle();
        let before = (rig.device.revision(), rig.device.counters());
        assert!(matches!(
            rig.device.write(&a.binding(), &[0; 255]),
            Err(DeviceError::WriteLength {
                expected: 256,
                found: 255
            })
        ));
        assert!(matches!(
            rig.device.write(&a.slice(2, 6).unwrap(), &[0; 4]),
            Err(DeviceError::Alignment {
                value: 2,
                required: 4,
                ..
            })
        ));
        assert!(matches!(
            rig.device.write(&a.slice(0, 6).unwrap(), &[0; 6]),
            Err(DeviceError::Alignment {
                value: 6,
                required: 4,
                ..
            })
        ));
        assert!(matches!(
            rig.device.alloc(0, "none"),
            Err(DeviceError::Reserve(_))
        ));
        assert!(matches!(
            rig.device.alloc(6, "odd"),
            Err(DeviceError::Alignment { .. })
        ));
        assert!(matches!(
            rig.device.alloc(u64::MAX - 3, "all"),
            Err(DeviceError::Limit {
                limit: LimitName::MaxBufferSize,
                ..
            })
        ));
        assert!(matches!(
            rig.read(&a.slice(2, 6).unwrap()),
            Err(ReadError::Device(DeviceError::Alignment { .. }))
        ));
        assert_eq!((rig.device.revision(), rig.device.counters()), before);
        assert_eq!(rig.read_words(&a.binding()).unwrap(), [3; 64]);
    }
}

#[test]
fn buffers_of_another_device_or_freed() {
    for under in BOTH {
        let rig = Rig::new(under);
        let other = GuardedDevice::cpu();
        let foreign = other.alloc(256, "foreign").unwrap();
        assert!(matches!(
            refused(&rig, &[write_all(&foreign)], [1, 1, 1]),
            DeviceError::Handle(_)
        ));
        assert!(rig.device.write(&foreign.binding(), &[0; 256]).is_err());
        assert!(rig.device.taint(&foreign.binding()).is_err());
        assert!(matches!(
            rig.read(&foreign.binding()),
            Err(ReadError::Device(DeviceError::Handle(_)))
        ));
        let freed = rig.alloc(64, "freed").binding();
        assert!(matches!(
            refused(
                &rig,
                &[Binding::new(freed.clone(), Access::Write)],
                [1, 1, 1]
            ),
            DeviceError::Handle(_)
        ));
        assert!(rig.read(&freed).is_err());
    }
}

#[test]
fn a_kernel_runs_on_any_device_that_has_a_form_for_it() {
    let [late, again, cpu] = [Rig::late(), Rig::late(), Rig::new(Under::Cpu)];
    let kernel = late.fill("shared", 7);
    for rig in [&late, &cpu, &again, &late] {
        let a = rig.alloc(64, "a");
        rig.launch(&kernel, &[(&a, Access::Write)]);
        assert_eq!(rig.read_words(&a.binding()).unwrap(), [7; 64]);
    }
    let wgsl_only = cpu.device.kernel(KernelSource::wgsl("gpu only", "..."));
    let a = cpu.alloc(64, "a");
    assert!(matches!(
        cpu.device.launch(&wgsl_only, &[write_all(&a)], [1, 1, 1]),
        Err(DeviceError::KernelForm {
            missing: "host function",
            ..
        })
    ));
    assert_eq!(cpu.read_words(&a.binding()).unwrap(), [0; 64]);
}

#[test]
fn host_kernels_that_misuse_their_bindings_fail_and_change_no_byte() {
    type Body = fn(&mut wellwritten_device::HostLaunch<'_>) -> Result<(), HostKernelError>;
    let cases: [(Body, &str); 5] = [
        (
            |launch| launch.put(0, vec![1]),
            "holds 64 words, 1 were put back",
        ),
        (
            |launch| launch.take(0).map(|_| ()),
            "taken and not put back",
        ),
        (|launch| launch.take(1).map(|_| ()), "bound for reading"),
        (
            |launch| launch.words(2).map(|_| ()),
            "binding 2 does not exist: the launch has 2",
        ),
        (
            |launch| {
                let mut words = launch.take(0)?;
                words.fill(9);
                launch.put(0, words)?;
                Err(HostKernelError::Failed("gave up halfway".to_owned()))
            },
            "gave up halfway",
        ),
    ];
    for (body, said) in cases {
        let rig = Rig::new(Under::Cpu);
        let [a, b] = ["a", "b"].map(|label| rig.alloc(64, label));
        let kernel = rig
            .device
            .kernel(KernelSource::host("misuse", Rc::new(body)));
        rig.launch(&kernel, &[(&a, Access::ReadWrite), (&b, Access::Read)]);
        let refusal = rig.refusal(&a.binding());
        assert!(
            refusal.contains("misuse") && refusal.contains(said),
            "{refusal}"
        );
        assert_eq!(rig.read_words(&b.binding()).unwrap(), [0; 64]);
    }
}
