//! Seven-point stencil on a volume.

use super::volume::Sweep;

pub(super) const SWEEP: Sweep = Sweep {
    name: "stencil3d",
    blocks_per_sm: 4,
    height: 8,
    depth: 4,
    loads: &[(0, 0, 0), (-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1)],
    before: 5,
    rim: false,
    store_pc: 0x200,
};
