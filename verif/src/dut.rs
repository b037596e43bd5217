//! A running simulation of a built design.
//!
//! [`Library`] is the loaded model, [`Dut`] one independent instance of it. Ports are read and written straight in the storage of the
//! model; only evaluation calls into it.
//!
//! # One clock cycle
//!
//! [`Dut::step`] is [`Dut::settle`] followed by [`Dut::tick`]:
//!
//! 1. The bench has set the inputs ([`Dut::poke`], [`Dut::poke_all`]).
//! 2. `settle` puts the clock at 0 and evaluates: combinational outputs follow the inputs of this cycle and the registers as the last
//!    edge left them. *This is the sampling point*: what an output holds now is its value in this cycle.
//! 3. `tick` puts the clock at 1 and evaluates: registers take their new values. Outputs that are read now show the new registers
//!    with the old inputs.
//!
//! The clock falls together with the change of the inputs in the next `settle`. Logic on the falling edge is therefore not supported.

use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::build::{BuildError, Design, Waves};
use crate::code_coverage::CodeCoverage;
use crate::ports::{Dir, Interface, Port, PortError, Values, check_fits, check_range, mask};

#[cfg(not(target_endian = "little"))]
compile_error!("ports are exchanged with the model as little-endian words");

/// Version of the C interface that this file describes.
const ABI: u32 = 1;

/// An instance behind the C interface.
#[repr(C)]
struct RawDut {
    _opaque: [u8; 0],
    _not_sync: PhantomData<*mut u8>,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct RawPort {
    name: *const c_char,
    data: *mut c_void,
    width: u32,
    bytes: u32,
    output: u32,
}

#[repr(C)]
struct RawError {
    kind: u32,
    line: i32,
    file: *const c_char,
    message: *const c_char,
}

/// The functions of `l1forge_shim.h`.
struct Functions {
    port_count: unsafe extern "C" fn() -> u32,
    new: unsafe extern "C" fn(i32, i32) -> *mut RawDut,
    free: unsafe extern "C" fn(*mut RawDut),
    ports: unsafe extern "C" fn(*mut RawDut) -> *const RawPort,
    eval: unsafe extern "C" fn(*mut RawDut, u32) -> u32,
    error: unsafe extern "C" fn(*const RawDut) -> RawError,
    output: unsafe extern "C" fn(*const RawDut) -> *const c_char,
    clear_output: unsafe extern "C" fn(*mut RawDut),
    open_waves: unsafe extern "C" fn(*mut RawDut, *const c_char) -> u32,
    close_waves: unsafe extern "C" fn(*mut RawDut) -> u32,
    write_coverage: unsafe extern "C" fn(*mut RawDut, *const c_char) -> u32,
}

struct Loaded {
    functions: Functions,
    path: PathBuf,
    top: String,
    waves: Waves,
    coverage: bool,
    // Last: the functions above live in it.
    _code: libloading::Library,
}

/// A built and loaded design, from which instances are made. Clones share the code.
#[derive(Clone)]
pub struct Library {
    loaded: Arc<Loaded>,
    interface: Arc<Interface>,
    key: String,
    build_seconds: Option<f64>,
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

/// What registers and undefined values hold before anything sets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Init {
    /// Zeros.
    Zeros,
    /// Ones.
    Ones,
    /// Random bits from a seed; the same seed gives the same bits.
    Random(u64),
}

impl Init {
    fn raw(self) -> (i32, i32) {
        match self {
            Init::Zeros => (0, 1),
            Init::Ones => (1, 1),
            Init::Random(seed) => {
                // SplitMix64, folded to a seed that is not zero: zero would mean "from the clock".
                let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
                mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                mixed ^= mixed >> 31;
                (2, ((mixed as u32) & 0x7fff_ffff).max(1) as i32)
            }
        }
    }
}

/// Why the design stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopKind {
    /// `$stop`.
    Stop,
    /// `$error`, `$fatal` or a failed assertion (Verilator makes no difference), or a memory file that is absent or too short.
    Error,
    /// `$finish`.
    Finish,
    /// The simulator gave up, for example because the logic does not settle. The instance is unusable.
    Simulator,
    /// A C++ exception. The instance is unusable.
    Exception,
    /// The design was not built for this.
    Unsupported,
}

impl StopKind {
    fn from_raw(kind: u32) -> Self {
        match kind {
            1 => StopKind::Stop,
            2 => StopKind::Error,
            3 => StopKind::Finish,
            4 => StopKind::Simulator,
            6 => StopKind::Unsupported,
            _ => StopKind::Exception,
        }
    }
}

/// The design stopped itself, or cannot do what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}cycle {cycle}: {kind:?}: {message}", location(file, *line))]
pub struct DutError {
    /// What it did.
    pub kind: StopKind,
    /// Source file; empty when unknown.
    pub file: String,
    /// Line in the source file, from 1; 0 when unknown.
    pub line: u32,
    /// The text of the message.
    pub message: String,
    /// Number of complete cycles before it.
    pub cycle: u64,
}

fn location(file: &str, line: u32) -> String {
    match (file, line) {
        ("", _) => String::new(),
        (file, 0) => format!("{file}: "),
        (file, line) => format!("{file}:{line}: "),
    }
}

#[derive(Clone, Copy)]
struct Storage {
    data: *mut u8,
    width: u32,
    bytes: u32,
    dir: Dir,
}

#[derive(Clone, Copy)]
struct Transfer {
    data: *mut u8,
    bytes: u32,
    offset: u32,
}

/// One running instance of a design.
///
/// Values of inputs that were poked act at the next [`settle`](Dut::settle), [`tick`](Dut::tick) or [`eval`](Dut::eval). An instance
/// may be moved to another thread, and instances of one library may run in several threads at once.
pub struct Dut {
    raw: NonNull<RawDut>,
    ports: Vec<Storage>,
    transfers_in: Vec<Transfer>,
    transfers_out: Vec<Transfer>,
    library: Library,
    /// Another copy of the interface that was found to be equal.
    accepted: Option<Arc<Interface>>,
    cycles: u64,
    waves: Option<PathBuf>,
}

// SAFETY: an instance owns its model and its Verilator context and shares nothing but code and the run-time library's internally locked
// state with other instances. The thread-local pointers to both are set again by every call that runs model code.
unsafe impl Send for Dut {}

impl Drop for Dut {
    fn drop(&mut self) {
        // SAFETY: raw is a live instance and is not used afterwards.
        unsafe { (self.library.loaded.functions.free)(self.raw.as_ptr()) }
    }
}

impl fmt::Debug for Dut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dut").field("top", &self.library.top()).field("cycles", &self.cycles).finish_non_exhaustive()
    }
}

impl Dut {
    /// The library this instance belongs to.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// The ports of the design.
    pub fn interface(&self) -> &Arc<Interface> {
        &self.library.interface
    }

    /// Handle of the input `name`.
    pub fn input(&self, name: &str) -> Result<Port, PortError> {
        self.interface().input(name)
    }

    /// Handle of the output `name`.
    pub fn output(&self, name: &str) -> Result<Port, PortError> {
        self.interface().output(name)
    }

    /// Sets an input of at most 64 bits.
    ///
    /// # Panics
    /// When the port is wider or an output, or the value does not fit.
    #[inline]
    pub fn poke(&mut self, port: Port, value: u64) {
        let storage = self.driven(port);
        assert!(storage.width <= 64, "a port of {} bits needs set_elem or poke_words", storage.width);
        check_fits(value, storage.width);
        // SAFETY: data points to `bytes` <= 8 bytes of a live port.
        unsafe { storage.data.copy_from_nonoverlapping((&raw const value).cast(), storage.bytes as usize) }
    }

    /// Value of a port of at most 64 bits.
    ///
    /// # Panics
    /// When the port is wider.
    #[inline]
    pub fn peek(&self, port: Port) -> u64 {
        let storage = self.storage(port);
        assert!(storage.width <= 64, "a port of {} bits needs get_elem or peek_words", storage.width);
        let mut value = 0u64;
        // SAFETY: data points to `bytes` <= 8 bytes of a live port.
        unsafe { storage.data.copy_to_nonoverlapping((&raw mut value).cast(), storage.bytes as usize) }
        value
    }

    /// Sets an input from 32-bit words, low word first.
    ///
    /// # Panics
    /// When the number of words is not `ceil(width / 32)`, the port is an output, or bits above its width are set.
    pub fn poke_words(&mut self, port: Port, words: &[u32]) {
        let storage = self.driven(port);
        assert_eq!(words.len(), storage.width.div_ceil(32) as usize, "words of a port of {} bits", storage.width);
        if let Some(&last) = words.last() {
            check_fits(u64::from(last), (storage.width - 1) % 32 + 1);
        }
        // SAFETY: data points to `bytes` bytes of a live port, and words hold at least as many.
        unsafe { storage.data.copy_from_nonoverlapping(words.as_ptr().cast(), storage.bytes as usize) }
    }

    /// Copies a port into 32-bit words, low word first; `words` is resized to `ceil(width / 32)`.
    pub fn peek_words(&self, port: Port, words: &mut Vec<u32>) {
        let storage = self.storage(port);
        words.clear();
        words.resize(storage.width.div_ceil(32) as usize, 0);
        // SAFETY: data points to `bytes` bytes of a live port, and words hold at least as many.
        unsafe { storage.data.copy_to_nonoverlapping(words.as_mut_ptr().cast(), storage.bytes as usize) }
    }

    /// Element `index` of a packed bus of elements of `width` bits (1 to 64); element 0 is in the low bits.
    ///
    /// # Panics
    /// When the element does not lie inside the port.
    #[inline]
    pub fn get_elem(&self, port: Port, index: u32, width: u32) -> u64 {
        let storage = self.storage(port);
        let low = index * width;
        check_range(storage.width, low, width);
        let (value, shift) = storage.load(low, width);
        (value >> shift) as u64 & mask(width)
    }

    /// Sets element `index` of a packed input bus of elements of `width` bits (1 to 64).
    ///
    /// # Panics
    /// When the element does not lie inside the port, the port is an output, or the value does not fit.
    #[inline]
    pub fn set_elem(&mut self, port: Port, index: u32, width: u32, value: u64) {
        let storage = self.driven(port);
        let low = index * width;
        check_range(storage.width, low, width);
        check_fits(value, width);
        let (old, shift) = storage.load(low, width);
        let new = (old & !(u128::from(mask(width)) << shift)) | (u128::from(value) << shift);
        storage.store(low, width, new);
    }

    /// Bit `index` of a port.
    ///
    /// # Panics
    /// When the port has no such bit.
    #[inline]
    pub fn get_bit(&self, port: Port, index: u32) -> bool {
        self.get_elem(port, index, 1) != 0
    }

    /// Sets bit `index` of an input.
    ///
    /// # Panics
    /// When the port has no such bit, or is an output.
    #[inline]
    pub fn set_bit(&mut self, port: Port, index: u32, value: bool) {
        self.set_elem(port, index, 1, u64::from(value));
    }

    /// Sets all inputs.
    ///
    /// # Panics
    /// When the values are not the inputs of this design.
    pub fn poke_all(&mut self, inputs: &Values) {
        self.check_values(inputs, Dir::Input);
        if !Arc::ptr_eq(inputs.interface(), self.interface())
            && self.accepted.as_ref().is_none_or(|accepted| !Arc::ptr_eq(inputs.interface(), accepted))
        {
            self.accepted = Some(Arc::clone(inputs.interface()));
        }
        let words = inputs.raw();
        for transfer in &self.transfers_in {
            // SAFETY: data points to `bytes` bytes of a live port, and the container has as many at the place of that port: they
            // belong to one interface.
            unsafe {
                let source = words.as_ptr().add(transfer.offset as usize).cast::<u8>();
                transfer.data.copy_from_nonoverlapping(source, transfer.bytes as usize);
            }
        }
    }

    /// Copies all outputs.
    ///
    /// # Panics
    /// When the values are not the outputs of this design.
    pub fn peek_all(&self, outputs: &mut Values) {
        self.check_values(outputs, Dir::Output);
        let words = outputs.raw_mut();
        for transfer in &self.transfers_out {
            // SAFETY: as in poke_all; the bytes above `bytes` in the last word of a port are always zero.
            unsafe {
                let target = words.as_mut_ptr().add(transfer.offset as usize).cast::<u8>();
                transfer.data.copy_to_nonoverlapping(target, transfer.bytes as usize);
            }
        }
    }

    /// Clock at 0, inputs in effect, combinational logic settled: the sampling point of a cycle.
    ///
    /// # Errors
    /// When the design stops itself, see [`StopKind`].
    pub fn settle(&mut self) -> Result<(), DutError> {
        self.half(0)
    }

    /// Clock at 1: registers take their new values, and the cycle is counted.
    ///
    /// # Errors
    /// When the design stops itself, see [`StopKind`].
    pub fn tick(&mut self) -> Result<(), DutError> {
        let result = self.half(1);
        self.cycles += 1;
        result
    }

    /// One clock cycle: [`settle`](Dut::settle), then [`tick`](Dut::tick).
    ///
    /// # Errors
    /// When the design stops itself, see [`StopKind`].
    pub fn step(&mut self) -> Result<(), DutError> {
        self.settle()?;
        self.tick()
    }

    /// Evaluates without touching the clock, the time or the waves.
    ///
    /// # Errors
    /// When the design stops itself, see [`StopKind`].
    pub fn eval(&mut self) -> Result<(), DutError> {
        self.run(0)
    }

    /// Holds the one-bit input `port` at `active` for `cycles` clock cycles, then releases it. Other inputs stay as they are.
    ///
    /// # Errors
    /// When the design stops itself, see [`StopKind`].
    pub fn reset(&mut self, port: Port, active: bool, cycles: u32) -> Result<(), DutError> {
        self.poke(port, u64::from(active));
        for _ in 0..cycles {
            self.step()?;
        }
        self.poke(port, u64::from(!active));
        Ok(())
    }

    /// Number of complete clock cycles so far.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Takes the text that the design has printed (`$display`) since the last call; at least the last 64 KiB of it.
    pub fn take_output(&mut self) -> String {
        let functions = &self.library.loaded.functions;
        // SAFETY: raw is a live instance; the text is copied before it changes.
        unsafe {
            let text = CStr::from_ptr((functions.output)(self.raw.as_ptr())).to_string_lossy().into_owned();
            (functions.clear_output)(self.raw.as_ptr());
            text
        }
    }

    /// Starts a wave file: one time step per half cycle, the inputs change together with the falling clock.
    ///
    /// # Errors
    /// When the design was built without waves, or the file cannot be written.
    pub fn open_waves(&mut self, path: impl AsRef<Path>) -> Result<(), DutError> {
        let path = path.as_ref();
        let name = self.c_path(path)?;
        // SAFETY: raw is a live instance, name is zero terminated.
        let kind = unsafe { (self.library.loaded.functions.open_waves)(self.raw.as_ptr(), name.as_ptr()) };
        self.check(kind)?;
        self.waves = Some(path.to_owned());
        Ok(())
    }

    /// Completes the wave file and returns its path; `None` if none was open.
    ///
    /// # Errors
    /// When the simulator cannot complete it.
    pub fn close_waves(&mut self) -> Result<Option<PathBuf>, DutError> {
        // SAFETY: raw is a live instance.
        let kind = unsafe { (self.library.loaded.functions.close_waves)(self.raw.as_ptr()) };
        self.check(kind)?;
        Ok(self.waves.take())
    }

    /// Writes the coverage counters of this instance in the format of `verilator_coverage`.
    ///
    /// # Errors
    /// When the design was built without coverage, or the file cannot be written.
    pub fn write_coverage(&mut self, path: impl AsRef<Path>) -> Result<(), DutError> {
        let name = self.c_path(path.as_ref())?;
        // SAFETY: raw is a live instance, name is zero terminated.
        let kind = unsafe { (self.library.loaded.functions.write_coverage)(self.raw.as_ptr(), name.as_ptr()) };
        self.check(kind)
    }

    /// The coverage counters of this instance so far.
    ///
    /// # Errors
    /// When the design was built without coverage, or no temporary file can be written.
    pub fn code_coverage(&mut self) -> Result<CodeCoverage, DutError> {
        let failed = |message: String| DutError { kind: StopKind::Unsupported, file: String::new(), line: 0, message, cycle: self.cycles };
        let file = tempfile::NamedTempFile::new().map_err(|error| failed(error.to_string()))?;
        self.write_coverage(file.path())?;
        CodeCoverage::read(file.path()).map_err(|error| DutError {
            kind: StopKind::Unsupported,
            file: String::new(),
            line: 0,
            message: error.to_string(),
            cycle: self.cycles,
        })
    }

    fn half(&mut self, clock: u8) -> Result<(), DutError> {
        if let Some(port) = self.library.interface.clock() {
            // SAFETY: the clock is a live port of one byte.
            unsafe { self.ports[port.index as usize].data.write(clock) }
        }
        self.run(1)
    }

    #[inline]
    fn run(&mut self, advance: u32) -> Result<(), DutError> {
        // SAFETY: raw is a live instance.
        let kind = unsafe { (self.library.loaded.functions.eval)(self.raw.as_ptr(), advance) };
        if kind == 0 { Ok(()) } else { self.check(kind) }
    }

    #[cold]
    fn check(&self, kind: u32) -> Result<(), DutError> {
        if kind == 0 {
            return Ok(());
        }
        // SAFETY: raw is a live instance; the texts are copied before they change.
        let (error, file, message) = unsafe {
            let error = (self.library.loaded.functions.error)(self.raw.as_ptr());
            let text = |pointer| CStr::from_ptr(pointer).to_string_lossy().into_owned();
            (error.line, text(error.file), text(error.message))
        };
        let line = u32::try_from(error).unwrap_or(0);
        Err(DutError { kind: StopKind::from_raw(kind), file, line, message, cycle: self.cycles })
    }

    fn c_path(&self, path: &Path) -> Result<CString, DutError> {
        CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| DutError {
            kind: StopKind::Unsupported,
            file: path.display().to_string(),
            line: 0,
            message: "a path with a zero byte".into(),
            cycle: self.cycles,
        })
    }

    #[inline]
    fn storage(&self, port: Port) -> Storage {
        self.ports[port.index as usize]
    }

    #[inline]
    fn driven(&mut self, port: Port) -> Storage {
        let storage = self.storage(port);
        assert!(storage.dir == Dir::Input, "an output cannot be set");
        storage
    }

    #[inline]
    fn check_values(&self, values: &Values, dir: Dir) {
        let theirs = values.interface();
        let known = Arc::ptr_eq(theirs, self.interface()) || self.accepted.as_ref().is_some_and(|accepted| Arc::ptr_eq(theirs, accepted));
        let same = known || **theirs == **self.interface();
        assert!(same && values.dir() == dir, "these are not the {dir} values of `{}`", self.library.top());
    }
}

impl Storage {
    /// Bytes that hold the bits `low+:width`, starting at the 32-bit word of bit `low`, and the shift of bit `low` in them.
    #[inline]
    fn load(self, low: u32, width: u32) -> (u128, u32) {
        let (start, len) = self.window(low, width);
        let mut value = 0u128;
        // SAFETY: the window lies inside the live port and is at most 12 bytes long.
        unsafe { self.data.add(start).copy_to_nonoverlapping((&raw mut value).cast(), len) }
        (value, low % 32)
    }

    #[inline]
    fn store(self, low: u32, width: u32, value: u128) {
        let (start, len) = self.window(low, width);
        // SAFETY: the window lies inside the live port and is at most 12 bytes long.
        unsafe { self.data.add(start).copy_from_nonoverlapping((&raw const value).cast(), len) }
    }

    /// First byte and length of the words of 32 bits that hold the bits `low+:width`, cut at the end of the storage.
    #[inline]
    fn window(self, low: u32, width: u32) -> (usize, usize) {
        let start = (low / 32 * 4) as usize;
        let end = ((low + width).div_ceil(32) * 4).min(self.bytes) as usize;
        (start, end - start)
    }
}
