//! Ordered sets on the line: runs of the same, and the link fault status (figure 46-11).

use crate::Stamp;
use crate::item::{Event, Fault, Item};
use crate::xgmii::Set;

/// Sets of a fault that make it the link's status.
const SETS: u8 = 4;
/// Columns without a fault after which the status is good.
const COLUMNS: u64 = 128;

#[derive(Clone, Debug, Default)]
pub struct Faults {
    last: Option<(Stamp, Set)>,
    /// The fault last told, how often in a row, and where last.
    told: Option<(Fault, u8, Stamp)>,
    status: Option<Fault>,
}

impl Faults {
    /// The link fault status.
    pub fn status(&self) -> Option<Fault> {
        self.status
    }

    /// Something stands at this place: a fault not repeated for long is over.
    #[inline]
    pub fn pass(&mut self, at: Stamp, each: &mut impl FnMut(Item<'_>)) {
        if let Some((_, _, last)) = self.told {
            let over = last + (COLUMNS + 1) * Stamp::COLUMN;
            if at >= over {
                self.told = None;
                if self.status.take().is_some() {
                    each(Item::Event(over, Event::Fault(None)));
                }
            }
        }
    }

    /// An ordered set stands at this place.
    pub fn set(&mut self, at: Stamp, set: Set, each: &mut impl FnMut(Item<'_>)) {
        self.pass(at, each);
        let again = |(stamp, last): (Stamp, Set)| last == set && stamp + Stamp::COLUMN == at;
        if !self.last.is_some_and(again) {
            each(Item::Event(at, Event::Set(set)));
        }
        self.last = Some((at, set));
        let fault = match set {
            Set::LOCAL_FAULT => Fault::Local,
            Set::REMOTE_FAULT => Fault::Remote,
            Set::LINK_INTERRUPTION => Fault::Interruption,
            _ => return,
        };
        let count = match self.told {
            Some((last, count, _)) if last == fault => (count + 1).min(SETS),
            _ => 1,
        };
        self.told = Some((fault, count, at));
        if count == SETS && self.status != Some(fault) {
            self.status = Some(fault);
            each(Item::Event(at, Event::Fault(self.status)));
        }
    }
}
