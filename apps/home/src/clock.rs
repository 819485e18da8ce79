//! The clocks of a home: router time, which counts from the start, and Unix time.

use node::Time;
use std::sync::Arc;

/// Router time and Unix time. Tests and simulations supply their own.
#[derive(Clone)]
pub struct Clock {
    router: Arc<dyn Fn() -> Time + Send + Sync>,
    unix: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl Clock {
    /// A clock of two functions: router time, and Unix time in seconds.
    pub fn new(
        router: impl Fn() -> Time + Send + Sync + 'static,
        unix: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Clock {
        Clock {
            router: Arc::new(router),
            unix: Arc::new(unix),
        }
    }

    /// The machine's clocks. Router time starts at this call.
    #[expect(clippy::disallowed_methods, reason = "the program's clock")]
    pub fn system() -> Clock {
        let start = std::time::Instant::now();
        Clock::new(
            move || Time::from_ns(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)),
            || {
                let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                since.map_or(0, |since| since.as_secs())
            },
        )
    }

    /// Router time.
    pub fn now(&self) -> Time {
        (self.router)()
    }

    /// Unix time, seconds.
    pub fn unix(&self) -> u64 {
        (self.unix)()
    }

    /// Converts router time to Unix time, seconds, with the current offset between the clocks.
    pub fn unix_of(&self, at: Time) -> u64 {
        let seconds = |time: Time| time.as_ns() / 1_000_000_000;
        (self.unix() + seconds(at)).saturating_sub(seconds(self.now()))
    }
}
