//! [`SessionQueries`]: questions about what was published, for anyone, in the session's own words or in messages.

use std::rc::Rc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use wellwritten_envelope::{Id, U64, from_json};

use crate::publication::publisher::Publisher;
use crate::{CommittedSnapshot, QueryError, SessionDescriptor};

/// What a question was answered with. Both are shared, and both serialize to their message.
#[derive(Clone, Debug)]
pub enum QueryAnswer {
    /// Of `Session.GetDescriptor`.
    Descriptor(Rc<SessionDescriptor>),
    /// Of `Session.GetSnapshot`; the artifacts it refers to travel beside it ([`CommittedSnapshot::attachments`]).
    Snapshot(Rc<CommittedSnapshot>),
}

impl Serialize for QueryAnswer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Descriptor(descriptor) => descriptor.serialize(serializer),
            Self::Snapshot(snapshot) => snapshot.serialize(serializer),
        }
    }
}

/// Answers questions about what was published. It reads what stands and can reach no participant and no state of the
/// session; it may outlive the session, and then says that nothing is published.
#[derive(Clone)]
pub struct SessionQueries {
    session_id: Id,
    publisher: std::rc::Weak<Publisher>,
}

impl SessionQueries {
    /// Name of the question for what the session is made of.
    pub const GET_DESCRIPTOR: &'static str = "Session.GetDescriptor";
    /// Name of the question for the latest committed boundary.
    pub const GET_SNAPSHOT: &'static str = "Session.GetSnapshot";

    pub(crate) fn new(session_id: Id, publisher: &Rc<Publisher>) -> Self {
        Self {
            session_id,
            publisher: Rc::downgrade(publisher),
        }
    }

    /// The session.
    #[must_use]
    pub const fn session_id(&self) -> &Id {
        &self.session_id
    }

    /// Which life of the publisher answers; `publisher` before and after all of them.
    #[must_use]
    pub fn incarnation(&self) -> Id {
        let publisher = self.publisher.upgrade();
        let incarnation = publisher.and_then(|publisher| publisher.incarnation());
        incarnation.unwrap_or_else(|| Id::parse("publisher").expect("a legal id"))
    }

    /// What the session is made of: the revision asked for, or the last one.
    pub fn descriptor(&self, revision: Option<u64>) -> Result<Rc<SessionDescriptor>, QueryError> {
        let publisher = self.publisher.upgrade();
        publisher
            .ok_or(QueryError::NothingPublished)?
            .descriptor(revision)
    }

    /// The latest committed boundary that was published.
    pub fn snapshot(&self) -> Result<Rc<CommittedSnapshot>, QueryError> {
        let publisher = self.publisher.upgrade();
        publisher.ok_or(QueryError::NothingPublished)?.snapshot()
    }

    /// Answers a method of a message: `Session.GetDescriptor {revision?}` or `Session.GetSnapshot {}`. Any other method is
    /// `UNSUPPORTED`, any other parameter `INVALID_ARGUMENT`.
    pub fn answer(&self, method: &str, params: &Value) -> Result<QueryAnswer, QueryError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct GetDescriptor {
            #[serde(default)]
            revision: Option<U64>,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct GetSnapshot {}
        match method {
            Self::GET_DESCRIPTOR => {
                let asked: GetDescriptor = parameters(Self::GET_DESCRIPTOR, params)?;
                let revision = asked.revision.map(|revision| revision.0);
                self.descriptor(revision).map(QueryAnswer::Descriptor)
            }
            Self::GET_SNAPSHOT => {
                let GetSnapshot {} = parameters(Self::GET_SNAPSHOT, params)?;
                self.snapshot().map(QueryAnswer::Snapshot)
            }
            _ => Err(QueryError::UnknownMethod {
                method: method.chars().take(64).collect(),
            }),
        }
    }
}

/// The parameters of a method: an object of exactly its fields.
fn parameters<T: serde::de::DeserializeOwned>(
    method: &'static str,
    params: &Value,
) -> Result<T, QueryError> {
    let refuse = |reason: String| QueryError::Parameters { method, reason };
    if !params.is_object() {
        return Err(refuse("they are not an object".to_owned()));
    }
    from_json(params.clone()).map_err(|error| refuse(error.to_string()))
}
