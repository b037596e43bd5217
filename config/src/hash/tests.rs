use super::*;

#[test]
fn default_layout() {
    let shape = HashShape { tag_bits: 41, hash_bits: 4096, banks: 64, hashes: 3 };
    let hash = HashMatrices::new(HashScheme::Double, shape).unwrap();
    assert_eq!((hash.g_bits, hash.bank_bits, hash.remaining_bits, hash.hash_rows), (12, 6, 6, 64));
    assert_eq!(hash.bases.len(), 2);
    for row in hash.bases.iter().flat_map(|base| &base.taps) {
        assert!(row.count_ones() <= MAX_TAPS);
    }
    assert_eq!((hash.bases[1].taps[0], hash.bases[1].constant), (0, 1));
}
