//! Wall time in a page or a worker.

use async_trait::async_trait;
use gloo_timers::future::TimeoutFuture;
use js_sys::{Function, Reflect};
use wasm_bindgen::{JsCast as _, JsValue};
use wellwritten_session::Clock;

const NANOSECONDS_A_MILLISECOND: f64 = 1e6;

/// `performance.now()` and `setTimeout`.
#[derive(Clone, Debug)]
pub struct WebClock {
    performance: JsValue,
    now: Function,
}

impl WebClock {
    /// The clock of the page or worker this runs in.
    pub fn of_this_thread() -> Self {
        let performance = Reflect::get(&js_sys::global(), &"performance".into())
            .expect("pages and workers have `performance`");
        let now = Reflect::get(&performance, &"now".into())
            .expect("`performance` has `now`")
            .unchecked_into();
        Self { performance, now }
    }
}

#[async_trait(?Send)]
impl Clock for WebClock {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "time since the page was opened is positive and far below 2^63 ns"
    )]
    fn now_ns(&self) -> u64 {
        let now = self
            .now
            .call0(&self.performance)
            .expect("performance.now() does not throw");
        (now.as_f64().unwrap_or(0.0) * NANOSECONDS_A_MILLISECOND) as u64
    }

    async fn sleep_ns(&self, duration_ns: u64) {
        let milliseconds = duration_ns.div_ceil(1_000_000);
        TimeoutFuture::new(u32::try_from(milliseconds).unwrap_or(u32::MAX)).await;
    }
}
