//! Copies from buffer to buffer. Oracle: what a host that does everything in order would hold.

use wellwritten_device::{Access, DeviceError};

use super::stage::{DUE, SAID, Stage, bytes};

pub(crate) async fn copies_keep_their_place_among_writes_and_launches(stage: Stage) {
    let [a, b, c] = stage.three(["a", "b", "c"]);
    let fill = stage.fill("fill");
    stage.write(&a, 1);
    stage.device.copy(&a.binding(), &b.binding()).unwrap();
    stage.write(&a, 2);
    stage.device.copy(&a.binding(), &c.binding()).unwrap();
    stage.launch(&fill, &[(&a, Access::Write)]);
    stage.holds(&b, 1).await;
    stage.holds(&c, 2).await;
    stage.holds(&a, DUE).await;
    // A part, at an offset no binding may have.
    let (from, to) = (a.slice(4, 12).unwrap(), b.slice(248, 256).unwrap());
    stage.device.copy(&from, &to).unwrap();
    let mut expected = [1; 64];
    expected[62..].fill(DUE);
    assert_eq!(stage.read(&b.binding()).await.unwrap(), bytes(&expected));
    // Nothing is nothing.
    let nothing = (a.slice(8, 8).unwrap(), b.slice(0, 0).unwrap());
    stage.device.copy(&nothing.0, &nothing.1).unwrap();
    assert_eq!(stage.device.counters().bytes_copied, 256 * 2 + 8);
}

pub(crate) async fn a_copy_from_failed_bytes_is_skipped_or_fails_with_them(stage: Stage) {
    for is_settled_between in [false, true] {
        let [a, b, c] = stage.recycled().await;
        let bad = stage.broken("diffuse");
        stage.launch(&bad, &[(&a, Access::Write)]);
        if is_settled_between {
            stage.device.settled().await;
        }
        let skipped = stage.device.counters().skipped_units;
        stage.device.copy(&a.binding(), &b.binding()).unwrap();
        stage.device.copy(&b.binding(), &c.binding()).unwrap();
        if is_settled_between {
            assert_eq!(stage.device.counters().skipped_units, skipped + 2);
        }
        stage.refused(&b, &["kernel diffuse", SAID, "copy"]).await;
        stage.refused(&c, &["kernel diffuse", SAID, "copy"]).await;
        stage.write(&a, 7);
        stage.device.copy(&a.binding(), &c.binding()).unwrap();
        stage.holds(&c, 7).await;
    }
}

pub(crate) async fn copies_that_webgpu_would_refuse_late_are_refused_at_once(stage: Stage) {
    let [a, b, freed] = stage.three(["a", "b", "freed"]);
    stage.write(&a, 1);
    stage.device.settled().await;
    let (gone, name) = (freed.binding(), freed.id().to_string());
    drop(freed);
    let before = (stage.device.counters(), stage.device.revision());
    let device = &stage.device;
    let refused = |from: (u64, u64), to: (u64, u64)| {
        let (from, to) = (
            a.slice(from.0, from.1).unwrap(),
            b.slice(to.0, to.1).unwrap(),
        );
        device.copy(&from, &to).expect_err("WebGPU would refuse it")
    };
    assert!(matches!(
        refused((0, 8), (0, 12)),
        DeviceError::CopyLength {
            source_bytes: 8,
            target_bytes: 12
        }
    ));
    for (from, to) in [((0, 6), (0, 6)), ((2, 6), (0, 4)), ((0, 4), (2, 6))] {
        let refusal = refused(from, to);
        assert!(
            matches!(refusal, DeviceError::Alignment { required: 4, .. }),
            "{refusal}"
        );
    }
    let within = device.copy(&a.slice(0, 4).unwrap(), &a.slice(8, 12).unwrap());
    assert!(matches!(
        within,
        Err(DeviceError::CopyWithinBuffer { buffer }) if buffer == a.id()
    ));
    for (from, to) in [(&gone, &b.binding()), (&a.binding(), &gone)] {
        let refusal = device.copy(from, to).unwrap_err();
        assert!(matches!(refusal, DeviceError::Handle(_)), "{refusal}");
        assert!(refusal.to_string().contains(&name), "{refusal}");
    }
    assert_eq!((device.counters(), device.revision()), before);
    stage.holds(&b, 0).await;
    stage.holds(&a, 1).await;
}
