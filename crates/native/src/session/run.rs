//! `wellwritten session run`: from the first participant to the last.

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant};
use std::{fmt, io};

use futures::future::{Either, select};
use serde::{Serialize, Serializer};
use tokio::task::{AbortHandle, LocalSet};
use wellwritten_native::{Launcher, ReapOutcome, Reaped, TokioClock};
use wellwritten_session::{
    CallBudgets, Coordinator, Digest, Host, Id, Phase, RunOptions, SessionError, TraceSink, U64,
};

use super::counter_launch;
use super::interruption::Interruption;
use super::trace_file::TraceFile;
use crate::arguments::{ModeArgument, RunArguments, TransportArgument};
use crate::console::Console;
use crate::exit_status::ExitStatus;
use crate::file_name::FileName;
use crate::progress_line::ProgressLine;
use crate::run_error::{RunError, RunErrorReport};

/// How often progress is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The answer for a program.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    command: &'static str,
    exit_code: u8,
    interrupted: bool,
    /// Null where it did not start.
    session: Option<Reached>,
    /// The file that was written.
    trace: Option<FileName>,
    participants: Vec<End>,
    error: Option<RunErrorReport>,
}

/// Where a session stands at its end.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Reached {
    #[serde(serialize_with = "as_text")]
    phase: Phase,
    boundary: U64,
    epoch: Id,
    steps: U64,
    seconds: f64,
    steps_per_second: f64,
    behaviour: BehaviourReport,
}

/// The digest of what it did, numbers as decimal strings.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BehaviourReport {
    from: U64,
    length: U64,
    digest: Digest,
}

/// How a participant ended.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct End {
    participant_id: Id,
    incarnation_id: Id,
    #[serde(serialize_with = "as_text")]
    outcome: ReapOutcome,
    ending: String,
}

fn as_text<T: fmt::Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// What a run came to, whether or not it came to its end.
#[derive(Default)]
struct Came {
    reached: Option<Reached>,
    ends: Vec<End>,
    interrupted: bool,
}

/// Runs one command to its end.
pub fn run(arguments: &RunArguments, console: &mut Console) -> ExitStatus {
    let mut came = Came::default();
    let transport = transport_of(arguments);
    let outcome = transport.and_then(|transport| host(arguments, transport, console, &mut came));
    let error = outcome.as_ref().err();
    let status = match error {
        Some(error) => error.exit_status(),
        None if came.interrupted => ExitStatus::Interrupted,
        None => ExitStatus::Sound,
    };
    tell(&came, console);
    let written = arguments
        .trace
        .as_deref()
        .filter(|_| error.is_none_or(RunError::leaves_trace));
    console.report(&Report {
        command: "session run",
        exit_code: status.number(),
        interrupted: came.interrupted,
        session: came.reached,
        trace: written.map(FileName::from),
        participants: came.ends,
        error: error.map(RunErrorReport::from),
    });
    if let Some(error) = error {
        console.complain(&error.to_string());
    }
    status
}

/// The transport asked for, or the one that goes with the mode.
fn transport_of(arguments: &RunArguments) -> Result<TransportArgument, RunError> {
    match (arguments.mode, arguments.transport) {
        (ModeArgument::InProcess, transport) => Ok(transport.unwrap_or(TransportArgument::Direct)),
        (mode, Some(TransportArgument::Direct)) => Err(RunError::DirectElsewhere { mode }),
        _ => Ok(TransportArgument::Unix),
    }
}

fn system(what: &'static str) -> impl FnOnce(io::Error) -> RunError {
    move |source| RunError::System { what, source }
}

/// Runs the session in a runtime of its own.
fn host(
    arguments: &RunArguments,
    transport: TransportArgument,
    console: &Console,
    came: &mut Came,
) -> Result<(), RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(system("no runtime"))?;
    let running = attempt(arguments, transport, console, came);
    LocalSet::new().block_on(&runtime, running)
}

/// Begins the trace's file first, as it may be refused, and gives it its name last.
async fn attempt(
    arguments: &RunArguments,
    transport: TransportArgument,
    console: &Console,
    came: &mut Came,
) -> Result<(), RunError> {
    let interruption = Interruption::listen().map_err(system("Ctrl-C cannot be heard"))?;
    let create = |path| TraceFile::create(path, arguments.force);
    let trace = arguments.trace.as_deref().map(create).transpose()?;
    let launcher = counter_launch::launcher(arguments, transport)?;
    let live = Live {
        arguments,
        launcher: &launcher,
        interruption: &interruption,
        trace: trace.as_ref(),
    };
    let stepped = live.run(console, came).await;
    came.interrupted = interruption.is_asked();
    let reaped = launcher.shutdown().await;
    came.ends = reaped.iter().map(End::from).collect();
    if let Some(trace) = trace {
        trace.publish()?;
    }
    stepped
}

/// A session from its start to its end.
struct Live<'a> {
    arguments: &'a RunArguments,
    launcher: &'a Rc<Launcher>,
    interruption: &'a Interruption,
    trace: Option<&'a Rc<TraceFile>>,
}

impl Live<'_> {
    async fn run(&self, console: &Console, came: &mut Came) -> Result<(), RunError> {
        let (starting, asked) = (pin!(self.start()), pin!(self.interruption.asked()));
        let session = match select(starting, asked).await {
            Either::Left((session, _)) => session.map_err(RunError::NotStarted)?,
            Either::Right(_) => return Ok(()),
        };
        self.interruption.concerns(&session);
        let steps = self.arguments.steps;
        let began = Instant::now();
        let progress = show_progress(console, &session, steps);
        let options = RunOptions {
            steps_per_second: self.arguments.rate,
            until: Some(steps),
        };
        let stepped = match session.phase() {
            // Interrupted before the first step.
            Phase::Paused { .. } => Ok(()),
            _ => self.step(&session, options).await,
        };
        let elapsed = began.elapsed();
        drop(progress);
        came.reached = Some(Reached::of(&session, elapsed));
        stepped.map_err(RunError::Failed)?;
        Ok(())
    }

    /// Steps to the end, or until somebody does not want to wait for the boundary: a step that is left then ends the epoch.
    async fn step(&self, session: &Coordinator, options: RunOptions) -> Result<(), SessionError> {
        {
            let (running, hurried) = (
                pin!(session.run(options)),
                pin!(self.interruption.hurried()),
            );
            if let Either::Left((run, _)) = select(running, hurried).await {
                run?;
            }
        }
        // It may have failed between two steps.
        let status = session.status();
        match status.failure.filter(|_| status.fenced) {
            Some(record) => Err(SessionError::EpochFailed(Box::new(record))),
            None => Ok(()),
        }
    }

    async fn start(&self) -> Result<Rc<Coordinator>, SessionError> {
        let host = Host {
            factory: self.launcher.clone(),
            clock: Rc::new(TokioClock::new()),
            budgets: CallBudgets::default(),
            store: None,
            observer: None,
        };
        let composition = counter_launch::composition(self.arguments).map_err(|error| {
            SessionError::Composition {
                reason: error.to_string(),
            }
        })?;
        let session = Rc::new(Coordinator::new(composition, host).await?);
        let sink = self.trace.map(|trace| trace.clone() as Rc<dyn TraceSink>);
        session.set_trace_sink(sink);
        self.launcher.watch(&session);
        session.bootstrap().await?;
        Ok(session)
    }
}

/// A line that says how far the session is, until it is dropped.
struct ShownProgress(AbortHandle, Rc<RefCell<Option<ProgressLine>>>);

fn show_progress(console: &Console, session: &Rc<Coordinator>, steps: u64) -> ShownProgress {
    let line = Rc::new(RefCell::new(Some(ProgressLine::new(console, "stepping"))));
    let (shown, session) = (line.clone(), Rc::downgrade(session));
    let showing = tokio::task::spawn_local(async move {
        loop {
            tokio::time::sleep(LOOK).await;
            let Some(session) = session.upgrade() else {
                return;
            };
            if let Some(line) = shown.borrow_mut().as_mut() {
                line.show_steps(session.status().boundary, steps);
            }
        }
    });
    ShownProgress(showing.abort_handle(), line)
}

impl Drop for ShownProgress {
    fn drop(&mut self) {
        self.0.abort();
        // What is drawn goes now, not when the task is.
        self.1.take();
    }
}

impl Reached {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a rate, for which a float is exact enough"
    )]
    fn of(session: &Coordinator, elapsed: Duration) -> Self {
        let status = session.status();
        let behaviour = session.behaviour_digest();
        let seconds = elapsed.as_secs_f64();
        Self {
            phase: status.phase,
            boundary: U64(status.boundary),
            epoch: status.epoch,
            steps: U64(status.advances),
            seconds,
            steps_per_second: status.advances as f64 / seconds.max(1e-9),
            behaviour: BehaviourReport {
                from: U64(behaviour.from),
                length: U64(behaviour.length),
                digest: behaviour.digest,
            },
        }
    }
}

impl From<&Reaped> for End {
    fn from(reaped: &Reaped) -> Self {
        Self {
            participant_id: reaped.participant_id.clone(),
            incarnation_id: reaped.incarnation_id.clone(),
            outcome: reaped.outcome,
            ending: reaped.ending.clone(),
        }
    }
}

/// The answer for a person.
fn tell(came: &Came, console: &mut Console) {
    if let Some(reached) = &came.reached {
        console.say(&format!(
            "{} of epoch {}, boundary {}: {} steps in {:.3} s, {:.0} a second",
            reached.phase,
            reached.epoch,
            reached.boundary,
            reached.steps,
            reached.seconds,
            reached.steps_per_second,
        ));
        let BehaviourReport {
            from,
            length,
            digest,
        } = &reached.behaviour;
        console.say(&format!(
            "behaviour of {length} transitions from boundary {from}: {digest}"
        ));
    }
    if came.interrupted {
        console.say("interrupted");
    }
    for end in &came.ends {
        if end.outcome != ReapOutcome::Stopped {
            console.say(&format!(
                "{} {}: it {}",
                end.participant_id, end.outcome, end.ending
            ));
        }
    }
}
