//! Results kept by the hash of everything that they depend on.

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Hash of fields, each preceded by its length.
pub fn key(fields: &[impl AsRef<str>]) -> String {
    let mut hash = Sha256::new();
    for field in fields {
        hash.update((field.as_ref().len() as u64).to_le_bytes());
        hash.update(field.as_ref());
    }
    hash.finalize().iter().take(16).map(|b| format!("{b:02x}")).collect()
}

/// How the names of folders begin in which entries are made.
const STAGING: &str = ".making-";

/// A folder of results. An entry is made in a temporary folder and appears by one rename, so that nobody sees half of it. That folder is locked
/// as long as its process lives, so that what a killed run leaves can be told from the work of another one.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// A cache below `root`; what killed runs left there is removed.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        let cache = Self { root: root.into() };
        cache.sweep();
        cache
    }

    /// Removes the folders that killed runs left behind. Where folders cannot be locked, those that nobody wrote to for a day.
    fn sweep(&self) {
        let old = |path: &Path| {
            path.metadata().and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok()).is_some_and(|t| t.as_secs() > 86_400)
        };
        for entry in std::fs::read_dir(&self.root).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(STAGING) {
                let path = entry.path();
                let lock = File::open(&path);
                let gone = match lock.as_ref().map(File::try_lock) {
                    Ok(Ok(())) => true,
                    Ok(Err(TryLockError::WouldBlock)) => false,
                    Ok(Err(TryLockError::Error(_))) | Err(_) => old(&path),
                };
                if gone {
                    // Still locked: see `staging`.
                    let _ = std::fs::remove_dir_all(&path);
                }
            }
        }
    }

    /// A new folder to make an entry in, and its lock.
    fn staging(&self) -> std::io::Result<(TempDir, Option<File>)> {
        loop {
            let folder = tempfile::Builder::new().prefix(STAGING).tempdir_in(&self.root)?;
            let lock = File::open(folder.path()).and_then(|f| f.lock().map(|()| f)).ok();
            // Another run may have taken it for a left one before it was locked.
            if folder.path().exists() {
                return Ok((folder, lock));
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
        let (staging, _lock) = self.staging().with_context(cannot)?;
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
    fn what_a_killed_run_left_is_removed_and_what_is_at_work_stays() {
        let folder = tempfile::tempdir().unwrap();
        let left = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join("log"), "half").unwrap();
            path
        };
        let (dead, kept, other) = (left(".making-dead"), left("failed-unit"), left("0123"));
        let place = Cache::at(folder.path()).entry("k", "unit", |mine| {
            assert!(!dead.exists() && kept.exists() && other.exists());
            // Another run opens the cache, with work of a third one and a new left folder in it.
            let (third, lock) = Cache::at(folder.path()).staging()?;
            let dead = left(".making-dead");
            Cache::at(folder.path());
            assert!(mine.exists() && third.path().exists() && !dead.exists());
            drop(lock);
            // A child that another test is just starting holds a copy of the lock until it runs its program.
            let start = std::time::Instant::now();
            while third.path().exists() && start.elapsed().as_secs() < 20 {
                Cache::at(folder.path());
                std::thread::yield_now();
            }
            assert!(mine.exists() && !third.path().exists());
            Ok(std::fs::write(mine.join("x"), "1")?)
        });
        assert_eq!(std::fs::read_to_string(place.unwrap().join("x")).unwrap(), "1");
        let names = std::fs::read_dir(folder.path()).unwrap().flatten().map(|e| e.file_name().into_string().unwrap());
        assert_eq!(names.filter(|n| n.starts_with('.')).count(), 0);
    }

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
