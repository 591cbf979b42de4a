//! The loss of one WebGPU device, as its `lost` promise tells it.

use std::cell::RefCell;
use std::rc::Rc;

use futures::channel::oneshot;
use futures::future::{FutureExt as _, LocalBoxFuture, Shared, select};
use gloo_timers::future::TimeoutFuture;
use js_sys::{Function, Reflect};
use wasm_bindgen::JsCast as _;
use wasm_bindgen::JsValue;
use wasm_bindgen::closure::Closure;
use wellwritten_memory::{Failure, FailureKind};

use super::error_scopes::text;

/// Whether a device is lost, known in the very microtask in which the browser says so: after a loss
/// error scopes pop as if all were well, and whoever trusts them must be able to ask first.
#[derive(Clone)]
pub(super) struct Loss {
    reason: Rc<RefCell<Option<String>>>,
    announced: Shared<LocalBoxFuture<'static, ()>>,
}

impl Loss {
    /// How long a mapping that was aborted waits for the loss that explains it.
    const EXPLANATION_MS: u32 = 1000;

    /// Listens to a `GPUDevice`; `tell` is called once, with the reason.
    pub(super) fn of(device: &JsValue, tell: impl FnOnce(String) + 'static) -> Self {
        let reason = Rc::new(RefCell::new(None));
        let (announce, announced) = oneshot::channel::<()>();
        let heard = Rc::clone(&reason);
        let listener = Closure::once_into_js(move |info: JsValue| {
            let message = text(&info, "message");
            let text = if message.is_empty() {
                text(&info, "reason")
            } else {
                message
            };
            *heard.borrow_mut() = Some(text.clone());
            // Nobody may be waiting.
            let _ = announce.send(());
            tell(text);
        });
        let lost = Reflect::get(device, &"lost".into()).expect("a GPUDevice has a promise `lost`");
        // It never rejects. It resolves at the latest when the backend is dropped, which frees the
        // listener.
        Reflect::get(&lost, &"then".into())
            .expect("a promise has `then`")
            .unchecked_into::<Function>()
            .call1(&lost, &listener)
            .expect("`then` does not throw");
        Self {
            reason,
            announced: announced.map(|_| ()).boxed_local().shared(),
        }
    }

    /// An error if the device is known to be lost.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match &*self.reason.borrow() {
            None => Ok(()),
            Some(reason) => Err(Failure {
                kind: FailureKind::DeviceLost,
                message: format!("the device was lost: {reason}"),
            }),
        }
    }

    /// Waits for a loss that something else already hints at, but not for ever.
    pub(super) async fn announced(&self) {
        select(
            self.announced.clone(),
            TimeoutFuture::new(Self::EXPLANATION_MS),
        )
        .await;
    }
}
