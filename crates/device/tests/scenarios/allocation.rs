//! A buffer that could not be created, known only later. Oracle: every read downstream names the allocation, and what
//! lies beside it is not concerned.

use wellwritten_device::Access;

use super::stage::Stage;

pub(crate) async fn the_fifteenth_allocation_fails_and_every_read_downstream_names_it(
    stage: Stage,
) {
    stage.forcing.fail_creation_after(14);
    let before: Vec<_> = (0..14).map(|_| stage.alloc(64, "fine")).collect();
    let doomed = stage.alloc(64, "doomed");
    let [b, c, d] = stage.three(["b", "c", "d"]);
    let copy = stage.increment("copy");
    stage.write(&doomed, 1);
    stage.launch(&copy, &[(&doomed, Access::Read), (&b, Access::Write)]);
    stage.launch(&copy, &[(&b, Access::Read), (&c, Access::Write)]);
    stage.launch(&copy, &[(&before[0], Access::Read), (&d, Access::Write)]);
    for downstream in [&doomed, &b, &c] {
        stage.refused(downstream, &["buffer `doomed`: "]).await;
    }
    stage.holds(&d, 1).await;
    for buffer in &before {
        stage.holds(buffer, 0).await;
    }
    // What is asked for once that is known comes to the same: no call throws for it, and every read names it.
    stage.write(&doomed, 2);
    stage.launch(&copy, &[(&doomed, Access::Read), (&d, Access::Write)]);
    let copied = stage.device.copy(&doomed.binding(), &before[1].binding());
    copied.expect("a copy within the buffers");
    for downstream in [&doomed, &d, &before[1]] {
        stage.refused(downstream, &["buffer `doomed`: "]).await;
    }
    // What never was is not used again.
    drop(doomed);
    let next = stage.alloc(64, "next");
    stage.write(&next, 4);
    stage.holds(&next, 4).await;
}
