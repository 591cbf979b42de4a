//! [`Bench`]: where forged checkpoints are tried, and what must become of each.

use std::rc::Rc;

use wellwritten_counter::WORLD;
use wellwritten_session::{ErrorCode, Phase, RestoreRequest, SessionError};

use crate::forgery::Forgery;
use crate::play::{Play, Setup, id};
use crate::scenario_failure::{holds, refused, same};
use crate::{ScenarioFailure, Stage, Verdict};

use super::fencing::{fail, failed, good_restores, tainted};
use super::resuming::to;

/// Everything that a checkpoint of two agents is made of.
pub(super) const PAYLOADS: [&str; 8] = [
    WORLD,
    "agent-fly-a",
    "agent-fly-b",
    "task-ledger",
    "prior-inspection",
    "executor-fly-a",
    "executor-fly-b",
    "coordinator-admission",
];

/// Who notices, and what is left behind then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noticed {
    /// The coordinator, before it asks anybody.
    Before,
    /// The same, by another payload that it contradicts.
    BeforeBy(&'static str),
    /// The participant whose payload it is, which says that nothing changed.
    ByItsOwner,
    /// The coordinator, by what the participant found in its payload.
    ByComparison(&'static str),
}

/// Who reads a payload that is broken as such.
pub(super) fn reader(payload: &str) -> Noticed {
    if payload == WORLD || payload.starts_with("agent-") {
        Noticed::ByItsOwner
    } else {
        Noticed::Before
    }
}

fn owner(payload: &str) -> &str {
    payload.strip_prefix("agent-").unwrap_or(payload)
}

impl Noticed {
    /// Those that staged or may have: the world goes first, the agents are asked at once.
    fn tainted(self, payload: &str) -> Vec<&str> {
        let everyone = ["fly-a", "fly-b", WORLD];
        let of = |all: &dyn Fn(&str) -> bool| everyone.into_iter().filter(|it| all(it)).collect();
        match self {
            Self::Before | Self::BeforeBy(_) => Vec::new(),
            Self::ByItsOwner if payload == WORLD => Vec::new(),
            Self::ByItsOwner => of(&|it| it != owner(payload)),
            Self::ByComparison(WORLD) => of(&|it| it == WORLD),
            Self::ByComparison(_) => of(&|_| true),
        }
    }

    /// The payload that is named where no participant is.
    fn named(self, payload: &str) -> Option<&str> {
        match self {
            Self::Before => Some(payload),
            Self::BeforeBy(other) => Some(other),
            _ => None,
        }
    }

    /// Who is blamed by name.
    fn blamed(self, payload: &str) -> Option<&str> {
        match self {
            Self::Before | Self::BeforeBy(_) => None,
            Self::ByItsOwner => Some(owner(payload)),
            Self::ByComparison(worker) => Some(worker),
        }
    }
}

/// A failed session with a checkpoint `good`, and how many forgeries of it were tried.
pub(super) struct Bench {
    pub play: Play,
    tried: u32,
}

impl Bench {
    pub(super) async fn new(stage: &Rc<dyn Stage>) -> Result<Self, ScenarioFailure> {
        let play = failed(stage, Setup::default()).await?;
        let store = play.store()?.client();
        // What is forged later never pushes it out.
        let pinned = store.set_pinned(&id("good"), true).await;
        pinned.map_err(|error| ScenarioFailure::new("a pin", error.to_string()))?;
        Ok(Self { play, tried: 0 })
    }

    /// Commits a forgery of `good` and gives the request that restores it.
    pub(super) async fn forge(
        &mut self,
        forgery: Forgery<'_>,
    ) -> Result<RestoreRequest, ScenarioFailure> {
        self.tried += 1;
        let store = self.play.store()?.client();
        let name = format!("forged-{}", self.tried);
        forgery.commit(&store, "good", &name).await?;
        // Dropped when there are more of them: a store holds only so many for good.
        let unpinned = store.set_pinned(&id(&name), false).await;
        unpinned.map_err(|error| ScenarioFailure::new("no pin", error.to_string()))?;
        Ok(to(&name, &format!("try-{}-x", self.tried)))
    }

    /// A forgery is refused explicitly, by who reads it; nobody runs the proposed epoch; the fence stays closed; exactly
    /// those that staged or may have are tainted, and no restore is possible before they are replaced.
    pub(super) async fn is_refused(
        &mut self,
        what: &str,
        forgery: Forgery<'_>,
        noticed: Noticed,
    ) -> Verdict {
        let payload = forgery.payload;
        let request = self.forge(forgery).await?;
        let epoch = request.epoch.clone();
        let play = &self.play;
        let _ = play.tap.drain();
        let Err(error) = play.session.restore(request).await else {
            let phase = play.session.phase();
            return Err(ScenarioFailure::new(format!("{what} to be refused"), phase));
        };
        let incompatible = (error.code(), play.session.phase());
        let due = (ErrorCode::IncompatibleState, Phase::Failed);
        same(&format!("{what}: {error}:"), &incompatible, &due)?;
        let blamed = error.participant().map(|it| it.as_str().to_owned());
        let due = noticed.blamed(payload).map(str::to_owned);
        same(&format!("{what}: {error}: blamed,"), &blamed, &due)?;
        let named = noticed.named(payload);
        let is_named = named.is_none_or(|it| error.to_string().contains(it));
        holds(
            &format!("{what}: the payload to be named"),
            is_named,
            error.to_string(),
        )?;
        let entries = play.tap.entries();
        let staging = entries.iter().any(|it| it.method() == "State.StageRestore");
        same(
            &format!("{what}: asked to stage,"),
            &staging,
            &named.is_none(),
        )?;
        let activating = entries
            .iter()
            .any(|it| it.method() == "State.ActivateRestore");
        holds(&format!("{what}: nobody to be activated"), !activating, ())?;
        for worker in play.workers() {
            let scope = play.status_of(worker).await?.current_scope;
            let runs = scope.is_some_and(|scope| Some(scope.epoch) == epoch);
            holds(
                &format!("{what}: {worker} not to run in that epoch"),
                !runs,
                (),
            )?;
        }
        let due: Vec<String> = noticed
            .tainted(payload)
            .into_iter()
            .map(str::to_owned)
            .collect();
        same(&format!("{what}: tainted,"), &tainted(play), &due)?;
        self.replace_the_tainted(&error).await
    }

    async fn replace_the_tainted(&self, error: &SessionError) -> Verdict {
        let play = &self.play;
        let tainted = tainted(play);
        if tainted.is_empty() {
            return Ok(());
        }
        let again = play.session.restore(RestoreRequest::default()).await;
        let again = refused(
            "a restore before they are replaced",
            again,
            ErrorCode::InvalidPhase,
        )?;
        let text = again.to_string();
        let are_named = tainted.iter().all(|worker| text.contains(worker));
        holds(
            "the tainted to be named",
            are_named,
            (text, error.to_string()),
        )?;
        for worker in tainted {
            play.session.replace_participant(&id(&worker)).await?;
        }
        Ok(())
    }

    /// The intact bytes restore and step; and then the epoch fails again.
    pub(super) async fn intact_restores(&self) -> Verdict {
        good_restores(&self.play).await?;
        fail(&self.play)
    }
}
