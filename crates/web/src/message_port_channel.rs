//! [`MessagePortChannel`]: frames over a `MessagePort`, to another program of this browser.
//!
//! A frame is one message `{message, attachments}`: the JSON as a string, and an `ArrayBuffer` for each attachment in the
//! transfer list, so that between the programs nothing is copied: bytes are copied out of this module's memory once, and
//! into the other's once.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use async_trait::async_trait;
use js_sys::{Array, ArrayBuffer, Object, Reflect, Uint8Array};
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::{MessageEvent, MessagePort};
use wellwritten_session::wire::{
    ChannelError, Frame, FrameChannel, MAX_CALLS_IN_FLIGHT, ReceivedFrame,
};

/// Frames that may wait to be taken. The other end answers, or asks, as often as it is waited for; one that sends more than
/// this unasked is cut off before it fills the memory.
const MOST_WAITING: usize = 4 * MAX_CALLS_IN_FLIGHT;

/// One end of a channel over a port.
pub struct MessagePortChannel {
    port: MessagePort,
    inner: Rc<RefCell<Inner>>,
    /// What the port calls for as long as this end is there.
    _listeners: [Closure<dyn FnMut(MessageEvent)>; 2],
    _closed: Closure<dyn FnMut()>,
}

#[derive(Default)]
struct Inner {
    waiting: VecDeque<ReceivedFrame>,
    /// Whether there will be no more frames.
    is_closed: bool,
    /// What is known of why.
    reason: Option<String>,
    waker: Option<Waker>,
}

impl Inner {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn open(&self) -> Result<(), ChannelError> {
        if self.is_closed {
            let reason = self.reason.clone();
            return Err(ChannelError::Closed { reason });
        }
        Ok(())
    }

    fn end(&mut self, reason: Option<String>) {
        if !self.is_closed {
            self.is_closed = true;
            self.reason = reason;
        }
        self.wake();
    }
}

impl MessagePortChannel {
    /// The end that `port` is.
    pub fn new(port: MessagePort) -> Rc<Self> {
        let inner = Rc::<RefCell<Inner>>::default();
        let heard = inner.clone();
        let message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            let mut inner = heard.borrow_mut();
            if inner.is_closed {
                return;
            }
            if inner.waiting.len() == MOST_WAITING {
                inner.end(Some(format!(
                    "the other end sent more than {MOST_WAITING} messages that nobody waits for"
                )));
                return;
            }
            inner.waiting.push_back(received(&event.data()));
            inner.wake();
        });
        let heard = inner.clone();
        let garbled = Closure::<dyn FnMut(MessageEvent)>::new(move |_| {
            let reason = "the other end sent a message that cannot be read here";
            heard.borrow_mut().end(Some(reason.to_owned()));
        });
        let heard = inner.clone();
        let closed = Closure::<dyn FnMut()>::new(move || {
            let reason = "the program at the other end is gone";
            heard.borrow_mut().end(Some(reason.to_owned()));
        });
        port.set_onmessage(Some(message.as_ref().unchecked_ref()));
        port.set_onmessageerror(Some(garbled.as_ref().unchecked_ref()));
        // Told by browsers that notice; in others, an answer that does not come is noticed.
        let _ = Reflect::set(&port, &"onclose".into(), closed.as_ref());
        Rc::new(Self {
            port,
            inner,
            _listeners: [message, garbled],
            _closed: closed,
        })
    }

    /// Closes this end, and says why to whoever waits on it.
    pub fn close_because(&self, reason: Option<String>) {
        self.inner.borrow_mut().end(reason);
        self.port.set_onmessage(None);
        self.port.set_onmessageerror(None);
        let _ = Reflect::set(&self.port, &"onclose".into(), &JsValue::NULL);
        self.port.close();
    }
}

impl Drop for MessagePortChannel {
    fn drop(&mut self) {
        self.close_because(None);
    }
}

/// What came, as a frame. What is none has no message, which no reader takes for one.
fn received(data: &JsValue) -> ReceivedFrame {
    read(data).unwrap_or_default()
}

fn read(data: &JsValue) -> Option<ReceivedFrame> {
    let field = |key: &str| Reflect::get(data, &key.into()).ok();
    let message = field("message")?.as_string()?.into_bytes();
    let attachments = field("attachments")?.dyn_into::<Array>().ok()?;
    let attachments = attachments.iter().map(|bytes| {
        let bytes = bytes.dyn_into::<ArrayBuffer>().ok()?;
        Some(Uint8Array::new(&bytes).to_vec())
    });
    Some(ReceivedFrame {
        message,
        attachments: attachments.collect::<Option<_>>()?,
    })
}

#[async_trait(?Send)]
impl FrameChannel for MessagePortChannel {
    async fn send(&self, frame: Frame) -> Result<(), ChannelError> {
        self.inner.borrow().open()?;
        let buffers: Array = frame
            .attachments()
            .iter()
            .map(|artifact| Uint8Array::from(artifact.bytes()).buffer())
            .collect();
        let text = str::from_utf8(frame.message()).expect("JSON is UTF-8");
        let data = Object::new();
        let fields = [
            ("message", &JsValue::from_str(text)),
            ("attachments", &buffers),
        ];
        for (key, value) in fields {
            Reflect::set(&data, &key.into(), value).expect("a fresh object takes properties");
        }
        self.port
            .post_message_with_transferable(&data, &buffers)
            .map_err(|error| ChannelError::Closed {
                reason: Some(format!("the port refused a message: {error:?}")),
            })
    }

    async fn receive(&self) -> Result<ReceivedFrame, ChannelError> {
        poll_fn(|context| {
            let mut inner = self.inner.borrow_mut();
            if let Some(frame) = inner.waiting.pop_front() {
                return Poll::Ready(Ok(frame));
            }
            inner.open()?;
            inner.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    fn close(&self) {
        self.close_because(None);
    }
}
