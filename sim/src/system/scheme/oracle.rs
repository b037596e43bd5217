//! Perfect knowledge.

use super::Sharing;
use crate::system::l1s::{L1s, Verdict};
use l1forge_config::Config;

/// Knows which L1s hold a line when the miss happens, and takes it from the nearest; a miss of all costs no time.
#[derive(Debug, Clone, Copy)]
pub struct PerfectKnowledge {
    hit_latency: u64,
}

impl PerfectKnowledge {
    /// With the latencies of a C2P hit that waits for nothing.
    pub fn new(c: &Config) -> Self {
        Self { hit_latency: u64::from(c.engine_latency + c.lookup_latency + c.remote_tag_latency + c.return_latency) }
    }
}

impl Sharing for PerfectKnowledge {
    fn name(&self) -> &'static str {
        "oracle"
    }

    fn step(&mut self, now: u64, l1s: &mut L1s) {
        if l1s.waiting() == 0 {
            return;
        }
        for sm in l1s.missing().iter() {
            while let Some(miss) = l1s.peek_miss(sm) {
                let source = if miss.shareable { l1s.nearest(sm, l1s.holders(miss.line)) } else { None };
                if source.is_none() && !l1s.l2_room(sm) {
                    break;
                }
                l1s.take_miss(sm);
                l1s.judge(&miss, if source.is_some() { Verdict::Retained } else { Verdict::Pruned });
                match source {
                    Some(source) => {
                        l1s.count_probes(sm, miss.line, 1);
                        l1s.from_l1(&miss, source, now + self.hit_latency);
                    }
                    None => l1s.to_l2(&miss),
                }
            }
        }
    }

    fn next(&self, _: u64) -> Option<u64> {
        None
    }
}
