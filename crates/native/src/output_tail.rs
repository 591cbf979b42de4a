//! [`OutputTail`]: the last of what a process wrote.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::net::unix::pipe;

/// The end of a stream of text, bounded.
#[derive(Debug, Default)]
pub(crate) struct OutputTail {
    bytes: VecDeque<u8>,
}

impl OutputTail {
    /// Bytes that are kept at most.
    pub(crate) const LIMIT: usize = 8 << 10;

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let kept = &bytes[bytes.len().saturating_sub(Self::LIMIT)..];
        let surplus = (self.bytes.len() + kept.len()).saturating_sub(Self::LIMIT);
        self.bytes.drain(..surplus);
        self.bytes.extend(kept);
    }

    /// What is kept, as text; what is no text is marked as such.
    pub(crate) fn text(&mut self) -> String {
        String::from_utf8_lossy(self.bytes.make_contiguous()).into_owned()
    }
}

/// Reads a pipe until nobody can write to it any more, giving `keep` what comes.
pub(crate) async fn read_to_end(pipe: OwnedFd, mut keep: impl FnMut(&[u8])) -> io::Result<()> {
    let pipe = pipe::Receiver::from_owned_fd(pipe)?;
    let mut buffer = [0; 4096];
    loop {
        pipe.ready(Interest::READABLE).await?;
        match pipe.try_read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => keep(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    //! Oracle: the end of the whole text, kept in a string.

    use super::OutputTail;

    #[test]
    fn what_is_kept_is_the_end_of_all_of_it() {
        let mut tail = OutputTail::default();
        let mut all = String::new();
        for turn in 0..400_usize {
            let piece = format!("line {turn}\n").repeat(turn % 7);
            tail.push(piece.as_bytes());
            all.push_str(&piece);
            assert_eq!(
                tail.text(),
                all[all.len().saturating_sub(OutputTail::LIMIT)..]
            );
        }
        let flood = "x".repeat(3 * OutputTail::LIMIT);
        tail.push(flood.as_bytes());
        assert_eq!(tail.text().len(), OutputTail::LIMIT);
    }
}
