//! Pages whose file another process makes shorter: memory that is not there any more would end the process by SIGBUS.
//!
//! A handler maps a page of zeros there, which readers take as "no time is known".

use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a page of memory, and of the file.
pub const SIZE: usize = 4096;
/// Pages that are mapped at a time, at most; of further ones a shorter file still ends the process.
const MAX_PAGES: usize = 64;

static PAGES: [AtomicUsize; MAX_PAGES] = [const { AtomicUsize::new(0) }; MAX_PAGES];

/// Watches over a page at this address.
pub fn watch(address: usize) {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(install);
    let free = |slot: &&AtomicUsize| {
        let taken = slot.compare_exchange(0, address, Ordering::SeqCst, Ordering::SeqCst);
        taken.is_ok()
    };
    let _ = PAGES.iter().find(free);
}

/// The page must be unmapped.
pub fn forget(address: usize) {
    for slot in &PAGES {
        let _ = slot.compare_exchange(address, 0, Ordering::SeqCst, Ordering::SeqCst);
    }
}

/// Installs the handler, unless the program has one of its own.
fn install() {
    // SAFETY: the structures are plain data, zero is valid for each field, and the handler is async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGBUS, std::ptr::null(), &mut action);
        // The standard library's looks for the end of a stack, and leaves the rest to the default.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        let handler: extern "C" fn(libc::c_int, *const libc::siginfo_t, *const libc::c_void) =
            missing;
        action.sa_sigaction = handler as libc::sighandler_t;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
    }
}

extern "C" fn missing(signal: libc::c_int, info: *const libc::siginfo_t, _: *const libc::c_void) {
    // SAFETY: the kernel gives the structure with the signal, and of SIGBUS it has an address.
    let address = unsafe { (*info).si_addr() } as usize;
    let page = address & !(SIZE - 1);
    let ours = page != 0 && PAGES.iter().any(|slot| slot.load(Ordering::SeqCst) == page);
    // SAFETY: both are system calls that a handler may make. The page is one of this process's own mappings, which nothing but
    // atomic reads and writes use; with the default action the access that failed ends the process when it is made again.
    unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let zeros = || libc::mmap(page as *mut libc::c_void, SIZE, protection, flags, -1, 0);
        if !ours || zeros() == libc::MAP_FAILED {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
}
