//! Search for sparse full-rank matrices.
//!
//! A matrix is built column by column, low tag bits first (column `t` holds the output bits that
//! tag bit `t` feeds). Each new column is the best of a few random ones of the weight the tap
//! budget allows. Best means that it lies in the span of as few as possible of these sets of
//! earlier columns, in falling order of importance:
//!
//! * the columns just before it, so that a contiguous run of tag bits is hashed without collision;
//! * the same for the columns of this matrix and its predecessor stacked;
//! * a run that ends just before it together with an earlier run (the two index ranges of a 2-D
//!   tile), for all ways to share [`TILE_BITS`] between the two.
//!
//! When no column avoids the first two, the search goes back a few columns.

use super::{BaseHash, MAX_TAPS};

/// Columns chosen in all, for each tag bit, before a run that is not of full rank is accepted.
const STEPS: u32 = 8;
/// Random columns tried for each tag bit, beside all of weight one.
const CANDIDATES: usize = 24;
/// Bits of the two index ranges of a tile together: enough for the lines of an L1 and as many
/// others.
const TILE_BITS: u32 = 10;
/// Output bits more than those of a tile: with as many, half of all tiles fail whatever is done.
const SLACK_BITS: u32 = 2;
/// Tiles looked at for each column, about: a random choice of all.
const TILES: u32 = 64;
/// Cost of a contiguous run that is not of full rank, and of a stacked one.
const RUN_COST: u32 = 2;
const STACK_COST: u32 = 1;

/// `count` base hashes of `g_bits` bits; bit 0 of base `odd_base` is the constant 1.
pub(super) fn bases(tag_bits: u32, g_bits: u32, count: usize, odd_base: Option<usize>) -> Vec<BaseHash> {
    let mut bases = Vec::new();
    let mut previous = vec![0; tag_bits as usize];
    let mut previous_rows = 0;
    for index in 0..count {
        // The constant bit takes no part in the search.
        let fixed = u32::from(odd_base == Some(index) && g_bits > 0);
        let rows = g_bits - fixed;
        let columns = Search { tag_bits, rows, index, previous: &previous, previous_rows }.run();
        let taps = (0..g_bits).map(|row| match row.checked_sub(fixed) {
            None => 0,
            Some(row) => (0..tag_bits).fold(0, |mask, t| mask | bit(columns[t as usize], row) << t),
        });
        bases.push(BaseHash { taps: taps.collect(), constant: fixed });
        previous = columns;
        previous_rows = rows;
    }
    bases
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
        vectors.iter().for_each(|&vector| span.insert(vector));
        span
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

    fn insert(&mut self, vector: u64) {
        let vector = self.reduce(vector);
        if vector != 0 {
            self.0[vector.ilog2() as usize] = vector;
        }
    }
}

struct Search<'a> {
    tag_bits: u32,
    rows: u32,
    index: usize,
    /// The columns of the base hash before this one (zeros for the first), and their bits.
    previous: &'a [u64],
    previous_rows: u32,
}

impl Search<'_> {
    fn run(&self) -> Vec<u64> {
        let mut random = Random(u64::from(self.tag_bits) | u64::from(self.rows) << 8 | (self.index as u64) << 16);
        let left_out = self.left_out();
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
            if cost > 0 && t > 0 && steps < STEPS * self.tag_bits {
                let back = 1 + random.below(t.min(self.rows));
                columns.truncate((t - back) as usize);
            } else {
                columns.push(column);
            }
        }
        columns
    }

    /// Tag bits this matrix leaves out because the taps do not suffice. Matrices of even and odd
    /// index leave out different ones, high bits first.
    fn left_out(&self) -> u64 {
        let tag_bits = self.tag_bits;
        let missing = tag_bits.saturating_sub(self.rows * MAX_TAPS) as usize;
        let odd = (0..tag_bits).rev().step_by(2);
        let even = (0..tag_bits).rev().skip(1).step_by(2);
        let mut order: Vec<u32> = odd.chain(even.rev()).collect();
        if self.index % 2 == 1 {
            order.reverse();
        }
        order[..missing].iter().fold(0, |mask, t| mask | 1 << t)
    }

    /// The next column and its cost.
    fn choose(&self, columns: &[u64], columns_left: u32, random: &mut Random) -> (u32, u64) {
        // A column may always be repeated after `rows` others: the run stays of full rank. So that
        // this way out is never lost, the taps that the last columns would need to be repeated to
        // the end are set aside.
        let kept: Vec<u64> = columns.iter().copied().filter(|&column| column != 0).collect();
        let rows = self.rows as usize;
        let last = kept.len() + columns_left as usize - 1;
        let repeatable = &kept[(kept.len() + 1).saturating_sub(rows)..];
        let first = kept.len() - repeatable.len();
        let spare = |row| {
            let used: u32 = kept.iter().map(|&column| bit(column, row) as u32).sum();
            let repeats = |(j, &column): (usize, &u64)| bit(column, row) as usize * ((last - first - j) / rows);
            let aside: usize = repeatable.iter().enumerate().map(repeats).sum::<usize>() + (columns_left as usize - 1) / rows;
            (MAX_TAPS - used).saturating_sub(aside as u32)
        };
        let budget: Vec<u32> = (0..self.rows).map(spare).collect();
        let taps: u32 = self.rows * MAX_TAPS - kept.iter().map(|c| c.count_ones()).sum::<u32>();
        // Leave one tap for every later column, and spend the rest evenly.
        let most = (taps - (columns_left - 1)).min(self.rows.div_ceil(2));
        let touched = kept.iter().fold(0, |all, column| all | column);
        // While there are rows without a tap, a column has one of them and other taps only in
        // rows with taps, which makes it independent of those before. No need of that when there
        // are no more columns than rows.
        let fresh: Vec<u64> = (0..self.rows).map(|row| 1 << row).filter(|&row| row & touched == 0 && last >= rows).collect();
        let free: Vec<u64> = (0..self.rows)
            .filter(|&row| budget[row as usize] > 0)
            .map(|row| 1 << row)
            .filter(|&row| fresh.is_empty() || row & touched != 0)
            .collect();
        let pick = |from: &[u64], random: &mut Random| from[random.below(from.len() as u32) as usize];
        let mut candidates = Vec::new();
        for _ in 0..CANDIDATES {
            let round_up = random.below(columns_left) < taps % columns_left;
            let weight = (taps / columns_left + u32::from(round_up)).clamp(1, most);
            let mut column = if fresh.is_empty() { 0 } else { pick(&fresh, random) };
            let mut tries = 0;
            while column.count_ones() < weight && !free.is_empty() && tries < 100 {
                tries += 1;
                let row = pick(&free, random);
                // Rows with more taps left are taken more often, so that none is left over.
                if random.below(MAX_TAPS) < budget[row.ilog2() as usize] {
                    column |= row;
                }
            }
            if column != 0 {
                candidates.push(column);
            }
        }
        candidates.extend((kept.len() >= rows).then(|| kept[kept.len() - rows]));
        candidates.extend(&fresh);
        if fresh.is_empty() {
            candidates.extend(&free);
            if most > 1 {
                let pairs = free.iter().flat_map(|&a| free.iter().map(move |&b| a | b));
                candidates.extend(pairs.filter(|pair: &u64| pair.count_ones() == 2));
            }
        }
        // Runs first: few candidates pass, and tiles are slow.
        let costs = self.run_costs(columns, &candidates);
        let least = costs.iter().copied().min().unwrap_or(RUN_COST);
        let passed = candidates.iter().zip(costs).filter(|&(_, cost)| cost == least);
        let passed: Vec<u64> = passed.map(|(&column, _)| column).take(CANDIDATES).collect();
        let tiles = if least == 0 { self.tiles(columns, random) } else { Vec::new() };
        let mut best = (u32::MAX, 0);
        for column in passed {
            let mut cost = 0;
            for tile in &tiles {
                if cost >= best.0 {
                    break;
                }
                cost += u32::from(tile.contains(column));
            }
            if cost < best.0 {
                best = (cost, column);
            }
        }
        (least, best.1)
    }

    /// What each candidate costs as to the columns just before it.
    fn run_costs(&self, columns: &[u64], candidates: &[u64]) -> Vec<u32> {
        let stacked: Vec<u64> = columns.iter().zip(self.previous).map(|(c, p)| c | p << self.rows).collect();
        let run = last_run(columns, self.rows);
        let stacked_run = last_run(&stacked, self.rows + self.previous_rows);
        let fixed = self.previous[columns.len()] << self.rows;
        let cost = |column| {
            let stacked_cost = if stacked_run.contains(column | fixed) { STACK_COST } else { 0 };
            stacked_cost + if run.contains(column) { RUN_COST } else { 0 }
        };
        candidates.iter().map(|&column| cost(column)).collect()
    }

    /// The spans of the tiles that the next column completes.
    fn tiles(&self, columns: &[u64], random: &mut Random) -> Vec<Span> {
        let t = columns.len();
        let bits = self.rows.saturating_sub(SLACK_BITS).min(TILE_BITS) as usize;
        let mut tiles = Vec::new();
        let starts = |late_len: usize| (t + late_len + 1).saturating_sub(bits + late_len);
        let total: usize = (1..bits.min(t)).map(starts).sum();
        for late_len in 1..bits.min(t) {
            let late = Span::of(&columns[t + 1 - late_len..]);
            let early_len = bits - late_len;
            for start in 0..(t + 1 - late_len).saturating_sub(early_len) {
                if random.below(total as u32) >= TILES {
                    continue;
                }
                let mut tile = late.clone();
                columns[start..start + early_len].iter().for_each(|&column| tile.insert(column));
                tiles.push(tile);
            }
        }
        tiles
    }
}

/// The span of the last `bits - 1` columns.
fn last_run(columns: &[u64], bits: u32) -> Span {
    Span::of(&columns[(columns.len() + 1).saturating_sub(bits as usize)..])
}
