//! Laplace solver on a volume: planes go through shared memory, so only a thread block's own points and its rim are loaded.

use super::volume::Sweep;

pub(super) const SWEEP: Sweep =
    Sweep { name: "lps", blocks_per_sm: 5, height: 4, depth: 16, loads: &[(0, 0, 0)], before: 8, rim: true, store_pc: 0x300 };
