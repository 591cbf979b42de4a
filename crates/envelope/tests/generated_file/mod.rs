//! Files that Rust generates for TypeScript and that are committed: written on demand, compared otherwise.
#![allow(
    dead_code,
    reason = "each test file is a crate of its own and uses a part of this"
)]

use std::path::PathBuf;
use std::{env, fs};

/// What makes these tests write instead of compare; `npm run generate` sets it.
const GENERATE: &str = "WELLWRITTEN_GENERATE";

/// A path relative to the root of the repository.
pub fn in_repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

pub fn is_stale(path: &str, text: &str) -> bool {
    fs::read_to_string(in_repository(path)).ok().as_deref() != Some(text)
}

/// Compares each file with what was generated; writes it instead where that is asked for.
pub fn keep_up_to_date(files: &[(String, String)]) {
    if env::var_os(GENERATE).is_some() {
        for (path, text) in files {
            let path = in_repository(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    let stale: Vec<&str> = files
        .iter()
        .filter(|(path, text)| is_stale(path, text))
        .map(|(path, _)| path.as_str())
        .collect();
    assert!(
        stale.is_empty(),
        "stale: {}\nThe Rust types have changed since. Run `npm run generate` and commit the files.",
        stale.join(", ")
    );
}
