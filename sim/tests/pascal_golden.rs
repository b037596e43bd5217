//! The golden files of the project's data folder, when it is there: set `L1FORGE_DATA` to the folder that holds `pascal/golden.json`.
//!
//! Integers and fractions must be equal, floats equal to 1e-9. Without the variable the tests say that they are skipped.

mod pascal_support;

use std::path::PathBuf;

use l1forge_sim::pascal::simulate::{min_cold, min_steady};
use l1forge_sim::pascal::{
    Allocation, Gaps, LruBracket, PolicyBound, ReuseProfile, Scan, baselines, to_f64,
};
use pascal_support::Tally;
use serde_json::Value;

fn golden(name: &str) -> Option<Value> {
    let Some(folder) = std::env::var_os("L1FORGE_DATA") else {
        println!("SKIPPED: L1FORGE_DATA is not set, {name} was not checked");
        return None;
    };
    let path = PathBuf::from(folder).join("pascal").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Some(serde_json::from_str(&text).expect("the golden file is JSON"))
}

fn u(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is not a whole number"))
}

fn f(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is not a number"))
}

fn list(value: &Value) -> Vec<u64> {
    value.as_array().expect("a list").iter().map(u).collect()
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * right.abs().max(1.0)
}

#[test]
fn static_cases() {
    let Some(file) = golden("golden.json") else {
        return;
    };
    let mut tally = Tally::default();
    for case in file["cases"].as_array().expect("cases") {
        let context = || format!("{} {}", case["id"], case["tag"]);
        let (n, m, c) = (u(&case["N"]), u(&case["M"]), u(&case["C"]));
        let scan = Scan::new(n, list(&case["phases"])).unwrap();
        let gaps = Gaps::new(&scan);
        let water = gaps.waterline(c);
        tally.check("M", scan.workers() as u64 == m, context);
        tally.check("gaps", gaps.in_ring_order() == list(&case["gaps"]), context);
        tally.check("D", scan.distinct() as u64 == u(&case["D"]), context);
        tally.check("theta", water.theta.to_string() == case["theta"], context);
        tally.check(
            "theta_float",
            close(to_f64(&water.theta), f(&case["theta_float"])),
            context,
        );
        tally.check("T_star", water.t_star == u(&case["T_star"]), context);
        tally.check(
            "K_ttl",
            water.misses_per_round == u(&case["K_ttl"]),
            context,
        );
        let cold = u(&case["ttl_cold_fills_first_N_rounds"]);
        tally.check("ttl_cold_fills", gaps.cold_fills(c, n) == cold, context);

        let lru = &case["lru"];
        let bracket = LruBracket::new(&scan, &gaps, c);
        tally.check(
            "bracket",
            list(&lru["bracket"]) == [bracket.lo, bracket.hi],
            context,
        );
        let lo = u(&lru["bracket_lo_ge1"]);
        tally.check("bracket_lo_ge1", bracket.lo_at_least_one() == lo, context);
        // The file leaves out the case of all phases distinct.
        let applies = lru["bracket_applies"].as_bool().unwrap();
        tally.check(
            "bracket_applies",
            bracket.applies == (applies || scan.distinct() == scan.workers()),
            context,
        );
        let profile = ReuseProfile::new(&scan);
        tally.check(
            "K_exact",
            profile.misses_per_round(c) == u(&lru["K_exact"]),
            context,
        );
        tally.check("rd", profile.distances() == list(&lru["rd"]), context);

        let bound = PolicyBound::new(&scan);
        for (allocation, key, min) in [
            (Allocation::Bypass, "K_bound", "bypass"),
            (Allocation::Forced, "K_bound_forced", "forced"),
        ] {
            let value = bound.misses_per_round(c, allocation);
            let policy = &case["policy"];
            tally.check("K_bound", value.to_string() == policy[key], context);
            let float = f(&policy[format!("{key}_float")]);
            tally.check("K_bound_float", close(to_f64(&value), float), context);

            let belady = &case["belady"];
            let rounds = u(&belady["cold_rounds"]);
            let misses: u64 = min_cold(&scan, c, allocation, rounds).unwrap().iter().sum();
            tally.check(
                "MIN cold_misses",
                misses == u(&belady[min]["cold_misses"]),
                context,
            );
            if let Some(rate) = belady[min]["steady_K"].as_str() {
                let (transient, period) = (
                    u(&belady[min]["transient_rounds"]),
                    u(&belady[min]["period_rounds"]),
                );
                let steady = min_steady(&scan, c, allocation, transient + period)
                    .unwrap()
                    .expect("a cycle");
                tally.check(
                    "MIN steady_K",
                    steady.misses_per_round.to_string() == rate,
                    context,
                );
                tally.check(
                    "MIN transient",
                    steady.transient_rounds == transient,
                    context,
                );
                tally.check("MIN period", steady.period_rounds == period, context);
            }
        }

        let che = baselines::che::misses_per_round(&scan, c);
        tally.check("Che", che.to_string() == case["che"]["K"], context);
        let rate = to_f64(&che) / m as f64;
        tally.check(
            "Che miss rate",
            close(rate, f(&case["che"]["miss_rate"])),
            context,
        );
        let full = profile.misses_per_round(c);
        tally.check("SDCM-FA", full == u(&case["sdcm_fa"]["K"]), context);
        for row in case["sdcm_assoc"].as_array().unwrap() {
            use baselines::sdcm::{Arithmetic, Sdcm};
            let lines = u(&row["lines_per_block"]);
            assert_eq!(u(&row["B"]), c * lines);
            let cache = Sdcm::new(u(&row["A"]), c, lines).unwrap();
            for (arithmetic, key) in [
                (Arithmetic::Exact, "K_exact"),
                (Arithmetic::Normal, "K_normal"),
            ] {
                let misses = cache.misses_per_round(&profile, arithmetic);
                let off = || format!("{} {row} {misses}", context());
                tally.check("set-associative SDCM", close(misses, f(&row[key])), off);
            }
        }
        tally.count("cases");
    }
    assert_eq!(
        tally.counted("cases"),
        file["cases"].as_array().unwrap().len() as u64
    );
    tally.finish("golden.json");
}
