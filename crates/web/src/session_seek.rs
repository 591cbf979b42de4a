//! Going to another boundary of the recorded run.

use serde::Serialize;
use tsify::Tsify;
use wellwritten_session::{
    SeekCancel, SeekError, SeekReport, SeekRequest, SessionError, SkippedGeneration,
};

use wellwritten_session::Clock as _;

use crate::error::{WebError, WebResult, WellwrittenErrorCode as Code};
use crate::session_event::WebSessionEvent;
use crate::session_host::SessionHost;
use crate::session_status::SessionStatus;

/// Where a seek came to: the session at a glance, and what was done.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct SoughtStatus {
    /// Paused at the boundary.
    #[serde(flatten)]
    status: SessionStatus,
    /// What was done.
    seek: SeekReport,
}

/// The context of `DIVERGED`.
#[derive(Serialize, Tsify)]
struct DivergedStep {
    /// The boundary that the transition began at.
    #[tsify(type = "bigint")]
    step: u64,
    /// What differs from the recording.
    fields: Vec<String>,
}

/// The context of `NO_GENERATION`, of a seek.
#[derive(Serialize)]
struct NoneBefore {
    oldest: Option<u64>,
    skipped: Vec<SkippedGeneration>,
}

impl SessionHost {
    /// Goes to `boundary`. `seekCancel` stops it at the next committed one.
    pub async fn seek(&self, boundary: u64) -> WebResult<SoughtStatus> {
        let cancel = SeekCancel::default();
        self.seeking.borrow_mut().push(cancel.clone());
        let sought = {
            let _turn = self.turn.lock().await;
            self.seek_patiently(boundary, &cancel).await
        };
        // Seeks end in the order in which they were asked for.
        self.seeking.borrow_mut().remove(0);
        let seek = sought?;
        if seek.cancelled {
            let message = format!("the seek was stopped at boundary {}", seek.boundary);
            return Err(WebError::new(Code::Cancelled, message).with_context(&seek));
        }
        Ok(SoughtStatus {
            status: self.status(),
            seek,
        })
    }

    async fn seek_patiently(&self, boundary: u64, cancel: &SeekCancel) -> WebResult<SeekReport> {
        let request = SeekRequest {
            boundary,
            epoch: None,
        };
        let progress = |progress| self.events.send(&WebSessionEvent::Seeking { progress });
        loop {
            match self
                .coordinator
                .seek(request.clone(), &progress, cancel)
                .await
            {
                // Only the step that a run is taking can be in the way of who has the turn.
                Err(SeekError::Session(SessionError::Busy { .. })) => {
                    self.clock.sleep_ns(1_000_000).await;
                }
                sought => {
                    if sought.is_ok() {
                        self.resumable.take();
                    }
                    return Ok(sought?);
                }
            }
        }
    }

    /// Stops every seek that was asked for, at the next committed boundary.
    pub fn cancel_seeks(&self) {
        for cancel in &*self.seeking.borrow() {
            cancel.cancel();
        }
    }
}

impl From<SeekError> for WebError {
    fn from(error: SeekError) -> Self {
        let message = error.to_string();
        match error {
            SeekError::Session(error) => error.into(),
            SeekError::NoGeneration {
                oldest, skipped, ..
            } => {
                let context = NoneBefore { oldest, skipped };
                Self::new(Code::NoGeneration, message).with_context(&context)
            }
            SeekError::InputsWait { .. } => Self::new(Code::InvalidPhase, message),
            SeekError::Cancelled => Self::new(Code::Cancelled, message),
            SeekError::Diverged { step, fields } => {
                Self::new(Code::Diverged, message).with_context(&DivergedStep { step, fields })
            }
            _ => Self::new(Code::Unsupported, message),
        }
    }
}
