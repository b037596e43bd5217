//! Sizes that follow from the keys, used alike by generators and models.

use crate::hash::{HashMatrices, HashShape};
use crate::keys::Config;

/// Bits needed to number `n` things, at least 1.
pub(crate) fn bits_for(n: u32) -> u32 {
    if n <= 2 { 1 } else { 32 - (n - 1).leading_zeros() }
}

impl Config {
    /// Positions per tag: the tag mask, if any, and the hashes.
    pub fn k(&self) -> u32 {
        u32::from(self.mask_bits > 0) + self.hashes
    }

    /// Rows of the whole filter, `m`.
    pub fn m(&self) -> u32 {
        self.mask_bits + self.hash_bits
    }

    /// Width of a tag (line address), in bits.
    pub fn tag_bits(&self) -> u32 {
        self.address_bits - self.line_bytes.trailing_zeros()
    }

    /// Width of an SM number, in bits.
    pub fn sm_bits(&self) -> u32 {
        bits_for(self.sms)
    }

    /// Hash rows in each bank.
    pub fn hash_rows(&self) -> u32 {
        self.hash_bits / self.banks
    }

    /// Tag-mask rows in each bank; they follow the hash rows.
    pub fn mask_rows(&self) -> u32 {
        self.mask_bits / self.banks
    }

    /// Rows in each bank.
    pub fn rows(&self) -> u32 {
        self.hash_rows() + self.mask_rows()
    }

    /// Width of the bank field of an index, in bits; 0 with one bank.
    pub fn bank_bits(&self) -> u32 {
        self.banks.trailing_zeros()
    }

    /// Width of the row field of an index, in bits.
    pub fn row_bits(&self) -> u32 {
        bits_for(self.rows())
    }

    /// Width of an index `{bank, row}`, in bits.
    pub fn index_bits(&self) -> u32 {
        self.bank_bits() + self.row_bits()
    }

    /// The base hashes and how positions are made of them.
    pub fn hash_matrices(&self) -> HashMatrices {
        let shape = HashShape { tag_bits: self.tag_bits(), hash_bits: self.hash_bits, banks: self.banks, hashes: self.hashes };
        HashMatrices::new(self.hash, shape).expect("a valid configuration has hashes")
    }

    /// Tags in one beat of the rebuild stream.
    pub fn stream_tags(&self) -> u32 {
        self.update_bytes / 8
    }

    /// Engines that serve misses first, and updates when idle.
    pub fn shared_engines(&self) -> u32 {
        self.engines - self.update_engines
    }

    /// Width of the number of a query within its SM, in bits.
    pub fn slot_bits(&self) -> u32 {
        bits_for(self.queries_per_sm)
    }

    /// Sectors of a line.
    pub fn sc_sectors(&self) -> u32 {
        self.line_bytes / self.sc_sector_bytes
    }

    /// Largest prefetch distance of any kind.
    pub fn sc_max_distance(&self) -> u32 {
        self.sc_max_intra_warp.max(self.sc_max_inter_pc).max(self.sc_max_inter_warp)
    }

    /// Largest prefetch distance kept in the L1-AWT.
    pub fn sc_local_max_distance(&self) -> u32 {
        let local = self.sc_max_intra_warp.max(self.sc_max_inter_pc);
        if self.sc_awt_inter_warp_local || !self.sc_awt_per_kind { local.max(self.sc_max_inter_warp) } else { local }
    }

    /// Place of an SM on the floorplan as (x, y); without a floorplan, the most nearly square grid, row-major.
    pub fn place(&self, sm: u32) -> (i32, i32) {
        if let Some(p) = self.floorplan.get(sm as usize) {
            return (p[0], p[1]);
        }
        let columns = self.sms.isqrt() + u32::from(self.sms.isqrt().pow(2) < self.sms);
        ((sm % columns) as i32, (sm / columns) as i32)
    }
}

#[cfg(test)]
mod tests {
    use crate::Settings;

    fn config(sets: &[&str]) -> crate::Config {
        let mut s = Settings::preset("paper").unwrap();
        for set in sets {
            s.set(set).unwrap();
        }
        s.resolve().unwrap()
    }

    #[test]
    fn paper_sizes() {
        let c = config(&[]);
        assert_eq!((c.k(), c.m(), c.tag_bits(), c.rows()), (4, 5120, 41, 80));
        assert_eq!((c.bank_bits(), c.row_bits(), c.index_bits(), c.sm_bits()), (6, 7, 13, 6));
        assert_eq!((c.engines, c.update_engines, c.shared_engines(), c.update_lanes), (128, 64, 64, 32));
        assert_eq!(c.hash_rows(), 64);
        assert_eq!(c.refresh_period, 192);
        assert_eq!(
            [&["sms=8"][..], &["sms=100"], &["sms=256"], &["sms=256", "refresh_period=128"]].map(|s| config(s).refresh_period),
            [192, 300, 768, 128]
        );
    }

    #[test]
    fn prefetch_sizes_and_presets() {
        let c = config(&[]);
        assert_eq!(
            (c.sc_train_bits, c.sc_stride_bits, c.sc_sectors(), c.sc_max_distance(), c.sc_local_max_distance()),
            (20, 16, 4, 63, 10)
        );
        let c = config(&["address_bits=16", "sc_awt_per_kind=false"]);
        assert_eq!((c.sc_train_bits, c.sc_stride_bits, c.sc_local_max_distance()), (9, 9, 63));
        let threshold = |presets: &[&str]| {
            let mut s = Settings::default();
            presets.iter().for_each(|p| s.add_preset(p).unwrap());
            s.resolve().unwrap().sc_sgu_threshold
        };
        assert_eq!((threshold(&["paper"]), threshold(&["a100"]), threshold(&["paper", "v100"])), (4, 4, 5));
        let lean = Settings::preset("lean").unwrap().resolve().unwrap();
        assert_eq!((lean.lookup_ports, lean.copies, lean.k(), lean.queries_per_sm, lean.update_lanes), (1, 1, 2, 4, 16));
    }

    #[test]
    fn illegal_prefetch_sizes_name_key_value_and_range() {
        for (set, shown) in [
            ("sc_sector_bytes=256", "32..=128"),
            ("sc_train_bits=42", "2..=41"),
            ("sc_stride_bits=25", "2..=20"),
            ("sc_reset_distance=9", "1..=8"),
            ("sc_awt_move_events=16", "0..=15"),
            ("sc_register_bits=5", "6..=16"),
        ] {
            let mut s = Settings::default();
            s.set(set).unwrap();
            let error = s.resolve().unwrap_err().to_string();
            let (key, value) = set.split_once('=').unwrap();
            assert!(error.contains(key) && error.contains(value) && error.contains(shown), "{error}");
        }
        assert!(Settings::default().set("sc_sgu_threshold=7").unwrap_err().to_string().contains("1..=6"));
    }

    #[test]
    fn places_are_a_near_square_grid() {
        let c = config(&["sms=20"]);
        assert_eq!(c.place(0), (0, 0));
        assert_eq!(c.place(4), (4, 0));
        assert_eq!(c.place(5), (0, 1));
        assert_eq!(config(&["sms=64"]).place(63), (7, 7));
        let c = config(&["sms=2", "floorplan=[[5, -1], [0, 3]]"]);
        assert_eq!((c.place(0), c.place(1)), ((5, -1), (0, 3)));
    }

    #[test]
    fn degenerate_sizes() {
        let c = config(&["sms=2", "banks=1", "hash_bits=1", "hashes=1", "mask_bits=0"]);
        assert_eq!((c.bank_bits(), c.row_bits(), c.rows(), c.copies), (0, 1, 1, 1));
        assert_eq!(config(&["sms=256"]).sm_bits(), 8);
    }
}
