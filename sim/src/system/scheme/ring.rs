//! RING: replicated tags on one slotted ring.

use super::Sharing;
use crate::system::l1s::{L1s, Miss, Verdict};
use crate::system::parameters::SystemParameters;
use l1forge_config::Config;
use std::collections::VecDeque;

/// One ring through all SMs, in the order of their numbers; one place per SM, which moves on by one SM every hop.
#[derive(Debug)]
pub struct Ring {
    hop: u64,
    queue: usize,
    tags: u64,
    remote: u64,
    timeout: u64,
    /// Place at each SM, and hops done.
    places: Vec<Option<(Miss, u64)>>,
    /// Per SM: misses that wait for a free place.
    waiting: Vec<VecDeque<Miss>>,
    /// Per SM: misses of others that it serves, since when, hops done.
    serving: Vec<VecDeque<(u64, Miss, u64)>>,
    /// Per SM: misses that found nobody.
    lost: Vec<VecDeque<(Miss, Verdict)>>,
    full: u64,
    busy: u64,
    on_ring: usize,
}

impl Ring {
    /// With the limits of the parameters.
    pub fn new(c: &Config, p: &SystemParameters) -> Self {
        let n = c.sms as usize;
        Self {
            hop: p.ring_hop.into(),
            queue: p.ring_queue as usize,
            tags: c.remote_tag_latency.into(),
            remote: c.return_latency.into(),
            timeout: c.probe_timeout.into(),
            places: vec![None; n],
            waiting: vec![VecDeque::new(); n],
            serving: vec![VecDeque::new(); n],
            lost: vec![VecDeque::new(); n],
            full: 0,
            busy: 0,
            on_ring: 0,
        }
    }
}

impl Sharing for Ring {
    fn name(&self) -> &'static str {
        "ring"
    }

    fn step(&mut self, now: u64, l1s: &mut L1s) {
        let n = l1s.count();
        if now.is_multiple_of(self.hop) {
            self.places.rotate_right(1);
            for sm in 0..n {
                let Some((miss, hops)) = self.places[sm].take() else { continue };
                let hops = hops + 1;
                if miss.sm == sm {
                    self.lost[sm].push_back((miss, Verdict::Pruned));
                    self.on_ring -= 1;
                } else if l1s.holds(sm, miss.line) {
                    self.serving[sm].push_back((now, miss, hops));
                    self.on_ring -= 1;
                } else {
                    self.places[sm] = Some((miss, hops));
                }
            }
            for sm in 0..n {
                if self.places[sm].is_none()
                    && let Some(miss) = self.waiting[sm].pop_front()
                {
                    self.places[sm] = Some((miss, 0));
                    self.on_ring += 1;
                }
            }
        }
        for sm in 0..n {
            if let Some(&(since, miss, hops)) = self.serving[sm].front() {
                if l1s.port_free(sm) {
                    self.serving[sm].pop_front();
                    l1s.use_port(sm);
                    l1s.count_probes(miss.sm, miss.line, 1);
                    l1s.judge(&miss, Verdict::Retained);
                    let back = (n as u64 - hops) * self.hop;
                    l1s.from_l1(&miss, sm, now + self.tags + self.remote + back);
                } else if now >= since + self.timeout {
                    self.serving[sm].pop_front();
                    self.busy += 1;
                    self.lost[miss.sm].push_back((miss, Verdict::Retained));
                }
            }
            while l1s.l2_room(sm)
                && let Some((miss, verdict)) = self.lost[sm].pop_front()
            {
                l1s.judge(&miss, verdict);
                l1s.to_l2(&miss);
            }
            while let Some(miss) = l1s.peek_miss(sm) {
                if miss.shareable && self.waiting[sm].len() < self.queue {
                    l1s.take_miss(sm);
                    self.waiting[sm].push_back(miss);
                } else if l1s.l2_room(sm) {
                    l1s.take_miss(sm);
                    self.full += u64::from(miss.shareable);
                    l1s.judge(&miss, Verdict::Pruned);
                    l1s.to_l2(&miss);
                } else {
                    break;
                }
            }
        }
    }

    fn next(&self, now: u64) -> Option<u64> {
        let queued = [&self.waiting].into_iter().flatten().any(|q| !q.is_empty());
        let served = self.serving.iter().any(|q| !q.is_empty()) || self.lost.iter().any(|q| !q.is_empty());
        (queued || served || self.on_ring > 0).then_some(now + 1)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("queue_full", self.full), ("busy", self.busy)]
    }
}
