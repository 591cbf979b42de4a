//! Canonical JSON of anything, behind one pointer.

use serde::Serialize;
use wellwritten_envelope::canonical_json;

pub(crate) trait Json {
    fn canonical(&self) -> Result<Vec<u8>, String>;

    /// To compare and to show.
    fn text(&self) -> String {
        let bytes = self.canonical().unwrap_or_else(String::into_bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl<T: Serialize> Json for T {
    fn canonical(&self) -> Result<Vec<u8>, String> {
        canonical_json(self).map_err(|error| error.to_string())
    }
}
