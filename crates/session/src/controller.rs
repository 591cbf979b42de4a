//! What a port accepts ([`ControllerSchema`]) and what is pressed on it ([`PortControl`]).

use serde::{Deserialize, Serialize};
use wellwritten_envelope::Id;

use crate::id_list::IdList;
use crate::{SchemaRef, TypedValue, TypedValueError};

/// The values an axis may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AxisRange {
    /// -1 to 1.
    Bipolar,
    /// 0 to 1.
    Unit,
}

impl AxisRange {
    /// Whether `value` lies in the range; nothing is ever clamped into it.
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        match self {
            Self::Bipolar => (-1.0..=1.0).contains(&value),
            Self::Unit => (0.0..=1.0).contains(&value),
        }
    }
}

/// One declared axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AxisSchema {
    /// Its name.
    pub id: Id,
    /// Its values.
    pub range: AxisRange,
    /// Its resting value, inside the range.
    pub neutral: f64,
}

/// Every button and axis of one port, in the order in which controls list them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ControllerSchema {
    /// Name and version of the controller.
    pub schema: SchemaRef,
    /// Buttons, at most 32.
    pub buttons: Vec<Id>,
    /// Axes, at most 16.
    pub axes: Vec<AxisSchema>,
}

/// One button.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ButtonState {
    /// Its name.
    pub id: Id,
    /// Whether it is held down.
    pub down: bool,
}

/// One axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AxisValue {
    /// Its name.
    pub id: Id,
    /// Its value, finite and inside the declared range.
    pub value: f64,
}

/// Every button and axis of a port, without the port: an executor cannot name one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ControllerIntent {
    /// Every declared button, in declared order.
    pub buttons: Vec<ButtonState>,
    /// Every declared axis, in declared order.
    pub axes: Vec<AxisValue>,
}

/// An intent bound to a port; only the coordinator binds them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PortControl {
    /// The port.
    pub port_id: Id,
    /// Every declared button, in declared order.
    pub buttons: Vec<ButtonState>,
    /// Every declared axis, in declared order.
    pub axes: Vec<AxisValue>,
}

/// Why controls do not fit a schema, or a schema does not fit itself. Nothing was pressed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// Buttons missing, extra, repeated or out of order.
    #[error(
        "the controls list buttons {}, the controller {controller} declares {}",
        IdList(found),
        IdList(declared)
    )]
    Buttons {
        /// The controller's schema.
        controller: Id,
        /// What was listed.
        found: Vec<Id>,
        /// What is declared.
        declared: Vec<Id>,
    },
    /// Axes missing, extra, repeated or out of order.
    #[error(
        "the controls list axes {}, the controller {controller} declares {}",
        IdList(found),
        IdList(declared)
    )]
    Axes {
        /// The controller's schema.
        controller: Id,
        /// What was listed.
        found: Vec<Id>,
        /// What is declared.
        declared: Vec<Id>,
    },
    /// An axis outside its range.
    #[error(
        "axis {axis} is {}, outside its {range:?} range",
        ryu_js::Buffer::new().format(*value)
    )]
    OutOfRange {
        /// The axis.
        axis: Id,
        /// The value found.
        value: f64,
        /// The declared range.
        range: AxisRange,
    },
    /// More buttons or axes than a controller may declare, or one declared twice.
    #[error(
        "controller {controller} declares {buttons} buttons (limit {max_buttons}) and {axes} axes (limit {max_axes}), each once"
    )]
    Declaration {
        /// The controller's schema.
        controller: Id,
        /// Buttons declared.
        buttons: usize,
        /// [`ControllerSchema::MAX_BUTTONS`].
        max_buttons: usize,
        /// Axes declared.
        axes: usize,
        /// [`ControllerSchema::MAX_AXES`].
        max_axes: usize,
    },
}

impl ControllerSchema {
    /// Most buttons of one controller.
    pub const MAX_BUTTONS: usize = 32;
    /// Most axes of one controller.
    pub const MAX_AXES: usize = 16;

    /// Checks the declaration itself: bounds, unique names, resting values inside their ranges.
    pub fn check_declaration(&self) -> Result<(), ControlError> {
        let names = || {
            let axes = self.axes.iter().map(|axis| &axis.id);
            self.buttons.iter().chain(axes)
        };
        let repeated = |(index, name)| names().take(index).any(|earlier| earlier == name);
        // Every pair is looked at only where there are few.
        if self.buttons.len() > Self::MAX_BUTTONS
            || self.axes.len() > Self::MAX_AXES
            || names().enumerate().any(repeated)
        {
            return Err(ControlError::Declaration {
                controller: self.schema.id.clone(),
                buttons: self.buttons.len(),
                max_buttons: Self::MAX_BUTTONS,
                axes: self.axes.len(),
                max_axes: Self::MAX_AXES,
            });
        }
        self.check(&self.neutral())
    }

    /// Checks that `intent` lists exactly the declared buttons and axes, in order and in range.
    pub fn check(&self, intent: &ControllerIntent) -> Result<(), ControlError> {
        self.check_lists(&intent.buttons, &intent.axes)
    }

    /// As [`check`](Self::check), of what is pressed on a port.
    pub fn check_control(&self, control: &PortControl) -> Result<(), ControlError> {
        self.check_lists(&control.buttons, &control.axes)
    }

    fn check_lists(&self, buttons: &[ButtonState], axes: &[AxisValue]) -> Result<(), ControlError> {
        if !buttons.iter().map(|button| &button.id).eq(&self.buttons) {
            return Err(ControlError::Buttons {
                controller: self.schema.id.clone(),
                found: buttons.iter().map(|button| button.id.clone()).collect(),
                declared: self.buttons.clone(),
            });
        }
        let declared = self.axes.iter().map(|axis| &axis.id);
        if !axes.iter().map(|axis| &axis.id).eq(declared.clone()) {
            return Err(ControlError::Axes {
                controller: self.schema.id.clone(),
                found: axes.iter().map(|axis| axis.id.clone()).collect(),
                declared: declared.cloned().collect(),
            });
        }
        let outside = self
            .axes
            .iter()
            .zip(axes)
            .find(|(schema, axis)| !schema.range.contains(axis.value));
        match outside {
            Some((schema, found)) => Err(ControlError::OutOfRange {
                axis: found.id.clone(),
                value: found.value,
                range: schema.range,
            }),
            None => Ok(()),
        }
    }

    /// Nothing pressed, every axis at rest.
    #[must_use]
    pub fn neutral(&self) -> ControllerIntent {
        ControllerIntent {
            buttons: self
                .buttons
                .iter()
                .map(|id| ButtonState {
                    id: id.clone(),
                    down: false,
                })
                .collect(),
            axes: self
                .axes
                .iter()
                .map(|axis| AxisValue {
                    id: axis.id.clone(),
                    value: axis.neutral,
                })
                .collect(),
        }
    }
}

impl ControllerIntent {
    /// The same controls on a port.
    #[must_use]
    pub fn on_port(self, port_id: Id) -> PortControl {
        PortControl {
            port_id,
            buttons: self.buttons,
            axes: self.axes,
        }
    }

    /// The intent as a decision, for agents whose executor is the identity.
    pub fn to_decision(&self, schema: SchemaRef) -> Result<TypedValue, TypedValueError> {
        TypedValue::from_serialize(schema, self)
    }

    /// Whether the button is down; `false` where it is not listed.
    #[must_use]
    pub fn is_down(&self, button: &str) -> bool {
        self.buttons
            .iter()
            .any(|state| state.id.as_str() == button && state.down)
    }

    /// The value of the axis, where it is listed.
    #[must_use]
    pub fn axis(&self, axis: &str) -> Option<f64> {
        self.axes
            .iter()
            .find(|state| state.id.as_str() == axis)
            .map(|state| state.value)
    }
}

impl PortControl {
    /// The controls without their port.
    #[must_use]
    pub fn intent(&self) -> ControllerIntent {
        ControllerIntent {
            buttons: self.buttons.clone(),
            axes: self.axes.clone(),
        }
    }

    /// Whether the button is down; `false` where it is not listed.
    #[must_use]
    pub fn is_down(&self, button: &str) -> bool {
        self.buttons
            .iter()
            .any(|state| state.id.as_str() == button && state.down)
    }

    /// The value of the axis, where it is listed.
    #[must_use]
    pub fn axis(&self, axis: &str) -> Option<f64> {
        self.axes
            .iter()
            .find(|state| state.id.as_str() == axis)
            .map(|state| state.value)
    }
}
