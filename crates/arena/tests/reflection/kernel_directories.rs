//! Every WGSL file there is, found by looking and not by asking the declarations, is a declared kernel
//! and is what its declaration says.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use wellwritten_arena::kernels::{ALL, KernelDeclaration};
use wellwritten_arena::{KernelName, broken_wgsl, declaration};

use crate::comparison::{compare, parse};

/// Files under the `src` of every crate, by extension.
fn sources(extension: &str) -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for entry in fs::read_dir(crates).expect("the workspace's crates") {
        let source = entry.expect("a crate").path().join("src");
        if source.is_dir() {
            collect(&source, extension, &mut files);
        }
    }
    files
}

fn collect(directory: &Path, extension: &str, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a readable directory") {
        let path = entry.expect("a directory entry").path();
        if path.is_dir() {
            collect(&path, extension, files);
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
}

/// What is wrong with `path` as the WGSL of a kernel directory; `None` if nothing is.
fn complaint(path: &Path, text: &str, declared: &[&KernelDeclaration]) -> Option<String> {
    let stem = path.file_stem()?.to_str()?;
    let directory = path.parent()?;
    if directory.file_name()?.to_str()? != stem {
        return Some(format!("{} is in no directory of its own", path.display()));
    }
    if !directory.join(format!("{stem}.rs")).is_file() {
        return Some(format!("{} has no mirror beside it", path.display()));
    }
    let Some(declaration) = declared.iter().find(|kernel| kernel.name == stem) else {
        return Some(format!("{} is declared nowhere", path.display()));
    };
    if declaration.body != text {
        return Some(format!("{} is not the text launched", path.display()));
    }
    None
}

#[test]
fn every_wgsl_file_is_a_kernel_with_a_mirror_and_a_declaration() {
    let mut files: BTreeMap<String, u32> = BTreeMap::new();
    for path in sources("wgsl") {
        let text = fs::read_to_string(&path).expect("WGSL is text");
        assert_eq!(complaint(&path, &text, &ALL), None);
        let stem = path.file_stem().expect("a file").to_string_lossy();
        *files.entry(stem.into_owned()).or_default() += 1;
    }
    let declared: BTreeMap<String, u32> = ALL
        .iter()
        .map(|kernel| (kernel.name.to_owned(), 1))
        .collect();
    assert_eq!(files, declared, "one file for each declared kernel");
    assert_eq!(files.len(), 3);
}

/// A kernel written into Rust as a string would have no mirror, and nothing here would look at it.
#[test]
fn no_wgsl_hides_in_rust() {
    let files = sources("rs");
    assert!(files.len() > 100, "only {} Rust files found", files.len());
    for path in files {
        let text = fs::read_to_string(&path).expect("Rust is text");
        assert!(!text.contains("@compute"), "WGSL in {}", path.display());
    }
}

#[test]
fn every_kernel_is_what_rust_declares() {
    for kernel in ALL {
        assert_eq!(
            compare(kernel, &kernel.wgsl()),
            [],
            "kernel {}",
            kernel.name
        );
    }
}

/// The launcher launches what was compared, and its deliberately broken text is the sound one and a fault
/// that naga finds.
#[test]
fn the_launcher_launches_what_was_compared() {
    let names = [KernelName::Field, KernelName::Agent, KernelName::View];
    for (name, kernel) in names.into_iter().zip(ALL) {
        let launched = declaration(name);
        assert_eq!((launched.name, kernel.name), (name.as_str(), name.as_str()));
        assert_eq!(launched.wgsl(), kernel.wgsl());
        let broken = broken_wgsl(name);
        assert!(broken.starts_with(&kernel.wgsl()));
        let report = parse(&broken).expect_err("it is broken");
        assert!(report.contains("undeclared_value"), "{report}");
    }
}

/// Canary: a file that nobody declared, one in the wrong place, one without a mirror and one whose text
/// is not what is launched are each noticed.
#[test]
fn the_search_notices() {
    let path = sources("wgsl")
        .into_iter()
        .find(|path| path.ends_with("field/field.wgsl"))
        .expect("the field kernel");
    let text = fs::read_to_string(&path).expect("WGSL is text");
    assert_eq!(complaint(&path, &text, &ALL), None);
    let says = |path: &Path, text: &str, declared: &[&KernelDeclaration], what: &str| {
        let said = complaint(path, text, declared).unwrap_or_default();
        assert!(said.contains(what), "{said:?} does not say {what:?}");
    };
    says(&path, &text, &ALL[1..], "declared nowhere");
    says(&path, "", &ALL, "not the text launched");
    let beside = path.with_file_name("other.wgsl");
    says(&beside, &text, &ALL, "no directory of its own");
    let alone = path.with_file_name("alone").join("alone.wgsl");
    says(&alone, &text, &ALL, "no mirror");
}
