//! Tests of the whole, and what all tests share.

use super::*;
use l1forge_config::Settings;

/// The paper's configuration with these settings.
pub fn config(sets: &[&str]) -> Config {
    let mut settings = Settings::preset("paper").unwrap();
    for set in sets {
        settings.set(set).unwrap_or_else(|e| panic!("{e}"));
    }
    settings.resolve().unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn unknown_blocks_and_instances_are_refused() {
    let c = config(&["sms=4"]);
    assert!(BLOCKS.iter().all(|name| block(name, &c, 0).is_ok_and(|b| b.name() == *name)));
    let error = block("nothing", &c, 0).err().unwrap().to_string();
    assert!(error.contains("nothing") && error.contains("c2p_cache"));
    assert!(block("probe_order", &c, 3).is_ok());
    assert_eq!(block("probe_order", &c, 4).err().unwrap().to_string(), "instance 4 of block probe_order: legal: 0..=3");
    assert!(block("bank_arbiter", &c, 3).is_ok());
    assert!(block("bank_arbiter", &config(&["sms=4", "copy_choice=any"]), 1).is_err());
    assert!(block("update_lane", &c, 15).is_ok() && block("c2p_cache", &c, 1).is_err());
}
