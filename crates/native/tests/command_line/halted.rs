//! A command that is halted in the middle of its work, so that a test can do something meanwhile.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};

use crate::sample_file::{Folder, SampleFile};

/// A file long enough for a command to be halted while it reads it, and far more than it reads before.
pub fn long_file(folder: &Folder, version: u32) -> PathBuf {
    let path = folder.file("long.flysess");
    SampleFile::large(version, 24 << 20).write(&path);
    // A file system's clock ticks some milliseconds at a time: what is written from now on is later.
    let file = fs::File::options().append(true).open(&path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_mins(1))
        .unwrap();
    path
}

/// A process that stands still, having read some of its file.
pub struct Halted(Child);

impl Halted {
    /// Starts a command on [`long_file`], and halts it at its beginning. `prepare` undoes what an attempt did that was too slow:
    /// the command was done before it could be halted.
    pub fn start(command: &mut Command, prepare: impl Fn()) -> Self {
        Self::start_after(2 << 20, command, prepare)
    }

    /// The same, when it has read so many bytes or some more.
    pub fn start_after(read_bytes: u64, command: &mut Command, prepare: impl Fn()) -> Self {
        for _ in 0..50 {
            prepare();
            command.stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            while bytes_read(child.id()) < read_bytes && child.try_wait().unwrap().is_none() {
                thread::sleep(Duration::from_micros(200));
            }
            signal(&child, "STOP");
            while state(child.id()) == Some('R') {
                thread::yield_now();
            }
            if state(child.id()) == Some('T') {
                return Self(child);
            }
            child.wait().unwrap();
        }
        panic!("every command was done before it could be halted");
    }

    /// Ends it as nothing can be prevented.
    pub fn kill(mut self) {
        self.0.kill().unwrap();
        assert!(!self.0.wait().unwrap().success());
    }

    /// Lets it go on to its end.
    pub fn go_on(self) -> Output {
        signal(&self.0, "CONT");
        self.0.wait_with_output().unwrap()
    }
}

fn signal(child: &Child, name: &str) {
    let mut kill = Command::new("kill");
    kill.args(["-s", name, &child.id().to_string()]);
    // It may have ended by itself; then there is nobody to signal.
    let _ = kill.stderr(Stdio::null()).status().unwrap();
}

/// How many bytes a process has read so far; all that it could, if it is gone.
fn bytes_read(process: u32) -> u64 {
    let counters = fs::read_to_string(Path::new("/proc").join(process.to_string()).join("io"));
    let line = counters.ok();
    let count = line
        .as_deref()
        .and_then(|text| text.lines().next()?.strip_prefix("rchar: ")?.parse().ok());
    count.unwrap_or(0)
}

/// `T` where it stands still, `R` or others where it runs, `Z` where it has ended.
fn state(process: u32) -> Option<char> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    text.rsplit_once(") ")?.1.chars().next()
}
