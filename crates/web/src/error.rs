//! The one conversion from an error of any crate to a JavaScript `Error` with `code`, `message` and
//! `context`.

#[cfg(feature = "session")]
mod of_sessions;
#[cfg(any(feature = "session", feature = "store"))]
mod of_stores;

use js_sys::{Error, Reflect};
use serde::Serialize;
use tsify::Tsify;
use wasm_bindgen::JsValue;
use wellwritten_device::{DeviceError, LimitName, ReadError, WindowError};
use wellwritten_envelope::{BrokenRule, EncodeError, EnvelopeError};
use wellwritten_memory::{Failure, HandleError};

use crate::convert::to_js;

/// Why a call was rejected. A closed union in TypeScript; `message` says it in a sentence and
/// `context` carries the details.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Tsify)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum WellwrittenErrorCode {
    /// Some byte was not last written by work that succeeded; the context is the report.
    Unwritten,
    /// The device is lost; recover it, or restore the session.
    DeviceLost,
    /// There is no WebGPU adapter or device here.
    NoAdapter,
    /// More was asked for than the device grants.
    LimitExceeded,
    /// An offset or a length is not a multiple of what is required.
    Alignment,
    /// One buffer is bound twice in a launch and one of the bindings writes.
    BindingConflict,
    /// A buffer or slice is freed, lost, out of bounds or another device's.
    BadHandle,
    /// The memory could not be reserved.
    NotReserved,
    /// Sound bytes could not be copied out; try again.
    Transfer,
    /// Work in a capture window failed or was skipped, so there is no graph; the context says what failed.
    WindowDoomed,
    /// An argument has the wrong shape or value.
    InvalidArgument,
    /// The bytes are not a sound envelope; the context names the rule.
    EnvelopeInvalid,
    /// The manifest and payloads cannot be encoded; the context names the rule a reader would.
    EnvelopeNotEncodable,
    /// Another tab owns the store.
    StoreLocked,
    /// The store cannot be opened, read or written.
    StoreFailed,
    /// There is no room for it: the browser's quota is used up. What was there before still is.
    StoreFull,
    /// The store was opened to look at it, and this would change it.
    StoreReadOnly,
    /// A save did not commit before the session was closed; the context is the outcomes.
    SavesLost,
    /// No generation fits the request.
    NoGeneration,
    /// The session is in a phase in which this is not allowed. Nothing changed.
    InvalidPhase,
    /// Another operation of this kind is under way. Nothing changed.
    Busy,
    /// The transition, capture or restore failed; the session is fenced until it is restored.
    EpochFailed,
    /// Two worlds do not fit together; the context names the fields.
    Incompatible,
    /// A repeated transition did something else than was recorded; the context names step and fields. The session is
    /// paused behind it.
    Diverged,
    /// It was stopped, at a committed boundary; the context says how far it came.
    Cancelled,
    /// The participant cannot do this.
    Unsupported,
    /// The session or device was closed.
    Closed,
}

/// An error on its way to JavaScript.
#[derive(Debug)]
pub struct WebError {
    code: WellwrittenErrorCode,
    message: String,
    context: JsValue,
}

/// What every fallible export returns.
pub type WebResult<T> = Result<T, WebError>;

impl WebError {
    /// An error without details.
    pub fn new(code: WellwrittenErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            context: JsValue::NULL,
        }
    }

    /// The sentence for a person.
    #[cfg(any(feature = "session", feature = "participant"))]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Adds the details a program can act on.
    #[must_use]
    pub fn with_context(mut self, context: &impl Serialize) -> Self {
        self.context = to_js(context);
        self
    }
}

/// What a thrown value says: an error's message, with its name where that says more, or the value itself.
#[cfg(feature = "session")]
pub fn message_of(thrown: &JsValue) -> String {
    match wasm_bindgen::JsCast::dyn_ref::<Error>(thrown) {
        Some(error) if error.name() == "WellwrittenError" => String::from(error.message()),
        Some(error) => String::from(error.to_string()),
        None => thrown.as_string().unwrap_or_else(|| format!("{thrown:?}")),
    }
}

impl From<WebError> for JsValue {
    fn from(error: WebError) -> Self {
        let js = Error::new(&error.message);
        js.set_name("WellwrittenError");
        for (key, value) in [("code", to_js(&error.code)), ("context", error.context)] {
            Reflect::set(&js, &key.into(), &value).expect("an Error takes properties");
        }
        js.into()
    }
}

impl From<DeviceError> for WebError {
    fn from(error: DeviceError) -> Self {
        use WellwrittenErrorCode as Code;
        let code = match &error {
            DeviceError::NoAdapter { .. } | DeviceError::NoDevice { .. } => Code::NoAdapter,
            DeviceError::Lost { .. }
            | DeviceError::RecoveryFailed { .. }
            | DeviceError::StaleGraph { .. }
            | DeviceError::Handle(HandleError::Lost { .. }) => Code::DeviceLost,
            DeviceError::Closed => Code::Closed,
            DeviceError::Limit { .. } => Code::LimitExceeded,
            DeviceError::Alignment { .. } => Code::Alignment,
            DeviceError::BindingConflict { .. } | DeviceError::CopyWithinBuffer { .. } => {
                Code::BindingConflict
            }
            DeviceError::Handle(_) => Code::BadHandle,
            DeviceError::Reserve(_) => Code::NotReserved,
            _ => Code::InvalidArgument,
        };
        let converted = Self::new(code, error.to_string());
        match error {
            DeviceError::Limit {
                what,
                limit,
                requested,
                granted,
            } => converted.with_context(&ExceededLimit {
                what,
                limit,
                requested,
                granted,
            }),
            _ => converted,
        }
    }
}

impl From<ReadError> for WebError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Unwritten(report) => {
                Self::new(WellwrittenErrorCode::Unwritten, report.to_string())
                    .with_context(report.as_ref())
            }
            ReadError::Device(error) => error.into(),
            transfer => Self::new(WellwrittenErrorCode::Transfer, transfer.to_string()),
        }
    }
}

/// The context of `WINDOW_DOOMED`.
#[derive(Serialize, Tsify)]
struct DoomedWindow {
    /// The work that failed or was skipped.
    work: String,
    /// The root failure.
    failure: Failure,
}

/// The context of `LIMIT_EXCEEDED`.
#[derive(Serialize, Tsify)]
#[tsify(large_number_types_as_bigints)]
struct ExceededLimit {
    /// What asked for it.
    what: String,
    /// The limit.
    limit: LimitName,
    /// What was asked for.
    requested: u64,
    /// What the device, or its adapter, grants.
    granted: u64,
}

impl From<WindowError> for WebError {
    fn from(error: WindowError) -> Self {
        use WellwrittenErrorCode as Code;
        match &error {
            WindowError::Device(error) => error.clone().into(),
            WindowError::Doomed { work, failure, .. } => {
                let doomed = DoomedWindow {
                    work: work.clone(),
                    failure: failure.failure.clone(),
                };
                Self::new(Code::WindowDoomed, error.to_string()).with_context(&doomed)
            }
            WindowError::TooLong { .. } => Self::new(Code::InvalidArgument, error.to_string()),
            _ => Self::new(Code::Busy, error.to_string()),
        }
    }
}

impl From<EnvelopeError> for WebError {
    fn from(error: EnvelopeError) -> Self {
        Self::new(WellwrittenErrorCode::EnvelopeInvalid, error.to_string())
            .with_context(&BrokenRule::from(&error))
    }
}

impl From<EncodeError> for WebError {
    fn from(error: EncodeError) -> Self {
        Self::new(
            WellwrittenErrorCode::EnvelopeNotEncodable,
            error.to_string(),
        )
        .with_context(&error.broken_rule())
    }
}
