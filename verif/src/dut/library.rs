//! A library in memory: its code and its interface.

use super::*;

/// An instance behind the C interface.
#[repr(C)]
pub(super) struct RawDut {
    pub(super) _opaque: [u8; 0],
    pub(super) _not_sync: PhantomData<*mut u8>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct RawPort {
    pub(super) name: *const c_char,
    pub(super) data: *mut c_void,
    pub(super) width: u32,
    pub(super) bytes: u32,
    pub(super) output: u32,
}

#[repr(C)]
pub(super) struct RawError {
    pub(super) kind: u32,
    pub(super) line: i32,
    pub(super) file: *const c_char,
    pub(super) message: *const c_char,
}

/// The functions of `l1forge_shim.h`.
pub(super) struct Functions {
    pub(super) port_count: unsafe extern "C" fn() -> u32,
    pub(super) new: unsafe extern "C" fn(i32, i32) -> *mut RawDut,
    pub(super) free: unsafe extern "C" fn(*mut RawDut),
    pub(super) ports: unsafe extern "C" fn(*mut RawDut) -> *const RawPort,
    pub(super) eval: unsafe extern "C" fn(*mut RawDut, u32) -> u32,
    pub(super) error: unsafe extern "C" fn(*const RawDut) -> RawError,
    pub(super) output: unsafe extern "C" fn(*const RawDut) -> *const c_char,
    pub(super) clear_output: unsafe extern "C" fn(*mut RawDut),
    pub(super) open_waves: unsafe extern "C" fn(*mut RawDut, *const c_char) -> u32,
    pub(super) close_waves: unsafe extern "C" fn(*mut RawDut) -> u32,
    pub(super) write_coverage: unsafe extern "C" fn(*mut RawDut, *const c_char) -> u32,
}

pub(super) struct Loaded {
    pub(super) functions: Functions,
    pub(super) path: PathBuf,
    pub(super) top: String,
    pub(super) waves: Waves,
    pub(super) coverage: bool,
    // Last: the functions above live in it.
    pub(super) _code: libloading::Library,
}

/// A built and loaded design, from which instances are made. Clones share the code.
#[derive(Clone)]
pub struct Library {
    pub(super) loaded: Arc<Loaded>,
    pub(super) interface: Arc<Interface>,
    pub(super) key: String,
    pub(super) build_seconds: Option<f64>,
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").field("path", &self.loaded.path).field("build_seconds", &self.build_seconds).finish_non_exhaustive()
    }
}

impl Library {
    pub(crate) fn load(
        path: &Path,
        key: String,
        interface: Arc<Interface>,
        build_seconds: Option<f64>,
        design: &Design,
    ) -> Result<Self, BuildError> {
        let failed = |reason: String| BuildError::Load { path: path.to_owned(), reason };
        // SAFETY: the library was built by this crate from l1forge_shim.cpp and its content was just verified; its initialisers are
        // those of Verilator's run-time library, which have no preconditions.
        let code = unsafe { libloading::Library::new(path) }.map_err(|error| failed(error.to_string()))?;
        // SAFETY: the types are those of l1forge_shim.h; the version check comes first.
        let functions = unsafe {
            let abi: unsafe extern "C" fn() -> u32 = symbol(&code, "l1forge_abi").map_err(&failed)?;
            if abi() != ABI {
                return Err(failed(format!("interface version {}, expected {ABI}", abi())));
            }
            Functions {
                port_count: symbol(&code, "l1forge_port_count").map_err(&failed)?,
                new: symbol(&code, "l1forge_new").map_err(&failed)?,
                free: symbol(&code, "l1forge_free").map_err(&failed)?,
                ports: symbol(&code, "l1forge_ports").map_err(&failed)?,
                eval: symbol(&code, "l1forge_eval").map_err(&failed)?,
                error: symbol(&code, "l1forge_error").map_err(&failed)?,
                output: symbol(&code, "l1forge_output").map_err(&failed)?,
                clear_output: symbol(&code, "l1forge_clear_output").map_err(&failed)?,
                open_waves: symbol(&code, "l1forge_open_waves").map_err(&failed)?,
                close_waves: symbol(&code, "l1forge_close_waves").map_err(&failed)?,
                write_coverage: symbol(&code, "l1forge_write_coverage").map_err(&failed)?,
            }
        };
        // SAFETY: no preconditions.
        let count = unsafe { (functions.port_count)() } as usize;
        if count != interface.specs().len() {
            return Err(failed(format!("{count} ports, expected {}", interface.specs().len())));
        }
        let loaded = Loaded {
            functions,
            path: path.to_owned(),
            top: design.top().to_owned(),
            waves: design.waves_format(),
            coverage: design.has_coverage(),
            _code: code,
        };
        Ok(Self { loaded: Arc::new(loaded), interface, key, build_seconds })
    }

    /// The ports of the design.
    pub fn interface(&self) -> &Arc<Interface> {
        &self.interface
    }

    /// Name of the top module.
    pub fn top(&self) -> &str {
        &self.loaded.top
    }

    /// The shared library; its path contains the key.
    pub fn path(&self) -> &Path {
        &self.loaded.path
    }

    /// Key of the build: the hash of everything that determines it.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Seconds that the build took, if it was not in the cache.
    pub fn build_seconds(&self) -> Option<f64> {
        self.build_seconds
    }

    /// Wave format of this build.
    pub fn waves(&self) -> Waves {
        self.loaded.waves
    }

    /// Whether this build counts coverage.
    pub fn coverage(&self) -> bool {
        self.loaded.coverage
    }

    /// A new instance, independent of all others, with all inputs at zero and the `initial` blocks done.
    ///
    /// # Errors
    /// When the design stops itself, see [`StopKind`].
    pub fn instantiate(&self, init: Init) -> Result<Dut, DutError> {
        let (mode, seed) = init.raw();
        let functions = &self.loaded.functions;
        // SAFETY: no preconditions; the instance lives until Dut is dropped.
        let raw = NonNull::new(unsafe { (functions.new)(mode, seed) }).expect("l1forge_new returns an instance");
        let mut dut = Dut {
            raw,
            ports: Vec::new(),
            library: self.clone(),
            accepted: None,
            cycles: 0,
            waves: None,
            transfers_in: Vec::new(),
            transfers_out: Vec::new(),
        };
        // SAFETY: raw is a live instance.
        let kind = unsafe { (functions.error)(raw.as_ptr()) }.kind;
        dut.check(kind)?;
        // SAFETY: the table has one entry per port and lives as long as the instance.
        let table = unsafe { std::slice::from_raw_parts((functions.ports)(raw.as_ptr()), self.interface.specs().len()) };
        for (spec, entry) in self.interface.specs().iter().zip(table) {
            // SAFETY: names are string constants of the library.
            let name = unsafe { CStr::from_ptr(entry.name) };
            assert!(
                name.to_bytes() == spec.name.as_bytes()
                    && entry.width == spec.width
                    && entry.bytes == storage_bytes(spec.width)
                    && entry.output == u32::from(spec.dir == Dir::Output),
                "port `{}` of {} is not laid out as expected",
                spec.name,
                self.path().display()
            );
            dut.ports.push(Storage { data: entry.data.cast(), width: spec.width, bytes: entry.bytes, dir: spec.dir });
        }
        let transfer = |port: Port| {
            let Storage { data, bytes, .. } = dut.ports[port.index as usize];
            Transfer { data, bytes, offset: port.offset }
        };
        dut.transfers_in = self.interface.input_ports().map(transfer).collect();
        dut.transfers_out = self.interface.output_ports().map(transfer).collect();
        Ok(dut)
    }
}

/// Looks a function up.
///
/// # Safety
/// `T` must be the type of the function.
unsafe fn symbol<T: Copy>(code: &libloading::Library, name: &str) -> Result<T, String> {
    // SAFETY: promised by the caller.
    unsafe { code.get::<T>(name.as_bytes()) }.map(|symbol| *symbol).map_err(|error| error.to_string())
}

/// Bytes in which a model keeps a port.
fn storage_bytes(width: u32) -> u32 {
    match width {
        0..=8 => 1,
        9..=16 => 2,
        17..=32 => 4,
        33..=64 => 8,
        _ => width.div_ceil(32) * 4,
    }
}
