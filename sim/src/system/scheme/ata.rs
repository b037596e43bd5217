//! ATA: aggregated tags in clusters.

use super::Sharing;
use crate::c2p::SmSet;
use crate::system::l1s::{L1s, Miss, Verdict};
use crate::system::parameters::SystemParameters;
use l1forge_config::Config;
use std::collections::VecDeque;

/// Clusters of SMs with one aggregated tag array each.
#[derive(Debug)]
pub struct Ata {
    cluster: usize,
    lookups: u32,
    queue: usize,
    latency: u64,
    remote: u64,
    timeout: u64,
    /// Lookups used in this cycle, per cluster.
    used: Vec<u32>,
    /// Misses whose lookup is done in the given cycle, per cluster.
    waiting: Vec<VecDeque<(u64, Miss)>>,
    full: u64,
    busy: u64,
}

impl Ata {
    /// With the clusters and limits of the parameters.
    pub fn new(c: &Config, p: &SystemParameters) -> Self {
        let clusters = (c.sms as usize).div_ceil(p.cluster as usize);
        Self {
            cluster: p.cluster as usize,
            lookups: p.ata_lookups,
            queue: p.ata_queue as usize,
            latency: p.ata_latency.into(),
            remote: u64::from(c.remote_tag_latency + c.return_latency),
            timeout: c.probe_timeout.into(),
            used: vec![0; clusters],
            waiting: vec![VecDeque::new(); clusters],
            full: 0,
            busy: 0,
        }
    }
}

/// SMs of a cluster.
pub(super) fn members(cluster: usize, size: usize, sms: usize) -> std::ops::Range<usize> {
    cluster * size..((cluster + 1) * size).min(sms)
}

impl Sharing for Ata {
    fn name(&self) -> &'static str {
        "ata"
    }

    fn admit(&mut self, sm: usize) -> bool {
        let used = &mut self.used[sm / self.cluster];
        let room = *used < self.lookups;
        *used += u32::from(room);
        room
    }

    fn step(&mut self, now: u64, l1s: &mut L1s) {
        self.used.fill(0);
        let n = l1s.count();
        for (cluster, waiting) in self.waiting.iter_mut().enumerate() {
            let sms = members(cluster, self.cluster, n);
            // The tags say exactly who holds the line; the data comes when that L1 has a free cycle.
            for _ in 0..waiting.len() {
                let Some((due, miss)) = waiting.pop_front() else { break };
                if due > now {
                    waiting.push_back((due, miss));
                    continue;
                }
                let peers: SmSet = sms.clone().collect();
                let source = l1s.nearest(miss.sm, l1s.holders(miss.line) & peers).filter(|_| miss.shareable);
                match source {
                    Some(source) if l1s.port_free(source) => {
                        l1s.use_port(source);
                        l1s.judge(&miss, Verdict::Retained);
                        l1s.from_l1(&miss, source, now + self.remote);
                    }
                    Some(_) if now < due + self.timeout => waiting.push_back((due, miss)),
                    _ if l1s.l2_room(miss.sm) => {
                        self.busy += u64::from(source.is_some());
                        l1s.judge(&miss, if source.is_some() { Verdict::Retained } else { Verdict::Pruned });
                        l1s.to_l2(&miss);
                    }
                    _ => waiting.push_back((due, miss)),
                }
            }
            for sm in sms.clone() {
                while let Some(miss) = l1s.peek_miss(sm) {
                    if waiting.len() < self.queue {
                        l1s.take_miss(sm);
                        if miss.shareable {
                            l1s.count_probes(sm, miss.line, sms.len() - 1);
                        }
                        waiting.push_back((now + self.latency, miss));
                    } else if l1s.l2_room(sm) {
                        l1s.take_miss(sm);
                        self.full += 1;
                        l1s.judge(&miss, Verdict::Pruned);
                        l1s.to_l2(&miss);
                    } else {
                        break;
                    }
                }
            }
        }
    }

    fn next(&self, now: u64) -> Option<u64> {
        self.waiting.iter().any(|w| !w.is_empty()).then_some(now + 1)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("queue_full", self.full), ("busy", self.busy)]
    }
}
