//! Convolution of a plane with 3 x 3 weights.

use super::volume::Sweep;

pub(super) const SWEEP: Sweep = Sweep {
    name: "conv2d",
    blocks_per_sm: 8,
    height: 8,
    depth: 1,
    loads: &[(-1, -1, 0), (0, -1, 0), (1, -1, 0), (-1, 0, 0), (0, 0, 0), (1, 0, 0), (-1, 1, 0), (0, 1, 0), (1, 1, 0)],
    before: 6,
    rim: false,
    store_pc: 0x200,
};
