//! A folder of build products keyed by their content.
//!
//! An entry is built in a temporary folder and appears by one rename, so that nobody ever sees half of it. A lock per key makes two
//! processes (or threads) that want the same entry build it once. A killed build leaves its temporary folder; the next build that can
//! take the lock of that key removes it. A failed build leaves its log.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// An input or output error with the path it is about.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct IoError {
    /// File or folder.
    pub path: PathBuf,
    /// What happened.
    pub source: io::Error,
}

/// Attaches a path to an [`io::Error`].
pub(crate) trait At<T> {
    fn at(self, path: impl AsRef<Path>) -> Result<T, IoError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: impl AsRef<Path>) -> Result<T, IoError> {
        self.map_err(|source| IoError { path: path.as_ref().to_owned(), source })
    }
}

/// SHA-256 over a list of fields, each preceded by its length.
#[derive(Clone, Default)]
pub(crate) struct Key(Sha256);

impl Key {
    pub(crate) fn field(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let bytes = bytes.as_ref();
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub(crate) fn finish(&self) -> String {
        hex(&self.0.clone().finalize())
    }
}

/// SHA-256 of a file, in hexadecimal.
pub(crate) fn hash_file(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(hex(&hash.finalize()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The cache folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    root: PathBuf,
}

/// A complete entry of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Folder of the entry.
    pub(crate) path: PathBuf,
    /// Whether this call built it.
    pub(crate) fresh: bool,
}

/// Folders given to a build.
pub(crate) struct Workspace {
    /// Scratch folder, removed afterwards.
    pub(crate) scratch: PathBuf,
    /// Folder whose content becomes the entry.
    pub(crate) product: PathBuf,
    /// Log of the build, kept when the build fails.
    pub(crate) log: PathBuf,
    /// Where the log will be kept when the build fails.
    pub(crate) kept_log: PathBuf,
}

impl Cache {
    /// The cache of the environment: `L1FORGE_CACHE`, else `$XDG_CACHE_HOME/l1forge`, else `~/.cache/l1forge`; where there is no home
    /// folder either, `l1forge-cache` in the folder of temporary files.
    pub fn from_env() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = variable("L1FORGE_CACHE")
            .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("l1forge")))
            .or_else(|| variable("HOME").map(|folder| folder.join(".cache/l1forge")))
            .unwrap_or_else(|| std::env::temp_dir().join("l1forge-cache"));
        Self::at(root)
    }

    /// A cache in the folder `root`, which is created when it is first needed.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        // Tools run in other folders than this process.
        Self { root: std::path::absolute(&root).unwrap_or(root) }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The entry `key` of the family `kind`, built by `build` unless a complete one that `valid` accepts is there.
    ///
    /// `waiting` is called when another process or thread is building the same entry.
    pub(crate) fn entry<E: From<IoError>>(
        &self,
        kind: &str,
        key: &str,
        valid: impl Fn(&Path) -> bool,
        waiting: impl FnOnce(),
        build: impl FnOnce(&Workspace) -> Result<(), E>,
    ) -> Result<Entry, E> {
        let family = self.root.join(kind);
        let path = family.join(key);
        if valid(&path) {
            return Ok(Entry { path, fresh: false });
        }
        let folder = |name: &str| -> Result<PathBuf, IoError> {
            let path = self.root.join(name);
            fs::create_dir_all(&path).at(&path)?;
            Ok(path)
        };
        let (temporary, logs) = (folder("tmp")?, folder("logs")?);
        folder(kind)?;
        let name = format!("{kind}-{key}");
        let lock = self.lock(&name, waiting)?;
        if valid(&path) {
            return Ok(Entry { path, fresh: false });
        }
        // Only the holder of the lock builds this entry: what is there is rubbish.
        self.sweep(&temporary, &name);
        if path.symlink_metadata().is_ok() {
            let bad = temporary.join(format!("{name}.bad"));
            fs::rename(&path, &bad).at(&path)?;
            remove(&bad);
        }
        let scratch = tempfile::Builder::new().prefix(&format!("{name}.")).tempdir_in(&temporary).at(&temporary)?;
        let workspace = Workspace {
            product: scratch.path().join("product"),
            log: scratch.path().join("build.log"),
            kept_log: logs.join(format!("{name}.log")),
            scratch: scratch.path().to_owned(),
        };
        fs::create_dir(&workspace.product).at(&workspace.product)?;
        if let Err(error) = build(&workspace) {
            if workspace.log.exists() {
                fs::rename(&workspace.log, &workspace.kept_log).at(&workspace.kept_log)?;
            }
            return Err(error);
        }
        fs::rename(&workspace.product, &path).at(&path)?;
        let _ = fs::remove_file(&workspace.kept_log);
        drop(scratch);
        drop(lock);
        Ok(Entry { path, fresh: true })
    }

    /// Takes the lock of an entry; it is released when the file is dropped, or the process dies.
    fn lock(&self, name: &str, waiting: impl FnOnce()) -> Result<File, IoError> {
        let folder = self.root.join("locks");
        fs::create_dir_all(&folder).at(&folder)?;
        let path = folder.join(format!("{name}.lock"));
        let file = File::options().create(true).truncate(false).write(true).open(&path).at(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                waiting();
                file.lock().at(&path)?;
            }
            Err(TryLockError::Error(source)) => return Err(IoError { path, source }),
        }
        Ok(file)
    }

    /// Removes the temporary folders that killed builds have left: those of `mine`, whose lock the caller holds, and those of every
    /// other entry whose lock is free.
    fn sweep(&self, temporary: &Path, mine: &str) {
        let Ok(folders) = fs::read_dir(temporary) else {
            return;
        };
        for folder in folders.flatten() {
            let file_name = folder.file_name();
            let Some((name, _)) = file_name.to_str().and_then(|name| name.split_once('.')) else {
                continue;
            };
            if name == mine {
                remove(&folder.path());
                continue;
            }
            let lock = self.root.join("locks").join(format!("{name}.lock"));
            let Ok(lock) = File::options().write(true).open(lock) else {
                continue;
            };
            // Nobody builds while the lock is free, and it is held until the folder is gone.
            if lock.try_lock().is_ok() {
                remove(&folder.path());
            }
        }
    }
}

/// Removes a folder as far as it goes: an orphaned compiler may still be writing there, the next sweep takes the rest.
fn remove(path: &Path) {
    if fs::remove_dir_all(path).is_err() {
        let _ = fs::remove_file(path);
    }
}
