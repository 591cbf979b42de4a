//! [`serve_environment`], [`serve_agent`]: a participant as a program of its own.

use std::io;
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use rustix::process::{Signal, getuid, set_parent_process_death_signal};
use tokio::runtime;
use tokio::task::LocalSet;
use wellwritten_session::wire::{ServeEnd, serve};
use wellwritten_session::{Agent, Environment, ParticipantError, Role};

use crate::invitation::Invitation;
use crate::{Incarnation, Made, Participant, UnixChannel};

/// Why a program serves no participant.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The program was not started by a launcher. Only a launcher can start it.
    #[error(
        "{variable} is not set: this program serves a participant, and is started by a session's launcher"
    )]
    NotInvited {
        /// What is missing.
        variable: &'static str,
    },
    /// What the launcher set makes no sense.
    #[error("{variable} is {value:?}, which makes no sense")]
    Invitation {
        /// Which variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// It is to be something else than the program is.
    #[error("this program serves an {served}, and is to be an {wanted}")]
    Role {
        /// What it serves.
        served: Role,
        /// What is wanted.
        wanted: Role,
    },
    /// Whoever listens at the socket is another user.
    #[error("the socket belongs to user {found}, this program runs as {expected}")]
    Stranger {
        /// The other user.
        found: u32,
        /// This user.
        expected: u32,
    },
    /// The participant could not be made.
    #[error("{0}")]
    Refused(#[from] ParticipantError),
    /// The socket could not be reached, or no runtime be built.
    #[error("{what}: {source}")]
    System {
        /// What was being done.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

/// Serves a world until the session shuts it down or is gone, and returns then: what is left to do is to exit.
///
/// For the `main` of a program of its own that a [`Launcher`](crate::Launcher) starts ([`Program`](crate::Program)). The
/// launcher's variables say where to connect and who to be. The launcher knows who connects by the process's id, which the
/// system vouches for; what it is, the session asks it (`Worker.Hello`). The participant is made after the connection stands,
/// within the launcher's boot deadline, and the program dies with the thread that started it.
///
/// ```no_run
/// use wellwritten_counter::{CounterComposition, CounterWorld, Faults};
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     // Here a world of your own: see `wellwritten_session::Environment`.
///     let world = CounterWorld::new(&CounterComposition::default(), 1, Faults::none())?;
///     wellwritten_native::serve_environment(|_| Box::new(world))?;
///     Ok(())
/// }
/// ```
pub fn serve_environment(
    make: impl FnOnce(&Incarnation) -> Box<dyn Environment>,
) -> Result<ServeEnd, ServeError> {
    serve_as(Role::Environment, |incarnation| {
        Participant::Environment(make(incarnation))
    })
}

/// Serves an agent: as [`serve_environment`], for [`Agent`].
pub fn serve_agent(
    make: impl FnOnce(&Incarnation) -> Box<dyn Agent>,
) -> Result<ServeEnd, ServeError> {
    serve_as(Role::Agent, |incarnation| {
        Participant::Agent(make(incarnation))
    })
}

/// Serves whatever the launcher asks for: a program that can be either.
pub fn serve_either(make: impl FnOnce(&Incarnation) -> Made) -> Result<ServeEnd, ServeError> {
    let invitation = Invitation::of_this_process()?;
    serve_invitation(&invitation, make)
}

fn serve_as(
    served: Role,
    make: impl FnOnce(&Incarnation) -> Participant,
) -> Result<ServeEnd, ServeError> {
    let invitation = Invitation::of_this_process()?;
    let wanted = invitation.incarnation.role;
    if wanted != served {
        return Err(ServeError::Role { served, wanted });
    }
    serve_invitation(&invitation, |incarnation| Ok(make(incarnation)))
}

fn serve_invitation(
    Invitation {
        socket,
        incarnation,
    }: &Invitation,
    make: impl FnOnce(&Incarnation) -> Made,
) -> Result<ServeEnd, ServeError> {
    let system = |what| move |source| ServeError::System { what, source };
    // A participant that computes does not see its socket close; the system ends it with whoever started it.
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(io::Error::from)
        .map_err(system("the parent's end cannot be watched"))?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(system("no runtime"))?;
    let _entered = runtime.enter();
    let stream = UnixStream::connect(socket).map_err(system("the launcher's socket"))?;
    let credentials = rustix::net::sockopt::socket_peercred(&stream)
        .map_err(io::Error::from)
        .map_err(system("who listens at the launcher's socket"))?;
    let (found, expected) = (credentials.uid.as_raw(), getuid().as_raw());
    if found != expected {
        return Err(ServeError::Stranger { found, expected });
    }
    let channel = UnixChannel::from_std(stream).map_err(system("the launcher's socket"))?;
    let served = Rc::new(make(incarnation)?.into_runtime(incarnation));
    Ok(LocalSet::new().block_on(&runtime, serve(served, channel)))
}
