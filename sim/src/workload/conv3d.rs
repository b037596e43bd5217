//! Convolution of a volume with the 11 weights of PolyBench.

use super::volume::Sweep;

pub(super) const SWEEP: Sweep = Sweep {
    name: "conv3d",
    blocks_per_sm: 3,
    height: 8,
    depth: 4,
    loads: &[
        (-1, -1, -1),
        (1, -1, -1),
        (-1, -1, 0),
        (1, -1, 0),
        (-1, -1, 1),
        (1, -1, 1),
        (0, 0, 0),
        (0, 1, 0),
        (-1, 1, 1),
        (1, 1, 1),
        (0, 1, -1),
    ],
    before: 6,
    rim: false,
    store_pc: 0x200,
};
