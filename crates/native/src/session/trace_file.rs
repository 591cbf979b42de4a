//! [`TraceFile`]: the trace of a run on its way to a file.

use std::cell::RefCell;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::rc::Rc;

use wellwritten_session::{BehaviourDigest, Id, Scope, TraceRecord, TraceSink, trace_line};

use crate::command_error::CommandError;
use crate::new_file::NewFile;
use crate::publication::publish_all;

/// Writes every transition as it is committed, so that a run of any length is written down in full and nothing of it kept.
///
/// A disk that is full stops nothing: the first error is kept and told when the run is over, and no file appears.
pub struct TraceFile {
    writer: RefCell<Option<BufWriter<NewFile>>>,
    failure: RefCell<Option<io::Error>>,
}

impl TraceFile {
    /// Begins the file.
    pub fn create(path: &Path, replaces: bool) -> Result<Rc<Self>, CommandError> {
        let file = NewFile::create(path, replaces)?;
        Ok(Rc::new(Self {
            writer: RefCell::new(Some(BufWriter::with_capacity(1 << 16, file))),
            failure: RefCell::new(None),
        }))
    }

    /// Gives the file its name; nothing is told to it after that.
    pub fn publish(&self) -> Result<(), CommandError> {
        let Some(mut writer) = self.writer.take() else {
            return Ok(());
        };
        let flushed = match self.failure.take() {
            Some(failure) => Err(failure),
            None => writer.flush(),
        };
        flushed.map_err(|error| writer.get_ref().error(error))?;
        let (file, _) = writer.into_parts();
        publish_all(vec![file], None)?;
        Ok(())
    }
}

impl TraceSink for TraceFile {
    fn began(&self, _episode_id: &Id, _epoch: &Id) {
        // A run has one timeline, which begins where the file does.
    }

    fn committed(&self, record: &TraceRecord, _digest: &BehaviourDigest) {
        let mut failure = self.failure.borrow_mut();
        if let (None, Some(writer)) = (&*failure, &mut *self.writer.borrow_mut()) {
            *failure = writer.write_all(&trace_line(record)).err();
        }
    }

    fn restored(&self, _source: &Scope, _to_epoch: &Id) {
        // A run of this program has no store to restore from.
    }
}
