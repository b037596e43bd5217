//! The L1 against an independent model: a list of (line, sectors) per set, most recent last.

use l1forge_sim::cache::{Evicted, IndexHash, L1, L1Parameters, Lookup, StorePolicy};
use proptest::prelude::*;

/// Knows lists and nothing else. Takes the set function from the cache: it is tested apart.
struct Oracle {
    ways: usize,
    sectors: u32,
    store: StorePolicy,
    index: IndexHash,
    sets: Vec<Vec<(u64, Vec<bool>)>>,
}

impl Oracle {
    fn new(p: &L1Parameters) -> Self {
        let sets = vec![Vec::new(); p.lines / p.ways];
        Self { ways: p.ways, sectors: p.sectors, store: p.store, index: p.index, sets }
    }

    fn set(&mut self, line: u64) -> &mut Vec<(u64, Vec<bool>)> {
        let set = self.index.set_of(line, self.sets.len());
        &mut self.sets[set]
    }

    fn wanted(&self, mask: u32) -> Vec<bool> {
        if self.sectors == 1 { vec![mask != 0] } else { (0..self.sectors).map(|s| mask >> s & 1 == 1).collect() }
    }

    fn take(&mut self, line: u64) -> Option<(u64, Vec<bool>)> {
        let set = self.set(line);
        let at = set.iter().position(|(l, _)| *l == line)?;
        Some(set.remove(at))
    }

    fn load(&mut self, line: u64, mask: u32) -> Lookup {
        let wanted = self.wanted(mask);
        let Some((_, present)) = self.take(line) else {
            return Lookup::Miss;
        };
        let missing = mask_of(&wanted.iter().zip(&present).map(|(w, p)| *w && !*p).collect::<Vec<_>>());
        self.set(line).push((line, present));
        if missing == 0 { Lookup::Hit } else { Lookup::SectorMiss(missing) }
    }

    fn fill(&mut self, line: u64, mask: u32) -> Option<Evicted> {
        let mut present = self.wanted(mask);
        if !present.contains(&true) {
            return None;
        }
        if let Some((_, old)) = self.take(line) {
            present.iter_mut().zip(old).for_each(|(p, o)| *p |= o);
        }
        let ways = self.ways;
        let set = self.set(line);
        let evicted = (set.len() == ways).then(|| set.remove(0));
        set.push((line, present));
        evicted.map(|(line, present)| Evicted { line, sectors: mask_of(&present) })
    }

    fn store(&mut self, line: u64) -> bool {
        match (self.take(line), self.store) {
            (None, _) => false,
            (Some(_), StorePolicy::Invalidate) => true,
            (Some(entry), StorePolicy::Update) => {
                self.set(line).push(entry);
                true
            }
        }
    }

    fn sorted(&self) -> Vec<(u64, u32)> {
        let mut lines: Vec<_> = self.sets.iter().flatten().map(|(l, p)| (*l, mask_of(p))).collect();
        lines.sort_unstable();
        lines
    }
}

fn mask_of(present: &[bool]) -> u32 {
    present.iter().enumerate().map(|(s, p)| u32::from(*p) << s).sum()
}

#[derive(Debug, Clone)]
enum Op {
    Load(u64, u32),
    Fill(u64, u32),
    Store(u64),
    Invalidate(u64),
    Flush,
}

fn parameters() -> impl Strategy<Value = L1Parameters> {
    let shape = prop_oneof![
        (1usize..=5, 1usize..=6).prop_map(|(sets, ways)| (sets * ways, ways)),
        (1usize..=12).prop_map(|lines| (lines, lines)),
        (1usize..=12).prop_map(|lines| (lines, 1)),
        // More ways than are compared one after the other.
        (1usize..=2, 17usize..=20).prop_map(|(sets, ways)| (sets * ways, ways)),
    ];
    let sectors = prop::sample::select(vec![1u32, 2, 4, 32]);
    let index = prop::sample::select(vec![IndexHash::Modulo, IndexHash::Mixed]);
    let store = prop::sample::select(vec![StorePolicy::Invalidate, StorePolicy::Update]);
    (shape, sectors, index, store).prop_map(|((lines, ways), sectors, index, store)| L1Parameters { lines, ways, sectors, index, store })
}

fn operation() -> impl Strategy<Value = Op> {
    let line = 0u64..24;
    prop_oneof![
        8 => (line.clone(), any::<u32>()).prop_map(|(l, m)| Op::Load(l, m & 0b1111)),
        8 => (line.clone(), any::<u32>()).prop_map(|(l, m)| Op::Fill(l, m)),
        2 => line.clone().prop_map(Op::Store),
        2 => line.prop_map(Op::Invalidate),
        1 => Just(Op::Flush),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn every_answer_is_that_of_the_lists(
        parameters in parameters(),
        operations in prop::collection::vec(operation(), 1..200),
    ) {
        let mut cache = L1::new(parameters.clone()).unwrap();
        prop_assert_eq!(cache.parameters(), &parameters);
        let mut oracle = Oracle::new(&parameters);
        for operation in operations {
            match operation {
                Op::Load(line, mask) => prop_assert_eq!(cache.load(line, mask), oracle.load(line, mask)),
                Op::Fill(line, mask) => prop_assert_eq!(cache.fill(line, mask), oracle.fill(line, mask)),
                Op::Store(line) => prop_assert_eq!(cache.store(line), oracle.store(line)),
                Op::Invalidate(line) => prop_assert_eq!(cache.invalidate(line), oracle.take(line).is_some()),
                Op::Flush => {
                    cache.flush_all();
                    oracle.sets.iter_mut().for_each(Vec::clear);
                }
            }
            let expected = oracle.sorted();
            let mut tags: Vec<_> = cache.valid_tags().map(|line| (line, cache.sectors_of(line))).collect();
            tags.sort_unstable();
            prop_assert_eq!(&tags, &expected);
            prop_assert_eq!((cache.len(), cache.is_empty()), (expected.len(), expected.is_empty()));
            for line in 0..24 {
                prop_assert_eq!(cache.contains(line), expected.iter().any(|(l, _)| *l == line));
            }
        }
    }
}

fn cache(lines: usize, ways: usize) -> L1 {
    L1::new(L1Parameters { lines, ways, index: IndexHash::Modulo, ..L1Parameters::default() }).unwrap()
}

#[test]
fn the_least_recently_used_line_leaves() {
    let mut cache = cache(2, 2);
    assert_eq!((cache.fill(1, 1), cache.fill(2, 1)), (None, None));
    assert_eq!(cache.load(1, 1), Lookup::Hit);
    assert_eq!(cache.fill(3, 1), Some(Evicted { line: 2, sectors: 1 }));
    assert_eq!(cache.load(2, 1), Lookup::Miss);
}

#[test]
fn a_probe_does_not_refresh_a_line() {
    let mut cache = cache(2, 2);
    cache.fill(1, 1);
    cache.fill(2, 1);
    assert!(cache.contains(1));
    assert_eq!(cache.fill(3, 1).unwrap().line, 1);
}

#[test]
fn a_store_invalidates_by_default() {
    let mut cache = L1::new(L1Parameters::default()).unwrap();
    cache.fill(9, 1);
    assert!(cache.store(9));
    assert!(!cache.contains(9));
    assert!(!cache.store(9));
    assert!(cache.is_empty());
}

#[test]
fn illegal_shapes_name_the_key() {
    for (lines, ways, sectors, message) in [
        (0, 1, 1, "lines = 0: legal is 1..=1048576"),
        (8, 0, 1, "ways = 0: legal is 1..=8"),
        (8, 9, 1, "ways = 9: legal is 1..=8"),
        (8, 3, 1, "ways = 3: legal is a divisor of lines = 8"),
        (8, 2, 33, "sectors = 33: legal is 1..=32"),
        (8, 2, 0, "sectors = 0: legal is 1..=32"),
    ] {
        let error = L1::new(L1Parameters { lines, ways, sectors, ..L1Parameters::default() }).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}
