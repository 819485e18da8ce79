//! Ctrl-C, TERM and HUP as a flag that every loop polls, so that what was accepted is finished first.

use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

static ASKED: AtomicU32 = AtomicU32::new(0);
/// The first signal that came, or zero.
static NUMBER: AtomicI32 = AtomicI32::new(0);
/// When the first signal came, ns.
static FIRST: AtomicU64 = AtomicU64::new(0);

/// Signals so close together are one: timeout(1) sends its signal to the process and to its group.
const ONE_NS: u64 = 300_000_000;

extern "C" fn note(signal: libc::c_int) {
    let now = crate::clock::now_ns();
    if ASKED.fetch_add(1, Ordering::SeqCst) == 0 {
        FIRST.store(now, Ordering::SeqCst);
        NUMBER.store(signal, Ordering::SeqCst);
        return;
    }
    // The second Ctrl-C of an impatient user ends the process as it would have without us. All calls,
    // that of the clock too, are async-signal-safe.
    if now.saturating_sub(FIRST.load(Ordering::SeqCst)) > ONE_NS {
        // SAFETY: restoring a default action and raising a signal touch no memory of ours.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

/// Lets INT and TERM end the process though whoever started it ignores them, as a script does INT for what it has in the background: those
/// who measure there end it by `kill -INT`, and Ctrl-C is for all of the script. To be called first.
pub fn take_int_and_term() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        if is_ignored(signal) {
            // SAFETY: restoring a default action touches no memory of ours.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
}

/// Has a write past the limit of a file's size (`ulimit -f`) fail, as one to a full disk does, instead of ending the process. Programs
/// that it starts have the signal as usual.
pub fn fail_at_file_limit() {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: the structure is plain data, zero is valid for each field, and the handler does nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(libc::SIGXFSZ, &action, std::ptr::null_mut());
    }
}

/// Takes INT, TERM and HUP from now on. Blocking calls come back with EINTR, so that loops see the flag.
///
/// A second signal ends the process at once. HUP stays ignored where the process was started to ignore it, by `nohup`; INT where it was
/// [left to others](leave_to_others).
pub fn install() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        if is_ignored(signal) {
            continue;
        }
        // SAFETY: the structure is plain data, zero is valid for each field, and `note` does only what a
        // signal handler may do.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// While it lives, INT, TERM and HUP wait for this thread.
pub(crate) struct Held(libc::sigset_t);

impl Held {
    pub(crate) fn new() -> Held {
        // SAFETY: both sets are plain data that live, and the calls fail for no valid set.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::sigaddset(&mut set, signal);
            }
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut before);
            Held(before)
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the set lives.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}

fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: the structure is plain data, zero is valid for each field; nothing is changed.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut action);
        action.sa_sigaction == libc::SIG_IGN
    }
}

/// Leaves Ctrl-C and Ctrl-\\ to a program that has the terminal. To be called before [`install`].
pub fn leave_to_others() {
    for signal in [libc::SIGINT, libc::SIGQUIT] {
        // SAFETY: ignoring a signal touches no memory of ours.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Has a system call that a filter (seccomp) does not allow end the process with a message that names it, and by SIGSYS, which who
/// started it sees. Without this call it ends as well, and says nothing.
pub fn explain_refused_calls() {
    // SAFETY: the structure is plain data, zero is valid for each field, and `refused` does only what a signal handler may do.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(libc::c_int, *const libc::siginfo_t, *const libc::c_void) =
            refused;
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESETHAND | libc::SA_NODEFER;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(libc::SIGSYS, &action, std::ptr::null_mut());
    }
}

extern "C" fn refused(signal: libc::c_int, info: *const libc::siginfo_t, _: *const libc::c_void) {
    /// `si_signo`, `si_errno`, `si_code`, and of SIGSYS the address of the call, its number and the architecture.
    #[repr(C)]
    struct Refusal(
        [libc::c_int; 3],
        *const libc::c_void,
        libc::c_int,
        libc::c_uint,
    );
    // SAFETY: the kernel gives a structure of this form with the signal, of 128 bytes in all.
    let call = unsafe { (*info.cast::<Refusal>()).2 };
    let mut digits = [0u8; 10];
    let (mut from, mut rest) = (digits.len(), call.unsigned_abs());
    loop {
        from -= 1;
        digits[from] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    for text in [
        b"wire: system call ",
        &digits[from..],
        b" is not one that this command makes once its files and ports are open, so it was ended: an error of wire, or an attack by its \
          input. WIRE_CONFINE=off runs without this guard\n",
    ] {
        // SAFETY: valid bytes of that length; write(2) and raise(3) may be called here. The default action is there again.
        unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
    }
    // SAFETY: as above.
    unsafe { libc::raise(signal) };
}

/// Whether one of the signals has come since [`install`].
pub fn stop_requested() -> bool {
    ASKED.load(Ordering::Relaxed) > 0
}

/// The number of the signal that asked to stop, if one did.
pub fn number() -> Option<i32> {
    match NUMBER.load(Ordering::SeqCst) {
        0 => None,
        number => Some(number),
    }
}

/// Asks every loop of the process to stop, as Ctrl-C does.
pub fn request_stop() {
    ASKED.fetch_add(1, Ordering::SeqCst);
}

/// Takes back what was asked: it was about one step of several, and that has ended.
pub fn go_on() {
    ASKED.store(0, Ordering::SeqCst);
    NUMBER.store(0, Ordering::SeqCst);
}

/// A signal asked to stop before what was under way came to its end. As an [`io::Error`] it passes through
/// decoders and other readers that know only bytes, errors and the end.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("a signal asked to stop")]
pub struct Stopped;

impl From<Stopped> for io::Error {
    fn from(stopped: Stopped) -> io::Error {
        io::Error::other(stopped)
    }
}

/// Whether [`Stopped`] is this error, or the cause of it.
pub fn is_stop(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<Stopped>() {
            return true;
        }
        // What an error of input and output was made from is not among its sources.
        let within = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        next = match within {
            Some(within) => Some(within),
            None => error.source(),
        };
    }
    false
}
