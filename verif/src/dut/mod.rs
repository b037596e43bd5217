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

mod error;
mod library;

pub use error::{DutError, Init, StopKind};
pub use library::Library;
use library::RawDut;

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
