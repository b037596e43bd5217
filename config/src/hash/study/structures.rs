//! Tags with a structure: tiles, stencils, trees, strides.

use super::*;

/// A structured set of tags and other tags of the same structure.
pub(super) struct Placement {
    pub(super) tags: Vec<u64>,
    pub(super) others: Vec<u64>,
}

pub(super) type Place = Box<dyn Fn(&mut Random) -> (Vec<u64>, Vec<u64>)>;

/// A family of structured tags: a name, and how to place one at random.
pub(super) struct Structure {
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) place: Place,
}

impl Structure {
    pub(super) fn new(kind: &'static str, name: String, place: impl Fn(&mut Random) -> (Vec<u64>, Vec<u64>) + 'static) -> Self {
        Self { kind, name, place: Box::new(place) }
    }

    pub(super) fn place(&self, random: &mut Random) -> Placement {
        let (mut tags, mut others) = (self.place)(random);
        tags.truncate(LINES);
        let set: BTreeSet<u64> = tags.iter().copied().collect();
        others.retain(|tag| !set.contains(tag));
        Placement { tags, others }
    }
}

/// A base address in the part of the address space GPUs use.
pub(super) fn base(random: &mut Random, align: u64) -> u64 {
    (0xfe_0000_0000 + random.below(1 << 30)) / align * align
}

/// Lines of a rectangle.
pub(super) fn rectangle(base: u64, pitch: u64, (x, y): (u64, u64), (width, height): (u64, u64)) -> impl Iterator<Item = u64> {
    (y..y + height).flat_map(move |row| (x..x + width).map(move |column| base + row * pitch + column))
}

/// `chunk` of 64 chunks of an array.
pub(super) fn contiguous(align: u64) -> Structure {
    Structure::new("contiguous", format!("contiguous, base aligned to {align}"), move |random| {
        let (base, first) = (base(random, align), random.below(64) * 512);
        ((base + first..base + first + 512).collect(), (base..base + 64 * 512).collect())
    })
}

/// A tile of a matrix, among its neighbours.
pub(super) fn tile(width: u64, pitch: u64) -> Structure {
    let height = 512 / width;
    Structure::new("tile", format!("tile {width} x {height}, pitch {pitch}"), move |random| {
        let base = base(random, 4096);
        let across = (pitch / width).min(8);
        let tile = |x, y| rectangle(base, pitch, (x * width, y * height), (width, height));
        let (x, y) = (random.below(across), random.below(8));
        let others = (0..across).flat_map(|x| (0..8).flat_map(move |y| tile(x, y))).collect();
        (tile(x, y).collect(), others)
    })
}

/// Strips of two factors and a tile of the product.
pub(super) fn gemm(pitch: u64) -> Structure {
    Structure::new("tile", format!("matrix product, pitch {pitch}"), move |random| {
        let (mut tags, mut others) = (Vec::new(), Vec::new());
        for (width, height) in [(5, 32), (4, 40), (6, 32)] {
            let base = base(random, 1 << 14);
            let tile = |x, y| rectangle(base, pitch, (x * width, y * height), (width, height));
            let across = (pitch / width).min(8);
            tags.extend(tile(random.below(across), random.below(8)));
            others.extend((0..across).flat_map(|x| (0..8).flat_map(move |y| tile(x, y))));
        }
        (tags, others)
    })
}

/// Rows of three planes.
pub(super) fn stencil(row: u64, plane: u64) -> Structure {
    Structure::new("stencil", format!("stencil, rows of {row}, planes of {plane}"), move |random| {
        let base = base(random, 256);
        let width = row.min(16);
        let height = 170 / width;
        let block = |z, y| (z..z + 3).flat_map(move |z| rectangle(base + z * plane, row, (0, y * height), (width, height)));
        let (z, y) = (random.below(6), random.below(6));
        (block(z, y).collect(), (0..6).flat_map(|z| (0..6).flat_map(move |y| block(z, y))).collect())
    })
}

/// Paths from the root of trees: `path` gives the lines of a random one.
pub(super) fn tree(name: String, path: impl Fn(u64, &mut Random) -> Vec<u64> + 'static) -> Structure {
    Structure::new("tree", name, move |random| {
        let base = base(random, 32);
        let mut tags = BTreeSet::new();
        while tags.len() < LINES {
            tags.extend(path(base, random));
        }
        let others = (0..2000).flat_map(|_| path(base, random)).collect();
        (tags.into_iter().collect(), others)
    })
}

/// A binary tree laid out as a heap.
pub(super) fn heap(depth: u64, node_bytes: u64) -> Structure {
    tree(format!("binary tree, {node_bytes} B nodes, depth {depth}"), move |base, random| {
        let leaf = random.below(1 << depth);
        (0..=depth).map(|level| base + ((1 << level) - 1 + (leaf >> (depth - level))) * node_bytes / 128).collect()
    })
}

/// A B+tree whose levels lie one after the other.
pub(super) fn b_plus_tree(fanout: u64, node_lines: u64) -> Structure {
    tree(format!("B+tree, fan-out {fanout}, nodes of {node_lines} lines"), move |base, random| {
        let leaf = random.below(fanout.pow(3));
        let (mut nodes, mut first, mut lines) = (1, base, Vec::new());
        for level in 0..4 {
            let node = first + leaf / fanout.pow(3 - level) * node_lines;
            lines.extend(node..node + node_lines);
            first += nodes * node_lines;
            nodes *= fanout;
        }
        lines
    })
}

/// Nodes at the start of pages of an allocator.
pub(super) fn pages(page: u64, node: u64) -> Structure {
    Structure::new("tree", format!("nodes of {node} lines in pages of {page}"), move |random| {
        let base = base(random, 64);
        let mut tags = BTreeSet::new();
        while tags.len() < LINES {
            let first = base + random.below(1 << 14) * page;
            tags.extend(first..first + node);
        }
        let others = (0..20_000).map(|_| base + random.below(1 << 14) * page + random.below(node)).collect();
        (tags.into_iter().collect(), others)
    })
}

/// A part of an arithmetic progression, in one piece or every 32nd element.
pub(super) fn stride(stride: u64, interleaved: bool) -> Structure {
    let name = if interleaved { ", every 32nd" } else { "" };
    Structure::new("stride", format!("stride {stride}{name}"), move |random| {
        let base = base(random, 1);
        let index = if interleaved { 32 } else { 1 };
        let first = if interleaved { random.below(32) } else { random.below(32) * 512 };
        let tags = (0..512).map(|i| base + (first + i * index) * stride).collect();
        (tags, (0..32 * 512).map(|i| base + i * stride).collect())
    })
}

/// The same part of several arrays.
pub(super) fn arrays(count: u64, spacing: u64) -> Structure {
    Structure::new("arrays", format!("{count} arrays, {spacing} apart"), move |random| {
        let (base, length) = (base(random, 1024), 512 / count);
        let part = |p| (0..count).flat_map(move |a| (0..length).map(move |i| base + a * spacing + p * length + i));
        let first = random.below(32);
        (part(first).collect(), (0..32).flat_map(part).collect())
    })
}

/// Structures for the test.
pub(super) fn structures() -> Vec<Structure> {
    let mut all = vec![contiguous(1), contiguous(1 << 16)];
    let tiles = [(1, 32), (1, 100), (1, 256), (2, 8), (2, 32), (4, 16), (4, 24), (4, 64), (4, 100), (8, 32), (8, 40)];
    all.extend(tiles.map(|(width, pitch)| tile(width, pitch)));
    let tiles = [(8, 128), (16, 64), (16, 96), (16, 128), (16, 1024), (32, 256), (32, 2048), (64, 512)];
    all.extend(tiles.map(|(width, pitch)| tile(width, pitch)));
    all.extend([32, 48, 64, 128].map(gemm));
    all.extend([(16, 4096), (25, 10_000), (32, 8192), (64, 65_536)].map(|(row, plane)| stencil(row, plane)));
    all.extend([32, 64, 128].map(|bytes| heap(17, bytes)));
    all.extend([(32, 2), (16, 1), (64, 4)].map(|(fanout, lines)| b_plus_tree(fanout, lines)));
    all.extend([(32, 4), (16, 2)].map(|(page, node)| pages(page, node)));
    all.extend([8, 32, 1000, 1024, 4096].map(|step| stride(step, false)));
    all.extend([1024, 4096].map(|step| stride(step, true)));
    all.extend([(8, 1 << 17), (16, 2048), (4, 1 << 20)].map(|(count, spacing)| arrays(count, spacing)));
    all
}

/// Random structures of the same families, to choose the seeds of [`generate`] with.
pub(super) fn training(count: u64) -> Vec<Structure> {
    let mut random = Random(2024);
    let structure = |number| {
        let mut power = |from: u64, to: u64| 1 << (from + random.below(to - from + 1));
        let (small, large) = (power(0, 6), power(9, 17));
        let mut other = |from: u64, to: u64| from + random.below(to - from + 1);
        match number % 14 {
            0 => contiguous(small),
            1 | 2 => tile(small, small * (2 << other(0, 5))),
            3 => tile(small, small * other(2, 20)),
            4 => gemm(other(20, 160)),
            5 => stencil(16 << other(0, 2), large),
            6 => stencil(other(16, 64), other(1000, 40_000)),
            7 => heap(17, 16 * other(1, 8)),
            8 => b_plus_tree(other(12, 64), other(1, 4)),
            9 => pages(16 << other(0, 3), 1 << other(0, 3)),
            10 => stride(if small < 8 { other(3, 3000) } else { large / 16 }, other(0, 1) == 1),
            11 => stride(1 << other(2, 13), false),
            12 => stride(1 << other(2, 13), true),
            _ => arrays(2 << other(0, 3), if small < 8 { other(512, 100_000) } else { large }),
        }
    };
    (0..count).map(structure).collect()
}
