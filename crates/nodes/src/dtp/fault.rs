//! A device whose clock is faulty: it counts ticks that its oscillator does not have. The line keeps to its rate, so its frames, and the
//! peers' elastic buffers, see nothing of it.

use node::ConfigError;
use node::Time;

/// A tick of 10GBASE-R.
const PS_A_TICK: u64 = 6_400;
/// Maximum frequency error, ppm.
const MAX_PPM: i32 = 100_000;

/// Fault of a device's clock. The device follows its rule all the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Fault {
    /// How much faster than its oscillator it counts, parts per million, -100,000 to 100,000.
    pub ppm: i32,
    /// Size of a jump ahead, ticks.
    pub jump: u32,
    /// From when on.
    pub from: Time,
}

impl Fault {
    /// Checks the ranges.
    ///
    /// # Errors
    /// When it is none, or greater than may be.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.ppm.abs() > MAX_PPM {
            return Err(ConfigError::new("fault", "at most 100,000 ppm"));
        }
        match self.ppm == 0 && self.jump == 0 {
            true => Err(ConfigError::new("fault", "say `ppm`, or a `jump` in ticks")),
            false => Ok(()),
        }
    }

    fn began(&self) -> u64 {
        self.from.as_ps() / PS_A_TICK
    }

    /// What is counted when the oscillator is at a tick.
    pub fn counted(&self, tick: u64) -> u64 {
        let Some(since) = tick.checked_sub(self.began()) else {
            return tick;
        };
        let more = i128::from(since) * i128::from(self.ppm) / 1_000_000;
        let counted = tick.saturating_add_signed(more as i64);
        counted.saturating_add(self.jump.into())
    }

    /// The oscillator's first tick at which so much is counted, or more.
    pub fn tick_of(&self, counted: u64) -> u64 {
        let began = self.began();
        let Some(since) = counted.checked_sub(self.counted(began)) else {
            return counted.min(began);
        };
        let own = i128::from(since) * 1_000_000 / i128::from(1_000_000 + self.ppm);
        let mut tick = began.saturating_add(own as u64);
        while tick > began && self.counted(tick - 1) >= counted {
            tick -= 1;
        }
        while self.counted(tick) < counted {
            tick += 1;
        }
        tick
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tick_of_a_count_is_the_first_with_it() {
        for ppm in [0, 1, 300, 100_000, -1, -300, -100_000] {
            for jump in [0, 1, 50] {
                let from = Time::from_ps(1_000 * 6_400);
                let fault = Fault { ppm, jump, from };
                assert_eq!(fault.counted(999), 999);
                assert_eq!(fault.counted(1_000), 1_000 + u64::from(jump));
                for counted in (0..3_000).chain(1_000_000..1_001_000) {
                    let tick = fault.tick_of(counted);
                    assert!(fault.counted(tick) >= counted, "{fault:?}, {counted}");
                    assert!(
                        tick == 0 || fault.counted(tick - 1) < counted,
                        "{fault:?}, {counted}"
                    );
                }
            }
        }
        let fast = Fault {
            ppm: 300,
            ..Fault::default()
        };
        assert_eq!(fast.counted(10_000_000), 10_003_000);
    }

    #[test]
    fn what_is_no_fault_is_refused() {
        assert!(Fault::default().check().is_err());
        let ppm = |ppm| Fault {
            ppm,
            ..Fault::default()
        };
        assert!(ppm(100_001).check().is_err());
        assert_eq!(ppm(-300).check(), Ok(()));
    }
}
