//! Layers of settings: preset, file, `--set`, `--sms`.

use crate::error::ConfigError;
use crate::keys::{Config, KEYS, KeyKind, KeySpec};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

/// The presets, with what they are.
pub const PRESETS: &[(&str, &str)] = &[
    ("paper", "the defaults of the C2P-Cache and SnakeCharmer papers"),
    (
        "lean",
        "C2P-Cache with one hash, one row per cycle and one copy, but twice the queries; the update path of the paper: docs/decisions/lookup-ports.md",
    ),
    ("a100", "SnakeCharmer on an A100: sc_sgu_threshold = 4"),
    ("v100", "SnakeCharmer on a V100: sc_sgu_threshold = 5"),
];

/// A configuration file has a line for each key; a longer one is none.
const MOST_BYTES: u64 = 1 << 20;

/// Keys that a preset sets, and to what.
pub fn preset_values(name: &str) -> Option<&'static [(&'static str, i64)]> {
    // The defaults of KEYS are the paper's.
    Some(match name {
        "paper" => &[],
        "lean" => {
            &[("hashes", 1), ("lookup_ports", 1), ("copies", 1), ("queries_per_sm", 4), ("update_lanes", 16), ("fill_queue_depth", 2)]
        }
        "a100" => &[("sc_sgu_threshold", 4)],
        "v100" => &[("sc_sgu_threshold", 5)],
        _ => return None,
    })
}

/// Values given so far, each with the place it came from.
///
/// A later value of a key replaces an earlier one. Nothing is judged in relation to other keys before
/// [`Settings::resolve`].
#[derive(Debug, Clone, Default)]
pub struct Settings {
    values: BTreeMap<&'static str, (toml::Value, String)>,
    /// The table `[system]`: parameters of the memory path, which are none of the hardware's. Whoever simulates it judges them.
    system: BTreeMap<String, (toml::Value, String)>,
}

/// The keys of the table `[system]` of a file, with their places.
#[derive(serde::Deserialize, Default)]
struct SystemKeys {
    system: BTreeMap<toml::Spanned<String>, toml::Value>,
}

impl Settings {
    /// Starts from a preset.
    ///
    /// # Errors
    /// An unknown name; the message lists the presets.
    pub fn preset(name: &str) -> Result<Self, ConfigError> {
        let mut settings = Self::default();
        settings.add_preset(name)?;
        Ok(settings)
    }

    /// Lays a preset over what is there.
    ///
    /// # Errors
    /// An unknown name; the message lists the presets.
    pub fn add_preset(&mut self, name: &str) -> Result<(), ConfigError> {
        let Some(values) = preset_values(name) else {
            let names: Vec<_> = PRESETS.iter().map(|p| p.0).collect();
            return Err(ConfigError::new("--preset", "preset", name, format!("legal: {}", names.join(", "))));
        };
        for (key, value) in values {
            self.values.insert(key, (toml::Value::Integer(*value), format!("--preset {name}")));
        }
        Ok(())
    }

    /// Lays a TOML file over what is there.
    ///
    /// # Errors
    /// An unreadable file, malformed TOML, an unknown key, a value of the wrong type or out of its key's
    /// range; each with file and line.
    pub fn add_file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let name = path.display().to_string();
        let cannot = |why: String| ConfigError::new(&name, "", "", format!("cannot read the configuration: {why}"));
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(|e| cannot(e.to_string()))?;
        file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(|e| cannot(e.to_string()))?;
        if text.len() as u64 > MOST_BYTES {
            return Err(cannot(format!("it has more than {MOST_BYTES} bytes")));
        }
        self.add_text(&name, &text)
    }

    /// Lays TOML text over what is there; `name` stands for the file in errors.
    ///
    /// # Errors
    /// As [`Settings::add_file`].
    pub fn add_text(&mut self, name: &str, text: &str) -> Result<(), ConfigError> {
        type Spanned = BTreeMap<toml::Spanned<String>, toml::Spanned<toml::Value>>;
        let line = |at: usize| 1 + text.as_bytes()[..at.min(text.len())].iter().filter(|b| **b == b'\n').count();
        let table: Spanned = toml::from_str(text).map_err(|e| {
            let place = e.span().map_or(name.to_string(), |s| format!("{name}:{}", line(s.start)));
            ConfigError::new(&place, "", "", format!("malformed TOML: {}", e.message()))
        })?;
        let (mut accepted, mut system) = (Vec::new(), Vec::new());
        for (key, value) in table {
            let place = format!("{name}:{}", line(key.span().start));
            if key.get_ref() == "system"
                && let toml::Value::Table(table) = value.get_ref()
            {
                // The keys of a table of a `Value` have no places.
                let keys = toml::from_str::<SystemKeys>(text).unwrap_or_default().system;
                let line = |of: &str| keys.keys().find(|key| key.get_ref() == of).map_or(0, |key| line(key.span().start));
                system.extend(table.iter().map(|(key, value)| (key.clone(), (value.clone(), format!("{name}:{}", line(key))))));
                continue;
            }
            accepted.push((checked(key.get_ref(), value.into_inner(), &place)?, place));
        }
        for ((key, value), place) in accepted {
            self.values.insert(key, (value, place));
        }
        self.system.extend(system);
        Ok(())
    }

    /// Parameters of the memory path from the tables `[system]` of the files: key, value as TOML, place.
    pub fn system(&self) -> impl Iterator<Item = (&str, String, &str)> {
        self.system.iter().map(|(key, (value, place))| (key.as_str(), value.to_string(), place.as_str()))
    }

    /// Lays one `key=value` over what is there. The value is TOML; a bare word stands for a string.
    ///
    /// # Errors
    /// A missing `=`, an unknown key, a value of the wrong type or out of its key's range.
    pub fn set(&mut self, assignment: &str) -> Result<(), ConfigError> {
        let Some((key, text)) = assignment.split_once('=') else {
            return Err(ConfigError::new("--set", assignment, "", "expected key=value"));
        };
        let (key, text) = (key.trim(), text.trim());
        let value = toml::from_str::<toml::Table>(&format!("v = {text}"))
            .ok()
            .and_then(|mut t| if t.len() == 1 { t.remove("v") } else { None })
            .unwrap_or_else(|| toml::Value::String(text.to_string()));
        let (key, value) = checked(key, value, "--set")?;
        self.values.insert(key, (value, "--set".into()));
        Ok(())
    }

    /// Sets the number of SMs.
    ///
    /// # Errors
    /// A number outside 2..=256.
    pub fn set_sms(&mut self, sms: u32) -> Result<(), ConfigError> {
        let (key, value) = checked("sms", toml::Value::Integer(sms.into()), "--sms")?;
        self.values.insert(key, (value, "--sms".into()));
        Ok(())
    }

    /// Fills in the defaults and judges the whole.
    ///
    /// # Errors
    /// The first illegal combination, naming key, value and legal range.
    pub fn resolve(&self) -> Result<Config, ConfigError> {
        crate::validate::resolve(self)
    }

    /// The value given for a key, if any.
    pub(crate) fn given(&self, key: &str) -> Option<&toml::Value> {
        self.values.get(key).map(|v| &v.0)
    }

    /// Where the value of a key came from; empty for a default.
    pub(crate) fn origin(&self, key: &str) -> &str {
        self.values.get(key).map_or("", |v| &v.1)
    }
}

/// Checks one value against its key alone.
fn checked(key: &str, value: toml::Value, place: &str) -> Result<(&'static str, toml::Value), ConfigError> {
    let Some(spec) = KEYS.iter().find(|k| k.name == key) else {
        let hint = nearest(key).map_or(String::new(), |k| format!("; did you mean {k}?"));
        return Err(ConfigError::new(place, key, "", format!("unknown key{hint} (l1forge config lists every key)")));
    };
    if let toml::Value::String(word) = &value
        && word == "auto"
        && spec.default == "auto"
    {
        return Ok((spec.name, value));
    }
    if !fits(spec, &value) {
        let shown = match &value {
            toml::Value::String(s) => s.clone(),
            other => other.to_string(),
        };
        let auto = if spec.default == "auto" { ", or auto" } else { "" };
        return Err(ConfigError::new(place, key, shown, format!("legal: {}{auto}", spec.kind.legal())));
    }
    Ok((spec.name, value))
}

fn fits(spec: &KeySpec, value: &toml::Value) -> bool {
    let int = value.as_integer();
    match spec.kind {
        KeyKind::Int { min, max } => int.is_some_and(|v| (i64::from(min)..=i64::from(max)).contains(&v)),
        KeyKind::PowerOfTwo { min, max } => int.is_some_and(|v| (i64::from(min)..=i64::from(max)).contains(&v) && v & (v - 1) == 0),
        KeyKind::OneOf(list) => int.is_some_and(|v| list.iter().any(|l| i64::from(*l) == v)),
        KeyKind::Bool => value.is_bool(),
        KeyKind::Choice(words) => value.as_str().is_some_and(|v| words.contains(&v)),
        KeyKind::Floorplan => match value {
            toml::Value::String(word) => word == "grid",
            toml::Value::Array(list) => list.iter().all(|p| {
                p.as_array()
                    .is_some_and(|p| p.len() == 2 && p.iter().all(|c| c.as_integer().is_some_and(|c| (-100_000..=100_000).contains(&c))))
            }),
            _ => false,
        },
    }
}

/// The key nearest in spelling, if one is near.
fn nearest(key: &str) -> Option<&'static str> {
    let distance = |a: &str, b: &str| {
        let b: Vec<char> = b.chars().collect();
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.chars().enumerate() {
            let mut diagonal = row[0];
            row[0] = i + 1;
            for j in 0..b.len() {
                let cost = diagonal + usize::from(x != b[j]);
                diagonal = row[j + 1];
                row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
            }
        }
        row[b.len()]
    };
    KEYS.iter().map(|k| (distance(key, k.name), k.name)).min().filter(|(d, _)| *d <= 3).map(|(_, k)| k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_memory_path_is_kept_apart() {
        let mut s = Settings::default();
        s.add_text("a.toml", "sms = 8\n[system]\nmshrs = 32\nnotify_remote_fills = false\n").unwrap();
        s.add_text("b.toml", "[system]\nmshrs = 16\n").unwrap();
        let system: Vec<_> = s.system().collect();
        let expected = [("mshrs", "16".to_string(), "b.toml:2"), ("notify_remote_fills", "false".into(), "a.toml:4")];
        assert_eq!(system, expected);
        assert_eq!(s.resolve().unwrap().sms, 8);
        s.add_text("e.toml", "sms = 8\nsystem = { mshrs = 16 }\n").unwrap();
        assert_eq!(s.system().next().map(|v| v.2), Some("e.toml:2"));
        // Only a table of that name, and nothing of a file with an error.
        assert!(s.add_text("c.toml", "system = 3\n").unwrap_err().to_string().contains("unknown key"));
        assert!(s.add_text("d.toml", "smss = 4\n[system]\nmshrs = 1\n").is_err());
        assert_eq!(s.system().next().map(|v| v.1), Some("16".into()));
    }
}
