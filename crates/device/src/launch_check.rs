//! What can be refused about a launch before anything is encoded.

use std::fmt;
use std::fmt::Display;

use smallvec::SmallVec;
use wellwritten_memory::BufferBinding;

use crate::access::Binding;
use crate::batch::BoundBytes;
use crate::error::DeviceError;
use crate::limits::{DeviceLimits, LimitName};

/// Names a part of a binding, in words that are put together only where something is refused.
struct BindingPart<'a> {
    part: &'static str,
    index: usize,
    kernel: &'a str,
}

impl Display for BindingPart<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            part,
            index,
            kernel,
        } = self;
        write!(
            formatter,
            "the {part} of binding {index} of kernel `{kernel}`"
        )
    }
}

/// What a launch binds; most bind a few buffers.
pub(crate) type Bound = SmallVec<[BoundBytes; 4]>;

/// WebGPU copies and writes whole 32-bit words.
pub(crate) const WORD_BYTES: u64 = 4;

/// Refuses what is not a whole number of 32-bit words.
pub(crate) fn check_words(what: impl Display, value: u64) -> Result<(), DeviceError> {
    check_multiple(what, value, WORD_BYTES)
}

fn check_multiple(what: impl Display, value: u64, required: u64) -> Result<(), DeviceError> {
    if value.is_multiple_of(required) {
        Ok(())
    } else {
        Err(DeviceError::Alignment {
            what: what.to_string(),
            value,
            required,
        })
    }
}

/// Refuses a buffer larger than the device grants.
pub(crate) fn check_buffer_size(
    label: &str,
    size_bytes: u64,
    limits: &DeviceLimits,
) -> Result<(), DeviceError> {
    check_words(format_args!("the size of buffer `{label}`"), size_bytes)?;
    check_limit(
        format_args!("buffer `{label}`"),
        LimitName::MaxBufferSize,
        size_bytes,
        limits.max_buffer_size,
    )
}

/// Refuses what WebGPU would refuse late. Where the bytes lie does not matter: a page holds one buffer, from its start.
pub(crate) fn check_launch(
    kernel: &str,
    bindings: &[Binding],
    workgroups: [u32; 3],
    limits: &DeviceLimits,
) -> Result<(), DeviceError> {
    check_limit(
        format_args!("kernel `{kernel}` with {} bindings", bindings.len()),
        LimitName::MaxStorageBuffersPerShaderStage,
        bindings.len() as u64,
        u64::from(limits.max_storage_buffers_per_shader_stage),
    )?;
    if let [x, y, z] = workgroups
        && workgroups.contains(&0)
    {
        return Err(DeviceError::NoWorkgroups {
            kernel: kernel.to_owned(),
            x,
            y,
            z,
        });
    }
    for (axis, count) in ["x", "y", "z"].into_iter().zip(workgroups) {
        check_limit(
            format_args!("a launch of kernel `{kernel}` with {count} workgroups in {axis}"),
            LimitName::MaxComputeWorkgroupsPerDimension,
            u64::from(count),
            u64::from(limits.max_compute_workgroups_per_dimension),
        )?;
    }
    for (index, binding) in bindings.iter().enumerate() {
        let what = |part: &'static str| BindingPart {
            part,
            index,
            kernel,
        };
        let size_bytes = binding.slice.size_bytes();
        if size_bytes == 0 {
            // WebGPU reads a size of zero as "the rest of the buffer": bytes nobody claimed.
            return Err(DeviceError::EmptyBinding {
                kernel: kernel.to_owned(),
                index,
            });
        }
        check_limit(
            what("size"),
            LimitName::MaxStorageBufferBindingSize,
            size_bytes,
            limits.max_storage_buffer_binding_size,
        )?;
        check_words(what("size"), size_bytes)?;
        check_multiple(
            what("offset"),
            binding.slice.offset_start(),
            u64::from(limits.min_storage_buffer_offset_alignment),
        )?;
        let conflicts = |earlier: &Binding| {
            earlier.slice.buffer() == binding.slice.buffer()
                && (earlier.access.writes() || binding.access.writes())
        };
        if let Some(first) = bindings[..index].iter().position(conflicts) {
            return Err(DeviceError::BindingConflict {
                kernel: kernel.to_owned(),
                first,
                second: index,
            });
        }
    }
    Ok(())
}

/// Refuses host bytes that do not fit their target.
pub(crate) fn check_write(target: &BufferBinding, found: u64) -> Result<(), DeviceError> {
    let expected = target.size_bytes();
    if found != expected {
        return Err(DeviceError::WriteLength { expected, found });
    }
    check_words("the length of a write", found)?;
    check_words("the offset of a write", target.offset_start())
}

/// Refuses a copy from buffer to buffer that WebGPU would refuse late.
pub(crate) fn check_copy(
    source: &BufferBinding,
    target: &BufferBinding,
) -> Result<(), DeviceError> {
    if source.size_bytes() != target.size_bytes() {
        return Err(DeviceError::CopyLength {
            source_bytes: source.size_bytes(),
            target_bytes: target.size_bytes(),
        });
    }
    if source.buffer() == target.buffer() {
        return Err(DeviceError::CopyWithinBuffer {
            buffer: source.buffer(),
        });
    }
    check_words("the length of a copy", source.size_bytes())?;
    check_words("the source offset of a copy", source.offset_start())?;
    check_words("the target offset of a copy", target.offset_start())
}

pub(crate) fn check_limit(
    what: impl Display,
    limit: LimitName,
    requested: u64,
    granted: u64,
) -> Result<(), DeviceError> {
    if requested <= granted {
        Ok(())
    } else {
        Err(DeviceError::Limit {
            what: what.to_string(),
            limit,
            requested,
            granted,
        })
    }
}
