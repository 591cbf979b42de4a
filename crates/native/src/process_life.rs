//! Participants in processes of their own.

use std::cell::{Cell, RefCell};
use std::fs::Permissions;
use std::future::{Future, poll_fn};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::rc::Rc;
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use futures::future::{Either, select};
use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};
use tokio::process::{Child, Command};

use crate::invitation::Invitation;
use crate::life::{Body, Life, Tasks, route};
use crate::obituary::{Ending, Obituary};
use crate::output_tail::{OutputTail, read_to_end};
use crate::{Incarnation, LaunchError, Program, UnixChannel};

/// How long a process that was killed is waited for where nothing else can go on: the system takes milliseconds.
const LONGEST_REAPING: Duration = Duration::from_secs(2);
/// How long the output of a process that has ended is waited for: another process may hold the pipe open.
const LAST_OUTPUT: Duration = Duration::from_millis(200);

/// A process that was started. Dropped, it is killed and reaped.
pub(crate) struct RunningProcess {
    child: RefCell<Child>,
    pub process_id: u32,
}

impl RunningProcess {
    /// Kills it; nothing where it has ended.
    pub(crate) fn kill(&self) {
        // Refused only where it was reaped already.
        let _ = self.child.borrow_mut().start_kill();
    }

    /// Kills it and waits until the system has forgotten it.
    pub(crate) fn reap(&self) {
        self.kill();
        let began = Instant::now();
        while matches!(self.child.borrow_mut().try_wait(), Ok(None))
            && began.elapsed() < LONGEST_REAPING
        {
            thread::sleep(Duration::from_millis(1));
        }
    }

    async fn wait(&self) -> io::Result<ExitStatus> {
        poll_fn(|context| self.poll_end(context)).await
    }

    /// Asking anew loses nothing: an end that has come stays.
    fn poll_end(&self, context: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        let mut child = self.child.borrow_mut();
        Box::pin(child.wait()).as_mut().poll(context)
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        self.reap();
    }
}

/// Starts a process and waits until it has connected.
pub(crate) async fn start_process(
    incarnation: Incarnation,
    program: &Program,
    deadline: Duration,
) -> Result<Life, LaunchError> {
    let participant = incarnation.participant_id.clone();
    let system = |what| {
        let participant = participant.clone();
        move |source| LaunchError::System {
            participant,
            what,
            source,
        }
    };
    let folder = private_folder().map_err(system("no private folder"))?;
    let socket = folder.path().join("socket");
    let listener = UnixListener::bind(&socket).map_err(system("no socket"))?;
    let (output, input) = io::pipe().map_err(system("no pipe"))?;
    let errors = input.try_clone().map_err(system("no pipe"))?;
    let mut command = Command::new(&program.path);
    command
        .args(&program.arguments)
        .envs(
            program
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        )
        .envs(Invitation::variables(&socket, &incarnation))
        .stdin(Stdio::null())
        .stdout(input)
        .stderr(errors)
        // A Ctrl-C at the terminal is the session's to answer.
        .process_group(0)
        .kill_on_drop(true);
    let spawned = command.spawn();
    // It holds this program's copies of the pipe's other end.
    drop(command);
    let child = spawned.map_err(|source| LaunchError::Spawn {
        participant: participant.clone(),
        program: program.path.clone(),
        source,
    })?;
    let process_id = child.id().expect("it was not waited for");
    let process = Rc::new(RunningProcess {
        child: RefCell::new(child),
        process_id,
    });
    let obituary = Obituary::new();
    let mut tasks = Tasks::default();
    tasks.spawn(write_obituary(
        process.clone(),
        obituary.clone(),
        output.into(),
    ));
    let connected = {
        let (accepting, ending) = (pin!(accept(&listener, process_id)), pin!(obituary.wait()));
        match tokio::time::timeout(deadline, select(accepting, ending)).await {
            Ok(Either::Left((connected, _))) => Ok(connected),
            Ok(Either::Right((ending, _))) => Err(LaunchError::EndedInBoot {
                participant: participant.clone(),
                ending: ending.sentence(),
            }),
            Err(_) => Err(Life::boot_deadline(&incarnation, deadline)),
        }
    };
    if connected.is_err() {
        process.reap();
    }
    let stream = connected?.map_err(system("nothing can connect"))?;
    let transport = route(UnixChannel::new(stream), &obituary, &mut tasks);
    Ok(Life {
        incarnation,
        transport,
        obituary,
        body: Body::Process(process),
        is_retiring: Cell::new(false),
        _tasks: tasks,
    })
}

/// A folder that no other user looks into. It is gone when the process has connected: the socket needs no name then.
fn private_folder() -> io::Result<TempDir> {
    tempfile::Builder::new()
        .prefix("wellwritten-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
}

/// Waits for the process itself to connect. Any other that does is cut off.
async fn accept(listener: &UnixListener, process_id: u32) -> io::Result<UnixStream> {
    loop {
        let (stream, _) = listener.accept().await?;
        let peer = stream.peer_cred()?.pid();
        if peer.and_then(|pid| u32::try_from(pid).ok()) == Some(process_id) {
            return Ok(stream);
        }
    }
}

/// Waits for the end of a process, and says how it ended and what it had to say.
async fn write_obituary(
    process: Rc<RunningProcess>,
    obituary: Rc<Obituary>,
    output: std::os::fd::OwnedFd,
) {
    let tail = RefCell::new(OutputTail::default());
    let ended = {
        let mut reading = pin!(read_to_end(output, |bytes| tail.borrow_mut().push(bytes)));
        match select(pin!(process.wait()), reading.as_mut()).await {
            Either::Left((ended, _)) => {
                // What it wrote last may still be in the pipe; a pipe that cannot be read says nothing more.
                let _ = tokio::time::timeout(LAST_OUTPUT, reading).await;
                ended
            }
            Either::Right(_) => process.wait().await,
        }
    };
    let how = match ended {
        Ok(status) => how_it_ended(status),
        Err(error) => format!("cannot be waited for: {error}"),
    };
    let mut ending = Ending::new(how);
    ending.output = Some(tail.borrow_mut().text()).filter(|text| !text.is_empty());
    obituary.write(ending);
}

fn how_it_ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) => "exited".to_owned(),
        (Some(code), _) => format!("exited with status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => format!("ended: {status}"),
    }
}
