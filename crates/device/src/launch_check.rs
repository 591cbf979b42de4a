//! What can be refused about a launch before anything is encoded.

use std::fmt;
use std::fmt::Display;

use smallvec::SmallVec;
use wellwritten_memory::{BufferId, Location};

use crate::access::Access;
use crate::backend::PageId;
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

/// Turns located bindings into bound bytes, refusing what WebGPU would refuse late.
pub(crate) fn check_launch(
    kernel: &str,
    located: &[(Location<PageId>, Access)],
    workgroups: [u32; 3],
    limits: &DeviceLimits,
) -> Result<Bound, DeviceError> {
    check_limit(
        format_args!("kernel `{kernel}` with {} bindings", located.len()),
        LimitName::MaxStorageBuffersPerShaderStage,
        located.len() as u64,
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
    let mut bound = Bound::new();
    for (index, (location, access)) in located.iter().enumerate() {
        let what = |part: &'static str| BindingPart {
            part,
            index,
            kernel,
        };
        if location.size_bytes == 0 {
            // WebGPU reads a size of zero as "the rest of the buffer": bytes nobody claimed.
            return Err(DeviceError::EmptyBinding {
                kernel: kernel.to_owned(),
                index,
            });
        }
        check_limit(
            what("size"),
            LimitName::MaxStorageBufferBindingSize,
            location.size_bytes,
            limits.max_storage_buffer_binding_size,
        )?;
        check_words(what("size"), location.size_bytes)?;
        check_multiple(
            what("offset"),
            location.offset,
            u64::from(limits.min_storage_buffer_offset_alignment),
        )?;
        if let Some(first) = bound.iter().position(|earlier| {
            earlier.page == location.storage && (earlier.access.writes() || access.writes())
        }) {
            return Err(DeviceError::BindingConflict {
                kernel: kernel.to_owned(),
                first,
                second: index,
            });
        }
        bound.push(BoundBytes {
            page: location.storage,
            offset: location.offset,
            size_bytes: location.size_bytes,
            access: *access,
        });
    }
    Ok(bound)
}

/// Refuses a copy from buffer to buffer that WebGPU would refuse late.
pub(crate) fn check_copy(
    from: &Location<PageId>,
    to: &Location<PageId>,
    source: BufferId,
) -> Result<(), DeviceError> {
    if from.size_bytes != to.size_bytes {
        return Err(DeviceError::CopyLength {
            source_bytes: from.size_bytes,
            target_bytes: to.size_bytes,
        });
    }
    if from.storage == to.storage {
        return Err(DeviceError::CopyWithinBuffer { buffer: source });
    }
    check_words("the length of a copy", from.size_bytes)?;
    check_words("the source offset of a copy", from.offset)?;
    check_words("the target offset of a copy", to.offset)
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
