//! The floor of a session over sockets: the same bytes, in the same rounds, over sockets of the same kind, with nobody
//! reading or writing a message.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::{Child, Command, Stdio};
use std::thread;

use tokio::net::UnixStream;
use wellwritten_session::{BoxedFuture, join_all};

use crate::script::RoundTrip;

/// The argument under which this bench is the peer in another process.
pub const ECHO: &str = "--echo";

/// Bytes that say how long what follows is, and how long the answer is to be.
const HEAD: usize = 8;

/// Where the peers of a floor are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoPlace {
    Here,
    Thread,
    Process,
}

/// Peers that answer so many bytes with so many others.
pub struct Echoes {
    streams: Vec<UnixStream>,
    children: Vec<Child>,
    buffers: Vec<Vec<u8>>,
}

impl Echoes {
    /// Starts `count` of them.
    pub fn start(place: EchoPlace, count: usize) -> Self {
        let mut echoes = Self {
            streams: Vec::new(),
            children: Vec::new(),
            buffers: vec![Vec::new(); count],
        };
        for _ in 0..count {
            let (ours, theirs) = StdUnixStream::pair().expect("a pair of sockets");
            match place {
                EchoPlace::Here => {
                    let peer = stream(theirs);
                    tokio::task::spawn_local(async move {
                        // It ends with its socket.
                        let _ = echo_here(peer).await;
                    });
                }
                EchoPlace::Thread => {
                    thread::spawn(move || echo(&theirs));
                }
                EchoPlace::Process => {
                    let program = std::env::current_exe().expect("this program has a path");
                    let child = Command::new(program)
                        .arg(ECHO)
                        .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
                        .spawn();
                    echoes.children.push(child.expect("a process"));
                }
            }
            echoes.streams.push(stream(ours));
        }
        echoes
    }

    /// One transition's rounds.
    pub async fn transition(&mut self, rounds: &[Vec<RoundTrip>]) {
        for round in rounds {
            if let [only] = round[..] {
                let buffer = &mut self.buffers[only.peer];
                round_trip(&self.streams[only.peer], buffer, only)
                    .await
                    .expect("an answer");
                continue;
            }
            let streams = &self.streams;
            let mut buffers: Vec<_> = self.buffers.iter_mut().map(Some).collect();
            let trips = round.iter().map(|trip| {
                let buffer = buffers[trip.peer].take().expect("one question a peer");
                let trip: BoxedFuture<'_, io::Result<()>> =
                    Box::pin(round_trip(&streams[trip.peer], buffer, *trip));
                trip
            });
            for answered in join_all(trips.collect::<Vec<_>>()).await {
                answered.expect("an answer");
            }
        }
    }
}

impl Drop for Echoes {
    fn drop(&mut self) {
        // Without their sockets they end by themselves.
        self.streams.clear();
        for child in &mut self.children {
            child.wait().expect("it ends");
        }
    }
}

fn stream(stream: StdUnixStream) -> UnixStream {
    stream.set_nonblocking(true).expect("a socket");
    UnixStream::from_std(stream).expect("a socket")
}

async fn round_trip(stream: &UnixStream, buffer: &mut Vec<u8>, trip: RoundTrip) -> io::Result<()> {
    buffer.resize(trip.asked.max(trip.answered), 0);
    buffer[..4].copy_from_slice(&length(trip.asked));
    buffer[4..HEAD].copy_from_slice(&length(trip.answered));
    write_all(stream, &buffer[..trip.asked]).await?;
    read_exact(stream, &mut buffer[..trip.answered]).await
}

fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).expect("a message").to_le_bytes()
}

fn lengths(head: &[u8]) -> (usize, usize) {
    let word = |at: usize| {
        let bytes = head[at..at + 4].try_into().expect("four bytes");
        u32::from_le_bytes(bytes) as usize
    };
    (word(0), word(4))
}

async fn write_all(stream: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn read_exact(stream: &UnixStream, mut into: &mut [u8]) -> io::Result<()> {
    while !into.is_empty() {
        stream.readable().await?;
        match stream.try_read(into) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => into = &mut into[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn echo_here(stream: UnixStream) -> io::Result<()> {
    let mut buffer = Vec::new();
    loop {
        let mut head = [0; HEAD];
        read_exact(&stream, &mut head).await?;
        let (asked, answered) = lengths(&head);
        buffer.resize(asked.max(answered), 0);
        read_exact(&stream, &mut buffer[..asked - HEAD]).await?;
        write_all(&stream, &buffer[..answered]).await?;
    }
}

/// Answers until the socket is gone.
fn echo(mut stream: &StdUnixStream) {
    let mut buffer = Vec::new();
    let mut head = [0; HEAD];
    while stream.read_exact(&mut head).is_ok() {
        let (asked, answered) = lengths(&head);
        buffer.resize(asked.max(answered), 0);
        let is_there = stream.read_exact(&mut buffer[..asked - HEAD]).is_ok()
            && stream.write_all(&buffer[..answered]).is_ok();
        if !is_there {
            return;
        }
    }
}

/// Answers on standard input, which is a socket.
pub fn echo_on_standard_input() {
    let socket = io::stdin().as_fd().try_clone_to_owned().expect("a socket");
    echo(&StdUnixStream::from(socket));
}
