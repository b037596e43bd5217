//! Brings the lookups of all queries to the bank copies, and the rows back.

use super::bank_arbiter::{BankArbiter, Picks, Request, Shape};
use super::signal::{self, ports};
use super::sizes::Sizes;
use super::snapshot_matrix::Read;
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;

/// A lookup that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lookup {
    /// SM s that asks.
    pub sm: usize,
    /// Number i of the position, 0..k.
    pub i: usize,
    /// Index `{bank, row}`.
    pub index: u32,
    /// Slot of the SM.
    pub slot: u8,
}

/// A row that comes back in this cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Returned {
    /// SM s that asked.
    pub sm: usize,
    /// Number i of the position, 0..k.
    pub i: usize,
    /// Slot of the SM.
    pub slot: u8,
    /// Bank copy it was read from, c·B + b.
    pub position: usize,
}

/// What [`LookupNetwork::arbitrate`] found.
#[derive(Debug, Clone, Default)]
pub struct Arbitration {
    /// For each lookup, whether it is granted.
    pub granted: Vec<bool>,
    /// The reads, at most one per position.
    pub reads: Vec<Read>,
    /// The rows that come back in the next cycle.
    returning: Vec<Returned>,
    /// Arbiters that made a pick, and the requester picked last.
    last_picks: Vec<(usize, usize)>,
}

/// The crossbar network.
#[derive(Debug, Clone)]
pub struct LookupNetwork {
    sizes: Sizes,
    /// One per (copy, bank), or per bank with `copy_choice = "any"`.
    arbiters: Vec<BankArbiter>,
    returning: Vec<Returned>,
    debug_returning: Option<usize>,
    /// Per lookup, s·k + i: where it goes.
    routes: Vec<Route>,
    /// Scratch: for each arbiter its requests, and beside each the place in the list of lookups.
    buckets: Vec<(Vec<Request>, Vec<usize>)>,
    touched: Vec<usize>,
    picks: Picks,
}

/// The way of a lookup.
#[derive(Debug, Clone, Copy)]
struct Route {
    /// Its port among those of its SM, as a bit.
    port: u8,
    /// The arbiter of bank 0 of its copy.
    arbiters: usize,
    /// Number of the port among those of its copy.
    ordinal: usize,
}

/// Sizes of the arbiter of copy `copy`, see docs/blocks/ports.md.
pub fn arbiter_shape(c: &Config, copy: usize) -> Shape {
    let z = Sizes::new(c);
    let ports = 0..z.n * z.v;
    let n = if z.any_copy { ports.len() } else { ports.filter(|&p| z.copy_of_port(p) == copy).count() };
    Shape { name: "bank_arbiter", n, payload_bits: z.rw, picks: if z.any_copy { z.c } else { 1 }, merge: c.merge_rows }
}

impl LookupNetwork {
    pub fn new(c: &Config) -> Self {
        let sizes = Sizes::new(c);
        let copies = if sizes.any_copy { 1 } else { sizes.c };
        let arbiters: Vec<_> = (0..copies)
            .flat_map(|copy| {
                let shape = arbiter_shape(c, copy);
                std::iter::repeat_n(BankArbiter::new(shape.n, shape.picks, shape.merge), sizes.b)
            })
            .collect();
        let mut counts = vec![0; copies];
        let copy_of = |port| if sizes.any_copy { 0 } else { sizes.copy_of_port(port) };
        let ordinals: Vec<_> = (0..sizes.n * sizes.v)
            .map(|port| {
                let count = &mut counts[copy_of(port)];
                *count += 1;
                *count - 1
            })
            .collect();
        let route = |lookup| {
            let port = sizes.port_of_lookup(lookup);
            Route { port: 1 << (port % sizes.v), arbiters: copy_of(port) * sizes.b, ordinal: ordinals[port] }
        };
        let routes = (0..sizes.n * sizes.k).map(route).collect();
        Self {
            buckets: vec![(Vec::new(), Vec::new()); arbiters.len()],
            arbiters,
            returning: Vec::new(),
            debug_returning: None,
            routes,
            touched: Vec::new(),
            picks: Picks::default(),
            sizes,
        }
    }

    /// The rows that come back in this cycle.
    pub fn returned(&self) -> &[Returned] {
        &self.returning
    }

    /// The position whose data the debug port shows in this cycle.
    pub fn debug_returned(&self) -> Option<usize> {
        self.debug_returning
    }

    /// Grants `lookups`, which ascend by SM and position. Of those that share a port the first is served.
    pub fn arbitrate(&mut self, lookups: &[Lookup], out: &mut Arbitration) {
        let Self { sizes: z, arbiters, routes, buckets, touched, picks, .. } = self;
        let mut busy = (0, 0_u8);
        for (place, lookup) in lookups.iter().enumerate() {
            let Route { port, arbiters, ordinal } = routes[lookup.sm * z.k + lookup.i];
            if z.v < z.k {
                busy = if busy.0 == lookup.sm { busy } else { (lookup.sm, 0) };
                if busy.1 & port != 0 {
                    continue;
                }
                busy.1 |= port;
            }
            let arbiter = arbiters + z.bank(lookup.index);
            let (requests, places) = &mut buckets[arbiter];
            if requests.is_empty() {
                touched.push(arbiter);
            }
            requests.push(Request { index: ordinal, payload: z.row(lookup.index) });
            places.push(place);
        }
        out.granted.clear();
        out.granted.resize(lookups.len(), false);
        out.reads.clear();
        out.returning.clear();
        out.last_picks.clear();
        for arbiter in touched.drain(..) {
            let (requests, places) = &mut buckets[arbiter];
            if let ([request], [place]) = (requests.as_slice(), places.as_slice()) {
                // Nobody to choose from.
                let Lookup { sm, i, slot, .. } = lookups[*place];
                out.granted[*place] = true;
                out.reads.push(Read { position: arbiter, row: request.payload });
                out.returning.push(Returned { sm, i, slot, position: arbiter });
                out.last_picks.push((arbiter, request.index));
                requests.clear();
                places.clear();
                continue;
            }
            arbiters[arbiter].arbitrate(requests, picks);
            for (number, &pick) in picks.picks.iter().enumerate() {
                out.reads.push(Read { position: number * z.b + arbiter, row: requests[pick].payload });
                if number + 1 == picks.picks.len() {
                    out.last_picks.push((arbiter, requests[pick].index));
                }
            }
            for (grant, &place) in picks.grants.iter().zip(&*places) {
                let Some(pick) = *grant else { continue };
                out.granted[place] = true;
                let Lookup { sm, i, slot, .. } = lookups[place];
                out.returning.push(Returned { sm, i, slot, position: usize::from(pick) * z.b + arbiter });
            }
            requests.clear();
            places.clear();
        }
    }

    /// A debug read of `index` can be taken in this cycle.
    pub fn debug_ready(&self, index: u32, out: &Arbitration) -> bool {
        let bank = self.sizes.bank(index);
        !out.reads.iter().any(|r| r.position == bank)
    }

    /// End of the cycle of `out`; `debug`: the index of a debug read that is taken, whose read is added to `out`.
    pub fn clock(&mut self, out: &mut Arbitration, debug: Option<u32>) {
        for &(arbiter, requester) in &out.last_picks {
            self.arbiters[arbiter].clock(Some(requester));
        }
        std::mem::swap(&mut self.returning, &mut out.returning);
        self.debug_returning = debug.map(|index| self.sizes.bank(index));
        if let Some(index) = debug {
            out.reads.push(Read { position: self.sizes.bank(index), row: self.sizes.row(index) });
        }
    }
}

ports! { mod i(z: Sizes) {
    LOOKUP_VALID = "lookup_valid_i", z.n * z.k, 1;
    LOOKUP_INDEX = "lookup_index_i", z.n * z.k, z.x;
    LOOKUP_SLOT = "lookup_slot_i", z.n * z.k, z.l;
    READ_DATA = "read_data_i", z.c * z.b, z.n;
    DEBUG_VALID = "debug_valid_i", 1, 1;
    DEBUG_INDEX = "debug_index_i", 1, z.x;
} }
ports! { mod o(z: Sizes) {
    LOOKUP_READY = "lookup_ready_o", z.n * z.k, 1;
    ROW_VALID = "row_valid_o", z.n * z.k, 1;
    ROW_SLOT = "row_slot_o", z.n * z.k, z.l, when "row_valid_o";
    ROW = "row_o", z.n * z.k, z.n, when "row_valid_o";
    READ_VALID = "read_valid_o", z.c * z.b, 1;
    READ_ROW = "read_row_o", z.c * z.b, z.rw, when "read_valid_o";
    DEBUG_READY = "debug_ready_o", 1, 1;
    DEBUG_VALID = "debug_valid_o", 1, 1;
    DEBUG_ROW = "debug_row_o", 1, z.n, when "debug_valid_o";
} }

/// [`LookupNetwork`] as a block.
pub struct LookupNetworkBlock {
    sizes: Sizes,
    network: LookupNetwork,
    out: Arbitration,
}

impl LookupNetworkBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), network: LookupNetwork::new(c), out: Arbitration::default() }
    }

    /// Arbitrates; returns the lookups and the debug index whose read is taken.
    fn arbitrate(&mut self, inputs: &Signals) -> (Vec<Lookup>, Option<u32>) {
        let asking = (0..self.sizes.n * self.sizes.k).filter(|&p| signal::is(inputs, i::LOOKUP_VALID, p));
        let lookups: Vec<_> = asking
            .map(|number| Lookup {
                sm: number / self.sizes.k,
                i: number % self.sizes.k,
                index: inputs.get(i::LOOKUP_INDEX, number) as u32,
                slot: inputs.get(i::LOOKUP_SLOT, number) as u8,
            })
            .collect();
        self.network.arbitrate(&lookups, &mut self.out);
        let debug = (self.sizes.debug && signal::is(inputs, i::DEBUG_VALID, 0)).then(|| inputs.get(i::DEBUG_INDEX, 0) as u32);
        (lookups, debug.filter(|&index| self.network.debug_ready(index, &self.out)))
    }
}

impl Block for LookupNetworkBlock {
    fn name(&self) -> &str {
        "lookup_network"
    }

    fn inputs(&self) -> Vec<Port> {
        let mut ports = i::list(&self.sizes);
        ports.truncate(if self.sizes.debug { ports.len() } else { i::DEBUG_VALID });
        ports
    }

    fn outputs(&self) -> Vec<Port> {
        let mut ports = o::list(&self.sizes);
        ports.truncate(if self.sizes.debug { ports.len() } else { o::DEBUG_READY });
        ports
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let (lookups, debug) = self.arbitrate(inputs);
        for port in [o::LOOKUP_READY, o::ROW_VALID, o::READ_VALID] {
            outputs.words_mut(port).fill(0);
        }
        for (lookup, granted) in lookups.iter().zip(&self.out.granted) {
            outputs.set(o::LOOKUP_READY, lookup.sm * self.sizes.k + lookup.i, u64::from(*granted));
        }
        for read in &self.out.reads {
            outputs.set(o::READ_VALID, read.position, 1);
            outputs.set(o::READ_ROW, read.position, read.row.into());
        }
        for returned in self.network.returned() {
            let number = returned.sm * self.sizes.k + returned.i;
            outputs.set(o::ROW_VALID, number, 1);
            outputs.set(o::ROW_SLOT, number, returned.slot.into());
            signal::set_row(outputs, o::ROW, number, signal::row(inputs, i::READ_DATA, returned.position));
        }
        if self.sizes.debug {
            let index = inputs.get(i::DEBUG_INDEX, 0) as u32;
            signal::set_bit(outputs, o::DEBUG_READY, self.network.debug_ready(index, &self.out));
            if let Some(index) = debug {
                outputs.set(o::READ_VALID, self.sizes.bank(index), 1);
                outputs.set(o::READ_ROW, self.sizes.bank(index), self.sizes.row(index).into());
            }
            let position = self.network.debug_returned();
            signal::set_bit(outputs, o::DEBUG_VALID, position.is_some());
            if let Some(position) = position {
                signal::set_row(outputs, o::DEBUG_ROW, 0, signal::row(inputs, i::READ_DATA, position));
            }
        }
    }

    fn clock(&mut self, inputs: &Signals) {
        let (_, debug) = self.arbitrate(inputs);
        self.network.clock(&mut self.out, debug);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c2p::tests::config;

    // 2 SMs, k = 2, 2 banks of 4 rows: ports 0, 1 (SM 0), 2, 3 (SM 1).
    const BASE: &[&str] = &["sms=2", "mask_bits=0", "hashes=2", "banks=2", "hash_bits=8", "copies=2"];

    fn network(more: &[&str]) -> LookupNetworkBlock {
        LookupNetworkBlock::new(&config(&[BASE, more].concat()))
    }

    /// Index of a bank and row.
    fn at(bank: u64, row: u64) -> u64 {
        bank << 2 | row
    }

    /// One cycle with lookups (port, index, slot): the ready ports and the reads (position, row).
    fn cycle(block: &mut LookupNetworkBlock, lookups: &[(usize, u64, u64)]) -> (Vec<usize>, Vec<(usize, u64)>, Signals) {
        let (mut inputs, mut outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        for &(port, index, slot) in lookups {
            inputs.set(i::LOOKUP_VALID, port, 1);
            inputs.set(i::LOOKUP_INDEX, port, index);
            inputs.set(i::LOOKUP_SLOT, port, slot);
        }
        inputs.words_mut(i::READ_DATA).copy_from_slice(&[0, 1, 2, 3][..block.sizes.c * block.sizes.b]);
        block.eval(&inputs, &mut outputs);
        let marked = |port: usize| (0..outputs.words(port).len()).filter(|&e| signal::is(&outputs, port, e)).collect::<Vec<_>>();
        let reads = marked(o::READ_VALID).into_iter().map(|p| (p, outputs.get(o::READ_ROW, p))).collect();
        let ready = marked(o::LOOKUP_READY);
        block.clock(&inputs);
        (ready, reads, outputs)
    }

    #[test]
    fn fixed_copies_and_the_way_back() {
        let mut block = network(&[]);
        // Copy of port p = s*2 + i: (i + s) mod 2, so ports 0 and 3 read copy 0, ports 1 and 2 copy 1.
        let all = [(0, at(1, 2), 1), (1, at(1, 3), 0), (2, at(1, 1), 0), (3, at(1, 0), 1)];
        let (ready, reads, out) = cycle(&mut block, &all);
        assert_eq!((ready, reads), (vec![0, 1], vec![(1, 2), (3, 3)]));
        assert_eq!(out.words(o::ROW_VALID), [0; 4]);
        let (ready, reads, out) = cycle(&mut block, &all);
        assert_eq!((ready, reads), (vec![2, 3], vec![(1, 0), (3, 1)]));
        // Rows of the cycle before: port 0 from position 1, port 1 from position 3.
        assert_eq!(out.words(o::ROW_VALID), [1, 1, 0, 0]);
        assert_eq!((&out.words(o::ROW)[..2], &out.words(o::ROW_SLOT)[..2]), (&[1, 3][..], &[1, 0][..]));
        let (_, reads, out) = cycle(&mut block, &[]);
        assert!(reads.is_empty());
        assert_eq!((out.words(o::ROW_VALID), &out.words(o::ROW)[2..]), (&[0, 0, 1, 1][..], &[3, 1][..]));
        assert_eq!(out.words(o::ROW_SLOT)[3], 1);
    }

    #[test]
    fn equal_rows_merge() {
        let mut block = network(&["merge_rows=true", "copies=1"]);
        let all = [(0, at(0, 2), 0), (1, at(0, 3), 0), (2, at(0, 2), 0), (3, at(1, 2), 0)];
        let (ready, reads, _) = cycle(&mut block, &all);
        assert_eq!((ready, reads), (vec![0, 2, 3], vec![(0, 2), (1, 2)]));
        let (ready, _, out) = cycle(&mut block, &all[1..2]);
        assert_eq!((ready, out.words(o::ROW_VALID)), (vec![1], &[1, 0, 1, 1][..]));
        assert_eq!(out.words(o::ROW)[0], out.words(o::ROW)[2]);
    }

    #[test]
    fn any_copy() {
        let mut block = network(&["copy_choice=any"]);
        let all = [(0, at(0, 0), 0), (1, at(0, 1), 0), (2, at(0, 2), 0), (3, at(1, 3), 0)];
        let (ready, reads, _) = cycle(&mut block, &all);
        assert_eq!((ready, reads), (vec![0, 1, 3], vec![(0, 0), (1, 3), (2, 1)]));
        // After pick 1: port 2 first (copy 0), then port 0 (copy 1).
        let (ready, reads, out) = cycle(&mut block, &all);
        assert_eq!((ready, reads), (vec![0, 2, 3], vec![(0, 2), (1, 3), (2, 0)]));
        assert_eq!((out.words(o::ROW)[0], out.words(o::ROW)[1], out.words(o::ROW)[3]), (0, 2, 1));
    }

    #[test]
    fn debug_reads_wait_for_copy_0_of_their_bank() {
        let mut block = network(&["debug_port=true"]);
        let (mut inputs, mut outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        inputs.words_mut(i::READ_DATA).copy_from_slice(&[1, 2, 3, 0]);
        let mut cycle = |lookup: Option<(usize, u64)>, valid: u64, index: u64| {
            inputs.words_mut(i::LOOKUP_VALID).fill(0);
            if let Some((port, index)) = lookup {
                inputs.set(i::LOOKUP_VALID, port, 1);
                inputs.set(i::LOOKUP_INDEX, port, index);
            }
            inputs.set(i::DEBUG_VALID, 0, valid);
            inputs.set(i::DEBUG_INDEX, 0, index);
            block.eval(&inputs, &mut outputs);
            block.clock(&inputs);
            let read = (0..4).find(|&p| signal::is(&outputs, o::READ_VALID, p)).map(|p| (p, outputs.get(o::READ_ROW, p)));
            (outputs.get(o::DEBUG_READY, 0), outputs.get(o::DEBUG_VALID, 0), outputs.get(o::DEBUG_ROW, 0), read)
        };
        assert_eq!(cycle(Some((0, at(1, 2))), 1, at(1, 3)), (0, 0, 0, Some((1, 2))));
        assert_eq!(cycle(Some((1, at(1, 2))), 1, at(1, 3)).0, 1); // port 1 reads copy 1
        let shown = cycle(None, 0, at(0, 3));
        assert_eq!((shown.0, shown.1, shown.2, shown.3), (1, 1, 2, None));
        assert_eq!(cycle(None, 1, at(0, 3)).3, Some((0, 3)));
        assert_eq!(cycle(None, 0, 0).2, 1);
        assert_eq!(network(&[]).inputs().len(), i::DEBUG_VALID);
        assert_eq!(network(&[]).outputs().len(), o::DEBUG_READY);
    }
}
