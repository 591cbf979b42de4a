//! [`TraceExport`]: a trace as JSON Lines, one canonical record a line; [`TraceLines`] reads one of any length.

use wellwritten_envelope::{
    Digest, Id, JsonShapeError, StrictJsonError, canonical_json, from_json, parse_strict_json,
};

use crate::{Behaviour, Operational, TraceDiff, TraceRecord, behaviour_digest, compare_traces};

/// Longest line, in bytes, its end not counted: well above the largest record this software writes.
pub const MAX_TRACE_LINE: usize = 262_144;

/// Why a text is no exported trace. Lines count from 1. What was read before the line stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceReadError {
    /// A line longer than [`MAX_TRACE_LINE`].
    #[error("line {line} is longer than {limit} bytes")]
    TooLong {
        /// The line.
        line: u64,
        /// [`MAX_TRACE_LINE`].
        limit: usize,
    },
    /// A line that is no JSON by the strict rules; an empty one is none either.
    #[error("line {line}: {source}")]
    Json {
        /// The line.
        line: u64,
        /// What is wrong, and at which byte of the line.
        source: StrictJsonError,
    },
    /// JSON, but no trace record: a field that is missing, unknown or of another kind.
    #[error("line {line} is no trace record: {source}")]
    Shape {
        /// The line.
        line: u64,
        /// Which field.
        source: JsonShapeError,
    },
    /// A record that is not in its one spelling.
    #[error("line {line} is not canonical from byte {offset} on")]
    NotCanonical {
        /// The line.
        line: u64,
        /// The first byte that should be another.
        offset: usize,
    },
    /// More of something than a record may hold.
    #[error("line {line} holds {count} {what}, the limit is {limit}")]
    TooMany {
        /// The line.
        line: u64,
        /// Of what.
        what: &'static str,
        /// How many.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// A record whose boundaries contradict each other.
    #[error("line {line}: {field} is not the boundary after step {step}")]
    Boundary {
        /// The line.
        line: u64,
        /// The field that is wrong.
        field: &'static str,
        /// The step the transition began at.
        step: u64,
    },
    /// A record that does not follow the one before it: a line is missing, came twice, or came out of turn.
    #[error("line {line} holds step {found}, where step {expected} follows")]
    OutOfTurn {
        /// The line.
        line: u64,
        /// The step after the one before.
        expected: u64,
        /// The step it is of.
        found: u64,
    },
    /// A record of another session than the ones before it.
    #[error("line {line} is of session {found}, the lines before it are of {expected}")]
    ForeignSession {
        /// The line.
        line: u64,
        /// The session of the first line.
        expected: Id,
        /// The session it is of.
        found: Id,
    },
    /// The text ends inside a line: it was cut off.
    #[error("the text ends inside line {line}")]
    CutOff {
        /// The line.
        line: u64,
    },
}

/// One record as a line of an export: its canonical JSON and a line feed.
#[must_use]
pub fn trace_line(record: &TraceRecord) -> Vec<u8> {
    let mut line = canonical_json(record).expect("a record is strings, integers and lists of them");
    line.push(b'\n');
    line
}

/// A whole trace, to be kept or compared elsewhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceExport {
    records: Vec<TraceRecord>,
}

impl TraceExport {
    /// An export of these records, oldest first.
    #[must_use]
    pub const fn new(records: Vec<TraceRecord>) -> Self {
        Self { records }
    }

    /// The records, oldest first.
    #[must_use]
    pub fn records(&self) -> &[TraceRecord] {
        &self.records
    }

    /// The records themselves.
    #[must_use]
    pub fn into_records(self) -> Vec<TraceRecord> {
        self.records
    }

    /// One canonical record a line; nothing for a trace of no records.
    #[must_use]
    pub fn to_json_lines(&self) -> Vec<u8> {
        self.records.iter().flat_map(trace_line).collect()
    }

    /// Reads what [`to_json_lines`](Self::to_json_lines) wrote. The first line that is wrong is named.
    pub fn from_json_lines(bytes: &[u8]) -> Result<Self, TraceReadError> {
        let mut lines = TraceLines::default();
        let mut records = Vec::new();
        lines.read(bytes, |record| records.push(record))?;
        lines.finish()?;
        Ok(Self { records })
    }

    /// The digest of the behaviour.
    #[must_use]
    pub fn digest(&self) -> Digest {
        behaviour_digest(&self.records)
    }

    /// Where another run behaved otherwise.
    #[must_use]
    pub fn compare(&self, other: &Self) -> TraceDiff {
        compare_traces(&self.records, &other.records)
    }
}

/// Reads an export in parts of any size, holding one line at most.
#[derive(Clone, Debug, Default)]
pub struct TraceLines {
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
    /// Lines that are complete.
    complete: u64,
    /// Where the record before ended: its session, and the boundary after it.
    reached: Option<(Id, u64)>,
}

impl TraceLines {
    /// Reads the next part and hands over every record it completes. After an error the rest means nothing.
    pub fn read(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(TraceRecord),
    ) -> Result<(), TraceReadError> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.extend(&bytes[..end])?;
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.begun);
            let record = read_line(&line, self.line())?;
            self.follow(&record.behaviour)?;
            each(record);
            self.complete += 1;
        }
        self.extend(bytes)
    }

    /// The text is over: it must have ended with a line.
    pub fn finish(self) -> Result<(), TraceReadError> {
        if self.begun.is_empty() {
            return Ok(());
        }
        Err(TraceReadError::CutOff { line: self.line() })
    }

    const fn line(&self) -> u64 {
        self.complete + 1
    }

    /// One timeline, step after step, whatever epochs it went through.
    fn follow(&mut self, behaviour: &Behaviour) -> Result<(), TraceReadError> {
        let line = self.line();
        let (session, step) = (&behaviour.scope.session_id, behaviour.scope.step.0);
        if let Some((expected, reached)) = &self.reached {
            if session != expected {
                return Err(TraceReadError::ForeignSession {
                    line,
                    expected: expected.clone(),
                    found: session.clone(),
                });
            }
            if step != *reached {
                return Err(TraceReadError::OutOfTurn {
                    line,
                    expected: *reached,
                    found: step,
                });
            }
        }
        self.reached = Some((session.clone(), behaviour.acknowledged_boundary.0));
        Ok(())
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), TraceReadError> {
        if self.begun.len() + bytes.len() > MAX_TRACE_LINE {
            return Err(TraceReadError::TooLong {
                line: self.line(),
                limit: MAX_TRACE_LINE,
            });
        }
        self.begun.extend_from_slice(bytes);
        Ok(())
    }
}

fn read_line(bytes: &[u8], line: u64) -> Result<TraceRecord, TraceReadError> {
    let value = parse_strict_json(bytes).map_err(|source| TraceReadError::Json { line, source })?;
    let record: TraceRecord =
        from_json(value).map_err(|source| TraceReadError::Shape { line, source })?;
    let canonical = trace_line(&record);
    let canonical = &canonical[..canonical.len() - 1];
    if canonical != bytes {
        let same = canonical.iter().zip(bytes).take_while(|(a, b)| a == b);
        let offset = same.count();
        return Err(TraceReadError::NotCanonical { line, offset });
    }
    check_counts(&record, line)?;
    check_boundaries(&record.behaviour, line)?;
    Ok(record)
}

fn check_counts(record: &TraceRecord, line: u64) -> Result<(), TraceReadError> {
    let (behaviour, operational) = (&record.behaviour, &record.operational);
    let counts = [
        (
            "agents",
            behaviour.agents.len(),
            crate::Composition::MAX_AGENTS,
        ),
        (
            "rewarded events",
            behaviour.outcome_ids.len(),
            Behaviour::MAX_OUTCOMES,
        ),
        ("events", behaviour.event_ids.len(), Behaviour::MAX_EVENTS),
        (
            "uncertain calls",
            operational.resolutions.len(),
            Operational::MAX_RESOLUTIONS,
        ),
        (
            "captures",
            operational.captures.len(),
            Operational::MAX_CAPTURES,
        ),
    ];
    for (what, count, limit) in counts {
        if count > limit {
            return Err(TraceReadError::TooMany {
                line,
                what,
                count,
                limit,
            });
        }
    }
    Ok(())
}

/// Everything that names the boundary after the transition names the same; what was published may be nothing.
fn check_boundaries(behaviour: &Behaviour, line: u64) -> Result<(), TraceReadError> {
    let step = behaviour.scope.step.0;
    let next = step.checked_add(1);
    let refuse = |field| Err(TraceReadError::Boundary { line, field, step });
    if Some(behaviour.acknowledged_boundary.0) != next {
        return refuse("acknowledgedBoundary");
    }
    let mut committed = behaviour.agents.iter().map(|agent| agent.committed_step.0);
    if !committed.all(|committed| Some(committed) == next) {
        return refuse("committedStep");
    }
    let published = behaviour.published_boundary;
    if published.is_some_and(|published| Some(published.0) != next) {
        return refuse("publishedBoundary");
    }
    Ok(())
}
