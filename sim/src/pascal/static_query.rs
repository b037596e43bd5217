//! Every static result of one scan and capacity at once, and the same results by simulation.

use super::baselines::che;
use super::baselines::sdcm::{Arithmetic, Sdcm};
use super::clusters::CLUSTER_GAP;
use super::error::InputError;
use super::fraction::{Fraction, whole};
use super::gap_law::{Gaps, Waterline};
use super::lru_bracket::LruBracket;
use super::lru_exact::ReuseProfile;
use super::policy_bound::{Allocation, PolicyBound};
use super::scan::{Scan, check_capacity, check_rounds};
use super::simulate::{Lru, Schedule, SlottedTtl, min_cold};

/// The static geometry of a scan, prepared for queries at any capacity.
///
/// ```
/// use l1forge_sim::pascal::{Scan, StaticModel};
/// let model = StaticModel::new(Scan::new(8, vec![0, 4])?);
/// let answer = model.query(2)?;
/// assert_eq!((answer.waterline.misses_per_round, answer.lru), (2, 2));
/// assert_eq!(answer.policy_bypass.to_string(), "10/7");
/// # Ok::<(), l1forge_sim::pascal::InputError>(())
/// ```
#[derive(Debug, Clone)]
pub struct StaticModel {
    scan: Scan,
    gaps: Gaps,
    profile: ReuseProfile,
    bound: PolicyBound,
}

/// What the static model says about one capacity.
#[derive(Debug, Clone, PartialEq)]
pub struct StaticAnswer {
    /// The gap law.
    pub waterline: Waterline,
    /// The bracket around LRU.
    pub bracket: LruBracket,
    /// Misses per round of fully associative LRU, exactly. SDCM with one set is the same number.
    pub lru: u64,
    /// The bound for every policy.
    pub policy_bypass: Fraction,
    /// The bound for policies that install every missed block.
    pub policy_forced: Fraction,
    /// Che's approximation.
    pub che: Fraction,
    /// Phase clusters.
    pub clusters: u64,
}

/// Totals over the first rounds from an empty cache.
#[derive(Debug, Clone, PartialEq)]
pub struct ColdTotals {
    /// Fills of the slotted TTL cache.
    pub ttl: u64,
    /// Misses of fully associative LRU.
    pub lru: u64,
    /// What every policy misses at least.
    pub policy_bypass: Fraction,
    /// What every policy that installs each missed block misses at least.
    pub policy_forced: Fraction,
}

/// One closed form beside what a simulator counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What was compared.
    pub name: &'static str,
    /// The closed form.
    pub expected: String,
    /// What the simulator counted.
    pub simulated: String,
    /// Whether they agree, or for a bound whether it holds.
    pub holds: bool,
}

impl StaticModel {
    /// Prepares a scan. Cost: O(M log M + M D).
    pub fn new(scan: Scan) -> Self {
        let (gaps, profile, bound) = (Gaps::new(&scan), ReuseProfile::new(&scan), PolicyBound::new(&scan));
        Self { scan, gaps, profile, bound }
    }

    /// The scan.
    pub fn scan(&self) -> &Scan {
        &self.scan
    }

    /// Its gaps.
    pub fn gaps(&self) -> &Gaps {
        &self.gaps
    }

    /// Its LRU reuse distances.
    pub fn profile(&self) -> &ReuseProfile {
        &self.profile
    }

    /// Its bound for every policy.
    pub fn bound(&self) -> &PolicyBound {
        &self.bound
    }

    /// Everything at `capacity` blocks. Cost: O(M).
    ///
    /// # Errors
    /// The capacity is illegal.
    pub fn query(&self, capacity: u64) -> Result<StaticAnswer, InputError> {
        check_capacity(capacity)?;
        Ok(StaticAnswer {
            waterline: self.gaps.waterline(capacity),
            bracket: LruBracket::new(&self.scan, &self.gaps, capacity),
            lru: self.profile.misses_per_round(capacity),
            policy_bypass: self.bound.misses_per_round(capacity, Allocation::Bypass),
            policy_forced: self.bound.misses_per_round(capacity, Allocation::Forced),
            che: che::misses_per_round(&self.scan, capacity),
            clusters: self.gaps.clusters(CLUSTER_GAP),
        })
    }

    /// Misses per round of set-associative SDCM with `ways` ways and `lines_per_block` lines per block: exact binomial and normal.
    ///
    /// # Errors
    /// The capacity, the ways or the lines per block are illegal.
    pub fn sdcm(&self, capacity: u64, ways: u64, lines_per_block: u64) -> Result<(f64, f64), InputError> {
        let cache = Sdcm::with_at_most(ways, capacity, lines_per_block)?;
        let misses = |arithmetic| cache.misses_per_round(&self.profile, arithmetic);
        Ok((misses(Arithmetic::Exact), misses(Arithmetic::Normal)))
    }

    /// Totals over the first `rounds` rounds from an empty cache.
    ///
    /// # Errors
    /// The capacity or the number of rounds is illegal.
    pub fn cold(&self, capacity: u64, rounds: u64) -> Result<ColdTotals, InputError> {
        check_capacity(capacity)?;
        check_rounds(rounds)?;
        Ok(ColdTotals {
            ttl: self.gaps.cold_fills(capacity, rounds),
            lru: self.profile.cold_misses(capacity, rounds),
            policy_bypass: self.bound.misses_per_round(capacity, Allocation::Bypass) * whole(rounds),
            policy_forced: self.bound.misses_per_round(capacity, Allocation::Forced) * whole(rounds),
        })
    }

    /// Simulates the slotted TTL cache, LRU and both variants of MIN for `rounds` rounds and compares.
    ///
    /// # Errors
    /// The capacity is illegal, or the ring is too large to simulate.
    pub fn verify(&self, capacity: u64, rounds: u64) -> Result<Vec<Check>, InputError> {
        let cold = self.cold(capacity, rounds)?;
        let answer = self.query(capacity)?;
        let mut ttl = SlottedTtl::new(self.scan.blocks(), answer.waterline.t_star)?;
        let mut lru = Lru::new(self.scan.blocks(), capacity)?;
        let mut schedule = Schedule::new(&self.scan)?;
        let (mut ttl_fills, mut lru_misses) = (0, 0);
        for _ in 0..rounds {
            ttl_fills += ttl.round(schedule.round()).fills;
            lru_misses += schedule.round().iter().filter(|&&block| !lru.access(block)).count() as u64;
            schedule.advance();
        }
        let equal = |name, expected: u64, simulated: u64| Check {
            name,
            expected: expected.to_string(),
            simulated: simulated.to_string(),
            holds: expected == simulated,
        };
        let mut checks = vec![equal("cold TTL fills", cold.ttl, ttl_fills), equal("cold LRU misses", cold.lru, lru_misses)];
        for (name, allocation, least) in [
            ("MIN with bypass, at least", Allocation::Bypass, cold.policy_bypass),
            ("MIN with forced allocation, at least", Allocation::Forced, cold.policy_forced),
        ] {
            let misses: u64 = min_cold(&self.scan, capacity, allocation, rounds)?.iter().sum();
            checks.push(Check { name, expected: least.to_string(), simulated: misses.to_string(), holds: whole(misses) >= least });
        }
        Ok(checks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_query_holds_every_result() {
        let model = StaticModel::new(Scan::new(64, vec![7, 0]).unwrap());
        let answer = model.query(14).unwrap();
        assert_eq!((answer.waterline.misses_per_round, answer.lru, answer.clusters), (1, 2, 1));
        assert_eq!(answer.policy_bypass, Fraction::new(100, 113));
        assert_eq!(answer.che, Fraction::new(25, 16));
        let (exact, normal) = model.sdcm(14, 8, 1).unwrap();
        assert!((exact - 1.610_520).abs() < 1e-6 && (normal - 1.606_432).abs() < 1e-6);
        assert_eq!(model.gaps().clusters(6), 2);
        let cold = model.cold(14, 100).unwrap();
        assert_eq!(cold.policy_bypass, Fraction::new(10_000, 113));
        assert_eq!((cold.ttl, cold.lru), (107, 200));
    }

    #[test]
    fn verification_holds_and_would_notice() {
        let model = StaticModel::new(Scan::new(64, vec![7, 0, 30, 7]).unwrap());
        for capacity in [1, 13, 14, 40, 63, 64, 200] {
            let checks = model.verify(capacity, 150).unwrap();
            assert_eq!(checks.len(), 4);
            assert!(checks.iter().all(|check| check.holds), "C = {capacity}: {checks:?}");
        }
        // A model that claims the profile of another scan is caught.
        let other = StaticModel::new(Scan::new(64, vec![0, 20, 40, 60]).unwrap());
        let wrong = StaticModel { scan: model.scan.clone(), ..other };
        assert!(wrong.verify(14, 150).unwrap().iter().any(|check| !check.holds));
    }

    #[test]
    fn illegal_queries_are_refused() {
        let model = StaticModel::new(Scan::new(8, vec![0]).unwrap());
        assert_eq!(model.query(0).unwrap_err().field(), "capacity");
        assert_eq!(model.cold(1, u64::MAX).unwrap_err().field(), "rounds");
        assert_eq!(model.sdcm(1, 0, 1).unwrap_err().field(), "ways");
        let large = StaticModel::new(Scan::new(1 << 30, vec![0]).unwrap());
        assert_eq!(large.verify(1, 1).unwrap_err().field(), "blocks");
    }
}
