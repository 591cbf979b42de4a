//! [`FaultBoard`]: faults a person arms by name, which the next launch of a kernel then has.

use std::cell::RefCell;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

/// A kernel of the arena, by its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "lowercase")]
pub enum KernelName {
    /// The odour field.
    Field,
    /// The network of a fly.
    Agent,
    /// The view.
    View,
}

impl KernelName {
    /// The kernel's label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Field => "field",
            Self::Agent => "agent",
            Self::View => "view",
        }
    }
}

/// A fault the arena can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultName {
    /// The kernel is launched from a shader that does not compile.
    InvalidShader,
}

/// One fault, armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FaultSpec {
    /// Which fault.
    pub name: FaultName,
    /// Which kernel has it.
    pub kernel: KernelName,
    /// Whether it disarms itself after one launch.
    pub once: bool,
}

/// The armed faults, shared by everyone who launches. Clones are the same board.
#[derive(Clone, Debug, Default)]
pub struct FaultBoard {
    armed: Rc<RefCell<Vec<FaultSpec>>>,
}

impl FaultBoard {
    /// A board with nothing armed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Arms a fault; the same fault of the same kernel is replaced.
    pub fn arm(&self, fault: FaultSpec) {
        let mut armed = self.armed.borrow_mut();
        armed.retain(|other| other.name != fault.name || other.kernel != fault.kernel);
        armed.push(fault);
    }

    /// Disarms a fault of a kernel and says whether it was armed.
    #[must_use]
    pub fn disarm(&self, name: FaultName, kernel: KernelName) -> bool {
        let mut armed = self.armed.borrow_mut();
        let before = armed.len();
        armed.retain(|fault| fault.name != name || fault.kernel != kernel);
        armed.len() != before
    }

    /// The armed faults, in the order in which they were armed.
    #[must_use]
    pub fn list(&self) -> Vec<FaultSpec> {
        self.armed.borrow().clone()
    }

    /// Whether a launch of `kernel` has this fault now. A fault armed for once is used up by it.
    pub(crate) fn strikes(&self, name: FaultName, kernel: KernelName) -> bool {
        let mut armed = self.armed.borrow_mut();
        let Some(at) = armed
            .iter()
            .position(|fault| fault.name == name && fault.kernel == kernel)
        else {
            return false;
        };
        if armed[at].once {
            armed.remove(at);
        }
        true
    }
}

/// A parameter of a fault, for a form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FaultParameter {
    /// Its name in [`FaultSpec`].
    pub name: String,
    /// What it means.
    pub text: String,
    /// The values to choose from, as JSON spells them.
    pub values: Vec<String>,
}

/// A fault that can be armed, for a menu.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FaultDescription {
    /// Its name.
    pub name: FaultName,
    /// Its title.
    pub title: String,
    /// What it does, and what then happens.
    pub text: String,
    /// What to choose.
    pub parameters: Vec<FaultParameter>,
}

/// Every fault the arena's launches can have.
#[must_use]
pub fn fault_catalogue() -> Vec<FaultDescription> {
    let kernels = [KernelName::Field, KernelName::Agent, KernelName::View];
    vec![FaultDescription {
        name: FaultName::InvalidShader,
        title: "Invalid shader".to_owned(),
        text: "The next launch of the kernel uses a shader that does not compile. In the field kernel this is \
               found late: the step is committed, and the next one is refused with the root failure. In the \
               agent or view kernel it fails the step."
            .to_owned(),
        parameters: vec![
            FaultParameter {
                name: "kernel".to_owned(),
                text: "Which kernel is broken.".to_owned(),
                values: kernels.iter().map(|kernel| kernel.as_str().to_owned()).collect(),
            },
            FaultParameter {
                name: "once".to_owned(),
                text: "Whether only one launch is broken, or every one until the fault is disarmed.".to_owned(),
                values: vec!["true".to_owned(), "false".to_owned()],
            },
        ],
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(kernel: KernelName, once: bool) -> FaultSpec {
        FaultSpec {
            name: FaultName::InvalidShader,
            kernel,
            once,
        }
    }

    #[test]
    fn once_strikes_once_and_others_until_disarmed() {
        let board = FaultBoard::new();
        board.arm(fault(KernelName::Field, true));
        board.arm(fault(KernelName::View, false));
        board.arm(fault(KernelName::View, false));
        assert_eq!(board.list().len(), 2);
        assert!(!board.strikes(FaultName::InvalidShader, KernelName::Agent));
        assert!(board.strikes(FaultName::InvalidShader, KernelName::Field));
        assert!(!board.strikes(FaultName::InvalidShader, KernelName::Field));
        assert!(board.strikes(FaultName::InvalidShader, KernelName::View));
        assert!(board.strikes(FaultName::InvalidShader, KernelName::View));
        assert!(board.disarm(FaultName::InvalidShader, KernelName::View));
        assert!(!board.disarm(FaultName::InvalidShader, KernelName::View));
        assert_eq!(board.list(), []);
    }

    /// A page sends what the catalogue offers; every combination must be a fault.
    #[test]
    fn the_catalogue_names_faults_that_parse() {
        let mut parsed = 0;
        for entry in fault_catalogue() {
            for kernel in &entry.parameters[0].values {
                for once in &entry.parameters[1].values {
                    let name = serde_json::to_string(&entry.name).unwrap();
                    let text =
                        format!("{{\"name\":{name},\"kernel\":\"{kernel}\",\"once\":{once}}}");
                    serde_json::from_str::<FaultSpec>(&text).unwrap();
                    parsed += 1;
                }
            }
        }
        assert_eq!(parsed, 6);
        assert!(
            serde_json::from_str::<FaultSpec>(
                r#"{"name":"invalid-shader","kernel":"tail","once":true}"#
            )
            .is_err()
        );
    }
}
