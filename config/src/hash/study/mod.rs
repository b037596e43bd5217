//! False positives of the hashes, measured: random tags against the formula, structured tags
//! against ideal hashing.
//!
//! The reduced form runs with the other tests. The full one also prints the tables of
//! `docs/results/false-positives.md` and runs with
//!
//! ```text
//! cargo test --release -p l1forge-config --lib hash::study::full -- --ignored --nocapture --test-threads 1
//! ```
//!
//! With `L1FORGE_DATA` set to a folder, the lines that the `*.traceg` files in it read and write
//! are measured, too.

mod measure;
mod structures;

use measure::*;
use structures::*;

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use super::*;

/// Lines of the default L1.
const LINES: usize = 512;
/// Positions of the tag mask.
const MASK_BITS: usize = 1024;
/// Width of the tags of the study.
const STUDY_TAG_BITS: u32 = 41;

/// An encoder in a filter, to be measured on structures.
struct Job {
    case: Case,
    encoder: Encoder,
}

impl Job {
    fn new(case: Case) -> Self {
        Self { case, encoder: encoder(HashScheme::Double, case) }
    }

    fn with_seed(case: Case, seed: u64) -> Self {
        let hash = HashMatrices::with_seed(HashScheme::Double, case.shape(), Some(seed)).expect("a legal size");
        Self { case, encoder: Encoder::new(hash) }
    }

    /// Queries of one placement that give so many false positives with ideal hashing.
    fn queries(&self, expected: f64) -> usize {
        (expected / self.case.hash_formula()).ceil() as usize
    }
}

/// False positives on one structure.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// Sums of rates over the placements: as measured, and as ideal hashing would have them.
    measured: f64,
    ideal: f64,
    /// False positives that ideal hashing would have had on the tags asked for.
    expected: f64,
    placements: u64,
}

impl Count {
    fn ratio(self) -> f64 {
        self.measured / self.ideal
    }
}

/// How much to measure: so many placements, and then more, up to 20 times as many, until ideal
/// hashing would have had that many false positives.
#[derive(Clone, Copy)]
struct Effort {
    placements: u64,
    expected: f64,
    seed: u64,
}

/// What each job makes of a structure. Ideal hashing means the formula for the hash positions and
/// the very bits of the tag mask: its rate is known without counting.
fn count(structure: &Structure, jobs: &[Job], effort: Effort) -> Vec<Count> {
    let mut counts = vec![Count::default(); jobs.len()];
    let each = effort.expected / effort.placements as f64;
    for number in 0..20 * effort.placements {
        let wanted = |count: &Count| number < effort.placements || count.ideal > 0.0 && count.expected < effort.expected;
        let most = jobs.iter().zip(&counts).filter(|(_, count)| wanted(count)).map(|(job, _)| job.queries(each)).max();
        let Some(most) = most else { break };
        let mut random = Random(mix(effort.seed << 32 | number));
        let Placement { tags, others } = structure.place(&mut random);
        let mut mask = [false; MASK_BITS];
        tags.iter().for_each(|&tag| mask[tag as usize % MASK_BITS] = true);
        let masked = others.iter().copied().filter(|&tag| mask[tag as usize % MASK_BITS]).collect();
        let all = others.len() as f64;
        // In random order, so that any number of them is a sample.
        let [others, masked]: [Vec<u64>; 2] = [others, masked].map(|mut tags: Vec<u64>| {
            let mut random = random.clone();
            for first in 0..most.min(tags.len()) {
                let left = tags.len() - first;
                tags.swap(first, first + random.below(left as u64) as usize);
            }
            tags
        });
        for (job, count) in jobs.iter().zip(&mut counts) {
            let asked = if job.case.mask { &masked } else { &others };
            if asked.is_empty() || !wanted(count) {
                continue;
            }
            let formula = Case { lines: tags.len(), ..job.case }.hash_formula();
            let share = asked.len() as f64 / all;
            let asked = &asked[..job.queries(each).min(asked.len())];
            let column = Column::new(&job.encoder, job.case, &tags);
            let hits = asked.iter().filter(|&&tag| column.hash_has(&job.encoder, tag)).count();
            count.measured += share * hits as f64 / asked.len() as f64;
            count.ideal += share * formula;
            count.expected += asked.len() as f64 * formula;
            count.placements += 1;
        }
    }
    counts
}

/// What one job makes of structures.
#[derive(Clone, Default)]
struct Verdict(Vec<(&'static str, String, Count)>);

impl Verdict {
    fn of_all(structures: &[Structure], jobs: &[Job], effort: Effort) -> Vec<Self> {
        let mut verdicts = vec![Self::default(); jobs.len()];
        for structure in structures {
            for (verdict, count) in verdicts.iter_mut().zip(count(structure, jobs, effort)) {
                if count.ideal > 0.0 {
                    verdict.0.push((structure.kind, structure.name.clone(), count));
                }
            }
        }
        for verdict in &mut verdicts {
            verdict.0.sort_by(|a, b| b.2.ratio().total_cmp(&a.2.ratio()));
        }
        verdicts
    }

    /// The structure that is farthest above ideal hashing, and its ratio.
    fn worst(&self) -> (&str, f64) {
        (&self.0[0].1, self.0[0].2.ratio())
    }

    fn mean(&self) -> f64 {
        self.0.iter().map(|(_, _, count)| count.ratio()).sum::<f64>() / self.0.len() as f64
    }

    /// A mean of the ratios in which bad ones count most.
    fn badness(&self) -> f64 {
        (self.0.iter().map(|(_, _, count)| count.ratio().powi(8)).sum::<f64>() / self.0.len() as f64).powf(0.125)
    }

    /// All structures of a kind together.
    fn kind(&self, kind: &str) -> f64 {
        let sum = |rate: &dyn Fn(&Count) -> f64| -> f64 {
            self.0.iter().filter(|of| of.0 == kind).map(|(_, _, count)| rate(count) / count.placements as f64).sum()
        };
        sum(&|count| count.measured) / sum(&|count| count.ideal)
    }

    /// The fewest false positives that ideal hashing would have had on a structure.
    fn expected(&self) -> f64 {
        self.0.iter().map(|(_, _, count)| count.expected).fold(f64::INFINITY, f64::min)
    }
}

/// The kinds of structures for which the limit holds of all structures together.
const KINDS: [&str; 4] = ["tile", "stencil", "tree", "stride"];

/// The filters that have to be as good as ideal hashing on structured tags, as far as the ideal
/// rate is high enough to be measured.
fn grid(tag_bits: u32) -> Vec<Case> {
    let sizes = [1280, 2560, 5120, 10_240, 20_480];
    let with_mask = sizes.iter().flat_map(|&m| [2, 4, 8].map(|k| Case::new(true, m, k)));
    let without = sizes.iter().flat_map(|&m| [1, 2, 4, 8].map(|k| Case::new(false, m, k)));
    with_mask.chain(without).map(|case| Case { tag_bits, ..case }).filter(|case| case.formula() > 8e-5).collect()
}

/// The filter of the default configuration.
fn default_case() -> Case {
    Case::new(true, 5120, 4)
}

/// Every output bit the parity of three random tag bits.
fn three_taps(case: Case) -> Encoder {
    let mut random = Random(3);
    let mut hash = HashMatrices::new(HashScheme::Double, case.shape()).expect("a legal size");
    for taps in hash.bases.iter_mut().flat_map(|base| &mut base.taps) {
        *taps = (0..3).fold(0, |taps, _| taps | 1 << random.below(STUDY_TAG_BITS.into()));
    }
    Encoder::new(hash)
}

#[test]
fn random_tags_meet_the_formula() {
    for case in cases().into_iter().filter(|case| case.hash_formula() > 2e-3) {
        for scheme in [HashScheme::Double, HashScheme::Independent] {
            let (rate, _) = case.measure(&encoder(scheme, case), 100, 2500.0);
            let ratio = rate / case.formula();
            assert!((ratio - 1.0).abs() < 0.1, "{scheme:?}, {case:?}: {ratio:.3} of the formula");
        }
    }
}

#[test]
fn measure_of_random_tags_sees_overlapping_progressions() {
    // Few lines in a large filter, where double hashing is known to fall short.
    let case = Case { lines: 64, ..Case::new(false, 1024, 7) };
    let ratio = |encoder: &Encoder| case.measure(encoder, 200, 2500.0).0 / case.formula();
    let (plain, ideal) = (ratio(&plain_double(case)), ratio(&Encoder::ideal(case.shape())));
    assert!(plain > 1.4, "{plain:.3}");
    assert!((ideal - 1.0).abs() < 0.1, "{ideal:.3}");
}

/// All bits of `g` searched as one, as if rows that are no power of two needed all of them.
fn searched_as_one(case: Case) -> Encoder {
    let mut hash = HashMatrices::new(HashScheme::Double, case.shape()).expect("a legal size");
    let odd_base = (hash.bases.len() > 1).then_some(1);
    hash.bases = generate::bases(case.tag_bits, hash.g_bits, 0, hash.bases.len(), odd_base, 0);
    Encoder::new(hash)
}

#[test]
fn structured_tags_are_close_to_ideal() {
    let structures = structures();
    let verdicts = |jobs: &[Job]| Verdict::of_all(&structures, jobs, Effort { placements: 60, expected: 150.0, seed: 4 });
    let kinds = |verdict: &Verdict| KINDS.map(|kind| verdict.kind(kind)).into_iter().fold(0.0, f64::max);
    let mut jobs: Vec<Job> = [41, 33].into_iter().flat_map(grid).map(Job::new).collect();
    let of_product = jobs.len();
    jobs.extend(grid(41).into_iter().filter(|case| case.formula() > 1e-2).map(|case| Job { case, encoder: searched_as_one(case) }));
    let case = default_case();
    jobs.push(Job { case, encoder: three_taps(case) });
    let verdicts = verdicts(&jobs);
    let (good, bad) = verdicts.split_at(of_product);

    for (Job { case, .. }, verdict) in jobs.iter().zip(good) {
        let (structure, ratio) = verdict.worst();
        let (kinds, badness) = (kinds(verdict), verdict.badness());
        assert!(kinds < 1.25 && badness < 1.3, "{case:?}: kinds {kinds:.2}, badness {badness:.2}, {structure} {ratio:.2}");
    }
    // A seed that got worse shows in the mean of all filters.
    let mean = good.iter().map(Verdict::badness).sum::<f64>() / good.len() as f64;
    assert!(mean < 1.02, "{mean:.3}");

    // What would be worse is seen to be.
    let (three_taps, as_one) = bad.split_last().expect("three taps");
    let worse = as_one.iter().filter(|verdict| verdict.badness() > 1.25).count();
    assert!(worse >= 4, "{worse} of {}", as_one.len());
    assert!(three_taps.worst().1 > 3.0, "three random taps: {:?}", three_taps.worst());
}

/// The rules tried in place of plain double hashing, as coefficients of the bases.
fn alternatives(case: Case) -> Vec<(&'static str, Encoder)> {
    let shape = |hashes| HashShape { hashes, ..case.shape() };
    let generate = |scheme, hashes| HashMatrices::new(scheme, shape(hashes)).expect("a legal size");
    let mut triple = generate(HashScheme::Double, 2);
    triple.bases.push(generate(HashScheme::Independent, 3).bases.remove(2));
    let with = |coefficients: &dyn Fn(u32) -> [u32; 3]| {
        let coefficients = (0..case.hashes).map(|i| coefficients(i).to_vec()).collect();
        Encoder::new(HashMatrices { coefficients, ..triple.clone() })
    };
    vec![
        ("`h1 + i h2`", plain_double(case)),
        ("`h1 + (i mod 3) h2 + (i div 3) h3`", with(&|i| [1, i % 3, i / 3])),
        ("`h1 + i h2 + i(i-1)/2 h3`", with(&|i| [1, i, i * i.saturating_sub(1) / 2])),
        ("double, own base from the fourth on", encoder(HashScheme::Double, case)),
        ("independent", encoder(HashScheme::Independent, case)),
        ("ideal", Encoder::ideal(case.shape())),
    ]
}

#[test]
#[ignore = "minutes in a release build"]
fn full_random_tags() {
    println!("\n## Random tags\n");
    println!("| mask | m | k | hash bits | hashes | formula | `double` | of the formula | `independent`, of the formula |");
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut worst = 0.0f64;
    for case in cases() {
        let formula = case.formula();
        let ratio = |scheme| {
            let (rate, error) = case.measure(&encoder(scheme, case), 200, 4000.0);
            (rate, rate / formula, error / formula)
        };
        let (double, independent) = (ratio(HashScheme::Double), ratio(HashScheme::Independent));
        worst = worst.max((double.1 - 1.0).abs()).max((independent.1 - 1.0).abs());
        let mask = if case.mask { MASK_BITS as u32 } else { 0 };
        println!(
            "| {mask} | {} | {} | {} | {} | {formula:.3e} | {:.3e} | {:.3} ± {:.3} | {:.3} ± {:.3} |",
            mask + case.hash_bits,
            case.hashes + u32::from(case.mask),
            case.hash_bits,
            case.hashes,
            double.0,
            double.1,
            double.2,
            independent.1,
            independent.2
        );
    }
    assert!(worst < 0.1, "{worst:.3} off the formula");
}

#[test]
#[ignore = "minutes in a release build"]
fn full_rules() {
    println!("\n## Rules for large filters\n");
    let case = |hash_bits, hashes| Case::new(false, hash_bits, hashes);
    let sizes = [
        (4096, 8),
        (7680, 8),
        (8128, 8),
        (8192, 7),
        (8192, 8),
        (10_240, 8),
        (16_384, 4),
        (16_384, 5),
        (19_456, 7),
        (20_480, 5),
        (20_480, 8),
        (65_536, 3),
    ];
    println!(
        "| hash bits | hashes | formula | {} |",
        alternatives(case(4096, 4)).iter().map(|rule| rule.0).collect::<Vec<_>>().join(" | ")
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (hash_bits, hashes) in sizes {
        let case = case(hash_bits, hashes);
        let ratios = alternatives(case).into_iter().map(|(_, encoder)| {
            let (rate, error) = case.measure(&encoder, 200, 1500.0);
            format!("{:.2} ± {:.2}", rate / case.formula(), error / case.formula())
        });
        println!("| {hash_bits} | {hashes} | {:.2e} | {} |", case.formula(), ratios.collect::<Vec<_>>().join(" | "));
    }
}

/// The hashes of a case with another number of extra bits.
fn with_extra_bits(case: Case, extra: u32) -> Encoder {
    let mut hash = HashMatrices::new(HashScheme::Double, case.shape()).expect("a legal size");
    hash.remaining_bits = hash.remaining_bits - EXTRA_BITS + extra;
    hash.g_bits = hash.bank_bits + hash.remaining_bits;
    let low_bits = hash.remaining_bits - hash.hash_rows.ilog2();
    hash.bases = generate::bases(case.tag_bits, hash.g_bits, low_bits, hash.bases.len(), Some(1), 0);
    Encoder::new(hash)
}

#[test]
#[ignore = "minutes in a release build"]
fn full_extra_bits() {
    println!("\n## Range reduction\n");
    println!("| hash bits | hashes | 0 extra bits | 1 | 2 | 3 | 4 | 6 |");
    println!("|---|---|---|---|---|---|---|---|");
    for (hash_bits, hashes) in [(1536, 3), (2560, 4), (9216, 7), (10_240, 6), (19_456, 3), (20_480, 5)] {
        let case = Case::new(false, hash_bits, hashes);
        let ratios = [0, 1, 2, 3, 4, 6].map(|extra| {
            let (rate, error) = case.measure(&with_extra_bits(case, extra), 200, 3000.0);
            format!("{:.2} ± {:.2}", rate / case.formula(), error / case.formula())
        });
        println!("| {hash_bits} | {hashes} | {} |", ratios.join(" | "));
    }
}

/// Every thread block holds the last lines it touched and is asked for the lines others touch.
#[test]
#[ignore = "needs traces in L1FORGE_DATA"]
fn full_traces() {
    let Some(folder) = std::env::var_os("L1FORGE_DATA") else {
        println!("L1FORGE_DATA is not set: no traces");
        return;
    };
    println!("\n## Traces\n");
    let mut files = Vec::new();
    let mut folders = vec![std::path::PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a readable folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "traceg") {
                files.push(path);
            }
        }
    }
    files.sort();
    println!("| trace | thread blocks | lines of all | queries | ideal | `double` | `independent` |");
    println!("|---|---|---|---|---|---|---|");
    let case = default_case();
    let encoders = [Encoder::ideal(case.shape()), encoder(HashScheme::Double, case), encoder(HashScheme::Independent, case)];
    for file in files {
        let blocks = lines_of_trace(&std::fs::read_to_string(&file).expect("a readable trace"));
        let all: BTreeSet<u64> = blocks.iter().flatten().copied().collect();
        let (mut queries, mut hits) = (0, [0; 3]);
        for tags in blocks.iter().filter(|tags| !tags.is_empty()) {
            let held = &tags[tags.len().saturating_sub(LINES)..];
            let columns = encoders.each_ref().map(|encoder| Column::new(encoder, case, held));
            for &tag in all.iter().filter(|tag| !held.contains(tag)) {
                queries += 1;
                for ((encoder, column), hits) in encoders.iter().zip(&columns).zip(&mut hits) {
                    *hits += u32::from(column.mask_has(tag) && column.hash_has(encoder, tag));
                }
            }
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        println!("| {name} | {} | {} | {queries} | {} | {} | {} |", blocks.len(), all.len(), hits[0], hits[1], hits[2]);
    }
}

/// A crude reading of an Accel-Sim trace: the distinct lines of the global accesses of each thread
/// block, in order of their last use.
fn lines_of_trace(text: &str) -> Vec<Vec<u64>> {
    let mut blocks: Vec<Vec<u64>> = Vec::new();
    for line in text.lines() {
        if line.starts_with("thread block") {
            blocks.push(Vec::new());
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let global = words.iter().any(|word| ["LDG", "STG", "ATOMG", "RED"].iter().any(|op| word.starts_with(op)));
        let Some(first) = words.iter().position(|word| word.starts_with("0x")).filter(|_| global) else { continue };
        let Some(block) = blocks.last_mut() else { continue };
        let lanes = u32::from_str_radix(words[1], 16).unwrap_or(0).count_ones() as usize;
        let number = |word: &str| i64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap_or(0);
        let decimal = |word: &&str| word.parse::<i64>().unwrap_or(0);
        let start = number(words[first]);
        let addresses: Vec<i64> = match words[first - 1] {
            "1" => (0..lanes as i64).map(|lane| start + lane * words.get(first + 1).map_or(0, decimal)).collect(),
            "2" => words[first + 1..]
                .iter()
                .map(decimal)
                .scan(start, |at, step| {
                    *at += step;
                    Some(*at)
                })
                .chain([start])
                .collect(),
            _ => words[first..].iter().map(|word| number(word)).collect(),
        };
        for address in addresses {
            let tag = address as u64 >> 7;
            block.retain(|&other| other != tag);
            block.push(tag);
        }
    }
    blocks
}

#[test]
#[ignore = "minutes in a release build"]
fn full_structured_tags() {
    println!("\n## Structured tags\n");
    let case = default_case();
    let structures = structures();
    let effort = Effort { placements: 60, expected: 1000.0, seed: 4 };
    let jobs = [Job::new(case), Job { case, encoder: encoder(HashScheme::Independent, case) }];
    let [double, independent] = &Verdict::of_all(&structures, &jobs, effort)[..] else { panic!("two jobs") };
    let independent: BTreeMap<_, _> = independent.0.iter().map(|(_, name, count)| (name, count.ratio())).collect();
    println!("| structure | ideal | `double`, of ideal | `independent`, of ideal |");
    println!("|---|---|---|---|");
    for (_, name, count) in &double.0 {
        let ideal = count.ideal / count.placements as f64;
        println!("| {name} | {ideal:.2e} | {:.2} | {:.2} |", count.ratio(), independent[name]);
    }
    println!("\n| tag bits | mask | m | k | formula | worst structure | of ideal | mean | {} | expected |", KINDS.join(" | "));
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    let jobs: Vec<Job> = [41, 33].into_iter().flat_map(grid).map(Job::new).collect();
    for (Job { case, .. }, verdict) in jobs.iter().zip(Verdict::of_all(&structures, &jobs, effort)) {
        let mask = if case.mask { MASK_BITS as u32 } else { 0 };
        let (m, k) = (mask + case.hash_bits, case.hashes + u32::from(case.mask));
        let (worst, ratio) = verdict.worst();
        let kinds = KINDS.map(|kind| format!("{:.2}", verdict.kind(kind))).join(" | ");
        println!(
            "| {} | {mask} | {m} | {k} | {:.1e} | {worst} | {ratio:.2} | {:.2} | {kinds} | {:.0} |",
            case.tag_bits,
            case.formula(),
            verdict.mean(),
            verdict.expected()
        );
    }
}

/// Chooses the table of seeds in [`generate`], on structures the tests do not use: the best few
/// seeds on a few placements, and of these the best on many. Filters that say yes to more than a
/// quarter of all tags anyway are left out.
#[test]
#[ignore = "minutes in a release build; prints the table"]
fn pick_seeds() {
    let (few, many) = (training(56), training(168));
    let mut groups: BTreeMap<(u32, u32, u32), Vec<Case>> = BTreeMap::new();
    for case in [41, 33].into_iter().flat_map(grid).filter(|case| case.formula() < 0.25) {
        let layout = Layout::new(case.shape()).expect("a legal size");
        groups.entry((case.tag_bits, layout.g_bits - layout.low_bits(), case.hashes)).or_default().push(case);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by(|a, b| b.1[0].hash_formula().total_cmp(&a.1[0].hash_formula()));
    for ((tag_bits, main_bits, hashes), cases) in groups {
        // The badness of the seeds, in all cases of the group the worst, and the worst of all structures.
        let best = |structures: &[Structure], seeds: &[u64], effort| {
            let with_seed = |&seed: &u64| cases.iter().map(move |&case| Job::with_seed(case, seed));
            let jobs: Vec<Job> = seeds.iter().flat_map(with_seed).collect();
            let verdicts = Verdict::of_all(structures, &jobs, effort);
            let most = |verdicts: &[Verdict], of: &dyn Fn(&Verdict) -> f64| verdicts.iter().map(of).fold(0.0, f64::max);
            let seeds = verdicts.chunks(cases.len()).zip(seeds);
            let mut all: Vec<(f64, u64, f64)> = seeds
                .map(|(verdicts, &seed)| (most(verdicts, &Verdict::badness), seed, most(verdicts, &|verdict| verdict.worst().1)))
                .collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            all
        };
        let seeds: Vec<u64> = (0..48).map(|number| 16 * number).collect();
        let all = best(&few, &seeds, Effort { placements: 8, expected: 80.0, seed: 1 });
        let median = all[all.len() / 2].0;
        let seeds: Vec<u64> = all.iter().take(4).map(|best| best.1).collect();
        let all = best(&many, &seeds, Effort { placements: 16, expected: 250.0, seed: 2 });
        println!(
            "({tag_bits}, {main_bits}, {hashes}, {}), // {:.2}, worst {:.2}; median of all {median:.2}; {all:.2?}",
            all[0].1, all[0].0, all[0].2
        );
    }
}
