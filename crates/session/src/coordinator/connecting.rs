//! Building participants, and building them anew after a failure.

use std::rc::Rc;

use wellwritten_envelope::{Id, sort_few_by};

use crate::contract::contract_digest;
use crate::coordinator::Fault;
use crate::coordinator::asking::Unanswered;
use crate::declaration_rules::{check_agent, check_environment};
use crate::hello::{AGENT_STEP, WORLD_STEP};
use crate::id_list::IdList;
use crate::session_state::Link;
use crate::{
    Answer, Call, Coordinator, Description, ErrorCode, Hello, HelloResult, PROTOCOL_MAJOR,
    ParticipantError, Phase, Role, SessionError, Status,
};

impl Coordinator {
    /// Builds every participant and asks each who it is. Nothing is kept unless all of them answered.
    pub(crate) async fn connect_all(&self) -> Result<(), SessionError> {
        let old = self.links();
        let mut fresh = Unsettled(Vec::with_capacity(old.len()));
        for (index, link) in old.iter().enumerate() {
            let role = if index == 0 {
                Role::Environment
            } else {
                Role::Agent
            };
            fresh
                .0
                .push(self.connect(&link.participant_id, role).await?);
        }
        self.check_descriptions(&fresh.0)?;
        for link in &old {
            link.transport.close();
        }
        let mut state = self.state.borrow_mut();
        let mut fresh = std::mem::take(&mut fresh.0).into_iter();
        state.environment = fresh.next().expect("a session has an environment");
        for (slot, link) in state.agents.iter_mut().zip(fresh) {
            slot.link = link;
        }
        state.tainted.clear();
        Ok(())
    }

    pub(super) async fn connect(
        &self,
        participant_id: &Id,
        role: Role,
    ) -> Result<Link, SessionError> {
        let incarnation_id = {
            let mut state = self.state.borrow_mut();
            state.incarnations += 1;
            Id::parse(&format!("incarnation-{}", state.incarnations)).expect("a legal id")
        };
        let refused = |error| SessionError::Refused {
            participant: participant_id.clone(),
            error,
        };
        let transport = match role {
            Role::Environment => self.factory.make_environment(&incarnation_id).await,
            Role::Agent => {
                self.factory
                    .make_agent(participant_id, &incarnation_id)
                    .await
            }
        }
        .map_err(refused)?;
        let mut built = Unsettled(vec![Link {
            participant_id: participant_id.clone(),
            incarnation_id,
            transport,
            description: None,
            compatibility_digest: wellwritten_envelope::Digest::from_bytes([0; 32]),
        }]);
        let link = &mut built.0[0];
        let description = self
            .hello(link, role)
            .await
            .map_err(|unanswered| refused(unanswered.into_fault().error))?;
        link.compatibility_digest = description.compatibility_digest().map_err(|error| {
            refused(ParticipantError::refused(
                ErrorCode::InvalidArgument,
                error.to_string(),
            ))
        })?;
        link.description = Some(Rc::new(description));
        Ok(built.0.pop().expect("the one that was built"))
    }

    /// Asks a participant who it is.
    pub(crate) async fn hello(&self, link: &Link, role: Role) -> Result<Description, Unanswered> {
        let call = Call::Hello(Hello {
            session_id: self.session_id.clone(),
            expected_worker_id: link.participant_id.clone(),
            role,
            supported_majors: vec![PROTOCOL_MAJOR],
        });
        let Answer::Hello(hello) = self.ask(link, self.next_request_id(), None, call).await? else {
            return Err(Self::wrong_answer(link, "Worker.Hello"));
        };
        check_hello(link, role, &hello)
    }

    /// The declared ports must be exactly the assigned ones, and every declaration within its bounds.
    pub(super) fn check_descriptions(&self, links: &[Link]) -> Result<(), SessionError> {
        let refuse = |reason: String| Err(SessionError::Composition { reason });
        let descriptor = links[0].descriptor();
        let declarations = std::iter::once(check_environment(descriptor))
            .chain(links[1..].iter().map(|link| check_agent(link.profile())));
        for (link, checked) in links.iter().zip(declarations) {
            checked.map_err(|source| SessionError::Declaration {
                participant: link.participant_id.clone(),
                source,
            })?;
        }
        let mut declared: Vec<&Id> = descriptor.ports.iter().map(|port| &port.port_id).collect();
        sort_few_by(&mut declared, Ord::cmp);
        let state = self.state.borrow();
        let mut assigned: Vec<&Id> = state.agents.iter().map(|slot| &slot.port_id).collect();
        sort_few_by(&mut assigned, Ord::cmp);
        if declared != assigned {
            return refuse(format!(
                "the world has ports {}, the agents are assigned {}",
                IdList(&declared.into_iter().cloned().collect::<Vec<_>>()),
                IdList(&assigned.into_iter().cloned().collect::<Vec<_>>())
            ));
        }
        Ok(())
    }

    /// Builds every participant anew, each under a new incarnation, so that a group restore can follow. Only while
    /// the epoch has failed; the old ones are cut off for good.
    pub async fn replace_participants(&self) -> Result<Status, SessionError> {
        let guard = self.begin("replacing participants")?;
        if self.phase() != Phase::Failed {
            return Err(self.refuse_phase("replacing participants"));
        }
        self.connect_all().await?;
        drop(guard);
        Ok(self.status())
    }
}

/// Participants that were built and do not take part yet: cut off where they never will, so that none is left running.
struct Unsettled(Vec<Link>);

impl Drop for Unsettled {
    fn drop(&mut self) {
        for link in &self.0 {
            link.transport.close();
        }
    }
}

/// What a participant answers must be what was asked for, in the messages this side reads and writes.
fn check_hello(link: &Link, role: Role, hello: &HelloResult) -> Result<Description, Unanswered> {
    let refuse = |code, message: String| {
        Err(Unanswered::Refused(Fault::of(
            link.participant_id.clone(),
            ParticipantError::refused(code, message),
        )))
    };
    let found = (hello.role, &hello.worker_id, &hello.incarnation_id);
    let expected = (role, &link.participant_id, &link.incarnation_id);
    if found != expected {
        let message = format!(
            "{role} {} of {} was expected, {} {} of {} answered",
            link.participant_id,
            link.incarnation_id,
            hello.role,
            hello.worker_id,
            hello.incarnation_id
        );
        return refuse(ErrorCode::IdentityMismatch, message);
    }
    if hello.selected_major != PROTOCOL_MAJOR {
        let message = format!(
            "version {} was selected, {PROTOCOL_MAJOR} was offered",
            hello.selected_major
        );
        return refuse(ErrorCode::Unsupported, message);
    }
    if hello.contract_digest != contract_digest() {
        let message = format!(
            "it speaks contract {}, this session speaks {}",
            hello.contract_digest,
            contract_digest()
        );
        return refuse(ErrorCode::IdentityMismatch, message);
    }
    let needed = match role {
        Role::Environment => WORLD_STEP,
        Role::Agent => AGENT_STEP,
    };
    if !hello
        .capabilities
        .iter()
        .any(|held| held.as_str() == needed)
    {
        return refuse(ErrorCode::Unsupported, format!("it is without {needed}"));
    }
    match hello.description() {
        Some(description) if *description.worker_id() == link.participant_id => Ok(description),
        _ => refuse(
            ErrorCode::IdentityMismatch,
            "it does not describe itself as what it is".to_owned(),
        ),
    }
}
