//! Defaults that depend on other keys, and what must hold between keys.

use crate::error::ConfigError;
use crate::keys::{Config, CopyChoice, KEYS};
use crate::settings::Settings;

pub(crate) fn resolve(settings: &Settings) -> Result<Config, ConfigError> {
    let int = |key: &str, auto: u32| match settings.given(key).and_then(toml::Value::as_integer) {
        Some(v) => u32::try_from(v).expect("checked when set"),
        None => KEYS.iter().find(|k| k.name == key).and_then(|k| k.default.parse().ok()).unwrap_or(auto),
    };
    let hashes = int("hashes", 0);
    let k = hashes + u32::from(int("mask_bits", 0) > 0);
    let sms = int("sms", 0);
    let engines = int("engines", 2 * sms);
    let tag_bits = int("address_bits", 0) - int("line_bytes", 0).trailing_zeros();
    // Lookup port j of SM s reads copy (s + j) mod copies: with more copies some have no reader.
    let readers = (sms + int("lookup_ports", k.max(1))).saturating_sub(1).max(1);
    let auto = |key: &str| match key {
        "hash_bits" => int(key, if hashes == 0 { 0 } else { 4096 }),
        "copies" => int(key, k.clamp(1, 4).min(readers)),
        "lookup_ports" => int(key, k.max(1)),
        "engines" => engines,
        "update_engines" => int(key, engines.saturating_sub(sms).max(1)),
        "sc_train_bits" => int(key, tag_bits.min(20)),
        "sc_stride_bits" => int(key, int("sc_train_bits", tag_bits.min(20)).min(16)),
        "update_lanes" => int(key, (int("update_bytes", 0) / 8).max(sms / 2).min(64)),
        "refresh_period" => int(key, (3 * sms).max(192)),
        _ => unreachable!("no automatic default for {key}"),
    };
    let config = Config::from_values(|key| {
        let spec = KEYS.iter().find(|k| k.name == key).expect("every field is a key");
        match settings.given(key) {
            Some(value) if value.as_str() != Some("auto") => value.clone(),
            _ if spec.default == "auto" => toml::Value::Integer(auto(key).into()),
            _ => toml::from_str::<toml::Table>(&format!("v = {}", spec.default))
                .ok()
                .and_then(|mut t| t.remove("v"))
                .expect("defaults are TOML"),
        }
    });
    combinations(settings, &config)?;
    Ok(config)
}

/// What must hold between keys; the first breach is reported.
fn combinations(settings: &Settings, c: &Config) -> Result<(), ConfigError> {
    let refuse = |key: &str, value: u32, legal: String| Err(ConfigError::new(settings.origin(key), key, value, format!("legal: {legal}")));
    let k = c.k();
    if k == 0 {
        return refuse("hashes", c.hashes, "1..=8 when mask_bits = 0 (a tag needs at least one position)".into());
    }
    if k > 8 {
        return refuse("hashes", c.hashes, "0..=7 when mask_bits > 0 (at most 8 positions per tag)".into());
    }
    if c.hashes == 0 && c.hash_bits != 0 {
        return refuse("hash_bits", c.hash_bits, "0 when hashes = 0".into());
    }
    if c.hashes > 0 && (c.hash_bits == 0 || !c.hash_bits.is_multiple_of(c.banks)) {
        if c.hash_bits > 0 && c.hash_bits < c.banks {
            return refuse("banks", c.banks, format!("a power of two in 1..={} (at most hash_bits)", c.hash_bits));
        }
        return refuse("hash_bits", c.hash_bits, format!("a positive multiple of banks = {}, at most 131072", c.banks));
    }
    if c.mask_bits > 0 && !c.mask_bits.is_multiple_of(c.banks) {
        return refuse("banks", c.banks, format!("a divisor of mask_bits = {}", c.mask_bits));
    }
    if c.copies > k {
        return refuse("copies", c.copies, format!("1..={k} (at most k = {k}, the positions per tag)"));
    }
    let readers = c.sms + c.lookup_ports.min(k) - 1;
    if c.copy_choice == CopyChoice::Fixed && c.copies > readers {
        return refuse("copies", c.copies, format!("1..={readers} (at most sms + lookup_ports - 1, or a copy has no reader)"));
    }
    if c.lookup_ports > k {
        return refuse("lookup_ports", c.lookup_ports, format!("1..={k} (at most k = {k}, the positions per tag)"));
    }
    if c.update_engines >= c.engines {
        let most = c.engines - 1;
        return refuse("update_engines", c.update_engines, format!("1..={most} (fewer than engines = {})", c.engines));
    }
    if c.engines - c.update_engines > c.sms {
        let (least, most) = (c.engines - c.sms, c.engines - 1);
        return refuse(
            "update_engines",
            c.update_engines,
            format!("{least}..={most} (engines = {} beyond one per SM, sms = {}, can only serve updates)", c.engines, c.sms),
        );
    }
    if c.queries_per_sm > 1 << c.id_bits.min(16) {
        return refuse("queries_per_sm", c.queries_per_sm, format!("1..={} (ids of id_bits = {})", 1u32 << c.id_bits, c.id_bits));
    }
    if !c.floorplan.is_empty() && c.floorplan.len() != c.sms as usize {
        let value = u32::try_from(c.floorplan.len()).unwrap_or(u32::MAX);
        return refuse("floorplan", value, format!("exactly {} places, one per SM", c.sms));
    }
    let lines = c.l1_bytes / c.line_bytes;
    if lines == 0 || !lines.is_multiple_of(c.l1_ways) {
        return refuse("l1_ways", c.l1_ways, format!("a divisor of the {lines} lines of an L1 (l1_bytes / line_bytes)"));
    }
    snakecharmer(settings, c)
}

/// What must hold between the keys of SnakeCharmer.
fn snakecharmer(settings: &Settings, c: &Config) -> Result<(), ConfigError> {
    let most = |key: &str, value: u32, least: u32, most: u32, why: &str| {
        if value <= most {
            return Ok(());
        }
        Err(ConfigError::new(settings.origin(key), key, value, format!("legal: {least}..={most} ({why})")))
    };
    most("sc_sector_bytes", c.sc_sector_bytes, 32, c.line_bytes, "at most line_bytes, a power of two")?;
    most("sc_train_bits", c.sc_train_bits, 2, c.tag_bits(), "at most the bits of a line address")?;
    most("sc_stride_bits", c.sc_stride_bits, 2, c.sc_train_bits, "at most sc_train_bits")?;
    let distance = c.sc_max_intra_warp.min(c.sc_max_inter_pc).min(c.sc_max_inter_warp);
    most("sc_reset_distance", c.sc_reset_distance, 1, distance, "at most each of sc_max_intra_warp, sc_max_inter_pc, sc_max_inter_warp")?;
    most("sc_awt_move_events", c.sc_awt_move_events, 0, c.sc_awt_window, "at most sc_awt_window")?;
    let entries = c.sc_prt_entries - 1;
    if entries >> c.sc_register_bits != 0 {
        let least = 32 - entries.leading_zeros();
        let legal = format!("legal: {least}..=16 (registers for sc_prt_entries = {})", c.sc_prt_entries);
        return Err(ConfigError::new(settings.origin("sc_register_bits"), "sc_register_bits", c.sc_register_bits, legal));
    }
    Ok(())
}
