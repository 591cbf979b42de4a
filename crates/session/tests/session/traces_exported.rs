//! A trace outside its session: written as lines, read strictly, compared, rebased over epochs, and known by one digest.
//! Oracles: equality of the records themselves, one line at a time; maps applied one after the other.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use futures::executor::block_on;
use wellwritten_session::{
    AgentRequest, Behaviour, BehaviourDigest, CallResolution, CaptureMark, Composition, Digest,
    EpochNames, Id, MAX_TRACE_LINE, Operational, RebaseError, ResolutionOutcome, RestoreRequest,
    Scope, TraceDiff, TraceExport, TraceLines, TraceReadError, TraceRecord, TraceSink,
    TraceVerdict, U64, behaviour_digest, compare_traces, rebase_through, rebase_trace, trace_line,
};

use crate::rig::{Rig, id};

fn ran(steps: u64) -> Vec<TraceRecord> {
    let rig = Rig::ready();
    rig.steps(steps);
    rig.session.trace().0
}

fn fields(diff: &TraceDiff) -> Vec<&str> {
    diff.differences
        .iter()
        .map(|it| it.field.as_str())
        .collect()
}

#[test]
fn what_was_exported_reads_as_what_it_was_in_parts_of_any_size() {
    let records = ran(6);
    let export = TraceExport::new(records.clone());
    let bytes = export.to_json_lines();
    assert_eq!(bytes.split(|byte| *byte == b'\n').count(), 7);
    assert_eq!(TraceExport::from_json_lines(&bytes).unwrap(), export);
    assert_eq!(export.digest(), behaviour_digest(&records));
    for size in [1, 7, 1000, bytes.len()] {
        let mut lines = TraceLines::default();
        let mut read = Vec::new();
        for part in bytes.chunks(size) {
            lines.read(part, |record| read.push(record)).unwrap();
        }
        lines.finish().unwrap();
        assert_eq!(read, records, "{size}");
    }
    assert_eq!(TraceExport::default().to_json_lines(), b"");
    assert_eq!(
        TraceExport::from_json_lines(b"").unwrap(),
        TraceExport::default()
    );
}

type Expected = fn(&TraceReadError) -> bool;
type Change = fn(&mut TraceRecord);

#[test]
#[expect(clippy::too_many_lines, reason = "a table of damages")]
fn what_is_no_export_is_refused_by_the_line_it_is_in() {
    let bytes = TraceExport::new(ran(3)).to_json_lines();
    let text = String::from_utf8(bytes).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let with_second = |second: &str| format!("{}\n{second}\n{}\n", lines[0], lines[2]);
    let cases: [(String, Expected); 17] = [
        (text[..text.len() - 1].to_owned(), |no| {
            matches!(no, TraceReadError::CutOff { line: 3 })
        }),
        (with_second(""), |no| {
            matches!(no, TraceReadError::Json { line: 2, .. })
        }),
        (with_second("{\"behaviour\":"), |no| {
            matches!(no, TraceReadError::Json { line: 2, .. })
        }),
        (with_second("{}"), |no| {
            matches!(no, TraceReadError::Shape { line: 2, .. })
        }),
        (
            with_second(&lines[1].replace("\"batchId\"", "\"batch\"")),
            |no| matches!(no, TraceReadError::Shape { line: 2, .. }),
        ),
        (
            with_second(&lines[1].replacen("{\"behaviour\":{", "{\"behaviour\":{\"a\":1,", 1)),
            |no| matches!(no, TraceReadError::Shape { line: 2, .. }),
        ),
        (with_second(&format!("{} ", lines[1])), |no| {
            matches!(no, TraceReadError::NotCanonical { line: 2, .. })
        }),
        (with_second(&lines[1].replacen(':', ": ", 1)), |no| {
            matches!(
                no,
                TraceReadError::NotCanonical {
                    line: 2,
                    offset: 13
                }
            )
        }),
        (
            // Read as absent, written as absent: not as null.
            with_second(&lines[1].replacen(
                "\"outcomeIds\"",
                "\"episodeRequest\":null,\"outcomeIds\"",
                1,
            )),
            |no| matches!(no, TraceReadError::NotCanonical { line: 2, .. }),
        ),
        (
            with_second(&lines[1].replace(
                "\"acknowledgedBoundary\":\"2\"",
                "\"acknowledgedBoundary\":\"3\"",
            )),
            |no| {
                matches!(
                    no,
                    TraceReadError::Boundary {
                        line: 2,
                        field: "acknowledgedBoundary",
                        step: 1
                    }
                )
            },
        ),
        (
            with_second(&lines[1].replacen(
                "\"committedStep\":\"2\"",
                "\"committedStep\":\"1\"",
                1,
            )),
            |no| {
                matches!(
                    no,
                    TraceReadError::Boundary {
                        field: "committedStep",
                        ..
                    }
                )
            },
        ),
        (
            with_second(
                &lines[1].replace("\"publishedBoundary\":\"2\"", "\"publishedBoundary\":\"1\""),
            ),
            |no| {
                matches!(
                    no,
                    TraceReadError::Boundary {
                        field: "publishedBoundary",
                        ..
                    }
                )
            },
        ),
        // A line that is missing, came twice, came out of turn, or is another run's.
        (format!("{}\n{}\n", lines[0], lines[2]), |no| {
            matches!(
                no,
                TraceReadError::OutOfTurn {
                    line: 2,
                    expected: 1,
                    found: 2
                }
            )
        }),
        (with_second(lines[0]), |no| {
            matches!(
                no,
                TraceReadError::OutOfTurn {
                    line: 2,
                    expected: 1,
                    found: 0
                }
            )
        }),
        (
            format!("{}\n{}\n{}\n", lines[1], lines[0], lines[2]),
            |no| {
                matches!(
                    no,
                    TraceReadError::OutOfTurn {
                        line: 2,
                        expected: 2,
                        found: 0
                    }
                )
            },
        ),
        (
            with_second(&lines[1].replace("\"sessionId\":\"demo\"", "\"sessionId\":\"demp\"")),
            |no| matches!(no, TraceReadError::ForeignSession { line: 2, .. }),
        ),
        (with_second(&"x".repeat(MAX_TRACE_LINE + 1)), |no| {
            matches!(
                no,
                TraceReadError::TooLong {
                    line: 2,
                    limit: MAX_TRACE_LINE
                }
            )
        }),
    ];
    for (index, (text, expected)) in cases.into_iter().enumerate() {
        let no = TraceExport::from_json_lines(text.as_bytes()).unwrap_err();
        assert!(expected(&no), "case {index}: {no}");
    }
}

#[test]
fn every_byte_of_a_line_counts() {
    let records = ran(1);
    let line = trace_line(&records[0]);
    let mut tried = 0;
    for position in 0..line.len() {
        let mut damaged = line.clone();
        damaged[position] ^= 1;
        if let Ok(read) = TraceExport::from_json_lines(&damaged) {
            assert_ne!(read.records(), records, "byte {position} says nothing");
        }
        tried += 1;
    }
    assert!(tried > 1000);
}

/// The largest record there may be: four agents, 64 rewards each, names as long as they may be.
fn largest() -> TraceRecord {
    let long = |prefix: &str, index: usize| {
        id(&format!(
            "{prefix}{index:0>width$}",
            width = 64 - prefix.len()
        ))
    };
    let mut record = ran(1).remove(0);
    let behaviour = &mut record.behaviour;
    behaviour.scope = Scope {
        session_id: long("s", 0),
        epoch: long("e", 0),
        step: U64(u64::MAX - 1),
    };
    let next = U64(u64::MAX);
    behaviour.acknowledged_boundary = next;
    behaviour.published_boundary = Some(next);
    behaviour.batch_id = long("b", 0);
    let mut agent = behaviour.agents[0].clone();
    let digest = Some(Digest::blake3(b"x"));
    agent.committed_step = next;
    (agent.state_digest, agent.pre_step_digest) = (digest, digest);
    behaviour.agents = (0..Composition::MAX_AGENTS)
        .map(|index| {
            let mut agent = agent.clone();
            agent.agent_id = long("a", index);
            agent
        })
        .collect();
    behaviour.world_state_digest = digest;
    let view = behaviour.observation_boundaries[0].clone();
    behaviour.observation_boundaries = (0..16)
        .map(|index| {
            let mut view = view.clone();
            view.view_id = long("v", index);
            view
        })
        .collect();
    let chunk = behaviour.audio[0].clone();
    behaviour.audio = (0..8)
        .map(|index| {
            let mut chunk = chunk.clone();
            chunk.stream_id = long("t", index);
            chunk
        })
        .collect();
    behaviour.outcome_ids = (0..Behaviour::MAX_OUTCOMES)
        .map(|it| long("o", it))
        .collect();
    behaviour.event_ids = (0..Behaviour::MAX_EVENTS).map(|it| long("o", it)).collect();
    let requests: Vec<AgentRequest> = (0..Composition::MAX_AGENTS)
        .map(|index| AgentRequest {
            agent_id: long("a", index),
            request_id: format!("req-{}", u64::MAX),
        })
        .collect();
    record.operational = Operational {
        wall_time_ns: next,
        prepare_request_ids: requests.clone(),
        advance_request_id: format!("req-{}", u64::MAX),
        commit_request_ids: requests,
        discontinuities: (0..8).map(|it| long("t", it)).collect(),
        resolutions: (0..Operational::MAX_RESOLUTIONS)
            .map(|_| CallResolution {
                participant: long("a", 0),
                method: "Environment.Initialize".to_owned(),
                request_id: format!("req-{}", u64::MAX),
                dispatches: u32::MAX,
                status_queries: u32::MAX,
                waited_ns: next,
                outcome: ResolutionOutcome::AttemptsExhausted,
            })
            .collect(),
        captures: (0..Operational::MAX_CAPTURES)
            .map(|index| CaptureMark {
                checkpoint_id: long("c", index),
                after_actions: 0,
            })
            .collect(),
        bus_call_ids: Vec::new(),
        delivery_ids: Vec::new(),
    };
    record
}

#[test]
fn the_largest_record_there_may_be_fits_a_line_and_one_more_of_anything_is_refused() {
    let record = largest();
    let line = trace_line(&record);
    assert!(
        line.len() > 64_000 && line.len() < MAX_TRACE_LINE,
        "{}",
        line.len()
    );
    let read = TraceExport::from_json_lines(&line).unwrap();
    assert_eq!(read.records(), std::slice::from_ref(&record));
    let changes: [(&str, Change); 5] = [
        ("agents", |it| {
            let agent = it.behaviour.agents[0].clone();
            it.behaviour.agents.push(agent);
        }),
        ("rewarded events", |it| {
            it.behaviour.outcome_ids.push(id("o"));
        }),
        ("events", |it| it.behaviour.event_ids.push(id("o"))),
        ("uncertain calls", |it| {
            let call = it.operational.resolutions[0].clone();
            it.operational.resolutions.push(call);
        }),
        ("captures", |it| {
            let capture = it.operational.captures[0].clone();
            it.operational.captures.push(capture);
        }),
    ];
    for (name, change) in changes {
        let mut record = record.clone();
        change(&mut record);
        match TraceExport::from_json_lines(&trace_line(&record)).unwrap_err() {
            TraceReadError::TooMany { line: 1, what, .. } => assert_eq!(what, name),
            other => panic!("{name}: {other}"),
        }
    }
}

#[test]
fn two_traces_share_a_digest_exactly_where_the_comparison_finds_nothing() {
    let original = ran(4);
    let same: [Change; 5] = [
        |it| it.behaviour.agents.reverse(),
        |it| it.operational.wall_time_ns = U64(99),
        |it| it.operational.discontinuities.push(id("arena")),
        |it| {
            it.operational.captures.push(CaptureMark {
                checkpoint_id: id("c"),
                after_actions: 0,
            });
        },
        |it| it.operational.bus_call_ids.push("call-7".to_owned()),
    ];
    let other: [(&str, Change); 16] = [
        ("scope.epoch", |it| it.behaviour.scope.epoch = id("e9")),
        ("scope.step", |it| it.behaviour.scope.step.0 += 1),
        ("agents[fly-b].brainTicks", |it| {
            it.behaviour.agents[1].brain_ticks.0 += 1;
        }),
        ("agents[fly-a].outcomeDigest", |it| {
            it.behaviour.agents[0].outcome_digest = None;
        }),
        ("agents[fly-a].preStepDigest", |it| {
            it.behaviour.agents[0].pre_step_digest = Some(Digest::blake3(b"x"));
        }),
        ("agents[fly-a].stateDigest", |it| {
            it.behaviour.agents[0].state_digest = Some(Digest::blake3(b"x"));
        }),
        ("agents[fly-b]", |it| {
            it.behaviour.agents.pop();
        }),
        ("batchId", |it| it.behaviour.batch_id = id("batch-e1-77")),
        ("inspectionDigest", |it| {
            it.behaviour.inspection_digest = None;
        }),
        ("worldStateDigest", |it| {
            it.behaviour.world_state_digest = Some(Digest::blake3(b"x"));
        }),
        ("audio[arena].firstSample", |it| {
            it.behaviour.audio[0].first_sample.0 += 1;
        }),
        ("audio[arena].samplesDigest", |it| {
            it.behaviour.audio[0].samples_digest = Digest::blake3(b"x");
        }),
        ("eventIds[1]", |it| {
            it.behaviour.event_ids.pop();
        }),
        ("outcomeIds[2]", |it| {
            it.behaviour.outcome_ids.push(id("ev-x"));
        }),
        ("publishedBoundary", |it| {
            it.behaviour.published_boundary = None;
        }),
        ("observationBoundaries[arena].producedStep", |it| {
            it.behaviour.observation_boundaries[0].produced_step.0 += 1;
        }),
    ];
    for (index, change) in same.into_iter().enumerate() {
        let mut altered = original.clone();
        change(&mut altered[2]);
        assert_ne!(
            altered, original,
            "a change that changes nothing shows nothing"
        );
        let diff = compare_traces(&original, &altered);
        assert_eq!(
            diff.verdict,
            TraceVerdict::Equal,
            "{index}: {:?}",
            fields(&diff)
        );
        assert_eq!(
            behaviour_digest(&altered),
            behaviour_digest(&original),
            "{index}"
        );
    }
    for (field, change) in other {
        let mut altered = original.clone();
        change(&mut altered[2]);
        let diff = compare_traces(&original, &altered);
        assert_eq!(
            fields(&diff),
            [field],
            "exactly what differs, and nothing else"
        );
        assert_eq!(diff.differences[0].index, 2);
        assert_ne!(
            behaviour_digest(&altered),
            behaviour_digest(&original),
            "{field}"
        );
    }
    // Order and length of the whole count too.
    let mut swapped = original.clone();
    swapped.swap(0, 1);
    for altered in [&swapped[..], &original[..3], &[]] {
        assert_ne!(behaviour_digest(altered), behaviour_digest(&original));
    }
}

#[test]
fn the_session_knows_the_digest_of_every_prefix() {
    let rig = Rig::ready();
    let mut digests = vec![rig.session.behaviour_digest()];
    for _ in 0..5 {
        rig.steps(1);
        digests.push(rig.session.behaviour_digest());
    }
    let (records, _) = rig.session.trace();
    for (length, digest) in digests.iter().enumerate() {
        let expected = BehaviourDigest {
            from: 0,
            length: length as u64,
            digest: behaviour_digest(&records[..length]),
        };
        assert_eq!(*digest, expected);
        assert_eq!(
            rig.session.behaviour_digest_at(length as u64),
            Some(expected)
        );
    }
    assert_eq!(rig.session.behaviour_digest_at(6), None);
}

/// Notes all it is told, as the lines of one timeline.
#[derive(Default)]
struct Lines {
    written: RefCell<Vec<(u64, Vec<u8>)>>,
    digests: RefCell<Vec<Digest>>,
    told: RefCell<Vec<String>>,
}

impl TraceSink for Lines {
    fn began(&self, episode_id: &Id, epoch: &Id) {
        self.told
            .borrow_mut()
            .push(format!("{episode_id} under {epoch}"));
    }

    fn committed(&self, record: &TraceRecord, digest: &BehaviourDigest) {
        let step = record.behaviour.scope.step.0;
        self.written.borrow_mut().push((step, trace_line(record)));
        self.digests.borrow_mut().push(digest.digest);
    }

    fn restored(&self, source: &Scope, to_epoch: &Id) {
        // What was told after the boundary that was restored is no part of the timeline.
        let is_before = |line: &(u64, Vec<u8>)| line.0 < source.step.0;
        self.written.borrow_mut().retain(is_before);
        let told = format!("{} at {} to {to_epoch}", source.epoch, source.step);
        self.told.borrow_mut().push(told);
    }
}

#[test]
fn a_sink_hears_of_every_transition_and_of_every_restore() {
    let rig = Rig::starting(
        crate::rig::RigOptions::default(),
        Rc::default(),
        wellwritten_store::testing::SimulatedMedium::new(),
    );
    let sink = Rc::new(Lines::default());
    rig.session.set_trace_sink(Some(sink.clone()));
    block_on(rig.session.bootstrap()).unwrap();
    rig.steps(2);
    rig.save("at-2");
    rig.steps(1);
    rig.fail();
    block_on(rig.session.replace_participants()).unwrap();
    block_on(rig.session.restore(RestoreRequest::default())).unwrap();
    rig.session.resume().unwrap();
    rig.steps(2);
    assert_eq!(*sink.told.borrow(), ["ep1 under e1", "e1 at 2 to e2"]);
    assert_eq!(sink.digests.borrow().len(), 5);
    let lines = sink.written.borrow();
    let bytes: Vec<u8> = lines.iter().flat_map(|line| line.1.clone()).collect();
    let written = TraceExport::from_json_lines(&bytes).unwrap().into_records();
    assert_eq!(written.len(), 4);
    let (records, _) = rig.session.trace();
    assert_eq!(
        compare_traces(&written, &records).verdict,
        TraceVerdict::Equal
    );
    assert_eq!(
        sink.digests.borrow().last(),
        Some(&rig.session.behaviour_digest().digest)
    );
    assert_eq!(records[1].operational.captures[0].checkpoint_id, id("at-2"));
    let marked = |record: &TraceRecord| record.operational.discontinuities.clone();
    assert_eq!(
        marked(&records[2]),
        [id("arena")],
        "the first chunk after a restore"
    );
    assert!(marked(&records[1]).is_empty() && marked(&records[3]).is_empty());
}

#[test]
fn a_trace_goes_over_any_number_of_epochs_one_map_after_the_other() {
    let rig = Rig::ready();
    for checkpoint in ["first", "second", "third"] {
        rig.steps(2);
        rig.save(checkpoint);
        rig.fail();
        block_on(rig.session.replace_participants()).unwrap();
        block_on(rig.session.restore(RestoreRequest::default())).unwrap();
        rig.session.resume().unwrap();
    }
    rig.steps(2);
    let (records, _) = rig.session.trace();
    let epochs = rig.session.trace_epochs();
    assert_eq!(epochs, [id("e1"), id("e2"), id("e3"), id("e4")]);
    // What each epoch's names are under the next, taken out of what the session knows.
    let names_of = |epoch: &Id| -> Vec<Id> {
        let of = records
            .iter()
            .filter(|it| it.behaviour.scope.epoch == *epoch);
        of.flat_map(|it| it.behaviour.event_ids.clone()).collect()
    };
    let step = |from: usize| {
        let (from, to) = (&epochs[from], &epochs[from + 1]);
        let known = rig.session.rebase_ids(to);
        // The names under this epoch of all that earlier epochs issued, too.
        let under_from = rig.session.rebase_ids(from);
        let mut ids = BTreeMap::new();
        for epoch in &epochs {
            for name in names_of(epoch) {
                ids.insert(under_from[&name].clone(), known[&name].clone());
            }
        }
        EpochNames {
            from: from.clone(),
            to: to.clone(),
            ids,
        }
    };
    let names = vec![step(0), step(1), step(2)];
    let through = rebase_through(&records, &names, &id("e4")).unwrap();
    let direct = rebase_trace(
        &records,
        &epochs,
        &id("e4"),
        &rig.session.rebase_ids(&id("e4")),
    );
    assert_eq!(through, direct.unwrap(), "two ways to one end");
    assert_ne!(behaviour_digest(&through), behaviour_digest(&records));
    let straight = Rig::ready();
    straight.steps(8);
    let ids = straight.session.rebase_ids(&id("e4"));
    let straight = rebase_trace(&straight.session.trace().0, &[id("e1")], &id("e4"), &ids).unwrap();
    let diff = compare_traces(&straight, &through);
    assert_eq!(
        (diff.verdict, diff.compared),
        (TraceVerdict::Equal, 8),
        "{:?}",
        fields(&diff)
    );
    assert_eq!(behaviour_digest(&straight), behaviour_digest(&through));

    let refusal =
        |names: &[EpochNames], to: &str| rebase_through(&records, names, &id(to)).unwrap_err();
    assert!(
        matches!(refusal(&names[1..], "e4"), RebaseError::UnexpectedEpoch { epoch, .. } if epoch == id("e1"))
    );
    let mut gap = names.clone();
    gap[1].ids.pop_first();
    assert!(matches!(
        refusal(&gap, "e4"),
        RebaseError::UnmappedEvent { .. }
    ));
    assert!(matches!(
        refusal(&names[..2], "e4"),
        RebaseError::NoWay { .. }
    ));
    let mut circle = names.clone();
    circle[2].to = id("e1");
    assert!(matches!(refusal(&circle, "e4"), RebaseError::NoWay { .. }));
    let mut twice = names.clone();
    twice.push(names[0].clone());
    assert!(matches!(refusal(&twice, "e4"), RebaseError::NoWay { .. }));
    let mut foreign = records.clone();
    foreign[0].behaviour.batch_id = id("batch-0");
    assert!(matches!(
        rebase_through(&foreign, &names, &id("e4")),
        Err(RebaseError::BatchId { step: U64(0), .. })
    ));
}

/// Records written by another implementation, where they are at hand.
#[test]
fn the_recorded_variants_have_the_digests_and_differences_they_should() {
    use std::io::Write as _;
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Variant {
        name: String,
        trace: TraceRecord,
        behaviour_equals: bool,
        diff_contains: Option<String>,
    }
    #[derive(serde::Deserialize)]
    struct Fixture {
        baseline: TraceRecord,
        variants: Vec<Variant>,
    }
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/fixtures/flysess1/traces.json"
    );
    let Ok(text) = std::fs::read_to_string(path) else {
        let notice =
            format!("\nSKIPPED the_recorded_variants_have_the_digests: no fixture at {path}\n");
        std::io::stdout().write_all(notice.as_bytes()).unwrap();
        return;
    };
    let fixture: Fixture = serde_json::from_str(&text).unwrap();
    let baseline = [fixture.baseline];
    let mut equal = 0;
    for variant in &fixture.variants {
        let other = [variant.trace.clone()];
        let is_same = behaviour_digest(&baseline) == behaviour_digest(&other);
        assert_eq!(is_same, variant.behaviour_equals, "{}", variant.name);
        equal += usize::from(is_same);
        let diff = compare_traces(&baseline, &other);
        if let Some(field) = &variant.diff_contains {
            // It says `agent fly-a` for any field of that agent; here the field is named.
            let expected = match field.strip_prefix("agent ") {
                Some(agent) => format!("agents[{agent}]."),
                None => field.clone(),
            };
            assert!(
                fields(&diff).iter().any(|it| it.starts_with(&expected)),
                "{}: {:?}",
                variant.name,
                fields(&diff)
            );
        }
        // And they go out and come back.
        let line = trace_line(&variant.trace);
        let read = TraceExport::from_json_lines(&line).unwrap();
        assert_eq!(read.records(), other);
    }
    assert!(equal > 2 && fixture.variants.len() > equal + 2);
}
