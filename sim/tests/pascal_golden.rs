//! The golden files of the project's data folder, when it is there: set `L1FORGE_DATA` to the folder that holds `pascal/golden.json`.
//!
//! Integers and fractions must be equal, floats equal to 1e-9. Without the variable the tests say that they are skipped.

mod pascal_support;

use std::path::PathBuf;

use l1forge_sim::pascal::predict::{
    Assumptions, Calibration, Curve, GemmShape, Options, Pchip, Points, Query, Table, anchored, decode, encode, encoded_error_bound,
    execution_class, fit_scan, isotonic, relative_error_bound, unsampled_class_error,
};
use l1forge_sim::pascal::simulate::{min_cold, min_steady};
use l1forge_sim::pascal::{Allocation, Gaps, LruBracket, PolicyBound, ReuseProfile, Scan, baselines, to_f64};
use l1forge_sim::pascal::{CLUSTER_GAP, phase_clusters};
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
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a whole number"))
}

fn f(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
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
        tally.check("theta_float", close(to_f64(&water.theta), f(&case["theta_float"])), context);
        tally.check("T_star", water.t_star == u(&case["T_star"]), context);
        tally.check("K_ttl", water.misses_per_round == u(&case["K_ttl"]), context);
        let cold = u(&case["ttl_cold_fills_first_N_rounds"]);
        tally.check("ttl_cold_fills", gaps.cold_fills(c, n) == cold, context);

        let lru = &case["lru"];
        let bracket = LruBracket::new(&scan, &gaps, c);
        tally.check("bracket", list(&lru["bracket"]) == [bracket.lo, bracket.hi], context);
        let lo = u(&lru["bracket_lo_ge1"]);
        tally.check("bracket_lo_ge1", bracket.lo_at_least_one() == lo, context);
        // The file leaves out the case of all phases distinct.
        let applies = lru["bracket_applies"].as_bool().unwrap();
        tally.check("bracket_applies", bracket.applies == (applies || scan.distinct() == scan.workers()), context);
        let profile = ReuseProfile::new(&scan);
        tally.check("K_exact", profile.misses_per_round(c) == u(&lru["K_exact"]), context);
        tally.check("rd", profile.distances() == list(&lru["rd"]), context);

        let bound = PolicyBound::new(&scan);
        for (allocation, key, min) in [(Allocation::Bypass, "K_bound", "bypass"), (Allocation::Forced, "K_bound_forced", "forced")] {
            let value = bound.misses_per_round(c, allocation);
            let policy = &case["policy"];
            tally.check("K_bound", value.to_string() == policy[key], context);
            let float = f(&policy[format!("{key}_float")]);
            tally.check("K_bound_float", close(to_f64(&value), float), context);

            let belady = &case["belady"];
            let rounds = u(&belady["cold_rounds"]);
            let misses: u64 = min_cold(&scan, c, allocation, rounds).unwrap().iter().sum();
            tally.check("MIN cold_misses", misses == u(&belady[min]["cold_misses"]), context);
            if let Some(rate) = belady[min]["steady_K"].as_str() {
                let (transient, period) = (u(&belady[min]["transient_rounds"]), u(&belady[min]["period_rounds"]));
                let steady = min_steady(&scan, c, allocation, transient + period).unwrap().expect("a cycle");
                tally.check("MIN steady_K", steady.misses_per_round.to_string() == rate, context);
                tally.check("MIN transient", steady.transient_rounds == transient, context);
                tally.check("MIN period", steady.period_rounds == period, context);
            }
        }

        let che = baselines::che::misses_per_round(&scan, c);
        tally.check("Che", che.to_string() == case["che"]["K"], context);
        let rate = to_f64(&che) / m as f64;
        tally.check("Che miss rate", close(rate, f(&case["che"]["miss_rate"])), context);
        let full = profile.misses_per_round(c);
        tally.check("SDCM-FA", full == u(&case["sdcm_fa"]["K"]), context);
        for row in case["sdcm_assoc"].as_array().unwrap() {
            use baselines::sdcm::{Arithmetic, Sdcm};
            let lines = u(&row["lines_per_block"]);
            assert_eq!(u(&row["B"]), c * lines);
            let cache = Sdcm::new(u(&row["A"]), c, lines).unwrap();
            for (arithmetic, key) in [(Arithmetic::Exact, "K_exact"), (Arithmetic::Normal, "K_normal")] {
                let misses = cache.misses_per_round(&profile, arithmetic);
                let off = || format!("{} {row} {misses}", context());
                tally.check("set-associative SDCM", close(misses, f(&row[key])), off);
            }
        }
        tally.count("cases");
    }
    assert_eq!(tally.counted("cases"), file["cases"].as_array().unwrap().len() as u64);
    tally.finish("golden.json");
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(f).collect()
}

fn all_close(found: &[f64], expected: &[f64]) -> bool {
    found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| close(*a, *b))
}

#[test]
fn dynamic_parts() {
    let Some(file) = golden("golden_dynamic.json") else {
        return;
    };
    let mut tally = Tally::default();
    let rows = |key: &str| file[key].as_array().expect("a list").clone();

    for key in ["curve", "curve_isotonic"] {
        let part = &file[key];
        let repeats = part["K_repeats"].as_object().unwrap();
        let horizons: Vec<f64> = repeats.keys().map(|w| w.parse().unwrap()).collect();
        let measured: Vec<f64> = repeats
            .iter()
            .map(|(w, ks)| {
                let logs: Vec<f64> = floats(ks).iter().map(|k| k.ln()).collect();
                logs.iter().sum::<f64>() / logs.len() as f64 + w.parse::<f64>().unwrap().ln()
            })
            .collect();
        let curve = Curve::fit(&horizons, &measured).unwrap();
        let y = isotonic(&measured);
        tally.check("curve: ordinates", all_close(&y, &floats(&part["y_log_WK"])), || format!("{y:?}"));
        let slopes = curve.slopes().to_vec();
        tally.check("curve: slopes", all_close(&slopes, &floats(&part["slopes"])), || format!("{slopes:?}"));
        for row in part["eval"].as_array().unwrap() {
            let log_k = curve.log_k(f(&row["W"]));
            tally.check("curve: L", close(log_k, f(&row["L"])), || format!("{row} {log_k}"));
            tally.check("curve: K", close(log_k.exp(), f(&row["K"])), || format!("{row} {log_k}"));
            if let Some(a) = row["a"].as_f64() {
                tally.check("curve: a", close(encode(log_k, 0.05), a), || format!("{row}"));
            }
        }
    }
    for row in rows("pava") {
        tally.check("isotonic", all_close(&isotonic(&floats(&row["y"])), &floats(&row["out"])), || row.to_string());
    }
    for row in rows("pchip") {
        let curve = Pchip::new(floats(&row["x"]), floats(&row["y"])).unwrap();
        tally.check("pchip: slopes", all_close(curve.slopes(), &floats(&row["slopes"])), || row.to_string());
        for point in row["eval"].as_array().unwrap() {
            let point = floats(point);
            tally.check("pchip: values", close(curve.value(point[0]), point[1]), || format!("{row} {point:?}"));
        }
    }
    for row in rows("encode") {
        let a = encode(f(&row["K"]).ln(), f(&row["eps"]));
        tally.check("encode", close(a, f(&row["a"])), || row.to_string());
    }
    for row in rows("decode") {
        let k = decode(f(&row["a"]), u(&row["M"]), f(&row["K0"]), f(&row["eps"]));
        tally.check("decode", close(k, f(&row["K"])), || row.to_string());
    }
    for (m, class) in file["chi"].as_object().unwrap() {
        let found = execution_class(m.parse().unwrap());
        tally.check("execution class", u64::from(found) == u(class), || m.clone());
    }

    let part = &file["anchored"];
    let points: Vec<(f64, f64)> = part["points"].as_array().unwrap().iter().map(floats).map(|p| (p[0], p[1])).collect();
    let points = Points::new(&points);
    let lambda = f(&part["lam"]);
    for row in part["eval"].as_array().unwrap() {
        let m = f(&row["m"]);
        let (linear, prior) = (points.linear(m), points.nearest(m));
        let exact = close(linear, f(&row["a_lin"]))
            && close(prior, f(&row["p_nearest"]))
            && close(anchored(prior, linear, lambda), f(&row["a_hat"]));
        tally.check("anchored, nearest prior", exact, || row.to_string());
    }
    for row in part["with_given_p"].as_array().unwrap() {
        let value = anchored(f(&row["p"]), points.linear(f(&row["m"])), lambda);
        tally.check("anchored, given prior", close(value, f(&row["a_hat"])), || row.to_string());
    }

    let part = &file["predict"];
    let mut csv = format!(
        "# device = gold\n# workers_per_occupancy = {}\n# block_bytes = 16384\n# capacity_blocks = {}\no,path,d,m,n,w,bytes\n",
        part["M"], part["C"]
    );
    for row in part["references"].as_array().unwrap() {
        for (w, k) in [1.0, 4.0, 16.0, 64.0].iter().zip(floats(&row["K"])) {
            let bytes = k * 16384.0 * f(&row["N"]) * w;
            csv += &format!("1,tma,4,{},{},{w},{bytes}\n", row["m"], row["N"]);
        }
    }
    let fitted = fit_scan(&Table::parse(&csv).unwrap(), Options::default()).unwrap();
    let text = Calibration::Scan(fitted.clone()).to_json();
    let Calibration::Scan(frozen) = Calibration::from_json(&text).unwrap() else { panic!("a scan calibration") };
    for row in part["queries"].as_array().unwrap() {
        let query = Query {
            device: Some("gold".to_string()),
            binary: None,
            o: 1,
            path: "tma".to_string(),
            d: 4,
            m: u(&row["m"]) as u32,
            blocks: u(&row["N"]),
            scans: f(&row["W"]),
            assumptions: Assumptions::default(),
        };
        for calibration in [&fitted, &frozen] {
            match (calibration.predict(&query), row["K"].as_f64()) {
                (Ok(found), Some(k)) => {
                    let same = close(found.k, k) && close(found.rho, f(&row["rho"]));
                    tally.check("predict", same, || format!("{row} {found:?}"));
                }
                (Err(error), None) => {
                    let names_class = error.field() == "m" && error.message().contains("execution class 2");
                    tally.check("predict: empty class refused", names_class, || format!("{row} {error}"));
                }
                (found, _) => tally.check("predict", false, || format!("{row} {found:?}")),
            }
        }
    }

    for row in rows("gemm") {
        let dims = list(&row["shape"]);
        let shape = GemmShape::new(dims[0], dims[1], dims[2]).unwrap();
        let m = u(&row["M"]);
        let exact = [shape.rows, shape.columns, shape.steps] == [u(&row["nr"]), u(&row["nc"]), u(&row["nk"])]
            && shape.reference_bytes() == u(&row["B0"])
            && shape.demand_bytes() == u(&row["Q"])
            && close(shape.rounds(m), f(&row["H"]))
            && close(shape.static_k(m), f(&row["K0"]))
            && close(shape.static_k(m) / m as f64, f(&row["rho0"]));
        tally.check("gemm", exact, || row.to_string());
    }
    for row in rows("clusters") {
        let scan = Scan::new(u(&row["N"]), list(&row["phases"])).unwrap();
        let found = phase_clusters(&scan, CLUSTER_GAP);
        tally.check("phase clusters", found == u(&row["clusters"]), || row.to_string());
    }
    for row in rows("class_bound") {
        let (v, error) = unsampled_class_error(f(&row["Lambda"]));
        tally.check("class bound", close(v, f(&row["v"])) && close(error, f(&row["err"])), || row.to_string());
    }
    for row in rows("rel_err_bound") {
        let bound = relative_error_bound(f(&row["e"]), f(&row["delta"]), f(&row["eps"]));
        tally.check("relative error bound", close(bound, f(&row["bound"])), || row.to_string());
    }
    for row in rows("prop2") {
        let bound = encoded_error_bound(f(&row["J"]), f(&row["h"]), f(&row["xi"]), f(&row["zeta"]), 4.0);
        tally.check("Proposition 2", close(bound, f(&row["bound"])), || row.to_string());
    }
    let known = [
        "curve",
        "curve_isotonic",
        "pava",
        "pchip",
        "encode",
        "decode",
        "chi",
        "anchored",
        "predict",
        "gemm",
        "clusters",
        "class_bound",
        "rel_err_bound",
        "prop2",
    ];
    let parts: Vec<&String> = file.as_object().unwrap().keys().collect();
    assert!(parts.iter().all(|part| known.contains(&part.as_str())), "a part is not checked: {parts:?}");
    tally.finish("golden_dynamic.json");
}
