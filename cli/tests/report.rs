//! `report`: one page from what other commands left in a folder.

mod common;

use common::{done, refused, scratch, text};

#[test]
fn one_page_of_all_that_is_there() {
    let folder = scratch("report");
    let out = text(&folder);
    let block = ["--block", "bf_engine", "--sms", "8"];
    done(&[&["gen", "--out", out], &block[..]].concat());
    done(&["report", out]);
    let page = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert!(page("report.html").contains("<summary>Configuration") && !page("report.html").contains("Area by module"));

    std::fs::write(folder.join("lint.json"), done(&[&["lint", "--json"], &block[..]].concat())).unwrap();
    done(&[&["synth", "--out", out], &block[..]].concat());
    // A part of the design may be placed alone.
    done(&["place", "--scripts-only", "--out", out, "--block", "rr_arbiter_free", "--sms", "8"]);
    done(&["report", out]);
    let html = page("report.html");
    for part in ["<h1>bf_engine</h1>", "Icarus Verilog", "Area by module", "name=\"viewport\"", "<svg"] {
        assert!(html.contains(part), "no {part}");
    }
    // Another design in the same folder.
    done(&["gen", "--out", out, "--block", "bf_engine", "--sms", "8", "--set", "address_bits=40"]);
    refused(&["report", out], &["synth.json", "manifest.json", "address_bits is 48, not 40"]);
    // Self-contained: nothing is fetched.
    for fetched in ["src=", "<script", "<link", "url("] {
        assert!(!html.contains(fetched), "{fetched}");
    }
}

#[test]
fn files_that_are_something_else_are_refused() {
    let folder = scratch("report-bad");
    let out = text(&folder);
    done(&["gen", "--block", "bf_engine", "--sms", "8", "--out", out]);
    let cases: &[(&str, &str, &[&str])] = &[
        ("manifest.json", "[]", &["manifest.json", "l1forge gen", "top"]),
        ("manifest.json", "{\"top\": \"x\"}", &["manifest.json", "config"]),
        ("lint.json", "[{\"tool\": \"verilator\"}]", &["lint.json", "lint --json", "ok"]),
        ("cosim.json", "3", &["cosim.json", "cosim --json", "block"]),
        ("cosim-2.json", "{\"block\": \"c2p_cache\",\n", &["cosim-2.json:2", "cosim --json"]),
        ("synth.json", "{}", &["synth.json", "l1forge synth", "block"]),
        ("placement.json", "\"top\"", &["placement.json", "l1forge place", "top"]),
    ];
    for (name, content, words) in cases {
        let path = folder.join(name);
        let kept = std::fs::read(&path).ok();
        std::fs::write(&path, content).unwrap();
        refused(&["report", out], words);
        assert!(!folder.join("report.html").exists(), "{name}: a page was written");
        match kept {
            Some(kept) => std::fs::write(&path, kept).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
    }
    done(&["report", out]);
}
