//! [`Recipe`]: how to start a participant, as often as it takes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use wellwritten_session::{Agent, Environment, ParticipantError, ParticipantRuntime};

use crate::Incarnation;

/// A participant, made and not initialized.
pub enum Participant {
    /// A world.
    Environment(Box<dyn Environment>),
    /// An agent.
    Agent(Box<dyn Agent>),
    /// Either, with the runtime around it, which was made for this very life.
    Runtime(Box<ParticipantRuntime>),
}

impl Participant {
    /// The runtime around it, for one life.
    pub(crate) fn into_runtime(self, incarnation: &Incarnation) -> ParticipantRuntime {
        let session_id = incarnation.session_id.clone();
        let incarnation_id = incarnation.incarnation_id.clone();
        match self {
            Self::Environment(environment) => {
                ParticipantRuntime::environment(session_id, incarnation_id, environment)
            }
            Self::Agent(agent) => ParticipantRuntime::agent(session_id, incarnation_id, agent),
            Self::Runtime(runtime) => *runtime,
        }
    }
}

impl From<Box<dyn Environment>> for Participant {
    fn from(environment: Box<dyn Environment>) -> Self {
        Self::Environment(environment)
    }
}

impl From<Box<dyn Agent>> for Participant {
    fn from(agent: Box<dyn Agent>) -> Self {
        Self::Agent(agent)
    }
}

impl From<ParticipantRuntime> for Participant {
    fn from(runtime: ParticipantRuntime) -> Self {
        Self::Runtime(Box::new(runtime))
    }
}

/// What making one comes to.
pub type Made = Result<Participant, ParticipantError>;

/// A program of its own that serves one participant: see [`serve_environment`](crate::serve_environment) and
/// [`serve_agent`](crate::serve_agent).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The executable. It must serve in the very process that is started: a wrapper has to `exec` it.
    pub path: PathBuf,
    /// Its arguments, without its name.
    pub arguments: Vec<OsString>,
    /// Variables it gets besides those of this program, and besides the ones that say where to connect.
    pub environment: Vec<(OsString, OsString)>,
}

impl Program {
    /// A program without arguments or variables.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
        }
    }

    /// The same program with one more argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }
}

/// Where a participant runs, and how requests reach it.
#[derive(Clone)]
pub enum Place {
    /// On the coordinator's thread, reached without a copy.
    Direct(Rc<dyn Fn(&Incarnation) -> Made>),
    /// On the coordinator's thread, reached over a pair of connected sockets: every message is written and read as between
    /// programs.
    SocketPair(Rc<dyn Fn(&Incarnation) -> Made>),
    /// On a thread of its own, where it is also made, reached over a pair of connected sockets.
    Thread(Arc<dyn Fn(&Incarnation) -> Made + Send + Sync>),
    /// In a process of its own, reached over a socket.
    Process(Program),
}

/// How to start a participant, as often as it takes: at the beginning, and whenever its epoch failed.
#[derive(Clone)]
pub struct Recipe {
    /// Where it runs.
    pub place: Place,
    /// How many threads it is given, itself included; at least 1.
    pub threads: usize,
}

impl Recipe {
    /// A participant on the coordinator's thread, reached without a copy.
    pub fn direct(make: impl Fn(&Incarnation) -> Made + 'static) -> Self {
        Self::at(Place::Direct(Rc::new(make)))
    }

    /// A participant on the coordinator's thread, reached over a pair of sockets.
    pub fn socket_pair(make: impl Fn(&Incarnation) -> Made + 'static) -> Self {
        Self::at(Place::SocketPair(Rc::new(make)))
    }

    /// A participant on a thread of its own.
    pub fn thread(make: impl Fn(&Incarnation) -> Made + Send + Sync + 'static) -> Self {
        Self::at(Place::Thread(Arc::new(make)))
    }

    /// A participant in a process of its own.
    #[must_use]
    pub fn process(program: Program) -> Self {
        Self::at(Place::Process(program))
    }

    /// A participant that runs at `place`, with one thread.
    #[must_use]
    pub fn at(place: Place) -> Self {
        Self { place, threads: 1 }
    }

    /// The same with `threads` threads.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }
}
