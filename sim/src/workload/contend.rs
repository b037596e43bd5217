//! All SMs miss at once.

use rand::Rng;

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape, access, random};
use crate::trace::{AccessKind, Dim3, WarpAccess};

/// Loads of each warp and kernel at scale 1.
const ACCESSES: u32 = 64;
/// Warps of a thread block; there is one thread block for each SM.
const WARPS: u32 = 8;
/// Lines of one SM in the second kernel that agree in their low 10 tag bits.
const GROUP: u64 = 16;
/// Lines of the hot set of the third kernel.
const HOT: u64 = 64;

pub(super) struct Contend {
    sms: u32,
    accesses: u32,
    seed: u64,
    line: u64,
    same: u64,
    own: u64,
    /// Lines between the lines of a group, a multiple of 1024.
    far: u64,
    hot: u64,
}

impl Contend {
    pub fn new(parameters: &WorkloadParameters) -> Self {
        let (sms, line) = (parameters.sms, u64::from(parameters.line_bytes));
        let accesses = parameters.scaled(ACCESSES);
        let lines = u64::from(accesses) * u64::from(WARPS);
        let mut memory = Memory::new(parameters.base);
        let same = memory.array(lines * line);
        let far = lines.div_ceil(GROUP).next_multiple_of(1024);
        let own = memory.array(GROUP * u64::from(sms) * far * line);
        Self { sms, accesses, seed: parameters.seed, line, same, own, far, hot: memory.array(HOT * line) }
    }

    /// Lane 0 alone accesses line `number` of the array at `base`.
    fn one(&self, warp: u32, pc: u64, kind: AccessKind, base: u64, number: u64) -> WarpAccess {
        access(warp, pc, kind, 4, |lane| (lane == 0).then_some(base + number * self.line))
    }

    /// An access of the third kernel: half plain loads, the rest stores, atomics and volatile loads.
    fn mixed(&self, warp: u32, random: &mut impl Rng) -> WarpAccess {
        let line = random.random_range(0..HOT);
        let one = |pc, kind| self.one(warp, pc, kind, self.hot, line);
        match random.random_range(0..8) {
            0..4 => one(0x20, AccessKind::Load),
            4 | 5 => one(0x30, AccessKind::Store),
            6 => one(0x40, AccessKind::Atomic),
            _ => WarpAccess { shareable: false, ..one(0x50, AccessKind::Load) },
        }
    }
}

impl Plan for Contend {
    fn kernels(&self) -> Vec<Shape> {
        let shape = |name| Shape { name, grid: Dim3::linear(self.sms), block: Dim3::linear(WARPS * 32) };
        vec![shape("contend_same"), shape("contend_own"), shape("contend_mixed")]
    }

    fn block(&self, kernel: usize, index: u64) -> Vec<WarpAccess> {
        let mut accesses = Vec::new();
        for warp in 0..WARPS {
            let mut random = random(self.seed, kernel, index, warp);
            for step in 0..self.accesses {
                let number = u64::from(step) * u64::from(WARPS) + u64::from(warp);
                accesses.push(match kernel {
                    0 => self.one(warp, 0x0, AccessKind::Load, self.same, number),
                    1 => {
                        let number = (number % GROUP * u64::from(self.sms) + index) * self.far + number / GROUP;
                        self.one(warp, 0x10, AccessKind::Load, self.own, number)
                    }
                    _ => self.mixed(warp, &mut random),
                });
            }
        }
        accesses
    }
}
