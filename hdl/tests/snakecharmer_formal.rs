//! The properties of the blocks of SnakeCharmer are proven by induction at small sizes, and hold in the first cycles after reset.

mod common;

use common::formal::holds;
use l1forge_config::Settings;
use l1forge_hdl::snakecharmer::block;

/// Small tables and narrow addresses: induction is over two steps, so all that counts is the shape.
const SMALL: &str = "address_bits=16 line_bytes=1024 sc_sector_bytes=1024 sc_warps=1 sc_pc_bits=4 sc_train_bits=2 sc_stride_bits=2 sc_max_inter_warp=3 sc_max_inter_pc=2 sc_max_intra_warp=2 sc_register_bits=1 sc_zero_timer=3 sc_awt_window=2 sc_awt_samples=3 sc_awt_move_events=1 sc_generation_bits=1 sc_degree=2 sc_prt_entries=2 sc_peb_entries=2 sc_patterns=2 sc_l1_awt_entries=1 sc_l2_awt_entries=2 sc_queue_depth=3";

fn proven(name: &str, sets: &str) {
    let mut settings = Settings::default();
    SMALL.split_whitespace().chain(sets.split_whitespace()).for_each(|set| settings.set(set).unwrap());
    let module = block(&settings.resolve().unwrap(), name, 0).unwrap().unwrap();
    assert!(holds(&module, 3, false), "{name} {sets}: from reset");
    assert!(holds(&module, 2, true), "{name} {sets}: induction");
}

#[test]
fn a_line_has_one_entry_and_slots_move_as_they_should() {
    proven("prt", "sc_prt_age=0");
}

#[test]
fn suppression_ends() {
    proven("zero_filter", "");
}

#[test]
fn the_queue_does_not_overflow() {
    proven("prefetch_queue", "");
}
