//! A real file system of a few pages, where this machine lets one be mounted.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Mounts, then does what it is told line by line. The mount is in a name space of its own and goes with it.
const HOLDER: &str = r#"mount -t tmpfs -o size="$2" tmpfs "$1" || exit 1
echo ready
while read -r line; do eval "$line" && echo done || echo failed; done"#;

/// A file system in memory with room for so many bytes.
pub struct SmallDisk {
    holder: Child,
    tell: ChildStdin,
    hear: BufReader<ChildStdout>,
    mounted_at: PathBuf,
}

impl SmallDisk {
    /// Mounts one on a folder, which only those who look through the [`path`](Self::path) see. `None` where this machine does
    /// not let one be mounted, which is said.
    pub fn mount(on: &Path, bytes: u64) -> Option<Self> {
        let size = bytes.to_string();
        let mut holder = Command::new("unshare")
            .args([
                "--user",
                "--map-root-user",
                "--mount",
                "sh",
                "-c",
                HOLDER,
                "sh",
            ])
            .arg(on)
            .arg(&size)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut disk = Self {
            tell: holder.stdin.take()?,
            hear: BufReader::new(holder.stdout.take()?),
            holder,
            mounted_at: on.to_owned(),
        };
        if disk.line() == "ready" && disk.path().is_dir() {
            return Some(disk);
        }
        eprintln!("this machine lets no file system be mounted; not tested on one");
        None
    }

    /// Where every process finds it.
    pub fn path(&self) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.holder.id()));
        root.join(self.mounted_at.strip_prefix("/").unwrap())
    }

    /// From now on nothing can be written to it.
    pub fn make_read_only(&mut self) {
        let at = self.mounted_at.display();
        writeln!(self.tell, "mount -o remount,ro '{at}'").unwrap();
        assert_eq!(self.line(), "done");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        let _ = self.hear.read_line(&mut line);
        line.trim_end().to_owned()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}
