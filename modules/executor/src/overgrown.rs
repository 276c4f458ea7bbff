//! Description of a network whose channels would grow over the memory limit.

use std::fmt;

use crate::block::BlockedProcess;

/// A channel that has to grow for the network to continue, but would exceed the limit of
/// [`Options::memory`](crate::Options::memory).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overgrown {
    /// Description of the channel, with its position.
    pub channel: String,
    /// Capacity of the channel in tokens.
    pub capacity: usize,
    /// Capacity that the channel would need.
    pub wanted: usize,
    /// Size of a token in bytes.
    pub token: usize,
    /// Growth of all channels so far, in bytes.
    pub grown: u64,
    /// Limit of the growth of all channels, in bytes.
    pub ceiling: u64,
    /// Cycle that contains the channel, as far as it is known, at most the first 20 processes. The
    /// first one is the writer of the channel. Each process waits for the next, and the last one
    /// waits for the first.
    pub cycle: Vec<BlockedProcess>,
    /// Number of processes in the cycle.
    pub cycle_len: usize,
}

crate::payload!(Overgrown {
    channel,
    capacity,
    wanted,
    token,
    grown,
    ceiling,
    cycle,
    cycle_len
});

/// Number of bytes that is displayed in the largest unit that fits, to a tenth.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
        match units.into_iter().find(|(power, _)| self.0 >> power > 0) {
            None if self.0 == 1 => f.write_str("1 byte"),
            None => write!(f, "{} bytes", self.0),
            Some((power, unit)) if self.0.is_multiple_of(1 << power) => {
                write!(f, "{} {unit}", self.0 >> power)
            }
            Some((power, unit)) => {
                write!(f, "{:.1} {unit}", self.0 as f64 / (1u64 << power) as f64)
            }
        }
    }
}

impl fmt::Display for Overgrown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Overgrown {
            channel,
            capacity,
            wanted,
            ..
        } = self;
        let (ceiling, token) = (Bytes(self.ceiling), Bytes(self.token as u64));
        write!(
            f,
            "channels would grow by more than the limit of {ceiling}: {channel} would have to hold \
             {wanted} tokens of {token} instead of {capacity}"
        )?;
        if self.grown > 0 {
            write!(f, "; channels have already grown by {}", Bytes(self.grown))?;
        }
        match self.cycle_len {
            0 | 1 => f.write_str("\nwaiting:")?,
            _ => f.write_str("\neach process in this cycle waits for the next:")?,
        }
        for process in &self.cycle {
            write!(f, "\n  {process}")?;
        }
        match self.cycle_len.saturating_sub(self.cycle.len()) {
            0 => {}
            more => write!(f, "\n  and {more} more")?,
        }
        f.write_str(
            "\n\
             to raise the limit, use `graphmap run --memory SIZE` or GRAPHMAP_MEMORY=SIZE; the \
             capacity in the graph (`capacity=`) does not count",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes;

    #[test]
    fn bytes_in_words() {
        let said = |bytes| Bytes(bytes).to_string();
        assert_eq!(said(0), "0 bytes");
        assert_eq!(said(1), "1 byte");
        assert_eq!(said(1023), "1023 bytes");
        assert_eq!(said(1024), "1 KiB");
        assert_eq!(said(1536), "1.5 KiB");
        assert_eq!(said(3 << 30), "3 GiB");
        assert_eq!(said(u64::MAX), "16777216.0 TiB");
    }
}
