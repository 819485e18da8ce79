//! The part of a coordinator that a switch can do: figure 3.14 of paper 002, with rounds.
//!
//! A host takes over (see [`Coordinator`](crate::Coordinator)), and hands its round and the instances that are free on to a switch
//! ([`Activate`](Kind::Activate)). From then on the switch turns each request into a phase 2A, on its way. It keeps no value: one that is lost
//! is for the client to ask for again. A switch that has started again, or is told of a higher round, asks for nothing until it is
//! activated in a higher round. The round that it gave up it still remembers: taken twice, a round would use its instances twice.

use crate::message::{AUXILIARIES, Instance, Kind, Message, Round};

/// A coordinator in a switch, as the registers that it is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sequencer {
    /// The number of its start, which no other start of a switch in the group has: what was meant for another is none of it.
    pub boot: u16,
    /// The highest round that it took; 0 for none.
    pub round: Round,
    /// Whether it leads in it.
    pub active: bool,
    /// The next instance to be used.
    pub next: Instance,
    /// Below, acceptors remember nothing.
    pub base: Instance,
    /// How many instances they remember.
    pub window: u64,
    /// Whether auxiliary acceptors are asked as well as main ones.
    pub auxiliaries: bool,
}

impl Sequencer {
    /// One that has started, with this number.
    pub fn new(boot: u16, window: u64) -> Sequencer {
        Sequencer {
            boot,
            round: 0,
            active: false,
            next: 0,
            base: 0,
            window,
            auxiliaries: false,
        }
    }

    /// Takes a message; turns a request into a phase 2A.
    pub fn step<V: Clone>(&mut self, message: &Message<V>) -> Option<Message<V>> {
        match message.kind {
            Kind::Request if self.active => {
                // `next` is never below `base`, unless somebody activates it so: then this wraps, and nothing is asked for.
                if self.next.wrapping_sub(self.base) >= self.window {
                    return None;
                }
                let instance = self.next;
                self.next = instance.wrapping_add(1);
                return Some(Message {
                    kind: Kind::Phase2A,
                    // A host asks with 0. Acceptors may leave it out who ordered what a switch asked for: it counts no votes.
                    boot: self.boot,
                    instance,
                    round: self.round,
                    high: match self.auxiliaries {
                        true => AUXILIARIES,
                        false => 0,
                    },
                    ..message.clone()
                });
            }
            Kind::Activate if message.boot == self.boot && message.round > self.round => {
                self.round = message.round;
                self.active = true;
                self.next = message.instance;
                self.base = message.base;
                self.auxiliaries = message.high == AUXILIARIES;
            }
            Kind::Trim
                if self.active && message.instance > self.base && message.instance <= self.next =>
            {
                self.base = message.instance;
            }
            Kind::Refused if message.round == self.round && message.vote_round > self.round => {
                self.active = false;
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_numbers_requests_once_it_is_activated_until_a_higher_round_is_known() {
        let mut sequencer = Sequencer::new(3, 2);
        let request = Message {
            value: 7u8,
            ..Message::new(Kind::Request)
        };
        assert_eq!(sequencer.step(&request), None);
        let activate = Message {
            boot: 3,
            round: 5,
            instance: 10,
            base: 10,
            ..Message::<u8>::new(Kind::Activate)
        };
        sequencer.step(&Message {
            boot: 2,
            ..activate
        });
        assert_eq!(sequencer.step(&request), None, "meant for an earlier start");
        sequencer.step(&activate);
        let asked = sequencer.step(&request).unwrap();
        let told = (asked.kind, asked.instance, asked.round, asked.value);
        assert_eq!(told, (Kind::Phase2A, 10, 5, 7));
        sequencer.step(&activate);
        assert_eq!(
            sequencer.step(&request).unwrap().instance,
            11,
            "not set back"
        );
        assert_eq!(sequencer.step(&request), None, "the window is full");
        let trim = Message {
            instance: 12,
            ..Message::<u8>::new(Kind::Trim)
        };
        sequencer.step(&trim);
        assert_eq!(sequencer.step(&request).unwrap().instance, 12);
        let refused = Message {
            round: 5,
            vote_round: 6,
            ..Message::<u8>::new(Kind::Refused)
        };
        sequencer.step(&refused);
        assert_eq!(sequencer.step(&request), None);
        sequencer.step(&activate);
        assert_eq!(sequencer.step(&request), None, "a round is taken once");
        sequencer.step(&Message {
            round: 7,
            ..activate
        });
        let asked = sequencer.step(&request).unwrap();
        assert_eq!((asked.round, asked.high), (7, 0));
        sequencer.step(&Message {
            round: 8,
            high: AUXILIARIES,
            ..activate
        });
        assert_eq!(sequencer.step(&request).unwrap().high, AUXILIARIES);
    }
}
