//! Widths of ports, by the letters of docs/blocks/snakecharmer/README.md.

use l1forge_config::Config;

/// Bits of the number `x`, at least 1.
pub fn bits_of(x: u64) -> u32 {
    (u64::BITS - x.leading_zeros()).max(1)
}

/// Bits of an index of `n` things, at least 1.
pub fn index_bits(n: u32) -> u32 {
    bits_of(u64::from(n.saturating_sub(1)))
}

/// The number whose low `bits` bits are 1.
pub fn ones(bits: u32) -> u64 {
    if bits == 0 { 0 } else { u64::MAX >> (64 - bits) }
}

/// Reads the low `bits` bits of a number as signed.
pub fn signed(value: u64, bits: u32) -> i64 {
    ((value << (64 - bits)) as i64) >> (64 - bits)
}

/// Widths, in bits, and counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Line address.
    pub t: u32,
    /// Sectors of a line.
    pub s: u32,
    /// Warp.
    pub w: u32,
    /// Pattern.
    pub p: u32,
    /// Load PC.
    pub pc: u32,
    /// Line address for training.
    pub a: u32,
    /// Signed stride.
    pub sb: u32,
    /// Distance.
    pub d: u32,
    /// Distance in the L1-AWT.
    pub dl: u32,
    /// L1-AWT index.
    pub li: u32,
    /// L2-AWT index.
    pub gi: u32,
    /// Generation.
    pub g: u32,
    /// Handle.
    pub h: u32,
    /// Entries of the PRT.
    pub r: u32,
    /// PRT entry.
    pub e: u32,
    /// Number of PRT entries.
    pub ec: u32,
    /// Register.
    pub rb: u32,
    /// Counter.
    pub cb: u32,
}

impl Sizes {
    /// The sizes of a configuration.
    pub fn new(c: &Config) -> Self {
        let (li, gi, g) = (index_bits(c.sc_l1_awt_entries), index_bits(c.sc_l2_awt_entries), c.sc_generation_bits);
        let all = c.sc_max_intra_warp.max(c.sc_max_inter_pc).max(c.sc_max_inter_warp);
        let local = if c.sc_awt_inter_warp_local || !c.sc_awt_per_kind { all } else { c.sc_max_intra_warp.max(c.sc_max_inter_pc) };
        Self {
            t: c.tag_bits(),
            s: c.line_bytes / c.sc_sector_bytes,
            w: index_bits(c.sc_warps),
            p: index_bits(c.sc_patterns),
            pc: c.sc_pc_bits,
            a: c.sc_train_bits,
            sb: c.sc_stride_bits,
            d: bits_of(all.into()),
            dl: bits_of(local.into()),
            li,
            gi,
            g,
            h: gi + g + li + g + 1,
            r: c.sc_prt_entries,
            e: index_bits(c.sc_prt_entries),
            ec: bits_of(c.sc_prt_entries.into()),
            rb: c.sc_register_bits,
            cb: c.counter_bits,
        }
    }
}

/// The largest distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    of: [u64; 3],
}

impl Limits {
    /// The limits of a configuration.
    pub fn new(c: &Config) -> Self {
        Self { of: [c.sc_max_intra_warp, c.sc_max_inter_pc, c.sc_max_inter_warp].map(u64::from) }
    }

    /// Largest distance of a kind.
    pub fn of(self, kind: u64) -> u64 {
        self.of.get(kind as usize).copied().unwrap_or(0)
    }

    /// Largest distance of all.
    pub fn all(self) -> u64 {
        self.of.into_iter().max().unwrap_or(0)
    }
}

/// What a prefetched block carries to find the entries that sent it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Handle {
    /// Index in the L2-AWT.
    pub l2_index: u64,
    /// Generation of that entry.
    pub l2_generation: u64,
    /// Index in the L1-AWT.
    pub l1_index: u64,
    /// Generation of that entry.
    pub l1_generation: u64,
    /// There is an entry in the L1-AWT.
    pub local: bool,
}

impl Handle {
    /// Packs a handle.
    pub fn pack(self, z: &Sizes) -> u64 {
        let (gi, g, li) = (z.gi, z.g, z.li);
        let mut handle = self.l2_index | self.l2_generation << gi;
        if self.local {
            handle |= self.l1_index << (gi + g) | self.l1_generation << (gi + g + li) | 1 << (gi + g + li + g);
        }
        handle
    }

    /// Unpacks a handle.
    pub fn unpack(handle: u64, z: &Sizes) -> Self {
        let (gi, g, li) = (z.gi, z.g, z.li);
        Self {
            l2_index: handle & ones(gi),
            l2_generation: handle >> gi & ones(g),
            l1_index: handle >> (gi + g) & ones(li),
            l1_generation: handle >> (gi + g + li) & ones(g),
            local: handle >> (gi + g + li + g) & 1 == 1,
        }
    }
}
