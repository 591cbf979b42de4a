//! What the system knows of a process.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// `R`, `S`, `T`, `Z` and others; none where there is no such process.
pub fn state(process: u32) -> Option<char> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    text.rsplit_once(") ")?.1.chars().next()
}

/// Whether the system has forgotten the process: it neither runs nor waits to be reaped.
pub fn is_gone(process: u32) -> bool {
    state(process).is_none()
}

pub fn send(process: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}
