//! Going to a boundary of the recorded timeline: the nearest checkpoint, and the recorded inputs from there.

use wellwritten_envelope::{Id, decode};
use wellwritten_store::{
    GenerationFilter, GenerationInfo, GenerationList, ListedGeneration, SelectError, Selected,
    Selection, compatibility_digest,
};

use crate::coordinator::Fault;
use crate::coordinator::saving::Saves;
use crate::step_recording::{Noted, StepRecording};
use crate::{
    Admission, AdmissionEvent, Admitted, Coordinator, ErrorCode, ParticipantError, Phase,
    RecordedCheckpoint, RecordedSpan, RestoreReport, SeekCancel, SeekError, SeekProgress,
    SeekReport, SeekRequest, SessionError, SkippedGeneration,
};

/// The operation's name, while which nothing is admitted.
pub(crate) const SEEK: &str = "seek";

/// How long transitions are repeated without letting others in, in nanoseconds.
const LONGEST_TURN_NS: u64 = 8_000_000;

/// Pauses the session where a seek ends, however it ends.
struct Landing<'a>(&'a Coordinator);

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        // Taken with the operation's end; a boundary on which nothing stands keeps none.
        if self.0.phase().committed_boundary().is_some() {
            self.0.state.borrow_mut().pause_requested = true;
        }
    }
}

impl Coordinator {
    /// Goes to a boundary of the recorded timeline and pauses there.
    ///
    /// Ahead of the present, the recorded inputs are stepped with. Otherwise the epoch ends on purpose, the nearest whole
    /// checkpoint at or before the boundary is restored under a new one, and the recorded inputs are stepped with from
    /// there. Every repeated transition must do what was recorded, field by field, or the seek ends behind it as
    /// [`SeekError::Diverged`]. It is possible from `Ready` and `Paused`, and, where a checkpoint is restored, when the
    /// epoch has failed or nothing has begun.
    ///
    /// What cannot be done is refused before anything changes. `cancel`, or a pause, ends it at the next committed boundary.
    /// Stimuli are not admitted meanwhile. What was recorded beyond the boundary stays: going on as recorded repeats it,
    /// going on in another way begins a branch, and it is forgotten.
    pub async fn seek(
        &self,
        request: SeekRequest,
        progress: &dyn Fn(SeekProgress),
        cancel: &SeekCancel,
    ) -> Result<SeekReport, SeekError> {
        let guard = self.begin(SEEK)?;
        let phase = self.phase();
        let present = phase.committed_boundary();
        if present.is_none() && !matches!(phase, Phase::Failed | Phase::Starting) {
            return Err(self.refuse_phase(SEEK).into());
        }
        if cancel.is_cancelled() {
            return Err(SeekError::Cancelled);
        }
        let to = request.boundary;
        let mut report = SeekReport {
            from: present,
            boundary: to,
            restored: None,
            repeated: 0,
            cancelled: false,
        };
        let (from, landing) = match present {
            Some(present) if self.leads_on(present, to)? => (present, Landing(self)),
            _ => {
                let (restored, landing) = self.go_back(&request, cancel).await?;
                let from = restored.boundary;
                report.restored = Some(restored);
                (from, landing)
            }
        };
        self.repeat_steps(from, to, progress, cancel, &mut report)
            .await?;
        drop(landing);
        drop(guard);
        Ok(report)
    }

    /// What can be gone to.
    #[must_use]
    pub fn recorded(&self) -> RecordedSpan {
        let state = self.state.borrow();
        let (from, to) = state.recording.span();
        RecordedSpan {
            from,
            to,
            checkpoints: state.recording.checkpoints().to_vec(),
        }
    }

    /// Falsifies what is recorded of the transition that began at `boundary`, for a test that must notice.
    #[cfg(feature = "testing")]
    pub fn tamper_with_recording(&self, boundary: u64) -> bool {
        let mut state = self.state.borrow_mut();
        let step = state.recording.step_mut(boundary);
        step.map(crate::step_recording::RecordedStep::tamper)
            .is_some()
    }

    /// Whether the way from the present boundary is recorded, and nothing waits that is not part of it.
    fn leads_on(&self, present: u64, to: u64) -> Result<bool, SeekError> {
        let state = self.state.borrow();
        if !state.recording.leads(present, to) {
            return Ok(false);
        }
        let recorded = state.recording.step(present);
        let waiting = state.admissions.waiting();
        match recorded {
            Some(recorded) if present < to && !recorded.inputs.starts_with(waiting) => {
                Err(SeekError::InputsWait {
                    waiting: waiting.len(),
                })
            }
            _ => Ok(true),
        }
    }

    /// Restores the nearest checkpoint from which everything up to the boundary is recorded.
    async fn go_back(
        &self,
        request: &SeekRequest,
        cancel: &SeekCancel,
    ) -> Result<(RestoreReport, Landing<'_>), SeekError> {
        let saves = self.saves()?;
        self.require_untainted()?;
        self.saves_ended().await?;
        let list = saves.ask(saves.client.generations()).await;
        let list = list.map_err(SessionError::from)?;
        self.remember_lineage(&list);
        let to_epoch = self.fresh_epoch(request.epoch.as_ref()).await?;
        let (selected, skipped) = self.nearest_whole(saves, &list, request.boundary).await?;
        let envelope = decode(&selected.bytes).map_err(SessionError::from)?;
        let restored = self.restorable(&envelope, &to_epoch).await?;
        self.claim_epoch(&to_epoch).await?;
        if cancel.is_cancelled() {
            return Err(SeekError::Cancelled);
        }
        // Nothing has changed but that the epoch's name is used. From here on the session is another.
        let landing = Landing(self);
        if self.phase() != Phase::Starting {
            let message = format!("left on purpose, for boundary {}", request.boundary);
            self.fail(Fault {
                participant: None,
                error: ParticipantError::refused(ErrorCode::StaleEpoch, message),
            });
        }
        let mut report = self
            .restore_group(&envelope, &to_epoch, restored, skipped)
            .await?;
        report.store_warning = self.mark_resumed(&report.checkpoint_id).await;
        Ok((report, landing))
    }

    /// Checkpoints that other coordinators took on this timeline: those of an epoch that are no later than one that is known
    /// to be of it, since an epoch is one uninterrupted stretch. Of a coordinator that just came up, it is the timeline of
    /// the store's latest. What the store has beside its timeline may be of another run under the same names: an import.
    fn remember_lineage(&self, list: &GenerationList) {
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        let of_episode = || {
            list.generations.iter().filter(|one| {
                !one.abandoned
                    && (&one.info.session_id, &one.info.episode_id)
                        == (&self.session_id, &state.episode_id)
            })
        };
        if state.machine.phase() == Phase::Starting
            && let Some(latest) = of_episode().find(|one| one.is_latest)
        {
            remember(&mut state.recording, &latest.info);
        }
        for ListedGeneration { info, .. } in of_episode() {
            let known = state.recording.checkpoints();
            let is_of_it = known
                .iter()
                .any(|known| known.epoch == info.epoch && info.boundary.0 <= known.boundary);
            if is_of_it {
                remember(&mut state.recording, info);
            }
        }
    }

    /// The nearest generation that is whole and from which the way to `to` is recorded, and those passed over.
    async fn nearest_whole(
        &self,
        saves: &Saves,
        list: &GenerationList,
        to: u64,
    ) -> Result<(Selected, Vec<SkippedGeneration>), SeekError> {
        let candidates = self.candidates(list, to)?;
        let mut skipped = Vec::new();
        for checkpoint_id in candidates {
            let selection = Selection {
                checkpoint_id: Some(checkpoint_id.clone()),
                filter: GenerationFilter {
                    session_id: Some(self.session_id.clone()),
                    ..GenerationFilter::default()
                },
                fallback: false,
            };
            match saves.ask(saves.client.select(selection)).await {
                Ok(selected) => return Ok((selected, skipped)),
                Err(
                    error @ (SelectError::Damaged { .. }
                    | SelectError::Unknown { .. }
                    | SelectError::RotatedOut { .. }),
                ) => skipped.push(SkippedGeneration {
                    checkpoint_id,
                    reason: error.to_string(),
                }),
                Err(error) => return Err(SessionError::from(error).into()),
            }
        }
        Err(SeekError::NoGeneration {
            boundary: to,
            oldest: None,
            skipped,
        })
    }

    /// Checkpoints of the timeline that the store still has and that fit, from which the way to `to` is recorded, the
    /// nearest first.
    fn candidates(&self, list: &GenerationList, to: u64) -> Result<Vec<Id>, SeekError> {
        let running = compatibility_digest(&self.compatibility()?);
        let state = self.state.borrow();
        let is_stored = |mark: &&RecordedCheckpoint| {
            list.generations.iter().any(|one| {
                let info = &one.info;
                (&info.checkpoint_id, &info.epoch, info.boundary.0)
                    == (&mark.checkpoint_id, &mark.epoch, mark.boundary)
                    && info.episode_id == state.episode_id
                    && info.compatibility_digest == running
            })
        };
        let stored: Vec<&RecordedCheckpoint> = state
            .recording
            .checkpoints()
            .iter()
            .filter(is_stored)
            .collect();
        let before = stored.iter().rev().filter(|mark| mark.boundary <= to);
        let leading: Vec<Id> = before
            .clone()
            .filter(|mark| state.recording.leads(mark.boundary, to))
            .map(|mark| mark.checkpoint_id.clone())
            .collect();
        if !leading.is_empty() {
            return Ok(leading);
        }
        let (recorded_from, recorded_to) = state.recording.span();
        Err(if before.count() == 0 {
            SeekError::NoGeneration {
                boundary: to,
                oldest: stored.first().map(|mark| mark.boundary),
                skipped: Vec::new(),
            }
        } else {
            SeekError::NotRecorded {
                boundary: to,
                recorded_from,
                recorded_to,
            }
        })
    }

    async fn repeat_steps(
        &self,
        from: u64,
        to: u64,
        progress: &dyn Fn(SeekProgress),
        cancel: &SeekCancel,
        report: &mut SeekReport,
    ) -> Result<(), SeekError> {
        let mut at = from;
        let mut turn_ns = self.clock.now_ns();
        loop {
            progress(SeekProgress { from, at, to });
            report.boundary = at;
            if at >= to {
                return Ok(());
            }
            if cancel.is_cancelled() || self.state.borrow().pause_requested {
                report.cancelled = true;
                return Ok(());
            }
            at = self.repeat_step(at).await?;
            report.repeated += 1;
            // Participants of this program may answer at once, and then nobody else would get a turn in a browser: not even
            // who wants to stop it.
            if self.clock.now_ns().saturating_sub(turn_ns) > LONGEST_TURN_NS {
                self.clock.sleep_ns(0).await;
                turn_ns = self.clock.now_ns();
            }
        }
    }

    /// Takes the recorded transition that begins at `boundary` once more.
    async fn repeat_step(&self, boundary: u64) -> Result<u64, SeekError> {
        if self.phase() == (Phase::Paused { boundary }) {
            self.go(Phase::Ready { boundary })
                .map_err(|fault| self.fail(fault))?;
        }
        if self.phase() != (Phase::Ready { boundary }) {
            return Err(self.fail(Fault::let_go()).into());
        }
        self.put_in(boundary);
        self.verify_all(boundary).await?;
        let moved = self
            .transition(boundary)
            .await
            .map_err(|fault| self.fail(fault))?;
        match moved.noted {
            Noted::Repeated | Noted::New => Ok(moved.next),
            Noted::Branched { fields } => Err(SeekError::Diverged {
                step: boundary,
                fields,
            }),
        }
    }

    /// Has exactly those stimuli wait that the recorded transition was given. What a checkpoint held waiting is among
    /// them, unless the run went on without it.
    fn put_in(&self, boundary: u64) {
        let mut state = self.state.borrow_mut();
        let recorded = state.recording.step(boundary);
        let inputs = recorded.map_or_else(Vec::new, |step| step.inputs.clone());
        let waiting = state.admissions.waiting();
        let (aborted, missing): (Vec<Admission>, &[Admission]) = match inputs.strip_prefix(waiting)
        {
            Some(missing) => (Vec::new(), missing),
            None => (state.admissions.take_all(), &inputs),
        };
        for admission in missing {
            state.admissions.push(admission.clone());
        }
        let epoch = state.epoch.clone();
        drop(state);
        self.tell_aborted(aborted);
        for admission in missing {
            self.tell(AdmissionEvent::Accepted {
                admitted: Admitted {
                    admission: admission.clone(),
                    epoch: epoch.clone(),
                    earliest_step: boundary,
                },
            });
        }
    }
}

fn remember(recording: &mut StepRecording, info: &GenerationInfo) {
    let (id, epoch, boundary) = (&info.checkpoint_id, &info.epoch, info.boundary.0);
    if !recording.knows(id, epoch, boundary) {
        recording.remember(id, epoch, boundary);
    }
}
