//! The C2P-Cache: its cycle-accurate model, or the RTL itself, driven through its ports.

use super::Sharing;
use crate::block::{Block, Signals};
use crate::c2p::{Beat, C2pCache, COUNTERS, Inputs, Outcome, Outputs, ProbeRequest, Reason, SmSet};
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

/// What is driven.
enum Device {
    /// The model, by its sets.
    Model(Box<C2pCache>),
    /// Any block with the same ports, by these.
    Block(Box<dyn Block>, Signals, Signals),
}

impl Device {
    fn show(&mut self, i: &mut Inputs, o: &mut Outputs) {
        match self {
            Self::Model(model) => model.show(i, o),
            Self::Block(block, inputs, outputs) => {
                i.write(inputs);
                block.eval(inputs, outputs);
                o.read(outputs);
            }
        }
    }

    /// The clock edge after [`Device::show`] with the same inputs.
    fn step(&mut self, i: &Inputs) {
        match self {
            Self::Model(model) => model.step(i),
            Self::Block(block, inputs, _) => block.clock(inputs),
        }
    }
}

/// The block in the memory path.
pub struct C2p {
    device: Device,
    inputs: Inputs,
    outputs: Outputs,
    all: SmSet,
    counter_bits: u32,
    sides: Vec<Side>,
    /// Rebuilds asked for: SM, tags that are left.
    streams: VecDeque<(usize, VecDeque<u64>)>,
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
        Self::with_device(c, p, Device::Model(Box::new(C2pCache::new(c))))
    }

    /// With a block that has the ports of `c2p_cache` in this configuration and behaves like it.
    pub fn with_block(c: &Config, p: &SystemParameters, block: Box<dyn Block>) -> Self {
        let (inputs, outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        Self::with_device(c, p, Device::Block(block, inputs, outputs))
    }

    fn with_device(c: &Config, p: &SystemParameters, device: Device) -> Self {
        let side = || Side { taken: vec![None; 1 << c.id_bits], ..Side::default() };
        Self {
            device,
            inputs: Inputs { enable: true, outcome_ready: SmSet::first_n(c.sms as usize), ..Inputs::new(c) },
            outputs: Outputs::new(c),
            all: SmSet::first_n(c.sms as usize),
            counter_bits: c.counter_bits,
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
        }
    }

    fn drive(&mut self, now: u64, l1s: &L1s) {
        let i = &mut self.inputs;
        i.flush = self.flush;
        i.miss_valid = l1s.missing();
        for sm in (i.miss_valid & !self.shown).iter() {
            let Some(miss) = l1s.peek_miss(sm) else { continue };
            (i.miss_tag[sm], i.miss_id[sm]) = (miss.line, miss.id.into());
            i.miss_shareable.set(sm, miss.shareable);
            self.shown.insert(sm);
        }
        i.answer_valid = SmSet::EMPTY;
        for sm in self.probing.iter() {
            if let Some((_, tag)) = self.sides[sm].probes.front().filter(|p| p.0 <= now) {
                i.answer_valid.insert(sm);
                i.answer_hit.set(sm, l1s.holds(sm, *tag));
            }
        }
        i.fill_valid = self.noticing;
        for sm in self.noticing.iter() {
            i.fill_tag[sm] = self.sides[sm].notices.front().copied().unwrap_or(0);
        }
        i.l2_ready = self.all & !l1s.blocked();
        i.probe_ready = self.all & !l1s.ports_used();
        i.refresh_ready = self.all & !self.streaming;
        i.stream = self.streams.front().map(|(sm, tags)| {
            let beat = i.stream_tag.len();
            for (place, tag) in i.stream_tag.iter_mut().enumerate() {
                *tag = tags.get(place).copied().unwrap_or(0);
            }
            let keep = (0..tags.len().min(beat)).fold(0, |keep, place| keep | 1 << place);
            Beat { sm: *sm, keep, last: tags.len() <= beat }
        });
    }

    fn observe(&mut self, now: u64, l1s: &mut L1s) {
        let (i, o) = (&self.inputs, &self.outputs);
        let missed = i.miss_valid & o.miss_ready;
        let noticed = i.fill_valid & o.fill_ready;
        let (answered, outcome, probe) = (i.answer_valid, o.outcome_valid, o.probe_valid);
        let (probed, held_up) = (probe & i.probe_ready, probe & !i.probe_ready);
        let (asked, refreshed) = (o.l2_valid & i.l2_ready, o.refresh_valid & i.refresh_ready);
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
                let ProbeRequest { tag, requester } = o.probe[sm];
                side.probes.push_back((now + self.tag_latency, tag));
                self.probing.insert(sm);
                l1s.use_port(sm);
                l1s.count_probes(requester, tag, 1);
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
                && let Some(miss) = side.taken[o.l2[sm].id as usize]
            {
                l1s.to_l2(&miss);
            }
            if outcome.contains(sm)
                && let Outcome { id, remote, source, reason } = o.outcome[sm]
                && let Some(miss) = side.taken[id as usize].take()
            {
                let pruned = !remote && matches!(Reason::from_number(reason), Some(Reason::NoCandidate | Reason::Disabled));
                l1s.judge(&miss, if pruned { Verdict::Pruned } else { Verdict::Retained });
                if remote {
                    l1s.from_l1(&miss, source as usize, now + self.return_latency);
                }
                l1s.release(sm, miss.id);
            }
            if refreshed.contains(sm) {
                self.streaming.insert(sm);
                self.streams.push_back((sm, l1s.valid_tags(sm).collect()));
            }
        }
        if let Some(beat) = i.stream
            && o.stream_ready
            && let Some((sm, tags)) = self.streams.front_mut()
        {
            tags.drain(..tags.len().min(i.stream_tag.len()));
            if beat.last {
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
        self.device.show(&mut self.inputs, &mut self.outputs);
        self.observe(now, l1s);
        self.device.step(&self.inputs);
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
        let counters = COUNTERS.iter().copied().zip(self.outputs.counters);
        counters.chain([("notices", self.notices)]).collect()
    }

    fn check(&self, m: &Measures) -> Result<(), String> {
        let modulo = u64::MAX >> (64 - self.counter_bits);
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
