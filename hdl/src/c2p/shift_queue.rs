//! A queue whose entries move up: entry 0 is the oldest. For queues that look at all their entries.

use crate::rtl::{Expr, ModuleBuilder, Reg, value_width};

/// Entries and their number.
pub(super) struct ShiftQueue {
    /// Entries held.
    pub count: Reg,
    /// The entries, oldest first; entry e holds something when `count > e`.
    pub entries: Vec<Reg>,
}

impl ShiftQueue {
    /// Declares a queue of `depth` entries; signals are named `NAME_*`.
    #[track_caller]
    pub fn new(m: &mut ModuleBuilder, name: &str, depth: u32, width: u32) -> Self {
        let count = m.reg(&format!("{name}_count_q"), value_width(u64::from(depth))).doc("entries held");
        let entries = (0..depth).map(|e| m.reg(&format!("{name}{e}_q"), width).no_reset().doc("entry, 0 is the oldest")).collect();
        Self { count, entries }
    }

    /// Entry `e` holds something.
    pub fn holds(&self, e: u32) -> Expr {
        if e == 0 { self.count.ne(0u32) } else { self.count.gt(e) }
    }

    /// Space for another entry.
    pub fn space(&self) -> Expr {
        self.count.ne(self.entries.len() as u32)
    }

    /// The next state: `pop` removes the oldest, `push` adds `data`; `updated` are the entries as they stay or move.
    #[track_caller]
    pub fn advance(&self, m: &mut ModuleBuilder, name: &str, push: &Expr, data: &Expr, pop: &Expr, updated: &[Expr]) {
        self.count.next_when(push & !pop, &*self.count + 1u32);
        self.count.next_when(!push & pop, &*self.count - 1u32);
        let place = m.wire(&format!("{name}_place"), &*self.count - pop.zext(self.count.width())).doc("place of a new entry");
        for (e, entry) in self.entries.iter().enumerate() {
            entry.next_when(push & place.eq(e as u32), data);
            if let Some(next) = updated.get(e + 1) {
                entry.next_when(pop, next);
            }
            entry.next(&updated[e]);
        }
    }
}
