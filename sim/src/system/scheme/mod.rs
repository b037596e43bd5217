//! Sharing schemes: who else is asked for a line before the L2 is.
//!
//! | scheme | models | leaves out |
//! |---|---|---|
//! | [`Scheme::None`] | the baseline: every miss goes to the L2 in the next cycle | |
//! | [`Scheme::C2p`] | the cycle-accurate model of the C2P-Cache that is in lockstep with the RTL, driven through its ports; probes take cycles of the target's L1 port, in turn with its own SM's lookups (`probe_wait`) | |
//! | [`Scheme::Oracle`] | knows at once which L1s hold a line; a hit takes the time of a C2P hit without waiting, a miss costs nothing | ports and queues |
//! | [`Scheme::Ata`] | clusters with aggregated tags: all L1 lookups of a cluster share `ata_lookups` per cycle; a miss finds a copy in its cluster at once | bank conflicts of the tag array; its layout |
//! | [`Scheme::Ccd`] | a two-bit counter per SM and load (64 entries by program counter) predicts whether a broadcast in the cluster pays; one broadcast per cluster and cycle, all peers look the line up | the private data-sharing network; energy |
//! | [`Scheme::Ring`] | one slotted ring through all SMs with replicated tags: a miss travels hop by hop to the first SM that holds the line, or round and then to the L2; the line travels on to the requester | the second ring of the data: only its latency and the sender's port |
//!
//! ATA, CCD and RING are simple models of the published ideas from their descriptions in the C2P paper, not of their authors' code. A remote
//! hit costs `remote_tag_latency + return_latency` at the other L1 in every scheme.

mod ata;
mod c2p;
mod ccd;
mod none;
mod oracle;
mod ring;

pub use ata::Ata;
pub use c2p::C2p;
pub use ccd::Ccd;
pub use none::NoSharing;
pub use oracle::PerfectKnowledge;
pub use ring::Ring;

use super::l1s::L1s;
use super::measures::Measures;
use super::parameters::SystemParameters;
use crate::ParameterError;
use l1forge_config::Config;
use std::fmt;

/// A sharing scheme in the memory path.
///
/// It must take every miss in the end, [judge](L1s::judge) it once, and send it [to the L2](L1s::to_l2) or serve it [from an
/// L1](L1s::from_l1), exactly once.
pub trait Sharing {
    /// Its name.
    fn name(&self) -> &'static str;

    /// An SM may look a line up in its own L1 in this cycle. Asked once for every lookup.
    fn admit(&mut self, sm: usize) -> bool {
        let _ = sm;
        true
    }

    /// One cycle.
    fn step(&mut self, now: u64, l1s: &mut L1s);

    /// The next cycle in which it does something, if no miss comes.
    fn next(&self, now: u64) -> Option<u64>;

    /// A new kernel: all L1s are empty. No miss is in flight.
    fn flush(&mut self) {}

    /// What it counts itself.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Compares its own counts with those of the system, when nothing is in flight.
    ///
    /// # Errors
    /// What does not agree, with both numbers.
    fn check(&self, measures: &Measures) -> Result<(), String> {
        let _ = measures;
        Ok(())
    }
}

/// The schemes there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// No sharing.
    None,
    /// The C2P-Cache.
    C2p,
    /// Perfect knowledge.
    Oracle,
    /// Aggregated tags in clusters.
    Ata,
    /// Predicted broadcast in clusters.
    Ccd,
    /// Replicated tags on a ring.
    Ring,
}

impl Scheme {
    /// All schemes.
    pub const ALL: [Self; 6] = [Self::None, Self::C2p, Self::Oracle, Self::Ata, Self::Ccd, Self::Ring];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::C2p => "c2p",
            Self::Oracle => "oracle",
            Self::Ata => "ata",
            Self::Ccd => "ccd",
            Self::Ring => "ring",
        }
    }

    /// The scheme called `name`.
    ///
    /// # Errors
    /// When there is none; the message lists the names.
    pub fn by_name(name: &str) -> Result<Self, ParameterError> {
        Self::ALL.into_iter().find(|s| s.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|s| s.name()).collect();
            ParameterError::new("scheme", name, format!("one of {}", names.join(", ")))
        })
    }

    /// The scheme, for a configuration.
    pub fn build(self, config: &Config, p: &SystemParameters) -> Box<dyn Sharing> {
        match self {
            Self::None => Box::new(NoSharing),
            Self::C2p => Box::new(C2p::new(config, p)),
            Self::Oracle => Box::new(PerfectKnowledge::new(config)),
            Self::Ata => Box::new(Ata::new(config, p)),
            Self::Ccd => Box::new(Ccd::new(config, p)),
            Self::Ring => Box::new(Ring::new(config, p)),
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
