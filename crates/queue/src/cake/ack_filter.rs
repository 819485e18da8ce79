//! The ACK filter: pure TCP ACKs that a later one in the same queue makes unnecessary.
//!
//! On a line that is much slower upstream than downstream, ACKs of a download fill the uplink. An
//! ACK says no more than a later one of the same connection, so that one of two may be dropped.

use crate::lists::{List, Store};
use crate::packet::{Facts, Packet};
use crate::segment::Segment;
use alloc::vec::Vec;

/// Filter of pure ACKs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum AckFilter {
    /// No packet is filtered.
    #[default]
    Off,
    /// An ACK is dropped when two later ACKs of its connection in the queue make it unnecessary.
    On,
    /// As `On`; and with one later ACK, if that follows at once and has the same flags of ECN.
    Aggressive,
}

impl AckFilter {
    /// All filters.
    pub const ALL: [AckFilter; 3] = [AckFilter::Off, AckFilter::On, AckFilter::Aggressive];

    /// Name, as a file has it.
    pub const fn name(self) -> &'static str {
        match self {
            AckFilter::Off => "off",
            AckFilter::On => "on",
            AckFilter::Aggressive => "aggressive",
        }
    }
}

/// The filter of a tin: the segments of the packets in its store.
#[derive(Debug)]
pub(super) struct Filter {
    is_aggressive: bool,
    /// Segment of the packet at each place; those of free places are old.
    segments: Vec<Option<Segment>>,
}

/// An ACK that may be dropped.
#[derive(Clone, Copy)]
pub(super) struct Superseded {
    /// Place of its predecessor in the queue.
    pub before: Option<u32>,
    /// Acknowledgement numbers of this ACK and of the newest packet.
    pub numbers: [u32; 2],
    place: u32,
    ecn_flags: u8,
}

impl Filter {
    pub fn new(filter: AckFilter) -> Option<Filter> {
        (filter != AckFilter::Off).then(|| Filter {
            is_aggressive: filter == AckFilter::Aggressive,
            segments: Vec::new(),
        })
    }

    /// Takes the segment of the packet at a place.
    pub fn set(&mut self, place: u32, segment: Option<Segment>) {
        let index = place as usize;
        if self.segments.len() <= index {
            self.segments.resize(index + 1, None);
        }
        self.segments[index] = segment;
    }

    fn segment(&self, place: u32) -> Option<&Segment> {
        self.segments.get(place as usize)?.as_ref()
    }

    /// The oldest ACK of a queue that its newest packet allows to be dropped.
    pub fn find(&self, store: &Store, list: &List) -> Option<Superseded> {
        let (newest, arrived) = store.newest(list)?;
        let later = self.segment(newest).filter(|it| it.acknowledges())?;
        let mut found: Option<Superseded> = None;
        let mut before = None;
        for (place, packet) in store.places(list).take_while(|(place, _)| *place != newest) {
            let own = self.segment(place);
            if let Some(own) = own.filter(|_| is_one_connection(packet, arrived)) {
                // A change of these flags is news to the sender: ACKs on both sides of it stay.
                found = found.filter(|found| found.ecn_flags == own.ecn_flags());
                if own.is_superseded_by(later) {
                    if found.is_some() {
                        return found;
                    }
                    found = Some(Superseded {
                        before,
                        numbers: [own.acknowledgement, later.acknowledgement],
                        place,
                        ecn_flags: own.ecn_flags(),
                    });
                }
            }
            before = Some(place);
        }
        found.filter(|found| {
            let is_next = before == Some(found.place);
            self.is_aggressive && is_next && found.ecn_flags == later.ecn_flags()
        })
    }
}

/// Whether two packets are of one connection, in the same direction.
fn is_one_connection(a: &Packet, b: &Packet) -> bool {
    let key = |facts: &Facts| (facts.flow, facts.source, facts.destination);
    key(&a.facts) == key(&b.facts)
}
