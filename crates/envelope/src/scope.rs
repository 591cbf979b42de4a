//! [`Scope`]: which boundary of which timeline.

use serde::{Deserialize, Deserializer, Serialize};

use crate::object_only::object_only;
use crate::{Id, U64};

/// One boundary of one epoch of one session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(deny_unknown_fields)
)]
pub struct Scope {
    /// The session.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub session_id: Id,
    /// The uninterrupted timeline within it.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub epoch: Id,
    /// The boundary: how many transitions the timeline has behind it.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub step: U64,
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Fields {
            session_id: Id,
            epoch: Id,
            step: U64,
        }
        let fields: Fields = object_only(deserializer)?;
        Ok(Self {
            session_id: fields.session_id,
            epoch: fields.epoch,
            step: fields.step,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_has_one_spelling() {
        let text = r#"{"sessionId":"demo","epoch":"e1","step":"42"}"#;
        let scope: Scope = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&scope).unwrap(), text);
        assert!(serde_json::from_str::<Scope>(r#"["demo","e1","42"]"#).is_err());
        assert!(serde_json::from_str::<Scope>(r#"{"sessionId":"demo","epoch":"e1"}"#).is_err());
        let extra = r#"{"sessionId":"demo","epoch":"e1","step":"42","phase":"ready"}"#;
        assert!(serde_json::from_str::<Scope>(extra).is_err());
    }
}
