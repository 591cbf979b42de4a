//! Where the next generation of a fake comes from.

use std::rc::Rc;
use std::time::Duration;

use futures::future::LocalBoxFuture;

use super::answers::Question;
use super::device::Fake;
use crate::connection::{Connection, DeviceHost};
use crate::error::DeviceError;

pub(super) struct FakeHost(pub(super) Rc<Fake>);

impl DeviceHost for FakeHost {
    fn connect(&self) -> LocalBoxFuture<'static, Result<Connection, DeviceError>> {
        let fake = Rc::downgrade(&self.0);
        self.0.answers.hold(Question::Connection, move || {
            let fake = fake
                .upgrade()
                .expect("whoever delivers the answer holds the fake");
            let refused = fake.faults.borrow_mut().take_refusal();
            match refused {
                None => Ok(Fake::connect(&fake)),
                Some(left) => Err(DeviceError::NoAdapter {
                    reason: format!("refused, and {left} times more to come"),
                }),
            }
        })
    }

    fn pause(&self, wait: Duration) -> LocalBoxFuture<'static, ()> {
        self.0.pauses.borrow_mut().push(wait);
        self.0.answers.hold(Question::Pause, || ())
    }
}
