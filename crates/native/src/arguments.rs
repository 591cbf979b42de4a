//! [`Arguments`]: the command line, as clap reads it and as `--help` explains it.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use wellwritten_envelope::{EnvelopeVersion, Id};

mod store_arguments;

use store_arguments::STORE_EXIT_STATUS;
pub use store_arguments::{
    ExportArguments, ImportArguments, ListArguments, PinArguments, PruneArguments, StoreCommand,
    VerifyStoreArguments,
};

const EXIT_STATUS: &str = "\
Exit status:
  0  everything asked for was done, and every file is sound
  1  a file is not sound: it breaks a rule of the format
  2  wrong usage: unknown arguments, a payload the file does not have, a version that cannot hold the file
  3  a file, or standard output, cannot be read or written
With several files, the highest of them.";

const SESSION_EXIT_STATUS: &str = "\
Exit status:
  0    every step that was asked for was taken, or the episode was over before
  1    the session failed: a participant ended, or did what it must not; the store is damaged
  2    wrong usage: unknown arguments, a mode that does not go with a transport, a store that holds no checkpoint of
       this session, or holds some and --resume was not given
  3    a participant could not be started; a checkpoint was not saved; the store, a file, or standard output, cannot
       be read or written
  130  interrupted: the session paused at a boundary and ended";

const TRACE_EXIT_STATUS: &str = "\
Exit status:
  0  both traces tell of the same behaviour
  1  they differ, or there was nothing to compare; a file is no trace
  2  wrong usage: unknown arguments, an epoch that cannot be carried over
  3  a file, or standard output, cannot be read or written";

const ABOUT_JSON: &str = "\
With --json, standard output holds exactly one JSON object, whatever happens, except that a command line that cannot
be parsed is answered in words on standard error. Its keys:
  command    such as \"envelope verify\"
  exitCode   the exit status
  ...        what the command found, described in crates/native/README.md
  error      {code, message, ...}, where the command failed
Counters and offsets are decimal strings, since they have 64 bits.";

/// Runs Wellwritten sessions, and inspects and verifies what they leave behind.
#[derive(Debug, Parser)]
#[command(name = "wellwritten", version, after_help = EXIT_STATUS, disable_help_subcommand = true)]
pub struct Arguments {
    /// How to answer.
    #[command(flatten)]
    pub form: OutputArguments,
    /// What the command is about.
    #[command(subcommand)]
    pub subject: Subject,
}

/// How a command answers.
#[derive(Clone, Copy, Debug, Args)]
pub struct OutputArguments {
    /// Answer with one JSON object on standard output
    #[arg(long, global = true)]
    pub json: bool,
    /// Say nothing about what is well: no progress, no answer but for --json's, only complaints
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// What a command is about.
#[derive(Debug, Subcommand)]
pub enum Subject {
    /// Checkpoint envelopes (FLYSESS1 files, version 1 or 2)
    #[command(subcommand, after_help = EXIT_STATUS, after_long_help = format!("{EXIT_STATUS}\n\n{ABOUT_JSON}"))]
    Envelope(EnvelopeCommand),
    /// Sessions, run to their end
    #[command(subcommand, after_help = SESSION_EXIT_STATUS, after_long_help = format!("{SESSION_EXIT_STATUS}\n\n{ABOUT_JSON}"))]
    Session(SessionCommand),
    /// Stores: the folders that sessions save their checkpoints in (`session run --store`)
    #[command(subcommand, after_help = STORE_EXIT_STATUS, after_long_help = format!("{STORE_EXIT_STATUS}\n\n{ABOUT_JSON}"))]
    Store(StoreCommand),
    /// What sessions did, as `session run --trace` writes it
    #[command(subcommand, after_help = TRACE_EXIT_STATUS, after_long_help = format!("{TRACE_EXIT_STATUS}\n\n{ABOUT_JSON}"))]
    Trace(TraceCommand),
}

/// What to do with sessions.
#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// Start a session, take steps, and say what came of it
    #[command(after_help = SESSION_EXIT_STATUS)]
    Run(RunArguments),
    /// Serve one participant: how `session run --mode process` starts this program again
    #[command(hide = true)]
    Participant(ParticipantArguments),
}

/// What to do with traces.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Name every field in which two runs behaved otherwise
    #[command(after_help = TRACE_EXIT_STATUS)]
    Compare(CompareArguments),
}

/// The compositions this program knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompositionArgument {
    /// A world that counts, and agents that count it up and down: whole numbers only, the same everywhere
    Counter,
}

/// Where participants run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeArgument {
    /// On the coordinator's thread
    InProcess,
    /// On a thread each
    Thread,
    /// In a process each
    Process,
}

impl ModeArgument {
    /// The mode as it is spelled here.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InProcess => "in-process",
            Self::Thread => "thread",
            Self::Process => "process",
        }
    }
}

/// How they are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TransportArgument {
    /// In memory, without a copy; only on the coordinator's thread
    Direct,
    /// Over Unix sockets
    Unix,
}

/// In which order agents are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DispatchArgument {
    /// All at once
    Concurrent,
    /// One after the other, by name
    Sequential,
    /// One after the other, by name from the last
    Reversed,
}

/// Arguments of `session run`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("length").required(true).args(["steps", "until"]))]
pub struct RunArguments {
    /// Who takes part, and under which rules
    #[arg(long)]
    pub composition: CompositionArgument,
    /// How many agents, 1 to 4
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=4))]
    pub agents: u8,
    /// Where participants run
    #[arg(long, default_value = "in-process")]
    pub mode: ModeArgument,
    /// How they are reached; direct in-process, otherwise unix
    #[arg(long)]
    pub transport: Option<TransportArgument>,
    /// In which order agents are asked; the behaviour is the same in each
    #[arg(long, default_value = "concurrent")]
    pub dispatch: DispatchArgument,
    /// How many steps to take
    #[arg(long, value_name = "N")]
    pub steps: Option<u64>,
    /// The boundary to stop at, wherever the session begins: the same command can be given again after it died
    #[arg(long, value_name = "BOUNDARY")]
    pub until: Option<u64>,
    /// Steps in a second; as fast as possible without
    #[arg(long, value_name = "HZ", value_parser = parse_rate)]
    pub rate: Option<f64>,
    /// Write what every step did, a JSON object a line; the file appears when it is complete
    #[arg(long, value_name = "FILE.jsonl", value_parser = output_parser())]
    pub trace: Option<PathBuf>,
    /// Replace the trace's file if it exists
    #[arg(long, requires = "trace")]
    pub force: bool,
    /// Save checkpoints in this folder, which is made if it is missing: where the run stops, and as
    /// --checkpoint-every says
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Go on from the newest whole checkpoint of the store that fits, or from one that is named, under an epoch never
    /// used before
    #[arg(long, value_name = "CHECKPOINT", requires = "store", value_parser = parse_id, num_args = 0..=1, require_equals = true)]
    #[expect(clippy::option_option, reason = "absent, without a name, with one")]
    pub resume: Option<Option<Id>>,
    /// With --resume: begin where the store holds no checkpoint yet, so that one command can be given again and again
    #[arg(long, requires = "resume")]
    pub or_begin: bool,
    /// Save a checkpoint at every boundary that N divides; each is told when it is durable
    #[arg(long, value_name = "N", requires = "store")]
    pub checkpoint_every: Option<NonZeroU64>,
    /// How many checkpoints the store keeps [default: 3]
    #[arg(long, value_name = "N", requires = "store")]
    pub keep: Option<NonZeroUsize>,
}

/// Arguments of `session participant`.
#[derive(Debug, Args)]
pub struct ParticipantArguments {
    /// The counter composition it belongs to, as JSON
    #[arg(long, value_name = "JSON")]
    pub counter: String,
    /// Which of its lives it has the faults of, where that is not the launcher's count
    #[arg(long, value_name = "N")]
    pub life: Option<u32>,
}

/// Arguments of `trace compare`.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// One trace
    #[arg(value_name = "A.jsonl")]
    pub left: PathBuf,
    /// The other
    #[arg(value_name = "B.jsonl")]
    pub right: PathBuf,
    /// Read what ran under this epoch as if it had run under the last epoch of the other trace; may be given
    /// again for further epochs
    #[arg(long, value_name = "EPOCH", value_parser = parse_id)]
    pub rebase_from: Vec<Id>,
}

/// What to do with an envelope.
#[derive(Debug, Subcommand)]
pub enum EnvelopeCommand {
    /// Show every part with its offset and length, the manifest, and how far a damaged file is sound
    #[command(after_help = EXIT_STATUS)]
    Inspect(InspectArguments),
    /// Check every rule of the format, and name the first that a file breaks
    #[command(after_help = EXIT_STATUS)]
    Verify(VerifyArguments),
    /// Copy payloads or the manifest out of an envelope, verifying what is copied
    #[command(after_help = EXIT_STATUS)]
    Extract(ExtractArguments),
    /// Write an envelope again in the other version, verifying what is read
    #[command(after_help = EXIT_STATUS)]
    Convert(ConvertArguments),
}

/// Arguments of `envelope inspect`.
#[derive(Debug, Args)]
pub struct InspectArguments {
    /// The envelope; `-` is standard input, which must be a file
    pub file: PathBuf,
}

/// Arguments of `envelope verify`.
#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// The envelopes; `-` is standard input, which must be a file
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Arguments of `envelope extract`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["payload", "all", "manifest"]))]
pub struct ExtractArguments {
    /// The envelope; `-` is standard input, which must be a file
    pub file: PathBuf,
    /// Copy this payload
    #[arg(long, value_name = "NAME", value_parser = parse_id, conflicts_with = "all")]
    pub payload: Option<Id>,
    /// Copy every payload: all of them, or none
    #[arg(long)]
    pub all: bool,
    /// Copy the manifest's JSON, byte for byte; in a directory it is named _manifest.json, which no
    /// payload can be
    #[arg(long)]
    pub manifest: bool,
    /// Where to write: a file, or an existing directory, in which a payload keeps its name. With --all,
    /// or for both a payload and the manifest, a directory, which is created
    #[arg(long, short, value_name = "PATH_OR_DIR", value_parser = output_parser())]
    pub output: PathBuf,
    /// Replace files that exist
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `envelope convert`.
#[derive(Debug, Args)]
pub struct ConvertArguments {
    /// The envelope; `-` is standard input, which must be a file
    pub file: PathBuf,
    /// The version to write
    #[arg(long, value_name = "VERSION")]
    pub to: VersionArgument,
    /// The file to write; it appears when it is complete
    #[arg(long, short, value_name = "FILE", value_parser = output_parser())]
    pub output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    pub force: bool,
}

/// A version as the command line spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum VersionArgument {
    /// SHA-256, the format of the reference implementation
    #[value(name = "1")]
    One,
    /// BLAKE3, each payload byte hashed once
    #[value(name = "2")]
    Two,
}

impl From<VersionArgument> for EnvelopeVersion {
    fn from(argument: VersionArgument) -> Self {
        match argument {
            VersionArgument::One => Self::One,
            VersionArgument::Two => Self::Two,
        }
    }
}

/// Payload names are ids: 1 to 64 of a-z, 0-9, '.', '_' and '-', the first a letter or digit. So none is
/// a path, or leaves a directory.
fn parse_id(text: &str) -> Result<Id, wellwritten_envelope::IdError> {
    Id::parse(text)
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if rate.is_finite() && rate > 0.0 {
        Ok(rate)
    } else {
        Err("a rate is a number of steps in a second, above zero".to_owned())
    }
}

/// An output is a file, which appears when all of it is verified. What was written to a stream cannot be
/// taken back.
fn output_parser() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        if path.as_os_str() == "-" {
            return Err(
                "nothing is written to standard output before it is verified; name a file \
                 (`./-` is a file named -)",
            );
        }
        Ok(path)
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_contradicts_itself_nowhere() {
        super::Arguments::command().debug_assert();
    }
}
