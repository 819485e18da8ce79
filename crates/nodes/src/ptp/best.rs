//! The best master clock algorithm (IEEE 1588-2019 clause 9.3): who is whose master.

use node::Time;
use packet::ptp::{self, Announce, ClockIdentity, Message, PortIdentity, Quality};

/// Maximum number of foreign masters of a port.
const MAX_FOREIGN_MASTERS: usize = 5;

/// Properties of a master, in the order of comparison; lower ones are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DataSet {
    pub priority1: u8,
    pub quality: Quality,
    pub priority2: u8,
    pub grandmaster: ClockIdentity,
    pub steps_removed: u16,
    pub sender: PortIdentity,
}

impl DataSet {
    pub fn of(announce: &Announce, sender: PortIdentity) -> DataSet {
        DataSet {
            priority1: announce.priority1,
            quality: announce.quality,
            priority2: announce.priority2,
            grandmaster: announce.grandmaster,
            steps_removed: announce.steps_removed,
            sender,
        }
    }

    /// Whether this one, heard at a port of `own`, is worse than `best` by the way that it took alone: then the port is passive, since
    /// somebody else on its link, or at another port of this clock, is the master there.
    pub fn is_worse_by_topology(&self, best: &DataSet, own: ClockIdentity) -> bool {
        self.grandmaster == best.grandmaster
            && match self.steps_removed.checked_sub(best.steps_removed) {
                Some(0) => true,
                Some(1) => own > self.sender.clock,
                _ => false,
            }
    }
}

/// What a master says of its time, and who has it from him says again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeProperties {
    /// TAI less UTC, seconds.
    pub utc_offset: i16,
    /// Those of [`ptp::TIME_FLAGS`].
    pub flags: u16,
}

impl TimeProperties {
    /// How far the clock is ahead of UTC, seconds, if that is said: nothing where its time is no TAI.
    pub fn ahead_of_utc(&self) -> i16 {
        let tai = ptp::TIMESCALE | ptp::UTC_OFFSET_VALID;
        match self.flags & tai == tai {
            true => self.utc_offset,
            false => 0,
        }
    }
}

/// A master that was heard of.
#[derive(Clone, Copy, Debug)]
struct Foreign {
    set: DataSet,
    time: TimeProperties,
    /// Until when its last Announce holds.
    until: Time,
    /// Whether it has sent more than one.
    qualified: bool,
}

/// The masters that a port has heard of.
#[derive(Clone, Debug, Default)]
pub(super) struct Foreigns {
    known: alloc::vec::Vec<Foreign>,
}

impl Foreigns {
    /// An Announce has come, which holds for so long.
    pub fn hear(&mut self, now: Time, message: &Message, announce: &Announce, holds: Time) {
        self.expire(now);
        let sender = message.source;
        let heard = Foreign {
            set: DataSet::of(announce, sender),
            time: TimeProperties {
                utc_offset: announce.utc_offset,
                flags: message.flags & ptp::TIME_FLAGS,
            },
            until: now + holds,
            qualified: true,
        };
        let mut known = self.known.iter();
        match known.position(|foreign| foreign.set.sender == sender) {
            Some(place) => self.known[place] = heard,
            None if self.known.len() < MAX_FOREIGN_MASTERS => self.known.push(Foreign {
                qualified: false,
                ..heard
            }),
            None => {}
        }
    }

    /// Forgets those that have not been heard of for too long.
    pub fn expire(&mut self, now: Time) {
        self.known.retain(|foreign| foreign.until > now);
    }

    /// The best of them, and what it says of its time.
    pub fn best(&self) -> Option<(DataSet, TimeProperties)> {
        let qualified = self.known.iter().filter(|foreign| foreign.qualified);
        let best = qualified.min_by_key(|foreign| foreign.set)?;
        Some((best.set, best.time))
    }

    /// When the next of them is forgotten.
    pub fn next_expiry(&self) -> Option<Time> {
        self.known.iter().map(|foreign| foreign.until).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::ethernet::Mac;
    use packet::ptp::{Body, Timestamp};

    fn identity(last: u8) -> ClockIdentity {
        ClockIdentity::of(Mac([2, 0, 0, 0, 0, last]))
    }

    fn announce(priority1: u8, class: u8, grandmaster: u8, steps_removed: u16) -> Announce {
        Announce {
            utc_offset: 37,
            priority1,
            quality: Quality {
                class,
                accuracy: 0xFE,
                variance: 0xFFFF,
            },
            priority2: 128,
            grandmaster: identity(grandmaster),
            steps_removed,
            time_source: 0xA0,
        }
    }

    fn port(last: u8) -> PortIdentity {
        PortIdentity {
            clock: identity(last),
            port: 1,
        }
    }

    fn message(sender: u8, announce: Announce) -> Message {
        let body = Body::Announce(Timestamp::default(), announce);
        Message::new(0, port(sender), 0, body)
    }

    #[test]
    fn priority_comes_before_quality_and_quality_before_the_way() {
        let set = |announce: Announce| DataSet::of(&announce, port(9));
        assert!(set(announce(127, 248, 9, 3)) < set(announce(128, 6, 1, 0)));
        assert!(set(announce(128, 6, 9, 3)) < set(announce(128, 7, 1, 0)));
        assert!(set(announce(128, 6, 1, 1)) < set(announce(128, 6, 1, 2)));
    }

    #[test]
    fn a_master_counts_from_its_second_announce_until_it_is_silent() {
        let (mut foreigns, holds) = (Foreigns::default(), Time::from_secs(3));
        let hear = |foreigns: &mut Foreigns, second, sender, priority| {
            let announce = announce(priority, 248, sender, 0);
            let message = message(sender, announce);
            foreigns.hear(Time::from_secs(second), &message, &announce, holds);
        };
        hear(&mut foreigns, 1, 1, 128);
        assert_eq!(foreigns.best(), None);
        hear(&mut foreigns, 2, 1, 128);
        assert_eq!(foreigns.best().map(|best| best.0.sender), Some(port(1)));
        hear(&mut foreigns, 3, 2, 1);
        hear(&mut foreigns, 4, 2, 1);
        assert_eq!(foreigns.best().map(|best| best.0.sender), Some(port(2)));
        foreigns.expire(Time::from_secs(7));
        assert_eq!(foreigns.best(), None);
    }

    #[test]
    fn a_clock_of_tai_says_how_far_it_is_ahead_of_utc() {
        let flags = [
            (0, 0),
            (ptp::TIMESCALE, 0),
            (ptp::UTC_OFFSET_VALID, 0),
            (ptp::TIMESCALE | ptp::UTC_OFFSET_VALID, 37),
        ];
        for (flags, ahead) in flags {
            let time = TimeProperties {
                utc_offset: 37,
                flags,
            };
            assert_eq!(time.ahead_of_utc(), ahead, "{flags:x}");
        }
    }

    #[test]
    fn no_more_masters_are_kept_than_there_is_room_for() {
        let mut foreigns = Foreigns::default();
        for sender in 0..100 {
            let announce = announce(128, 248, sender, 0);
            let message = message(sender, announce);
            foreigns.hear(Time::ZERO, &message, &announce, Time::from_secs(1));
        }
        assert_eq!(foreigns.known.len(), MAX_FOREIGN_MASTERS);
    }

    #[test]
    fn of_two_clocks_behind_one_grandmaster_one_is_passive_on_the_link_between_them() {
        let best = DataSet::of(&announce(128, 6, 1, 0), port(1));
        let heard = |sender| DataSet::of(&announce(128, 6, 1, 1), port(sender));
        assert!(heard(4).is_worse_by_topology(&best, identity(5)));
        assert!(!heard(5).is_worse_by_topology(&best, identity(4)));
        let farther = DataSet::of(&announce(128, 6, 1, 2), port(4));
        assert!(!farther.is_worse_by_topology(&best, identity(5)));
    }
}
