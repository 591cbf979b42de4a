//! One participant, served over a channel in memory, and whoever writes to it: frame by frame.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use async_trait::async_trait;
use futures::executor::LocalPool;
use futures::task::LocalSpawnExt;
use wellwritten_counter::{CounterAgent, CounterComposition, CounterWorld, FaultPlan, Faults};
use wellwritten_session::wire::{
    CallId, Frame, FrameChannel, Inbox, MemoryChannel, ReceivedFrame, ServeEnd, request_frame,
    serve,
};
use wellwritten_session::{Clock, Id, ParticipantRuntime, Reply, Request, Role, digest_json};

use super::model::Told;
use super::watched::{Seen, Watched};

/// A clock that stands until it is let go.
#[derive(Default)]
pub struct Gate {
    is_open: Cell<bool>,
    waiting: RefCell<Vec<Waker>>,
}

impl Gate {
    pub fn close(&self) {
        self.is_open.set(false);
    }

    pub fn open(&self) {
        self.is_open.set(true);
        self.waiting.take().into_iter().for_each(Waker::wake);
    }
}

#[async_trait(?Send)]
impl Clock for Gate {
    fn now_ns(&self) -> u64 {
        0
    }

    async fn sleep_ns(&self, _duration_ns: u64) {
        poll_fn(|context| {
            if self.is_open.get() {
                return Poll::Ready(());
            }
            self.waiting.borrow_mut().push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

type Received = Rc<RefCell<VecDeque<ReceivedFrame>>>;

pub struct Line {
    pool: LocalPool,
    channel: Rc<MemoryChannel>,
    received: Received,
    inbox: Inbox,
    next_call: u64,
    methods: BTreeMap<CallId, &'static str>,
    pub runtime: Rc<ParticipantRuntime>,
    pub seen: Rc<Seen>,
    pub faults: Rc<Faults>,
    pub gate: Rc<Gate>,
    pub end: Rc<RefCell<Option<ServeEnd>>>,
}

pub fn id(text: &str) -> Id {
    Id::parse(text).expect("a legal id")
}

pub fn composition() -> CounterComposition {
    CounterComposition {
        agents: 1,
        ..CounterComposition::default()
    }
}

pub const INCARNATION: &str = "incarnation-1";

impl Line {
    pub fn new(role: Role) -> Self {
        let (composition, seen) = (composition(), Rc::<Seen>::default());
        let gate = Rc::<Gate>::default();
        let clock: Rc<dyn Clock> = gate.clone();
        let faults = Faults::new(&FaultPlan::none(), Some(clock)).expect("no fault");
        let session_id = composition.session_id.clone();
        let runtime = Rc::new(match role {
            Role::Environment => {
                let inner = CounterWorld::new(&composition, 1, faults.clone()).expect("a world");
                let seen = seen.clone();
                let world = Box::new(Watched { inner, seen });
                ParticipantRuntime::environment(session_id, id(INCARNATION), world)
            }
            Role::Agent => {
                let inner = CounterAgent::new(&composition, &id("fly-a"), 1, faults.clone());
                let (inner, seen) = (inner.expect("an agent"), seen.clone());
                let agent = Box::new(Watched { inner, seen });
                ParticipantRuntime::agent(session_id, id(INCARNATION), agent)
            }
        });
        let pool = LocalPool::new();
        let (channel, other) = MemoryChannel::pair();
        let end = Rc::<RefCell<Option<ServeEnd>>>::default();
        let (served, ended) = (runtime.clone(), end.clone());
        let serving = async move {
            let how = serve(served, other).await;
            *ended.borrow_mut() = Some(how);
        };
        pool.spawner().spawn_local(serving).expect("a running pool");
        let received = Received::default();
        let (heard, from) = (received.clone(), channel.clone());
        let hearing = async move {
            while let Ok(frame) = from.receive().await {
                heard.borrow_mut().push_back(frame);
            }
        };
        pool.spawner().spawn_local(hearing).expect("a running pool");
        Self {
            pool,
            channel,
            received,
            inbox: Inbox::new(),
            next_call: 1,
            methods: BTreeMap::new(),
            runtime,
            seen,
            faults,
            gate,
            end,
        }
    }

    /// Puts a request on the line without waiting for anything.
    pub fn post(&mut self, request: &Request) -> CallId {
        let call_id = CallId(self.next_call);
        self.next_call += 1;
        self.methods.insert(call_id, request.call.method());
        let frame = request_frame(call_id, request).expect("a request that can be sent");
        self.post_bytes(frame.encode());
        call_id
    }

    pub fn next_frame(&self, request: &Request) -> Frame {
        request_frame(CallId(self.next_call), request).expect("a request that can be sent")
    }

    /// A call that some bytes make under its own name; its reply is read as one to `method`.
    pub fn expect(&mut self, call_id: CallId, method: &'static str) {
        self.methods.insert(call_id, method);
    }

    pub fn take_call(&mut self) -> CallId {
        self.next_call += 1;
        CallId(self.next_call - 1)
    }

    pub fn post_bytes(&mut self, bytes: Vec<u8>) {
        let channel = self.channel.clone();
        let sending = async move {
            let _ = channel.send_bytes(bytes).await;
        };
        self.pool
            .spawner()
            .spawn_local(sending)
            .expect("a running pool");
    }

    /// Lets everything run until nothing can; the replies that came, by call.
    pub fn replies(&mut self) -> Result<Vec<(CallId, Reply)>, String> {
        self.pool.run_until_stalled();
        let frames: Vec<ReceivedFrame> = self.received.borrow_mut().drain(..).collect();
        let mut replies = Vec::new();
        for frame in frames {
            let incoming = self.inbox.open(frame).map_err(|error| error.to_string())?;
            let call_id = incoming.call_id();
            let Some(method) = self.methods.remove(&call_id) else {
                return Err(format!("a reply to {call_id}, which nobody waits for"));
            };
            let reply = incoming
                .into_reply(method)
                .map_err(|error| error.to_string())?;
            replies.push((call_id, reply));
        }
        Ok(replies)
    }

    /// Calls that were not answered.
    pub fn unanswered(&self) -> usize {
        self.methods.len()
    }

    pub fn has_ended(&self) -> bool {
        self.end.borrow().is_some()
    }
}

/// The outcome of a reply as text, artifacts by content.
pub fn told(reply: &Reply) -> Told {
    let text = match &reply.outcome {
        Ok(answer) => text_of(answer),
        Err(error) => format!("{error:?}"),
    };
    let error = reply.outcome.as_ref().err();
    Told {
        text,
        error: error.map(|error| (error.code, error.mutation)),
    }
}

/// A value as text, artifacts by content.
pub fn text_of<T: serde::Serialize>(value: &T) -> String {
    let digest = digest_json(value).expect("a value that can be written");
    format!("{digest}")
}
