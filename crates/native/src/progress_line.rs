//! [`ProgressLine`]: one line on a terminal while a large file is read, or a session steps.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use rustix::termios::tcgetwinsize;
use wellwritten_envelope::Progress;

use crate::console::Console;
use crate::printable::printable;
use crate::readable_bytes::short_bytes;

/// How long a command stays silent: what is done by then needs no progress.
const PATIENCE: Duration = Duration::from_millis(400);
/// How often the line is drawn.
const REDRAW: Duration = Duration::from_millis(100);

/// How wide a terminal is that does not say.
const COLUMNS: usize = 80;

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
    pub fn new(console: &Console, doing: &str) -> Self {
        Self {
            doing: printable(doing),
            visible: !console.is_quiet() && io::stderr().is_terminal(),
            started: Instant::now(),
            drawn: None,
        }
    }

    /// Something else is done from now on, with a beginning and an end of its own.
    pub fn next(&mut self, doing: &str) {
        self.doing = printable(doing);
        self.started = Instant::now();
    }

    /// Says how far it is with bytes.
    pub fn show(&mut self, progress: Progress) {
        self.draw(|elapsed| bytes_done(progress, elapsed));
    }

    /// Says how far it is with steps.
    pub fn show_steps(&mut self, done: u64, total: u64) {
        self.draw(|elapsed| steps_done(done, total, elapsed));
    }

    /// Draws the line where it is visible and due.
    fn draw(&mut self, how_far: impl FnOnce(Duration) -> String) {
        if !self.visible {
            return;
        }
        let now = Instant::now();
        let wait = self.drawn.map_or(PATIENCE, |_| REDRAW);
        if now.duration_since(self.drawn.unwrap_or(self.started)) < wait {
            return;
        }
        self.drawn = Some(now);
        let line = self.line(&how_far(now.duration_since(self.started)), columns());
        // \x1b[K clears what a longer line left behind.
        let _ = write!(io::stderr(), "\r{line}\x1b[K");
    }

    /// The line, narrower than the terminal: one that wraps could not be drawn over.
    fn line(&self, how_far: &str, columns: usize) -> String {
        let end = format!(": {how_far}");
        let room = columns.saturating_sub(1);
        let doing = cut(&self.doing, room.saturating_sub(width(&end)));
        cut(&format!("{doing}{end}"), room)
    }
}

fn percent(done: u64, total: u64) -> u128 {
    u128::from(done) * 100 / u128::from(total.max(1))
}

fn a_second(done: u64, elapsed: Duration) -> u128 {
    u128::from(done) * 1000 / elapsed.as_millis().max(1)
}

fn bytes_done(progress: Progress, elapsed: Duration) -> String {
    let Progress {
        done_bytes,
        total_bytes,
    } = progress;
    // The total is no length that anybody knows: what is hashed twice counts twice.
    let rate = u64::try_from(a_second(done_bytes, elapsed))
        .ok()
        .and_then(short_bytes);
    let rate = rate.unwrap_or_else(|| "under 1 KiB".to_owned());
    format!("{} %, {rate}/s", percent(done_bytes, total_bytes))
}

fn steps_done(done: u64, total: u64, elapsed: Duration) -> String {
    format!(
        "{} %, {} steps/s",
        percent(done, total),
        a_second(done, elapsed)
    )
}

/// How wide standard error's terminal is now; a person may have changed it.
fn columns() -> usize {
    match tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_col > 0 => size.ws_col.into(),
        _ => COLUMNS,
    }
}

/// How many columns a text takes at most: outside ASCII, a terminal takes none, one or two a character.
fn width(text: &str) -> usize {
    text.chars().map(character_width).sum()
}

fn character_width(character: char) -> usize {
    if character.is_ascii() { 1 } else { 2 }
}

/// The text if it fits, or else as much of its beginning as does, and an ellipsis.
fn cut(text: &str, columns: usize) -> String {
    const ELLIPSIS: char = '…';
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(mut room) = columns.checked_sub(character_width(ELLIPSIS)) else {
        return String::new();
    };
    let fits = text.chars().take_while(|character| {
        let left = room.checked_sub(character_width(*character));
        room = left.unwrap_or(0);
        left.is_some()
    });
    let mut text: String = fits.collect();
    text.push(ELLIPSIS);
    text
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

    fn line(doing: &str, columns: usize) -> String {
        let quiet = OutputArguments {
            json: false,
            quiet: true,
        };
        let quarter = Progress {
            done_bytes: 1 << 30,
            total_bytes: 4 << 30,
        };
        let line = ProgressLine::new(&Console::new(quiet), doing);
        line.line(&bytes_done(quarter, Duration::from_secs(2)), columns)
    }

    #[test]
    fn the_line_says_how_far_and_how_fast() {
        assert_eq!(line("verifying a", 80), "verifying a: 25 %, 512.0 MiB/s");
        let quiet = OutputArguments {
            json: false,
            quiet: true,
        };
        let nothing = Progress {
            done_bytes: 0,
            total_bytes: 0,
        };
        let line = ProgressLine::new(&Console::new(quiet), "verifying a");
        assert_eq!(
            line.line(&bytes_done(nothing, Duration::ZERO), 80),
            "verifying a: 0 %, under 1 KiB/s"
        );
    }

    #[test]
    fn steps_are_counted_as_steps() {
        let two_seconds = Duration::from_secs(2);
        assert_eq!(steps_done(500, 2_000, two_seconds), "25 %, 250 steps/s");
        assert_eq!(steps_done(0, 0, Duration::ZERO), "0 %, 0 steps/s");
    }

    #[test]
    fn a_name_is_cut_to_the_terminal_and_its_control_characters_are_escaped() {
        assert_eq!(
            line("verifying \u{1b}]0;x\u{7}\r\n", 80),
            "verifying \\u{1b}]0;x\\u{7}\\r\\n: 25 %, 512.0 MiB/s"
        );
        let end = ": 25 %, 512.0 MiB/s";
        assert_eq!(line("verifying abcdef", 34), format!("verifying ab…{end}"));
        assert_eq!(line("verifying 日本語", 34), format!("verifying 日…{end}"));
        assert_eq!(line("verifying abcd", 34), format!("verifying abcd{end}"));
        let long = "é\u{1b}a".repeat(300);
        for columns in 0..200 {
            let line = line(&long, columns);
            assert!(
                width(&line) <= columns.saturating_sub(1),
                "{columns}: {line}"
            );
        }
    }
}
