//! What a participant remembers, and what it refuses.

use std::rc::Rc;

use wellwritten_counter::{CounterComposition, Fault, FaultKind, FaultPoint};
use wellwritten_session::{Answer, Call, ErrorCode, Hello, RationalNs, Request, RequestId, Role};

use crate::desk::{
    Desk, advance, commit, hello, initialize_agent, initialize_world, prepare, request, stimulus,
};
use crate::play::{Setup, id};
use crate::scenario_failure::{holds, same};
use crate::{ScenarioFailure, Stage, Verdict};

pub(super) async fn answers_are_kept_for_two_steps_and_then_expire(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let desk = Desk::world(&stage, CounterComposition::default()).await?;
    let asked = |step: u64| request(2 + step, "e1", step, advance("e1", step, true));
    for step in 0..4 {
        desk.answer(asked(step)).await?;
    }
    let done = desk.progress().await?;
    desk.answer(asked(3)).await?;
    desk.answer(asked(2)).await?;
    for step in [0, 1] {
        same(
            "an answer that was let go,",
            &desk.code(asked(step)).await?,
            &ErrorCode::ResultExpired,
        )?;
    }
    let fresh = desk
        .code(request(99, "e1", 1, advance("e1", 1, true)))
        .await?;
    same(
        "a step that is over and was never asked,",
        &fresh,
        &ErrorCode::StaleStep,
    )?;
    same(
        "nothing done again, progress",
        &desk.progress().await?,
        &done,
    )
}

pub(super) async fn a_stray_request_for_a_far_step_poisons_nothing(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let desk = Desk::world(&stage, CounterComposition::default()).await?;
    for (serial, step) in [(2, u64::MAX), (3, 1 << 40), (4, 1)] {
        let code = desk
            .code(request(serial, "e1", step, advance("e1", step, true)))
            .await?;
        same("a step that has not come,", &code, &ErrorCode::FutureStep)?;
    }
    for step in 0..3 {
        desk.answer(request(10 + step, "e1", step, advance("e1", step, true)))
            .await?;
    }
    Ok(())
}

pub(super) async fn a_refused_operation_frees_its_key(stage: Rc<dyn Stage>) -> Verdict {
    let refuses = Fault::new(
        id("fly-a"),
        FaultPoint::Prepare,
        FaultKind::Refuse(ErrorCode::Busy),
    );
    let desk = Desk::agent(&stage, &Setup::faults(vec![refuses]).composition).await?;
    let code = desk
        .code(request(2, "e1", 0, prepare(0, Vec::new())))
        .await?;
    same("a refusal,", &code, &ErrorCode::Busy)?;
    // Corrected, and under another id.
    desk.answer(request(3, "e1", 0, prepare(0, vec![stimulus("spark")])))
        .await?;
    let mut wrong = commit(3, 0, 1);
    wrong.next_input.boundary.0 = 7;
    let code = desk.code(request(4, "e1", 0, Call::Commit(wrong))).await?;
    same(
        "an input of another boundary,",
        &code,
        &ErrorCode::InvalidArgument,
    )?;
    let mut wrong = commit(3, 0, 1);
    wrong.prepared_request_id = RequestId(2).to_string();
    let code = desk.code(request(5, "e1", 0, Call::Commit(wrong))).await?;
    same(
        "a commit of another preparation,",
        &code,
        &ErrorCode::IdentityMismatch,
    )?;
    desk.answer(request(6, "e1", 0, Call::Commit(commit(3, 0, 1))))
        .await?;
    Ok(())
}

fn capture(serial: u64) -> Request {
    let checkpoint_id = id(&format!("c-{serial}"));
    request(serial, "e1", 0, Call::Capture { checkpoint_id })
}

fn acknowledge(serials: &[u64]) -> Request {
    Request {
        request_id: RequestId(0),
        scope: None,
        call: Call::Acknowledge {
            request_ids: serials.iter().map(|serial| RequestId(*serial)).collect(),
        },
    }
}

async fn acknowledged(desk: &Desk, serials: &[u64]) -> Result<Vec<u64>, ScenarioFailure> {
    match desk.answer(acknowledge(serials)).await? {
        Answer::Acknowledged { acknowledged } => Ok(acknowledged.iter().map(|id| id.0).collect()),
        other => Err(ScenarioFailure::new("an acknowledgment", other)),
    }
}

pub(super) async fn sixteen_unacknowledged_answers_are_kept_and_no_more(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let desk = Desk::world(&stage, CounterComposition::default()).await?;
    // The first of sixteen is its initialization.
    for serial in 2..=16 {
        desk.answer(capture(serial)).await?;
    }
    let done = desk.progress().await?;
    same(
        "one more,",
        &desk.code(capture(17)).await?,
        &ErrorCode::Busy,
    )?;
    same(
        "before anything was done, progress",
        &desk.progress().await?,
        &done,
    )?;
    desk.answer(capture(16)).await?;
    same(
        "what is let go,",
        &acknowledged(&desk, &[2, 99]).await?,
        &vec![2],
    )?;
    same(
        "what was let go before,",
        &acknowledged(&desk, &[2]).await?,
        &Vec::new(),
    )?;
    desk.answer(capture(17)).await?;
    Ok(())
}

pub(super) async fn acknowledgments_in_any_order_expire_nothing_else(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let desk = Desk::world(&stage, CounterComposition::default()).await?;
    for serial in [2, 3, 4] {
        desk.answer(capture(serial)).await?;
    }
    let step = request(5, "e1", 0, advance("e1", 0, true));
    desk.answer(step.clone()).await?;
    same(
        "the newest first,",
        &acknowledged(&desk, &[4]).await?,
        &vec![4],
    )?;
    desk.answer(capture(2)).await?;
    desk.answer(capture(3)).await?;
    // The word of a step is kept by its step, whatever is acknowledged.
    same(
        "then the rest,",
        &acknowledged(&desk, &[3, 2, 1]).await?.len(),
        &3,
    )?;
    desk.answer(step).await?;
    let gone = desk.code(capture(3)).await?;
    same(
        "an answer that was let go,",
        &gone,
        &ErrorCode::ResultExpired,
    )
}

pub(super) async fn checks_come_in_order(stage: Rc<dyn Stage>) -> Verdict {
    let composition = CounterComposition {
        agents: 1,
        ..CounterComposition::default()
    };
    let desk = Desk::open(&stage, &composition, "world").await?;
    let expect = |what: &'static str, code: ErrorCode, request: Request| {
        let desk = &desk;
        async move { same(what, &desk.code(request).await?, &code) }
    };
    let mut scopeless = request(1, "e1", 0, initialize_world());
    scopeless.scope = None;
    expect(
        "an operation without a scope,",
        ErrorCode::InvalidArgument,
        scopeless,
    )
    .await?;
    let early = request(2, "e1", 0, advance("e1", 0, true));
    expect(
        "a step before the beginning,",
        ErrorCode::InvalidPhase,
        early,
    )
    .await?;
    let late = request(3, "e1", 1, initialize_world());
    expect("a beginning at step 1,", ErrorCode::FutureStep, late).await?;
    let other_role = request(4, "e1", 0, initialize_agent());
    expect("another role's method,", ErrorCode::Unsupported, other_role).await?;
    desk.answer(request(5, "e1", 0, initialize_world())).await?;
    let again = request(6, "e1", 0, initialize_world());
    expect("a second beginning,", ErrorCode::InvalidPhase, again).await?;
    let mut foreign = request(7, "e1", 0, advance("e1", 0, true));
    if let Some(scope) = &mut foreign.scope {
        scope.session_id = id("other");
    }
    expect("another session,", ErrorCode::IdentityMismatch, foreign).await?;
    let other_epoch = request(8, "e2", 0, advance("e2", 0, true));
    expect("another epoch,", ErrorCode::StaleEpoch, other_epoch).await?;
    let done = desk.progress().await?;
    same(
        "nothing but the beginning to have been done, progress",
        &done,
        &1,
    )?;
    desk.answer(request(9, "e1", 0, advance("e1", 0, true)))
        .await?;
    let old = request(10, "e1", 0, advance("e1", 0, true));
    expect(
        "a step that was taken, under another name,",
        ErrorCode::Conflict,
        old,
    )
    .await
}

pub(super) async fn a_participant_says_who_it_is_to_nobody_else(stage: Rc<dyn Stage>) -> Verdict {
    let composition = CounterComposition::default();
    let desk = Desk::open(&stage, &composition, "fly-a").await?;
    let ask = |hello: Hello| Request {
        request_id: RequestId(1),
        scope: None,
        call: Call::Hello(hello),
    };
    let good = hello("fly-a", Role::Agent);
    let wrong = [
        Hello {
            session_id: id("other"),
            ..good.clone()
        },
        hello("fly-b", Role::Agent),
        hello("fly-a", Role::Environment),
    ];
    for hello in wrong {
        let code = desk.code(ask(hello)).await?;
        same(
            "someone else's question,",
            &code,
            &ErrorCode::IdentityMismatch,
        )?;
    }
    let other_version = Hello {
        supported_majors: vec![77],
        ..good.clone()
    };
    same(
        "another version,",
        &desk.code(ask(other_version)).await?,
        &ErrorCode::Unsupported,
    )?;
    let mut scoped = ask(good.clone());
    scoped.scope = Some(crate::desk::scope("e1", 0));
    same(
        "a question with a scope,",
        &desk.code(scoped).await?,
        &ErrorCode::InvalidArgument,
    )?;
    let Answer::Hello(answer) = desk.answer(ask(good)).await? else {
        return Err(ScenarioFailure::new("an answer to who it is", "another"));
    };
    let names = (
        answer.worker_id.to_string(),
        answer.incarnation_id.to_string(),
    );
    holds(
        "its own names",
        names == ("fly-a".to_owned(), "incarnation-1".to_owned()),
        &names,
    )?;
    let able = answer
        .capabilities
        .iter()
        .any(|it| it.as_str() == "agent-step-v1");
    holds("what it must be able to", able, answer.capabilities)
}

pub(super) async fn an_undeclared_stimulus_never_reaches_a_brain(stage: Rc<dyn Stage>) -> Verdict {
    let desk = Desk::agent(&stage, &CounterComposition::default()).await?;
    let done = desk.progress().await?;
    let asked = request(2, "e1", 0, prepare(0, vec![stimulus("thunder")]));
    same(
        "an undeclared stimulus,",
        &desk.code(asked).await?,
        &ErrorCode::Unsupported,
    )?;
    let twice = vec![stimulus("spark"), stimulus("spark")];
    let code = desk.code(request(3, "e1", 0, prepare(0, twice))).await?;
    same("a stimulus twice,", &code, &ErrorCode::InvalidArgument)?;
    same("nothing done, progress", &desk.progress().await?, &done)?;
    desk.answer(request(4, "e1", 0, prepare(0, Vec::new())))
        .await?;
    let mut wrong = commit(4, 0, 1);
    wrong.task_stimulations = vec![stimulus("thunder")];
    let code = desk.code(request(5, "e1", 0, Call::Commit(wrong))).await?;
    same(
        "an undeclared stimulus of the task,",
        &code,
        &ErrorCode::Unsupported,
    )?;
    // An input without its view is not taken for a black one.
    let mut blind = commit(4, 0, 1);
    blind.next_input.views.clear();
    let code = desk.code(request(6, "e1", 0, Call::Commit(blind))).await?;
    same(
        "an input without its view,",
        &code,
        &ErrorCode::BufferInvalid,
    )?;
    desk.answer(request(7, "e1", 0, Call::Commit(commit(4, 0, 1))))
        .await?;
    Ok(())
}

pub(super) async fn an_interval_that_cannot_be_is_refused_before_a_tick(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let desk = Desk::agent(&stage, &CounterComposition::default()).await?;
    let done = desk.progress().await?;
    for (serial, interval) in [
        (2, RationalNs::ZERO),
        (3, RationalNs::from_nanoseconds(u64::MAX)),
    ] {
        let mut asked = request(serial, "e1", 0, prepare(0, vec![stimulus("spark")]));
        if let Call::Prepare(prepare) = &mut asked.call {
            prepare.interval = interval;
        }
        same(
            "such an interval,",
            &desk.code(asked).await?,
            &ErrorCode::InvalidArgument,
        )?;
    }
    same(
        "no tick and no stimulus, progress",
        &desk.progress().await?,
        &done,
    )?;
    desk.answer(request(4, "e1", 0, prepare(0, Vec::new())))
        .await?;
    Ok(())
}
