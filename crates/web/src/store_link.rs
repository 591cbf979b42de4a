//! [`StoreLink`]: a session's way to the worker that owns its store.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;

use async_trait::async_trait;
use futures::channel::oneshot;
use futures::future::select;
use gloo_timers::future::TimeoutFuture;
use wasm_bindgen::prelude::{Closure, wasm_bindgen};
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::{MessageEvent, MessagePort};
use wellwritten_store::store_wire::{decode_reply, encode_request};
use wellwritten_store::{OpenReport, StoreClient, StoreGone, StoreReply, StoreRequest, StoreRoute};

use crate::convert::from_js;
use crate::error::{WebResult, message_of};
use crate::store_message::{Received, post_message, post_word, read_message};

/// How long a store may take to give its lock back, in milliseconds, before its worker is ended regardless.
const CLOSING_MS: u32 = 1_000;

/// The session's end of the port to its store's worker, and what opening the store found.
#[wasm_bindgen]
#[derive(Clone)]
pub struct StoreLink {
    route: Rc<PortRoute>,
    report: Rc<OpenReport>,
}

#[wasm_bindgen]
impl StoreLink {
    /// Talks to the store that is served at the other end of `port`.
    #[wasm_bindgen(constructor)]
    pub fn new(
        port: MessagePort,
        #[wasm_bindgen(unchecked_param_type = "OpenReport")] report: JsValue,
    ) -> WebResult<StoreLink> {
        Ok(Self {
            report: Rc::new(from_js("report", report)?),
            route: PortRoute::new(port),
        })
    }

    /// Says that the worker at the other end is gone, and why: whoever waits for an answer hears it.
    pub fn end(&self, reason: String) {
        self.route.inner.borrow_mut().end(reason);
    }
}

impl StoreLink {
    /// The store, to be asked.
    pub fn client(&self) -> StoreClient {
        StoreClient::new(self.route.clone())
    }

    /// What opening it found.
    pub fn report(&self) -> &OpenReport {
        &self.report
    }

    /// Has the store given back, after what was asked until now. Waits for that a bounded time: whoever ends the worker
    /// then gives it back as well.
    pub async fn close(&self) {
        let (tell, closed) = oneshot::channel();
        {
            let mut inner = self.route.inner.borrow_mut();
            if inner.ended.is_some() {
                return;
            }
            inner.closed = Some(tell);
        }
        if post_word(&self.route.port, "close").is_ok() {
            select(pin!(closed), pin!(TimeoutFuture::new(CLOSING_MS))).await;
        }
        self.end("it was closed".to_owned());
    }
}

struct PortRoute {
    port: MessagePort,
    inner: Rc<RefCell<Inner>>,
    /// What the port calls for as long as this end is there.
    _heard: Closure<dyn FnMut(MessageEvent)>,
    _closed: Closure<dyn FnMut()>,
}

#[derive(Default)]
struct Inner {
    asked: u32,
    waiting: BTreeMap<u32, oneshot::Sender<Result<StoreReply, StoreGone>>>,
    /// Who waits for the store to be given back.
    closed: Option<oneshot::Sender<()>>,
    /// Why nothing is answered any more.
    ended: Option<String>,
}

impl Inner {
    fn end(&mut self, reason: String) {
        let reason = self.ended.get_or_insert(reason).clone();
        for answer in std::mem::take(&mut self.waiting).into_values() {
            // Whoever asked may have gone away.
            let _ = answer.send(Err(StoreGone {
                reason: reason.clone(),
            }));
        }
        self.closed = None;
    }

    fn answer(&mut self, call: f64, answer: Result<StoreReply, StoreGone>) {
        let waiting = whole(call).and_then(|call| self.waiting.remove(&call));
        if let Some(waiting) = waiting {
            let _ = waiting.send(answer);
        }
    }

    fn hear(&mut self, received: Option<Received>) {
        match received {
            Some(Received::Message {
                call,
                text,
                attachments,
            }) => {
                let reply = decode_reply(&text, attachments);
                self.answer(call, reply.map_err(|error| gone(error.to_string())));
            }
            Some(Received::Problem { call, problem }) => self.answer(call, Err(gone(problem))),
            Some(Received::Closed) => {
                if let Some(closed) = self.closed.take() {
                    let _ = closed.send(());
                }
                self.end("it was closed".to_owned());
            }
            Some(Received::Close) | None => {
                self.end("its worker said something that cannot be read here".to_owned());
            }
        }
    }
}

/// The number of a request. Counted here, so it is a small whole one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be whole and in range"
)]
fn whole(call: f64) -> Option<u32> {
    (call.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&call)).then_some(call as u32)
}

fn gone(reason: String) -> StoreGone {
    StoreGone { reason }
}

impl PortRoute {
    fn new(port: MessagePort) -> Rc<Self> {
        let inner = Rc::<RefCell<Inner>>::default();
        let hearing = inner.clone();
        let heard = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            hearing.borrow_mut().hear(read_message(&event.data()));
        });
        let hearing = inner.clone();
        let closed = Closure::<dyn FnMut()>::new(move || {
            let mut inner = hearing.borrow_mut();
            inner.end("its worker is gone".to_owned());
        });
        port.set_onmessage(Some(heard.as_ref().unchecked_ref()));
        // Told by browsers that notice; in others, by whoever started the worker.
        let _ = js_sys::Reflect::set(&port, &"onclose".into(), closed.as_ref());
        Rc::new(Self {
            port,
            inner,
            _heard: heard,
            _closed: closed,
        })
    }
}

impl Drop for PortRoute {
    fn drop(&mut self) {
        self.port.set_onmessage(None);
        let _ = js_sys::Reflect::set(&self.port, &"onclose".into(), &JsValue::NULL);
        // What nobody can ask any more is given back.
        let _ = post_word(&self.port, "close");
        self.port.close();
    }
}

#[async_trait(?Send)]
impl StoreRoute for PortRoute {
    async fn call(&self, request: StoreRequest) -> Result<StoreReply, StoreGone> {
        let message = encode_request(request).map_err(|error| gone(error.to_string()))?;
        let (answer, answered) = oneshot::channel();
        let call = {
            let mut inner = self.inner.borrow_mut();
            if let Some(reason) = &inner.ended {
                return Err(gone(reason.clone()));
            }
            inner.asked = inner.asked.wrapping_add(1);
            let call = inner.asked;
            inner.waiting.insert(call, answer);
            call
        };
        if let Err(error) = post_message(&self.port, call.into(), &message) {
            self.inner.borrow_mut().waiting.remove(&call);
            return Err(gone(format!(
                "its port refused a message: {}",
                message_of(&error)
            )));
        }
        // The other end has its own copy.
        drop(message);
        match answered.await {
            Ok(answer) => answer,
            Err(_) => Err(gone("nobody answers for it".to_owned())),
        }
    }
}
