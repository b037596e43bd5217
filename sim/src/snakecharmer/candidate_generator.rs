//! Turns a load and its pattern into candidates, one per cycle.

use super::sizes::{Limits, Sizes, ones, signed};
use super::tail_table::{Read, Stride};
use crate::block::{Block, Port, Signals};
use crate::c2p::signal::ports;
use l1forge_config::Config;

/// A load that proposes prefetches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Trigger {
    /// Its warp.
    pub warp: u64,
    /// Its pattern.
    pub pattern: u64,
    /// Its line.
    pub line: u64,
    /// Its sectors.
    pub mask: u64,
}

/// A prefetch that is proposed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Candidate {
    /// Line.
    pub line: u64,
    /// Sectors.
    pub mask: u64,
    /// Pattern it comes from.
    pub pattern: u64,
    /// 0 intra-warp, 1 inter-PC, 2 inter-warp.
    pub kind: u64,
    /// Distance.
    pub distance: u64,
    /// Training confidence.
    pub confidence: u64,
    /// Warp of the load.
    pub warp: u64,
    /// PC of the load.
    pub pc: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Looks for a kind that is trained, from `kind` on; with none it takes a trigger.
    Pick,
    Emit,
}

/// No kind is left.
const NONE: u64 = 3;

/// The generator.
#[derive(Debug, Clone)]
pub struct CandidateGenerator {
    state: State,
    kind: u64,
    trigger: Trigger,
    pc: u64,
    best: i64,
    j: i64,
    current: u64,
    reached: u64,
    hop: i64,
    least: u64,
    degree: i64,
    limits: Limits,
    t: u32,
}

impl CandidateGenerator {
    pub fn new(c: &Config) -> Self {
        Self {
            state: State::Pick,
            kind: NONE,
            trigger: Trigger::default(),
            pc: 0,
            best: 0,
            j: 0,
            current: 0,
            reached: 0,
            hop: 0,
            least: 0,
            degree: c.sc_degree.into(),
            limits: Limits::new(c),
            t: c.tag_bits(),
        }
    }

    /// The kind at hand: in `Pick` the first trained one, [`NONE`] without.
    fn at_hand(&self, read: &Read) -> u64 {
        let trained = |kind: u64| match kind {
            0 => read.intra.confidence > 0 && read.intra.stride != 0,
            1 => read.link.confidence > 0,
            _ => read.warp.confidence > 0 && read.warp.stride != 0,
        };
        if self.state == State::Emit { self.kind } else { (self.kind..NONE).find(|&k| trained(k)).unwrap_or(NONE) }
    }

    /// Nothing is left of the last trigger, whatever is read.
    pub fn idle(&self) -> bool {
        self.state == State::Pick && self.kind == NONE
    }

    /// A trigger is taken; with what was read of the pattern.
    pub fn ready(&self, read: &Read) -> bool {
        self.state == State::Pick && self.at_hand(read) == NONE
    }

    /// The pattern it wants to read.
    pub fn read_pattern(&self) -> u64 {
        if self.state == State::Emit && self.kind == 1 { self.current } else { self.trigger.pattern }
    }

    /// Kind and warp whose best distance it wants; the PC is that of the pattern read.
    pub fn best_of(&self, read: &Read) -> (u64, u64) {
        (self.at_hand(read).min(2), self.trigger.warp)
    }

    fn stride(&self, read: &Read) -> Stride {
        [read.intra, read.link, read.warp][self.kind as usize]
    }

    fn step(&self, from: u64, times: i64, stride: i64) -> u64 {
        from.wrapping_add(times.wrapping_mul(stride) as u64) & ones(self.t)
    }

    /// Distance at hand, whether or not it is legal.
    fn distance(&self) -> i64 {
        if self.kind == 1 {
            return self.hop;
        }
        let deviation = (self.j + 1) / 2;
        if self.j % 2 == 1 { self.best + deviation } else { self.best - deviation }
    }

    /// Last distance of a chain.
    fn farthest(&self) -> i64 {
        self.best + self.degree / 2
    }

    /// What is offered, with what was read of the pattern.
    pub fn candidate(&self, read: &Read) -> Option<Candidate> {
        if self.state != State::Emit {
            return None;
        }
        let (distance, stride) = (self.distance(), self.stride(read));
        let (line, confidence, legal) = if self.kind == 1 {
            let legal = stride.confidence > 0 && distance >= self.best - (self.degree - 1) / 2 && distance <= self.farthest();
            (self.step(self.reached, 1, stride.stride), self.least.min(stride.confidence), legal)
        } else {
            let legal = (1..=self.limits.of(self.kind) as i64).contains(&distance);
            (self.step(self.trigger.line, distance, stride.stride), stride.confidence, legal)
        };
        legal.then_some(Candidate {
            line,
            mask: self.trigger.mask,
            pattern: self.trigger.pattern,
            kind: self.kind,
            distance: distance as u64,
            confidence,
            warp: self.trigger.warp,
            pc: self.pc,
        })
    }

    fn next_kind(&mut self) {
        (self.kind, self.state) = (self.kind + 1, State::Pick);
    }

    /// End of the cycle: the trigger offered, what was read, the best distance, whether the candidate was taken.
    pub fn clock(&mut self, trigger: Option<Trigger>, read: &Read, best: u64, taken: bool) {
        match self.state {
            State::Pick => {
                self.kind = self.at_hand(read);
                if self.kind != NONE {
                    (self.best, self.pc, self.j) = (best as i64, read.pc, 0);
                    (self.current, self.reached, self.hop, self.least) = (self.trigger.pattern, self.trigger.line, 1, 3);
                    self.state = State::Emit;
                } else if let Some(trigger) = trigger {
                    (self.trigger, self.kind) = (trigger, 0);
                }
            }
            State::Emit => {
                let waits = self.candidate(read).is_some() && !taken;
                if self.kind == 1 {
                    self.walk(read, waits);
                } else if !waits {
                    if self.j == self.degree - 1 {
                        self.next_kind();
                    } else {
                        self.j += 1;
                    }
                }
            }
        }
    }

    fn walk(&mut self, read: &Read, waits: bool) {
        if read.link.confidence == 0 {
            self.next_kind();
        } else if !waits {
            if self.hop >= self.farthest() || self.hop >= self.limits.of(1) as i64 {
                self.next_kind();
            } else {
                self.hop += 1;
                self.reached = self.step(self.reached, 1, read.link.stride);
                self.current = read.link_pattern;
                self.least = self.least.min(read.link.confidence);
            }
        }
    }
}

ports! { mod i(z: Sizes) {
    TRIGGER_VALID = "trigger_valid_i", 1, 1;
    TRIGGER_WARP = "trigger_warp_i", 1, z.w;
    TRIGGER_PATTERN = "trigger_pattern_i", 1, z.p;
    TRIGGER_LINE = "trigger_line_i", 1, z.t;
    TRIGGER_MASK = "trigger_mask_i", 1, z.s;
    READ_PC = "read_pc_i", 1, z.pc;
    READ_INTRA_STRIDE = "read_intra_stride_i", 1, z.sb;
    READ_INTRA_CONFIDENCE = "read_intra_confidence_i", 1, 2;
    READ_LINK_PATTERN = "read_link_pattern_i", 1, z.p;
    READ_LINK_STRIDE = "read_link_stride_i", 1, z.sb;
    READ_LINK_CONFIDENCE = "read_link_confidence_i", 1, 2;
    READ_WARP_STRIDE = "read_warp_stride_i", 1, z.sb;
    READ_WARP_CONFIDENCE = "read_warp_confidence_i", 1, 2;
    BEST_DISTANCE = "best_distance_i", 1, z.d;
    CANDIDATE_READY = "candidate_ready_i", 1, 1;
} }
ports! { mod o(z: Sizes) {
    TRIGGER_READY = "trigger_ready_o", 1, 1;
    READ_PATTERN = "read_pattern_o", 1, z.p;
    BEST_KIND = "best_kind_o", 1, 2;
    BEST_WARP = "best_warp_o", 1, z.w;
    BEST_PC = "best_pc_o", 1, z.pc;
    CANDIDATE_VALID = "candidate_valid_o", 1, 1;
    CANDIDATE_LINE = "candidate_line_o", 1, z.t, when "candidate_valid_o";
    CANDIDATE_MASK = "candidate_mask_o", 1, z.s, when "candidate_valid_o";
    CANDIDATE_PATTERN = "candidate_pattern_o", 1, z.p, when "candidate_valid_o";
    CANDIDATE_KIND = "candidate_kind_o", 1, 2, when "candidate_valid_o";
    CANDIDATE_DISTANCE = "candidate_distance_o", 1, z.d, when "candidate_valid_o";
    CANDIDATE_CONFIDENCE = "candidate_confidence_o", 1, 2, when "candidate_valid_o";
    CANDIDATE_WARP = "candidate_warp_o", 1, z.w, when "candidate_valid_o";
    CANDIDATE_PC = "candidate_pc_o", 1, z.pc, when "candidate_valid_o";
} }

/// [`CandidateGenerator`] as a block.
pub struct CandidateGeneratorBlock {
    sizes: Sizes,
    generator: CandidateGenerator,
}

impl CandidateGeneratorBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), generator: CandidateGenerator::new(c) }
    }

    fn read(&self, inputs: &Signals) -> Read {
        let get = |port| inputs.get(port, 0);
        let stride = |value, confidence| Stride { stride: signed(get(value), self.sizes.sb), confidence: get(confidence) };
        Read {
            pc: get(i::READ_PC),
            intra: stride(i::READ_INTRA_STRIDE, i::READ_INTRA_CONFIDENCE),
            link_pattern: get(i::READ_LINK_PATTERN),
            link: stride(i::READ_LINK_STRIDE, i::READ_LINK_CONFIDENCE),
            warp: stride(i::READ_WARP_STRIDE, i::READ_WARP_CONFIDENCE),
        }
    }
}

impl Block for CandidateGeneratorBlock {
    fn name(&self) -> &str {
        "candidate_generator"
    }
    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }
    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }
    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let read = self.read(inputs);
        let candidate = self.generator.candidate(&read);
        let (kind, warp) = self.generator.best_of(&read);
        let c = candidate.unwrap_or_default();
        let values = [
            (o::TRIGGER_READY, self.generator.ready(&read).into()),
            (o::READ_PATTERN, self.generator.read_pattern()),
            (o::BEST_KIND, kind),
            (o::BEST_WARP, warp),
            (o::BEST_PC, read.pc),
            (o::CANDIDATE_VALID, candidate.is_some().into()),
            (o::CANDIDATE_LINE, c.line),
            (o::CANDIDATE_MASK, c.mask),
            (o::CANDIDATE_PATTERN, c.pattern),
            (o::CANDIDATE_KIND, c.kind),
            (o::CANDIDATE_DISTANCE, c.distance),
            (o::CANDIDATE_CONFIDENCE, c.confidence),
            (o::CANDIDATE_WARP, c.warp),
            (o::CANDIDATE_PC, c.pc),
        ];
        values.into_iter().for_each(|(port, value)| outputs.set(port, 0, value));
    }
    fn clock(&mut self, inputs: &Signals) {
        let get = |port| inputs.get(port, 0);
        let trigger = (get(i::TRIGGER_VALID) != 0).then(|| Trigger {
            warp: get(i::TRIGGER_WARP),
            pattern: get(i::TRIGGER_PATTERN),
            line: get(i::TRIGGER_LINE),
            mask: get(i::TRIGGER_MASK),
        });
        let read = self.read(inputs);
        self.generator.clock(trigger, &read, get(i::BEST_DISTANCE), get(i::CANDIDATE_READY) != 0);
    }
}
