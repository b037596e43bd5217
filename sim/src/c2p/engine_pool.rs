//! The BF engines, and who gets which.

use super::bf_engine::{BfEngine, Encoder};
use super::rr_arbiter::{Kind, RrArbiter};
use super::signal::{self, ports};
use super::sizes::{Indices, Sizes};
use super::sm_set::SmSet;
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;
use std::sync::Arc;

/// Who gets the result of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// A query.
    Miss {
        /// Its SM.
        sm: usize,
        /// Its slot.
        slot: usize,
    },
    /// An update lane.
    Update {
        /// Its number.
        lane: usize,
    },
}

/// What [`EnginePool::arbitrate`] found.
#[derive(Debug, Clone, Default)]
pub struct Arbitration {
    /// SMs whose tags are taken.
    pub miss: SmSet,
    /// Lanes whose tags are taken, a mask.
    pub update: u64,
    /// For each engine, who uses it: an SM or a lane.
    users: Vec<Option<User>>,
    /// Engines that are used.
    used: Vec<usize>,
    /// Arbiters of shared engines that made a pick, and the pick.
    miss_picks: Vec<(usize, usize)>,
    /// The same of the arbiters in front of the reserved engines.
    reserved_picks: Vec<(usize, usize)>,
}

impl Arbitration {
    fn give(&mut self, engine: usize, user: User) {
        self.users[engine] = Some(user);
        self.used.push(engine);
        match user {
            User::Sm(sm) => self.miss.insert(sm),
            User::Lane(lane) => self.update |= 1 << lane,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum User {
    Sm(usize),
    Lane(usize),
}

/// All engines.
#[derive(Debug, Clone)]
pub struct EnginePool {
    sizes: Sizes,
    encoder: Arc<Encoder>,
    engines: Vec<BfEngine<Owner>>,
    /// Engines that hold a tag: most hold none in most cycles.
    working: Vec<usize>,
    /// One per shared engine, over its SMs.
    miss_arbiters: Vec<RrArbiter>,
    /// U ≥ W: one per lane, over its reserved engines; otherwise one per reserved engine, over its lanes.
    reserved_arbiters: Vec<RrArbiter>,
}

impl EnginePool {
    pub fn new(c: &Config, encoder: Arc<Encoder>) -> Self {
        let z = Sizes::new(c);
        let engine = BfEngine::new(c.engine_pipelined, c.engine_latency as usize);
        let arbiter = |n| RrArbiter::new(Kind::Free, n);
        let (few, many) = (z.u.min(z.w), z.u.max(z.w));
        Self {
            engines: vec![engine; z.e],
            working: Vec::new(),
            miss_arbiters: (0..z.m).map(|e| arbiter((e..z.n).step_by(z.m).len())).collect(),
            reserved_arbiters: (0..few).map(|i| arbiter((i..many).step_by(few).len())).collect(),
            sizes: z,
            encoder,
        }
    }

    /// The results of this cycle.
    pub fn results(&self) -> impl Iterator<Item = &(Indices, Owner)> {
        self.working.iter().filter_map(|&engine| self.engines[engine].result())
    }

    /// Gives engines to the SMs `miss` and the lanes `update` (a mask) that ask.
    pub fn arbitrate(&self, miss: SmSet, update: u64, out: &mut Arbitration) {
        let z = &self.sizes;
        out.miss = SmSet::EMPTY;
        out.update = 0;
        out.miss_picks.clear();
        out.reserved_picks.clear();
        out.users.resize(z.e, None);
        for engine in out.used.drain(..) {
            out.users[engine] = None;
        }
        for engine in miss.iter().map(|sm| sm % z.m) {
            if out.users[engine].is_some() || !self.engines[engine].ready() {
                continue;
            }
            let members = (engine..z.n).step_by(z.m).enumerate();
            let asking = members.filter(|(_, sm)| miss.contains(*sm)).map(|(member, _)| member);
            let Some(pick) = self.miss_arbiters[engine].pick(asking) else { continue };
            out.miss_picks.push((engine, pick));
            out.give(engine, User::Sm(engine + pick * z.m));
        }
        if update != 0 {
            self.arbitrate_updates(miss, update, out);
        }
    }

    fn arbitrate_updates(&self, miss: SmSet, update: u64, out: &mut Arbitration) {
        let z = &self.sizes;
        let asks = |lane: usize| update >> lane & 1 == 1;
        // Rule 1: reserved engines.
        if z.u >= z.w {
            for lane in (0..z.w).filter(|&w| asks(w)) {
                let members = (lane..z.u).step_by(z.w).enumerate();
                let ready = members.filter(|(_, u)| self.engines[z.m + u].ready()).map(|(member, _)| member);
                let Some(pick) = self.reserved_arbiters[lane].pick(ready) else { continue };
                out.reserved_picks.push((lane, pick));
                out.give(z.m + lane + pick * z.w, User::Lane(lane));
            }
        } else {
            for reserved in (0..z.u).filter(|&u| self.engines[z.m + u].ready()) {
                let members = (reserved..z.w).step_by(z.u).enumerate();
                let asking = members.filter(|(_, w)| asks(*w)).map(|(member, _)| member);
                let Some(pick) = self.reserved_arbiters[reserved].pick(asking) else { continue };
                out.reserved_picks.push((reserved, pick));
                out.give(z.m + reserved, User::Lane(reserved + pick * z.u));
            }
        }
        // Rule 2: shared engines that no miss wants, the lowest lane first.
        let wanted = |engine: usize| (engine..z.n).step_by(z.m).any(|sm| miss.contains(sm));
        for lane in 0..z.w {
            if !asks(lane) || out.update >> lane & 1 == 1 {
                continue;
            }
            let (first, step) = if z.m >= z.w { (lane, z.w) } else { (lane % z.m, z.m) };
            let free = |&e: &usize| self.engines[e].ready() && out.users[e].is_none() && !wanted(e);
            if let Some(engine) = (first..z.m).step_by(step).find(free) {
                out.give(engine, User::Lane(lane));
            }
        }
    }

    /// End of the cycle of `out`; `miss` and `update` tell tag and slot of an SM, and the tag of a lane.
    pub fn clock(&mut self, out: &Arbitration, miss: impl Fn(usize) -> (u64, usize), update: impl Fn(usize) -> u64) {
        let Self { encoder, engines, working, .. } = self;
        working.extend(out.used.iter().filter(|&&engine| !engines[engine].working()));
        working.retain(|&engine| {
            engines[engine].clock(out.users[engine].map(|user| match user {
                User::Sm(sm) => {
                    let (tag, slot) = miss(sm);
                    (encoder.encode(tag), Owner::Miss { sm, slot })
                }
                User::Lane(lane) => (encoder.encode(update(lane)), Owner::Update { lane }),
            }));
            engines[engine].working()
        });
        for &(arbiter, pick) in &out.miss_picks {
            self.miss_arbiters[arbiter].clock(Some(pick), true);
        }
        for &(arbiter, pick) in &out.reserved_picks {
            self.reserved_arbiters[arbiter].clock(Some(pick), true);
        }
    }
}

ports! { mod i(z: Sizes) {
    MISS_VALID = "miss_valid_i", z.n, 1;
    MISS_TAG = "miss_tag_i", z.n, z.t;
    MISS_SLOT = "miss_slot_i", z.n, z.l;
    UPDATE_VALID = "update_valid_i", z.w, 1;
    UPDATE_TAG = "update_tag_i", z.w, z.t;
} }
ports! { mod o(z: Sizes) {
    MISS_READY = "miss_ready_o", z.n, 1;
    ENCODED_VALID = "encoded_valid_o", z.n, 1;
    ENCODED_SLOT = "encoded_slot_o", z.n, z.l, when "encoded_valid_o";
    ENCODED_INDEX = "encoded_index_o", z.n, z.k * z.x, when "encoded_valid_o";
    UPDATE_READY = "update_ready_o", z.w, 1;
    UPDATE_ENCODED = "update_encoded_o", z.w, 1;
    UPDATE_INDEX = "update_index_o", z.w, z.k * z.x, when "update_encoded_o";
} }

/// [`EnginePool`] as a block.
pub struct EnginePoolBlock {
    sizes: Sizes,
    pool: EnginePool,
    out: Arbitration,
}

impl EnginePoolBlock {
    pub fn new(c: &Config) -> Self {
        let pool = EnginePool::new(c, Arc::new(Encoder::new(c)));
        Self { sizes: Sizes::new(c), pool, out: Arbitration::default() }
    }

    fn arbitrate(&mut self, inputs: &Signals) {
        let miss = signal::sms(inputs, i::MISS_VALID);
        self.pool.arbitrate(miss, signal::mask(inputs, i::UPDATE_VALID), &mut self.out);
    }
}

impl Block for EnginePoolBlock {
    fn name(&self) -> &str {
        "engine_pool"
    }

    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }

    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let Sizes { k, x, .. } = self.sizes;
        self.arbitrate(inputs);
        signal::set_sms(outputs, o::MISS_READY, self.out.miss);
        signal::set_mask(outputs, o::UPDATE_READY, self.out.update);
        for port in [o::ENCODED_VALID, o::UPDATE_ENCODED] {
            outputs.words_mut(port).fill(0);
        }
        for (indices, owner) in self.pool.results() {
            match *owner {
                Owner::Miss { sm, slot } => {
                    outputs.set(o::ENCODED_VALID, sm, 1);
                    outputs.set(o::ENCODED_SLOT, sm, slot as u64);
                    signal::set_indices(outputs, o::ENCODED_INDEX, sm, k, x, indices);
                }
                Owner::Update { lane } => {
                    outputs.set(o::UPDATE_ENCODED, lane, 1);
                    signal::set_indices(outputs, o::UPDATE_INDEX, lane, k, x, indices);
                }
            }
        }
    }

    fn clock(&mut self, inputs: &Signals) {
        self.arbitrate(inputs);
        let miss = |sm| (inputs.get(i::MISS_TAG, sm), inputs.get(i::MISS_SLOT, sm) as usize);
        self.pool.clock(&self.out, miss, |lane| inputs.get(i::UPDATE_TAG, lane));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c2p::tests::config;
    use proptest::prelude::*;

    struct Run {
        block: EnginePoolBlock,
        inputs: Signals,
        outputs: Signals,
    }

    impl Run {
        fn new(sms: usize, shared: usize, reserved: usize, lanes: usize, more: &[&str]) -> Self {
            let sizes = [
                format!("sms={sms}"),
                format!("engines={}", shared + reserved),
                format!("update_engines={reserved}"),
                format!("update_lanes={lanes}"),
            ];
            let sets: Vec<&str> = sizes.iter().map(String::as_str).chain(more.iter().copied()).collect();
            let block = EnginePoolBlock::new(&config(&sets));
            let (mut inputs, outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
            for sm in 0..sms {
                inputs.set(i::MISS_TAG, sm, 1000 + sm as u64);
                inputs.set(i::MISS_SLOT, sm, sm as u64 % 2);
            }
            (0..lanes).for_each(|lane| inputs.set(i::UPDATE_TAG, lane, 2000 + lane as u64));
            Self { block, inputs, outputs }
        }

        /// One cycle with these SMs and lanes asking: who is taken.
        fn cycle(&mut self, sms: &[usize], lanes: &[usize]) -> (Vec<usize>, Vec<usize>) {
            for port in [i::MISS_VALID, i::UPDATE_VALID] {
                self.inputs.words_mut(port).fill(0);
            }
            sms.iter().for_each(|&sm| self.inputs.set(i::MISS_VALID, sm, 1));
            lanes.iter().for_each(|&lane| self.inputs.set(i::UPDATE_VALID, lane, 1));
            self.block.eval(&self.inputs, &mut self.outputs);
            self.block.clock(&self.inputs);
            (self.marked(o::MISS_READY), self.marked(o::UPDATE_READY))
        }

        fn marked(&self, port: usize) -> Vec<usize> {
            (0..self.outputs.words(port).len()).filter(|&e| signal::is(&self.outputs, port, e)).collect()
        }
    }

    #[test]
    fn every_sm_and_lane_has_an_engine_by_default() {
        let mut run = Run::new(3, 3, 3, 3, &[]);
        assert_eq!(run.cycle(&[0, 1, 2], &[0, 1, 2]), (vec![0, 1, 2], vec![0, 1, 2]));
        assert_eq!((run.marked(o::ENCODED_VALID), run.marked(o::UPDATE_ENCODED)), (vec![], vec![]));
        run.cycle(&[], &[]);
        assert_eq!((run.marked(o::ENCODED_VALID), run.marked(o::UPDATE_ENCODED)), (vec![0, 1, 2], vec![0, 1, 2]));
        let encoder = run.block.pool.encoder.clone();
        for n in 0..3 {
            assert_eq!(run.outputs.get(o::ENCODED_SLOT, n), n as u64 % 2);
            let shown = |port| signal::indices(&run.outputs, port, n, 4, 13);
            assert_eq!(shown(o::ENCODED_INDEX), encoder.encode(1000 + n as u64));
            assert_eq!(shown(o::UPDATE_INDEX), encoder.encode(2000 + n as u64));
        }
        run.cycle(&[], &[]);
        assert_eq!((run.marked(o::ENCODED_VALID), run.marked(o::UPDATE_ENCODED)), (vec![], vec![]));
    }

    #[test]
    fn sms_share_an_engine_round_robin() {
        // Shared engine 0 serves SMs 0, 2, 4; engine 1 serves 1, 3.
        let mut run = Run::new(5, 2, 1, 1, &[]);
        let all = [0, 1, 2, 3, 4];
        assert_eq!(run.cycle(&all, &[]).0, [0, 1]);
        assert_eq!(run.cycle(&all, &[]).0, [2, 3]);
        assert_eq!(run.cycle(&[0, 2], &[]).0, [0]);
        assert_eq!(run.cycle(&all, &[]).0, [1, 2]);
    }

    #[test]
    fn lanes_without_a_reserved_engine_use_shared_ones_no_miss_wants() {
        // U = 1 < W = 3. Reserved engine 0: all lanes. Shared engines M = 4 >= W: engine e belongs to lane e mod 3.
        let mut run = Run::new(4, 4, 1, 3, &[]);
        assert_eq!(run.cycle(&[], &[0, 1, 2]).1, [0, 1, 2]); // lane 0 reserved, 1 and 2 shared
        // Lane 1 has the reserved engine now; SM 0 holds engine 0, but engine 3 is lane 0's too.
        assert_eq!(run.cycle(&[0], &[0, 1]), (vec![0], vec![0, 1]));
        // Lane 0's turn (it wraps around): lane 1 finds engine 1 wanted.
        assert_eq!(run.cycle(&[1], &[0, 1]), (vec![1], vec![0]));
        assert_eq!(run.cycle(&[0, 3], &[0, 1, 2]), (vec![0, 3], vec![1, 2]));
    }

    #[test]
    fn few_shared_engines_go_to_the_lowest_lane() {
        // M = 1 < W = 4, U = 2: reserved 0 serves lanes 0 and 2, reserved 1 lanes 1 and 3; all lanes share engine 0.
        let mut run = Run::new(4, 1, 2, 4, &[]);
        assert_eq!(run.cycle(&[], &[0, 1, 2, 3]).1, [0, 1, 2]);
        assert_eq!(run.cycle(&[], &[0, 1, 2, 3]).1, [0, 2, 3]);
        assert_eq!(run.cycle(&[2], &[0, 1, 2, 3]), (vec![2], vec![0, 1]));
        assert_eq!(run.cycle(&[], &[3]).1, [3]);
    }

    #[test]
    fn engines_that_are_not_pipelined_are_busy() {
        // U = 2 >= W = 1: the lane uses both reserved engines in turn, then the shared one, when no miss wants it.
        let mut run = Run::new(2, 1, 2, 1, &["engine_pipelined=false", "engine_latency=4"]);
        assert_eq!(run.cycle(&[], &[0]).1, [0]);
        assert_eq!(run.cycle(&[], &[0]).1, [0]);
        assert_eq!(run.cycle(&[1], &[0]), (vec![1], vec![])); // the miss has the shared engine
        assert_eq!(run.cycle(&[0, 1], &[0]), (vec![], vec![]));
        assert_eq!(run.marked(o::UPDATE_ENCODED), [0]); // first tag, 3 cycles later
        assert_eq!(run.cycle(&[0, 1], &[0]), (vec![], vec![0])); // reserved engine 0 again
        assert_eq!(run.cycle(&[0, 1], &[]), (vec![], vec![]));
        assert_eq!(run.marked(o::ENCODED_VALID), [1]);
        assert_eq!(run.cycle(&[0, 1], &[]).0, [0]);
        // A busy shared engine is given to nobody; an idle, wanted one is not given to an update.
        let mut run = Run::new(2, 1, 1, 1, &["engine_pipelined=false"]);
        assert_eq!(run.cycle(&[], &[0]).1, [0]);
        assert_eq!(run.cycle(&[], &[0]).1, [0]); // the shared one
        assert_eq!(run.cycle(&[0], &[0]), (vec![], vec![0])); // shared busy, reserved ready
        assert_eq!(run.cycle(&[0], &[0]), (vec![0], vec![]));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        /// Grants only to those who ask; every result comes back, once, to its owner, in time; no free shared engine goes to an
        /// update while an SM attached to it asks (invariant 8); an update that keeps asking is served.
        #[test]
        fn no_engine_is_wasted_or_taken_twice(
            (sms, shared, reserved, lanes) in (2..9_usize, 1..9_usize, 1..9_usize, 1..9_usize),
            (pipelined, latency) in (any::<bool>(), 2..6_usize),
            cycles in prop::collection::vec((any::<u16>(), any::<u16>()), 1..60),
        ) {
            let shared = shared.min(sms);
            let timing = [format!("engine_pipelined={pipelined}"), format!("engine_latency={latency}")];
            let mut run = Run::new(sms, shared, reserved, lanes, &[&timing[0], &timing[1]]);
            let engines = shared + reserved;
            let mut history: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
            let (mut waiting_sms, mut waiting_lanes) = (vec![0; sms], vec![0; lanes]);
            for (t, (miss, update)) in cycles.iter().enumerate() {
                let asking: Vec<_> = (0..sms).filter(|sm| miss >> sm & 1 == 1 || waiting_sms[*sm] > 0).collect();
                let updating: Vec<_> = (0..lanes).filter(|lane| update >> lane & 1 == 1 || waiting_lanes[*lane] > 0).collect();
                let (taken, updated) = run.cycle(&asking, &updating);
                prop_assert!(taken.iter().all(|sm| asking.contains(sm)) && updated.iter().all(|lane| updating.contains(lane)));
                let busy: usize = if pipelined { 0 } else { history.iter().rev().take(latency - 1).map(|h| h.0.len() + h.1.len()).sum() };
                prop_assert!(taken.len() + updated.len() + busy <= engines);
                for sm in &asking {
                    waiting_sms[*sm] = if taken.contains(sm) { 0 } else { waiting_sms[*sm] + 1 };
                    // Its SMs take turns; an update may hold the engine once.
                    let group = sms.div_ceil(shared);
                    let bound = if pipelined { group - 1 } else { group * latency };
                    prop_assert!(waiting_sms[*sm] <= bound);
                }
                for lane in &updating {
                    waiting_lanes[*lane] = if updated.contains(lane) { 0 } else { waiting_lanes[*lane] + 1 };
                    let group = lanes.div_ceil(reserved);
                    let bound = if pipelined { group - 1 } else { group * latency };
                    prop_assert!(waiting_lanes[*lane] <= bound);
                }
                // Invariant 8, and no engine is left idle that an SM could use.
                for engine in 0..shared {
                    let wanted = asking.iter().any(|sm| sm % shared == engine);
                    let served = taken.iter().filter(|sm| **sm % shared == engine).count();
                    let updating = matches!(run.block.out.users[engine], Some(User::Lane(_)));
                    prop_assert!(!(wanted && updating));
                    prop_assert!(!pipelined || served == usize::from(wanted));
                }
                history.push((taken, updated));
                let none = (Vec::new(), Vec::new());
                let due = t.checked_sub(latency - 1).map_or(&none, |at| &history[at]);
                prop_assert_eq!((run.marked(o::ENCODED_VALID), run.marked(o::UPDATE_ENCODED)), due.clone());
            }
        }
    }
}
