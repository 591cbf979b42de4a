//! [`IdList`]: ids in a sentence.

use std::fmt;

use wellwritten_envelope::Id;

/// Ids as a person reads them: `[inc, dec]`.
pub(crate) struct IdList<'a>(pub &'a [Id]);

impl fmt::Display for IdList<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[")?;
        for (index, id) in self.0.iter().enumerate() {
            formatter.write_str(if index == 0 { "" } else { ", " })?;
            formatter.write_str(id.as_str())?;
        }
        formatter.write_str("]")
    }
}
