//! A scoreboard of requests: each must be answered exactly once, with the right answer.
//!
//! Requests are known by a stream (for example a requester and the kind of the answer) and an id in that stream. An id may be used
//! again when its request is answered.
//!
//! ```
//! use l1forge_verif::scoreboard::Scoreboard;
//!
//! let mut lookups = Scoreboard::new("lookups");
//! lookups.expect(3, (0, 17), "hit")?;
//! lookups.complete(9, &(0, 17), &"hit")?;
//! lookups.finish()?;
//! assert_eq!((lookups.completed(), lookups.longest()), (1, 6));
//! # Ok::<(), l1forge_verif::scoreboard::ScoreboardError>(())
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{Debug, Write as _};

/// Something is lost, doubled or wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScoreboardError {
    /// A request with an id that is in use.
    #[error("{board}: {id} is requested in cycle {cycle} while it is outstanding since cycle {since}")]
    Reused {
        /// Name of the scoreboard.
        board: String,
        /// Stream and id.
        id: String,
        /// Cycle of the second request.
        cycle: u64,
        /// Cycle of the first request.
        since: u64,
    },
    /// An answer that nobody waits for: it was given before, or never asked for.
    #[error("{board}: {id} is answered in cycle {cycle} but not outstanding{}", answered.map_or_else(String::new, |at| format!(" (it was answered in cycle {at})")))]
    Unexpected {
        /// Name of the scoreboard.
        board: String,
        /// Stream and id.
        id: String,
        /// Cycle of the answer.
        cycle: u64,
        /// Cycle of the last answer with this id.
        answered: Option<u64>,
    },
    /// A wrong answer. The request counts as answered.
    #[error("{board}: {id}, requested in cycle {since}, is answered in cycle {cycle} with {got}, expected {expected}")]
    Wrong {
        /// Name of the scoreboard.
        board: String,
        /// Stream and id.
        id: String,
        /// Cycle of the answer.
        cycle: u64,
        /// Cycle of the request.
        since: u64,
        /// The right answer.
        expected: String,
        /// The answer.
        got: String,
    },
    /// A request that is out longer than allowed.
    #[error("{board}: {id} is outstanding since cycle {since}, in cycle {cycle} still")]
    Late {
        /// Name of the scoreboard.
        board: String,
        /// Stream and id.
        id: String,
        /// Cycle of the check.
        cycle: u64,
        /// Cycle of the request.
        since: u64,
    },
    /// Requests without an answer at the end.
    #[error("{board}: {count} outstanding at the end: {list}")]
    Outstanding {
        /// Name of the scoreboard.
        board: String,
        /// How many.
        count: usize,
        /// The oldest of them.
        list: String,
    },
}

impl From<ScoreboardError> for String {
    fn from(error: ScoreboardError) -> Self {
        error.to_string()
    }
}

/// Answers that are remembered to explain a second one.
const RECENT: usize = 1024;

#[derive(Debug, Clone)]
struct Request<T> {
    since: u64,
    order: u64,
    expected: T,
}

/// Outstanding requests with their right answers. `K` is stream and id, `T` the answer.
#[derive(Debug, Clone)]
pub struct Scoreboard<K, T> {
    name: String,
    outstanding: BTreeMap<K, Request<T>>,
    /// Outstanding by age: cycle and order of the request.
    by_age: BTreeMap<(u64, u64), K>,
    /// The last answers and their cycles.
    recent: VecDeque<(K, u64)>,
    requested: u64,
    completed: u64,
    longest: u64,
}

impl<K: Ord + Clone + Debug, T: PartialEq + Debug> Scoreboard<K, T> {
    /// An empty scoreboard; `name` is for its messages.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            outstanding: BTreeMap::new(),
            by_age: BTreeMap::new(),
            recent: VecDeque::new(),
            requested: 0,
            completed: 0,
            longest: 0,
        }
    }

    /// A request is made in `cycle`, whose right answer is `expected`.
    ///
    /// # Errors
    /// When the id is outstanding; the old request stays.
    pub fn expect(&mut self, cycle: u64, id: K, expected: T) -> Result<(), ScoreboardError> {
        if let Some(request) = self.outstanding.get(&id) {
            return Err(ScoreboardError::Reused { board: self.name.clone(), id: format!("{id:?}"), cycle, since: request.since });
        }
        let order = self.requested;
        self.requested += 1;
        self.by_age.insert((cycle, order), id.clone());
        self.outstanding.insert(id, Request { since: cycle, order, expected });
        Ok(())
    }

    /// An answer is given in `cycle`. Returns the number of cycles it took.
    ///
    /// # Errors
    /// When nobody waits for it, or it is wrong.
    pub fn complete(&mut self, cycle: u64, id: &K, got: &T) -> Result<u64, ScoreboardError> {
        let Some(request) = self.outstanding.remove(id) else {
            return Err(ScoreboardError::Unexpected {
                board: self.name.clone(),
                id: format!("{id:?}"),
                cycle,
                answered: self.recent.iter().rev().find(|(recent, _)| recent == id).map(|&(_, at)| at),
            });
        };
        self.by_age.remove(&(request.since, request.order));
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((id.clone(), cycle));
        self.completed += 1;
        let latency = cycle.saturating_sub(request.since);
        self.longest = self.longest.max(latency);
        if &request.expected == got {
            return Ok(latency);
        }
        Err(ScoreboardError::Wrong {
            board: self.name.clone(),
            id: format!("{id:?}"),
            cycle,
            since: request.since,
            expected: format!("{:?}", request.expected),
            got: format!("{got:?}"),
        })
    }

    /// Checks that nothing is outstanding for more than `limit` cycles; cheap enough for every cycle.
    ///
    /// # Errors
    /// When something is.
    pub fn check_age(&self, cycle: u64, limit: u64) -> Result<(), ScoreboardError> {
        match self.by_age.first_key_value() {
            Some((&(since, _), id)) if cycle.saturating_sub(since) > limit => {
                Err(ScoreboardError::Late { board: self.name.clone(), id: format!("{id:?}"), cycle, since })
            }
            _ => Ok(()),
        }
    }

    /// Checks at the end that nothing is outstanding.
    ///
    /// # Errors
    /// When something is; the message names the oldest.
    pub fn finish(&self) -> Result<(), ScoreboardError> {
        const SHOWN: usize = 8;
        if self.outstanding.is_empty() {
            return Ok(());
        }
        let mut list = String::new();
        for (place, ((since, _), id)) in self.by_age.iter().take(SHOWN).enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            let _ = write!(list, "{separator}{id:?} since cycle {since}");
        }
        Err(ScoreboardError::Outstanding { board: self.name.clone(), count: self.outstanding.len(), list })
    }

    /// Whether a request is outstanding.
    pub fn is_outstanding(&self, id: &K) -> bool {
        self.outstanding.contains_key(id)
    }

    /// The right answer of an outstanding request.
    pub fn expected(&self, id: &K) -> Option<&T> {
        self.outstanding.get(id).map(|request| &request.expected)
    }

    /// Number of outstanding requests.
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Number of requests.
    pub fn requested(&self) -> u64 {
        self.requested
    }

    /// Number of answered requests; `requested = completed + outstanding`.
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// Cycles of the slowest answer.
    pub fn longest(&self) -> u64 {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board() -> Scoreboard<(&'static str, u32), u32> {
        Scoreboard::new("probes")
    }

    #[test]
    fn each_request_is_answered_once() {
        let mut board = board();
        board.expect(1, ("read", 1), 10).unwrap();
        board.expect(2, ("write", 1), 20).unwrap();
        assert_eq!(board.complete(5, &("write", 1), &20), Ok(3));
        assert_eq!(board.complete(9, &("read", 1), &10), Ok(8));
        board.finish().unwrap();
        assert_eq!((board.requested(), board.completed(), board.outstanding(), board.longest()), (2, 2, 0, 8));
        // Twice is an error, and so is what was never asked for.
        let error = board.complete(10, &("read", 1), &10).unwrap_err();
        assert_eq!(error.to_string(), "probes: (\"read\", 1) is answered in cycle 10 but not outstanding (it was answered in cycle 9)");
        let error = board.complete(11, &("read", 7), &10).unwrap_err();
        assert!(matches!(error, ScoreboardError::Unexpected { answered: None, .. }));
        assert_eq!(board.completed(), 2);
        // An id may come again.
        board.expect(12, ("read", 1), 11).unwrap();
        assert!(board.is_outstanding(&("read", 1)));
        assert_eq!(board.expected(&("read", 1)), Some(&11));
    }

    #[test]
    fn wrong_answers_and_reused_ids_are_found() {
        let mut board = board();
        board.expect(1, ("read", 1), 10).unwrap();
        assert_eq!(
            board.expect(4, ("read", 1), 12).unwrap_err().to_string(),
            "probes: (\"read\", 1) is requested in cycle 4 while it is outstanding since cycle 1"
        );
        assert_eq!(
            board.complete(6, &("read", 1), &12).unwrap_err().to_string(),
            "probes: (\"read\", 1), requested in cycle 1, is answered in cycle 6 with 12, expected 10"
        );
        assert_eq!((board.requested(), board.completed(), board.outstanding()), (1, 1, 0));
    }

    #[test]
    fn lost_requests_are_found() {
        let mut board = board();
        for id in 0..10 {
            board.expect(100 + u64::from(id), ("read", id), 0).unwrap();
        }
        board.complete(120, &("read", 0), &0).unwrap();
        let text = board.finish().unwrap_err().to_string();
        assert!(text.starts_with("probes: 9 outstanding at the end: (\"read\", 1) since cycle 101, "), "{text}");
        assert!(text.contains("(\"read\", 8) since cycle 108") && !text.contains("(\"read\", 9)"), "{text}");
        // The oldest is the one that counts.
        board.check_age(111, 10).unwrap();
        let error = board.check_age(112, 10).unwrap_err();
        assert_eq!(error.to_string(), "probes: (\"read\", 1) is outstanding since cycle 101, in cycle 112 still");
        board.complete(113, &("read", 1), &0).unwrap();
        board.check_age(112, 10).unwrap();
        assert!(board.check_age(113, 10).is_err());
    }
}
