//! The clocks of a home: router time counts from the start, Unix time survives a restart.

use node::Time;
use std::sync::Arc;

/// Time of the router and of day. Tests and simulations bring their own.
#[derive(Clone)]
pub struct Clock {
    router: Arc<dyn Fn() -> Time + Send + Sync>,
    unix: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl Clock {
    /// A clock of two functions: the time of the router, and the Unix time in seconds.
    pub fn new(
        router: impl Fn() -> Time + Send + Sync + 'static,
        unix: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Clock {
        Clock {
            router: Arc::new(router),
            unix: Arc::new(unix),
        }
    }

    /// The machine's clocks. The time of the router starts here.
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

    /// Time of the router.
    pub fn now(&self) -> Time {
        (self.router)()
    }

    /// Unix time, seconds.
    pub fn unix(&self) -> u64 {
        (self.unix)()
    }

    /// Unix time of a time of the router, seconds, by the present difference of the two clocks.
    pub fn unix_of(&self, at: Time) -> u64 {
        let seconds = |time: Time| time.as_ns() / 1_000_000_000;
        (self.unix() + seconds(at)).saturating_sub(seconds(self.now()))
    }
}
