//! Sessions: build, run, and after a failure run again with waves.

use super::*;

/// The seed of the environment variable `L1FORGE_SEED`, else `default`.
///
/// # Panics
/// When the variable is not a number: a test that silently ran another seed would not repeat the failure.
pub fn seed_from_env(default: u64) -> u64 {
    match std::env::var("L1FORGE_SEED") {
        Ok(text) => text.trim().parse().unwrap_or_else(|_| panic!("L1FORGE_SEED is `{text}`, not a number")),
        Err(_) => default,
    }
}

/// The command that repeats the running test with `seed`; see the macro [`test_command!`](crate::test_command!).
pub fn test_command(package: &str, target: &str, seed: u64) -> String {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or_default();
    format!("L1FORGE_SEED={seed} cargo test -p {package} --test {target} -- --exact {name}")
}

/// The command that repeats the running integration test with a seed, for [`Session::command`](crate::lockstep::Session::command).
/// The test must take its seed from [`seed_from_env`](crate::lockstep::seed_from_env).
#[macro_export]
macro_rules! test_command {
    ($seed:expr) => {
        $crate::lockstep::test_command(env!("CARGO_PKG_NAME"), env!("CARGO_CRATE_NAME"), $seed)
    };
}

/// What a [`Session`] hands back after a good run.
pub struct Outcome<M, T> {
    /// The run.
    pub report: Report,
    /// The model after the run, for example for its counters.
    pub model: M,
    /// The test bench after the run, for example for its coverage.
    pub bench: T,
    /// Coverage of the Verilog, if the design was built with it.
    pub code_coverage: Option<CodeCoverage>,
}

impl<M, T> fmt::Debug for Outcome<M, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outcome").field("report", &self.report).finish_non_exhaustive()
    }
}

/// A run that failed, and how to see it.
#[derive(Debug, thiserror::Error)]
#[error("`{top}`, seed {seed}: {error}{}\nrepeat it with: {command}", waves_note(waves.as_deref(), note.as_deref()))]
pub struct Failure {
    /// Top module.
    pub top: String,
    /// Seed of the run.
    pub seed: u64,
    /// What is wrong.
    pub error: LockstepError,
    /// Command that repeats the run.
    pub command: String,
    /// Waves of the cycles around the failure.
    pub waves: Option<PathBuf>,
    /// Why there are no waves, or what is strange about them.
    pub note: Option<String>,
}

fn waves_note(waves: Option<&Path>, note: Option<&str>) -> String {
    let mut text = String::new();
    if let Some(path) = waves {
        let _ = write!(text, "\nwaves: {}", path.display());
    }
    if let Some(note) = note {
        let _ = write!(text, "\n{note}");
    }
    text
}

/// Why a session has no outcome.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The design cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The run failed.
    #[error(transparent)]
    Failure(#[from] Box<Failure>),
}

/// Builds a design, runs it against its model, and after a failure runs it again with waves.
pub struct Session<'a> {
    builder: &'a Builder,
    design: Design,
    seed: u64,
    reset: Option<Reset>,
    max_cycles: u64,
    command: String,
    waves: Option<PathBuf>,
    failure_waves: Option<PathBuf>,
    failure_window: u64,
}

impl<'a> Session<'a> {
    /// A session with `seed`, which also decides what undefined registers hold.
    pub fn new(builder: &'a Builder, design: &Design, seed: u64) -> Self {
        Self {
            builder,
            design: design.clone(),
            seed,
            reset: None,
            max_cycles: u64::MAX,
            command: format!("L1FORGE_SEED={seed} (the same command)"),
            waves: None,
            failure_waves: None,
            failure_window: 1000,
        }
    }

    /// Starts with a reset.
    #[must_use]
    pub fn reset(mut self, reset: Reset) -> Self {
        self.reset = Some(reset);
        self
    }

    /// Ends after so many cycles if the test bench does not end earlier.
    #[must_use]
    pub fn max_cycles(mut self, cycles: u64) -> Self {
        self.max_cycles = cycles;
        self
    }

    /// The command that repeats this run, shown after a failure; see [`test_command!`](crate::test_command!).
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = command.into();
        self
    }

    /// Writes waves of the whole run; the design is built with waves.
    #[must_use]
    pub fn waves(mut self, path: impl Into<PathBuf>) -> Self {
        self.waves = Some(path.into());
        self
    }

    /// After a failure, runs again and writes waves of the last `window` cycles before it to `path`. The run must depend on nothing
    /// but its seed.
    #[must_use]
    pub fn failure_waves(mut self, path: impl Into<PathBuf>, window: u64) -> Self {
        self.failure_waves = Some(path.into());
        self.failure_window = window;
        self
    }

    /// Runs. `make` makes model and test bench from the ports and the seed; it is called again for the run with waves.
    ///
    /// # Errors
    /// See [`SessionError`].
    pub fn run<M: Model, T: Testbench>(
        self,
        mut make: impl FnMut(&Arc<Interface>, u64) -> (M, T),
        recorder: Option<&mut Recorder>,
    ) -> Result<Outcome<M, T>, SessionError> {
        let design = if self.waves.is_some() { self.design.clone().waves(Waves::Fst) } else { self.design.clone() };
        let library = self.builder.build(&design)?;
        let (mut model, mut bench) = make(library.interface(), self.seed);
        let waves = self.waves.clone().map(|path| (0, path));
        let mut dut = match library.instantiate(Init::Random(self.seed)) {
            Ok(dut) => dut,
            Err(error) => return Err(Box::new(self.failure(error.into(), None, None)).into()),
        };
        let error = match self.lockstep(&mut dut, waves, recorder, &mut model, &mut bench) {
            Ok(report) => {
                let code_coverage = if library.coverage() { dut.code_coverage().ok() } else { None };
                return Ok(Outcome { report, model, bench, code_coverage });
            }
            Err(error) => error,
        };
        let failed_at = error.cycle().unwrap_or_else(|| dut.cycles());
        drop(dut);
        let (waves, note) = match (&self.waves, &self.failure_waves) {
            (Some(path), _) => (Some(path.clone()), None),
            (None, Some(path)) => self.run_with_waves(path, failed_at, &error, &mut make),
            (None, None) => (None, None),
        };
        Err(Box::new(self.failure(error, waves, note)).into())
    }

    fn run_with_waves<M: Model, T: Testbench>(
        &self,
        path: &Path,
        failed_at: u64,
        first: &LockstepError,
        make: &mut impl FnMut(&Arc<Interface>, u64) -> (M, T),
    ) -> (Option<PathBuf>, Option<String>) {
        let library = match self.builder.build(&self.design.clone().waves(Waves::Fst)) {
            Ok(library) => library,
            Err(error) => return (None, Some(format!("no waves: {error}"))),
        };
        let (mut model, mut bench) = make(library.interface(), self.seed);
        let mut dut = match library.instantiate(Init::Random(self.seed)) {
            Ok(dut) => dut,
            Err(error) => return (None, Some(format!("no waves: {error}"))),
        };
        let from = failed_at.saturating_sub(self.failure_window);
        match self.lockstep(&mut dut, Some((from, path.to_owned())), None, &mut model, &mut bench) {
            Err(second) if second.to_string() == first.to_string() => (Some(path.to_owned()), None),
            Err(second) => {
                let note = format!("the second run, with waves, failed in another way: {second}");
                (path.exists().then(|| path.to_owned()), Some(note))
            }
            Ok(_) => {
                let note = "the second run, with waves, did not fail: the run depends on more than its seed";
                (path.exists().then(|| path.to_owned()), Some(note.to_owned()))
            }
        }
    }

    fn lockstep(
        &self,
        dut: &mut Dut,
        waves: Option<(u64, PathBuf)>,
        recorder: Option<&mut Recorder>,
        model: &mut dyn Model,
        bench: &mut dyn Testbench,
    ) -> Result<Report, LockstepError> {
        let mut lockstep = Lockstep::new(dut).max_cycles(self.max_cycles);
        lockstep.reset.clone_from(&self.reset);
        lockstep.waves = waves;
        lockstep.recorder = recorder;
        lockstep.run(model, bench)
    }

    fn failure(&self, error: LockstepError, waves: Option<PathBuf>, note: Option<String>) -> Failure {
        Failure { top: self.design.top().to_owned(), seed: self.seed, error, command: self.command.clone(), waves, note }
    }
}
