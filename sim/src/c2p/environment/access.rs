//! What SMs load and store.

use super::*;

/// What an SM does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Loads a line through its L1.
    Load(u64),
    /// Stores to a line: written through, dropped from its own L1.
    Store(u64),
    /// Loads a line past its L1 and past sharing, and changes it: an atomic or volatile access.
    Atomic(u64),
    /// Waits until every SM is here and nothing is in flight; then a new kernel starts: all L1s are emptied, with a flush.
    Barrier,
}

/// Where the accesses of the SMs come from; any `FnMut(usize) -> Option<Access>` is one.
pub trait Source {
    /// The next access of an SM; `None` when it has finished.
    fn next(&mut self, sm: usize) -> Option<Access>;
}

impl<F: FnMut(usize) -> Option<Access>> Source for F {
    fn next(&mut self, sm: usize) -> Option<Access> {
        self(sm)
    }
}

/// Accesses from lists, one per SM.
pub fn list(accesses: Vec<Vec<Access>>) -> impl Source {
    let mut accesses: Vec<_> = accesses.into_iter().map(Vec::into_iter).collect();
    move |sm: usize| accesses.get_mut(sm)?.next()
}

/// Random loads of `tags`, so that a small pool is shared; a fraction `stores` are stores, and `atomics` atomics.
///
/// # Panics
/// `tags` is empty.
pub fn random(tags: Vec<u64>, stores: f64, atomics: f64, seed: u64) -> impl Source {
    assert!(!tags.is_empty(), "a pool of tags");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    move |_: usize| {
        let tag = tags[rng.random_range(0..tags.len())];
        let kind = rng.random::<f64>();
        Some(match kind {
            kind if kind < stores => Access::Store(tag),
            kind if kind < stores + atomics => Access::Atomic(tag),
            _ => Access::Load(tag),
        })
    }
}

/// Every SM loads the same `lines` lines over and over, each SM `shift` lines ahead of its neighbour. With more lines than an
/// L1 holds every access misses: the heaviest load there is.
pub fn sweep(lines: u64, shift: u64) -> impl Source {
    let mut next: Vec<u64> = Vec::new();
    move |sm: usize| {
        while next.len() <= sm {
            next.push(next.len() as u64 * shift);
        }
        next[sm] += 1;
        Some(Access::Load((next[sm] - 1) % lines))
    }
}
