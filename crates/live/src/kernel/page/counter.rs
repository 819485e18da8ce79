//! Counters that are read without a system call.

/// A counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// CLOCK_MONOTONIC_RAW, nanoseconds.
    Raw,
    /// The processor's time stamp counter.
    Tsc,
}

impl Counter {
    /// The best that there is: the time stamp counter where the kernel itself trusts it, on all processors and in all their states.
    pub fn best() -> Counter {
        let listed = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
        let listed = std::fs::read_to_string(listed).unwrap_or_default();
        match cfg!(target_arch = "x86_64") && listed.split_whitespace().any(|one| one == "tsc") {
            true => Counter::Tsc,
            false => Counter::Raw,
        }
    }

    /// The number in a page.
    pub fn number(self) -> u64 {
        self as u64
    }

    /// That of this number, if it can be read here.
    pub fn of(number: u64) -> Option<Counter> {
        match number {
            0 => Some(Counter::Raw),
            1 if cfg!(target_arch = "x86_64") => Some(Counter::Tsc),
            _ => None,
        }
    }

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Counter::Raw => "CLOCK_MONOTONIC_RAW",
            Counter::Tsc => "the processor's time stamp counter",
        }
    }

    /// Reads it, after all that stands before in the program.
    #[inline]
    pub fn read(self) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Counter::Tsc => {
                // SAFETY: both instructions are part of every processor of this architecture.
                unsafe {
                    core::arch::x86_64::_mm_lfence();
                    core::arch::x86_64::_rdtsc()
                }
            }
            _ => ::capture::clock::raw_ns(),
        }
    }
}
