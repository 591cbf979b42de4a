//! Opening a device on the backend that was chosen: for a page's own device, and for a session's.

use serde::Deserialize;
use tsify::Tsify;
use wellwritten_device::{GuardedDevice, RequiredLimits, Spawner, WebGpuOptions};

use crate::error::WebResult;

/// Which backend to compute on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Tsify)]
#[serde(rename_all = "lowercase")]
pub enum BackendChoice {
    /// WebGPU where there is an adapter, otherwise the CPU, which says why.
    #[default]
    Auto,
    /// WebGPU or an error.
    Webgpu,
    /// The CPU.
    Cpu,
}

/// Options of `createGuardedDevice`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct GuardedDeviceOptions {
    /// Default: `auto`.
    #[tsify(optional)]
    pub backend: BackendChoice,
    /// Limits above WebGPU's defaults.
    #[tsify(optional)]
    pub required_limits: RequiredLimits,
}

/// Opens a device as chosen.
pub async fn open_device(options: GuardedDeviceOptions) -> WebResult<GuardedDevice> {
    if options.backend == BackendChoice::Cpu {
        return Ok(GuardedDevice::cpu());
    }
    let spawner = Spawner::new(wasm_bindgen_futures::spawn_local);
    let webgpu = WebGpuOptions {
        required_limits: options.required_limits,
    };
    match GuardedDevice::webgpu(webgpu, spawner).await {
        Ok(device) => Ok(device),
        Err(error) if options.backend == BackendChoice::Auto => {
            Ok(GuardedDevice::cpu_because(Some(error.to_string())))
        }
        Err(error) => Err(error.into()),
    }
}
