//! Derived operations: reductions, counts, one-hot codes, tables.

use super::bits::Bits;
use super::expr::{Expr, Kind, NaryOp, index_width, value_width};
use super::module::ModuleBuilder;
use super::operand::Operand;
use super::reg::Reg;

impl Expr {
    /// AND of all bits.
    pub fn reduce_and(&self) -> Expr {
        self.reduce(NaryOp::And)
    }

    /// OR of all bits: 1 if the value is not zero.
    pub fn reduce_or(&self) -> Expr {
        self.reduce(NaryOp::Or)
    }

    /// XOR of all bits: parity.
    pub fn reduce_xor(&self) -> Expr {
        self.reduce(NaryOp::Xor)
    }

    fn reduce(&self, op: NaryOp) -> Expr {
        if self.width() == 1 { self.clone() } else { Expr::new(1, Kind::Reduce(op, self.clone())) }
    }

    /// 1 if the value is zero.
    pub fn is_zero(&self) -> Expr {
        if self.width() == 1 { !self } else { self.eq(0) }
    }

    /// Number of set bits, in [`value_width`]`(width)` bits.
    #[track_caller]
    pub fn popcount(&self) -> Expr {
        if self.width() == 1 {
            return self.clone();
        }
        let w = value_width(u64::from(self.width()));
        if self.0.loopy || self.width() <= 4 {
            return Expr::add_all((0..self.width()).map(|i| self.bit(i).zext(w)));
        }
        Expr::new(w, Kind::Popcount(self.clone()))
    }

    /// Keeps only the lowest set bit: `x & (~x + 1)`.
    #[track_caller]
    pub fn lowest_one(&self) -> Expr {
        if self.width() == 1 {
            return self.clone();
        }
        self & (!self + 1)
    }

    /// Keeps only the highest set bit.
    #[track_caller]
    pub fn highest_one(&self) -> Expr {
        // Fills every position below a set bit, in steps of doubling distance.
        let mut filled = self.clone();
        let mut step = 1;
        while step < self.width() {
            filled = &filled | &filled.shr_const(step);
            step *= 2;
        }
        &filled & &!filled.shr_const(1)
    }

    /// Index of the lowest set bit (0 if there is none), in [`index_width`]`(width)` bits.
    #[track_caller]
    pub fn priority_encode(&self) -> Expr {
        self.lowest_one().onehot_to_bin()
    }

    /// Position of the set bit of a one-hot value (0 if none is set), in [`index_width`]`(width)` bits.
    #[track_caller]
    pub fn onehot_to_bin(&self) -> Expr {
        let w = self.width();
        if w == 1 {
            return Expr::zeros(1);
        }
        Expr::concat_lsb_first((0..index_width(w)).map(|j| {
            let mut mask = Bits::zero(w);
            (0..w).filter(|i| i >> j & 1 == 1).for_each(|i| mask.set(i, true));
            (self & mask).reduce_or()
        }))
    }

    /// One-hot value of `n` bits with bit `self` set: `1 << self`. Zero if `self >= n`.
    #[track_caller]
    pub fn bin_to_onehot(&self, n: u32) -> Expr {
        Expr::lit(n, 1).shl(self)
    }

    /// Selects an element of the packed bus by this one-hot value: OR over i of `self[i] ? bus[i] : 0`.
    #[track_caller]
    pub fn onehot_mux(&self, bus: impl Into<Expr>) -> Expr {
        let bus = bus.into();
        let n = self.width();
        assert!(bus.width().is_multiple_of(n), "one-hot of {n} bits for a bus of {} bits", bus.width());
        let w = bus.width() / n;
        if n == 1 {
            return self.replicate(w) & bus;
        }
        if self.0.loopy || bus.0.loopy {
            return Expr::or_all((0..n).map(|i| self.bit(i).replicate(w) & bus.elem(i, w)));
        }
        Expr::new(w, Kind::OneHotMux { sel: self.clone(), bus })
    }

    /// OR of the elements of a packed bus of elements of `width` bits.
    #[track_caller]
    pub fn or_elems(&self, width: u32) -> Expr {
        self.reduce_elems(NaryOp::Or, width)
    }

    /// AND of the elements of a packed bus of elements of `width` bits.
    #[track_caller]
    pub fn and_elems(&self, width: u32) -> Expr {
        self.reduce_elems(NaryOp::And, width)
    }

    /// XOR of the elements of a packed bus of elements of `width` bits.
    #[track_caller]
    pub fn xor_elems(&self, width: u32) -> Expr {
        self.reduce_elems(NaryOp::Xor, width)
    }

    /// Wrapping sum of the elements of a packed bus of elements of `width` bits.
    #[track_caller]
    pub fn add_elems(&self, width: u32) -> Expr {
        self.reduce_elems(NaryOp::Add, width)
    }

    #[track_caller]
    fn reduce_elems(&self, op: NaryOp, width: u32) -> Expr {
        assert!(self.width().is_multiple_of(width), "a bus of {} bits is not made of elements of {width} bits", self.width());
        let n = self.width() / width;
        if n == 1 {
            return self.clone();
        }
        if width == 1 && op != NaryOp::Add {
            return self.reduce(op);
        }
        if self.0.loopy {
            return Expr::nary_all(op, (0..n).map(|i| self.elem(i, width)).collect(), width);
        }
        Expr::new(width, Kind::ReduceElems(op, self.clone()))
    }

    /// Table: the value whose key equals `self`, else `default`. Keys must differ.
    #[track_caller]
    pub fn select<V: Operand>(&self, arms: impl IntoIterator<Item = (u64, V)>, default: impl Into<Expr>) -> Expr {
        let default = default.into();
        let mut seen = std::collections::BTreeSet::new();
        let arms: Vec<_> = arms
            .into_iter()
            .map(|(k, v)| {
                let w = self.width();
                assert!(w >= 64 || k >> w == 0, "case key {k} does not fit {w} bits");
                assert!(seen.insert(k), "case key {k} twice");
                (Bits::from_u64(w, k), default.same("select", v))
            })
            .collect();
        if arms.is_empty() {
            return default;
        }
        if self.0.loopy || default.0.loopy || arms.iter().any(|a| a.1.0.loopy) {
            return arms.into_iter().rev().fold(default, |d, (k, v)| self.eq(k).mux(v, d));
        }
        Expr::new(default.width(), Kind::Case { sel: self.clone(), arms, default })
    }
}

impl ModuleBuilder {
    /// A net with element `select` of a packed bus of elements of `width` bits, 0 beyond the last; printed as a `case` statement. Synthesis makes one AND-OR
    /// per bit of it (half the area of the multiplexer tree that it makes of [`Expr::elem`] with a large bus), and simulators take a branch.
    #[track_caller]
    pub fn case_mux(&mut self, name: &str, select: &Expr, bus: &Expr, width: u32) -> Expr {
        assert!(bus.width().is_multiple_of(width), "elements of {width} bits for a bus of {} bits", bus.width());
        let count = bus.width() / width;
        if count == 1 {
            // Mentions the index, which is used as far as the checks are concerned.
            return self.wire(name, bus.elem(select, width));
        }
        let chosen = self.net(name, width);
        self.comb(|b| b.case(select, |c| (0..count).for_each(|i| _ = c.arm(i.into(), |b| b.set(&chosen, bus.elem(i, width))))));
        chosen
    }

    /// Writes rows of `width` bits of a table: per pair of row enables (bit e for row e) and value; where several enable a row the last one wins.
    /// Nothing else may update the register. Printed as a loop over the rows: of an assignment to a part at a variable place
    /// ([`Reg::at`]) synthesis makes shifters as wide as the whole table.
    #[track_caller]
    pub fn write_rows<const N: usize>(&mut self, table: &Reg, width: u32, writes: [(&Expr, &Expr); N]) {
        let rows = table.width() / width;
        for (enables, value) in writes {
            assert!(enables.width() == rows, "{} enables for a table of {rows} rows", enables.width());
            assert!(value.width() == width, "a value of {} bits for rows of {width} bits", value.width());
        }
        self.seq(|b| {
            b.for_loop("e", rows, |b, e| {
                for (enables, value) in writes {
                    b.if_(enables.bit(e), |b| b.set(table.elem(e, width), value));
                }
            });
        });
    }
}
