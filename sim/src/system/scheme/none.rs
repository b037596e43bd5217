//! No sharing.

use super::Sharing;
use crate::system::l1s::{L1s, Verdict};

/// Every miss goes to the L2.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSharing;

impl Sharing for NoSharing {
    fn name(&self) -> &'static str {
        "none"
    }

    fn step(&mut self, _: u64, l1s: &mut L1s) {
        if l1s.waiting() == 0 {
            return;
        }
        for sm in l1s.missing().iter() {
            while l1s.l2_room(sm)
                && let Some(miss) = l1s.take_miss(sm)
            {
                l1s.judge(&miss, Verdict::Pruned);
                l1s.to_l2(&miss);
            }
        }
    }

    fn next(&self, _: u64) -> Option<u64> {
        None
    }
}
