//! What the device grants, and what it refuses before anything is encoded.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A limit of the device, by the name WebGPU gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub enum LimitName {
    /// Bytes in one buffer.
    MaxBufferSize,
    /// Bytes in one storage binding.
    MaxStorageBufferBindingSize,
    /// Storage bindings of one launch.
    MaxStorageBuffersPerShaderStage,
    /// Workgroups in one dimension of a launch.
    MaxComputeWorkgroupsPerDimension,
    /// What the offset of a storage binding must be a multiple of, in bytes.
    MinStorageBufferOffsetAlignment,
}

impl fmt::Display for LimitName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::MaxBufferSize => "maxBufferSize",
            Self::MaxStorageBufferBindingSize => "maxStorageBufferBindingSize",
            Self::MaxStorageBuffersPerShaderStage => "maxStorageBuffersPerShaderStage",
            Self::MaxComputeWorkgroupsPerDimension => "maxComputeWorkgroupsPerDimension",
            Self::MinStorageBufferOffsetAlignment => "minStorageBufferOffsetAlignment",
        })
    }
}

/// The limits the device was granted. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct DeviceLimits {
    /// Bytes in one buffer.
    pub max_buffer_size: u64,
    /// Bytes in one storage binding.
    pub max_storage_buffer_binding_size: u64,
    /// Storage bindings of one launch.
    pub max_storage_buffers_per_shader_stage: u32,
    /// Workgroups in one dimension of a launch.
    pub max_compute_workgroups_per_dimension: u32,
    /// What the offset of a storage binding must be a multiple of, in bytes.
    pub min_storage_buffer_offset_alignment: u32,
}

impl DeviceLimits {
    /// The limits every WebGPU device grants by default. The CPU backend keeps to them too, so that
    /// a program that runs on it runs on a GPU.
    pub const WEBGPU_DEFAULT: Self = Self {
        max_buffer_size: 268_435_456,
        max_storage_buffer_binding_size: 134_217_728,
        max_storage_buffers_per_shader_stage: 8,
        max_compute_workgroups_per_dimension: 65_535,
        min_storage_buffer_offset_alignment: 256,
    };
}

/// Limits a caller asks for above WebGPU's defaults. Sizes are in bytes; absent means the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequiredLimits {
    /// Bytes in one buffer.
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[serde(default)]
    pub max_buffer_size: Option<u64>,
    /// Bytes in one storage binding.
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[serde(default)]
    pub max_storage_buffer_binding_size: Option<u64>,
    /// Storage bindings of one launch.
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[serde(default)]
    pub max_storage_buffers_per_shader_stage: Option<u32>,
    /// Workgroups in one dimension of a launch.
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[serde(default)]
    pub max_compute_workgroups_per_dimension: Option<u32>,
}
