//! The C2P-Cache: its cycle-accurate model, or the RTL itself, driven through its ports.

use super::Sharing;
use crate::block::{Block, Signals};
use crate::c2p::signal;
use crate::c2p::{C2pCache, COUNTERS, Reason, SmSet, input, output};
use crate::system::l1s::{L1s, Miss, Verdict};
use crate::system::measures::Measures;
use crate::system::parameters::SystemParameters;
use l1forge_config::Config;
use std::collections::VecDeque;

/// What stands between the block and one SM.
#[derive(Default)]
struct Side {
    /// Misses the block has taken, by id.
    taken: Vec<Option<Miss>>,
    /// Probes: cycle of the answer, tag.
    probes: VecDeque<(u64, u64)>,
    notices: VecDeque<u64>,
    /// Cycles that a probe waits for the port.
    waits: u32,
}

/// The block in the memory path.
pub struct C2p {
    block: Box<dyn Block>,
    inputs: Signals,
    outputs: Signals,
    sides: Vec<Side>,
    /// Rebuilds asked for: SM, tags that are left.
    streams: VecDeque<(usize, VecDeque<u64>)>,
    /// Tags of a beat.
    beat: usize,
    tag_latency: u64,
    return_latency: u64,
    notify_remote: bool,
    probe_wait: u32,
    flush: bool,
    /// SMs with probes to answer, with notices, with a held-up probe.
    probing: SmSet,
    noticing: SmSet,
    waiting: SmSet,
    /// SMs whose tags are asked for.
    streaming: SmSet,
    /// SMs whose oldest miss is on its port.
    shown: SmSet,
    /// Lines the block was told of.
    notices: u64,
}

impl C2p {
    /// With the model of the configuration.
    pub fn new(c: &Config, p: &SystemParameters) -> Self {
        Self::with_block(c, p, Box::new(C2pCache::new(c)))
    }

    /// With a block that has the ports of `c2p_cache` in this configuration and behaves like it.
    pub fn with_block(c: &Config, p: &SystemParameters, block: Box<dyn Block>) -> Self {
        let (inputs, outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        let side = || Side { taken: vec![None; 1 << c.id_bits], ..Side::default() };
        Self {
            beat: inputs.words(input::STREAM_TAG).len() / inputs.ports()[input::STREAM_TAG].words(),
            sides: (0..c.sms).map(|_| side()).collect(),
            streams: VecDeque::new(),
            tag_latency: c.remote_tag_latency.into(),
            return_latency: c.return_latency.into(),
            notify_remote: p.notify_remote_fills,
            probe_wait: p.probe_wait,
            flush: false,
            probing: SmSet::EMPTY,
            noticing: SmSet::EMPTY,
            waiting: SmSet::EMPTY,
            streaming: SmSet::EMPTY,
            shown: SmSet::EMPTY,
            notices: 0,
            block,
            inputs,
            outputs,
        }
    }

    fn drive(&mut self, now: u64, l1s: &L1s) {
        let i = &mut self.inputs;
        i.set(input::ENABLE, 0, 1);
        i.set(input::FLUSH, 0, u64::from(self.flush));
        i.words_mut(input::OUTCOME_READY).fill(1);
        for port in [input::MISS_VALID, input::ANSWER_VALID, input::FILL_VALID] {
            i.words_mut(port).fill(0);
        }
        for sm in l1s.missing().iter() {
            i.set(input::MISS_VALID, sm, 1);
            if self.shown.contains(sm) {
                continue;
            }
            let Some(miss) = l1s.peek_miss(sm) else { continue };
            i.set(input::MISS_TAG, sm, miss.line);
            i.set(input::MISS_ID, sm, miss.id.into());
            i.set(input::MISS_SHAREABLE, sm, u64::from(miss.shareable));
            self.shown.insert(sm);
        }
        for sm in self.probing.iter() {
            if let Some((_, tag)) = self.sides[sm].probes.front().filter(|p| p.0 <= now) {
                i.set(input::ANSWER_VALID, sm, 1);
                i.set(input::ANSWER_HIT, sm, u64::from(l1s.holds(sm, *tag)));
            }
        }
        for sm in self.noticing.iter() {
            i.set(input::FILL_VALID, sm, 1);
            i.set(input::FILL_TAG, sm, self.sides[sm].notices.front().copied().unwrap_or(0));
        }
        for (port, not) in
            [(input::L2_READY, l1s.blocked()), (input::PROBE_READY, l1s.ports_used()), (input::REFRESH_READY, self.streaming)]
        {
            let words = i.words_mut(port);
            words.fill(1);
            not.iter().for_each(|sm| words[sm] = 0);
        }
        let stream = self.streams.front();
        i.set(input::STREAM_VALID, 0, u64::from(stream.is_some()));
        if let Some((sm, tags)) = stream {
            i.set(input::STREAM_SM, 0, *sm as u64);
            i.set(input::STREAM_LAST, 0, u64::from(tags.len() <= self.beat));
            for place in 0..self.beat {
                i.set(input::STREAM_TAG, place, tags.get(place).copied().unwrap_or(0));
                i.set(input::STREAM_KEEP, place, u64::from(place < tags.len()));
            }
        }
    }

    fn observe(&mut self, now: u64, l1s: &mut L1s) {
        let (i, o) = (&self.inputs, &self.outputs);
        let [answered, probe_ready, l2_ready, refresh_ready] =
            [input::ANSWER_VALID, input::PROBE_READY, input::L2_READY, input::REFRESH_READY].map(|port| signal::sms(i, port));
        let [outcome, probe, l2, refresh] =
            [output::OUTCOME_VALID, output::PROBE_VALID, output::L2_VALID, output::REFRESH_VALID].map(|port| signal::sms(o, port));
        let missed = l1s.missing() & signal::sms(o, output::MISS_READY);
        let noticed = self.noticing & signal::sms(o, output::FILL_READY);
        let (probed, asked, refreshed, held_up) = (probe & probe_ready, l2 & l2_ready, refresh & refresh_ready, probe & !probe_ready);
        for sm in (self.waiting & !held_up).iter() {
            self.sides[sm].waits = 0;
        }
        self.waiting = held_up;
        for sm in (answered | probe | noticed | missed | asked | outcome | refreshed).iter() {
            let side = &mut self.sides[sm];
            if answered.contains(sm) {
                side.probes.pop_front();
                if side.probes.is_empty() {
                    self.probing.remove(sm);
                }
            }
            if probed.contains(sm) {
                let tag = o.get(output::PROBE_TAG, sm);
                side.probes.push_back((now + self.tag_latency, tag));
                self.probing.insert(sm);
                l1s.use_port(sm);
                l1s.count_probes(o.get(output::PROBE_REQUESTER, sm) as usize, tag, 1);
            }
            if held_up.contains(sm) {
                side.waits = side.waits.saturating_add(1);
            }
            if noticed.contains(sm) {
                side.notices.pop_front();
                if side.notices.is_empty() {
                    self.noticing.remove(sm);
                }
            }
            if missed.contains(sm)
                && let Some(miss) = l1s.take_miss(sm)
            {
                self.shown.remove(sm);
                l1s.hold(&miss);
                side.taken[miss.id as usize] = Some(miss);
            }
            if asked.contains(sm)
                && let Some(miss) = side.taken[o.get(output::L2_ID, sm) as usize]
            {
                l1s.to_l2(&miss);
            }
            if outcome.contains(sm)
                && let Some(miss) = side.taken[o.get(output::OUTCOME_ID, sm) as usize].take()
            {
                let remote = o.get(output::OUTCOME_REMOTE, sm) != 0;
                let reason = Reason::from_number(o.get(output::OUTCOME_REASON, sm));
                let pruned = !remote && matches!(reason, Some(Reason::NoCandidate | Reason::Disabled));
                l1s.judge(&miss, if pruned { Verdict::Pruned } else { Verdict::Retained });
                if remote {
                    l1s.from_l1(&miss, o.get(output::OUTCOME_SOURCE, sm) as usize, now + self.return_latency);
                }
                l1s.release(sm, miss.id);
            }
            if refreshed.contains(sm) {
                self.streaming.insert(sm);
                self.streams.push_back((sm, l1s.valid_tags(sm).collect()));
            }
        }
        if i.get(input::STREAM_VALID, 0) != 0
            && o.get(output::STREAM_READY, 0) != 0
            && let Some((sm, tags)) = self.streams.front_mut()
        {
            tags.drain(..tags.len().min(self.beat));
            if i.get(input::STREAM_LAST, 0) != 0 {
                self.streaming.remove(*sm);
                self.streams.pop_front();
            }
        }
        for (sm, line, remote) in l1s.installed() {
            if !remote || self.notify_remote {
                self.notices += 1;
                self.sides[sm].notices.push_back(line);
                self.noticing.insert(sm);
            }
        }
        self.flush = false;
    }

    fn counter(&self, name: &str) -> u64 {
        self.counters().iter().find(|c| c.0 == name).map_or(0, |c| c.1)
    }
}

impl Sharing for C2p {
    fn name(&self) -> &'static str {
        "c2p"
    }

    fn admit(&mut self, sm: usize) -> bool {
        self.sides[sm].waits < self.probe_wait
    }

    fn step(&mut self, now: u64, l1s: &mut L1s) {
        self.drive(now, l1s);
        self.block.eval(&self.inputs, &mut self.outputs);
        self.observe(now, l1s);
        self.block.clock(&self.inputs);
    }

    /// Rebuilds never end.
    fn next(&self, now: u64) -> Option<u64> {
        Some(now + 1)
    }

    fn flush(&mut self) {
        self.flush = true;
        self.sides.iter_mut().for_each(|side| side.notices.clear());
        self.noticing = SmSet::EMPTY;
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let counters = COUNTERS.iter().enumerate().map(|(i, name)| (*name, self.outputs.get(output::COUNT_MISSES + i, 0)));
        counters.chain([("notices", self.notices)]).collect()
    }

    fn check(&self, m: &Measures) -> Result<(), String> {
        let bits = self.outputs.ports()[output::COUNT_MISSES].bits;
        let modulo = u64::MAX >> (64 - bits);
        let ends = ["remote_hits", "no_candidate", "all_missed", "busy", "queue_full", "disabled"];
        let ends = ends.iter().fold(0, |sum: u64, name| sum.wrapping_add(self.counter(name)) & modulo);
        let misses = m.l1_misses + m.atomics + m.prefetch.issued;
        let pairs = [
            ("misses of the block = misses of the system", self.counter("misses"), misses & modulo),
            ("misses of the block = outcomes of the block", self.counter("misses"), ends),
            ("remote hits of the block and the system", self.counter("remote_hits"), (m.remote_hits + m.remote_prefetches) & modulo),
            ("probes of the block and the system", self.counter("probes"), m.probes & modulo),
        ];
        for (name, block, system) in pairs {
            if block != system {
                return Err(format!("broken balance: {name}: {block} and {system}"));
            }
        }
        Ok(())
    }
}
