//! A thread that is not kept waiting: real-time priority, cores, memory that stays.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Of threads that wait for departures: above those that run nodes, below the kernel's own.
const FIRST: i32 = 10;
const SECOND: i32 = 5;

/// Time that a thread that hardly sleeps stays on a core, ns. The kernel takes a core from
/// real-time threads for 50 ms when they have had it for 0.95 of a second (sched_rt_runtime_us).
const STAY_NS: u64 = 700_000_000;
/// Maximum time that it stays while it waits for a gap between departures in which to move, ns.
const MAX_STAY_NS: u64 = 850_000_000;
/// A hole that a move fits in.
const HOLE_NS: u64 = 150_000;
/// With one core only: how long the thread is an ordinary one, in each of those times.
const ORDINARY_NS: u64 = 100_000_000;

/// Threads of this process that have real-time priority and spin.
static SPINNING: AtomicUsize = AtomicUsize::new(0);

/// Priority that a thread has from [`real_time`]; it is given back when the thread ends.
#[derive(Debug, Default)]
pub struct Priority {
    real_time: bool,
    /// The cores that it may be on, the best first.
    cores: Vec<usize>,
    /// Which of them it is on.
    at: usize,
    /// Whether the kernel limits how much of a core real-time threads get.
    limited: bool,
    /// On this core since, ns.
    since: u64,
    /// Of that asleep, ns.
    slept: u64,
    /// An ordinary thread until then, ns; 0 for not.
    ordinary_until: u64,
    companion: Option<Companion>,
}

/// What a thread has to do lest the kernel stops it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Duty {
    Nothing,
    /// On to the next core.
    Move,
    /// Be an ordinary thread for a while.
    Rest,
    /// Have the priority again.
    Return,
}

impl Priority {
    /// Whether the thread has real-time priority.
    pub fn real_time(&self) -> bool {
        self.real_time
    }

    /// Whether there are more cores than threads that spin: spinning keeps nobody else from working.
    pub fn has_core(&self) -> bool {
        self.cores.len() > SPINNING.load(Ordering::Relaxed)
    }

    /// Sees to it that this thread does not starve the one that works for it, `writer`: that is kept off this one's core, and goes before
    /// all ordinary ones elsewhere. Given back when another takes its place, and at the end. Call now and then: it holds while nobody else in the
    /// process spins.
    pub fn accompany(&mut self, writer: i32) {
        let alone = SPINNING.load(Ordering::Relaxed) == 1;
        let may = self.real_time && self.cores.len() > 1 && alone && writer > 0;
        let wanted = may.then_some(writer);
        if self.companion.as_ref().map(|companion| companion.thread) != wanted {
            // What the former one had is given back first: it may be the same thread.
            self.companion = None;
            self.companion = wanted.and_then(Companion::adopt);
            self.clear(self.cores.get(self.at).copied());
        }
    }

    /// Has the companion leave a core.
    fn clear(&self, core: Option<usize>) {
        if let (Some(companion), Some(core)) = (&self.companion, core) {
            companion.keep_off(core);
        }
    }

    /// Tells that the thread has slept so long.
    pub fn slept(&mut self, ns: u64) {
        self.slept += ns;
    }

    /// Sees to it that the kernel does not stop the thread; often, with the time now and how long there
    /// is nothing to do, both in ns.
    #[inline]
    pub fn mind(&mut self, now: u64, free: u64) {
        if self.limited {
            self.act(now, free);
        }
    }

    fn act(&mut self, now: u64, free: u64) {
        let duty = self.duty(now, free);
        match duty {
            Duty::Nothing => return,
            Duty::Move => {
                self.at = (self.at + 1) % self.cores.len();
                self.clear(Some(self.cores[self.at]));
                pin(self.cores[self.at]);
            }
            Duty::Rest => {
                self.ordinary_until = now + ORDINARY_NS;
                ordinary();
            }
            Duty::Return => {
                self.ordinary_until = 0;
                prefer(FIRST);
            }
        }
        self.since = now;
        self.slept = 0;
    }

    fn duty(&mut self, now: u64, free: u64) -> Duty {
        if self.ordinary_until > 0 {
            return match now >= self.ordinary_until {
                true => Duty::Return,
                false => Duty::Nothing,
            };
        }
        let stayed = now.saturating_sub(self.since);
        if self.since == 0 || (stayed >= STAY_NS && self.slept >= stayed / 8) {
            // It sleeps enough of its own accord.
            (self.since, self.slept) = (now, 0);
            return Duty::Nothing;
        }
        if stayed < STAY_NS || (free < HOLE_NS && stayed < MAX_STAY_NS) {
            return Duty::Nothing;
        }
        match self.cores.len() {
            0 | 1 => Duty::Rest,
            _ => Duty::Move,
        }
    }
}

impl Drop for Priority {
    fn drop(&mut self) {
        if self.real_time {
            SPINNING.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Gives this thread real-time priority where allowed, and exact timers anyway; whether it got it.
fn prefer(priority: i32) -> bool {
    let priority = libc::sched_param {
        sched_priority: priority,
    };
    // Children of this thread, if any, are ordinary again.
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    exact_timers();
    // SAFETY: a plain system call on this thread, and a valid structure.
    unsafe { libc::sched_setscheduler(0, policy, &priority) == 0 }
}

/// Lets this thread wake when it asked to, without the usual 50 us.
pub fn exact_timers() {
    // SAFETY: a plain system call on this thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// Makes this thread an ordinary one, the first among them.
fn ordinary() {
    let none = libc::sched_param { sched_priority: 0 };
    let policy = libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK;
    // SAFETY: plain system calls on this thread, and a valid structure.
    unsafe {
        libc::sched_setscheduler(0, policy, &none);
        libc::setpriority(libc::PRIO_PROCESS, 0, -20);
    }
}

/// Binds this thread to a core.
fn pin(core: usize) {
    bind(0, &[core]);
}

/// Binds a thread to cores; 0 is this one.
fn bind(thread: i32, cores: &[usize]) {
    // SAFETY: a valid structure whose size is given; an all-zero set is a valid one.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cores.iter().for_each(|&core| libc::CPU_SET(core, &mut set));
        libc::sched_setaffinity(thread, size_of_val(&set), &set);
    }
}

/// The cores that a thread may run on, from the last down: interrupts mostly come in on the first. 0 is this thread.
fn allowed(thread: i32) -> Vec<usize> {
    // SAFETY: a valid structure whose size is given; an all-zero set is a valid one.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(thread, size_of_val(&set), &mut set) != 0 {
            return Vec::new();
        }
        let cores = (0..libc::CPU_SETSIZE as usize).rev();
        cores.filter(|&core| libc::CPU_ISSET(core, &set)).collect()
    }
}

/// This thread's number in the system.
pub fn own_thread() -> i32 {
    // SAFETY: a plain system call.
    unsafe { libc::gettid() }
}

/// The thread that hands packets over. A thread that spins with real-time priority on its core would keep it from working: the kernel moves an
/// ordinary thread to a free core only where it finds one, so that on a busy machine the queue runs dry.
#[derive(Debug)]
struct Companion {
    thread: i32,
    /// What it had before.
    cores: Vec<usize>,
    nice: i32,
}

impl Companion {
    /// Best nice value of all.
    const FIRST: i32 = -20;

    /// Takes a thread of this process in hand; `None` when there is none of that number.
    fn adopt(thread: i32) -> Option<Companion> {
        if !is_ours(thread) {
            return None;
        }
        let cores = allowed(thread);
        // SAFETY: plain system calls.
        let nice = unsafe {
            let nice = libc::getpriority(libc::PRIO_PROCESS, thread as libc::id_t);
            libc::setpriority(libc::PRIO_PROCESS, thread as libc::id_t, Companion::FIRST);
            nice
        };
        (!cores.is_empty()).then_some(Companion {
            thread,
            cores,
            nice,
        })
    }

    /// Leaves it all its cores but this.
    fn keep_off(&self, core: usize) {
        let others: Vec<usize> = self
            .cores
            .iter()
            .copied()
            .filter(|&other| other != core)
            .collect();
        if !others.is_empty() && is_ours(self.thread) {
            bind(self.thread, &others);
        }
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        if is_ours(self.thread) {
            bind(self.thread, &self.cores);
            // SAFETY: a plain system call.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, self.thread as libc::id_t, self.nice) };
        }
    }
}

/// Whether a thread of this process has this number: that of one that has ended may be somebody else's now.
fn is_ours(thread: i32) -> bool {
    // SAFETY: a plain system call; signal 0 is sent to nobody.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, 0) == 0 }
}

/// Whether the kernel limits real-time threads.
fn limited() -> bool {
    let text = std::fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us");
    text.map_or(true, |text| text.trim() != "-1")
}

/// Keeps the process's memory from being taken away, where it may lock as much as it likes: with a
/// limit, a later allocation would fail.
fn keep_memory() {
    const IPC_LOCK: u32 = 14;
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    if effective.is_some_and(|bits| bits >> IPC_LOCK & 1 == 1) {
        let flags = libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT;
        // SAFETY: a plain system call; pages stay where they are.
        unsafe { libc::mlockall(flags) };
    }
}

/// Has the pages of this thread's stack there before they are needed.
fn touch_stack() {
    let mut pages = [0u8; 64 << 10];
    for page in pages.chunks_mut(4096) {
        page[0] = 1;
    }
    std::hint::black_box(&mut pages);
}

/// Whether threads that run nodes have real-time priority.
static NODES: AtomicBool = AtomicBool::new(false);

/// Gives threads that run nodes real-time priority as well, where allowed: those that start from now
/// on. Without this only threads that wait out the time before a departure have it: a node that
/// computes, and real-time threads beyond the number of cores, would keep all else from working.
pub fn prefer_nodes() {
    NODES.store(true, Ordering::Relaxed);
}

/// Whether [`prefer_nodes`] was called.
pub fn are_nodes_preferred() -> bool {
    NODES.load(Ordering::Relaxed)
}

/// Makes this thread one that runs a node: it has exact timers, and after [`prefer_nodes`] it is
/// kept waiting by threads of [`real_time`] alone.
pub fn for_node() {
    exact_timers();
    if are_nodes_preferred() {
        prefer(SECOND);
    }
}

/// Makes this thread one that is not kept waiting: real-time priority and a core of its own where
/// allowed, exact timers anyway.
pub fn real_time() -> Priority {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    // Those of the process's first such thread: a later one may be started by a thread that is kept off a core.
    static CORES: OnceLock<Vec<usize>> = OnceLock::new();
    touch_stack();
    let mut cores = CORES.get_or_init(|| allowed(0)).clone();
    if !prefer(FIRST) {
        // Without the priority a fixed core would be a burden: others may be busy on it.
        return Priority {
            cores,
            companion: None,
            ..Priority::default()
        };
    }
    keep_memory();
    SPINNING.fetch_add(1, Ordering::Relaxed);
    if cores.len() > 1 {
        let skip = NEXT.fetch_add(1, Ordering::Relaxed) % cores.len();
        cores.rotate_left(skip);
        pin(cores[0]);
    }
    Priority {
        real_time: true,
        cores,
        limited: limited(),
        companion: None,
        ..Priority::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(cores: usize) -> Priority {
        Priority {
            cores: (0..cores).collect(),
            limited: true,
            since: 1,
            companion: None,
            ..Priority::default()
        }
    }

    #[test]
    fn a_thread_that_never_sleeps_moves_before_the_kernel_stops_it() {
        let mut priority = busy(2);
        assert_eq!(priority.duty(STAY_NS - 1, u64::MAX), Duty::Nothing);
        assert_eq!(priority.duty(STAY_NS + 1, HOLE_NS), Duty::Move);
        assert_eq!(priority.duty(STAY_NS + 1, HOLE_NS - 1), Duty::Nothing);
        assert_eq!(priority.duty(MAX_STAY_NS + 1, 0), Duty::Move);
    }

    #[test]
    fn a_thread_that_sleeps_an_eighth_of_the_time_stays() {
        let mut priority = busy(2);
        priority.slept(STAY_NS / 8);
        assert_eq!(priority.duty(STAY_NS + 1, u64::MAX), Duty::Nothing);
        assert_eq!((priority.since, priority.slept), (STAY_NS + 1, 0));
    }

    #[test]
    fn with_one_core_the_thread_gives_way_for_a_while() {
        let mut priority = busy(1);
        assert_eq!(priority.duty(STAY_NS + 1, HOLE_NS), Duty::Rest);
        priority.ordinary_until = 2 * STAY_NS;
        assert_eq!(priority.duty(2 * STAY_NS - 1, 0), Duty::Nothing);
        assert_eq!(priority.duty(2 * STAY_NS, 0), Duty::Return);
    }

    #[test]
    fn a_companion_leaves_a_core_and_gets_back_what_it_had() {
        let cores = allowed(0);
        if cores.len() < 2 {
            println!("skipped: there is one core only");
            return;
        }
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(own_thread()).unwrap();
            let _ = ended.recv();
        });
        let number = told.recv().unwrap();
        let companion = Companion::adopt(number).unwrap();
        for &core in &cores {
            companion.keep_off(core);
            let left = allowed(number);
            assert!(!left.contains(&core) && left.len() == cores.len() - 1);
        }
        drop(companion);
        assert_eq!(allowed(number), cores);
        drop(end);
        thread.join().unwrap();
        assert!(Companion::adopt(1).is_none(), "another process's");
    }
}
