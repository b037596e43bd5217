//! When each SM has something to do next.

use crate::c2p::SmSet;

/// Cycles ahead that have a set of their own.
const WINDOW: u64 = 64;

/// For every SM the cycle in which it acts next, or none.
#[derive(Debug, Clone)]
pub struct Wakes {
    /// First cycle whose SMs were not asked for.
    base: u64,
    /// By SM; before `base`: none is set; `NEVER`: it waits for others.
    at: Vec<u64>,
    /// SMs of cycle `c` at `c % WINDOW`, for `base <= c < base + WINDOW`.
    near: [SmSet; WINDOW as usize],
    /// Which of the sets are not empty.
    filled: u64,
    /// SMs whose cycle was beyond the window when it was set, and the first of their cycles.
    far: SmSet,
    first_far: u64,
}

const NEVER: u64 = u64::MAX;

impl Wakes {
    /// `n` SMs that act in cycle `now`.
    pub fn new(n: usize, now: u64) -> Self {
        let empty = [SmSet::EMPTY; WINDOW as usize];
        let mut wakes = Self { base: now, at: vec![NEVER; n], near: empty, filled: 0, far: SmSet::EMPTY, first_far: NEVER };
        (0..n).for_each(|sm| wakes.set(sm, Some(now)));
        wakes
    }

    /// The SM acts next in `cycle`, which is not over.
    pub fn set(&mut self, sm: usize, cycle: Option<u64>) {
        let new = cycle.unwrap_or(NEVER);
        let old = std::mem::replace(&mut self.at[sm], new);
        if old == new {
            return;
        }
        if old < self.base {
            // Not in any set.
        } else if self.far.contains(sm) {
            self.far.remove(sm);
            if old == self.first_far {
                self.first_far = self.far.iter().map(|sm| self.at[sm]).min().unwrap_or(NEVER);
            }
        } else if old != NEVER {
            let place = (old % WINDOW) as usize;
            self.near[place].remove(sm);
            if self.near[place].is_empty() {
                self.filled &= !(1 << place);
            }
        }
        if new == NEVER {
            return;
        }
        debug_assert!(new >= self.base, "cycle {new} is over");
        if new - self.base < WINDOW {
            let place = (new % WINDOW) as usize;
            self.near[place].insert(sm);
            self.filled |= 1 << place;
        } else {
            self.far.insert(sm);
            self.first_far = self.first_far.min(new);
        }
    }

    /// Takes the SMs that act in cycle `now`, the next one or one before it. When each acts then is to be [set](Wakes::set) anew.
    pub fn due(&mut self, now: u64) -> SmSet {
        debug_assert!(self.next().is_none_or(|next| next >= now), "an SM was left out");
        self.base = now + 1;
        let place = (now % WINDOW) as usize;
        self.filled &= !(1 << place);
        let mut due = std::mem::take(&mut self.near[place]);
        if self.first_far == now {
            let far: SmSet = self.far.iter().filter(|sm| self.at[*sm] == now).collect();
            due |= far;
            self.far &= !far;
            self.first_far = self.far.iter().map(|sm| self.at[sm]).min().unwrap_or(NEVER);
        }
        due
    }

    /// The next cycle in which some SM acts.
    pub fn next(&self) -> Option<u64> {
        let ahead = self.filled.rotate_right((self.base % WINDOW) as u32);
        let near = if ahead == 0 { NEVER } else { self.base + u64::from(ahead.trailing_zeros()) };
        Some(near.min(self.first_far)).filter(|cycle| *cycle != NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a plain list of cycles, with SMs woken before their time and cycles left out.
        #[test]
        fn as_a_list(n in 1_usize..=256, steps in prop::collection::vec(prop::collection::vec((any::<usize>(), 1_u64..200), 0..6), 1..200)) {
            let (mut wakes, mut list, mut now) = (Wakes::new(n, 7), vec![7; n], 7);
            for step in steps {
                let due: SmSet = (0..n).filter(|sm| list[*sm] == now).collect();
                prop_assert_eq!(wakes.due(now), due);
                let set = |sm: usize, delay: u64, wakes: &mut Wakes, list: &mut Vec<u64>| {
                    let cycle = Some(now + delay).filter(|_| !delay.is_multiple_of(8));
                    wakes.set(sm, cycle);
                    list[sm] = cycle.unwrap_or(NEVER);
                };
                due.iter().for_each(|sm| set(sm, 1 + (sm as u64 * now) % 150, &mut wakes, &mut list));
                step.iter().for_each(|(sm, delay)| set(sm % n, *delay, &mut wakes, &mut list));
                let next = list.iter().copied().min().filter(|cycle| *cycle != NEVER);
                prop_assert_eq!(wakes.next(), next);
                now = next.unwrap_or(now + 1);
                if step.len() == 5 && now > wakes.base {
                    now -= 1; // a cycle in which no SM acts
                }
            }
        }
    }
}
