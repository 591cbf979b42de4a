//! Questions about what was published, asked in the session's own words and in messages: each answered with what stands, or
//! refused with the code the protocol names, and nothing is different afterwards.

use std::rc::Rc;

use futures::executor::block_on;
use futures::future::join;
use serde_json::{Value, json};
use wellwritten_session::wire::{ChannelError, FrameChannel, MemoryChannel, serve_queries};
use wellwritten_session::{
    ErrorCode, QueryAnswer, QueryError, SessionDescriptor, SessionQueries, U64,
};

use crate::rig::{Rig, id};

#[test]
fn queries_are_strict_and_read_only() {
    let starting = Rig::starting(
        crate::rig::RigOptions::default(),
        Rc::default(),
        wellwritten_store::testing::SimulatedMedium::new(),
    );
    let nothing = starting.session.descriptor(None).unwrap_err();
    assert_eq!(
        (nothing.code(), starting.session.snapshot().unwrap_err()),
        (ErrorCode::InvalidPhase, QueryError::NothingPublished)
    );
    let rig = Rig::ready();
    let descriptor = rig.session.descriptor(Some(1)).unwrap();
    assert_eq!(
        (descriptor.revision, descriptor.scheduler_id.as_str()),
        (U64(1), "lockstep-v1")
    );
    let agents: Vec<(&str, &str)> = descriptor
        .agents
        .iter()
        .map(|agent| (agent.agent_id.as_str(), agent.port_id.as_str()))
        .collect();
    assert_eq!(agents, [("fly-a", "p1"), ("fly-b", "p2")]);
    assert_eq!(descriptor.environment.worker_id, id("world"));
    for (revision, code) in [
        (0, ErrorCode::IdentityMismatch),
        (2, ErrorCode::IdentityMismatch),
    ] {
        assert_eq!(
            rig.session.descriptor(Some(revision)).unwrap_err().code(),
            code
        );
    }
    let queries = rig.session.queries();
    rig.bench.logged();
    let before = rig.session.status();
    let table: [(&str, Value, Result<(), ErrorCode>); 12] = [
        ("Session.GetDescriptor", json!({}), Ok(())),
        ("Session.GetDescriptor", json!({"revision": "1"}), Ok(())),
        ("Session.GetDescriptor", json!({"revision": null}), Ok(())),
        (
            "Session.GetDescriptor",
            json!({"revision": "7"}),
            Err(ErrorCode::IdentityMismatch),
        ),
        (
            "Session.GetDescriptor",
            json!({"revision": 1}),
            Err(ErrorCode::InvalidArgument),
        ),
        (
            "Session.GetDescriptor",
            json!({"revision": "01"}),
            Err(ErrorCode::InvalidArgument),
        ),
        (
            "Session.GetDescriptor",
            json!({"other": "1"}),
            Err(ErrorCode::InvalidArgument),
        ),
        (
            "Session.GetDescriptor",
            json!(["1"]),
            Err(ErrorCode::InvalidArgument),
        ),
        ("Session.GetSnapshot", json!({}), Ok(())),
        (
            "Session.GetSnapshot",
            json!({"revision": "1"}),
            Err(ErrorCode::InvalidArgument),
        ),
        (
            "Session.GetSnapshot",
            json!(null),
            Err(ErrorCode::InvalidArgument),
        ),
        (
            "Environment.Advance",
            json!({}),
            Err(ErrorCode::Unsupported),
        ),
    ];
    for (method, params, expected) in table {
        let answer = queries.answer(method, &params);
        match (&answer, method) {
            (Ok(QueryAnswer::Descriptor(found)), SessionQueries::GET_DESCRIPTOR) => {
                assert_eq!(found.revision, U64(1));
            }
            (Ok(QueryAnswer::Snapshot(found)), SessionQueries::GET_SNAPSHOT) => {
                assert_eq!(found.scope.step, U64(0));
            }
            (Err(_), _) => {}
            _ => panic!("{method} was answered as another"),
        }
        let found = answer.map(|_| ()).map_err(|error| error.code());
        assert_eq!(found, expected, "{method} {params}");
    }
    assert_eq!(before, rig.session.status(), "asking changes nothing");
    assert!(rig.bench.logged().is_empty(), "and reaches nobody");
}

/// Asks over encoded frames and gives the reply's JSON with the bytes beside it.
async fn asked(
    observer: &MemoryChannel,
    message: &str,
    attachments: Vec<Vec<u8>>,
) -> (Value, Vec<Vec<u8>>) {
    let word = |length: usize| u32::try_from(length).unwrap().to_le_bytes();
    let mut frame = [word(message.len()), word(attachments.len())].concat();
    for attachment in &attachments {
        frame.extend((attachment.len() as u64).to_le_bytes());
    }
    frame.extend(message.as_bytes());
    frame.extend(attachments.concat());
    observer.send_bytes(frame).await.unwrap();
    let received = observer.receive().await.unwrap();
    let message: Value = serde_json::from_slice(&received.message).unwrap();
    (message, received.attachments)
}

fn question(call: u64, method: &str, params: &str) -> String {
    format!(
        r#"{{"attachments":[],"callId":"call-{call}","request":{{"method":"{method}","params":{params},"requestId":"req-{call}","scope":null}}}}"#
    )
}

#[test]
fn an_observer_elsewhere_asks_by_message_and_gets_the_bytes_beside_the_answer() {
    let rig = Rig::ready();
    rig.steps(2);
    let (served, observer) = MemoryChannel::pair();
    let serving = serve_queries(rig.session.queries(), served);
    let asking = async {
        let (reply, bytes) = asked(
            &observer,
            &question(1, "Session.GetDescriptor", "{}"),
            vec![],
        )
        .await;
        assert_eq!(reply["callId"], "call-1");
        let reply = &reply["reply"];
        assert_eq!(
            (&reply["type"], &reply["requestId"]),
            (&json!("result"), &json!("req-1"))
        );
        assert_eq!(
            (&reply["workerId"], &reply["incarnationId"]),
            (&json!("demo"), &json!("publisher-e1"))
        );
        let descriptor = rig.session.descriptor(None).unwrap();
        let read: SessionDescriptor = serde_json::from_value(reply["result"].clone()).unwrap();
        assert_eq!(read, *descriptor, "it reads as what it was");
        assert!(bytes.is_empty());

        let (reply, bytes) =
            asked(&observer, &question(2, "Session.GetSnapshot", "{}"), vec![]).await;
        let snapshot = rig.session.snapshot().unwrap();
        let result = &reply["reply"]["result"];
        assert_eq!(
            result["scope"],
            json!({"sessionId": "demo", "epoch": "e1", "step": "2"})
        );
        assert_eq!(result["sequence"], "3");
        let own: Vec<&[u8]> = snapshot.attachments().map(|(_, it)| it.bytes()).collect();
        assert!(
            own.len() == 2
                && own
                    .iter()
                    .eq(bytes.iter().map(Vec::as_slice).collect::<Vec<_>>().iter())
        );
        let listed = &reply["attachments"];
        assert_eq!(
            [&listed[0]["artifactId"], &listed[1]["artifactId"]],
            [
                &result["media"]["views"][0]["pixels"]["artifactId"],
                &result["media"]["audio"][0]["samples"]["artifactId"]
            ]
        );

        let refusals = [
            (question(3, "Session.GetSnapshot", r#"{"a":1}"#), vec![], "call-3", "INVALID_ARGUMENT"),
            (question(4, "Session.GetDescriptor", r#"{"revision":"9"}"#), vec![], "call-4", "IDENTITY_MISMATCH"),
            (question(5, "Environment.Advance", "{}"), vec![], "call-5", "UNSUPPORTED"),
            ("not json".to_owned(), vec![], "call-0", "INVALID_ARGUMENT"),
            (
                question(6, "Session.GetSnapshot", "{}").replace(
                    r#""attachments":[]"#,
                    r#""attachments":[{"artifactId":"art-1","byteLength":"2","contentType":"image/x-rgba8"}]"#,
                ),
                vec![vec![1, 2]],
                "call-6",
                "BUFFER_INVALID",
            ),
        ];
        for (message, attachments, call, code) in refusals {
            let (reply, bytes) = asked(&observer, &message, attachments).await;
            assert_eq!(reply["callId"], call, "{message}");
            let error = &reply["reply"]["error"];
            assert_eq!(
                (&error["code"], &error["mutation"]),
                (&json!(code), &json!("none")),
                "{message}"
            );
            assert!(bytes.is_empty());
        }
        observer.close();
    };
    let (end, ()) = block_on(join(serving, asking));
    assert!(matches!(end, ChannelError::Closed { .. }));
    rig.steps(1);
}
