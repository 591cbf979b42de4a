//! [`Goals`]: what has to hold of the numbers, and the exit status that says whether it did.

use std::process::ExitCode;

/// What was required so far, and what was missed.
#[derive(Default)]
pub struct Goals {
    met: usize,
    missed: Vec<String>,
}

impl Goals {
    /// `value` must not be above `limit`.
    pub fn at_most(&mut self, what: &str, value: f64, limit: f64) {
        if value <= limit {
            self.met += 1;
        } else {
            self.missed
                .push(format!("{what}: {value:.2}, to be at most {limit:.2}"));
        }
    }

    /// Nothing may have been allocated.
    pub fn no_allocation(&mut self, what: &str, allocations: u64, cycles: u64) {
        if allocations == 0 {
            self.met += 1;
        } else {
            self.missed.push(format!(
                "{what}: {allocations} allocations in {cycles} cycles, to be none"
            ));
        }
    }

    /// Prints what was missed. Failure where anything was, or where nothing was required at all.
    pub fn conclude(&self) -> ExitCode {
        println!("\n{} goals met, {} missed", self.met, self.missed.len());
        for missed in &self.missed {
            println!("  missed  {missed}");
        }
        if self.missed.is_empty() && self.met > 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}
