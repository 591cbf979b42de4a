//! `wellwritten store ...`, as clap reads it.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use wellwritten_envelope::Id;

use super::{output_parser, parse_id};

pub const STORE_EXIT_STATUS: &str = "\
Exit status:
  0  everything asked for was done, and every generation looked at is whole
  1  a generation, the store's list of them, or a file to import is damaged
  2  wrong usage: unknown arguments, a generation the store does not have, an id that is used
  3  the store, a file, or standard output cannot be read or written; another process owns the store
With several generations or files, the highest of them.";

/// What to do with a store of checkpoints.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// List the generations, oldest first; works while a session owns the store
    #[command(after_help = STORE_EXIT_STATUS)]
    Ls(ListArguments),
    /// Check every byte of generations; works while a session owns the store
    #[command(after_help = STORE_EXIT_STATUS)]
    Verify(VerifyStoreArguments),
    /// Copy a generation out of the store, verified; works while a session owns the store
    #[command(after_help = STORE_EXIT_STATUS)]
    Export(ExportArguments),
    /// Take envelopes into the store, verified; each is pinned, and restored only by its name
    #[command(after_help = STORE_EXIT_STATUS)]
    Import(ImportArguments),
    /// Drop the generations worth least, and the leftovers of commits that did not finish
    #[command(after_help = STORE_EXIT_STATUS)]
    Prune(PruneArguments),
    /// Keep generations whatever rotates out
    #[command(after_help = STORE_EXIT_STATUS)]
    Pin(PinArguments),
    /// Let generations rotate out again
    #[command(after_help = STORE_EXIT_STATUS)]
    Unpin(PinArguments),
}

/// Arguments of `store ls`.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// The store's folder
    pub dir: PathBuf,
}

/// Arguments of `store verify`.
#[derive(Debug, Args)]
pub struct VerifyStoreArguments {
    /// The store's folder
    pub dir: PathBuf,
    /// The generations; all of them without
    #[arg(value_name = "CHECKPOINT", value_parser = parse_id)]
    pub checkpoints: Vec<Id>,
}

/// Arguments of `store export`.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// The store's folder
    pub dir: PathBuf,
    /// The generation
    #[arg(value_name = "CHECKPOINT", value_parser = parse_id)]
    pub checkpoint: Id,
    /// Where to write: a file, which appears when it is complete, or an existing directory, in which it is
    /// named CHECKPOINT.flysess
    #[arg(long, short, value_name = "PATH_OR_DIR", value_parser = output_parser())]
    pub output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `store import`.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// The store's folder; made if it is missing
    pub dir: PathBuf,
    /// The envelopes; `-` is standard input, which must be a file
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Arguments of `store prune`.
#[derive(Debug, Args)]
pub struct PruneArguments {
    /// The store's folder
    pub dir: PathBuf,
    /// How many generations that are not pinned stay; the newest and the one last resumed from always do
    #[arg(long, value_name = "N")]
    pub keep: NonZeroUsize,
}

/// Arguments of `store pin` and `store unpin`.
#[derive(Debug, Args)]
pub struct PinArguments {
    /// The store's folder
    pub dir: PathBuf,
    /// The generations
    #[arg(required = true, value_name = "CHECKPOINT", value_parser = parse_id)]
    pub checkpoints: Vec<Id>,
}
