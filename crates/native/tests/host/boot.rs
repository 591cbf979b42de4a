//! Participants that never come to life.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use wellwritten_counter::CounterComposition;
use wellwritten_native::{
    Incarnation, LaunchDeadlines, Launcher, Made, Program, Recipe, ThreadBudget,
};
use wellwritten_session::{ErrorCode, MutationCertainty, ParticipantError, ParticipantFactory};

use crate::counter_host::{id, participant};
use crate::processes::is_gone;
use crate::runtime::host;

fn launcher(recipe: Recipe, boot: Duration) -> Rc<Launcher> {
    let deadlines = LaunchDeadlines {
        boot,
        ..LaunchDeadlines::default()
    };
    let budget = ThreadBudget::new(2, 1).unwrap();
    let launcher = Launcher::with_deadlines(id("demo"), budget, deadlines);
    launcher.set_agent(id("fly-a"), recipe);
    launcher
}

fn shell(script: &str) -> Recipe {
    Recipe::process(Program::new("/bin/sh").argument("-c").argument(script))
}

async fn start(launcher: &Rc<Launcher>) -> Result<(), ParticipantError> {
    let life = id("incarnation-1");
    launcher.make_agent(&id("fly-a"), &life).await.map(drop)
}

async fn refused(launcher: &Rc<Launcher>) -> ParticipantError {
    let error = start(launcher).await.unwrap_err();
    assert_eq!(
        error.mutation,
        MutationCertainty::None,
        "nothing was started"
    );
    assert_eq!(launcher.free_threads(), 1, "nothing is taken");
    error
}

fn assert_says(error: &ParticipantError, code: ErrorCode, parts: &[&str]) {
    assert_eq!(error.code, code, "{error}");
    for part in parts {
        assert!(error.message.contains(part), "no {part:?} in: {error}");
    }
}

#[test]
fn a_program_that_is_not_there_or_ends_at_once_is_named_with_what_it_said() {
    host(async {
        let minute = Duration::from_mins(1);
        let missing = Recipe::process(Program::new("/nowhere/at/all"));
        let error = refused(&launcher(missing, minute)).await;
        assert_says(
            &error,
            ErrorCode::BackendFailure,
            &["fly-a", "/nowhere/at/all"],
        );

        let ends = shell("echo lots of words; echo no brain in here >&2; exit 3");
        let error = refused(&launcher(ends, minute)).await;
        let parts = [
            "fly-a",
            "exited with status 3",
            "lots of words",
            "no brain in here",
        ];
        assert_says(&error, ErrorCode::BackendFailure, &parts);

        let killed = shell("kill -9 $$");
        let error = refused(&launcher(killed, minute)).await;
        assert_says(&error, ErrorCode::BackendFailure, &["fly-a", "signal 9"]);

        let floods = shell("yes 0123456789 | head -c 3000000; echo the end; exit 1");
        let error = refused(&launcher(floods, minute)).await;
        assert_says(
            &error,
            ErrorCode::BackendFailure,
            &["exited with status 1", "the end"],
        );
        assert!(error.message.chars().count() <= ParticipantError::MAX_MESSAGE);
    });
}

fn panics(_: &Incarnation) -> Made {
    panic!("no model for {}", 7)
}

#[test]
fn what_refuses_or_panics_while_it_is_made_is_named() {
    let refuses = |_: &_| {
        Err(ParticipantError::refused(
            ErrorCode::Unsupported,
            "not on Sundays",
        ))
    };
    host(async {
        let minute = Duration::from_mins(1);
        for recipe in [
            Recipe::direct(refuses),
            Recipe::socket_pair(refuses),
            Recipe::thread(refuses),
        ] {
            let error = refused(&launcher(recipe, minute)).await;
            assert_says(&error, ErrorCode::Unsupported, &["not on Sundays"]);
        }
        for recipe in [
            Recipe::direct(panics),
            Recipe::socket_pair(panics),
            Recipe::thread(panics),
        ] {
            let error = refused(&launcher(recipe, minute)).await;
            let parts = ["fly-a", "panicked: no model for 7"];
            assert_says(&error, ErrorCode::BackendFailure, &parts);
        }
    });
}

#[test]
fn who_is_not_ready_in_time_is_ended_and_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("process");
    let script = format!("echo $$ > {}; exec sleep 600", file.display());
    host(async {
        let launcher = launcher(shell(&script), Duration::from_secs(1));
        let error = refused(&launcher).await;
        assert_says(&error, ErrorCode::BackendFailure, &["fly-a", "1000 ms"]);
        let process = fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        assert!(is_gone(process));

        let slow = Recipe::thread(|incarnation| {
            std::thread::sleep(Duration::from_millis(300));
            participant(&CounterComposition::default(), incarnation)
        });
        let launcher = self::launcher(slow.clone(), Duration::from_millis(20));
        let error = start(&launcher).await.unwrap_err();
        assert_says(&error, ErrorCode::BackendFailure, &["fly-a", "20 ms"]);
        assert_eq!(launcher.free_threads(), 0, "the thread still runs");
        while launcher.free_threads() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        // The canary: with time enough it is ready.
        start(&self::launcher(slow, Duration::from_secs(30)))
            .await
            .unwrap();
    });
}

/// Waits for a file that another process writes.
async fn written(file: &Path) -> String {
    loop {
        match fs::read_to_string(file) {
            Ok(text) if text.ends_with('\n') => return text.trim_end().to_owned(),
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

#[test]
fn only_the_process_itself_is_served_at_its_socket_and_nobody_else_gets_near_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("socket");
    let script = format!(
        "echo $WELLWRITTEN_SOCKET > {}; exec sleep 600",
        file.display()
    );
    host(async {
        let launcher = launcher(shell(&script), Duration::from_secs(2));
        let starting = tokio::task::spawn_local({
            let launcher = launcher.clone();
            async move { start(&launcher).await }
        });
        let socket = PathBuf::from(written(&file).await);
        let private = socket.parent().unwrap().to_owned();
        let mode = fs::metadata(&private).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", private.display());
        // This process is of the same user, and not the one that was started.
        for _ in 0..3 {
            let mut stranger = UnixStream::connect(&socket).unwrap();
            stranger.set_nonblocking(true).unwrap();
            let mut byte = [0];
            loop {
                match stranger.read(&mut byte) {
                    Ok(count) => break assert_eq!(count, 0, "it is cut off"),
                    Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        assert!(!starting.is_finished(), "the process may still come");
        let error = starting.await.unwrap().unwrap_err();
        assert_says(&error, ErrorCode::BackendFailure, &["2000 ms"]);
        assert!(!private.exists(), "nothing is left");
    });
}
