//! One transition: prepare all, one batch, one advance, one judgement, commit all.

use wellwritten_envelope::{Id, RationalNs};

use crate::coordinator::Fault;
use crate::coordinator::asking::{Asked, Asking, Unanswered};
use crate::coordinator::bootstrapping::{check_events, sensory_input};
use crate::coordinator::publishing::Ended;
use crate::coordinator::recording::{self, Committing, Preparing};
use crate::observation_rules::{check_telemetry, check_transition};
use crate::session_state::Link;
use crate::step_recording::{Noted, RecordedStep};
use crate::stimulus_rules::{check_rewards, check_stimuli};
use crate::{
    Admission, AdmissionEvent, Advance, Answer, AudioTimeline, Call, Commit, Coordinator,
    ErrorCode, Evaluation, Phase, PortControl, Prepare, Prepared, RequestId, SessionError,
    SessionEvent, StepResult, Stimulus, TraceRecord, Transition, TypedValue, WorldObservation,
    join_all,
};

/// A transition that everyone has committed, to be adopted as a whole.
struct Transitioned {
    next: u64,
    observation: WorldObservation,
    timelines: Vec<AudioTimeline>,
    /// With the executors' events before the task's.
    evaluation: Evaluation,
    task_events: usize,
    committing: Vec<Committing>,
    ended: Ended,
    record: TraceRecord,
}

/// A transition that was committed.
pub(crate) struct Moved {
    /// The boundary.
    pub next: u64,
    /// How it stands to what was recorded.
    pub noted: Noted,
}

impl Coordinator {
    /// Takes one whole transition from `Ready(k)` and returns the boundary it committed.
    ///
    /// Before anyone prepares, every participant is asked whether its state reads cleanly: where one says no, the step
    /// is refused with its report and nothing has moved. From the first `Prepare` on, whatever goes wrong ends the epoch.
    pub async fn step(&self) -> Result<u64, SessionError> {
        let guard = self.begin("step")?;
        let Phase::Ready { boundary } = self.phase() else {
            return Err(self.refuse_phase("step"));
        };
        self.verify_all(boundary).await?;
        let moved = self
            .transition(boundary)
            .await
            .map_err(|fault| self.fail(fault))?;
        drop(guard);
        Ok(moved.next)
    }

    /// Asks every participant whether all of its state has settled and reads cleanly.
    pub(crate) async fn verify_all(&self, boundary: u64) -> Result<(), SessionError> {
        let links = self.links();
        let questions = links
            .iter()
            .map(|link| Box::pin(self.verify(link, boundary)) as Asking<'_, ()>);
        let verified: Result<(), Unanswered> = join_all(questions).await.into_iter().collect();
        verified.map_err(|unanswered| self.refusal_or_failure(unanswered))
    }

    async fn verify(&self, link: &Link, boundary: u64) -> Asked<()> {
        let request_id = self.next_request_id();
        let scope = Some(self.scope(boundary));
        match self.ask(link, request_id, scope, Call::Verify {}).await? {
            Answer::Verified {} => Ok(()),
            _ => Err(Self::wrong_answer(link, "State.Verify")),
        }
    }

    /// Asks one participant to do the work that wrote a buffer again. Only at a committed boundary.
    pub async fn rewrite(&self, participant: &Id, buffer_label: &str) -> Result<(), SessionError> {
        let _guard = self.begin("rewrite")?;
        let Some(boundary) = self.phase().committed_boundary() else {
            return Err(self.refuse_phase("rewrite"));
        };
        let link = self.require_participant(participant)?;
        let request_id = self.next_request_id();
        let call = Call::Rewrite {
            buffer_label: buffer_label.to_owned(),
        };
        let answer = self
            .ask(&link, request_id, Some(self.scope(boundary)), call)
            .await;
        match answer.map_err(|unanswered| self.refusal_or_failure(unanswered))? {
            Answer::Rewritten {} => Ok(()),
            _ => Err(self.refusal_or_failure(Self::wrong_answer(&link, "State.Rewrite"))),
        }
    }

    pub(crate) async fn transition(&self, boundary: u64) -> Result<Moved, Fault> {
        let began_ns = self.clock.now_ns();
        let next = boundary.checked_add(1).ok_or_else(|| {
            Fault::inside(
                ErrorCode::Internal,
                "the last boundary there is has been reached",
            )
        })?;
        self.go_and(Phase::Preparing { boundary }, |state| {
            state.admissions.freeze();
        })?;
        let preparing = self.prepare_all(boundary).await?;
        self.go(Phase::Applying { boundary })?;
        let (batch, told) = self.batch(boundary, next, &preparing)?;
        let (advance_request_id, result) = self.advance(boundary, &batch).await?;
        self.go(Phase::Observing { boundary: next })?;
        let timelines = self.check_result(boundary, next, &batch, &result)?;
        let mut evaluation = self.evaluate(boundary, &batch.controls, &result.observation)?;
        let task_events = evaluation.events.len();
        evaluation.events.splice(..0, told);
        check_events(&evaluation.events, next)?;
        self.go(Phase::Committing { boundary })?;
        let committing = self
            .commit_all(boundary, next, &preparing, &result.observation, &evaluation)
            .await?;
        let record = recording::record(&recording::Completed {
            scope: self.scope(boundary),
            next,
            began_ns,
            ended_ns: self.clock.now_ns(),
            batch: &batch,
            advance_request_id,
            preparing: &preparing,
            committing: &committing,
            observation: &result.observation,
            control_digest: result.applied_controls_digest,
            world_state_digest: result.state_digest,
            evaluation: &evaluation,
            links: &self.links()[1..],
        })?;
        let ended = Ended {
            decisions: preparing
                .into_iter()
                .map(|it| it.prepared.decision)
                .collect(),
            controls: batch.controls,
            events: evaluation.events.clone(),
            committed_steps: committing
                .iter()
                .map(|it| it.committed.committed_step.0)
                .collect(),
        };
        self.adopt(Transitioned {
            next,
            observation: result.observation,
            timelines,
            evaluation,
            task_events,
            committing,
            ended,
            record,
        })
    }

    /// Phase A.
    async fn prepare_all(&self, boundary: u64) -> Result<Vec<Preparing>, Fault> {
        let interval = self.state.borrow().environment.descriptor().step_duration;
        let agents: Vec<(Link, TypedValue, Vec<Stimulus>)> = {
            let state = self.state.borrow();
            let context = |context: &Option<TypedValue>| {
                context.clone().expect("a running agent has a context")
            };
            state
                .agents
                .iter()
                .map(|slot| {
                    let cut = state.admissions.cut_of(&slot.link.participant_id);
                    (slot.link.clone(), context(&slot.context), cut)
                })
                .collect()
        };
        let questions = agents
            .iter()
            .map(|(link, context, cut)| {
                let prepare = Prepare {
                    interval,
                    decision_context_digest: context.digest(),
                    pre_step_stimulations: cut.clone(),
                };
                Box::pin(self.prepare(link, prepare, boundary)) as Asking<'_, Preparing>
            })
            .collect();
        let prepared = self
            .in_order(questions)
            .await
            .map_err(Unanswered::into_fault)?;
        for (preparing, (link, ..)) in prepared.iter().zip(&agents) {
            self.check_prepared(link, &preparing.prepared, interval)?;
        }
        Ok(prepared)
    }

    async fn prepare(
        &self,
        link: &Link,
        prepare: Prepare,
        boundary: u64,
    ) -> Result<Preparing, Unanswered> {
        let request_id = self.next_request_id();
        let pre_step = prepare.pre_step_stimulations.clone();
        let call = Call::Prepare(prepare);
        match self
            .ask(link, request_id, Some(self.scope(boundary)), call)
            .await?
        {
            Answer::Prepared(prepared) => Ok(Preparing {
                request_id,
                pre_step,
                prepared,
            }),
            _ => Err(Self::wrong_answer(link, "Agent.Prepare")),
        }
    }

    /// Ticks and remainder must be exactly those of our own clock, which then moves along.
    fn check_prepared(
        &self,
        link: &Link,
        prepared: &Prepared,
        interval: RationalNs,
    ) -> Result<(), Fault> {
        let agent = &link.participant_id;
        if *prepared.decision.schema() != link.profile().decision_schema {
            let message = format!("a decision of {}", prepared.decision.schema().id);
            return Err(Fault::broken(agent, ErrorCode::IdentityMismatch, message));
        }
        let mut state = self.state.borrow_mut();
        let slot = state
            .agents
            .iter_mut()
            .find(|slot| slot.link.participant_id == *agent);
        let slot = slot.expect("agents never change within an epoch");
        let clock = slot.clock.as_mut().expect("a running agent has a clock");
        let ticks = clock
            .advance(interval)
            .map_err(|error| Fault::inside(ErrorCode::Internal, error.to_string()))?;
        let brain_ticks = slot.brain_ticks.saturating_add(ticks);
        let found = (
            prepared.ticks_advanced.0,
            prepared.brain_ticks.0,
            prepared.remainder,
        );
        let expected = (ticks, brain_ticks, clock.remainder());
        if found != expected {
            let message =
                format!("ticks, total and remainder are {found:?}, exactly {expected:?} were due");
            return Err(Fault::broken(agent, ErrorCode::BackendFailure, message));
        }
        slot.brain_ticks = brain_ticks;
        Ok(())
    }

    async fn advance(
        &self,
        boundary: u64,
        batch: &Advance,
    ) -> Result<(RequestId, StepResult), Fault> {
        let link = self.state.borrow().environment.clone();
        let request_id = self.next_request_id();
        let asked = self
            .ask(
                &link,
                request_id,
                Some(self.scope(boundary)),
                Call::Advance(batch.clone()),
            )
            .await;
        match asked.map_err(Unanswered::into_fault)? {
            Answer::Stepped(result) => Ok((request_id, *result)),
            _ => Err(Self::wrong_answer(&link, "Environment.Advance").into_fault()),
        }
    }

    /// Phase C, first half: everything the world says, before the task hears of it. Returns where every stream of
    /// sound is then.
    fn check_result(
        &self,
        boundary: u64,
        next: u64,
        batch: &Advance,
        result: &StepResult,
    ) -> Result<Vec<AudioTimeline>, Fault> {
        let state = self.state.borrow();
        let descriptor = state.environment.descriptor();
        let refuse = |message: String| {
            Err(Fault::broken(
                &descriptor.worker_id,
                ErrorCode::IdentityMismatch,
                message,
            ))
        };
        if result.batch_id != batch.batch_id {
            return refuse(format!(
                "batch {} was applied, {} was given",
                result.batch_id, batch.batch_id
            ));
        }
        if (result.applied_from_step.0, result.next_step.0) != (boundary, next) {
            let message = format!(
                "the world went from {} to {}",
                result.applied_from_step, result.next_step
            );
            return refuse(format!("{message}, it was at {boundary}"));
        }
        let controls_digest = batch
            .controls_digest()
            .map_err(|error| Fault::inside(ErrorCode::Internal, error.to_string()))?;
        if result.applied_controls_digest != controls_digest {
            return refuse("other controls were applied than were given".to_owned());
        }
        let world_time = state
            .committed_world_time
            .checked_add(descriptor.step_duration)
            .map_err(|error| Fault::inside(ErrorCode::Internal, error.to_string()))?;
        let old = state.observation.as_ref().ok_or_else(Fault::let_go)?;
        check_transition(
            descriptor,
            old,
            &result.observation,
            next,
            world_time,
            &state.timelines,
        )
    }

    /// Phase C, second half: the task judges, exactly once.
    fn evaluate(
        &self,
        boundary: u64,
        controls: &[PortControl],
        observation: &WorldObservation,
    ) -> Result<Evaluation, Fault> {
        let scope = self.scope(boundary);
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        let bindings = state.bindings();
        let old = state.observation.as_ref().ok_or_else(Fault::let_go)?;
        let evaluation = state
            .task
            .evaluate_transition(&Transition {
                scope: &scope,
                old_inspection: &old.inspection,
                new_inspection: &observation.inspection,
                world_time: observation.world_time,
                controls,
                bindings: &bindings,
            })
            .map_err(|error| {
                Fault::inside(ErrorCode::BackendFailure, format!("the task: {error}"))
            })?;
        let agents = || state.agents.iter().map(|slot| &slot.link.participant_id);
        if !evaluation.outcomes.keys().eq(agents()) || !evaluation.contexts.keys().eq(agents()) {
            return Err(Fault::inside(
                ErrorCode::BackendFailure,
                "the task judged other agents than there are",
            ));
        }
        for (slot, outcome) in state.agents.iter().zip(evaluation.outcomes.values()) {
            let of_task = |error| Fault {
                participant: None,
                error,
            };
            check_rewards(&outcome.rewards).map_err(of_task)?;
            check_stimuli(&outcome.stimulations, &slot.link.profile().graph).map_err(of_task)?;
        }
        Ok(evaluation)
    }

    /// Phase D.
    async fn commit_all(
        &self,
        boundary: u64,
        next: u64,
        preparing: &[Preparing],
        observation: &WorldObservation,
        evaluation: &Evaluation,
    ) -> Result<Vec<Committing>, Fault> {
        let links = self.links();
        let questions = links[1..]
            .iter()
            .zip(preparing)
            .map(|(link, preparing)| {
                let agent = &link.participant_id;
                let outcome = &evaluation.outcomes[agent];
                let commit = Commit {
                    prepared_request_id: preparing.request_id.to_string(),
                    next_input: sensory_input(observation),
                    next_decision_context: evaluation.contexts[agent].clone(),
                    rewards: outcome.rewards.clone(),
                    task_stimulations: outcome.stimulations.clone(),
                };
                Box::pin(self.commit(link, commit, boundary)) as Asking<'_, Committing>
            })
            .collect();
        let committed = self
            .in_order(questions)
            .await
            .map_err(Unanswered::into_fault)?;
        for ((committing, preparing), link) in committed.iter().zip(preparing).zip(&links[1..]) {
            let agent = &link.participant_id;
            if committing.committed.committed_step.0 != next {
                let message = format!(
                    "committed {}, expected {next}",
                    committing.committed.committed_step
                );
                return Err(Fault::broken(agent, ErrorCode::BackendFailure, message));
            }
            let ticks = preparing.prepared.brain_ticks.0;
            check_telemetry(
                agent,
                &committing.committed.telemetry,
                &link.profile().graph,
                ticks,
            )?;
        }
        Ok(committed)
    }

    async fn commit(
        &self,
        link: &Link,
        commit: Commit,
        boundary: u64,
    ) -> Result<Committing, Unanswered> {
        let request_id = self.next_request_id();
        let context_digest = commit.next_decision_context.digest();
        match self
            .ask(
                link,
                request_id,
                Some(self.scope(boundary)),
                Call::Commit(commit),
            )
            .await?
        {
            Answer::Committed {
                committed,
                decision_context_digest,
            } if decision_context_digest == context_digest => Ok(Committing {
                request_id,
                committed,
            }),
            _ => Err(Self::wrong_answer(link, "Agent.Commit")),
        }
    }

    /// Everyone has committed: the boundary moves, unless the epoch was ended from outside in the meantime.
    fn adopt(&self, transitioned: Transitioned) -> Result<Moved, Fault> {
        let Transitioned {
            next,
            observation,
            timelines,
            mut evaluation,
            task_events,
            committing,
            ended,
            record,
        } = transitioned;
        let mut state = self.state.borrow_mut();
        let change = state
            .machine
            .go(Phase::Ready { boundary: next })
            .map_err(|illegal| Fault::inside(ErrorCode::Internal, illegal.to_string()))?;
        for (slot, committing) in state.agents.iter_mut().zip(committing) {
            slot.context = evaluation.contexts.remove(&slot.link.participant_id);
            slot.telemetry = Some(committing.committed.telemetry);
        }
        state.boundary = next;
        state.committed_world_time = observation.world_time;
        state.observation = Some(observation);
        state.timelines = timelines;
        state.progress = Some(evaluation.progress);
        state.events_issued += task_events as u64;
        if task_events > 0 {
            state.last_event_step = next;
        }
        state.terminal = evaluation.episode_request;
        state.advances += 1;
        let (epoch, terminal) = (state.epoch.clone(), state.terminal.clone());
        let applied = state.admissions.take_applied();
        let behaviour = &record.behaviour;
        let step = RecordedStep::new(applied.clone(), behaviour, &ended.events);
        let noted = state
            .recording
            .note(behaviour.scope.step.0, step, |recorded| {
                recorded.differing(behaviour, &ended.events)
            });
        drop(state);
        self.publish_and_record(ended, record);
        self.emit(SessionEvent::Phase { change });
        self.emit(SessionEvent::Boundary {
            epoch,
            boundary: next,
            terminal,
        });
        for Admission { admission_id, .. } in applied {
            self.tell(AdmissionEvent::Applied {
                admission_id,
                boundary: next,
            });
        }
        Ok(Moved { next, noted })
    }
}
