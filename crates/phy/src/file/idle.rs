//! The scrambler's state behind a run of idle blocks, without making them.

use super::{IDLE, STATE, scramble};

/// The bits of the state.
const BITS: usize = 58;
/// Runs of fewer blocks are made one by one, which then costs less.
const SHORT: u64 = 2_000;

/// What 2^n idle blocks do to the state, for every n that a count may have.
///
/// The scrambler is linear over single bits, so that a block of a given payload maps the state by a
/// matrix and a constant, and twice as many blocks by the square of that.
pub struct Leap {
    maps: [Map; 64],
}

/// `state -> columns * state + constant`.
#[derive(Clone, Copy)]
struct Map {
    columns: [u64; BITS],
    constant: u64,
}

impl Default for Leap {
    fn default() -> Leap {
        let constant = scramble(IDLE, 0).1;
        let mut map = Map {
            columns: core::array::from_fn(|bit| scramble(IDLE, 1 << bit).1 ^ constant),
            constant,
        };
        let maps = core::array::from_fn(|_| {
            let this = map;
            map = this.square();
            this
        });
        Leap { maps }
    }
}

impl Map {
    fn apply(&self, state: u64) -> u64 {
        let mut rest = state & STATE;
        let mut result = self.constant;
        while rest != 0 {
            result ^= self.columns[rest.trailing_zeros() as usize];
            rest &= rest - 1;
        }
        result
    }

    fn square(&self) -> Map {
        let constant = self.apply(self.constant);
        Map {
            columns: core::array::from_fn(|bit| self.apply(self.columns[bit]) ^ self.constant),
            constant,
        }
    }
}

impl Leap {
    /// The state behind `count` idle blocks.
    pub fn state(&self, mut state: u64, count: u64) -> u64 {
        if count < SHORT {
            for _ in 0..count {
                state = scramble(IDLE, state).1;
            }
            return state;
        }
        let mut rest = count;
        while rest != 0 {
            state = self.maps[rest.trailing_zeros() as usize].apply(state);
            rest &= rest - 1;
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leap_ends_where_single_steps_do() {
        let leap = Leap::default();
        for count in [
            0,
            1,
            58,
            SHORT - 1,
            SHORT,
            SHORT + 1,
            4_095,
            65_536,
            100_003,
        ] {
            let mut state = 0x2AA_5555_1234_5678;
            for _ in 0..count {
                state = scramble(IDLE, state).1;
            }
            assert_eq!(leap.state(0x2AA_5555_1234_5678, count), state, "{count}");
        }
    }

    #[test]
    fn leaps_add_up_beyond_what_can_be_stepped() {
        let leap = Leap::default();
        let (far, further) = (1 << 62, (1 << 62) - 12_345);
        let state = leap.state(leap.state(7, far), further);
        assert_eq!(state, leap.state(7, far + further));
    }
}
