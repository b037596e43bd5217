//! Search for sparse full-rank matrices.
//!
//! A matrix is built column by column, low tag bits first: column `t` holds the output bits that
//! tag bit `t` feeds. Every row has [`MAX_TAPS`] taps to spend. Each new column is the best of a
//! few random ones. Best means that it lies in the span of as few as possible of these sets of
//! earlier columns, in falling order of importance:
//!
//! * the columns just before it, so that a contiguous run of tag bits is hashed without collision;
//! * the same for the columns of this matrix stacked on those of its predecessor;
//! * a run that ends just before it together with an earlier run, the two index ranges of a 2-D
//!   tile.
//!
//! There is always a way out: once some run of columns is a basis, columns of a single tap, each
//! row in turn, keep every later run a basis. The taps for that are set aside. What is left over
//! is spent as early as possible, since low tag bits vary most.

use super::{BaseHash, HashScheme, MAX_TAPS};

/// Whole searches made with other random numbers when a matrix falls short.
const ATTEMPTS: u64 = 16;
/// Attempts before runs may fall short of full rank. With hardly more than `rows * MAX_TAPS` tag
/// bits they force one and the same matrix, but for the order of its rows.
const STRICT_ATTEMPTS: u64 = 4;
/// Columns chosen in one search, for each tag bit, before it stops going back.
const STEPS: u32 = 8;
/// Random columns tried for each tag bit.
const CANDIDATES: usize = 16;
/// Bits of the two index ranges of a tile together: the lines of an L1 and as many others.
const TILE_BITS: u32 = 10;
/// Output bits more than those of a tile: with as many, half of all tiles fail whatever is done.
const SLACK_BITS: u32 = 2;
/// Tiles looked at for each column, about: a random choice of all.
const TILES: u32 = 32;
/// Index of the search for the low bits of the first base hash.
const LOW_INDEX: usize = 8;
/// Cost of a contiguous run that is not of full rank, and of a stacked one.
const RUN_COST: u32 = 2;
const STACK_COST: u32 = 1;

/// Seeds for the scheme `double` by `tag_bits` and the bits of `g` that are not low ones, each from
/// a number of hashes on: the best of some on structured tags, found by the ignored test
/// `pick_seeds`. All other sizes start from seed 0, which is as good in rank and worse on the worst
/// structures. `docs/decisions/hash.md` tells how much.
const SEEDS: &[(u32, u32, &[(u32, u64)])] = &[
    (30, 12, &[(0, 480)]),
    (31, 12, &[(0, 944)]),
    (32, 12, &[(0, 944)]),
    (33, 10, &[(1, 0), (3, 128), (7, 528)]),
    (33, 11, &[(1, 64), (2, 560), (4, 560), (8, 480)]),
    (33, 12, &[(1, 304), (2, 640), (3, 272), (4, 240), (7, 272), (8, 672)]),
    (33, 13, &[(1, 96), (2, 336), (3, 736), (4, 0)]),
    (33, 14, &[(1, 336), (2, 400), (3, 400)]),
    (34, 12, &[(0, 704)]),
    (35, 12, &[(0, 672)]),
    (36, 12, &[(0, 800)]),
    (37, 12, &[(0, 0)]),
    (38, 12, &[(0, 736)]),
    (39, 12, &[(0, 176)]),
    (40, 12, &[(0, 192)]),
    (41, 10, &[(1, 544), (3, 672), (7, 672)]),
    (41, 11, &[(1, 544), (2, 560), (4, 752), (8, 752)]),
    (41, 12, &[(1, 288), (2, 112), (3, 848), (4, 224), (7, 672), (8, 336)]),
    (41, 13, &[(1, 32), (2, 672), (3, 640), (4, 624)]),
    (41, 14, &[(1, 416), (2, 576), (3, 416)]),
    (42, 12, &[(0, 624)]),
    (43, 12, &[(0, 432)]),
    (44, 12, &[(0, 64)]),
    (45, 12, &[(0, 864)]),
    (46, 12, &[(0, 176)]),
    (57, 12, &[(0, 912)]),
];

/// The seed of a size, `main_bits` being the bits of `g` without the low ones.
pub(super) fn seed(scheme: HashScheme, tag_bits: u32, main_bits: u32, hashes: u32) -> u64 {
    let entry = SEEDS.iter().find(|entry| scheme == HashScheme::Double && (entry.0, entry.1) == (tag_bits, main_bits));
    let last = entry.and_then(|entry| entry.2.iter().rev().find(|seed| seed.0 <= hashes));
    last.map_or(0, |seed| seed.1)
}

/// `count` base hashes of `g_bits` bits; bit 0 of base `odd_base` is the constant 1. Base `i` is
/// the same whatever `count`. Different seeds give different random numbers; at
/// least `ATTEMPTS` lie between two that share none.
///
/// The `low_bits` lowest bits only spread the load of the range reduction evenly. The other ones
/// make nearly all of the position, so they are searched on their own, as if `g` had no more, and
/// the low ones then are added.
pub(super) fn bases(tag_bits: u32, g_bits: u32, low_bits: u32, count: usize, odd_base: Option<usize>, seed: u64) -> Vec<BaseHash> {
    // The constant bit takes no part in the search.
    let fixed = |index| u32::from(odd_base == Some(index) && g_bits > 0);
    let search = |earlier: &[Matrix], attempt| {
        let index = earlier.len();
        let loose = index > 0 && attempt >= seed + STRICT_ATTEMPTS;
        let rows = if low_bits == 0 { g_bits - fixed(index) } else { g_bits - low_bits };
        Search { tag_bits, rows, index, attempt, loose, earlier }.run()
    };
    // The first two are searched together, each later one on its own.
    let pair = |attempt| {
        let first = search(&[], attempt);
        let second = search(std::slice::from_ref(&first), attempt);
        vec![first, second]
    };
    let mut matrices = first_good(seed, pair);
    while matrices.len() < count {
        let next = first_good(seed, |attempt| vec![search(&matrices, attempt)]);
        matrices.extend(next);
    }
    let base = |(index, matrix): (usize, &Matrix)| {
        let fixed = fixed(index);
        let low = (low_bits > 0).then(|| {
            let (rows, earlier) = (low_bits - fixed, std::slice::from_ref(matrix));
            Search { tag_bits, rows, index: LOW_INDEX + index, attempt: seed, loose: false, earlier }.run()
        });
        let rows = [low.as_ref(), Some(matrix)].into_iter().flatten().flat_map(Matrix::all_taps);
        BaseHash { taps: (0..fixed).map(|_| 0).chain(rows).collect(), constant: fixed }
    };
    matrices.iter().take(count).enumerate().map(base).collect()
}

/// The first result that is good in every matrix, or the first of all.
fn first_good(seed: u64, search: impl Fn(u64) -> Vec<Matrix>) -> Vec<Matrix> {
    let first = search(seed);
    let good = |matrices: &Vec<Matrix>| matrices.iter().all(|matrix| matrix.good);
    if good(&first) { first } else { (seed + 1..seed + ATTEMPTS).map(search).find(good).unwrap_or(first) }
}

/// The columns of a matrix, one per tag bit, each of `rows` bits.
struct Matrix {
    columns: Vec<u64>,
    rows: u32,
    /// No row is empty, and stacked on the matrix before the rank is as high as it can be.
    good: bool,
}

impl Matrix {
    /// The tap masks of all rows.
    fn all_taps(&self) -> impl Iterator<Item = u64> {
        (0..self.rows).map(|row| self.taps(row))
    }

    /// The tap mask of a row.
    fn taps(&self, row: u32) -> u64 {
        self.columns.iter().enumerate().fold(0, |mask, (t, &column)| mask | bit(column, row) << t)
    }
}

fn bit(value: u64, index: u32) -> u64 {
    value >> index & 1
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, bound: u32) -> u32 {
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }
}

/// A growing subspace of GF(2)^48, one vector per leading bit.
#[derive(Clone)]
struct Span([u64; 48]);

impl Span {
    fn of(vectors: &[u64]) -> Self {
        let mut span = Self([0; 48]);
        span.extend(vectors);
        span
    }

    fn extend(&mut self, vectors: &[u64]) {
        for &vector in vectors {
            let rest = self.reduce(vector);
            if rest != 0 {
                self.0[rest.ilog2() as usize] = rest;
            }
        }
    }

    /// The vector minus what the span has of it: 0 when the span contains it.
    fn reduce(&self, mut vector: u64) -> u64 {
        while vector != 0 {
            let basis = self.0[vector.ilog2() as usize];
            if basis == 0 {
                break;
            }
            vector ^= basis;
        }
        vector
    }

    fn contains(&self, vector: u64) -> bool {
        self.reduce(vector) == 0
    }

    fn rank(&self) -> u32 {
        self.0.iter().map(|&vector| u32::from(vector != 0)).sum()
    }
}

struct Search<'a> {
    tag_bits: u32,
    rows: u32,
    index: usize,
    attempt: u64,
    /// Runs need not be of full rank.
    loose: bool,
    earlier: &'a [Matrix],
}

impl Search<'_> {
    fn run(&self) -> Matrix {
        let seed = [self.tag_bits.into(), self.rows.into(), self.index as u64, self.attempt];
        let mut random = Random(seed.iter().fold(0, |all, part| all << 16 | part));
        let left_out = self.left_out();
        let predecessor_rows = self.earlier.last().map_or(0, |matrix| matrix.rows);
        // Full rank of the stack is a must only where all tag bits fit.
        let must = if self.loose {
            u32::MAX
        } else if self.tag_bits <= self.rows + predecessor_rows {
            STACK_COST
        } else {
            RUN_COST
        };
        let mut columns: Vec<u64> = Vec::new();
        let mut steps = 0;
        while columns.len() < self.tag_bits as usize {
            let t = columns.len() as u32;
            if bit(left_out, t) == 1 {
                columns.push(0);
                continue;
            }
            let columns_left = (self.tag_bits - t) - (left_out >> t).count_ones();
            let (cost, column) = self.choose(&columns, columns_left, &mut random);
            steps += 1;
            if cost >= must && t > 0 && steps < STEPS * self.tag_bits {
                let back = 1 + random.below(t.min(self.rows));
                columns.truncate((t - back) as usize);
            } else {
                columns.push(column);
            }
        }
        let used = columns.iter().fold(0, |all, column| all | column);
        let full_rank = |matrix| Span::of(&self.stacked(&columns, matrix)).rank() == (self.rows + matrix.rows).min(self.tag_bits);
        let good = used.count_ones() == self.rows && self.earlier.last().is_none_or(full_rank);
        Matrix { columns, rows: self.rows, good }
    }

    fn stacked(&self, columns: &[u64], other: &Matrix) -> Vec<u64> {
        columns.iter().zip(&other.columns).map(|(column, other)| column | other << self.rows).collect()
    }

    /// Tag bits this matrix leaves out because the taps do not suffice. Matrices of even and odd
    /// index leave out different ones, high bits first.
    fn left_out(&self) -> u64 {
        // Some more in a loose search, or else every column would have exactly one tap.
        let more = if self.loose { self.rows / 2 } else { 0 };
        let missing = self.tag_bits.saturating_sub(self.rows * MAX_TAPS - more) as usize;
        let mut order: Vec<u32> = (0..self.tag_bits).rev().collect();
        if self.attempt.is_multiple_of(2) {
            // Every second bit: the top one first, its neighbour last.
            let (first, last): (Vec<u32>, Vec<u32>) = order.iter().partition(|&&t| (self.tag_bits - t) % 2 == 1);
            order = first.into_iter().chain(last.into_iter().rev()).collect();
        }
        if self.index % 2 == 1 {
            order.reverse();
        }
        order[..missing].iter().fold(0, |mask, t| mask | 1 << t)
    }

    /// The next column and the cost of the runs it ends.
    fn choose(&self, columns: &[u64], columns_left: u32, random: &mut Random) -> (u32, u64) {
        let candidates = self.candidates(columns, columns_left, random);
        let costs = self.run_costs(columns, &candidates);
        let least = costs.iter().copied().min().unwrap_or(RUN_COST);
        // Only the candidates that pass the runs are worth a look at the tiles, which is slow.
        let passed = candidates.iter().zip(costs).filter(|&(_, cost)| cost == least).map(|(&column, _)| column);
        let tiles = if least == 0 { self.tiles(columns, random) } else { Vec::new() };
        let mut best = (usize::MAX, 0);
        for column in passed.take(CANDIDATES) {
            let cost = tiles.iter().filter(|tile| tile.contains(column)).count();
            if cost < best.0 {
                best = (cost, column);
            }
        }
        (least, best.1)
    }

    /// Random columns the tap budget allows, then those of one tap.
    fn candidates(&self, columns: &[u64], columns_left: u32, random: &mut Random) -> Vec<u64> {
        let used = |row| columns.iter().map(|&column| bit(column, row) as u32).sum::<u32>();
        let left: Vec<u32> = (0..self.rows).map(|row| MAX_TAPS - used(row)).collect();
        // The way out: one tap per row for every `rows` columns to come.
        let aside = if self.loose { 0 } else { (columns_left - 1).div_ceil(self.rows) };
        let free: Vec<u32> = (0..self.rows).filter(|&row| left[row as usize] > aside).collect();
        let spare: u32 = free.iter().map(|&row| left[row as usize] - aside).sum();
        // The columns that share the spare taps: those before fewer taps need be set aside.
        let share = if self.loose { columns_left } else { (columns_left - 1 - aside.saturating_sub(1) * self.rows).max(1) };
        // At most twice the mean weight, lest the first columns take all.
        let most = (2 * self.rows * MAX_TAPS).div_ceil(self.tag_bits).min(self.rows / 2 + 1);
        let more_taps_than_columns = left.iter().sum::<u32>() > columns_left;
        let mut candidates = Vec::new();
        for _ in 0..CANDIDATES {
            let round_up = u32::from(random.below(share) < spare % share);
            let even = (spare / share + round_up).clamp(1, most);
            // Columns all of the same weight would make the sum of all rows constant.
            let weight = match random.below(4) {
                0 if more_taps_than_columns => even + 1,
                1 => (even - 1).max(1),
                _ => even,
            };
            let mut column = 0u64;
            while column.count_ones() < weight.min(free.len() as u32) {
                let row = free[random.below(free.len() as u32) as usize];
                // Rows with more taps left are taken more often, so that none is left over.
                if random.below(MAX_TAPS - aside) < left[row as usize] - aside {
                    column |= 1 << row;
                }
            }
            candidates.extend((column != 0).then_some(column));
        }
        candidates.extend((0..self.rows).filter(|&row| left[row as usize] > 0).map(|row| 1u64 << row));
        candidates
    }

    /// What each candidate costs as to the columns just before it.
    fn run_costs(&self, columns: &[u64], candidates: &[u64]) -> Vec<u32> {
        let run = last_run(columns, self.rows);
        let stack = self.earlier.last().map(|matrix| {
            let span = last_run(&self.stacked(columns, matrix), self.rows + matrix.rows);
            (span, matrix.columns[columns.len()] << self.rows)
        });
        let cost = |&column: &u64| {
            let stacked = stack.as_ref().is_some_and(|(span, given)| span.contains(column | given));
            RUN_COST * u32::from(!self.loose && run.contains(column)) + STACK_COST * u32::from(stacked)
        };
        candidates.iter().map(cost).collect()
    }

    /// The spans of some of the tiles that the next column completes.
    fn tiles(&self, columns: &[u64], random: &mut Random) -> Vec<Span> {
        let t = columns.len();
        let bits = self.rows.saturating_sub(SLACK_BITS).min(TILE_BITS) as usize;
        // The late run has `late` bits with the new one, the early run the others.
        let starts = (t + 1).saturating_sub(bits);
        let all = starts as u32 * bits.saturating_sub(1) as u32;
        let mut tiles = Vec::new();
        for late in 1..bits.min(t) {
            let span = Span::of(&columns[t + 1 - late..]);
            for start in 0..starts {
                if random.below(all) < TILES {
                    let mut tile = span.clone();
                    tile.extend(&columns[start..start + bits - late]);
                    tiles.push(tile);
                }
            }
        }
        tiles
    }
}

/// The span of the last `bits - 1` columns.
fn last_run(columns: &[u64], bits: u32) -> Span {
    Span::of(&columns[(columns.len() + 1).saturating_sub(bits as usize)..])
}
