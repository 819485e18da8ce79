//! Programs that run in the kernel, and the maps that they share with processes: bpf(2).
//!
//! All that is made here goes with its value: nothing is left behind, however the process ends.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

const BPF_MAP_CREATE: libc::c_int = 0;
const BPF_MAP_LOOKUP_ELEM: libc::c_int = 1;
const BPF_MAP_UPDATE_ELEM: libc::c_int = 2;
const BPF_MAP_DELETE_ELEM: libc::c_int = 3;
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_PROG_TEST_RUN: libc::c_int = 10;
/// Elements of a batch.
const BATCH: u32 = 4096;
const BPF_MAP_LOOKUP_BATCH: libc::c_int = 24;
const BPF_BTF_LOAD: libc::c_int = 18;
const BPF_LINK_CREATE: libc::c_int = 28;
const BPF_LINK_UPDATE: libc::c_int = 29;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_XDP: u32 = 37;
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;
/// Elements are made when they come, and go when no program reads them any more.
pub const NO_PREALLOC: u32 = 1;
/// Of an array in a map of maps: the others there may have more elements, or fewer.
pub const ANY_LENGTH: u32 = 1 << 12;
/// Processes can map an array's elements.
pub const MMAPABLE: u32 = 1 << 10;
/// What a lock is in stays whole while it is read or written (BPF_F_LOCK).
const LOCK: u64 = 4;
/// The verifier's words are kept as far as this; what it says of a refusal is at the end.
const LOG_BYTES: usize = 16 << 20;

/// Where a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In the driver, before the kernel makes its own structure of a frame.
    Driver,
    /// Behind the driver; works everywhere.
    Generic,
}

/// A command with its attributes, of which the kernel takes those not given as zero.
fn bpf<const N: usize>(command: libc::c_int, attributes: &mut [u64; N]) -> io::Result<i32> {
    // SAFETY: the attributes are valid for the length that is given; those that are addresses lead to
    // memory that outlives the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            attributes.as_mut_ptr(),
            size_of_val(attributes),
        )
    };
    match result {
        0.. => Ok(result as i32),
        _ => Err(io::Error::last_os_error()),
    }
}

fn owned(fd: i32) -> OwnedFd {
    // SAFETY: the kernel has just given out this descriptor.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Two 32-bit attributes as one word, in the machine's order.
fn pair(first: u32, second: u32) -> u64 {
    let [a, b, c, d] = first.to_ne_bytes();
    let [e, f, g, h] = second.to_ne_bytes();
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

/// A map.
#[derive(Debug)]
pub struct Map {
    descriptor: OwnedFd,
    key: usize,
    value: usize,
    entries: u32,
    /// For [`Map::set`] and [`Map::get`].
    flags: u64,
}

/// The types of an array's elements that have words of 64 bits, and behind them a lock (BTF): the kernel wants to know where locks are.
fn lock_types(words: u32) -> Vec<u8> {
    const INTEGER: u32 = 1 << 24;
    const ARRAY: u32 = 3 << 24;
    const STRUCT: u32 = 4 << 24;
    let mut names = vec![0u8];
    let mut name = |text: &str| {
        let at = names.len() as u32;
        names.extend(text.bytes().chain([0]));
        at
    };
    let [u32_name, u64_name, lock, val] = ["u32", "u64", "bpf_spin_lock", "val"].map(&mut name);
    let [element, values, held] = ["element", "words", "lock"].map(&mut name);
    // Types count from 1; behind name, kind and size stands what the kind has: bits, or element, index and number, or members with
    // name, type and place in bits.
    let types = [
        &[u32_name, INTEGER, 4, 32][..],
        &[u64_name, INTEGER, 8, 64],
        &[lock, STRUCT | 1, 4, val, 1, 0],
        &[0, ARRAY, 0, 2, 1, words],
        &[
            element,
            STRUCT | 2,
            8 * words + 8,
            values,
            4,
            0,
            held,
            3,
            64 * words,
        ],
    ]
    .concat();
    let length = size_of_val(&types[..]) as u32;
    // Magic, version and flags; length of this header; where types and names are, and how long.
    let header = [0xEB9F | 1 << 16, 24, 0, length, length, names.len() as u32];
    let numbers = header.into_iter().chain(types);
    numbers.flat_map(u32::to_ne_bytes).chain(names).collect()
}

impl Map {
    /// A map of the kind that has this number in the kernel's `enum bpf_map_type`; `inner` is like the maps in an array of maps.
    ///
    /// # Errors
    /// When the kernel refuses: the process lacks CAP_BPF, or there is no memory.
    pub fn new(
        kind: u32,
        key: u32,
        value: u32,
        entries: u32,
        flags: u32,
        inner: Option<&Map>,
    ) -> io::Result<Map> {
        let inner = inner.map_or(0, |map| map.descriptor.as_raw_fd() as u32);
        // map_type, key_size; value_size, max_entries; map_flags, inner_map_fd.
        let mut attributes = [pair(kind, key), pair(value, entries), pair(flags, inner)];
        let descriptor = owned(bpf(BPF_MAP_CREATE, &mut attributes)?);
        Ok(Map {
            descriptor,
            key: key as usize,
            value: value as usize,
            entries,
            flags: 0,
        })
    }

    /// An array whose elements are so many words of 64 bits and 8 bytes with a lock (`struct bpf_spin_lock`), under which they are read and
    /// written here, too.
    ///
    /// # Errors
    /// As for [`Map::new`].
    pub fn with_locks(words: u32, entries: u32) -> io::Result<Map> {
        const ARRAY: u32 = 2;
        const KEY_TYPE: u32 = 1;
        const VALUE_TYPE: u32 = 5;
        let value = 8 * words + 8;
        let types = lock_types(words);
        // btf; btf_log_buf; btf_size, btf_log_size.
        let mut attributes = [types.as_ptr() as u64, 0, pair(types.len() as u32, 0), 0];
        let types = owned(bpf(BPF_BTF_LOAD, &mut attributes)?);
        // As in `new`; numa_node and map_name; map_ifindex; btf_fd, btf_key_type_id; btf_value_type_id.
        let mut attributes = [
            pair(ARRAY, 4),
            pair(value, entries),
            0,
            0,
            0,
            0,
            pair(types.as_raw_fd() as u32, KEY_TYPE),
            pair(VALUE_TYPE, 0),
        ];
        Ok(Map {
            descriptor: owned(bpf(BPF_MAP_CREATE, &mut attributes)?),
            key: 4,
            value: value as usize,
            entries,
            flags: LOCK,
        })
    }

    /// Its number in this process, which instructions name it by.
    #[must_use]
    pub fn number(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    fn element(&self, command: libc::c_int, key: &[u8], value: *mut u8) -> io::Result<()> {
        assert_eq!(key.len(), self.key, "a key of another map");
        // map_fd; key; value; flags.
        let mut attributes = [
            pair(self.number() as u32, 0),
            key.as_ptr() as u64,
            value as u64,
            match command {
                BPF_MAP_DELETE_ELEM => 0,
                _ => self.flags,
            },
        ];
        bpf(command, &mut attributes).map(|_| ())
    }

    /// Puts a value at a key, in place of one that is there.
    ///
    /// # Errors
    /// When there is no room.
    ///
    /// # Panics
    /// When key or value are not as long as the map's.
    pub fn set(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        assert_eq!(value.len(), self.value, "a value of another map");
        self.element(BPF_MAP_UPDATE_ELEM, key, value.as_ptr().cast_mut())
    }

    /// Removes a key.
    ///
    /// # Errors
    /// When it is not there.
    ///
    /// # Panics
    /// When the key is not as long as the map's.
    pub fn remove(&self, key: &[u8]) -> io::Result<()> {
        self.element(BPF_MAP_DELETE_ELEM, key, std::ptr::null_mut())
    }

    /// Removes a key, if it is there.
    ///
    /// # Errors
    /// When the kernel does not remove it.
    ///
    /// # Panics
    /// When the key is not as long as the map's.
    pub fn discard(&self, key: &[u8]) -> io::Result<()> {
        match self.remove(key) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            done => done,
        }
    }

    /// All keys of a hash map with their values. A key that is set or removed meanwhile may be missing, or be there twice.
    ///
    /// # Errors
    /// When the kernel has no batches for this kind of map (Linux 5.6), or there is no memory.
    pub fn all(&self) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        // Where to go on, which the kernel fills in and reads: four bytes for hash maps.
        let (mut from, mut next) = (None, [0u8; 8]);
        let mut room = BATCH.min(self.entries.max(1));
        let mut all = Vec::new();
        loop {
            let mut keys = vec![0u8; self.key * room as usize];
            let mut values = vec![0u8; self.value * room as usize];
            // in_batch; out_batch; keys; values; count, map_fd; elem_flags; flags.
            let mut attributes = [
                from.as_ref()
                    .map_or(0, |from: &[u8; 8]| from.as_ptr() as u64),
                next.as_mut_ptr() as u64,
                keys.as_mut_ptr() as u64,
                values.as_mut_ptr() as u64,
                pair(room, self.number() as u32),
                0,
                0,
            ];
            let done = bpf(BPF_MAP_LOOKUP_BATCH, &mut attributes);
            let is = |error: &io::Error, number| error.raw_os_error() == Some(number);
            match &done {
                // A bucket has more elements than the batch has room for.
                Err(error) if is(error, libc::ENOSPC) => {
                    room *= 2;
                    continue;
                }
                Err(error) if !is(error, libc::ENOENT) => return done.map(|_| all),
                _ => {}
            }
            let count = (attributes[4] as u32).min(room) as usize;
            let keys = keys.chunks_exact(self.key).take(count);
            let pairs = keys.zip(values.chunks_exact(self.value));
            all.extend(pairs.map(|(key, value)| (key.to_vec(), value.to_vec())));
            if done.is_err() {
                return Ok(all);
            }
            from = Some(next);
        }
    }

    /// The value at a key; of a map with a copy for each processor all of them, each filled up to 8 bytes.
    ///
    /// # Errors
    /// When it is not there.
    ///
    /// # Panics
    /// When the key is not as long as the map's.
    pub fn get(&self, key: &[u8], copies: usize) -> io::Result<Vec<u8>> {
        let mut value = vec![0; self.value.next_multiple_of(8) * copies.max(1)];
        self.element(BPF_MAP_LOOKUP_ELEM, key, value.as_mut_ptr())?;
        Ok(value)
    }

    /// The elements of an array with values of whole 8 bytes, which programs and this process see alike.
    ///
    /// # Errors
    /// When the map is no array that is [`MMAPABLE`].
    pub fn memory(&self) -> io::Result<Memory> {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        Memory::map(self, self.value * self.entries as usize, rights, 0)
    }
}

/// What programs write into a ring buffer (BPF_MAP_TYPE_RINGBUF), read by one process.
#[derive(Debug)]
pub struct Messages {
    /// How far this process has read.
    consumer: Memory,
    /// How far programs have written, and the ring, twice.
    producer: Memory,
    page: usize,
    size: usize,
}

impl Messages {
    /// Of a ring buffer.
    ///
    /// # Errors
    /// When the map is none.
    pub fn new(map: &Map) -> io::Result<Messages> {
        // SAFETY: it asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let size = map.entries as usize;
        let read = libc::PROT_READ;
        Ok(Messages {
            consumer: Memory::map(map, page, read | libc::PROT_WRITE, 0)?,
            producer: Memory::map(map, page + 2 * size, read, page as i64)?,
            page,
            size,
        })
    }

    /// Gives all that is there, one after the other, in words of 64 bits.
    pub fn read(&mut self, each: &mut dyn FnMut(&[u64])) {
        const BUSY: u64 = 1 << 31;
        const DISCARDED: u64 = 1 << 30;
        let (words, ring) = (self.producer.words(), self.page / 8);
        let mut at = self.consumer.words()[0].load(Ordering::Acquire);
        while at < words[0].load(Ordering::Acquire) {
            let place = ring + (at as usize & (self.size - 1)) / 8;
            // Length and flags, in the first half of the header.
            let header = words[place].load(Ordering::Acquire);
            if header & BUSY != 0 {
                break;
            }
            let length = (header & (DISCARDED - 1)) as usize;
            if header & DISCARDED == 0 {
                // The ring stands there twice, so that no message is cut.
                let message = &words[place + 1..place + 1 + length.div_ceil(8)];
                let message: Vec<u64> = message
                    .iter()
                    .map(|word| word.load(Ordering::Relaxed))
                    .collect();
                each(&message);
            }
            at += 8 + length.next_multiple_of(8) as u64;
            self.consumer.words()[0].store(at, Ordering::Release);
        }
    }
}

/// How many copies a map with one for each processor has.
///
/// # Errors
/// When the kernel does not say which processors there may be.
pub fn copies() -> io::Result<usize> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible")?;
    let last = text.trim().rsplit([',', '-']).next();
    let last = last.and_then(|number| number.parse::<usize>().ok());
    last.map(|number| number + 1)
        .ok_or_else(|| io::Error::other("/sys/devices/system/cpu/possible has no number"))
}

/// Memory of a map that this process sees, such as an array's elements.
#[derive(Debug)]
pub struct Memory {
    at: NonNull<AtomicU64>,
    len: usize,
}

// SAFETY: the memory belongs to this value, and is only read and written as atomics.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    fn map(map: &Map, len: usize, rights: libc::c_int, offset: i64) -> io::Result<Memory> {
        // SAFETY: a new mapping.
        let at = unsafe {
            let none = std::ptr::null_mut();
            libc::mmap(none, len, rights, libc::MAP_SHARED, map.number(), offset)
        };
        match NonNull::new(at.cast()) {
            Some(at) if at.as_ptr() as isize != -1 => Ok(Memory { at, len }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// In words of 64 bits, one element behind the other.
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: mapped with this length, which ends with the value; a page is aligned for words.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len / 8) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.len) };
    }
}

/// Why a program was not loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The verifier refused it, in its own words.
    #[error("the kernel's verifier refused the program: {0}")]
    Refused(String),
    /// It was not looked at.
    #[error(transparent)]
    Kernel(#[from] io::Error),
}

/// A program for XDP.
#[derive(Debug)]
pub struct Program(OwnedFd);

/// What became of a packet that a program was tried with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// XDP_DROP, XDP_PASS, ...
    pub verdict: u32,
    /// The packet, with what lies before it.
    pub bytes: Vec<u8>,
    /// How long it took on average, in nanoseconds.
    pub nanoseconds: u32,
}

impl Program {
    /// Loads instructions as the kernel has them, `struct bpf_insn`.
    ///
    /// # Errors
    /// When the verifier refuses the program, or the process lacks CAP_BPF and CAP_NET_ADMIN.
    pub fn load(code: &[u64]) -> Result<Program, LoadError> {
        let licence = c"Apache-2.0";
        // prog_type, insn_cnt; insns; license; log_level, log_size; log_buf; kern_version, prog_flags.
        let mut attributes = [
            pair(BPF_PROG_TYPE_XDP, code.len() as u32),
            code.as_ptr() as u64,
            licence.as_ptr() as u64,
            0,
            0,
            0,
        ];
        let error = match bpf(BPF_PROG_LOAD, &mut attributes) {
            Ok(fd) => return Ok(Program(owned(fd))),
            Err(error) => error,
        };
        if !matches!(
            error.raw_os_error(),
            Some(libc::EACCES | libc::EINVAL | libc::E2BIG)
        ) {
            return Err(error.into());
        }
        // Once more with its reasons, which take time and memory.
        let mut log = vec![0u8; LOG_BYTES];
        attributes[3] = pair(1, LOG_BYTES as u32);
        attributes[4] = log.as_mut_ptr() as u64;
        match bpf(BPF_PROG_LOAD, &mut attributes) {
            Ok(fd) => Ok(Program(owned(fd))),
            Err(error) => {
                let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
                let log = String::from_utf8_lossy(&log[..end]).into_owned();
                match log.is_empty() {
                    true => Err(error.into()),
                    false => Err(LoadError::Refused(log)),
                }
            }
        }
    }

    /// Its number in this process, for a map of programs.
    #[must_use]
    pub fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// Tries it `repeat` times with a packet, before which the first `before` bytes lie.
    ///
    /// # Errors
    /// When the kernel takes no such packet: it is shorter than an Ethernet header, or longer than a page has room for.
    pub fn run(&self, bytes: &[u8], before: usize, repeat: u32) -> io::Result<Trial> {
        /// struct xdp_md.
        #[repr(C)]
        #[derive(Default)]
        struct Context {
            data: u32,
            data_end: u32,
            data_meta: u32,
            ingress_ifindex: u32,
            rx_queue_index: u32,
            egress_ifindex: u32,
        }
        let context = Context {
            data: before as u32,
            data_end: bytes.len() as u32,
            ..Context::default()
        };
        let mut out = vec![0u8; bytes.len() + 4096];
        // prog_fd, retval; data_size_in, data_size_out; data_in; data_out; repeat, duration; ctx_size_in, ctx_size_out; ctx_in; ctx_out;
        // flags, cpu; batch_size.
        let mut attributes = [
            pair(self.0.as_raw_fd() as u32, 0),
            pair(bytes.len() as u32, out.len() as u32),
            bytes.as_ptr() as u64,
            out.as_mut_ptr() as u64,
            pair(repeat, 0),
            pair(size_of::<Context>() as u32, 0),
            (&raw const context) as u64,
            0,
            0,
            0,
        ];
        bpf(BPF_PROG_TEST_RUN, &mut attributes)?;
        let second = |word: u64| {
            let [_, _, _, _, a, b, c, d] = word.to_ne_bytes();
            u32::from_ne_bytes([a, b, c, d])
        };
        out.truncate(second(attributes[1]) as usize);
        Ok(Trial {
            verdict: second(attributes[0]),
            bytes: out,
            nanoseconds: second(attributes[4]),
        })
    }

    /// Lets the program have what arrives at an interface, until the value that is given goes.
    ///
    /// # Errors
    /// When the interface has a program already, or its driver has no such mode.
    pub fn attach(&self, interface: u32, mode: Mode) -> io::Result<OwnedFd> {
        let flags = match mode {
            Mode::Driver => XDP_FLAGS_DRV_MODE,
            Mode::Generic => XDP_FLAGS_SKB_MODE,
        };
        // prog_fd, target_ifindex; attach_type, flags.
        let mut attributes = [
            pair(self.0.as_raw_fd() as u32, interface),
            pair(BPF_XDP, flags),
        ];
        bpf(BPF_LINK_CREATE, &mut attributes).map(owned)
    }

    /// Puts the program in place of the one that [`Program::attach`] gave this value for.
    ///
    /// # Errors
    /// When the interface has gone.
    pub fn replace(&self, attached: &OwnedFd) -> io::Result<()> {
        // link_fd, new_prog_fd; flags, old_prog_fd.
        let (link, program) = (attached.as_raw_fd() as u32, self.number() as u32);
        bpf(BPF_LINK_UPDATE, &mut [pair(link, program), 0]).map(|_| ())
    }
}
