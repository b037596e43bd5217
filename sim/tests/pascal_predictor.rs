//! The predictor as a whole: hand-computed predictions, laws, refusals, the frozen format, GEMM.

mod pascal_support;

use l1forge_sim::pascal::InputError;
use l1forge_sim::pascal::predict::{
    Anchor, Assumptions, Calibration, EtaInterpolation, GemmCalibration, GemmQuery, GemmShape, Options, Query, ScanCalibration, Table,
    decode, encode, fit_gemm, fit_scan,
};
use proptest::prelude::*;

const HEADER: &str = "# device = bench\n# binary = scan-7\n# workers_per_occupancy = 48\n# block_bytes = 16384\n# capacity_blocks = 1280\n";

/// One reference: compute, scan length and K at each of the four horizons.
type Row = (u32, u64, [f64; 4]);

const ROWS: [Row; 8] = [
    (0, 2048, [1.0, 1.0, 1.6, 3.0]),
    (0, 4096, [1.0, 1.05, 2.0, 5.6]),
    (4, 2048, [1.0, 1.0, 1.1, 1.5]),
    (4, 4096, [1.0, 1.0, 1.3, 2.4]),
    (12, 2048, [1.0, 1.0, 1.0, 1.0]),
    (12, 4096, [1.0, 1.0, 1.0, 1.02]),
    (1, 2048, [1.0, 1.0, 1.5, 2.8]),
    (1, 4096, [1.0, 1.02, 1.9, 5.0]),
];

fn csv(rows: &[Row]) -> String {
    let mut text = format!("{HEADER}o,path,d,m,n,w,bytes\n");
    for (m, n, ks) in rows {
        for (w, k) in [1u32, 4, 16, 64].iter().zip(ks) {
            text += &format!("1,tma,4,{m},{n},{w},{}\n", k * 16384.0 * *n as f64 * f64::from(*w));
        }
    }
    text
}

fn fitted(options: Options) -> ScanCalibration {
    fit_scan(&Table::parse(&csv(&ROWS)).unwrap(), options).unwrap()
}

fn query(m: u32, blocks: u64, scans: f64) -> Query {
    Query { device: None, binary: None, o: 1, path: "tma".to_string(), d: 4, m, blocks, scans, assumptions: Assumptions::default() }
}

fn k(options: Options, m: u32, blocks: u64, scans: f64) -> f64 {
    fitted(options).predict(&query(m, blocks, scans)).unwrap().k
}

#[test]
fn a_reference_predicts_itself() {
    for (m, n, ks) in ROWS {
        for (w, expected) in [1.0, 4.0, 16.0, 64.0].iter().zip(ks) {
            let found = fitted(Options::default()).predict(&query(m, n, *w)).unwrap();
            assert!((found.k - expected).abs() < 1e-9, "m={m} n={n} w={w}: {}", found.k);
            assert!((found.rho - expected / 48.0).abs() < 1e-12);
            assert!((found.traffic_bytes - expected * 16384.0 * n as f64 * w).abs() < 1e-3);
            assert_eq!(found.workers, 48);
        }
    }
}

#[test]
fn a_prediction_by_hand() {
    // m = 2 would be another class; m = 8 lies between the references 4 and 12, nearest to both; m = 5 is class 1, one reference.
    let eps = 0.05;
    let at = |k: f64| encode(k.ln(), eps);
    let (a4, a12) = (at(2.4), at(1.02));
    // m = 8 is half way: the prior is the mean, and so is the line.
    let expected = decode((a4 + a12) / 2.0, 48, 1.0, eps);
    assert!((k(Options::default(), 8, 4096, 64.0) - expected).abs() < 1e-9);
    // N = 3000: eta = 1280 / 3000, between 1280 / 2048 and 1280 / 4096.
    let weight = (1280.0 / 3000.0 - 1280.0 / 4096.0) / (1280.0 / 2048.0 - 1280.0 / 4096.0);
    let encoded = weight * at(1.5) + (1.0 - weight) * at(2.4);
    assert!((k(Options::default(), 4, 3000, 64.0) - decode(encoded, 48, 1.0, eps)).abs() < 1e-9);
    // Decoded instead.
    let decoded = Options { eta: EtaInterpolation::Decoded, ..Options::default() };
    assert!((k(decoded, 4, 3000, 64.0) - (weight * 1.5 + (1.0 - weight) * 2.4)).abs() < 1e-9);
}

#[test]
fn every_anchor_rule_moves_the_prediction_as_it_says() {
    // Two references of class 0, one of class 2, and a target of class 0 that is nearer to the first.
    let rows = [(0, 4096, [1.0, 1.0, 1.0, 6.0]), (16, 4096, [1.0, 1.0, 1.0, 1.5]), (3, 4096, [1.0, 1.0, 1.0, 9.0])];
    let eps = 0.05;
    let at = |k: f64| encode(k.ln(), eps);
    let linear = 0.75 * at(6.0) + 0.25 * at(1.5);
    let family = at(9.0) + (at(1.5) - at(9.0)) / 13.0;
    for (anchor, prior) in [
        (Anchor::Nearest, at(6.0)),
        (Anchor::ClassMean, (at(6.0) + at(1.5)) / 2.0),
        (Anchor::FamilyLinear, family),
        (Anchor::Aligned, eps.ln()),
        (Anchor::Linear, linear),
    ] {
        for lambda in [0.0, 1.0, 4.0] {
            let options = Options { anchor, lambda, ..Options::default() };
            let calibration = fit_scan(&Table::parse(&csv(&rows)).unwrap(), options).unwrap();
            let found = calibration.predict(&query(4, 4096, 64.0)).unwrap();
            let expected = decode((prior + lambda * linear) / (1.0 + lambda), 48, 1.0, eps);
            assert!((found.k - expected).abs() < 1e-9, "{anchor:?} lambda {lambda}");
            assert!((found.sizes[0].prior - prior).abs() < 1e-9 && (found.sizes[0].linear - linear).abs() < 1e-9);
            assert_eq!(found.sizes[0].bracket, (0, 16));
        }
    }
}

#[test]
fn targets_outside_the_calibrated_range_are_held_and_said_so() {
    let calibration = fitted(Options::default());
    let predict = |m, n, w| calibration.predict(&query(m, n, w)).unwrap();
    let inside = predict(4, 3000, 32.0);
    assert!(!inside.clamped.scans && !inside.clamped.compute && !inside.clamped.blocks);
    assert!(inside.certificate.is_some());
    let far = predict(400, 100_000, 1000.0);
    assert!(far.clamped.scans && far.clamped.compute && far.clamped.blocks);
    assert!(far.certificate.is_none());
    assert!((far.k - 1.02).abs() < 1e-9);
    // K is held, so the traffic grows linearly in W.
    assert!((far.traffic_bytes - 1.02 * 16384.0 * 100_000.0 * 1000.0).abs() < 1.0);
    let near = predict(0, 100, 0.5);
    assert!((near.k - 1.0).abs() < 1e-9 && near.clamped.blocks && near.clamped.scans && !near.clamped.compute);
}

#[test]
fn leaving_out_predicts_interior_references_from_the_others() {
    // Only m = 4 has references of its class on both sides. Worked by hand at the longest horizon; the others hit K = 1 or nearly so.
    let accuracy = fitted(Options::default()).leave_one_out().unwrap();
    assert_eq!(accuracy.runs(), 2 * 4);
    let rows: Vec<Row> = ROWS.iter().filter(|row| row.0 != 4).copied().collect();
    let rest = fit_scan(&Table::parse(&csv(&rows)).unwrap(), Options::default()).unwrap();
    let mut sum = 0.0;
    for (n, ks) in [(2048, [1.0, 1.0, 1.1, 1.5]), (4096, [1.0, 1.0, 1.3, 2.4])] {
        for (w, k) in [1.0, 4.0, 16.0, 64.0].iter().zip(ks) {
            sum += (rest.predict(&query(4, n, *w)).unwrap().k - k).abs() / k;
        }
    }
    assert!((accuracy.mape().unwrap() - 100.0 * sum / 8.0).abs() < 1e-9);
}

#[test]
fn repeats_are_averaged_geometrically() {
    let mut text = csv(&ROWS);
    // A second run of one reference with four times the traffic: the geometric mean doubles K.
    text += &format!("1,tma,4,0,4096,64,{}\n", 4.0 * 5.6 * 16384.0 * 4096.0 * 64.0);
    let calibration = fit_scan(&Table::parse(&text).unwrap(), Options::default()).unwrap();
    assert!((calibration.predict(&query(0, 4096, 64.0)).unwrap().k - 11.2).abs() < 1e-9);
    let scatter: Vec<f64> =
        calibration.references().filter(|(_, r)| r.m == 0 && r.n == 4096).flat_map(|(_, r)| r.scatter.clone()).collect();
    assert!((scatter[3] - 2f64.ln()).abs() < 1e-12 && scatter[..3] == [0.0; 3]);
}

#[test]
fn falling_traffic_is_pooled() {
    let rows = [(0, 4096, [4.0, 0.9, 1.0, 1.0])];
    let calibration = fit_scan(&Table::parse(&csv(&rows)).unwrap(), Options::default()).unwrap();
    let (_, reference) = calibration.references().next().unwrap();
    let pooled = (4.0f64.ln() + 3.6f64.ln()) / 2.0;
    assert!((reference.log_wk[0] - pooled).abs() < 1e-12 && reference.log_wk[0] == reference.log_wk[1]);
}

#[test]
fn the_contract_is_enforced() {
    let calibration = fitted(Options::default());
    let refusal = |change: &dyn Fn(&mut Query)| -> InputError {
        let mut target = query(4, 4096, 64.0);
        change(&mut target);
        calibration.predict(&target).expect_err("outside the contract")
    };
    assert_eq!(refusal(&|q| q.device = Some("other".to_string())).field(), "device");
    assert_eq!(refusal(&|q| q.binary = Some("scan-8".to_string())).field(), "binary");
    let family = refusal(&|q| q.d = 3);
    assert_eq!(family.field(), "family");
    assert!(family.message().contains("o=1 path=tma d=4"), "{family}");
    assert_eq!(refusal(&|q| q.o = 2).field(), "family");
    assert_eq!(refusal(&|q| q.path = "sync".to_string()).field(), "family");
    let class = refusal(&|q| q.m = 6);
    assert_eq!(class.field(), "m");
    assert!(class.message().contains("execution class 2") && class.message().contains("N=4096"), "{class}");
    assert_eq!(refusal(&|q| q.blocks = 0).field(), "blocks");
    for scans in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(refusal(&|q| q.scans = scans).field(), "scans");
    }
    assert_eq!(refusal(&|q| q.assumptions.curvature = Some(f64::NAN)).field(), "curvature");
    let mut named = query(4, 4096, 64.0);
    named.device = Some("bench".to_string());
    named.binary = Some("scan-7".to_string());
    assert!(calibration.predict(&named).is_ok());
}

#[test]
fn an_empty_class_at_one_needed_size_is_refused() {
    // Class 1 exists at 4096 only: a length in between needs both sizes, the length itself does not.
    let rows: Vec<Row> = ROWS.iter().filter(|row| (row.0, row.1) != (1, 2048)).copied().collect();
    let calibration = fit_scan(&Table::parse(&csv(&rows)).unwrap(), Options::default()).unwrap();
    assert!(calibration.predict(&query(1, 4096, 16.0)).is_ok());
    let error = calibration.predict(&query(1, 3000, 16.0)).unwrap_err();
    assert!(error.field() == "m" && error.message().contains("N=2048"), "{error}");
}

#[test]
fn bad_measurements_name_their_field_and_row() {
    let first_data_row = 7;
    let error = |change: &dyn Fn(String) -> String| {
        let error = Table::parse(&change(csv(&ROWS))).and_then(|table| fit_scan(&table, Options::default())).expect_err("bad measurements");
        (error.field().to_string(), error.row())
    };
    let replaced = |from: &'static str, to: &'static str| error(&move |text: String| text.replacen(from, to, 1));
    let at = |field: &str, row: u64| (field.to_string(), Some(row));
    assert_eq!(replaced("1,tma,4,0,2048,1,33554432", "1,tma,4,0,2048,1,-5"), at("bytes", first_data_row));
    assert_eq!(replaced("1,tma,4,0,2048,1,33554432", "1,tma,4,0,2048,1,NaN"), at("bytes", first_data_row));
    assert_eq!(replaced("1,tma,4,0,2048,1,33554432", "1,tma,4,0,2048,1,0"), at("bytes", first_data_row));
    assert_eq!(replaced("1,tma,4,0,2048,1,33554432", "1,tma,4,0,2048,1,"), at("bytes", first_data_row));
    assert_eq!(replaced("1,tma,4,0,2048,1,", "1,tma,4,0,2048,,"), at("w", first_data_row));
    assert_eq!(replaced("1,tma,4,0,2048,4,", "1,tma,4,0,2048,3,"), at("w", first_data_row + 1));
    assert_eq!(replaced("1,tma,4,0,2048,4,", "1,tma,4,0,2048,1,"), at("w", first_data_row));
    assert_eq!(replaced("1,tma,4,0,2048,1,", "0,tma,4,0,2048,1,"), at("o", first_data_row));
    assert_eq!(replaced("1,tma,4,0,2048,1,", "1,,4,0,2048,1,"), at("path", first_data_row));
    assert_eq!(replaced("1,tma,4,0,2048,1,", "1,tma,x,0,2048,1,"), at("d", first_data_row));
    assert_eq!(replaced("1,tma,4,0,2048,1,", "1,tma,4,0,0,1,"), at("n", first_data_row));
    assert_eq!(replaced("# device = bench\n", ""), ("device".to_string(), None));
    assert_eq!(replaced("# capacity_blocks = 1280", "# capacity_blocks = 0"), at("capacity_blocks", 5));
    assert_eq!(replaced("# block_bytes = 16384", "# block_bytes = x"), at("block_bytes", 4));
    assert_eq!(replaced("# workers_per_occupancy = 48", "# horizons = 4, 1"), ("workers_per_occupancy".to_string(), None));
    assert_eq!(replaced("# binary = scan-7", "# horizons = 4, 1"), at("horizons", 2));
    assert_eq!(replaced("# binary = scan-7", "# horizons = 4, x"), at("horizons", 2));
    assert_eq!(replaced("# binary = scan-7", "# horizons = 1, 4, 16"), at("w", first_data_row + 3));
}

#[test]
fn other_horizons_can_be_declared() {
    let text = format!("{HEADER}# horizons = 2, 3\no,path,d,m,n,w,bytes\n1,tma,4,0,64,2,2097152\n1,tma,4,0,64,3,6291456\n");
    let calibration = fit_scan(&Table::parse(&text).unwrap(), Options::default()).unwrap();
    assert!((calibration.predict(&query(0, 64, 2.0)).unwrap().k - 1.0).abs() < 1e-9);
    assert!((calibration.predict(&query(0, 64, 3.0)).unwrap().k - 2.0).abs() < 1e-9);
}

#[test]
fn the_json_form_of_a_measurement_file_fits_the_same() {
    let mut rows = Vec::new();
    for (m, n, ks) in ROWS {
        for (w, k) in [1u32, 4, 16, 64].iter().zip(ks) {
            let bytes = k * 16384.0 * n as f64 * f64::from(*w);
            rows.push(serde_json::json!({"o": 1, "path": "tma", "d": 4, "m": m, "n": n, "w": w, "bytes": [bytes, bytes]}));
        }
    }
    let file = serde_json::json!({"device": "bench", "binary": "scan-7", "workers_per_occupancy": 48, "block_bytes": 16384,
        "capacity_blocks": 1280, "horizons": [1, 4, 16, 64], "rows": rows});
    let from_json = fit_scan(&Table::parse(&file.to_string()).unwrap(), Options::default()).unwrap();
    assert_eq!(from_json, fitted(Options::default()));
}

#[test]
fn a_frozen_calibration_reads_back_and_predicts_the_same() {
    let calibration = fitted(Options { epsilon: 0.1, lambda: 2.0, anchor: Anchor::ClassMean, eta: EtaInterpolation::Decoded });
    let text = Calibration::Scan(calibration.clone()).to_json();
    assert_eq!(text, Calibration::Scan(calibration.clone()).to_json());
    let Calibration::Scan(read) = Calibration::from_json(&text).unwrap() else { panic!("a scan calibration") };
    assert_eq!(read.options(), calibration.options());
    for (m, n, w) in [(0, 4096, 64.0), (7, 3000, 10.0), (8, 3000, 10.0), (1, 9999, 0.3)] {
        match (calibration.predict(&query(m, n, w)), read.predict(&query(m, n, w))) {
            (Ok(a), Ok(b)) => assert!((a.k - b.k).abs() < 1e-12),
            (a, b) => assert_eq!(a, b),
        }
    }
}

#[test]
fn a_damaged_calibration_is_refused() {
    let text = Calibration::Scan(fitted(Options::default())).to_json();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let field = |pointer: &str, new: serde_json::Value| {
        let mut value = value.clone();
        *value.pointer_mut(pointer).expect(pointer) = new;
        Calibration::from_json(&value.to_string()).expect_err(pointer).field().to_string()
    };
    use serde_json::json;
    assert_eq!(Calibration::from_json("{").unwrap_err().field(), "calibration");
    assert_eq!(Calibration::from_json("{}").unwrap_err().field(), "calibration");
    assert_eq!(field("/format", json!("other")), "format");
    assert_eq!(field("/kind", json!("other")), "calibration");
    assert_eq!(field("/device/capacity_blocks", json!(0)), "capacity_blocks");
    assert_eq!(field("/device/name", json!("")), "device");
    assert_eq!(field("/options/epsilon", json!(0.0)), "epsilon");
    assert_eq!(field("/options/anchor", json!("other")), "calibration");
    assert_eq!(field("/families", json!([])), "families");
    assert_eq!(field("/families/0/o", json!(0)), "families[0].o");
    assert_eq!(field("/families/0/references", json!([])), "families[0].references");
    assert_eq!(field("/families/0/references/1/n", json!(0)), "families[0].references[1].n");
    assert_eq!(field("/families/0/references/1/horizons/0", json!(-1.0)), "families[0].references[1].horizons[0]");
    assert_eq!(field("/families/0/references/1/log_wk/0", json!(99.0)), "families[0].references[1].log_wk[1]");
    assert_eq!(field("/families/0/references/1/log_wk", json!([1.0])), "families[0].references[1].knots");
    assert_eq!(field("/families/0/references/1/scatter", json!([])), "families[0].references[1].scatter");
    assert_eq!(field("/families/0/references/1/scatter/0", json!(-1.0)), "families[0].references[1].scatter[0]");
    assert_eq!(field("/families/0/references/1/m", json!(0)), "families[0].references[1]");
}

// GEMM: a response that is exactly log-linear in columns and rows is reproduced by the linear part, whatever the anchor weight, at the
// references and half way between them.

const GRID: [(u64, u64); 6] = [(256, 256), (256, 1024), (1024, 256), (1024, 1024), (4096, 256), (4096, 1024)];

fn gemm_csv(kappa: impl Fn(u64, u64, u64) -> f64) -> String {
    let mut text = format!("{HEADER}mg,ng,kg,bytes\n");
    for (m, n) in GRID {
        for k in [1024, 4096] {
            let shape = GemmShape::new(m, n, k).unwrap();
            text += &format!("{m},{n},{k},{}\n", kappa(m, n, k) * shape.reference_bytes() as f64);
        }
    }
    text
}

fn gemm(kappa: impl Fn(u64, u64, u64) -> f64) -> GemmCalibration {
    fit_gemm(&Table::parse(&gemm_csv(kappa)).unwrap(), Options::default()).unwrap()
}

fn gemm_query(m: u64, n: u64, k: u64) -> GemmQuery {
    GemmQuery { device: None, binary: None, shape: GemmShape::new(m, n, k).unwrap() }
}

#[test]
fn gemm_references_predict_themselves() {
    let kappa = |m: u64, n: u64, k: u64| 1.0 + (m * n / 65536) as f64 / 64.0 + k as f64 / 4096.0;
    let calibration = gemm(kappa);
    for (m, n) in GRID {
        for k in [1024, 4096] {
            let found = calibration.predict(&gemm_query(m, n, k)).unwrap();
            let shape = GemmShape::new(m, n, k).unwrap();
            let expected = kappa(m, n, k).min(48.0 / shape.static_k(48));
            assert!((found.kappa - expected).abs() < 1e-9, "{m} {n} {k}: {} {expected}", found.kappa);
            let bytes = expected * shape.reference_bytes() as f64;
            assert!((found.traffic_bytes - bytes).abs() < 1e-6 * bytes);
            assert!((found.rho - bytes / shape.demand_bytes() as f64).abs() < 1e-9);
            assert!(!found.clamped);
        }
    }
}

#[test]
fn gemm_transfer_is_linear_in_the_logarithms_half_way() {
    // An encoded response that is linear in log columns and log rows; half way between references the nearest prior is their mean.
    let encoded = |rows: f64, columns: f64| -2.0 + 0.4 * rows.ln() + 0.3 * columns.ln();
    let ratio = |m: u64, n: u64| 1.0 + (encoded(m as f64 / 128.0, n as f64 / 128.0).exp() - 0.05).max(0.0);
    let calibration = gemm(|m, n, _| ratio(m, n));
    for (m, n) in [(512, 512), (2048, 512), (512, 256), (1024, 512), (2048, 1024)] {
        let found = calibration.predict(&gemm_query(m, n, 4096)).unwrap();
        assert!((found.kappa - ratio(m, n)).abs() < 1e-9, "{m} {n}: {} {}", found.kappa, ratio(m, n));
    }
    // Off centre the nearest reference pulls by a fifth of its distance from the line, in columns as in rows.
    let found = calibration.predict(&gemm_query(256, 384, 4096)).unwrap();
    let line = encoded(2.0, 3.0);
    let expected = (encoded(2.0, 2.0) + 4.0 * line) / 5.0;
    assert!((found.encoded - expected).abs() < 1e-9);
    let found = calibration.predict(&gemm_query(384, 256, 4096)).unwrap();
    assert!((found.encoded - (encoded(2.0, 2.0) + 4.0 * encoded(3.0, 2.0)) / 5.0).abs() < 1e-9);
}

#[test]
fn gemm_clamps_and_refuses() {
    let calibration = gemm(|_, _, _| 1.5);
    for (m, n, k) in [(128, 256, 1024), (256, 2048, 1024), (256, 256, 512), (8192, 256, 1024)] {
        let found = calibration.predict(&gemm_query(m, n, k)).unwrap();
        assert!(found.clamped && (found.kappa - 1.5f64.min(48.0 / found.k0)).abs() < 1e-9, "{m} {n} {k}");
    }
    let mut other = gemm_query(256, 256, 1024);
    other.device = Some("other".to_string());
    assert_eq!(calibration.predict(&other).unwrap_err().field(), "device");
    let field = |text: String| {
        let error = Table::parse(&text).and_then(|t| fit_gemm(&t, Options::default())).expect_err("bad");
        (error.field().to_string(), error.row())
    };
    let good = gemm_csv(|_, _, _| 1.5);
    let without = |needle: &str| {
        let line = good.lines().find(|line| line.starts_with(needle)).unwrap().to_string() + "\n";
        good.replace(&line, "")
    };
    assert_eq!(field(without("1024,256,4096")), ("kg".to_string(), Some(11)));
    assert_eq!(field(good.replace("256,256,1024,", "250,256,1024,")), ("mg".to_string(), Some(7)));
    assert_eq!(field(format!("# occupancy = 0\n{good}")), ("occupancy".to_string(), None));
}

#[test]
fn a_frozen_gemm_calibration_reads_back() {
    let calibration = gemm(|m, n, k| 1.0 + (m + n + k) as f64 / 4096.0);
    let text = Calibration::Gemm(calibration.clone()).to_json();
    let Calibration::Gemm(read) = Calibration::from_json(&text).unwrap() else { panic!("a GEMM calibration") };
    let (a, b) = (calibration.predict(&gemm_query(640, 896, 2560)).unwrap(), read.predict(&gemm_query(640, 896, 2560)).unwrap());
    assert!((a.k - b.k).abs() < 1e-12);
    assert_eq!(calibration.occupancy(), read.occupancy());
}

#[test]
fn the_two_workloads_of_the_paper_fit_the_cache_as_it_says() {
    // 25 of 60 test shapes fit 20 MiB and 40 fit 32 MiB: half-precision inputs and single-precision output.
    let mut fit = [0; 2];
    for m in [640, 896, 1280, 2560, 5120u64] {
        for n in [640, 896, 1280, 2560u64] {
            for k in [1280, 2560, 5120u64] {
                assert!(GemmShape::new(m, n, k).is_ok());
                let bytes = 2 * (m * k + k * n) + 4 * m * n;
                fit[0] += usize::from(bytes <= 20 << 20);
                fit[1] += usize::from(bytes <= 32 << 20);
            }
        }
    }
    assert_eq!(fit, [25, 40]);
}

proptest! {
    #![proptest_config(pascal_support::proptest_config(256))]

    #[test]
    fn predictions_stay_inside_the_contract(
        m in 0..40u32, blocks in 1..20_000u64, scans in 0.01..500.0f64,
        epsilon in 0.001..1.0f64, lambda in 0.0..20.0f64, anchor in 0..5usize, decoded in any::<bool>(),
    ) {
        let anchor = [Anchor::Nearest, Anchor::ClassMean, Anchor::FamilyLinear, Anchor::Aligned, Anchor::Linear][anchor];
        let eta = if decoded { EtaInterpolation::Decoded } else { EtaInterpolation::Encoded };
        let calibration = fitted(Options { epsilon, lambda, anchor, eta });
        match calibration.predict(&query(m, blocks, scans)) {
            Err(error) => prop_assert!(error.field() == "m" && m % 4 >= 2, "{}", error),
            Ok(found) => {
                prop_assert!((1.0..=48.0).contains(&found.k));
                // No prediction exceeds what any reference or any prior says.
                prop_assert!(found.k <= 5.6 + 1e-9);
                prop_assert!((found.sizes.iter().map(|size| size.weight).sum::<f64>() - 1.0).abs() < 1e-12);
                if let Some(certificate) = found.certificate {
                    prop_assert!(certificate.encoded_error >= 0.0 && certificate.relative_error >= 0.0);
                }
            }
        }
    }

    #[test]
    fn no_text_makes_the_parsers_panic(text in "[ -~\n]{0,200}") {
        let _ = Table::parse(&text).and_then(|table| fit_scan(&table, Options::default()));
        let _ = Table::parse(&text).and_then(|table| fit_gemm(&table, Options::default()));
        let _ = Calibration::from_json(&text);
    }

    #[test]
    fn no_cell_makes_the_fit_panic(cell in "[-+0-9.eEnaif,]{0,12}", column in 0..7usize) {
        let mut cells = ["1", "tma", "4", "0", "2048", "1", "33554432"].map(str::to_string);
        cells[column] = cell;
        let text = csv(&ROWS).replacen("1,tma,4,0,2048,1,33554432", &cells.join(","), 1);
        let _ = Table::parse(&text).and_then(|table| fit_scan(&table, Options::default()));
    }
}
