//! Runs of labs in the world `live`.

use lab::{Lab, LabError, Options, Report, World};

/// The report of a live run; `None`, with the reason on standard output, without the rights for it.
pub fn report(lab: &Lab, options: &Options) -> Option<Report> {
    match lab::run(lab, World::Live, options) {
        Ok(report) => Some(report),
        Err(LabError::Live(live::world::WorldError::Netns(error))) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
