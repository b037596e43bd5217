//! Results kept by the hash of everything that they depend on.

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

/// Hash of fields, each preceded by its length.
pub fn key(fields: &[impl AsRef<str>]) -> String {
    let mut hash = Sha256::new();
    for field in fields {
        hash.update((field.as_ref().len() as u64).to_le_bytes());
        hash.update(field.as_ref());
    }
    hash.finalize().iter().take(16).map(|b| format!("{b:02x}")).collect()
}

/// A folder of results. An entry is made in a temporary folder and appears by one rename, so that nobody sees half of it.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// A cache below `root`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Removes what killed runs left behind a day ago or earlier.
    fn sweep(&self) {
        let old = |e: &std::fs::DirEntry| {
            e.metadata().and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok()).is_some_and(|t| t.as_secs() > 86_400)
        };
        for entry in std::fs::read_dir(&self.root).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(".making-") && old(&entry) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }

    /// The entry of `key`, made by `make` in an empty folder when it is not there. A failed one stays as `failed-NAME` with its log.
    ///
    /// # Errors
    /// `make` fails; the folder cannot be written.
    pub fn entry(&self, key: &str, name: &str, make: impl FnOnce(&Path) -> anyhow::Result<()>) -> anyhow::Result<PathBuf> {
        let place = self.root.join(key);
        if place.join(".complete").exists() {
            return Ok(place);
        }
        let cannot = || format!("cannot write {}", place.display());
        std::fs::create_dir_all(&self.root).with_context(cannot)?;
        self.sweep();
        let staging = tempfile::Builder::new().prefix(".making-").tempdir_in(&self.root).with_context(cannot)?;
        if let Err(error) = make(staging.path()) {
            let kept = self.root.join(format!("failed-{name}"));
            let _ = std::fs::remove_dir_all(&kept);
            let log = std::fs::rename(staging.path(), &kept).is_ok() && kept.join("log").exists();
            // Without a log no tool was started yet.
            return Err(error.context(if log { format!("log: {}", kept.join("log").display()) } else { format!("{name}: {}", cannot()) }));
        }
        std::fs::write(staging.path().join(".complete"), "").with_context(cannot)?;
        let made = staging.keep();
        if std::fs::rename(&made, &place).is_err() {
            // Another run was faster, or an entry without its mark is in the way.
            if place.join(".complete").exists() {
                let _ = std::fs::remove_dir_all(&made);
            } else {
                let _ = std::fs::remove_dir_all(&place);
                std::fs::rename(&made, &place).with_context(cannot)?;
            }
        }
        Ok(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_once_and_never_half() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let failed = cache.entry("k", "unit", |f| {
            std::fs::write(f.join("log"), "why")?;
            anyhow::bail!("no")
        });
        let message = format!("{:#}", failed.unwrap_err());
        assert!(message.contains("failed-unit/log") && message.ends_with("no"), "{message}");
        let early = format!("{:#}", cache.entry("k", "unit", |_| anyhow::bail!("no space")).unwrap_err());
        assert!(early.starts_with("unit: cannot write ") && early.ends_with("k: no space"), "{early}");
        cache
            .entry("k", "unit", |f| {
                std::fs::write(f.join("log"), "why")?;
                anyhow::bail!("no")
            })
            .unwrap_err();
        assert_eq!(std::fs::read_to_string(folder.path().join("failed-unit/log")).unwrap(), "why");
        let make = |f: &Path| Ok(std::fs::write(f.join("x"), "1")?);
        let first = cache.entry("k", "unit", make).unwrap();
        assert_eq!(cache.entry("k", "unit", |_| panic!("it is there")).unwrap(), first);
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
    }
}
