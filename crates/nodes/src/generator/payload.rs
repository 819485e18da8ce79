//! What made frames carry behind their headers and probe.

use super::pattern::call;
use alloc::string::String;
use core::str::FromStr;
use node::ConfigError;
use node::random::split_mix;

/// What fills made frames up: what a compressor can make of them. As a text: `zeros`, `random`, `random(0.95)`, `text`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Payload {
    #[default]
    Zeros,
    /// This share of the bytes, 0 to 1, is drawn by lot, and cannot be made shorter; zeros are behind them.
    Random(f64),
    /// JSON as a web service gives it: a list of records with names that repeat and values drawn by lot.
    Text,
}

#[cfg(feature = "serde")]
node::deserialize_from_str!(Payload: "a payload, such as \"random\"");

impl FromStr for Payload {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Payload, &'static str> {
        const KNOWN: &str =
            "a payload is zeros, random, random(SHARE), such as random(0.95), or text";
        match (text.trim(), call(text)) {
            ("zeros", _) => Ok(Payload::Zeros),
            ("random", _) => Ok(Payload::Random(1.0)),
            ("text", _) => Ok(Payload::Text),
            (_, Some(("random", share))) => {
                let share = share.parse().map_err(|_| KNOWN)?;
                Ok(Payload::Random(share))
            }
            _ => Err(KNOWN),
        }
    }
}

impl Payload {
    /// Refuses what cannot be.
    pub(super) fn checked(self) -> Result<Payload, ConfigError> {
        match self {
            Payload::Random(share) if !(0.0..=1.0).contains(&share) => {
                let reason: String = "the share of random bytes is 0 to 1".into();
                Err(ConfigError::new("payload", reason))
            }
            good => Ok(good),
        }
    }

    /// Fills zeros, in the frame with this index: the same for a seed.
    pub(super) fn fill(self, zeros: &mut [u8], seed: u64, index: u64) {
        let mut random = Numbers::new(seed, index);
        match self {
            Payload::Zeros => {}
            Payload::Random(share) => {
                let drawn = (zeros.len() as f64 * share + 0.5) as usize;
                let drawn = drawn.min(zeros.len());
                for chunk in zeros[..drawn].chunks_mut(8) {
                    chunk.copy_from_slice(&random.draw().to_le_bytes()[..chunk.len()]);
                }
            }
            Payload::Text => Writer { at: zeros }.records(&mut random),
        }
    }
}

/// Numbers of their own for each frame, so that a frame does not depend on those before it.
struct Numbers {
    seed: u64,
    next: u64,
}

impl Numbers {
    fn new(seed: u64, index: u64) -> Numbers {
        // Seeds and indices both count up: they must not meet.
        Numbers {
            seed: split_mix(seed, 0) ^ index.wrapping_mul(0xD134_2543_DE82_EF95),
            next: 0,
        }
    }

    fn draw(&mut self) -> u64 {
        let index = self.next;
        self.next += 1;
        split_mix(self.seed, index)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.draw() % end
    }
}

/// Writes until there is no more room.
struct Writer<'a> {
    at: &'a mut [u8],
}

impl Writer<'_> {
    fn text(&mut self, text: &str) {
        let len = text.len().min(self.at.len());
        let (now, later) = core::mem::take(&mut self.at).split_at_mut(len);
        now.copy_from_slice(&text.as_bytes()[..len]);
        self.at = later;
    }

    fn number(&mut self, mut number: u64) {
        let (mut digits, mut from) = ([0; 20], 20);
        while from == 20 || number > 0 {
            from -= 1;
            digits[from] = b'0' + (number % 10) as u8;
            number /= 10;
        }
        self.text(core::str::from_utf8(&digits[from..]).unwrap_or("0"));
    }

    fn records(mut self, random: &mut Numbers) {
        const NAMES: [&str; 8] = [
            "Ada", "Grace", "Edsger", "Barbara", "Donald", "Radia", "Vint", "Leslie",
        ];
        const STATES: [&str; 4] = ["new", "paid", "shipped", "returned"];
        self.text("{\"items\":[");
        while !self.at.is_empty() {
            self.text("{\"id\":");
            self.number(random.below(100_000_000));
            self.text(",\"customer\":\"");
            self.text(NAMES[random.below(8) as usize]);
            self.text("\",\"email\":\"user");
            self.number(random.below(1_000_000));
            self.text("@example.com\",\"amount\":");
            self.number(random.below(1_000));
            self.text(".");
            self.number(10 + random.below(90));
            self.text(",\"state\":\"");
            self.text(STATES[random.below(4) as usize]);
            self.text("\",\"time\":\"2013-02-01T");
            self.number(10 + random.below(14));
            self.text(":");
            self.number(10 + random.below(50));
            self.text(":");
            self.number(10 + random.below(50));
            self.text("Z\",\"token\":\"");
            self.number(random.draw());
            self.text("\"},");
        }
    }
}
