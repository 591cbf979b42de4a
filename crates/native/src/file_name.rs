//! [`FileName`]: a path in a report.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::Serialize;

/// A path as it was given. JSON has only Unicode, so a path that is something else comes twice: readable,
/// with replacement characters, and exact, as hexadecimal bytes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileName {
    /// The path for a person; `-` for standard input.
    file: String,
    /// The path's bytes where `file` is not exactly it.
    #[serde(skip_serializing_if = "Option::is_none")]
    file_hex: Option<String>,
}

impl From<&Path> for FileName {
    fn from(path: &Path) -> Self {
        let file_hex = path.to_str().is_none().then(|| hexadecimal(path));
        Self {
            file: path.display().to_string(),
            file_hex,
        }
    }
}

fn hexadecimal(path: &Path) -> String {
    let mut text = String::new();
    for byte in path.as_os_str().as_bytes() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// A path for a person: `-` by what it is.
pub fn shown(path: &Path) -> String {
    if path.as_os_str() == "-" {
        return "standard input".to_owned();
    }
    path.display().to_string()
}
