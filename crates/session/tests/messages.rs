//! Every message of the protocol, and everything that is almost one.
//!
//! Oracle: a message is what `testing::sample_calls` and `sample_answers` write. Each is damaged in every place, in every way
//! there is a name for, and is then refused; undamaged it reads back as what it was.

use serde_json::{Map, Value, json};
use wellwritten_session::testing::{
    Filling, sample_answers, sample_calls, sample_reply, sample_request,
};
use wellwritten_session::wire::{
    CallId, Inbox, ReceivedFrame, WireError, reply_frame, request_frame,
};
use wellwritten_session::{
    Artifact, Call, Digest, ErrorCode, Hello, MutationCertainty, ParticipantError, Reply, Request,
    RequestId, Role,
};

const BOTH: [Filling; 2] = [Filling::Full, Filling::Null];

fn request_frames() -> Vec<(&'static str, ReceivedFrame)> {
    let calls = BOTH.into_iter().flat_map(sample_calls);
    calls
        .map(|call| {
            let method = call.method();
            let frame = request_frame(CallId(3), &sample_request(7, call)).unwrap();
            (method, frame.received())
        })
        .collect()
}

fn reply_frames() -> Vec<(&'static str, ReceivedFrame)> {
    BOTH.into_iter()
        .flat_map(|filling| Call::METHODS.into_iter().zip(sample_answers(filling)))
        .map(|(method, answer)| {
            let frame = reply_frame(CallId(3), &sample_reply(7, Ok(answer))).unwrap();
            (method, frame.received())
        })
        .collect()
}

/// The code a request is refused with; none where it is one.
fn refusal(frame: ReceivedFrame) -> Option<ErrorCode> {
    match Inbox::new().open(frame) {
        Err(error) => Some(error.code()),
        Ok(incoming) => incoming.into_request().err().map(|it| it.error.code),
    }
}

fn reply_error(method: &'static str, frame: ReceivedFrame) -> Option<WireError> {
    Inbox::new()
        .open(frame)
        .and_then(|incoming| incoming.into_reply(method))
        .err()
}

fn with_message(frame: &ReceivedFrame, message: Vec<u8>) -> ReceivedFrame {
    ReceivedFrame {
        message,
        attachments: frame.attachments.clone(),
    }
}

fn parsed(frame: &ReceivedFrame) -> Value {
    serde_json::from_slice(&frame.message).unwrap()
}

/// Every place in a value: the keys and positions that lead there. What a schema defines, inside a typed value, is not ours.
fn places(value: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    let is_typed_value = value.get("schema").is_some() && value.get("value").is_some();
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                path.push(key.clone());
                found.push(path.clone());
                if !(is_typed_value && key == "value") {
                    places(field, path, found);
                }
                path.pop();
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(index.to_string());
                places(item, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

fn at<'a>(value: &'a mut Value, path: &[String]) -> &'a mut Value {
    path.iter().fold(value, |value, step| match value {
        Value::Array(items) => &mut items[step.parse::<usize>().unwrap()],
        other => &mut other[step.as_str()],
    })
}

fn object<'a>(value: &'a mut Value, path: &[String]) -> &'a mut Map<String, Value> {
    at(value, path).as_object_mut().unwrap()
}

/// One message for each way to damage a JSON value by its shape.
fn damaged(frame: &ReceivedFrame) -> Vec<(String, ReceivedFrame)> {
    let mut found = Vec::new();
    places(&parsed(frame), &mut Vec::new(), &mut found);
    let mut all = Vec::new();
    let mut add = |what: String, value: Value| {
        all.push((
            what,
            with_message(frame, serde_json::to_vec(&value).unwrap()),
        ));
    };
    for path in found {
        let name = path.join(".");
        let (key, parent) = path.split_last().unwrap();
        let mut without = parsed(frame);
        object(&mut without, parent).remove(key);
        add(format!("without {name}"), without);
        let mut misspelt = parsed(frame);
        let field = object(&mut misspelt, parent).remove(key).unwrap();
        object(&mut misspelt, parent).insert(format!("{key}x"), field);
        add(format!("{name} misspelt"), misspelt);
        let mut extra = parsed(frame);
        object(&mut extra, parent).insert("unknown".to_owned(), json!(1));
        add(format!("something beside {name}"), extra);
        for wrong in [json!([[]]), json!({"a": {}}), json!("\u{7}"), json!(-1.5)] {
            let mut other = parsed(frame);
            // A reward, a rate or a position on an axis may be any finite number; the rules for it come after the shape.
            let may_be_any_number =
                at(&mut other, &path).is_number() || key == "stimulusRemainingMs";
            if may_be_any_number && wrong.is_number() {
                continue;
            }
            // Free text.
            let is_text = [
                "method",
                "engineFrame",
                "bufferLabel",
                "message",
                "restoreToken",
                "preparedRequestId",
            ];
            if wrong.is_string() && is_text.contains(&key.as_str()) && key != "method" {
                continue;
            }
            // A report for a person may be anything.
            if key == "detail"
                || (key == "value"
                    && at(&mut parsed(frame), parent).get("schema").is_some()
                    && wrong.is_object())
            {
                continue;
            }
            *at(&mut other, &path) = wrong.clone();
            add(format!("{name} as {wrong}"), other);
        }
    }
    all
}

#[test]
fn what_is_written_reads_back_as_what_it_was() {
    for (method, frame) in request_frames() {
        let request = Inbox::new()
            .open(frame.clone())
            .unwrap()
            .into_request()
            .unwrap();
        assert_eq!(request.request_id, RequestId(7));
        let again = request_frame(CallId(3), &request).unwrap().received();
        assert_eq!(without_names(&again), without_names(&frame), "{method}");
        assert_eq!(again.attachments, frame.attachments, "{method}");
    }
    for (method, frame) in reply_frames() {
        let reply = Inbox::new()
            .open(frame.clone())
            .unwrap()
            .into_reply(method)
            .unwrap();
        let again = reply_frame(CallId(3), &reply).unwrap().received();
        assert_eq!(without_names(&again), without_names(&frame), "{method}");
        assert_eq!(again.attachments, frame.attachments, "{method}");
    }
}

/// Names of artifacts are a program's own, and a digest is stated once somebody has computed it.
fn without_names(frame: &ReceivedFrame) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                if fields.remove("artifactId").is_some() {
                    fields.remove("digest");
                }
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = parsed(frame);
    strip(&mut value);
    value
}

#[test]
fn a_request_that_is_damaged_anywhere_is_refused() {
    let mut tried = 0;
    for (method, frame) in request_frames() {
        for (what, damaged) in damaged(&frame) {
            tried += 1;
            let code = refusal(damaged);
            let expected = [
                ErrorCode::InvalidArgument,
                ErrorCode::BufferInvalid,
                ErrorCode::Unsupported,
            ];
            assert!(
                code.is_some_and(|code| expected.contains(&code)),
                "{method} {what}: {code:?}"
            );
        }
    }
    assert!(tried > 1_000, "{tried}");
}

#[test]
fn a_reply_that_is_damaged_anywhere_is_refused() {
    let mut tried = 0;
    for (method, frame) in reply_frames() {
        for (what, damaged) in damaged(&frame) {
            tried += 1;
            assert!(reply_error(method, damaged).is_some(), "{method} {what}");
        }
    }
    assert!(tried > 2_000, "{tried}");
}

#[test]
fn bytes_that_are_cut_lengthened_or_no_text_are_refused() {
    for (method, frame) in request_frames() {
        for length in 0..frame.message.len() {
            let cut = with_message(&frame, frame.message[..length].to_vec());
            assert!(refusal(cut).is_some(), "{method} cut to {length}");
            let mut broken = frame.message.clone();
            broken[length] = 0xff;
            let broken = with_message(&frame, broken);
            assert!(refusal(broken).is_some(), "{method} with 0xff at {length}");
        }
        let longer = [&frame.message[..], b" {}"].concat();
        assert!(refusal(with_message(&frame, longer)).is_some());
        let text = String::from_utf8(frame.message.clone()).unwrap();
        let twice = text.replacen(
            "\"requestId\":",
            "\"requestId\":\"req-9\",\"requestId\":",
            1,
        );
        assert_eq!(
            refusal(with_message(&frame, twice.into_bytes())),
            Some(ErrorCode::InvalidArgument),
            "{method} named twice"
        );
    }
}

#[test]
fn a_message_is_no_longer_than_may_be() {
    let (_, frame) = request_frames().swap_remove(10);
    let text = String::from_utf8(frame.message.clone()).unwrap();
    let padded = text.replacen("world/field", &"x".repeat(65_536), 1);
    let long = Inbox::new().open(with_message(&frame, padded.into_bytes()));
    assert!(matches!(long, Err(WireError::MessageTooLong { .. })));
    let call = Call::Rewrite {
        buffer_label: "x".repeat(65_536),
    };
    let unsendable = request_frame(CallId(1), &sample_request(1, call)).unwrap_err();
    assert!(matches!(unsendable, WireError::MessageTooLong { .. }));
}

#[test]
fn attachments_are_those_the_message_speaks_of() {
    let commit = || request_frames().swap_remove(8).1;
    assert_eq!(refusal(commit()), None);
    let mut missing = commit();
    missing.attachments.clear();
    assert_eq!(refusal(missing), Some(ErrorCode::BufferInvalid));
    let mut extra = commit();
    extra.attachments.push(vec![1]);
    assert_eq!(refusal(extra), Some(ErrorCode::BufferInvalid));
    let mut longer = commit();
    longer.attachments[0].push(0);
    assert_eq!(refusal(longer), Some(ErrorCode::BufferInvalid));
    let replaced = |from: &str, to: &str| {
        let frame = commit();
        let text = String::from_utf8(frame.message.clone()).unwrap();
        assert!(text.contains(from), "{text}");
        refusal(with_message(&frame, text.replace(from, to).into_bytes()))
    };
    assert_eq!(
        replaced(Artifact::RGBA8, Artifact::F32LE),
        None,
        "a content type that fits the bytes is the session's to judge"
    );
    assert_eq!(
        replaced(Artifact::RGBA8, "text/html"),
        Some(ErrorCode::BufferInvalid)
    );
    let text = String::from_utf8(commit().message).unwrap();
    let id = text.split("\"artifactId\":\"").nth(1).unwrap();
    let id = id.split('"').next().unwrap().to_owned();
    let frame = commit();
    let other = text.replacen(&id, "art-999999", 1);
    // Listed under one name and spoken of under another.
    assert_eq!(
        refusal(with_message(&frame, other.into_bytes())),
        Some(ErrorCode::BufferInvalid)
    );
}

#[test]
fn a_payload_that_is_not_what_its_digest_says_is_refused() {
    let payload = Artifact::seal(b"state".to_vec(), Artifact::CHECKPOINT_PAYLOAD);
    let _ = payload.digest();
    let call = sample_calls(Filling::Full).swap_remove(12);
    let Call::StageRestore(mut stage) = call else {
        panic!("the thirteenth method stages");
    };
    stage.payload = payload;
    let request = sample_request(7, Call::StageRestore(stage));
    let mut frame = request_frame(CallId(1), &request).unwrap().received();
    assert_eq!(refusal(frame.clone()), None);
    frame.attachments[0][0] ^= 1;
    assert_eq!(refusal(frame), Some(ErrorCode::BufferInvalid));
}

#[test]
fn an_artifact_never_changes_under_its_name() {
    let inbox = Inbox::new();
    let (_, frame) = request_frames().swap_remove(8);
    let first = inbox.open(frame.clone()).unwrap().into_request().unwrap();
    let mut other = frame;
    other.attachments[0][0] ^= 1;
    let changed = inbox.open(other.clone()).unwrap_err();
    assert!(matches!(changed, WireError::ArtifactChanged { .. }));
    drop(first);
    assert!(inbox.open(other).is_ok(), "nobody remembers the first");
}

#[test]
fn a_certainty_comes_only_with_a_code_that_may_have_it() {
    for code in ErrorCode::ALL {
        for mutation in [
            MutationCertainty::None,
            MutationCertainty::Applied,
            MutationCertainty::Unknown,
        ] {
            let error = ParticipantError::new(code, mutation, "why");
            let reply: Reply = sample_reply(7, Err(error));
            let frame = reply_frame(CallId(1), &reply).unwrap().received();
            let refused = reply_error("Agent.Prepare", frame);
            let may = mutation == MutationCertainty::None || !code.changes_nothing();
            assert_eq!(refused.is_none(), may, "{code} {mutation}");
        }
    }
    let free = ErrorCode::ALL.iter().filter(|code| !code.changes_nothing());
    assert_eq!(free.count(), 3);
}

#[test]
fn a_request_is_no_reply_and_a_reply_no_request() {
    let (method, request) = request_frames().swap_remove(0);
    assert!(matches!(
        reply_error(method, request),
        Some(WireError::Direction { .. })
    ));
    let (_, reply) = reply_frames().swap_remove(0);
    assert_eq!(refusal(reply), Some(ErrorCode::InvalidArgument));
}

#[test]
fn an_answer_to_another_method_is_refused() {
    for (method, frame) in reply_frames() {
        for other in Call::METHODS {
            let is_nothing = |name: &str| ["State.Verify", "State.Rewrite"].contains(&name);
            if other == method || (is_nothing(other) && is_nothing(method)) {
                continue;
            }
            assert!(
                reply_error(other, frame.clone()).is_some(),
                "{method} as {other}"
            );
        }
    }
}

/// The protocol's published vector of a body digest, which is SHA-256 there: the text beneath is the same.
#[test]
fn a_body_is_the_published_text() {
    let id = |text| wellwritten_session::Id::parse(text).unwrap();
    let hello = Request {
        request_id: RequestId(1),
        scope: None,
        call: Call::Hello(Hello {
            session_id: id("demo"),
            expected_worker_id: id("fly-a"),
            role: Role::Agent,
            supported_majors: vec![1],
        }),
    };
    let body = hello.body().unwrap();
    let published = "0c07677a45178d8680dddbeec56d4e09f6ccbfe5fe77d9d4ff2fb07b369febaf";
    assert_eq!(Digest::sha256(&body).to_string(), published);
    assert_eq!(hello.body_digest().unwrap(), Digest::blake3(&body));
    let again = Request {
        request_id: RequestId(2),
        ..hello.clone()
    };
    assert_eq!(
        again.body().unwrap(),
        body,
        "a name is no part of what is asked"
    );
    let Call::Hello(mut other) = hello.call else {
        panic!("it is a Hello")
    };
    other.supported_majors.push(2);
    let other = Request {
        request_id: RequestId(1),
        scope: None,
        call: Call::Hello(other),
    };
    assert_ne!(other.body().unwrap(), body);
}

#[test]
fn a_captured_state_says_its_digest_and_an_error_is_no_longer_than_may_be() {
    let (_, frame) = request_frames().swap_remove(12);
    let mut silent = parsed(&frame);
    let payload = &mut silent["request"]["params"]["payload"];
    assert!(payload["digest"].is_string());
    payload["digest"] = Value::Null;
    let silent = with_message(&frame, serde_json::to_vec(&silent).unwrap());
    assert_eq!(refusal(silent), Some(ErrorCode::BufferInvalid));
    for (length, may) in [(512, true), (513, false)] {
        let mut error = ParticipantError::refused(ErrorCode::Busy, "");
        error.message = "\u{e9}".repeat(length);
        let frame = reply_frame(CallId(1), &sample_reply(7, Err(error)))
            .unwrap()
            .received();
        assert_eq!(
            reply_error("State.Verify", frame).is_none(),
            may,
            "{length}"
        );
    }
}
