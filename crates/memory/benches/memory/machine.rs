//! What the numbers were measured on.

use std::process::Command;

/// The processor, the compiler and how this bench was built, one fact a line.
pub fn machine() -> String {
    let processor = std::fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            text.lines()
                .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
                .map(|(_, model)| model.to_owned())
        })
        .unwrap_or_else(|| format!("unknown ({})", std::env::consts::ARCH));
    let threads = std::thread::available_parallelism().map_or(0, usize::from);
    let compiler = Command::new("rustc")
        .arg("--version")
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map_or_else(|| "unknown".to_owned(), |text| text.trim().to_owned());
    format!(
        "processor  {processor}, {threads} threads, {}\ncompiler   {compiler}",
        std::env::consts::OS
    )
}
