//! Phase clusters and the traffic of one snapshot of positions (PASCAL section 5.3; specification section 1).

use super::error::InputError;
use super::gap_law::{Gaps, Waterline};
use super::scan::{Scan, check_blocks};

/// The gap, in blocks, up to which the paper merges two positions into one cluster.
pub const CLUSTER_GAP: u64 = 32;

/// The number of phase clusters: workers connected through gaps of at most `merge` blocks are one cluster.
///
/// ```
/// use l1forge_sim::pascal::{CLUSTER_GAP, Scan, phase_clusters};
/// let scan = Scan::new(4096, vec![0, 10, 40, 73, 500])?;
/// assert_eq!(phase_clusters(&scan, CLUSTER_GAP), 3);
/// # Ok::<(), l1forge_sim::pascal::InputError>(())
/// ```
pub fn phase_clusters(scan: &Scan, merge: u64) -> u64 {
    Gaps::new(scan).clusters(merge)
}

/// The scan at one instant: positions in blocks, rounded to the nearest block and wrapped on the ring.
///
/// # Errors
/// A bad ring, no positions, or a position that is not a finite number.
pub fn snapshot(blocks: u64, positions: &[f64]) -> Result<Scan, InputError> {
    check_blocks(blocks)?;
    let mut phases = Vec::with_capacity(positions.len());
    for (w, position) in positions.iter().enumerate() {
        if !position.is_finite() {
            return Err(InputError::new(format!("positions[{w}]"), format!("{position} is not a finite number of blocks")));
        }
        let wrapped = position.round().rem_euclid(blocks as f64) as u64;
        phases.push(wrapped % blocks);
    }
    Scan::new(blocks, phases)
}

/// The gap law applied to one instant, the paper's "snapshot gap-law K".
pub fn snapshot_waterline(scan: &Scan, capacity: u64) -> Waterline {
    Gaps::new(scan).waterline(capacity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_merge_across_the_end_of_the_ring() {
        let clusters = |blocks, phases: &[u64]| phase_clusters(&Scan::new(blocks, phases.to_vec()).unwrap(), CLUSTER_GAP);
        assert_eq!(clusters(4096, &[0, 10, 40, 73, 500]), 3);
        assert_eq!(clusters(4096, &[0, 0, 0]), 1);
        assert_eq!(clusters(4096, &[4090, 5, 2000]), 2);
        assert_eq!(clusters(100, &[0, 30, 60, 90]), 1);
        // A gap of exactly 32 merges, 33 does not.
        assert_eq!((clusters(4096, &[0, 32]), clusters(4096, &[0, 33])), (1, 2));
    }

    #[test]
    fn positions_are_rounded_and_wrapped() {
        let scan = snapshot(10, &[-0.4, 9.6, 12.5, 1e3]).unwrap();
        assert_eq!(scan.phases(), [0, 0, 3, 0]);
        assert_eq!(snapshot_waterline(&scan, 3).misses_per_round, 2);
        assert_eq!(snapshot_waterline(&scan, 6).misses_per_round, 1);
        assert_eq!(snapshot(10, &[0.0, f64::NAN]).unwrap_err().field(), "positions[1]");
        assert_eq!(snapshot(0, &[0.0]).unwrap_err().field(), "blocks");
        assert_eq!(snapshot(10, &[]).unwrap_err().field(), "phases");
    }
}
