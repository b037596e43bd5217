//! Finite-state machines: named states, binary encoding, transitions as one `case`.

use super::bits::Bits;
use super::expr::{Expr, index_width};
use super::module::ModuleBuilder;
use super::process::Block;
use super::reg::Reg;

/// Condition (`None` is always) and next state.
type Move = (Option<Expr>, Expr);

/// A finite-state machine made by [`ModuleBuilder::fsm`].
pub struct Fsm {
    name: String,
    state: Reg,
    next: Expr,
    states: Vec<(String, Expr)>,
}

/// Transitions of a state machine, given state by state.
pub struct Transitions<'a> {
    fsm: &'a Fsm,
    arms: Vec<(usize, Vec<Move>)>,
}

/// Transitions out of one state.
pub struct StateMoves<'a> {
    fsm: &'a Fsm,
    moves: Vec<Move>,
}

impl Fsm {
    #[track_caller]
    fn constant(&self, state: &str) -> &Expr {
        let Some(s) = self.states.iter().find(|s| s.0 == state) else { panic!("{} has no state {state}", self.name) };
        &s.1
    }

    /// 1 while the machine is in the state.
    #[track_caller]
    pub fn is(&self, state: &str) -> Expr {
        self.state.eq(self.constant(state))
    }

    /// 1 if the machine is in the state after the next clock edge.
    #[track_caller]
    pub fn next_is(&self, state: &str) -> Expr {
        self.next.eq(self.constant(state))
    }

    /// The state register.
    pub fn state(&self) -> &Reg {
        &self.state
    }
}

impl<'a> Transitions<'a> {
    /// Transitions out of one state, in order of priority; without one that applies the state stays.
    #[track_caller]
    pub fn state(&mut self, state: &str, moves: impl FnOnce(&mut StateMoves<'a>)) -> &mut Self {
        self.fsm.constant(state);
        let i = self.fsm.states.iter().position(|s| s.0 == state).unwrap_or_default();
        assert!(!self.arms.iter().any(|a| a.0 == i), "state {state} of {} given twice", self.fsm.name);
        let mut f = StateMoves { fsm: self.fsm, moves: vec![] };
        moves(&mut f);
        self.arms.push((i, f.moves));
        self
    }
}

impl StateMoves<'_> {
    /// Goes to another state if the condition holds.
    #[track_caller]
    pub fn goto_when(&mut self, cond: impl Into<Expr>, state: &str) -> &mut Self {
        let cond = cond.into();
        assert!(cond.width() == 1, "condition of {} bits ({cond})", cond.width());
        assert!(!self.moves.iter().any(|m| m.0.is_none()), "a transition after an unconditional one");
        self.moves.push((Some(cond), self.fsm.constant(state).clone()));
        self
    }

    /// Goes to another state otherwise.
    #[track_caller]
    pub fn goto(&mut self, state: &str) -> &mut Self {
        assert!(!self.moves.iter().any(|m| m.0.is_none()), "a transition after an unconditional one");
        self.moves.push((None, self.fsm.constant(state).clone()));
        self
    }
}

impl ModuleBuilder {
    /// A finite-state machine with the register `<name>_q`, the next state `<name>_d` and a named constant for every state. It starts in the first state, and
    /// goes there from encodings that are no state.
    ///
    /// Transitions are given with [`fsm_next`](Self::fsm_next).
    ///
    /// ```
    /// use l1forge_hdl::rtl::ModuleBuilder;
    /// let mut m = ModuleBuilder::new("walker");
    /// m.clock_reset();
    /// let start = m.input("start_i", 1, "begin");
    /// let last = m.input("last_i", 1, "the last item is here");
    /// let busy = m.output("busy_o", 1, "working");
    /// let walk = m.fsm("walk", &["IDLE", "RUN", "DRAIN"]);
    /// m.fsm_next(&walk, |t| {
    ///     t.state("IDLE", |s| {
    ///         s.goto_when(&start, "RUN");
    ///     });
    ///     t.state("RUN", |s| {
    ///         s.goto_when(&last, "DRAIN");
    ///     });
    ///     t.state("DRAIN", |s| {
    ///         s.goto("IDLE");
    ///     });
    /// });
    /// m.assign(&busy, !walk.is("IDLE"));
    /// let text = m.finish()?.verilog();
    /// assert!(text.contains("localparam [1:0] WALK_DRAIN = 2'd2;"));
    /// assert!(text.contains("WALK_RUN: begin"));
    /// # Ok::<(), l1forge_hdl::rtl::RtlError>(())
    /// ```
    #[track_caller]
    pub fn fsm(&mut self, name: &str, states: &[&str]) -> Fsm {
        assert!(states.len() >= 2, "{name} has {} states", states.len());
        let w = index_width(states.len() as u32);
        let upper = name.to_uppercase();
        let states: Vec<(String, Expr)> = states
            .iter()
            .enumerate()
            .map(|(i, s)| ((*s).to_owned(), self.localparam(&format!("{upper}_{s}"), Bits::from_u64(w, i as u64))))
            .collect();
        let state = self.reg(&format!("{name}_q"), w).doc(&format!("state of {name}"));
        let next = self.net(&format!("{name}_d"), w);
        state.next(&next);
        Fsm { name: name.to_owned(), state, next, states }
    }

    /// Gives the transitions of all states of a machine, once.
    #[track_caller]
    pub fn fsm_next<'a>(&mut self, fsm: &'a Fsm, transitions: impl FnOnce(&mut Transitions<'a>)) {
        let mut t = Transitions { fsm, arms: vec![] };
        transitions(&mut t);
        for (i, (name, _)) in fsm.states.iter().enumerate() {
            assert!(t.arms.iter().any(|a| a.0 == i), "state {name} of {} has no transitions", fsm.name);
        }
        let arms = t.arms;
        self.comb(|p| {
            p.set(&fsm.next, &fsm.state);
            p.case(&fsm.state, |c| {
                for (i, moves) in arms {
                    c.arm_const(&fsm.states[i].1, |p| chain(p, &fsm.next, moves));
                }
                c.otherwise(|p| p.set(&fsm.next, &fsm.states[0].1));
            });
        });
    }
}

/// `if / else if / else` over transitions.
fn chain(p: &mut Block, next: &Expr, moves: Vec<Move>) {
    let mut moves = moves.into_iter();
    let (cond, to) = match moves.next() {
        None => return,
        Some((None, to)) => return p.set(next, to),
        Some((Some(c), to)) => (c, to),
    };
    let mut c = p.if_(cond, |p| p.set(next, to));
    for (cond, to) in moves {
        match cond {
            Some(cond) => c = c.elif(cond, |p| p.set(next, to)),
            None => return c.otherwise(|p| p.set(next, to)),
        }
    }
}
