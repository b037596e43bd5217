//! Which bits of signals are driven, and how outputs depend on inputs.

use super::super::design::Dir;
use super::super::expr::{Kind, Loc};
use super::super::index::LoopVar;
use super::super::instance::Instance;
use super::super::module::Item;
use super::super::print::port_dir;
use super::super::process::{Stmt, target_signal, targets};
use super::super::signal::{SigKind, Signal};
use super::{Checker, Range, bits_text, gaps, reads, target_range};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Something that gives bits of a signal their value without a register.
pub(super) struct Driver {
    range: Range,
    loc: Loc,
    reads: Rc<Vec<Range>>,
}

impl Checker<'_> {
    pub(super) fn drivers(&mut self) -> Vec<Driver> {
        let b = self.b;
        let mut out: Vec<Driver> = Vec::new();
        for item in &b.items {
            match item {
                Item::Wire(s, e, loc) => {
                    let mut r = Vec::new();
                    reads(e, None, &mut r);
                    out.push(Driver { range: Range { sig: s.id, lo: 0, width: s.width }, loc, reads: Rc::new(r) });
                }
                Item::Assign(t, e, loc) => {
                    let mut r = Vec::new();
                    reads(e, None, &mut r);
                    out.push(Driver { range: target_range(t, None), loc, reads: Rc::new(r) });
                }
                Item::Comb(stmts, loc) => {
                    for (id, r) in block_reads(stmts) {
                        let width = self.signal(id).width;
                        out.push(Driver { range: Range { sig: id, lo: 0, width }, loc, reads: Rc::new(r) });
                    }
                }
                Item::Instance(i) => instance_drivers(i, &mut out),
                _ => {}
            }
        }
        out.sort_by_key(|d| d.range);
        for w in out.windows(2) {
            let (a, d) = (w[0].range, w[1].range);
            if a.sig == d.sig && a.lo + a.width > d.lo {
                let s = self.signal(a.sig);
                let overlap = (d.lo, (a.lo + a.width).min(d.lo + d.width) - d.lo);
                let text = format!(
                    "{}`{}` is driven twice, also at {}:{}",
                    bits_text(&[overlap], s.width),
                    s.name,
                    w[0].loc.file(),
                    w[0].loc.line()
                );
                self.error(w[1].loc, &text);
            }
        }
        let mut driven: Vec<Vec<(u32, u32)>> = vec![vec![]; b.signals.len()];
        for d in &out {
            driven[d.range.sig as usize].push((d.range.lo, d.range.width));
        }
        for (s, d) in b.signals.iter().zip(driven) {
            if matches!(s.kind, SigKind::Wire | SigKind::Output) {
                let gaps = gaps(d, s.width);
                if !gaps.is_empty() {
                    self.error(s.loc, &format!("{}`{}` is not driven", bits_text(&gaps, s.width), s.name));
                }
            }
        }
        out
    }

    // ---------------------------------------------------------------- combinational dependencies

    /// Refuses combinational loops; else tells for every output which ports it depends on.
    pub(super) fn dependencies(&mut self, drivers: &[Driver]) -> Vec<Vec<bool>> {
        let b = self.b;
        let ports: Vec<&Rc<Signal>> = b.signals.iter().filter(|s| port_dir(s.kind).is_some()).collect();
        let mut port_of = vec![usize::MAX; b.signals.len()];
        for (i, p) in ports.iter().enumerate() {
            port_of[p.id as usize] = i;
        }
        // Drivers of a signal are neighbours, sorted by position and without overlap.
        let mut first = vec![drivers.len(); b.signals.len() + 1];
        for (i, d) in drivers.iter().enumerate().rev() {
            first[d.range.sig as usize] = i;
        }
        for i in (0..b.signals.len()).rev() {
            first[i] = first[i].min(first[i + 1]);
        }
        let overlapping = |r: Range| {
            let own = &drivers[first[r.sig as usize]..first[r.sig as usize + 1]];
            let from = own.partition_point(|d| d.range.lo + d.range.width <= r.lo);
            let to = own.partition_point(|d| d.range.lo < r.lo + r.width);
            let start = first[r.sig as usize];
            start + from..start + to.max(from)
        };
        let words = ports.len().div_ceil(64);
        let mut deps: Vec<Vec<u64>> = vec![vec![]; drivers.len()];
        let mut state = vec![0u8; drivers.len()];
        for root in 0..drivers.len() {
            if state[root] != 0 {
                continue;
            }
            // Node, position in its reads, position among the drivers of that read.
            let mut stack: Vec<(usize, usize, usize)> = vec![(root, 0, 0)];
            state[root] = 1;
            deps[root] = vec![0; words];
            while let Some(&(n, r, k)) = stack.last() {
                let top = stack.len() - 1;
                let Some(read) = drivers[n].reads.get(r) else {
                    state[n] = 2;
                    stack.pop();
                    if let Some(&(parent, ..)) = stack.last() {
                        let d = std::mem::take(&mut deps[n]);
                        deps[parent].iter_mut().zip(&d).for_each(|(a, b)| *a |= b);
                        deps[n] = d;
                    }
                    continue;
                };
                let port = port_of[read.sig as usize];
                if port != usize::MAX && self.signal(read.sig).kind != SigKind::Output {
                    deps[n][port / 64] |= 1 << (port % 64);
                }
                let targets = overlapping(*read);
                if k >= targets.len() {
                    stack[top] = (n, r + 1, 0);
                    continue;
                }
                stack[top].2 += 1;
                let next = targets.start + k;
                match state[next] {
                    0 => {
                        state[next] = 1;
                        deps[next] = vec![0; words];
                        stack.push((next, 0, 0));
                    }
                    1 => {
                        let from = stack.iter().position(|s| s.0 == next).unwrap_or(0);
                        let path: Vec<String> = stack[from..]
                            .iter()
                            .chain([&(next, 0, 0)])
                            .map(|s| {
                                let d = &drivers[s.0];
                                let sig = self.signal(d.range.sig);
                                format!(
                                    "{}`{}` ({}:{})",
                                    bits_text(&[(d.range.lo, d.range.width)], sig.width),
                                    sig.name,
                                    d.loc.file(),
                                    d.loc.line()
                                )
                            })
                            .collect();
                        let text = format!("combinational loop: {}", path.join(" <- "));
                        self.error(drivers[next].loc, &text);
                        return vec![];
                    }
                    _ => {
                        let d = std::mem::take(&mut deps[next]);
                        deps[n].iter_mut().zip(&d).for_each(|(a, b)| *a |= b);
                        deps[next] = d;
                    }
                }
            }
        }
        ports
            .iter()
            .filter(|p| p.kind == SigKind::Output)
            .map(|p| {
                let mut any = vec![false; ports.len()];
                for d in overlapping(Range { sig: p.id, lo: 0, width: p.width }) {
                    for (i, a) in any.iter_mut().enumerate() {
                        *a |= deps[d][i / 64] >> (i % 64) & 1 == 1;
                    }
                }
                any
            })
            .collect()
    }
}

/// For every target of a combinational block, what it depends on. Reading a target of the block means what was assigned before, so such reads are
/// replaced by the dependencies of that target.
fn block_reads(stmts: &[Stmt]) -> Vec<(u32, Vec<Range>)> {
    let order: Vec<u32> = targets(stmts).iter().map(|s| s.id).collect();
    let mut direct: BTreeMap<u32, BTreeSet<Range>> = order.iter().map(|id| (*id, BTreeSet::new())).collect();
    let mut conds: Vec<Vec<Range>> = vec![];
    walk_block(stmts, &mut conds, &mut direct);
    // Close over reads of own targets.
    loop {
        let mut changed = false;
        for id in &order {
            let own: Vec<u32> = direct[id].iter().map(|r| r.sig).filter(|s| s != id && direct.contains_key(s)).collect();
            for o in own {
                let more = direct[&o].clone();
                let mine = direct.entry(*id).or_default();
                let before = mine.len();
                mine.extend(more);
                changed |= mine.len() != before;
            }
        }
        if !changed {
            break;
        }
    }
    order.iter().map(|id| (*id, direct[id].iter().filter(|r| !direct.contains_key(&r.sig)).copied().collect())).collect()
}

fn walk_block(stmts: &[Stmt], conds: &mut Vec<Vec<Range>>, direct: &mut BTreeMap<u32, BTreeSet<Range>>) {
    for s in stmts {
        match s {
            Stmt::Comment(_) => {}
            Stmt::Assign { target, value, .. } => {
                let mut r = Vec::new();
                reads(value, None, &mut r);
                if let Kind::Sel { dynamic, .. } = target.kind() {
                    dynamic.iter().for_each(|d| reads(&d.0, None, &mut r));
                }
                let d = direct.entry(target_signal(target).id).or_default();
                d.extend(r);
                conds.iter().for_each(|c| d.extend(c.iter().copied()));
            }
            Stmt::If { arms, otherwise } => {
                let depth = conds.len();
                for (c, body) in arms {
                    let mut r = Vec::new();
                    reads(c, None, &mut r);
                    conds.push(r);
                    walk_block(body, conds, direct);
                }
                walk_block(otherwise, conds, direct);
                conds.truncate(depth);
            }
            Stmt::For { body, .. } => walk_block(body, conds, direct),
            Stmt::Case { sel, arms, default } => {
                let mut r = Vec::new();
                reads(sel, None, &mut r);
                conds.push(r);
                arms.iter().for_each(|a| walk_block(&a.1, conds, direct));
                walk_block(default, conds, direct);
                conds.pop();
            }
        }
    }
}

fn instance_drivers(i: &Instance, out: &mut Vec<Driver>) {
    let n = i.array.as_ref().map_or(1, LoopVar::count);
    let ports = i.module.ports();
    for g in 0..n {
        let at = i.array.as_ref().map(|v| (v, g));
        let inputs: Vec<Vec<Range>> = ports
            .iter()
            .map(|p| {
                let mut r = Vec::new();
                if p.dir != Dir::Output {
                    reads(&i.conns[&p.name].0, at, &mut r);
                }
                r
            })
            .collect();
        for (o, p) in ports.iter().filter(|p| p.dir == Dir::Output).enumerate() {
            let (target, loc) = &i.conns[&p.name];
            let mut r = Vec::new();
            for (k, reads) in inputs.iter().enumerate() {
                if i.module.comb_deps[o][k] {
                    r.extend(reads);
                }
            }
            out.push(Driver { range: target_range(target, at), loc, reads: Rc::new(r) });
        }
    }
}
