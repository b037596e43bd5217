//! Property tests whose failures can be repeated.

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.trim().parse().unwrap_or_else(|_| panic!("{variable} is `{text}`, not a number")))
}

/// Checks a property on `PROPTEST_CASES` (else `cases`) random values, each made from a seed of its own: `L1FORGE_SEED` and the numbers after
/// it, else 1 and so on, so that a change is judged by itself and not by luck; with `L1FORGE_FULL` new ones in each run. A failure says what the smallest value is that was found, and the command that repeats it.
pub fn check<S: Strategy>(cases: u64, target: &str, strategy: &S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let cases = number("PROPTEST_CASES").unwrap_or(cases);
    let first =
        number("L1FORGE_SEED").unwrap_or_else(|| if std::env::var_os("L1FORGE_FULL").is_some() { u64::from(rand_seed()) } else { 1 });
    for seed in (0..cases).map(|n| first.wrapping_add(n)) {
        let config = Config { cases: 1, failure_persistence: None, max_shrink_iters: 150, ..Config::default() };
        let bytes: Vec<u8> = (0..4).flat_map(|word| (seed ^ word << 56).to_le_bytes()).collect();
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
        if let Err(error) = runner.run(strategy, &property) {
            let thread = std::thread::current();
            let name = thread.name().unwrap_or_default();
            panic!(
                "seed {seed}: {error}\nrepeat it with: L1FORGE_SEED={seed} PROPTEST_CASES=1 cargo test -p l1forge-hdl --test {target} -- --exact {name}"
            );
        }
    }
}

/// Another number in each run.
fn rand_seed() -> u32 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(0) as u32
}
