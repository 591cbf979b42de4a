//! `wellwritten session participant`: one participant, in the process that `session run` started for it.

use wellwritten_counter::CounterComposition;
use wellwritten_native::serve_either;

use super::counter_launch;
use crate::arguments::ParticipantArguments;
use crate::console::Console;
use crate::exit_status::ExitStatus;

/// Serves until the session is over.
pub fn run(arguments: &ParticipantArguments, console: &mut Console) -> ExitStatus {
    let counter: CounterComposition = match serde_json::from_str(&arguments.counter) {
        Ok(counter) => counter,
        Err(error) => {
            console.complain(&format!("--counter: {error}"));
            return ExitStatus::Usage;
        }
    };
    let served = serve_either(|incarnation| {
        let mut incarnation = incarnation.clone();
        incarnation.life = arguments.life.unwrap_or(incarnation.life);
        counter_launch::participant(&counter, &incarnation)
    });
    match served {
        Ok(_) => ExitStatus::Sound,
        Err(error) => {
            console.complain(&error.to_string());
            ExitStatus::Io
        }
    }
}
