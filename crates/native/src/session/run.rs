//! `wellwritten session run`: from the first participant to the last.

use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::time::Instant;

use futures::future::{Either, select};
use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::LocalSet;
use wellwritten_native::{Launcher, TokioClock};
use wellwritten_session::{
    CallBudgets, Coordinator, Host, Id, RestoreRequest, SessionError, TraceSink, WriterConfig,
};

use super::counter_launch;
use super::interruption::Interruption;
use super::run_report::{self, Came, End, Reached, Resumed};
use super::run_store::RunStore;
use super::shown_progress::ShownProgress;
use super::stepping::Stepping;
use super::trace_file::TraceFile;
use crate::arguments::{ModeArgument, RunArguments, TransportArgument};
use crate::console::Console;
use crate::exit_status::ExitStatus;
use crate::run_error::RunError;

/// Runs one command to its end.
pub fn run(arguments: &RunArguments, console: &mut Console) -> ExitStatus {
    let mut came = Came::default();
    let transport = transport_of(arguments);
    let outcome = transport.and_then(|transport| host(arguments, transport, console, &mut came));
    let trace = arguments.trace.as_deref();
    run_report::answer(came, trace, outcome.as_ref().err(), console)
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

/// A file that would grow beyond the user's limit is then an error of writing it, and not the end of this process. Where the
/// system lets nobody hear of it, it stays that.
fn survive_the_limit_of_files() {
    let beyond_limit = SignalKind::from_raw(Signal::XFSZ.as_raw());
    // Hearing of it once makes it harmless for good.
    drop(signal(beyond_limit));
}

/// Begins what may be refused first, the trace's file and the store, and gives the file its name last.
async fn attempt(
    arguments: &RunArguments,
    transport: TransportArgument,
    console: &Console,
    came: &mut Came,
) -> Result<(), RunError> {
    let interruption = Interruption::listen().map_err(system("Ctrl-C cannot be heard"))?;
    survive_the_limit_of_files();
    let create = |path| TraceFile::create(path, arguments.force);
    let trace = arguments.trace.as_deref().map(create).transpose()?;
    let store = RunStore::open(arguments, console, came).await?;
    let launcher = counter_launch::launcher(arguments, transport)?;
    let live = Live {
        arguments,
        launcher: &launcher,
        interruption: &interruption,
        trace: trace.as_ref(),
        store: store.as_ref(),
    };
    let stepped = live.run(console, came).await;
    came.interrupted = interruption.is_asked();
    let reaped = launcher.shutdown().await;
    came.ends = reaped.iter().map(End::from).collect();
    let saved = match store {
        Some(store) => store.close(came).await,
        None => Ok(()),
    };
    if let Some(trace) = trace {
        trace.publish()?;
    }
    stepped.and(saved)
}

/// A session from its start to its end.
struct Live<'a> {
    arguments: &'a RunArguments,
    launcher: &'a Rc<Launcher>,
    interruption: &'a Interruption,
    trace: Option<&'a Rc<TraceFile>>,
    store: Option<&'a RunStore>,
}

impl Live<'_> {
    async fn run(&self, console: &Console, came: &mut Came) -> Result<(), RunError> {
        let session = {
            let starting = pin!(self.start(console, came));
            match select(starting, pin!(self.interruption.asked())).await {
                Either::Left((session, _)) => session?,
                Either::Right(_) => return Ok(()),
            }
        };
        self.interruption.concerns(&session);
        let from = session.status().boundary;
        let until = self.arguments.until.unwrap_or_else(|| {
            let steps = self.arguments.steps.unwrap_or_default();
            from.saturating_add(steps)
        });
        let began = Instant::now();
        let progress = ShownProgress::new(console, &session, from..until);
        let stepping = Stepping {
            session: &session,
            rate: self.arguments.rate,
            until,
            interruption: self.interruption,
            store: self.store,
        };
        let stepped = stepping.run().await;
        let elapsed = began.elapsed();
        drop(progress);
        came.reached = Some(Reached::of(&session, elapsed));
        stepped.map_err(RunError::Failed)
    }

    async fn start(&self, console: &Console, came: &mut Came) -> Result<Rc<Coordinator>, RunError> {
        let host = Host {
            factory: self.launcher.clone(),
            clock: Rc::new(TokioClock::new()),
            budgets: CallBudgets::default(),
            store: self.store.map(RunStore::client),
            saves: WriterConfig::default(),
            observer: self.store.map(RunStore::observer),
        };
        let composition = counter_launch::composition(self.arguments).map_err(|error| {
            RunError::NotStarted(SessionError::Composition {
                reason: error.to_string(),
            })
        })?;
        let session = Coordinator::new(composition, host).await;
        let session = Rc::new(session.map_err(RunError::NotStarted)?);
        let sink = self.trace.map(|trace| trace.clone() as Rc<dyn TraceSink>);
        session.set_trace_sink(sink);
        self.launcher.watch(&session);
        let begins = |store: &&RunStore| self.arguments.or_begin && store.is_empty();
        let goes_on = self.store.filter(|store| !begins(store));
        match goes_on.zip(self.arguments.resume.as_ref()) {
            Some((store, from)) => {
                let from = from.clone();
                self.resume(&session, store, from, console, came).await?;
            }
            None => {
                session.bootstrap().await.map_err(RunError::NotStarted)?;
            }
        }
        Ok(session)
    }

    /// Goes on from the checkpoint that is named, or from the newest whole one that fits.
    async fn resume(
        &self,
        session: &Coordinator,
        store: &RunStore,
        checkpoint_id: Option<Id>,
        console: &Console,
        came: &mut Came,
    ) -> Result<(), RunError> {
        let request = RestoreRequest {
            checkpoint_id,
            fallback: true,
            ..RestoreRequest::default()
        };
        let restored = session.restore(request).await;
        let report = restored.map_err(|source| store.not_resumed(source))?;
        store.resumed_at(report.boundary);
        let resumed = Resumed::from(report);
        resumed.tell(&mut console.clone());
        came.resumed = Some(resumed);
        // Where the episode was over there is nothing to go on with, and that is said at the end.
        match session.resume() {
            Ok(_) | Err(SessionError::EpisodeOver { .. }) => Ok(()),
            Err(error) => Err(RunError::Failed(error)),
        }
    }
}
