//! The latency table of `docs/blocks/snakecharmer/README.md`: what happens in which cycle after a demand, and that nothing but the PRT is on
//! the way of the demand.

#[path = "common/prefetch.rs"]
mod prefetch;

#[path = "common/script.rs"]
mod script;

use l1forge_verif::block;
use l1forge_verif::tools::{Tool, Toolbox};
use prefetch::config;
use script::{Step, run_all};

/// Cycles between the loads of the script; enough for everything that a load starts.
const SPACING: u64 = 40;

/// Loads of warp 0 from lines 100, 103, 106 …, one every [`SPACING`] cycles from cycle 2 on; `register`: the registers are idle.
fn strided_loads(count: u64, registers: u64, enable: u64) -> Vec<Step> {
    (0..count * SPACING)
        .map(|cycle| {
            let mut step = vec![("enable_i", enable), ("idle_registers_i", registers), ("prefetch_ready_i", 0)];
            if cycle % SPACING == 2 {
                let line = 100 + 3 * (cycle / SPACING);
                step.extend([("demand_valid_i", 1), ("demand_line_i", line), ("demand_mask_i", 15), ("demand_pc_i", 7)]);
            }
            step
        })
        .collect()
}

#[test]
fn a_demand_is_answered_in_the_next_cycle_and_a_prefetch_offered_in_the_fifth() {
    let seen = run_all("snakecharmer", &[], strided_loads(3, 64, 1));
    let get = |cycle: usize, name: &str| seen[cycle].get(seen[cycle].index(name), 0);
    // The second load gives the stride, the third confirms it: the first prefetch is its own.
    let third = (2 * SPACING + 2) as usize;
    let offered: Vec<usize> = (0..seen.len()).filter(|&c| get(c, "prefetch_valid_o") == 1).collect();
    assert_eq!(offered.first(), Some(&(third + 5)));
    assert_eq!(get(third + 5, "prefetch_line_o"), 109);
    let answered: Vec<usize> = (0..seen.len()).filter(|&c| get(c, "answer_valid_o") == 1).collect();
    assert_eq!(answered, [0, 1, 2].map(|n| (n * SPACING + 3) as usize));
}

#[test]
fn the_answer_does_not_wait_for_prefetching() {
    // Whatever the prefetcher does, the answers to the same demands are there in the same cycles.
    let answers = |enable| {
        let seen = run_all("snakecharmer", &[], strided_loads(6, 64, enable));
        seen.iter().map(|s| s.get(s.index("answer_valid_o"), 0)).collect::<Vec<_>>()
    };
    assert_eq!(answers(0), answers(1));
}

#[test]
fn answers_come_straight_from_registers() {
    for sets in [&[][..], &["frontend=apogee"], &["frontend=external"], &["sc_controller=false", "sc_zero_filter=false"]] {
        let design = block::design(&config(sets), "snakecharmer", 0).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut script = String::new();
        for (name, text) in design.source_files() {
            std::fs::write(folder.path().join(name), text).unwrap();
            script += &format!("read_verilog {name}; ");
        }
        let stop = "%ci*:-$dff,$adff";
        let answers = "o:answer_valid_o o:answer_hit_o o:answer_waiting_o o:answer_register_o";
        // No input reaches an answer without a flip-flop between; the control: inputs do reach the mask of a fill.
        script += &format!(
            "hierarchy -top {top}; proc; flatten; select -set answers {answers}; select -assert-any @answers; \
             select -assert-none @answers {stop} i:* %i; select -assert-any o:fill_register_mask_o {stop} i:fill_valid_i %i",
            top = design.top()
        );
        let mut command = Toolbox::from_env().command(Tool::Yosys).unwrap();
        let output = command.current_dir(folder.path()).args(["-q", "-p", &script]).output().unwrap();
        assert!(output.status.success(), "{sets:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
