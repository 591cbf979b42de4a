//! How a process that was started learns where to connect and who to be.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use wellwritten_session::{Id, Role};

use crate::{Incarnation, ServeError};

/// The variables a launcher sets for a process it starts.
const SOCKET: &str = "WELLWRITTEN_SOCKET";
const SESSION: &str = "WELLWRITTEN_SESSION";
const PARTICIPANT: &str = "WELLWRITTEN_PARTICIPANT";
const INCARNATION: &str = "WELLWRITTEN_INCARNATION";
const LIFE: &str = "WELLWRITTEN_LIFE";
const ROLE: &str = "WELLWRITTEN_ROLE";
const THREADS: &str = "WELLWRITTEN_THREADS";

/// Where to connect, and as whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Invitation {
    pub socket: PathBuf,
    pub incarnation: Incarnation,
}

impl Invitation {
    /// What to set for the process.
    pub(crate) fn variables(
        socket: &Path,
        incarnation: &Incarnation,
    ) -> [(&'static str, OsString); 7] {
        [
            (SOCKET, socket.as_os_str().to_owned()),
            (SESSION, incarnation.session_id.as_str().into()),
            (PARTICIPANT, incarnation.participant_id.as_str().into()),
            (INCARNATION, incarnation.incarnation_id.as_str().into()),
            (LIFE, incarnation.life.to_string().into()),
            (ROLE, role_name(incarnation.role).into()),
            (THREADS, incarnation.threads.to_string().into()),
        ]
    }

    /// What was set for this process.
    pub(crate) fn of_this_process() -> Result<Self, ServeError> {
        Self::from_variables(|name| env::var_os(name))
    }

    fn from_variables(get: impl Fn(&str) -> Option<OsString>) -> Result<Self, ServeError> {
        let value = |name: &'static str| get(name).ok_or(ServeError::NotInvited { variable: name });
        let text = |name: &'static str| {
            let value = value(name)?;
            value.into_string().map_err(|value| ServeError::Invitation {
                variable: name,
                value: value.to_string_lossy().into_owned(),
            })
        };
        let refuse = |variable, value: String| ServeError::Invitation { variable, value };
        let id = |name: &'static str| {
            let text = text(name)?;
            Id::parse(&text).map_err(|_| refuse(name, text))
        };
        let role = text(ROLE)?;
        let (life, threads) = (text(LIFE)?, text(THREADS)?);
        Ok(Self {
            socket: value(SOCKET)?.into(),
            incarnation: Incarnation {
                session_id: id(SESSION)?,
                participant_id: id(PARTICIPANT)?,
                incarnation_id: id(INCARNATION)?,
                life: life.parse().map_err(|_| refuse(LIFE, life))?,
                role: [Role::Environment, Role::Agent]
                    .into_iter()
                    .find(|known| role_name(*known) == role)
                    .ok_or_else(|| refuse(ROLE, role))?,
                threads: threads
                    .parse()
                    .ok()
                    .filter(|threads| *threads > 0)
                    .ok_or_else(|| refuse(THREADS, threads))?,
            },
        })
    }
}

const fn role_name(role: Role) -> &'static str {
    match role {
        Role::Environment => "environment",
        Role::Agent => "agent",
    }
}

#[cfg(test)]
mod tests {
    //! Oracle: what was written down, read again; and each variable spoiled in turn.

    use std::collections::BTreeMap;
    use std::ffi::OsString;
    use std::path::Path;

    use wellwritten_session::{Id, Role};

    use super::Invitation;
    use crate::{Incarnation, ServeError};

    #[test]
    fn an_invitation_is_read_as_it_was_written_and_not_at_all_where_it_is_spoiled() {
        let id = |text| Id::parse(text).unwrap();
        let incarnation = Incarnation {
            session_id: id("demo"),
            participant_id: id("fly-a"),
            incarnation_id: id("incarnation-7"),
            life: 3,
            role: Role::Agent,
            threads: 2,
        };
        let socket = Path::new("/somewhere/socket");
        let written: BTreeMap<&str, OsString> = Invitation::variables(socket, &incarnation)
            .into_iter()
            .collect();
        let read = Invitation::from_variables(|name| written.get(name).cloned()).unwrap();
        assert_eq!(
            (read.socket.as_path(), read.incarnation),
            (socket, incarnation)
        );
        for spoiled in written.keys() {
            let get = |name: &str| written.get(name).filter(|_| name != *spoiled).cloned();
            assert!(
                matches!(
                    Invitation::from_variables(get),
                    Err(ServeError::NotInvited { variable }) if variable == *spoiled
                ),
                "{spoiled}"
            );
            if spoiled.ends_with("SOCKET") {
                continue;
            }
            let get = |name: &str| {
                if name == *spoiled {
                    Some("No Id/".into())
                } else {
                    written.get(name).cloned()
                }
            };
            assert!(
                matches!(
                    Invitation::from_variables(get),
                    Err(ServeError::Invitation { variable, .. }) if variable == *spoiled
                ),
                "{spoiled}"
            );
        }
    }
}
