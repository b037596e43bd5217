//! The configuration of l1forge: keys, presets, validation and derived sizes.
//!
//! A configuration is built in layers (preset, file, `--set`, `--sms`) by [`Settings`] and becomes a
//! [`Config`], typed, complete and valid, by [`Settings::resolve`]. Generators and models only ever
//! see a [`Config`]; both share nothing else.
//!
//! ```
//! use l1forge_config::Settings;
//!
//! let mut settings = Settings::preset("paper").unwrap();
//! settings.set("sms=20").unwrap();
//! let config = settings.resolve().unwrap();
//! assert_eq!(config.engines, 40);            // two per SM unless set
//! assert_eq!(config.index_bits(), 13);       // 6 bits of bank, 7 bits of row
//!
//! settings.set("copies=5").unwrap();
//! let error = settings.resolve().unwrap_err().to_string();
//! assert!(error.contains("copies") && error.contains('5') && error.contains("1..=4"));
//! ```

mod derived;
mod error;
pub mod hash;
mod keys;
mod settings;
mod validate;

pub use error::ConfigError;
pub use hash::HashScheme;
pub use keys::{Config, CopyChoice, Frontend, KEYS, KeyKind, KeySpec, LookupNetwork, MatrixLayout, ProbeNetwork, ResetStyle};
pub use settings::{PRESETS, Settings, preset_values};
