//! All SMs scan one ring.

use rand::seq::SliceRandom;

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape, consecutive, random};
use crate::trace::{AccessKind, Dim3, WarpAccess};

/// Lines of the ring at scale 1: twice a default L1.
const LINES: u32 = 1024;
/// Times each SM goes round.
const ROUNDS: u64 = 2;
/// Warps of a thread block, which take the lines in turn; there is one thread block for each SM.
const WARPS: u32 = 4;

pub(super) struct CyclicScan {
    lines: u64,
    line: u64,
    ring: u64,
    /// First line of each SM.
    phases: Vec<u64>,
}

impl CyclicScan {
    pub fn new(parameters: &WorkloadParameters) -> Self {
        let line = u64::from(parameters.line_bytes);
        let lines = u64::from(parameters.scaled(LINES).max(parameters.sms));
        let sms = u64::from(parameters.sms);
        let mut phases: Vec<u64> = (0..sms).map(|worker| worker * lines / sms).collect();
        phases.shuffle(&mut random(parameters.seed, 0, 0, 0));
        Self { lines, line, ring: Memory::new(parameters.base).array(lines * line), phases }
    }
}

impl Plan for CyclicScan {
    fn kernels(&self) -> Vec<Shape> {
        let grid = Dim3::linear(self.phases.len() as u32);
        vec![Shape { name: "cyclic_scan", grid, block: Dim3::linear(WARPS * 32) }]
    }

    fn block(&self, _kernel: usize, index: u64) -> Vec<WarpAccess> {
        let phase = self.phases[index as usize];
        let width = (self.line / 32) as u8;
        let mut accesses = Vec::new();
        for warp in 0..WARPS {
            for step in (u64::from(warp)..ROUNDS * self.lines).step_by(WARPS as usize) {
                let address = self.ring + (phase + step) % self.lines * self.line;
                accesses.push(consecutive(warp, 0x40, AccessKind::Load, width, address).after(4));
            }
        }
        accesses
    }
}
