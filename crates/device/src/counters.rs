//! What a device has done so far, in numbers.

use serde::Serialize;

/// What a device has done so far. Counts only grow; the difference of two readings tells what happened in
/// between, such as how many submissions a step needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "typescript",
    derive(tsify::Tsify),
    tsify(large_number_types_as_bigints)
)]
#[serde(rename_all = "camelCase")]
pub struct DeviceCounters {
    /// Submissions handed to the backend. Copies to the host are not counted.
    pub submissions: u64,
    /// Launches asked for, skipped ones included. A replay counts the launches in its graph.
    pub launches: u64,
    /// Launches, copies and replays skipped because an input was known not to read cleanly.
    pub skipped_units: u64,
    /// Submissions, launches and creations that failed.
    pub failed_units: u64,
    /// Host bytes written.
    pub bytes_written: u64,
    /// Bytes copied from buffer to buffer.
    pub bytes_copied: u64,
    /// Bytes returned by reads.
    pub bytes_read: u64,
}
