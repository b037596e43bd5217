//! `c2p_cache` in its environment: L1s, L2 and misses around the design, the model in lockstep, the oracle beside.

use crate::block::{BlockModel, Wiring};
use crate::lockstep::Testbench;
use crate::ports::{Interface, Values};
use l1forge_config::Config;
use l1forge_sim::block::{Block, Port, Signals};
use l1forge_sim::c2p::environment::{Environment, Profile, Source};
use l1forge_sim::c2p::oracle::Oracle;
use l1forge_sim::c2p::{C2pCache, COUNTERS};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

/// The model of the top, shared between lockstep and oracle.
#[derive(Clone)]
pub struct Shared(Rc<RefCell<C2pCache>>);

impl Block for Shared {
    fn name(&self) -> &str {
        "c2p_cache"
    }
    fn inputs(&self) -> Vec<Port> {
        self.0.borrow().inputs()
    }
    fn outputs(&self) -> Vec<Port> {
        self.0.borrow().outputs()
    }
    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        self.0.borrow_mut().eval(inputs, outputs);
    }
    fn clock(&mut self, inputs: &Signals) {
        self.0.borrow_mut().clock(inputs);
    }
}

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// When every SM has finished its accesses.
    Finished,
    /// The SMs stop after so many cycles; then what is in flight ends.
    Cycles(u64),
    /// The SMs stop after so many misses; then what is in flight ends.
    Misses(u64),
}

/// Cycles after which a run that does not come to an end is given up.
const PATIENCE: u64 = 2_000_000;

/// Environment and oracle as a test bench.
pub struct TopBench {
    wiring: Wiring,
    inputs: Signals,
    outputs: Signals,
    environment: Environment,
    oracle: Oracle,
    model: Shared,
    end: End,
    stopped_at: Option<u64>,
    done: bool,
    /// Inputs, outputs and notes that the oracle sees after the clock edge.
    pending: bool,
    model_counts: [u64; COUNTERS.len()],
    kernels: Vec<Kernel>,
    /// State of the counts at the start of the current kernel.
    before: Kernel,
    perfect_hits: u64,
    progress: Box<dyn FnMut(u64, u64)>,
}

/// What happened between two kernel boundaries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kernel {
    /// Misses that the design accepted.
    pub misses: u64,
    /// Misses served by another L1.
    pub remote_hits: u64,
    /// Misses whose line some other L1 held when the miss was accepted: what perfect knowledge would find.
    pub perfect_hits: u64,
}

impl TopBench {
    /// The environment before the first cycle.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Calls `f(cycles, misses)` now and then.
    #[must_use]
    pub fn on_progress(mut self, f: impl FnMut(u64, u64) + 'static) -> Self {
        self.progress = Box::new(f);
        self
    }

    /// The counters of the design, as last seen.
    pub fn rtl_counters(&self) -> Vec<(&'static str, u64)> {
        COUNTERS.iter().map(|name| (*name, self.outputs.get(self.outputs.index(&format!("count_{name}_o")), 0))).collect()
    }

    /// The counters of the model in the same cycle.
    pub fn model_counters(&self) -> Vec<(&'static str, u64)> {
        COUNTERS.iter().copied().zip(self.model_counts).collect()
    }

    /// Counts of each kernel, in order.
    pub fn kernels(&self) -> Vec<Kernel> {
        let mut kernels = self.kernels.clone();
        let last = self.since_boundary();
        if last.misses > 0 || kernels.is_empty() {
            kernels.push(last); // otherwise the boundary was the end
        }
        kernels
    }

    fn since_boundary(&self) -> Kernel {
        let counters = self.model_counters();
        let counter = |name: &str| counters.iter().find(|c| c.0 == name).map_or(0, |c| c.1);
        // The counters wrap.
        let modulo = u64::MAX >> (64 - self.outputs.ports()[self.outputs.index("count_misses_o")].bits);
        Kernel {
            misses: counter("misses").wrapping_sub(self.before.misses) & modulo,
            remote_hits: counter("remote_hits").wrapping_sub(self.before.remote_hits) & modulo,
            perfect_hits: self.perfect_hits - self.before.perfect_hits,
        }
    }

    /// Notes kernel boundaries and what perfect knowledge would find.
    fn count(&mut self) {
        if self.inputs.get(self.inputs.index("flush_i"), 0) != 0 {
            let kernel = self.since_boundary();
            self.kernels.push(kernel);
            self.before.misses = self.before.misses.wrapping_add(kernel.misses);
            self.before.remote_hits = self.before.remote_hits.wrapping_add(kernel.remote_hits);
            self.before.perfect_hits += kernel.perfect_hits;
        }
        let (valid, tag) = (self.inputs.index("miss_valid_i"), self.inputs.index("miss_tag_i"));
        let ready = self.outputs.index("miss_ready_o");
        let sms = self.inputs.words(valid).len();
        for sm in (0..sms).filter(|&sm| self.inputs.get(valid, sm) & self.outputs.get(ready, sm) != 0) {
            let tag = self.inputs.get(tag, sm);
            self.perfect_hits += u64::from((0..sms).any(|other| other != sm && self.environment.holds(other, tag)));
        }
    }

    /// The run came to its end with nothing in flight.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Gives the cycle that has just been clocked to the oracle.
    fn judge(&mut self) -> Result<(), String> {
        if std::mem::take(&mut self.pending) {
            let model = self.model.0.borrow();
            self.oracle.check(&self.inputs, &self.outputs, self.environment.notes(), model.tap());
        }
        match self.oracle.violations().first() {
            Some(v) => Err(v.to_string()),
            None => Ok(()),
        }
    }
}

impl Testbench for TopBench {
    fn drive(&mut self, cycle: u64, _previous: &Values, inputs: &mut Values) -> ControlFlow<()> {
        // The last cycle is judged by `finish`, which also reports what `judge` finds here.
        if self.done || self.judge().is_err() {
            return ControlFlow::Break(());
        }
        let misses = self.environment.activity().misses;
        if cycle.is_multiple_of(1024) {
            (self.progress)(cycle, misses);
        }
        let stop = match self.end {
            End::Finished => false,
            End::Cycles(n) => cycle >= n,
            End::Misses(n) => misses >= n,
        };
        if stop && self.stopped_at.is_none() {
            self.environment.stop();
            self.stopped_at = Some(cycle);
        }
        // One more cycle after the end shows the counters of the last event.
        self.done = self.environment.is_done();
        if !self.done && cycle > PATIENCE + self.stopped_at.unwrap_or(0) {
            return ControlFlow::Break(());
        }
        self.environment.drive(&mut self.inputs);
        self.wiring.write_inputs(&self.inputs, inputs);
        ControlFlow::Continue(())
    }

    fn observe(&mut self, _cycle: u64, _inputs: &Values, outputs: &Values) -> Result<(), String> {
        self.wiring.read_outputs(outputs, &mut self.outputs);
        self.model_counts = *self.model.0.borrow().counters();
        self.count();
        self.environment.observe(&self.inputs, &self.outputs);
        self.pending = true;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        if self.done && self.oracle.violations().is_empty() {
            // The outputs of the last cycle, which is not judged yet, show the counts of all cycles before it.
            self.oracle.finish(&self.outputs);
        }
        self.judge()?;
        if self.done { Ok(()) } else { Err(format!("the run did not come to an end: {} misses in flight", self.environment.in_flight())) }
    }
}

/// Model and test bench of one run.
pub fn bench(
    config: &Config,
    interface: &Arc<Interface>,
    profile: Profile,
    source: Box<dyn Source>,
    seed: u64,
    end: End,
) -> (BlockModel<Shared>, TopBench) {
    let mut model = C2pCache::new(config);
    model.enable_tap();
    let model = Shared(Rc::new(RefCell::new(model)));
    let bench = TopBench {
        wiring: Wiring::new(config, interface, &model),
        inputs: Signals::new(&model.inputs()),
        outputs: Signals::new(&model.outputs()),
        environment: Environment::new(config, profile, source, seed),
        oracle: Oracle::new(config),
        model: model.clone(),
        end,
        stopped_at: None,
        done: false,
        pending: false,
        model_counts: [0; COUNTERS.len()],
        kernels: Vec::new(),
        before: Kernel::default(),
        perfect_hits: 0,
        progress: Box::new(|_, _| {}),
    };
    (BlockModel::new(config, interface, model), bench)
}
