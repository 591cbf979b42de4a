//! Oracle: what a participant in the same program answers. Over a channel the answers are the same.

use std::rc::Rc;

use futures::executor::{LocalPool, LocalSpawner};
use futures::task::LocalSpawnExt;
use wellwritten_session::wire::{
    ChannelError, FrameChannel, FrameDecoder, Inbox, MemoryChannel, Remote, ServeEnd, serve,
};
use wellwritten_session::{
    Answer, Artifact, Call, Direct, EnvironmentInitialize, ErrorCode, Hello, ParticipantRuntime,
    PortBinding, Request, RequestId, Role, Scope, Transport, TransportError, U64,
};

use crate::rig::{Bench, id};
use crate::world::CounterWorld;

fn world() -> ParticipantRuntime {
    let world = CounterWorld::new(Rc::<Bench>::default(), &[id("p1")]);
    ParticipantRuntime::environment(id("demo"), id("incarnation-1"), Box::new(world))
}

fn hello() -> Request {
    Request {
        request_id: RequestId(1),
        scope: None,
        call: Call::Hello(Hello {
            session_id: id("demo"),
            expected_worker_id: id("world"),
            role: Role::Environment,
            supported_majors: vec![1],
        }),
    }
}

fn initialize(serial: u64) -> Request {
    Request {
        request_id: RequestId(serial),
        scope: Some(Scope {
            session_id: id("demo"),
            epoch: id("e1"),
            step: U64(0),
        }),
        call: Call::InitializeEnvironment(EnvironmentInitialize {
            episode_id: id("ep1"),
            port_bindings: vec![PortBinding {
                port_id: id("p1"),
                agent_id: id("fly-a"),
            }],
        }),
    }
}

struct Served {
    pool: LocalPool,
    remote: Rc<Remote>,
    coordinator_end: Rc<MemoryChannel>,
    participant_end: Rc<MemoryChannel>,
}

fn spawn(spawner: &LocalSpawner, future: impl Future<Output = ()> + 'static) {
    spawner.spawn_local(future).unwrap();
}

fn served() -> Served {
    let pool = LocalPool::new();
    let (coordinator_end, participant_end) = MemoryChannel::pair();
    let (remote, driving) = Remote::new(coordinator_end.clone());
    spawn(&pool.spawner(), driving);
    let channel: Rc<dyn FrameChannel> = participant_end.clone();
    spawn(&pool.spawner(), async move {
        serve(Rc::new(world()), channel).await;
    });
    Served {
        pool,
        remote,
        coordinator_end,
        participant_end,
    }
}

#[test]
fn a_channel_answers_what_the_same_program_answers() {
    let mut served = served();
    let direct = Direct::new(world());
    for request in [hello(), initialize(2), initialize(2), initialize(3)] {
        let over_channel = served.pool.run_until(served.remote.call(&request)).unwrap();
        let in_program = futures::executor::block_on(direct.call(&request)).unwrap();
        assert_eq!(format!("{over_channel:?}"), format!("{in_program:?}"));
    }
}

#[test]
fn an_artifact_comes_again_as_the_same_artifact() {
    let mut served = served();
    let mut pixels = || -> Artifact {
        let reply = served.pool.run_until(served.remote.call(&initialize(2)));
        match reply.unwrap().outcome.unwrap() {
            Answer::WorldInitialized(shown) => shown.sensory_views[0].pixels.clone(),
            other => panic!("{other:?}"),
        }
    };
    let (first, again) = (pixels(), pixels());
    assert!(first.is_same(&again));
    // Canary: once nobody owns it, it comes as another artifact of the same bytes.
    let digest = first.digest();
    drop((first, again));
    assert_eq!(pixels().digest(), digest);
}

#[test]
fn shutting_down_answers_and_ends_the_route() {
    let mut pool = LocalPool::new();
    let (coordinator_end, participant_end) = MemoryChannel::pair();
    let (remote, driving) = Remote::new(coordinator_end);
    spawn(&pool.spawner(), driving);
    let channel: Rc<dyn FrameChannel> = participant_end;
    let end = pool
        .spawner()
        .spawn_local_with_handle(serve(Rc::new(world()), channel))
        .unwrap();
    let stop = Request {
        request_id: RequestId(9),
        scope: None,
        call: Call::Shutdown {
            reason: id("finished"),
        },
    };
    let reply = pool.run_until(remote.call(&stop)).unwrap();
    assert!(matches!(
        reply.outcome,
        Ok(Answer::Stopping { stopping: true })
    ));
    assert_eq!(pool.run_until(end), ServeEnd::Stopped);
    let later = pool.run_until(remote.call(&hello())).unwrap_err();
    assert_eq!(later, TransportError::RouteGone { reason: None });
}

#[test]
fn what_is_no_message_is_answered_and_ends_the_route() {
    let mut served = served();
    let garbage = [
        &8_u32.to_le_bytes()[..],
        &0_u32.to_le_bytes(),
        b"{\"a\":1}\n",
    ]
    .concat();
    served
        .pool
        .run_until(served.coordinator_end.send_bytes(garbage))
        .unwrap();
    let lost = served.pool.run_until(served.remote.call(&hello()));
    // The answer to the garbage came first, and an answer to nothing is not trusted.
    assert!(
        matches!(&lost, Err(TransportError::ReplyLost { reason: Some(reason) } | TransportError::RouteGone { reason: Some(reason) })
            if reason.contains("could not read")),
        "{lost:?}"
    );
}

#[test]
fn a_participant_that_answers_no_frame_is_gone_by_name() {
    let mut served = served();
    let endless = [&u32::MAX.to_le_bytes()[..], &[0; 4]].concat();
    served
        .pool
        .run_until(served.participant_end.send_bytes(endless))
        .unwrap();
    let lost = served.pool.run_until(served.remote.call(&hello()));
    assert!(
        matches!(&lost, Err(TransportError::ReplyLost { reason: Some(reason) } | TransportError::RouteGone { reason: Some(reason) })
            if reason.contains("4294967295 bytes, the limit is 65536")),
        "{lost:?}"
    );
}

#[test]
fn a_method_that_is_none_and_parameters_that_do_not_fit_have_their_codes() {
    let refused = |message: &str| {
        let frame = wellwritten_session::wire::ReceivedFrame {
            message: message.as_bytes().to_vec(),
            attachments: Vec::new(),
        };
        let refused = Inbox::new()
            .open(frame)
            .unwrap()
            .into_request()
            .unwrap_err();
        (refused.request_id, refused.error.code)
    };
    let wrap =
        |request: &str| format!(r#"{{"attachments":[],"callId":"call-1","request":{request}}}"#);
    let cases = [
        (
            r#"{"requestId":"req-4","method":"Agent.Rollback","scope":null,"params":{}}"#,
            4,
            ErrorCode::Unsupported,
        ),
        (
            r#"{"requestId":"req-4","method":"Worker.Status","scope":null,"params":{"a":1}}"#,
            4,
            ErrorCode::InvalidArgument,
        ),
        (
            r#"{"requestId":"req-4","method":"Worker.Status","scope":null,"params":[]}"#,
            4,
            ErrorCode::InvalidArgument,
        ),
        (
            r#"{"requestId":"req-04","method":"Worker.Status","scope":null,"params":{}}"#,
            0,
            ErrorCode::InvalidArgument,
        ),
        (
            r#"{"requestId":"call-4","method":"Worker.Status","scope":null,"params":{}}"#,
            0,
            ErrorCode::InvalidArgument,
        ),
        (
            r#"{"requestId":"req-4","method":"Worker.Status","params":{}}"#,
            0,
            ErrorCode::InvalidArgument,
        ),
    ];
    for (request, request_id, code) in cases {
        assert_eq!(
            refused(&wrap(request)),
            (RequestId(request_id), code),
            "{request}"
        );
    }
}

#[test]
fn a_decoder_gives_the_same_frames_however_the_bytes_are_cut() {
    let (one, other) = MemoryChannel::pair();
    let mut pool = LocalPool::new();
    let (remote, _driving) = Remote::new(one);
    let request = hello();
    let mut call = remote.call(&request);
    let _ = pool.run_until(async { futures::poll!(&mut call) });
    let frame = pool.run_until(other.receive()).unwrap();
    let artifact = Artifact::seal(vec![1, 2, 3], Artifact::RGBA8);
    let mut bytes = Vec::new();
    for attachments in [0_usize, 2] {
        bytes.extend(u32::try_from(frame.message.len()).unwrap().to_le_bytes());
        bytes.extend(u32::try_from(attachments).unwrap().to_le_bytes());
        bytes.extend(artifact.byte_length().to_le_bytes().repeat(attachments));
        bytes.extend(&frame.message);
        bytes.extend(artifact.bytes().repeat(attachments));
    }
    for size in 1..=bytes.len() {
        let mut decoder = FrameDecoder::new();
        let mut frames = Vec::new();
        for chunk in bytes.chunks(size) {
            let mut rest = chunk;
            while let Some(frame) = decoder.take(&mut rest).unwrap() {
                frames.push(frame);
            }
        }
        assert!(!decoder.is_within_frame());
        let attachments: Vec<usize> = frames.iter().map(|it| it.attachments.len()).collect();
        assert_eq!(attachments, [0, 2], "in pieces of {size}");
        assert!(frames.iter().all(|it| it.message == frame.message));
    }
}

#[test]
fn a_closed_channel_says_so() {
    let (one, other) = MemoryChannel::pair();
    one.close();
    let received = futures::executor::block_on(other.receive());
    assert_eq!(received.unwrap_err(), ChannelError::Closed { reason: None });
}
