//! Oracle of the channel: the bytes that a frame must be on a stream, written down by hand, and a counter of how much a sender
//! got rid of.

use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::thread;

use wellwritten_native::UnixChannel;
use wellwritten_session::wire::{
    CallId, ChannelError, Frame, FrameChannel, MAX_ATTACHMENTS, MAX_MESSAGE_BYTES, WireError,
    request_frame,
};
use wellwritten_session::{
    Artifact, Call, Digest, Id, Request, RequestId, Scope, StageRestore, U64,
};

use crate::runtime::{host, settle};

/// A request without attachments.
fn small(serial: u64) -> Frame {
    let request = Request {
        request_id: RequestId(serial),
        scope: None,
        call: Call::Status {},
    };
    request_frame(CallId(serial), &request).unwrap()
}

/// A request with one attachment of so many bytes.
fn large(serial: u64, length: usize) -> Frame {
    let id = |text| Id::parse(text).unwrap();
    let scope = Scope {
        session_id: id("demo"),
        epoch: id("e1"),
        step: U64(0),
    };
    let bytes: Vec<u8> = (0..=250).cycle().take(length).collect();
    let request = Request {
        request_id: RequestId(serial),
        scope: Some(scope.clone()),
        call: Call::StageRestore(StageRestore {
            checkpoint_id: id("c1"),
            source_scope: scope,
            compatibility_digest: Digest::from_bytes([7; 32]),
            payload: Artifact::seal(bytes, Artifact::CHECKPOINT_PAYLOAD),
        }),
    };
    request_frame(CallId(serial), &request).unwrap()
}

/// A channel, and the naked other end of its socket.
fn naked() -> (Rc<UnixChannel>, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    (UnixChannel::from_std(ours).unwrap(), theirs)
}

fn closed(error: &ChannelError) -> Option<&str> {
    match error {
        ChannelError::Closed { reason } => reason.as_deref(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_frame_is_lengths_message_and_attachments() {
    host(async {
        let (channel, mut naked) = naked();
        let frame = large(3, 5);
        channel.send(frame.clone()).await.unwrap();
        let mut written = vec![0; 4096];
        let count = naked.read(&mut written).unwrap();
        written.truncate(count);

        let message = frame.message();
        let mut expected = Vec::new();
        expected.extend(u32::try_from(message.len()).unwrap().to_le_bytes());
        expected.extend(1_u32.to_le_bytes());
        expected.extend(5_u64.to_le_bytes());
        expected.extend(message);
        expected.extend([0, 1, 2, 3, 4]);
        assert_eq!(written, expected);
        assert_eq!(frame.encode(), expected);
    });
}

#[test]
fn frames_come_in_as_they_went_out_however_the_stream_is_cut() {
    let frames = [small(1), large(2, 0), large(3, 100_000), small(4)];
    let stream: Vec<u8> = frames.iter().flat_map(Frame::encode).collect();
    for piece in [1, 7, 4096, stream.len()] {
        let (ours, mut naked) = UnixStream::pair().unwrap();
        let stream = stream.clone();
        let writing = thread::spawn(move || {
            for bytes in stream.chunks(piece) {
                naked.write_all(bytes).unwrap();
            }
            naked
        });
        host(async {
            let channel = UnixChannel::from_std(ours).unwrap();
            for frame in &frames {
                let received = channel.receive().await.unwrap();
                assert!(received == frame.received(), "in pieces of {piece}");
            }
        });
        drop(writing.join().unwrap());
    }
}

#[test]
fn a_peer_that_does_not_read_makes_its_sender_wait() {
    host(async {
        const LENGTH: usize = 64 << 10;
        let (ours, theirs) = UnixChannel::pair().unwrap();
        let frame = large(1, LENGTH);
        let expected = frame.received();
        let sent = Rc::new(Cell::new(0_u64));
        let sending = tokio::task::spawn_local({
            let sent = sent.clone();
            async move {
                for _ in 1..=100 {
                    ours.send(frame.clone()).await.unwrap();
                    sent.set(sent.get() + 1);
                }
            }
        });
        settle().await;
        let stuck_at = sent.get();
        // The system keeps a few hundred kilobytes; this program keeps the one frame that is being sent.
        assert!(stuck_at < 20, "{stuck_at} frames went out unread");
        settle().await;
        assert_eq!(sent.get(), stuck_at, "nothing moves until somebody reads");
        for serial in 1..=100 {
            let frame = theirs.receive().await.unwrap();
            assert!(frame == expected, "frame {serial}");
        }
        sending.await.unwrap();
        assert_eq!(sent.get(), 100);
    });
}

#[test]
fn a_sender_that_is_dropped_within_a_frame_spoils_nothing() {
    host(async {
        let first = large(1, 3 << 20);
        let (ours, theirs) = UnixChannel::pair().unwrap();
        {
            let mut sending = ours.send(first.clone());
            let polled = sending
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending(), "more than the system keeps");
        }
        let sending = tokio::task::spawn_local(async move {
            ours.send(small(2)).await.unwrap();
            ours
        });
        assert!(theirs.receive().await.unwrap() == first.received());
        assert!(theirs.receive().await.unwrap() == small(2).received());
        drop(sending.await.unwrap());
    });
}

#[test]
fn senders_at_the_same_time_go_one_after_the_other() {
    host(async {
        let (ours, theirs) = UnixChannel::pair().unwrap();
        let frames: Vec<_> = (1..=20).map(|serial| large(serial, 300_000)).collect();
        for frame in frames.clone() {
            let ours = ours.clone();
            tokio::task::spawn_local(async move {
                ours.send(frame).await.unwrap();
            });
        }
        let mut missing: Vec<_> = frames.iter().map(Frame::received).collect();
        while !missing.is_empty() {
            let frame = theirs.receive().await.unwrap();
            let sent = missing.iter().position(|sent| *sent == frame);
            missing.swap_remove(sent.expect("one of those that were sent, whole, and once"));
        }
    });
}

#[test]
fn the_end_of_a_channel_is_told_to_both_and_to_whoever_waits() {
    host(async {
        let (ours, theirs) = UnixChannel::pair().unwrap();
        let waiting = tokio::task::spawn_local({
            let ours = ours.clone();
            async move { ours.receive().await }
        });
        settle().await;
        assert!(!waiting.is_finished());
        ours.close();
        assert_eq!(closed(&waiting.await.unwrap().unwrap_err()), None);
        assert_eq!(closed(&ours.send(small(1)).await.unwrap_err()), None);
        assert_eq!(closed(&ours.receive().await.unwrap_err()), None);
        assert_eq!(closed(&theirs.receive().await.unwrap_err()), None);
        assert_eq!(closed(&theirs.send(small(1)).await.unwrap_err()), None);
    });
}

#[test]
fn what_was_sent_before_the_end_still_comes() {
    host(async {
        let (ours, theirs) = UnixChannel::pair().unwrap();
        let second = large(2, 1000);
        ours.send(small(1)).await.unwrap();
        ours.send(second.clone()).await.unwrap();
        drop(ours);
        assert!(theirs.receive().await.unwrap() == small(1).received());
        assert!(theirs.receive().await.unwrap() == second.received());
        assert_eq!(closed(&theirs.receive().await.unwrap_err()), None);
    });
}

#[test]
fn a_sender_that_waits_is_told_of_the_end() {
    host(async {
        let (ours, theirs) = UnixChannel::pair().unwrap();
        let sending = tokio::task::spawn_local(async move { ours.send(large(1, 8 << 20)).await });
        settle().await;
        assert!(!sending.is_finished());
        drop(theirs);
        closed(&sending.await.unwrap().unwrap_err());
    });
}

#[test]
fn a_stream_that_ends_within_a_frame_says_so() {
    host(async {
        let whole = large(1, 1000).encode();
        for cut in [1, 4, 8, 15, 20, whole.len() - 1] {
            let (channel, mut naked) = naked();
            naked.write_all(&whole[..cut]).unwrap();
            drop(naked);
            let error = channel.receive().await.unwrap_err();
            assert_eq!(
                closed(&error),
                Some("the stream ended within a frame"),
                "{cut}"
            );
        }
    });
}

#[test]
fn what_is_no_frame_is_refused_before_memory_is_taken_for_it() {
    host(async {
        let head = |message: u32, attachments: u32, length: u64| {
            let mut head = message.to_le_bytes().to_vec();
            head.extend(attachments.to_le_bytes());
            head.extend(length.to_le_bytes());
            head
        };
        let longest = u32::try_from(MAX_MESSAGE_BYTES).unwrap();
        let most = u32::try_from(MAX_ATTACHMENTS).unwrap();
        for (bytes, what) in [
            (head(longest + 1, 0, 0), "message"),
            (head(u32::MAX, 0, 0), "message"),
            (head(1, most + 1, 0), "count"),
            (head(1, u32::MAX, 0), "count"),
            (head(1, 1, Artifact::MAX_BYTES + 1), "attachment"),
            (head(1, 1, u64::MAX), "attachment"),
        ] {
            let (channel, mut naked) = naked();
            naked.write_all(&bytes).unwrap();
            let error = channel.receive().await.unwrap_err();
            let found = match error {
                ChannelError::Malformed(WireError::MessageTooLong { .. }) => "message",
                ChannelError::Malformed(WireError::TooManyAttachments { .. }) => "count",
                ChannelError::Malformed(WireError::AttachmentTooLarge { .. }) => "attachment",
                other => panic!("{other:?}"),
            };
            assert_eq!(found, what, "{bytes:?}");
            // Where the next frame would begin is not known.
            closed(&channel.receive().await.unwrap_err());
            let mut rest = [0; 16];
            assert_eq!(naked.read(&mut rest).unwrap(), 0, "the other end is told");
        }
        // The canary: the largest that may be is not refused.
        let (channel, mut naked) = naked();
        naked
            .write_all(&head(longest, 1, Artifact::MAX_BYTES))
            .unwrap();
        let mut receiving = channel.receive();
        settle().await;
        let polled = receiving
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Pending));
    });
}
