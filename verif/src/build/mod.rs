//! Builds a loadable simulation model from Verilog: Verilator, a small C interface, one shared library per design.
//!
//! ```no_run
//! use l1forge_verif::build::{Builder, Design};
//! use l1forge_verif::dut::Init;
//!
//! let design = Design::new("counter")
//!     .source("counter.v", std::fs::read_to_string("counter.v")?)
//!     .clock("clk");
//! let library = Builder::from_env().build(&design)?;
//! let mut dut = library.instantiate(Init::Random(1))?;
//! let (en, q) = (library.interface().input("en")?, library.interface().output("q")?);
//! dut.poke(en, 1);
//! dut.step()?;
//! println!("{}", dut.peek(q));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Libraries are kept in a [`Cache`] under a key made of everything that determines them: the Verilog, the port list, the options, the
//! C interface, and the versions of Verilator and of the C++ compiler. No time stamp is ever looked at.

mod design;
mod interface;

pub use design::{Design, Waves};
use interface::{Manifest, check_ports, model_ports, port_table, specs_of};

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use crate::cache::{At as _, Cache, Entry, IoError, Key, Workspace, hash_file};
use crate::dut::Library;
use crate::ports::{Dir, Interface, PortError, PortSpec};
use crate::tools::{MissingTool, Tool, Toolbox};

const SHIM: &str = include_str!("../../shim/l1forge_shim.cpp");
const SHIM_HEADER: &str = include_str!("../../shim/l1forge_shim.h");
const HOOKS: &str = include_str!("../../shim/l1forge_hooks.h");

/// Name of the shared library in its folder.
const LIBRARY: &str = "libdut.so";
const MANIFEST: &str = "manifest.txt";
/// File that holds the hash of a run-time object.
const HASH: &str = "sha256";

/// Verilator arguments of every build.
const VERILATOR_FLAGS: &[&str] = &[
    "--cc",
    "--prefix",
    "Vdut",
    // The language of a file follows from its name.
    "+1364-2005ext+v",
    "+1800-2017ext+sv",
    // Undefined values become random bits, so that a design that depends on one does not always work.
    "--x-assign",
    "unique",
    "--x-initial",
    "unique",
    // One compiler process for all of a large design needs gigabytes.
    "--output-split",
    "20000",
    "--output-split-cfuncs",
    "500",
    // Loops stay loops and part assignments stay apart: a third less C++ at more speed than unrolled and merged.
    "--unroll-stmts",
    "50",
    "-O3",
    "-fno-dfg",
    "--assert",
    "--no-timing",
    // Warnings are the business of the linters.
    "-Wno-fatal",
];

/// Bytes of C++ that are compiled at once. The headers of a large design cost more than half a second per compilation.
const UNIT_BYTES: u64 = 1 << 20;

/// Name of the file with directions for Verilator, see [`Design::separate`].
const DIRECTIONS: &str = "l1forge.vlt";

/// Arguments of make: optimising more costs much build time and gains no speed.
const MAKE_FLAGS: &[&str] = &["-j2", "OPT_FAST=-O1", "OPT_SLOW=-O0"];

/// Compiler arguments of every object.
const CXX_FLAGS: &[&str] = &["-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden"];

/// Functions of the run-time library that the C interface replaces.
const RUNTIME_FLAGS: &[&str] = &["-O2", "-faligned-new", "-DVL_USER_FINISH", "-DVL_USER_STOP", "-DVL_USER_FATAL", "-DVL_USER_WARN"];

/// The library exports nothing but the C interface: several designs live in one process, and each has a run-time library of its own.
const MAKEFILE: &str = "\
include Vdut.mk
.DEFAULT_GOAL := libdut.so
VM_USER_CFLAGS += $(L1F_CXXFLAGS)
l1forge_shim.o: l1forge_shim.h l1forge_ports.inc
libdut.so: $(VK_OBJS) l1forge_shim.o
\t$(file >objects.rsp,$^)
\t$(file >exports.map,{ global: l1forge_*; local: *; };)
\t$(LINK) -shared -Wl,-z,defs -Wl,--version-script=exports.map -o $@ @objects.rsp $(L1F_RUNTIME) $(LDLIBS)
";

/// What a build is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Another process or thread is building the same design.
    Waiting,
    /// Verilator translates the Verilog.
    Translating,
    /// The run-time library of this Verilator is compiled, once.
    Runtime,
    /// The C++ of the design is compiled.
    Compiling,
}

/// Why there is no library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A program is missing.
    #[error(transparent)]
    MissingTool(#[from] MissingTool),
    /// A source name is absolute, leaves its folder, occurs twice, or there is no source.
    #[error("source `{name}`: {reason}")]
    Source {
        /// Name of the source.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Verilator refuses the sources.
    #[error("Verilator refuses `{top}` (log: {})\n{excerpt}", log.display())]
    Verilator {
        /// Top module.
        top: String,
        /// The complete log.
        log: PathBuf,
        /// The errors in it.
        excerpt: String,
    },
    /// The C++ of the design does not compile.
    #[error("the C++ model of `{top}` does not compile (log: {})\n{excerpt}", log.display())]
    Compiler {
        /// Top module.
        top: String,
        /// The complete log.
        log: PathBuf,
        /// The errors in it.
        excerpt: String,
    },
    /// The ports of the model are not those of the port list.
    #[error("`{top}` does not have the ports expected of it: {}", differences.join("; "))]
    Ports {
        /// Top module.
        top: String,
        /// One line per port.
        differences: Vec<String>,
    },
    /// A port list that cannot be laid out.
    #[error(transparent)]
    Port(#[from] PortError),
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The library cannot be loaded.
    #[error("{}: {reason}", path.display())]
    Load {
        /// The library.
        path: PathBuf,
        /// What the loader says.
        reason: String,
    },
}

/// Builds designs with the tools of a [`Toolbox`] in a [`Cache`].
#[derive(Clone)]
pub struct Builder {
    cache: Cache,
    tools: Toolbox,
    progress: Arc<dyn Fn(Stage) + Send + Sync>,
}

impl Builder {
    /// Tools and cache of the environment, see [`Toolbox::from_env`] and [`Cache::from_env`].
    pub fn from_env() -> Self {
        Self::new(Cache::from_env(), Toolbox::from_env())
    }

    /// Given cache and tools.
    pub fn new(cache: Cache, tools: Toolbox) -> Self {
        Self { cache, tools, progress: Arc::new(|_| {}) }
    }

    /// Calls `progress` whenever a build comes to another stage; it is not called when the library is in the cache.
    #[must_use]
    pub fn on_progress(mut self, progress: impl Fn(Stage) + Send + Sync + 'static) -> Self {
        self.progress = Arc::new(progress);
        self
    }

    /// The library of a design: from the cache, or built now.
    ///
    /// # Errors
    /// See [`BuildError`]. A failed build leaves nothing in the cache but its log.
    pub fn build(&self, design: &Design) -> Result<Library, BuildError> {
        check_sources(design)?;
        let versions = Versions::of(&self.tools)?;
        let key = key_of(design, &versions);
        let started = Instant::now();
        let found = RefCell::new(None);
        let entry = self.cache.entry(
            "models",
            &key,
            |path| {
                *found.borrow_mut() = Manifest::read(path);
                found.borrow().is_some()
            },
            || (self.progress)(Stage::Waiting),
            |workspace| self.build_in(design, &versions, workspace),
        )?;
        let manifest = match found.into_inner() {
            Some(manifest) => manifest,
            None => Manifest::read(&entry.path).ok_or_else(|| BuildError::Load {
                path: entry.path.clone(),
                reason: "the folder has been changed by someone else".into(),
            })?,
        };
        let ports = design.ports.clone().unwrap_or(manifest.ports);
        let interface = Interface::new(ports, design.clock.as_deref())?;
        let seconds = started.elapsed().as_secs_f64();
        Library::load(&entry.path.join(LIBRARY), key, interface, entry.fresh.then_some(seconds), design)
    }

    /// The key under which [`build`](Builder::build) looks for a design: the hash of everything that determines its library.
    ///
    /// # Errors
    /// When Verilator or the compiler is missing.
    pub fn key(&self, design: &Design) -> Result<String, BuildError> {
        Ok(key_of(design, &Versions::of(&self.tools)?))
    }

    fn build_in(&self, design: &Design, versions: &Versions, workspace: &Workspace) -> Result<(), BuildError> {
        let sources = workspace.scratch.join("src");
        let objects = workspace.scratch.join("obj");
        fs::create_dir(&objects).at(&objects)?;
        write_sources(design, &sources)?;

        (self.progress)(Stage::Translating);
        let mut verilator = self.tools.command(Tool::Verilator)?;
        verilator.args(design.verilator_arguments()).args(["--Mdir", "../obj"]);
        if !design.separate.is_empty() {
            let path = sources.join(DIRECTIONS);
            fs::write(&path, design.directions()).at(&path)?;
            verilator.arg(DIRECTIONS);
        }
        verilator.args(design.sources.iter().map(|(name, _)| name)).current_dir(&sources);
        if !run(&mut verilator, &workspace.log)? {
            return Err(BuildError::Verilator {
                top: design.top.clone(),
                log: workspace.kept_log.clone(),
                excerpt: excerpt(&workspace.log),
            });
        }

        let ports = model_ports(&objects.join("Vdut.h"))?;
        let listed = check_ports(design, &ports)?;
        let classes = read(&objects.join("Vdut_classes.mk"))?;
        let runtime_names = [make_list(&classes, "VM_GLOBAL_FAST"), make_list(&classes, "VM_GLOBAL_SLOW")].concat();
        let root = self.verilator_root()?;
        let mut runtime = Vec::new();
        for name in &runtime_names {
            let entry = self.runtime_object(name, &root, versions)?;
            runtime.push(entry.path.join(format!("{name}.o")));
        }

        (self.progress)(Stage::Compiling);
        let write = |name: &str, text: &str| -> Result<(), IoError> {
            let path = objects.join(name);
            fs::write(&path, text).at(&path)
        };
        write("l1forge_shim.cpp", SHIM)?;
        write("l1forge_shim.h", SHIM_HEADER)?;
        write("l1forge_ports.inc", &port_table(&listed))?;
        write("l1forge.mk", MAKEFILE)?;
        let mut make = self.tools.command(Tool::Make)?;
        self.compiler_environment(&mut make);
        // The generated makefile refuses a path with spaces, which it does not need: all its paths are relative.
        make.args(["-f", "l1forge.mk", "CURDIR=."]).args(MAKE_FLAGS).current_dir(&objects);
        let compiler = self.tools.find(Tool::Cxx)?;
        make.arg(format!("CXX={}", compiler.display())).arg(format!("LINK={}", compiler.display()));
        make.arg(match self.tools.find(Tool::Ccache) {
            Ok(ccache) => format!("OBJCACHE={}", ccache.display()),
            Err(_) => "OBJCACHE=".into(),
        });
        make.arg(format!("L1F_CXXFLAGS={}", CXX_FLAGS.join(" ")));
        for (kind, lists) in [("FAST", ["VM_CLASSES_FAST", "VM_SUPPORT_FAST"]), ("SLOW", ["VM_CLASSES_SLOW", "VM_SUPPORT_SLOW"])] {
            let names: Vec<String> = lists.iter().flat_map(|list| make_list(&classes, list)).collect();
            let units = write_units(&objects, &kind.to_lowercase(), &names)?;
            make.arg(format!("VM_CLASSES_{kind}={}", units.join(" "))).arg(format!("VM_SUPPORT_{kind}="));
        }
        let runtime: Vec<_> = runtime.iter().map(|path| relative(&objects, path)).collect();
        make.arg(format!("L1F_RUNTIME={}", runtime.join(" ")));
        if !run(&mut make, &workspace.log)? {
            return Err(BuildError::Compiler {
                top: design.top.clone(),
                log: workspace.kept_log.clone(),
                excerpt: excerpt(&workspace.log),
            });
        }

        let library = workspace.product.join(LIBRARY);
        fs::rename(objects.join(LIBRARY), &library).at(&library)?;
        fs::rename(&sources, workspace.product.join("src")).at(&sources)?;
        fs::copy(&workspace.log, workspace.product.join("build.log")).at(&workspace.log)?;
        Manifest { hash: hash_file(&library).at(&library)?, top: design.top.clone(), ports: specs_of(&listed) }
            .write(&workspace.product, versions)?;
        Ok(())
    }

    /// An object of Verilator's run-time library, compiled once per version of the tools.
    fn runtime_object(&self, name: &str, root: &Path, versions: &Versions) -> Result<Entry, BuildError> {
        let mut flags: Vec<String> = CXX_FLAGS.iter().map(ToString::to_string).collect();
        flags.extend(RUNTIME_FLAGS.iter().map(ToString::to_string));
        for folder in ["include", "include/vltstd"] {
            flags.push(format!("-I{}", root.join(folder).display()));
        }
        let mut key = Key::default();
        key.field(name).field(HOOKS).field(&versions.verilator).field(&versions.compiler);
        flags.iter().for_each(|flag| {
            key.field(flag);
        });
        let file = format!("{name}.o");
        self.cache.entry(
            "runtime",
            &key.finish(),
            |path| {
                let hash = fs::read_to_string(path.join(HASH)).ok();
                hash.is_some() && hash == hash_file(&path.join(&file)).ok()
            },
            || {},
            |workspace| {
                (self.progress)(Stage::Runtime);
                let hooks = workspace.scratch.join("l1forge_hooks.h");
                fs::write(&hooks, HOOKS).at(&hooks)?;
                let compiler = self.tools.find(Tool::Cxx)?;
                let mut command = match self.tools.command(Tool::Ccache) {
                    Ok(mut ccache) => {
                        ccache.arg(compiler);
                        ccache
                    }
                    Err(_) => self.tools.command(Tool::Cxx)?,
                };
                self.compiler_environment(&mut command);
                command.args(&flags).args(["-include", "l1forge_hooks.h", "-c", "-o"]).arg(format!("product/{file}"));
                command.arg(root.join("include").join(format!("{name}.cpp"))).current_dir(&workspace.scratch);
                if !run(&mut command, &workspace.log)? {
                    return Err(BuildError::Compiler {
                        top: name.to_owned(),
                        log: workspace.kept_log.clone(),
                        excerpt: excerpt(&workspace.log),
                    });
                }
                let (object, hash) = (workspace.product.join(&file), workspace.product.join(HASH));
                fs::write(&hash, hash_file(&object).at(&object)?).at(&hash)?;
                Ok(())
            },
        )
    }

    fn verilator_root(&self) -> Result<PathBuf, BuildError> {
        let mut command = self.tools.command(Tool::Verilator)?;
        let output = command.args(["--getenv", "VERILATOR_ROOT"]).output().at("verilator")?;
        Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
    }

    /// Makes the compiler cache hit in another temporary folder, and keeps a surrounding make out.
    ///
    /// All paths given to the compiler are relative, or those of the tools, and there is no debug information that would hold the
    /// folder; only the age of the headers just generated would keep the compiler cache from its fast path.
    fn compiler_environment(&self, command: &mut Command) {
        let sloppiness = "include_file_ctime,include_file_mtime";
        let sloppiness = match std::env::var("CCACHE_SLOPPINESS") {
            Ok(more) if !more.is_empty() => format!("{more},{sloppiness}"),
            _ => sloppiness.to_owned(),
        };
        command.env("CCACHE_SLOPPINESS", sloppiness).env_remove("MAKEFLAGS").env_remove("MFLAGS").env_remove("MAKELEVEL");
    }
}

/// Versions of the tools that determine a library.
struct Versions {
    verilator: String,
    compiler: String,
}

impl Versions {
    fn of(tools: &Toolbox) -> Result<Self, BuildError> {
        tools.find(Tool::Make)?;
        Ok(Self { verilator: tools.version(Tool::Verilator)?, compiler: tools.version(Tool::Cxx)? })
    }
}

fn key_of(design: &Design, versions: &Versions) -> String {
    let mut key = Key::default();
    key.field(&versions.verilator).field(&versions.compiler);
    for text in [SHIM, SHIM_HEADER, HOOKS, MAKEFILE] {
        key.field(text);
    }
    let lists = [
        design.verilator_arguments(),
        MAKE_FLAGS.iter().map(ToString::to_string).collect(),
        CXX_FLAGS.iter().map(ToString::to_string).collect(),
        RUNTIME_FLAGS.iter().map(ToString::to_string).collect(),
        design.sources.iter().flat_map(|(name, text)| [name.clone(), text.clone()]).collect(),
        vec![design.directions(), UNIT_BYTES.to_string()],
        // Without the element width, on which only reports depend.
        design.ports.iter().flatten().map(|spec| format!("{} {} {}", spec.dir, spec.width, spec.name)).collect(),
    ];
    for list in lists {
        key.field((list.len() as u64).to_le_bytes());
        for item in list {
            key.field(item);
        }
    }
    key.finish()
}

fn check_sources(design: &Design) -> Result<(), BuildError> {
    let bad = |name: &str, reason| Err(BuildError::Source { name: name.to_owned(), reason });
    if design.sources.is_empty() {
        return bad("", "there is none");
    }
    for (index, (name, _)) in design.sources.iter().enumerate() {
        if name.is_empty() || !Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
            return bad(name, "the name must be a relative path without `..`");
        }
        if name.starts_with('-') || name.starts_with('+') {
            return bad(name, "the name looks like an option");
        }
        if design.sources[..index].iter().any(|(other, _)| other == name) {
            return bad(name, "the name occurs twice");
        }
    }
    Ok(())
}

/// Writes the sources of a design below `folder`.
pub(crate) fn write_sources(design: &Design, folder: &Path) -> Result<(), IoError> {
    for (name, text) in &design.sources {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).at(parent)?;
        fs::write(&path, text).at(&path)?;
    }
    Ok(())
}

/// The names of a list such as `VM_GLOBAL_FAST += \` in a generated makefile.
fn make_list(makefile: &str, variable: &str) -> Vec<String> {
    let mut lines = makefile.lines().skip_while(|line| !line.starts_with(&format!("{variable} +=")));
    let mut names = Vec::new();
    let mut next = lines.next().and_then(|line| line.split_once("+=")).map(|(_, rest)| rest);
    while let Some(line) = next {
        let continued = line.trim_end().strip_suffix('\\');
        names.extend(continued.unwrap_or(line).split_whitespace().map(str::to_owned));
        next = continued.and_then(|_| lines.next());
    }
    names
}

/// Writes files that each include as many of the C++ files `names` as are compiled at once; returns their names without extension.
fn write_units(folder: &Path, kind: &str, names: &[String]) -> Result<Vec<String>, IoError> {
    let mut units: Vec<(u64, String)> = Vec::new();
    for name in names {
        let path = folder.join(format!("{name}.cpp"));
        let bytes = fs::metadata(&path).at(&path)?.len();
        let line = format!("#include \"{name}.cpp\"\n");
        match units.last_mut() {
            Some((size, text)) if *size + bytes <= UNIT_BYTES => {
                *size += bytes;
                text.push_str(&line);
            }
            _ => units.push((bytes, line)),
        }
    }
    let mut written = Vec::new();
    for (number, (_, text)) in units.iter().enumerate() {
        let name = format!("unit_{kind}_{number}");
        let path = folder.join(format!("{name}.cpp"));
        fs::write(&path, text).at(&path)?;
        written.push(name);
    }
    Ok(written)
}

/// Runs a command with its output appended to `log`; tells whether it succeeded.
fn run(command: &mut Command, log: &Path) -> Result<bool, IoError> {
    let mut file = File::options().create(true).append(true).open(log).at(log)?;
    writeln!(file, "$ {command:?}").at(log)?;
    let output = file.try_clone().at(log)?;
    let errors = file.try_clone().at(log)?;
    let status = command.stdout(output).stderr(errors).status().at(Path::new(command.get_program()))?;
    if !status.success() {
        writeln!(file, "failed: {status}").at(log)?;
    }
    Ok(status.success())
}

/// The first errors of a log, or its end.
fn excerpt(log: &Path) -> String {
    const LINES: usize = 12;
    let text = fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("$ ")).collect();
    let first = lines.iter().position(|line| line.contains("%Error") || line.contains("error:"));
    let start = first.unwrap_or(lines.len().saturating_sub(LINES));
    lines[start..].iter().take(LINES).copied().collect::<Vec<_>>().join("\n")
}

fn read(path: &Path) -> Result<String, IoError> {
    fs::read_to_string(path).at(path)
}

/// `path` seen from `folder`; both are absolute and below one cache folder.
fn relative(folder: &Path, path: &Path) -> String {
    let common = folder.components().zip(path.components()).take_while(|(left, right)| left == right).count();
    let mut result: PathBuf = folder.components().skip(common).map(|_| Component::ParentDir).collect();
    result.extend(path.components().skip(common));
    result.display().to_string()
}
