//! CCD: predicted broadcast in clusters.

use super::Sharing;
use super::ata::members;
use crate::c2p::SmSet;
use crate::system::l1s::{L1s, Miss, Verdict};
use crate::system::parameters::SystemParameters;
use l1forge_config::Config;
use std::collections::VecDeque;

/// Counters of an SM.
const ENTRIES: usize = 64;

/// Clusters of SMs in which a miss is broadcast when a two-bit counter says that it pays.
#[derive(Debug)]
pub struct Ccd {
    cluster: usize,
    broadcast: u64,
    queue: usize,
    sample: u64,
    tags: u64,
    remote: u64,
    /// Per SM: counters, 0..=3; 2 and more: broadcast. They start at 2.
    counters: Vec<[u8; ENTRIES]>,
    pruned: u64,
    /// Per cluster: broadcasts that wait for the bus.
    waiting: Vec<VecDeque<Miss>>,
    /// Per cluster: broadcasts whose peers answer in the given cycle, and which of them hold the line.
    asked: Vec<VecDeque<(u64, Miss)>>,
    full: u64,
    broadcasts: u64,
}

impl Ccd {
    /// With the clusters and limits of the parameters.
    pub fn new(c: &Config, p: &SystemParameters) -> Self {
        let clusters = (c.sms as usize).div_ceil(p.cluster as usize);
        Self {
            cluster: p.cluster as usize,
            broadcast: p.ccd_broadcast_latency.into(),
            queue: p.ccd_queue as usize,
            sample: p.ccd_sample.into(),
            tags: c.remote_tag_latency.into(),
            remote: c.return_latency.into(),
            counters: vec![[2; ENTRIES]; c.sms as usize],
            pruned: 0,
            waiting: vec![VecDeque::new(); clusters],
            asked: vec![VecDeque::new(); clusters],
            full: 0,
            broadcasts: 0,
        }
    }

    fn entry(miss: &Miss) -> usize {
        (miss.pc >> 4) as usize % ENTRIES
    }

    fn predicts(&mut self, miss: &Miss) -> bool {
        if self.counters[miss.sm][Self::entry(miss)] >= 2 {
            return true;
        }
        self.pruned += 1;
        self.sample > 0 && self.pruned.is_multiple_of(self.sample)
    }
}

impl Sharing for Ccd {
    fn name(&self) -> &'static str {
        "ccd"
    }

    fn step(&mut self, now: u64, l1s: &mut L1s) {
        let n = l1s.count();
        for cluster in 0..self.waiting.len() {
            let sms = members(cluster, self.cluster, n);
            let peers: SmSet = sms.clone().collect();
            while let Some(&(due, miss)) = self.asked[cluster].front()
                && due <= now
            {
                let source = l1s.nearest(miss.sm, l1s.holders(miss.line) & peers);
                if source.is_none() && !l1s.l2_room(miss.sm) {
                    break;
                }
                self.asked[cluster].pop_front();
                let counter = &mut self.counters[miss.sm][Self::entry(&miss)];
                *counter = if source.is_some() { (*counter + 1).min(3) } else { counter.saturating_sub(1) };
                match source {
                    Some(source) => l1s.from_l1(&miss, source, now + self.remote),
                    None => l1s.to_l2(&miss),
                }
            }
            // One broadcast a cycle; every peer looks the line up, whatever its own SM does.
            if let Some(miss) = self.waiting[cluster].pop_front() {
                sms.clone().filter(|sm| *sm != miss.sm).for_each(|sm| l1s.use_port(sm));
                l1s.count_probes(miss.sm, miss.line, sms.len() - 1);
                self.broadcasts += 1;
                self.asked[cluster].push_back((now + self.broadcast + self.tags, miss));
            }
            for sm in sms.clone() {
                while let Some(miss) = l1s.peek_miss(sm) {
                    if !l1s.l2_room(sm) {
                        break;
                    }
                    l1s.take_miss(sm);
                    let worth = miss.shareable && sms.len() > 1 && self.predicts(&miss);
                    l1s.judge(&miss, if worth { Verdict::Retained } else { Verdict::Pruned });
                    if worth && self.waiting[cluster].len() < self.queue {
                        self.waiting[cluster].push_back(miss);
                    } else {
                        self.full += u64::from(worth);
                        l1s.to_l2(&miss);
                    }
                }
            }
        }
    }

    fn next(&self, now: u64) -> Option<u64> {
        let waiting = self.waiting.iter().any(|w| !w.is_empty()).then_some(now + 1);
        self.asked.iter().filter_map(|a| a.front()).map(|a| a.0.max(now + 1)).chain(waiting).min()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("queue_full", self.full), ("broadcasts", self.broadcasts)]
    }
}
