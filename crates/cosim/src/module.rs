//! A Verilated module: the one place where Rust calls C++.

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// What a module is called, and how many words its inputs and outputs are, the clock not counted.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The module's name.
    pub name: &'static CStr,
    /// Input ports, one word each.
    pub inputs: usize,
    /// Output ports, one word each.
    pub outputs: usize,
}

/// Why no module can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this was built without Verilator, so that nothing in Verilog can run: install verilator (Debian: apt-get install verilator), and build again"
)]
pub struct Missing;

/// Why there are no waveforms.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot write waveforms to {}", .0.display())]
pub struct NoWaves(pub PathBuf);

enum Handle {}

unsafe extern "C" {
    fn wireline_rtl_new(name: *const std::ffi::c_char) -> *mut Handle;
    fn wireline_rtl_free(module: *mut Handle);
    fn wireline_rtl_run(module: *mut Handle, cycles: usize, input: *const u64, output: *mut u64);
    fn wireline_rtl_save(module: *mut Handle);
    fn wireline_rtl_restore(module: *mut Handle);
    fn wireline_rtl_open_waves(module: *mut Handle, file: *const std::ffi::c_char) -> bool;
    fn wireline_rtl_run_waves(
        module: *mut Handle,
        input: *const u64,
        output: *mut u64,
        ps: u64,
        half: u64,
    );
}

/// A module in Verilog, as a state that a clock moves on.
pub struct Module {
    handle: NonNull<Handle>,
    layout: Layout,
    saved: bool,
    waves: bool,
}

// SAFETY: a module has its own VerilatedContext, and shares nothing with another.
unsafe impl Send for Module {}

impl Module {
    /// A module in the state of its `initial` blocks.
    ///
    /// # Errors
    /// Without Verilator at build time.
    pub fn new(layout: Layout) -> Result<Module, Missing> {
        // SAFETY: the name ends with a zero; the answer is null or a module that nobody else has.
        let handle = NonNull::new(unsafe { wireline_rtl_new(layout.name.as_ptr()) });
        handle.ok_or(Missing).map(|handle| Module {
            handle,
            layout,
            saved: false,
            waves: false,
        })
    }

    /// Rising edges of the clock. For each, the inputs before it are taken, and the outputs behind it are given.
    ///
    /// # Panics
    /// When the words are not those of as many cycles.
    pub fn run(&mut self, inputs: &[u64], outputs: &mut [u64]) {
        let cycles = inputs.len() / self.layout.inputs;
        assert_eq!(inputs.len(), cycles * self.layout.inputs, "inputs");
        assert_eq!(outputs.len(), cycles * self.layout.outputs, "outputs");
        let (handle, input, output) = (self.handle.as_ptr(), inputs.as_ptr(), outputs.as_mut_ptr());
        // SAFETY: there are words for so many cycles, as has just been seen.
        unsafe { wireline_rtl_run(handle, cycles, input, output) };
    }

    /// Remembers the module's state.
    pub fn save(&mut self) {
        // SAFETY: the module lives.
        unsafe { wireline_rtl_save(self.handle.as_ptr()) };
        self.saved = true;
    }

    /// Back to the state that was remembered last.
    ///
    /// # Panics
    /// When none was.
    pub fn restore(&mut self) {
        assert!(self.saved, "nothing to restore");
        // SAFETY: the module lives, and has a state to go back to.
        unsafe { wireline_rtl_restore(self.handle.as_ptr()) };
    }

    /// Opens a file for waveforms in the format FST, which [`run_with_waves`](Module::run_with_waves) writes. It is whole when the
    /// module is dropped. Not for the second time.
    ///
    /// # Errors
    /// When it cannot be opened.
    ///
    /// # Panics
    /// When another is open.
    pub fn open_waves(&mut self, file: &Path) -> Result<(), NoWaves> {
        assert!(!self.waves, "waveforms are written already");
        let name = CString::new(file.as_os_str().as_encoded_bytes());
        self.waves = name.is_ok_and(|name| {
            // SAFETY: the name ends with a zero.
            unsafe { wireline_rtl_open_waves(self.handle.as_ptr(), name.as_ptr()) }
        });
        match self.waves {
            true => Ok(()),
            false => Err(NoWaves(file.into())),
        }
    }

    /// One rising edge at a time in picoseconds and the falling one `half` of them later, both written to the file of waveforms.
    ///
    /// # Panics
    /// When no file is open, or the words are not those of one cycle.
    pub fn run_with_waves(&mut self, inputs: &[u64], outputs: &mut [u64], ps: u64, half: u64) {
        assert!(self.waves, "no file for waveforms");
        assert_eq!(inputs.len(), self.layout.inputs, "inputs");
        assert_eq!(outputs.len(), self.layout.outputs, "outputs");
        let (handle, input, output) = (self.handle.as_ptr(), inputs.as_ptr(), outputs.as_mut_ptr());
        // SAFETY: there are words for one cycle, and a file is open, as has just been seen.
        unsafe { wireline_rtl_run_waves(handle, input, output, ps, half) };
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: nobody else has the module.
        unsafe { wireline_rtl_free(self.handle.as_ptr()) };
    }
}
