//! Filter expressions, compiled by libpcap.
//!
//! The language of `tcpdump` is libpcap's: no other compiler understands quite the same. So libpcap
//! itself compiles, loaded when the first expression comes up; a machine without it can do all
//! else. It is asked for one link type and opens no device: where a header begins, and what can be
//! asked at all, depends on the link type. A host name in an expression makes it ask the machine's
//! resolver. Why not another way: docs/decisions/0006-bpf.md.

use crate::kernel::thread::lock;
use libloading::{Library, Symbol};
use packet::MAX_FRAME_LEN;
use packet::bpf::Instruction;
use packet::capture;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::net::Ipv4Addr;
use std::sync::{Mutex, OnceLock};

/// Names under which libpcap is installed: Debian's, then everybody's.
const NAMES: [&str; 3] = ["libpcap.so.0.8", "libpcap.so.1", "libpcap.so"];
/// `PCAP_NETMASK_UNKNOWN`: `ip broadcast` alone needs to know better, and is refused.
const NETMASK_UNKNOWN: c_uint = 0xFFFF_FFFF;
/// `PCAP_ERRBUF_SIZE`.
const ERROR_SIZE: usize = 256;
/// Maximum length of an expression, bytes. libpcap's optimiser takes more than quadratic time:
/// 0.4 s for 250 ports joined by `or`, 15 s for 900.
const MAX_EXPRESSION_LEN: usize = 4 * 1024;
const TOO_LONG: &str = "an expression has at most 4096 bytes";

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
    /// The expression asks for the broadcast address of a network whose mask is not known.
    #[error(
        "filter `{expression}`: the mask of the network is not known, which `ip broadcast` needs"
    )]
    Netmask { expression: String },
    /// libpcap had no memory.
    #[error("libpcap could not begin: out of memory")]
    Memory,
}

impl BpfError {
    /// Whether the text is invalid for every link type, so that no other one is tried.
    pub(super) fn is_of_the_text(&self) -> bool {
        matches!(self, BpfError::Expression { reason, .. } if reason == TOO_LONG
            || reason.contains("syntax error") || reason.contains("memory exhausted"))
    }

    /// Whether the resolver does not know a name: it is not asked again for other link types.
    pub(super) fn is_of_a_name(&self) -> bool {
        matches!(self, BpfError::Expression { reason, .. } if reason.starts_with("unknown host"))
    }
}

/// The packets that an expression is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Their link type, a LINKTYPE number.
    pub link_type: u16,
    /// Whether their file is big-endian: link types that begin with a family, such as NULL, have it
    /// in that order.
    pub big_endian: bool,
    /// The mask of their network, if it is known; without it `ip broadcast` is refused.
    pub netmask: Option<Ipv4Addr>,
}

impl Target {
    /// Ethernet frames.
    pub const ETHERNET: Target = Target::of(capture::ETHERNET);
    /// Packets that begin with their IP header, of either version.
    pub const IP: Target = Target::of(capture::RAW);

    /// Packets of a link type, in a little-endian file, of which nothing else is known.
    pub const fn of(link_type: u16) -> Target {
        Target {
            link_type,
            big_endian: false,
            netmask: None,
        }
    }

    /// The header of a capture file of this link type, where that makes a difference: packets of
    /// BSD loopback begin with the family of their addresses. For files libpcap takes all numbers
    /// that systems have for IPv6, and the file's byte order.
    fn file_header(&self) -> Option<[u8; 24]> {
        if !matches!(self.link_type, capture::NULL | capture::LOOP) {
            return None;
        }
        let number = |number: u32| match self.big_endian {
            true => number.to_be_bytes(),
            false => number.to_le_bytes(),
        };
        let version = if self.big_endian {
            [0, 2, 0, 4]
        } else {
            [2, 0, 4, 0]
        };
        let mut header = [0; 24];
        let fields = [
            (0, number(0xA1B2_C3D4)),
            (4, version),
            (16, number(MAX_FRAME_LEN as u32)),
            (20, number(self.link_type.into())),
        ];
        for (at, field) in fields {
            header[at..at + 4].copy_from_slice(&field);
        }
        Some(header)
    }

    /// The number by which libpcap knows the link type: LINKTYPE numbers are those of files, and
    /// some differ on this system.
    fn dlt(&self) -> c_int {
        /// Linux's `DLT_RAW`.
        const RAW: u16 = 12;
        match self.link_type {
            100 => 11,
            number if capture::is_raw_ip(number) => RAW.into(),
            102 => 15,
            103 => 16,
            106 => 19,
            number => number.into(),
        }
    }
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
type OpenFile = unsafe extern "C" fn(*mut libc::FILE, *mut c_char) -> *mut c_void;
type Compile =
    unsafe extern "C" fn(*mut c_void, *mut RawProgram, *const c_char, c_int, c_uint) -> c_int;
type GetErr = unsafe extern "C" fn(*mut c_void) -> *const c_char;
type FreeCode = unsafe extern "C" fn(*mut RawProgram);
type Close = unsafe extern "C" fn(*mut c_void);

/// Compiles an expression for packets of `target` into instructions that return `snaplen` (at least
/// 1) for a match and 0 otherwise. An empty expression matches everything.
///
/// # Errors
/// When libpcap is missing, or refuses the expression: one about Ethernet addresses for packets
/// without them, for example.
pub fn compile(
    expression: &str,
    target: &Target,
    snaplen: u32,
) -> Result<Vec<Instruction>, BpfError> {
    // Up to libpcap 1.7 the compiler has global state.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = lock(&ONE_AT_A_TIME);

    let refused = |reason: &str| BpfError::Expression {
        expression: expression.chars().take(200).collect(),
        reason: reason.into(),
    };
    if expression.len() > MAX_EXPRESSION_LEN {
        return Err(refused(TOO_LONG));
    }
    let text = CString::new(expression).map_err(|_| refused("it contains a zero byte"))?;
    let library = load()?;
    let pcap = Pcap::new(library)?;
    let snaplen = c_int::try_from(snaplen.max(1)).unwrap_or(c_int::MAX);
    let mut header = target.file_header();
    let handle = match &mut header {
        // SAFETY: the header stays where it is until the handle is closed below.
        Some(header) => unsafe { pcap.open_header(header) },
        // SAFETY: the signature is libpcap's; it takes plain numbers and returns a handle or null.
        None => unsafe { (pcap.open_dead)(target.dlt(), snaplen) },
    };
    if handle.is_null() {
        return Err(BpfError::Memory);
    }
    let mut program = RawProgram {
        len: 0,
        instructions: std::ptr::null_mut(),
    };
    let netmask = target.netmask.map_or(NETMASK_UNKNOWN, u32::from);
    // SAFETY: the handle is open, the text ends with a zero byte, and both outlive the call.
    let result = unsafe { (pcap.compile)(handle, &mut program, text.as_ptr(), 1, netmask) };
    let compiled = if result == 0 {
        // SAFETY: after success libpcap owns `len` instructions there, until they are freed.
        let instructions = unsafe { copy(&program) };
        // SAFETY: the program was compiled, and is freed once.
        unsafe { (pcap.free_code)(&mut program) };
        Ok(instructions)
    } else {
        // SAFETY: the handle is open; its error is text that ends with a zero byte.
        let reason = unsafe { CStr::from_ptr((pcap.get_err)(handle)) };
        Err(match reason.to_string_lossy() {
            reason if reason.starts_with("netmask not known") => BpfError::Netmask {
                expression: expression.chars().take(200).collect(),
            },
            reason => refused(&reason),
        })
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

/// The library, which stays: a process that has given up system calls may compile, and not load.
fn load() -> Result<&'static Library, BpfError> {
    static LOADED: OnceLock<Library> = OnceLock::new();
    if let Some(library) = LOADED.get() {
        return Ok(library);
    }
    let mut first_error = None;
    for name in NAMES {
        // SAFETY: libpcap runs nothing of consequence when it is loaded.
        match unsafe { Library::new(name) } {
            Ok(library) => return Ok(LOADED.get_or_init(|| library)),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    // `NAMES` is not empty, so there was an error.
    Err(first_error.map_or(BpfError::Memory, BpfError::NoLibrary))
}

/// The functions of libpcap that compile.
struct Pcap<'lib> {
    open_dead: Symbol<'lib, OpenDead>,
    open_file: Symbol<'lib, OpenFile>,
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
                    open_file: library.get(b"pcap_fopen_offline")?,
                    compile: library.get(b"pcap_compile")?,
                    get_err: library.get(b"pcap_geterr")?,
                    free_code: library.get(b"pcap_freecode")?,
                    close: library.get(b"pcap_close")?,
                })
            })()
        };
        symbols.map_err(BpfError::Symbol)
    }

    /// A handle as of a capture file with this header and no packets; null if there is no memory.
    ///
    /// # Safety
    /// The header outlives the handle, and is not touched meanwhile.
    unsafe fn open_header(&self, header: &mut [u8; 24]) -> *mut c_void {
        let mut error = [0; ERROR_SIZE];
        // SAFETY: by the caller's word the memory lasts; the stream belongs to the handle, which
        // closes it, or is closed here.
        unsafe {
            let stream = libc::fmemopen(header.as_mut_ptr().cast(), header.len(), c"r".as_ptr());
            if stream.is_null() {
                return std::ptr::null_mut();
            }
            let handle = (self.open_file)(stream, error.as_mut_ptr());
            if handle.is_null() {
                libc::fclose(stream);
            }
            handle
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::bpf::Program;

    fn compiled(expression: &str, target: &Target) -> Option<Result<Vec<Instruction>, BpfError>> {
        match compile(expression, target, 65_535) {
            Err(BpfError::NoLibrary(error)) => {
                println!("skipped: libpcap is not installed: {error}");
                None
            }
            result => Some(result),
        }
    }

    #[test]
    fn an_empty_expression_matches_everything() {
        let Some(result) = compiled("", &Target::ETHERNET) else {
            return;
        };
        let program = Program::new(result.unwrap()).unwrap();
        assert_eq!(program.run(&[0; 14]), 65_535);
    }

    #[test]
    fn without_ethernet_the_first_byte_is_that_of_the_ip_header() {
        let mut packet = [0; 28];
        packet[0] = 0x45;
        packet[9] = 17;
        packet[22..24].copy_from_slice(&53u16.to_be_bytes());
        // RAW as files have it, and as two systems number it themselves.
        for link_type in [101, 12, 14] {
            let target = Target::of(link_type);
            let Some(result) = compiled("udp port 53", &target) else {
                return;
            };
            let program = Program::new(result.unwrap()).unwrap();
            assert_ne!(program.run(&packet), 0);
            packet[23] = 54;
            assert_eq!(program.run(&packet), 0);
            packet[23] = 53;
            let Some(result) = compiled("ether host 2:0:0:0:0:1", &target) else {
                return;
            };
            assert!(result.is_err());
        }
    }

    #[test]
    fn a_family_is_read_in_the_order_of_its_file() {
        for (big_endian, family) in [(false, [2, 0, 0, 0]), (true, [0, 0, 0, 2])] {
            let target = Target {
                big_endian,
                ..Target::of(capture::NULL)
            };
            let Some(result) = compiled("ip", &target) else {
                return;
            };
            let program = Program::new(result.unwrap()).unwrap();
            assert_ne!(program.run(&family), 0);
            let [a, b, c, d] = family;
            assert_eq!(program.run(&[d, c, b, a]), 0);
            // The numbers of BSD, FreeBSD and macOS; this system has another.
            let Some(result) = compiled("ip6", &target) else {
                return;
            };
            let program = Program::new(result.unwrap()).unwrap();
            for number in [24, 28, 30] {
                let family = family.map(|byte| if byte == 2 { number } else { 0 });
                assert_ne!(program.run(&family), 0, "{number}");
            }
        }
    }

    #[test]
    fn a_broadcast_address_needs_a_mask() {
        let Some(result) = compiled("ip broadcast", &Target::IP) else {
            return;
        };
        let error = result.unwrap_err();
        assert!(matches!(error, BpfError::Netmask { .. }), "{error}");
        let target = Target {
            netmask: Some(Ipv4Addr::new(255, 255, 240, 0)),
            ..Target::IP
        };
        let Some(result) = compiled("ip broadcast", &target) else {
            return;
        };
        let program = Program::new(result.unwrap()).unwrap();
        let to = |address: [u8; 4]| {
            let mut packet = [0; 20];
            packet[0] = 0x45;
            packet[16..].copy_from_slice(&address);
            program.run(&packet) != 0
        };
        for (address, matches) in [
            ([10, 0, 15, 255], true),
            ([10, 0, 16, 0], true),
            ([255, 255, 255, 255], true),
            ([10, 0, 0, 255], false),
            ([10, 0, 16, 1], false),
        ] {
            assert_eq!(to(address), matches, "{address:?}");
        }
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
            let Some(result) = compiled(bad, &Target::ETHERNET) else {
                return;
            };
            let error = result.unwrap_err().to_string();
            assert!(error.starts_with("filter `") && error.len() > 20, "{error}");
        }
        let Some(result) = compiled(&"ip or ".repeat(10_000), &Target::ETHERNET) else {
            return;
        };
        assert!(result.unwrap_err().to_string().contains("at most 4096"));
    }
}
