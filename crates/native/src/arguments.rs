//! [`Arguments`]: the command line, as clap reads it and as `--help` explains it.

use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use wellwritten_envelope::{EnvelopeVersion, Id};

const EXIT_STATUS: &str = "\
Exit status:
  0  everything asked for was done, and every file is sound
  1  a file is not sound: it breaks a rule of the format
  2  wrong usage: unknown arguments, a payload the file does not have, a version that cannot hold the file
  3  a file, or standard output, cannot be read or written
With several files, the highest of them.";

const ABOUT_JSON: &str = "\
With --json, standard output holds exactly one JSON object, whatever happens, except that a command line that cannot
be parsed is answered in words on standard error. Its keys:
  command    such as \"envelope verify\"
  exitCode   the exit status
  ...        what the command found, described in crates/native/README.md
  error      {code, message, ...}, where the command failed
Counters and offsets are decimal strings, since they have 64 bits.";

/// Inspects and verifies what Wellwritten sessions leave behind.
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
