//! Shaders that compile and still cannot be used. Oracle: the launch's bytes name the kernel and what is wrong with
//! it; another way of using the same kernel is not concerned.

use wellwritten_device::Access;

use super::stage::{Stage, fill, increment};

pub(crate) async fn a_bad_entry_point_names_its_kernel(stage: Stage) {
    let [first, second, _] = stage.recycled().await;
    let mut source = fill("no entry");
    "elsewhere".clone_into(&mut source.entry_point);
    let said = "there is no entry point `elsewhere`";
    stage.forcing.break_pipeline("no entry", said);
    let kernel = stage.device.kernel(source);
    stage.launch(&kernel, &[(&second, Access::Write)]);
    let because = ["the pipeline of kernel `no entry` is invalid", "elsewhere"];
    stage.refused(&second, &because).await;
    stage.holds(&first, 0).await;
}

pub(crate) async fn a_shader_that_writes_what_was_declared_read(stage: Stage) {
    let [first, second, _] = stage.recycled().await;
    let said = "the layout's binding 1 is read-only";
    stage.forcing.break_pipeline("writes", said);
    let writes = stage.device.kernel(increment("writes"));
    // What the shader writes is declared read, and the other way round.
    stage.launch(&writes, &[(&first, Access::Write), (&second, Access::Read)]);
    let because = ["the pipeline of kernel `writes` is invalid", "binding"];
    stage.refused(&first, &because).await;
    stage.holds(&second, 0).await;
    let sound = stage.increment("sound");
    stage.launch(&sound, &[(&second, Access::Read), (&first, Access::Write)]);
    stage.holds(&first, 1).await;
}
