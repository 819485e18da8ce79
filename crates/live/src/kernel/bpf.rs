//! Filter expressions, compiled by libpcap.
//!
//! The language of `tcpdump` is libpcap's: no other compiler understands quite the same. So libpcap
//! itself compiles, loaded when the first expression comes up; a machine without it can do all else.
//! It is asked for Ethernet, or for packets without it, and opens no device. A host name in an expression makes it ask the
//! machine's resolver. Why not another way: docs/decisions/0006-bpf.md.

use crate::kernel::thread::lock;
use libloading::{Library, Symbol};
use packet::bpf::Instruction;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::Mutex;

/// Names under which libpcap is installed: Debian's, then everybody's.
const NAMES: [&str; 3] = ["libpcap.so.0.8", "libpcap.so.1", "libpcap.so"];
/// `DLT_EN10MB`.
const ETHERNET: c_int = 1;
/// `DLT_RAW` on Linux: packets that begin with their IP header, of either version.
const RAW: c_int = 12;
/// `PCAP_NETMASK_UNKNOWN`: only `ip broadcast` needs to know better, and says so.
const NETMASK_UNKNOWN: c_uint = 0xFFFF_FFFF;
/// The longest expression. libpcap's optimiser takes more than quadratic time: 0.4 s for 250 ports
/// joined by `or`, 15 s for 900.
const LONGEST_EXPRESSION: usize = 4 * 1024;

/// Why an expression has no program.
#[derive(Debug, thiserror::Error)]
pub enum BpfError {
    /// libpcap could not be loaded.
    #[error(
        "a filter expression needs libpcap, which is not installed; get it by `apt-get install \
         libpcap0.8` (Debian, Ubuntu) or `dnf install libpcap` (Fedora): {0}"
    )]
    NoLibrary(#[source] libloading::Error),
    /// The library lacks a function of libpcap 0.9 (2005).
    #[error("the installed libpcap is not one: {0}")]
    Symbol(#[source] libloading::Error),
    /// libpcap refused the expression, in its own words.
    #[error("filter `{expression}`: {reason}")]
    Expression {
        expression: String,
        /// What libpcap says.
        reason: String,
    },
    /// libpcap had no memory.
    #[error("libpcap could not begin: out of memory")]
    Memory,
}

/// `struct bpf_insn`, which `Instruction` matches field by field.
#[repr(C)]
struct RawInstruction {
    code: u16,
    jt: u8,
    jf: u8,
    k: u32,
}

/// `struct bpf_program`.
#[repr(C)]
struct RawProgram {
    len: c_uint,
    instructions: *mut RawInstruction,
}

type OpenDead = unsafe extern "C" fn(c_int, c_int) -> *mut c_void;
type Compile =
    unsafe extern "C" fn(*mut c_void, *mut RawProgram, *const c_char, c_int, c_uint) -> c_int;
type GetErr = unsafe extern "C" fn(*mut c_void) -> *const c_char;
type FreeCode = unsafe extern "C" fn(*mut RawProgram);
type Close = unsafe extern "C" fn(*mut c_void);

/// Compiles an expression for Ethernet frames into instructions that return `snaplen` (at least 1)
/// for a match and 0 otherwise. An empty expression matches everything.
///
/// # Errors
/// When libpcap is missing, or refuses the expression.
pub fn compile(expression: &str, snaplen: u32) -> Result<Vec<Instruction>, BpfError> {
    compile_for(ETHERNET, expression, snaplen)
}

/// As [`compile`], for packets that begin with their IP header, of either version.
///
/// # Errors
/// When libpcap is missing, or refuses the expression: one about Ethernet addresses, for example.
pub fn compile_ip(expression: &str, snaplen: u32) -> Result<Vec<Instruction>, BpfError> {
    compile_for(RAW, expression, snaplen)
}

fn compile_for(link: c_int, expression: &str, snaplen: u32) -> Result<Vec<Instruction>, BpfError> {
    // Up to libpcap 1.7 the compiler has global state.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = lock(&ONE_AT_A_TIME);

    let refused = |reason: &str| BpfError::Expression {
        expression: expression.chars().take(200).collect(),
        reason: reason.into(),
    };
    if expression.len() > LONGEST_EXPRESSION {
        return Err(refused("an expression has at most 4096 bytes"));
    }
    let text = CString::new(expression).map_err(|_| refused("it contains a zero byte"))?;
    let library = load()?;
    let pcap = Pcap::new(&library)?;
    let snaplen = c_int::try_from(snaplen.max(1)).unwrap_or(c_int::MAX);
    // SAFETY: the signature is libpcap's; it takes plain numbers and returns a handle or null.
    let handle = unsafe { (pcap.open_dead)(link, snaplen) };
    if handle.is_null() {
        return Err(BpfError::Memory);
    }
    let mut program = RawProgram {
        len: 0,
        instructions: std::ptr::null_mut(),
    };
    // SAFETY: the handle is open, the text ends with a zero byte, and both outlive the call.
    let result = unsafe { (pcap.compile)(handle, &mut program, text.as_ptr(), 1, NETMASK_UNKNOWN) };
    let compiled = if result == 0 {
        // SAFETY: after success libpcap owns `len` instructions there, until they are freed.
        let instructions = unsafe { copy(&program) };
        // SAFETY: the program was compiled, and is freed once.
        unsafe { (pcap.free_code)(&mut program) };
        Ok(instructions)
    } else {
        // SAFETY: the handle is open; its error is text that ends with a zero byte.
        let reason = unsafe { CStr::from_ptr((pcap.get_err)(handle)) };
        Err(refused(&reason.to_string_lossy()))
    };
    // SAFETY: the handle is open and not used again.
    unsafe { (pcap.close)(handle) };
    compiled
}

/// Copies a compiled program.
///
/// # Safety
/// `program` was filled in by a successful `pcap_compile` and has not been freed.
unsafe fn copy(program: &RawProgram) -> Vec<Instruction> {
    if program.instructions.is_null() {
        return Vec::new();
    }
    // SAFETY: by the caller's promise there are `len` instructions at the pointer.
    let raw = unsafe { std::slice::from_raw_parts(program.instructions, program.len as usize) };
    raw.iter()
        .map(|&RawInstruction { code, jt, jf, k }| Instruction { code, jt, jf, k })
        .collect()
}

fn load() -> Result<Library, BpfError> {
    let mut first_error = None;
    for name in NAMES {
        // SAFETY: libpcap runs nothing of consequence when it is loaded or unloaded.
        match unsafe { Library::new(name) } {
            Ok(library) => return Ok(library),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    // `NAMES` is not empty, so there was an error.
    Err(first_error.map_or(BpfError::Memory, BpfError::NoLibrary))
}

/// The functions of libpcap that compile.
struct Pcap<'lib> {
    open_dead: Symbol<'lib, OpenDead>,
    compile: Symbol<'lib, Compile>,
    get_err: Symbol<'lib, GetErr>,
    free_code: Symbol<'lib, FreeCode>,
    close: Symbol<'lib, Close>,
}

impl<'lib> Pcap<'lib> {
    fn new(library: &'lib Library) -> Result<Pcap<'lib>, BpfError> {
        // SAFETY: these are the functions' types in pcap/pcap.h; they have not changed since 2005.
        let symbols = unsafe {
            (|| {
                Ok(Pcap {
                    open_dead: library.get(b"pcap_open_dead")?,
                    compile: library.get(b"pcap_compile")?,
                    get_err: library.get(b"pcap_geterr")?,
                    free_code: library.get(b"pcap_freecode")?,
                    close: library.get(b"pcap_close")?,
                })
            })()
        };
        symbols.map_err(BpfError::Symbol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::bpf::Program;

    fn compiled(expression: &str) -> Option<Result<Vec<Instruction>, BpfError>> {
        match compile(expression, 65_535) {
            Err(BpfError::NoLibrary(error)) => {
                println!("skipped: libpcap is not installed: {error}");
                None
            }
            result => Some(result),
        }
    }

    #[test]
    fn an_empty_expression_matches_everything() {
        let Some(result) = compiled("") else { return };
        let program = Program::new(result.unwrap()).unwrap();
        assert_eq!(program.run(&[0; 14]), 65_535);
    }

    #[test]
    fn without_ethernet_the_first_byte_is_that_of_the_ip_header() {
        let program = match compile_ip("udp port 53", 65_535) {
            Err(BpfError::NoLibrary(error)) => {
                return println!("skipped: libpcap is not installed: {error}");
            }
            result => Program::new(result.unwrap()).unwrap(),
        };
        let mut packet = [0; 28];
        packet[0] = 0x45;
        packet[9] = 17;
        packet[22..24].copy_from_slice(&53u16.to_be_bytes());
        assert_ne!(program.run(&packet), 0);
        packet[23] = 54;
        assert_eq!(program.run(&packet), 0);
        assert!(compile_ip("ether host 2:0:0:0:0:1", 65_535).is_err());
    }

    #[test]
    fn a_bad_expression_is_refused_in_the_librarys_words() {
        for bad in [
            "host",
            "ip and and",
            "port 99999",
            "tcp[",
            "ip\0",
            "no-such-word 5",
        ] {
            let Some(result) = compiled(bad) else { return };
            let error = result.unwrap_err().to_string();
            assert!(error.starts_with("filter `") && error.len() > 20, "{error}");
        }
        let Some(result) = compiled(&"ip or ".repeat(10_000)) else {
            return;
        };
        assert!(result.unwrap_err().to_string().contains("at most 4096"));
    }
}
