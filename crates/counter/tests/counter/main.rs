//! Oracle: the arithmetic of the crate's own description, written a second time in the slowest way: a brain is the list of
//! everything that was ever mixed into it, gone through from the seed each time, in integers of twice the width.

mod arithmetic;
mod compositions;
mod states;
mod still_clock;

use wellwritten_session::Id;

fn id(text: &str) -> Id {
    Id::parse(text).unwrap()
}
