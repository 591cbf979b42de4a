//! The progress line, as a terminal gets it.

use std::fs::File;
use std::io::{self, Read as _};
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::halted::{Halted, long_file};
use crate::sample_file::Folder;
use crate::wellwritten::command;

/// Both ends of a terminal of so many columns: what a person sees, and what a program writes to.
fn terminal(columns: u16) -> (File, File) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap();
    let program = open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    let size = Winsize {
        ws_row: 24,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&program, size).unwrap();
    (person.into(), program.into())
}

/// Everything that is written to a terminal until its programs are gone.
fn read_all(mut person: File) -> String {
    let mut text = Vec::new();
    let mut chunk = [0; 4096];
    // A terminal that no program has open any more fails instead of ending.
    while let Ok(length @ 1..) = person.read(&mut chunk) {
        text.extend_from_slice(&chunk[..length]);
    }
    String::from_utf8(text).unwrap()
}

fn percent(line: &str) -> u32 {
    let (before, _) = line.rsplit_once(" %, ").unwrap();
    before.rsplit_once(": ").unwrap().1.parse().unwrap()
}

#[test]
fn it_fits_the_terminal_obeys_no_name_and_ends_at_the_end() -> io::Result<()> {
    let folder = Folder::new();
    let path = folder.file(&format!("a\u{1b}]0;mine\u{7}\r\n{}", "b".repeat(120)));
    std::fs::rename(long_file(&folder, 1), &path)?;
    for subject in ["verify", "inspect"] {
        for columns in [0_u16, 60] {
            let (person, program) = terminal(columns);
            let mut command = command(["envelope", subject]);
            // A name without the folder, so that the part of it that is dangerous comes before the cut.
            command.current_dir(folder.path());
            command.arg(path.file_name().unwrap());
            // Each byte of the file's 24 MiB is read twice: three quarters of the way.
            let halted = Halted::start_after(36 << 20, command.stderr(program.try_clone()?), || ());
            drop((command, program));
            // It is silent for a while before it draws.
            thread::sleep(Duration::from_millis(450));
            let reader = thread::spawn(move || read_all(person));
            assert!(halted.go_on().status.success());
            let text = reader.join().unwrap();
            let lines: Vec<&str> = text.split('\r').filter(|line| !line.is_empty()).collect();
            let (clear, drawn) = lines.split_last().unwrap();
            assert_eq!(*clear, "\u{1b}[K", "{text:?}");
            let last = drawn.last().expect("something was drawn");
            assert!(percent(last) >= 70, "a sound file's end is 100 %: {text:?}");
            for line in drawn {
                let line = line.strip_suffix("\u{1b}[K").unwrap();
                assert!(!line.contains(char::is_control), "{line:?}");
                let width = if columns == 0 { 80 } else { columns.into() };
                assert!(line.chars().count() < width, "{line:?}");
                assert!(line.contains("ing a\\u{1b}]0;mine\\u{7}"), "{line:?}");
                assert!(percent(line) <= 100);
            }
        }
    }
    Ok(())
}
