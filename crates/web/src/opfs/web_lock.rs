//! An exclusive Web Lock, held until it is dropped.

use futures::channel::oneshot;
use futures::future::{Either, select};
use gloo_timers::future::TimeoutFuture;
use js_sys::{Function, Object, Promise, Reflect};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use wellwritten_store::{LockError, MediumError};

/// How often a held lock is tried again, and how long apart. A page that reloads finds its
/// predecessor's worker still winding down for a moment; a second tab is told within a second.
const ATTEMPTS: u32 = 4;
const WAIT_MS: u32 = 250;

/// The lock of one store. The browser releases it when this is dropped, and also when the tab or
/// the worker goes away in any manner, so a crashed tab locks nobody out.
pub struct WebLock {
    release: Function,
}

impl std::fmt::Debug for WebLock {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("WebLock")
    }
}

impl WebLock {
    /// Takes the lock, or says within a second that another tab has it.
    pub(super) async fn acquire(name: &str) -> Result<Self, LockError> {
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                TimeoutFuture::new(WAIT_MS).await;
            }
            if let Some(lock) = Self::try_acquire(name).await? {
                return Ok(lock);
            }
        }
        Err(LockError::Held {
            owner: "tab".to_owned(),
        })
    }

    async fn try_acquire(name: &str) -> Result<Option<Self>, LockError> {
        let broken = |message: String| {
            LockError::from(MediumError::Denied {
                file: name.to_owned(),
                message,
            })
        };
        let locks = Reflect::get(&js_sys::global(), &"navigator".into())
            .and_then(|navigator| Reflect::get(&navigator, &"locks".into()))
            .ok()
            .filter(JsValue::is_object)
            .ok_or_else(|| broken("this browser has no Web Locks".to_owned()))?;
        let request: Function = Reflect::get(&locks, &"request".into())
            .map_err(|error| broken(format!("{error:?}")))?
            .unchecked_into();
        let options = Object::new();
        Reflect::set(&options, &"ifAvailable".into(), &true.into())
            .map_err(|error| broken(format!("{error:?}")))?;

        // The browser holds the lock for as long as the promise that the callback returns is
        // pending; releasing is resolving it.
        let (answer, answered) = oneshot::channel();
        let callback = Closure::once(move |lock: JsValue| -> JsValue {
            let mut release = None;
            let held = if lock.is_null() {
                JsValue::UNDEFINED
            } else {
                Promise::new(&mut |resolve: Function, _reject: Function| release = Some(resolve))
                    .into()
            };
            // An acquisition that was abandoned releases at once: dropping `release` would not.
            if let Err(Some(release)) = answer.send(release) {
                let _ = release.call0(&JsValue::UNDEFINED);
            }
            held
        });
        let request: Promise = request
            .call3(
                &locks,
                &name.into(),
                &options,
                callback.as_ref().unchecked_ref(),
            )
            .map_err(|error| broken(format!("{error:?}")))?
            .unchecked_into();
        // The request's own promise is pending for as long as the lock is held, and rejects when
        // there can be no lock here at all.
        let release = match select(answered, JsFuture::from(request)).await {
            Either::Left((Ok(release), _)) => release,
            Either::Left((Err(_), _)) | Either::Right((Ok(_), _)) => None,
            Either::Right((Err(error), _)) => return Err(broken(format!("{error:?}"))),
        };
        drop(callback);
        Ok(release.map(|release| Self { release }))
    }
}

impl Drop for WebLock {
    fn drop(&mut self) {
        // Resolving a promise cannot fail.
        let _ = self.release.call0(&JsValue::UNDEFINED);
    }
}
