//! [`ProgressLine`]: one line on a terminal while a large file is read.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use wellwritten_envelope::Progress;

use crate::console::Console;
use crate::readable_bytes::short_bytes;

/// How long a command stays silent: what is done by then needs no progress.
const PATIENCE: Duration = Duration::from_millis(400);
/// How often the line is drawn.
const REDRAW: Duration = Duration::from_millis(100);

/// A line on standard error that says how far a command is, and is gone when it ends. It is drawn only
/// where standard error is a terminal, and not with `--quiet`.
pub struct ProgressLine {
    doing: String,
    visible: bool,
    started: Instant,
    drawn: Option<Instant>,
}

impl ProgressLine {
    /// `doing` says what is done and to which file.
    pub fn new(console: &Console, doing: String) -> Self {
        Self {
            doing,
            visible: !console.is_quiet() && io::stderr().is_terminal(),
            started: Instant::now(),
            drawn: None,
        }
    }

    /// Something else is done from now on, with a beginning and an end of its own.
    pub fn next(&mut self, doing: String) {
        self.doing = doing;
        self.started = Instant::now();
    }

    /// Says how far it is.
    pub fn show(&mut self, progress: Progress) {
        if !self.visible {
            return;
        }
        let now = Instant::now();
        let wait = self.drawn.map_or(PATIENCE, |_| REDRAW);
        if now.duration_since(self.drawn.unwrap_or(self.started)) < wait {
            return;
        }
        self.drawn = Some(now);
        let line = self.line(progress, now.duration_since(self.started));
        // \x1b[K clears what a longer line left behind.
        let _ = write!(io::stderr(), "\r{line}\x1b[K");
    }

    fn line(&self, progress: Progress, elapsed: Duration) -> String {
        let Progress {
            done_bytes,
            total_bytes,
        } = progress;
        let percent = u128::from(done_bytes) * 100 / u128::from(total_bytes.max(1));
        let rate = u128::from(done_bytes) * 1000 / elapsed.as_millis().max(1);
        // The total is no length that anybody knows: what is hashed twice counts twice.
        format!(
            "{}: {percent} %, {}/s",
            self.doing,
            u64::try_from(rate)
                .ok()
                .and_then(short_bytes)
                .unwrap_or_else(|| "under 1 KiB".to_owned()),
        )
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::OutputArguments;

    #[test]
    fn the_line_says_how_far_and_how_fast() {
        let quiet = OutputArguments {
            json: false,
            quiet: true,
        };
        let line = ProgressLine::new(&Console::new(quiet), "verifying a".to_owned());
        let quarter = Progress {
            done_bytes: 1 << 30,
            total_bytes: 4 << 30,
        };
        assert_eq!(
            line.line(quarter, Duration::from_secs(2)),
            "verifying a: 25 %, 512.0 MiB/s"
        );
        let nothing = Progress {
            done_bytes: 0,
            total_bytes: 0,
        };
        assert_eq!(
            line.line(nothing, Duration::ZERO),
            "verifying a: 0 %, under 1 KiB/s"
        );
    }
}
