//! [`Launched`] and [`Launcher`]: participants in programs of their own, which JavaScript starts and ends.

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;

use async_trait::async_trait;
use futures::future::select;
use gloo_timers::future::TimeoutFuture;
use js_sys::{Array, Function, Promise};
use wasm_bindgen::prelude::{Closure, wasm_bindgen};
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::MessagePort;
use wellwritten_envelope::Id;
use wellwritten_session::wire::Remote;
use wellwritten_session::{
    Call, ErrorCode, ParticipantError, Reply, Request, RequestId, RouteEnd, Transport,
    TransportError,
};

use crate::convert::to_js;
use crate::error::message_of;
use crate::message_port_channel::MessagePortChannel;
use crate::participant_start::{JsDefinition, ParticipantStart};

/// How long a participant that was told to stop may take to say so, in milliseconds.
const REAPING_MS: u32 = 500;

#[wasm_bindgen]
extern "C" {
    /// Starts and ends programs; `ParticipantLauncher` of the package.
    pub type Launcher;

    #[wasm_bindgen(method, catch)]
    fn launch(
        this: &Launcher,
        start: JsValue,
        module: Option<String>,
        isolated: bool,
        ended: &Function,
    ) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method)]
    fn end(this: &Launcher, port: &MessagePort);

    #[wasm_bindgen(method, catch)]
    fn define(this: &Launcher, start: JsValue, module: &str) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn task(this: &Launcher, module: &str) -> Result<Promise, JsValue>;
}

/// Waits for what a launcher promised; a rejection says `what` failed.
async fn settled(
    what: &str,
    promised: Result<Promise, JsValue>,
) -> Result<JsValue, ParticipantError> {
    let failed = |error: JsValue| {
        ParticipantError::refused(
            ErrorCode::BackendFailure,
            format!("{what}: {}", message_of(&error)),
        )
    };
    JsFuture::from(promised.map_err(failed)?)
        .await
        .map_err(failed)
}

impl Launcher {
    /// What `module` defines for a participant of this program.
    pub async fn definition(
        &self,
        start: &ParticipantStart,
        module: &str,
    ) -> Result<JsDefinition, ParticipantError> {
        let what = format!("the module of {}", start.participant_id);
        let parts: Array = settled(&what, self.define(to_js(start), module))
            .await?
            .unchecked_into();
        Ok(JsDefinition {
            declaration: parts.get(0),
            handlers: parts.get(1),
        })
    }

    /// The functions of the task that `module` defines.
    pub async fn task_handlers(&self, module: &str) -> Result<JsValue, ParticipantError> {
        settled("the task's module", self.task(module)).await
    }
}

/// A route to a participant in a program of its own. Cutting it ends the program.
pub struct Launched {
    remote: Rc<Remote>,
    launcher: Rc<Launcher>,
    /// By which the launcher knows the program.
    port: MessagePort,
    /// Called by the launcher if the program ends by itself.
    _ended: Closure<dyn Fn(String)>,
}

impl Launched {
    /// Starts the program of a participant: a worker, or an isolated frame. Waits until it serves.
    pub async fn start(
        launcher: Rc<Launcher>,
        start: ParticipantStart,
        module: Option<String>,
        isolated: bool,
    ) -> Result<Rc<Self>, ParticipantError> {
        let channel = Rc::new(RefCell::new(None::<Rc<MessagePortChannel>>));
        let cut = channel.clone();
        let ended = Closure::<dyn Fn(String)>::new(move |message: String| {
            if let Some(channel) = &*cut.borrow() {
                channel.close_because(Some(message));
            }
        });
        let what = format!("the program of {}", start.participant_id);
        let function: &Function = ended.as_ref().unchecked_ref();
        let serving = launcher.launch(to_js(&start), module, isolated, function);
        let port: MessagePort = settled(&what, serving).await?.unchecked_into();
        let opened = MessagePortChannel::new(port.clone());
        channel.replace(Some(opened.clone()));
        let (remote, driving) = Remote::new(opened);
        spawn_local(driving);
        Ok(Rc::new(Self {
            remote,
            launcher,
            port,
            _ended: ended,
        }))
    }
}

impl Launched {
    /// Ends the program without a word, as if it had died.
    #[cfg(feature = "conformance")]
    pub fn kill(&self) {
        self.launcher.end(&self.port);
    }

    /// Tells the participant to stop and gives it a moment to answer, then ends its program.
    pub async fn reap(&self) {
        let request = Request {
            request_id: RequestId(u64::MAX),
            scope: None,
            call: Call::Shutdown {
                reason: Id::parse("session-closed").expect("a legal id"),
            },
        };
        let stopping = pin!(self.remote.call(&request));
        let late = pin!(TimeoutFuture::new(REAPING_MS));
        // However it answers, its program ends now.
        select(stopping, late).await;
        self.close();
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        self.close();
    }
}

#[async_trait(?Send)]
impl Transport for Launched {
    async fn call(&self, request: &Request) -> Result<Reply, TransportError> {
        self.remote.call(request).await
    }

    fn close(&self) {
        self.remote.close();
        self.launcher.end(&self.port);
    }

    fn end(&self) -> Option<&RouteEnd> {
        self.remote.end()
    }
}
