//! The topics that labs measure: each has its section of a lab file, its observers, its part of the report, and the kinds
//! of nodes that serve it alone, in one file or folder.
//!
//! | module | section | report |
//! |---|---|---|
//! | `offsets` | `[offsets]` | how far counters that DTP keeps are apart |
//! | `bandwidth` | `[bandwidth]` | what probers estimated, and what was true |
//! | [`clocks`] | | clocks of nodes, and how far off they were |
//! | `mesh` | `[network_effect]` | pairs of clocks, made to agree around loops |
//! | `paths` | `[[journeys]]` | one-way delays from place to place, by the clocks there |
//! | [`queues`] | | queue disciplines of links: time in the queue, drops and marks |
//! | `pings` | | pings that a session asks for |

pub mod bandwidth;
pub mod clocks;
pub mod mesh;
pub mod offsets;
pub mod paths;
pub(crate) mod pings;
pub mod queues;

use crate::kind::Kind;
use crate::plan::instrument::Instrument;

/// All of them, as they are before a lab file is read. The sections of a report are in this order, and an instrument finds
/// those before it.
pub(crate) fn standard() -> [fn() -> Box<dyn Instrument>; 6] {
    [
        make::<offsets::Comparison>,
        make::<bandwidth::Bandwidth>,
        make::<clocks::AllClocks>,
        make::<mesh::MeshCorrection>,
        make::<paths::Paths>,
        make::<queues::Queues>,
    ]
}

fn make<I: Instrument + Default + 'static>() -> Box<dyn Instrument> {
    Box::new(I::default())
}

/// The kinds of nodes that serve one of them alone.
pub(crate) fn kinds() -> Vec<Kind> {
    bandwidth::kinds()
}
