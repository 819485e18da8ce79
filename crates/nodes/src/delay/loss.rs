//! Which frames something happens to: by lot, each for itself or depending on the one before, and by
//! the models of Gilbert and Elliott and of four states.

use super::spec::{Chance, Loss};
use node::random::Random;

/// Something that happens to some frames, with the correlation asked for between neighbours.
///
/// A chain of two states: behind a frame that it happened to, the chance is p + c (1 - p), behind
/// another p (1 - c). So it happens to the part p of all frames, and what happens to neighbours has
/// the correlation c. netem lets neighbours share their luck in a way that changes p as well.
#[derive(Debug)]
pub struct Events {
    p: f64,
    correlation: f64,
    last: Option<bool>,
}

impl Events {
    /// Nothing has happened yet.
    pub fn new(chance: Chance) -> Events {
        Events {
            p: chance.percent.part(),
            correlation: chance.correlation.part(),
            last: None,
        }
    }

    /// Whether it happens to the next frame.
    pub fn next(&mut self, random: &mut Random) -> bool {
        if self.correlation == 0.0 {
            return random.chance(self.p);
        }
        let p = match self.last {
            None => self.p,
            Some(true) => self.p + self.correlation * (1.0 - self.p),
            Some(false) => self.p * (1.0 - self.correlation),
        };
        let happens = random.chance(p);
        self.last = Some(happens);
        happens
    }
}

/// Which frames are lost.
#[derive(Debug)]
pub enum Losses {
    /// Some.
    Random(Events),
    /// Two states; the frame is lost by the state it finds, and then the state may change.
    Gemodel {
        p: f64,
        r: f64,
        bad: f64,
        good: f64,
        is_bad: bool,
    },
    State {
        p13: f64,
        p31: f64,
        p32: f64,
        p23: f64,
        p14: f64,
        state: State,
    },
}

/// Of the last frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// 1.
    ReceivedInGap,
    /// 2.
    ReceivedInBurst,
    /// 3.
    LostInBurst,
    /// 4.
    LostInGap,
}

impl Losses {
    /// In the state in which all is well.
    pub fn new(loss: &Loss) -> Losses {
        match *loss {
            Loss::Random(chance) => Losses::Random(Events::new(chance)),
            Loss::Gemodel { p, r, bad, good } => Losses::Gemodel {
                p: p.part(),
                r: r.part(),
                bad: bad.part(),
                good: good.part(),
                is_bad: false,
            },
            Loss::State {
                p13,
                p31,
                p32,
                p23,
                p14,
            } => Losses::State {
                p13: p13.part(),
                p31: p31.part(),
                p32: p32.part(),
                p23: p23.part(),
                p14: p14.part(),
                state: State::ReceivedInGap,
            },
        }
    }

    /// Whether the next frame is lost.
    pub fn next(&mut self, random: &mut Random) -> bool {
        match self {
            Losses::Random(events) => events.next(random),
            Losses::Gemodel {
                p,
                r,
                bad,
                good,
                is_bad,
            } => {
                let (lost, turns) = match *is_bad {
                    true => (*bad, *r),
                    false => (*good, *p),
                };
                *is_bad ^= random.chance(turns);
                random.chance(lost)
            }
            Losses::State {
                p13,
                p31,
                p32,
                p23,
                p14,
                state,
            } => {
                let unit = random.unit();
                *state = match *state {
                    State::ReceivedInGap if unit < *p14 => State::LostInGap,
                    State::ReceivedInGap if unit < *p14 + *p13 => State::LostInBurst,
                    State::ReceivedInGap | State::LostInGap => State::ReceivedInGap,
                    State::ReceivedInBurst if unit < *p23 => State::LostInBurst,
                    State::ReceivedInBurst => State::ReceivedInBurst,
                    State::LostInBurst if unit < *p32 => State::ReceivedInBurst,
                    State::LostInBurst if unit < *p32 + *p31 => State::ReceivedInGap,
                    State::LostInBurst => State::LostInBurst,
                };
                matches!(state, State::LostInBurst | State::LostInGap)
            }
        }
    }
}
