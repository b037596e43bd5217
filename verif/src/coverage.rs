//! Functional coverage: named events that a set of runs must reach.
//!
//! The bins are declared beforehand, so that an event that never happens is visible.
//!
//! ```
//! use l1forge_verif::coverage::Coverage;
//!
//! let mut coverage = Coverage::new();
//! let full = coverage.declare("probe queue", "full");
//! let timeout = coverage.declare("probe", "timeout");
//! coverage.hit(full);
//! assert_eq!(coverage.unhit().map(|bin| bin.to_string()).collect::<Vec<_>>(), ["probe: timeout"]);
//! # let _ = timeout;
//! ```

use std::collections::BTreeMap;
use std::fmt;

use crate::code_coverage::Ratio;

/// Handle of a declared bin of one [`Coverage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BinId(usize);

/// A named event with its number of hits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bin {
    /// What is observed, for example a queue.
    pub group: String,
    /// The event.
    pub name: String,
    /// How often it happened.
    pub hits: u64,
    /// Hits that count as reached, at least 1.
    pub goal: u64,
}

impl Bin {
    /// Whether it happened often enough.
    pub fn reached(&self) -> bool {
        self.hits >= self.goal
    }
}

impl fmt::Display for Bin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.group, self.name)
    }
}

/// Two coverages that cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the two runs declare different bins: `{0}` is only in one of them, or has another goal there")]
pub struct MergeError(pub String);

/// Declared bins and their hits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    bins: Vec<Bin>,
    by_name: BTreeMap<(String, String), usize>,
}

impl Coverage {
    /// No bins.
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares a bin that one hit reaches.
    ///
    /// # Panics
    /// When the bin is already declared: two events under one name would hide each other.
    pub fn declare(&mut self, group: impl Into<String>, name: impl Into<String>) -> BinId {
        self.declare_goal(group, name, 1)
    }

    /// Declares a bin that `goal` hits reach.
    ///
    /// # Panics
    /// When the bin is already declared, or the goal is zero.
    pub fn declare_goal(&mut self, group: impl Into<String>, name: impl Into<String>, goal: u64) -> BinId {
        let bin = Bin { group: group.into(), name: name.into(), hits: 0, goal };
        assert!(goal > 0, "bin `{bin}` has no goal");
        let index = self.bins.len();
        let previous = self.by_name.insert((bin.group.clone(), bin.name.clone()), index);
        assert!(previous.is_none(), "bin `{bin}` is declared twice");
        self.bins.push(bin);
        BinId(index)
    }

    /// Counts a hit.
    #[inline]
    pub fn hit(&mut self, bin: BinId) {
        self.bins[bin.0].hits += 1;
    }

    /// Counts a hit when `condition` holds.
    #[inline]
    pub fn hit_if(&mut self, bin: BinId, condition: bool) {
        self.bins[bin.0].hits += u64::from(condition);
    }

    /// The bins in the order of their declaration.
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    /// Hits of a bin, by name.
    pub fn hits(&self, group: &str, name: &str) -> Option<u64> {
        let index = self.by_name.get(&(group.to_owned(), name.to_owned()))?;
        Some(self.bins[*index].hits)
    }

    /// The bins that were not reached, in the order of their declaration.
    pub fn unhit(&self) -> impl Iterator<Item = &Bin> {
        self.bins.iter().filter(|bin| !bin.reached())
    }

    /// Bins reached, of all.
    pub fn ratio(&self) -> Ratio {
        let hit = self.bins.iter().filter(|bin| bin.reached()).count() as u64;
        Ratio { hit, total: self.bins.len() as u64 }
    }

    /// Adds the hits of another run of the same bench.
    ///
    /// # Errors
    /// When the two do not declare the same bins; nothing is added then.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        let only_in = |left: &Self, right: &Self| {
            left.bins
                .iter()
                .find(|bin| {
                    let key = (bin.group.clone(), bin.name.clone());
                    right.by_name.get(&key).is_none_or(|&index| right.bins[index].goal != bin.goal)
                })
                .map(|bin| MergeError(bin.to_string()))
        };
        if let Some(error) = only_in(self, other).or_else(|| only_in(other, self)) {
            return Err(error);
        }
        for bin in &other.bins {
            let index = self.by_name[&(bin.group.clone(), bin.name.clone())];
            self.bins[index].hits += bin.hits;
        }
        Ok(())
    }
}

/// One line per bin, those that were not reached marked.
impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "functional coverage: {}", self.ratio())?;
        for bin in &self.bins {
            let mark = if bin.reached() { ' ' } else { '!' };
            write!(f, "{mark} {:>12}  {bin}", bin.hits)?;
            if bin.goal > 1 {
                write!(f, " (goal {})", bin.goal)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(hits: [u64; 2]) -> Coverage {
        let mut coverage = Coverage::new();
        let full = coverage.declare("queue", "full");
        let wrap = coverage.declare_goal("queue", "wrap", 3);
        (0..hits[0]).for_each(|_| coverage.hit(full));
        (0..5).for_each(|index| coverage.hit_if(wrap, index < hits[1]));
        coverage
    }

    #[test]
    fn goals_decide_what_is_reached() {
        let coverage = sample([1, 2]);
        assert_eq!(coverage.unhit().map(|bin| bin.name.as_str()).collect::<Vec<_>>(), ["wrap"]);
        assert_eq!(coverage.ratio(), Ratio { hit: 1, total: 2 });
        assert_eq!(coverage.hits("queue", "wrap"), Some(2));
        assert_eq!(coverage.hits("queue", "absent"), None);
        let lines = ["functional coverage: 50.0 % (1 of 2)", "             1  queue: full", "!            2  queue: wrap (goal 3)", ""];
        assert_eq!(coverage.to_string(), lines.join("\n"));
    }

    #[test]
    fn merged_runs_reach_together() {
        let mut coverage = sample([0, 2]);
        coverage.merge(&sample([4, 1])).unwrap();
        assert_eq!(coverage.unhit().count(), 0);
        assert_eq!((coverage.hits("queue", "full"), coverage.hits("queue", "wrap")), (Some(4), Some(3)));
        // The order of declaration does not matter.
        let mut other = Coverage::new();
        other.declare_goal("queue", "wrap", 3);
        let full = other.declare("queue", "full");
        other.hit(full);
        coverage.merge(&other).unwrap();
        assert_eq!(coverage.hits("queue", "full"), Some(5));
    }

    #[test]
    fn different_benches_do_not_merge() {
        let mut coverage = sample([1, 1]);
        let before = coverage.clone();
        let mut other = sample([1, 1]);
        other.declare("queue", "empty");
        assert_eq!(coverage.merge(&other), Err(MergeError("queue: empty".into())));
        assert_eq!(coverage.merge(&Coverage::new()), Err(MergeError("queue: full".into())));
        let mut goal = Coverage::new();
        goal.declare("queue", "full");
        goal.declare_goal("queue", "wrap", 4);
        assert_eq!(coverage.merge(&goal), Err(MergeError("queue: wrap".into())));
        assert_eq!(coverage, before);
    }

    #[test]
    #[should_panic(expected = "bin `queue: full` is declared twice")]
    fn a_bin_is_declared_once() {
        sample([0, 0]).declare("queue", "full");
    }
}
