//! A program in Verilog that was compiled to a shared object: the other place where Rust calls C++.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, symbol: *const c_char) -> *mut c_void;
    fn dlclose(handle: *mut c_void) -> c_int;
    fn dlerror() -> *const c_char;
}

/// All symbols at once, and for nobody else.
const RTLD_NOW: c_int = 2;

type New = unsafe extern "C" fn() -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);
type Run = unsafe extern "C" fn(*mut c_void, usize, *const u64, *mut u64);

struct Handle(NonNull<c_void>);

// SAFETY: a handle may be used and closed from any thread.
unsafe impl Send for Handle {}
// SAFETY: as above; the library has no state outside its modules.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: no module of the library lives any more, since each keeps the library.
        unsafe { dlclose(self.0.as_ptr()) };
    }
}

/// What the system's loader says of a file that it does not load.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotLoaded(String);

/// A library with one module of hardware.
#[derive(Clone)]
pub(crate) struct Library {
    _handle: Arc<Handle>,
    new: New,
    free: Free,
    run: Run,
    inputs: usize,
    outputs: usize,
}

impl Library {
    /// Opens a file that [`crate::p4::verilate`] made, whose module has `inputs` and `outputs` words in a cycle.
    pub(crate) fn open(file: &Path, inputs: usize, outputs: usize) -> Result<Library, NotLoaded> {
        let name = CString::new(file.as_os_str().as_encoded_bytes())
            .map_err(|error| NotLoaded(error.to_string()))?;
        // SAFETY: the name ends with a zero. What runs when the library is loaded is Verilator's.
        let handle = unsafe { dlopen(name.as_ptr(), RTLD_NOW) };
        let Some(handle) = NonNull::new(handle) else {
            // SAFETY: after a failure it gives a text that stands until the next call in this thread.
            let error = unsafe { CStr::from_ptr(dlerror()) };
            return Err(NotLoaded(error.to_string_lossy().into_owned()));
        };
        let handle = Handle(handle);
        let symbol = |name: &CStr| {
            // SAFETY: the handle is open, and the name ends with a zero.
            let found = unsafe { dlsym(handle.0.as_ptr(), name.as_ptr()) };
            NonNull::new(found)
                .ok_or_else(|| NotLoaded(format!("it has no {}", name.to_string_lossy())))
        };
        let (new, free, run) = (
            symbol(c"wireline_p4_new")?,
            symbol(c"wireline_p4_free")?,
            symbol(c"wireline_p4_run")?,
        );
        // SAFETY: the shim gives these symbols these types.
        let (new, free, run) = unsafe {
            (
                std::mem::transmute::<*mut c_void, New>(new.as_ptr()),
                std::mem::transmute::<*mut c_void, Free>(free.as_ptr()),
                std::mem::transmute::<*mut c_void, Run>(run.as_ptr()),
            )
        };
        Ok(Library {
            _handle: Arc::new(handle),
            new,
            free,
            run,
            inputs,
            outputs,
        })
    }
}

/// A module of hardware, as a state that a clock moves on.
pub(crate) struct Shared {
    module: NonNull<c_void>,
    library: Library,
}

// SAFETY: a module has its own VerilatedContext, and shares nothing with another.
unsafe impl Send for Shared {}

impl Shared {
    pub(crate) fn new(library: Library) -> Shared {
        // SAFETY: it takes nothing, and gives a module that nobody else has.
        let module = unsafe { (library.new)() };
        let module = NonNull::new(module).expect("`new` of C++ gives no null");
        Shared { module, library }
    }

    /// A cycle: the inputs before a rising edge, and the outputs, at the time that the library's shim says.
    ///
    /// # Panics
    /// When the words are not those of one cycle.
    pub(crate) fn cycle(&mut self, inputs: &[u64], outputs: &mut [u64]) {
        assert_eq!(inputs.len(), self.library.inputs, "inputs");
        assert_eq!(outputs.len(), self.library.outputs, "outputs");
        // SAFETY: the module lives, and the words are those of one cycle, as has just been seen.
        unsafe {
            (self.library.run)(
                self.module.as_ptr(),
                1,
                inputs.as_ptr(),
                outputs.as_mut_ptr(),
            )
        };
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: nobody else has the module.
        unsafe { (self.library.free)(self.module.as_ptr()) };
    }
}
