//! Clears and rebuilds one column after the other.

use super::signal::{self, ports};
use super::sizes::Sizes;
use super::sm_set::SmSet;
use super::update_network::Clear;
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;

/// What the controller does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Clears all columns, row by row.
    ClearAll,
    /// After a flush: waits for the update lanes.
    FlushDrain,
    /// Waits for the next rebuild.
    Idle,
    /// Waits for older writes of the column.
    Drain,
    /// Clears the column, row by row.
    Clear,
    /// Asks the SM for its tags.
    Request,
    /// Takes the tags.
    Stream,
    /// Waits for the last tags to leave the buffer.
    Finish,
}

/// What reaches the controller in one cycle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct In {
    /// No update lane has anything.
    pub lanes_empty: bool,
    /// An update lane has something of the column.
    pub lanes_match: bool,
    /// SMs that take their request.
    pub refresh_ready: SmSet,
    /// The last beat of the column's stream.
    pub last: bool,
    /// A beat of the column's stream.
    pub beat: bool,
    /// The stream buffer is empty.
    pub buffer_empty: bool,
    /// All columns are to be cleared.
    pub flush: bool,
    /// The row is cleared in every bank after this cycle.
    pub clear_ready: bool,
}

/// The controller.
#[derive(Debug, Clone)]
pub struct RefreshController {
    sms: usize,
    rows: u32,
    refresh_period: u32,
    stream_timeout: u32,
    state: State,
    row: u32,
    sm: usize,
    period: u32,
    timer: u32,
    open: bool,
    request: SmSet,
}

impl RefreshController {
    pub fn new(c: &Config) -> Self {
        Self {
            sms: c.sms as usize,
            rows: c.rows(),
            refresh_period: c.refresh_period,
            stream_timeout: c.stream_timeout,
            state: State::ClearAll,
            row: 0,
            sm: 0,
            period: 0,
            timer: 0,
            open: false,
            request: SmSet::EMPTY,
        }
    }

    /// The column that is rebuilt, or is the next.
    pub fn sm(&self) -> usize {
        self.sm
    }

    /// The clear of this cycle.
    pub fn clear(&self) -> Option<Clear> {
        match self.state {
            State::ClearAll => Some(Clear { row: self.row, sm: None }),
            State::Clear => Some(Clear { row: self.row, sm: Some(self.sm) }),
            _ => None,
        }
    }

    /// Nothing may be dispatched to the engines.
    pub fn block(&self) -> bool {
        matches!(self.state, State::ClearAll | State::FlushDrain)
    }

    /// The fill queue of the column is held.
    pub fn hold(&self) -> bool {
        matches!(self.state, State::Drain | State::Clear)
    }

    /// Requests shown to the SMs.
    pub fn requests(&self) -> SmSet {
        self.request
    }

    /// Beats of the column count.
    pub fn streaming(&self) -> bool {
        self.state == State::Stream
    }

    /// Every column was cleared since reset or the last flush.
    pub fn matrix_ready(&self) -> bool {
        !self.block()
    }

    /// A rebuild ends in this cycle.
    pub fn rebuilt(&self, i: &In) -> bool {
        self.state == State::Finish && i.buffer_empty && !i.flush
    }

    /// End of the cycle.
    pub fn clock(&mut self, i: &In) {
        let before = self.clone();
        let taken = before.request & i.refresh_ready;
        let column_taken = taken.contains(before.sm);
        self.request &= !taken;
        self.period = (before.period + 1).min(before.refresh_period - 1);
        match before.state {
            State::Request | State::Stream => self.wait_for_stream(i, column_taken),
            _ if column_taken => (self.open, self.timer) = (true, 0),
            _ if !before.open => {}
            _ if i.last => self.open = false,
            _ if i.beat => self.timer = 0,
            _ if self.timed_out() => self.open = false,
            _ => self.timer += 1,
        }
        if i.flush {
            self.state = State::FlushDrain;
            return;
        }
        match before.state {
            State::ClearAll if i.clear_ready => self.next_row(State::Idle),
            State::FlushDrain if i.lanes_empty => (self.state, self.row) = (State::ClearAll, 0),
            State::Idle if before.period == before.refresh_period - 1 && !before.open => {
                self.period = 0;
                if before.request.contains(before.sm) {
                    self.next_sm();
                } else {
                    self.state = State::Drain;
                }
            }
            State::Drain if !i.lanes_match => (self.state, self.row) = (State::Clear, 0),
            State::Clear if i.clear_ready => {
                self.next_row(State::Request);
                if self.state == State::Request {
                    self.request.insert(self.sm);
                    self.timer = 0;
                }
            }
            State::Finish if i.buffer_empty => {
                self.state = State::Idle;
                self.next_sm();
            }
            // REQUEST and STREAM: in wait_for_stream. Rows that are not cleared yet wait.
            _ => {}
        }
    }

    /// REQUEST and STREAM: request, open, timer, and the next state without a flush.
    fn wait_for_stream(&mut self, i: &In, column_taken: bool) {
        let requested = self.state == State::Request;
        if requested && column_taken {
            (self.state, self.open, self.timer) = (State::Stream, true, 0);
        } else if !requested && i.last {
            (self.state, self.open) = (State::Finish, false);
        } else if !requested && i.beat {
            self.timer = 0;
        } else if self.timed_out() {
            (self.state, self.open) = (State::Finish, false);
        } else {
            self.timer += 1;
        }
    }

    fn timed_out(&self) -> bool {
        self.timer == self.stream_timeout - 1
    }

    fn next_row(&mut self, end: State) {
        if self.row == self.rows - 1 {
            (self.state, self.row) = (end, 0);
        } else {
            self.row += 1;
        }
    }

    fn next_sm(&mut self) {
        self.sm = (self.sm + 1) % self.sms;
    }
}

ports! { mod i(z: Sizes) {
    LANES_EMPTY = "lanes_empty_i", 1, 1;
    LANES_MATCH = "lanes_match_i", 1, 1;
    REFRESH_READY = "refresh_ready_i", z.n, 1;
    LAST = "last_i", 1, 1;
    BEAT = "beat_i", 1, 1;
    BUFFER_EMPTY = "buffer_empty_i", 1, 1;
    FLUSH = "flush_i", 1, 1;
    CLEAR_READY = "clear_ready_i", 1, 1;
} }
ports! { mod o(z: Sizes) {
    CLEAR_VALID = "clear_valid_o", 1, 1;
    CLEAR_ALL = "clear_all_o", 1, 1;
    CLEAR_ROW = "clear_row_o", 1, z.rw, when "clear_valid_o";
    BLOCK = "block_o", 1, 1;
    HOLD = "hold_o", 1, 1;
    REFRESH_VALID = "refresh_valid_o", z.n, 1;
    STREAMING = "streaming_o", 1, 1;
    REBUILT = "rebuilt_o", 1, 1;
    SM = "sm_o", 1, z.s;
    MATRIX_READY = "matrix_ready_o", 1, 1;
} }

/// [`RefreshController`] as a block.
pub struct RefreshControllerBlock {
    sizes: Sizes,
    controller: RefreshController,
}

impl RefreshControllerBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), controller: RefreshController::new(c) }
    }

    fn inputs_of(inputs: &Signals) -> In {
        let is = |port| signal::is(inputs, port, 0);
        In {
            lanes_empty: is(i::LANES_EMPTY),
            lanes_match: is(i::LANES_MATCH),
            refresh_ready: signal::sms(inputs, i::REFRESH_READY),
            last: is(i::LAST),
            beat: is(i::BEAT),
            buffer_empty: is(i::BUFFER_EMPTY),
            flush: is(i::FLUSH),
            clear_ready: is(i::CLEAR_READY),
        }
    }
}

impl Block for RefreshControllerBlock {
    fn name(&self) -> &str {
        "refresh_controller"
    }

    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }

    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let c = &self.controller;
        signal::set_bit(outputs, o::CLEAR_VALID, c.clear().is_some());
        signal::set_bit(outputs, o::CLEAR_ALL, c.clear().is_some_and(|clear| clear.sm.is_none()));
        outputs.set(o::CLEAR_ROW, 0, c.clear().map_or(0, |clear| clear.row.into()));
        signal::set_bit(outputs, o::BLOCK, c.block());
        signal::set_bit(outputs, o::HOLD, c.hold());
        signal::set_sms(outputs, o::REFRESH_VALID, c.requests());
        signal::set_bit(outputs, o::STREAMING, c.streaming());
        signal::set_bit(outputs, o::REBUILT, c.rebuilt(&Self::inputs_of(inputs)));
        outputs.set(o::SM, 0, c.sm() as u64);
        signal::set_bit(outputs, o::MATRIX_READY, c.matrix_ready());
    }

    fn clock(&mut self, inputs: &Signals) {
        self.controller.clock(&Self::inputs_of(inputs));
    }
}

#[cfg(test)]
mod tests {
    use super::State::{Clear as ClearColumn, ClearAll, Drain, Finish, FlushDrain, Idle, Request, Stream};
    use super::*;
    use crate::c2p::tests::config;

    /// 3 SMs, 4 rows, a rebuild every 9 cycles, timeout 3.
    fn controller() -> RefreshController {
        RefreshController::new(&config(&[
            "sms=3",
            "mask_bits=0",
            "hashes=1",
            "banks=2",
            "hash_bits=8",
            "refresh_period=9",
            "stream_timeout=3",
        ]))
    }

    const QUIET: In = In {
        lanes_empty: true,
        lanes_match: false,
        refresh_ready: SmSet::EMPTY,
        last: false,
        beat: false,
        buffer_empty: true,
        flush: false,
        clear_ready: true,
    };
    const FLUSH: In = In { flush: true, ..QUIET };
    const BEAT: In = In { beat: true, ..QUIET };
    const LAST: In = In { beat: true, last: true, ..QUIET };

    fn ready(sm: usize) -> In {
        In { refresh_ready: SmSet::single(sm), ..QUIET }
    }

    /// Runs `inputs`; the state of each cycle.
    fn run(c: &mut RefreshController, inputs: &[In]) -> Vec<State> {
        inputs
            .iter()
            .map(|i| {
                let state = c.state;
                c.clock(i);
                state
            })
            .collect()
    }

    /// Quiet cycles until the state comes.
    fn until(c: &mut RefreshController, state: State) -> usize {
        (0..100)
            .find(|_| {
                c.state == state || {
                    c.clock(&QUIET);
                    false
                }
            })
            .expect("the state comes")
    }

    #[test]
    fn reset_clears_every_row_of_every_column() {
        let mut c = controller();
        for row in 0..4 {
            assert_eq!((c.clear(), c.block(), c.matrix_ready()), (Some(Clear { row, sm: None }), true, false));
            c.clock(&QUIET);
        }
        assert_eq!((c.state, c.clear(), c.block(), c.matrix_ready()), (Idle, None, false, true));
        // The period counts from reset: cycles 0..=8, DRAIN in 9.
        assert_eq!(run(&mut c, &[QUIET; 6]), [Idle, Idle, Idle, Idle, Idle, Drain]);
    }

    #[test]
    fn a_rebuild_cycle_by_cycle() {
        let mut c = controller();
        until(&mut c, Drain);
        let waiting = In { lanes_match: true, ..QUIET };
        assert_eq!(run(&mut c, &[waiting, waiting, QUIET]), [Drain; 3]);
        for row in 0..4 {
            assert_eq!((c.clear(), c.hold(), c.matrix_ready()), (Some(Clear { row, sm: Some(0) }), true, true));
            assert!(c.requests().is_empty());
            c.clock(&QUIET);
        }
        assert_eq!((c.state, c.hold(), c.requests()), (Request, false, SmSet::single(0)));
        assert_eq!(run(&mut c, &[QUIET, ready(1), ready(0)]), [Request; 3]); // another SM's ready means nothing
        assert!(c.streaming() && c.requests().is_empty());
        assert_eq!(run(&mut c, &[QUIET, QUIET, BEAT, QUIET, QUIET, LAST]), [Stream; 6]);
        let busy = In { buffer_empty: false, ..QUIET };
        assert_eq!((c.state, c.rebuilt(&busy), c.rebuilt(&QUIET)), (Finish, false, true));
        assert_eq!(run(&mut c, &[busy, QUIET]), [Finish; 2]);
        assert_eq!((c.state, c.sm()), (Idle, 1));
        // The rebuild took 18 cycles; the next starts at once.
        assert_eq!(run(&mut c, &[QUIET, QUIET]), [Idle, Drain]);
    }

    #[test]
    fn rebuilds_start_one_period_apart() {
        let mut c = RefreshController { refresh_period: 40, ..controller() };
        let mut starts = Vec::new();
        for t in 0..200 {
            if c.state == Drain {
                starts.push((t, c.sm()));
            }
            c.clock(&In { refresh_ready: SmSet::first_n(3), beat: true, last: true, ..QUIET });
        }
        assert_eq!(starts, [(40, 0), (80, 1), (120, 2), (160, 0)]);
    }

    #[test]
    fn an_sm_that_never_takes_its_request_is_given_up_and_later_skipped() {
        let mut c = controller();
        until(&mut c, Request);
        assert_eq!(run(&mut c, &[QUIET; 4]), [Request, Request, Request, Finish]);
        assert_eq!((c.sm(), c.requests()), (1, SmSet::single(0))); // still shown
        for sm in [1, 2] {
            until(&mut c, Request);
            run(&mut c, &[ready(sm), LAST, QUIET]);
        }
        // SM 0's turn: skipped after a period, SM 1 after one more.
        assert_eq!((c.state, c.sm()), (Idle, 0));
        until(&mut c, Drain);
        assert_eq!(c.sm(), 1);
        // It is taken late: nothing is opened, and SM 0 is rebuilt again when its turn comes.
        c.clock(&ready(0));
        assert_eq!((c.requests(), c.open), (SmSet::EMPTY, false));
    }

    #[test]
    fn a_stream_that_stops_is_given_up() {
        let mut c = controller();
        until(&mut c, Request);
        assert_eq!(run(&mut c, &[QUIET, QUIET, ready(0)]), [Request; 3]); // the last cycle in which it can be taken
        assert_eq!(
            run(&mut c, &[QUIET, QUIET, BEAT, QUIET, QUIET, QUIET, QUIET]),
            [Stream, Stream, Stream, Stream, Stream, Stream, Finish]
        );
        assert!(!c.open);
    }

    #[test]
    fn flush_wins_everywhere() {
        for state in [ClearAll, Idle, Drain, ClearColumn, Request, Stream, Finish] {
            let mut c = controller();
            if state == Stream {
                until(&mut c, Request);
                c.clock(&ready(0));
            } else {
                until(&mut c, state);
            }
            let requests = c.requests();
            c.clock(&In { lanes_empty: false, ..FLUSH });
            assert_eq!((c.state, c.sm(), c.requests()), (FlushDrain, 0, requests), "{state:?}");
            assert!(c.block() && !c.matrix_ready() && c.clear().is_none());
            assert_eq!(run(&mut c, &[In { lanes_empty: false, ..QUIET }, FLUSH, QUIET]), [FlushDrain; 3]);
            assert_eq!(c.clear(), Some(Clear { row: 0, sm: None }), "{state:?}");
        }
    }

    #[test]
    fn flush_keeps_what_the_leaves_column_would_change() {
        // IDLE with a full period: it stays full, so the rebuild follows the clear at once.
        let mut c = controller();
        until(&mut c, Idle);
        run(&mut c, &[QUIET; 4]);
        assert_eq!(c.period, 8);
        c.clock(&FLUSH);
        assert_eq!((c.state, c.period), (FlushDrain, 8));
        // The last row of CLEAR: no request appears.
        until(&mut c, ClearColumn);
        run(&mut c, &[QUIET; 3]);
        c.clock(&FLUSH);
        assert_eq!((c.requests(), c.state), (SmSet::EMPTY, FlushDrain));
        // FINISH: no rebuild is counted.
        until(&mut c, Finish);
        assert!(!c.rebuilt(&FLUSH));
    }

    #[test]
    fn a_stream_broken_off_by_a_flush_is_waited_for() {
        let mut c = controller();
        until(&mut c, Request);
        c.clock(&In { flush: true, ..ready(0) }); // taken in the very cycle of the flush
        assert!(c.open && c.requests().is_empty() && c.state == FlushDrain);
        // Beats of the old stream keep it open; the rebuild of SM 0 waits in IDLE.
        for _ in 0..20 {
            run(&mut c, &[QUIET, QUIET, BEAT]);
        }
        assert_eq!((c.state, c.open), (Idle, true));
        c.clock(&LAST);
        assert_eq!((c.open, run(&mut c, &[QUIET, QUIET])), (false, vec![Idle, Drain]));
    }

    #[test]
    fn a_request_taken_after_a_flush_opens_its_stream() {
        let mut c = controller();
        until(&mut c, Request);
        c.clock(&FLUSH);
        assert_eq!((c.requests(), c.open), (SmSet::single(0), false));
        c.clock(&ready(0)); // in FLUSH_DRAIN
        assert!(c.open && c.timer == 0);
        // Without a beat it is given up after the timeout: three cycles.
        run(&mut c, &[QUIET, QUIET]);
        assert!(c.open);
        c.clock(&QUIET);
        assert!(!c.open);
    }

    #[test]
    fn flush_with_the_last_beat_closes_the_stream() {
        let mut c = controller();
        until(&mut c, Request);
        run(&mut c, &[ready(0), BEAT]);
        c.clock(&In { flush: true, ..LAST });
        assert_eq!((c.open, c.state), (false, FlushDrain));
    }

    #[test]
    fn idle_looks_at_the_request_register() {
        let mut c = controller();
        until(&mut c, Request);
        c.clock(&FLUSH); // request 0 stays shown
        until(&mut c, Idle);
        while c.period != 8 {
            c.clock(&QUIET);
        }
        c.clock(&ready(0)); // taken in the cycle of the decision: skipped nevertheless
        assert_eq!((c.state, c.sm(), c.open, c.period), (Idle, 1, true, 0));
    }

    #[test]
    fn block_ports() {
        let mut block = RefreshControllerBlock { sizes: Sizes::new(&config(&["sms=3"])), controller: controller() };
        let (mut inputs, mut outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        inputs.set(i::BUFFER_EMPTY, 0, 1);
        inputs.set(i::CLEAR_READY, 0, 1);
        inputs.set(i::LANES_EMPTY, 0, 1);
        let mut states = Vec::new();
        for _ in 0..17 {
            inputs.set(i::REFRESH_READY, 0, u64::from(states.len() > 2));
            block.eval(&inputs, &mut outputs);
            let ports =
                [o::CLEAR_VALID, o::CLEAR_ALL, o::BLOCK, o::HOLD, o::REFRESH_VALID, o::STREAMING, o::REBUILT, o::SM, o::MATRIX_READY];
            let shown = ports.map(|p| outputs.get(p, 0));
            if states.last() != Some(&shown) {
                states.push(shown);
            }
            block.clock(&inputs);
        }
        assert_eq!(
            states,
            [
                [1, 1, 1, 0, 0, 0, 0, 0, 0], // CLEAR_ALL
                [0, 0, 0, 0, 0, 0, 0, 0, 1], // IDLE
                [0, 0, 0, 1, 0, 0, 0, 0, 1], // DRAIN
                [1, 0, 0, 1, 0, 0, 0, 0, 1], // CLEAR
                [0, 0, 0, 0, 1, 0, 0, 0, 1], // REQUEST
                [0, 0, 0, 0, 0, 1, 0, 0, 1], // STREAM
            ]
        );
        inputs.set(i::BEAT, 0, 1);
        inputs.set(i::LAST, 0, 1);
        block.clock(&inputs);
        block.eval(&inputs, &mut outputs);
        assert_eq!((outputs.get(o::REBUILT, 0), outputs.get(o::SM, 0)), (1, 0));
        inputs.set(i::FLUSH, 0, 1);
        block.eval(&inputs, &mut outputs);
        assert_eq!(outputs.get(o::REBUILT, 0), 0);
    }
}
