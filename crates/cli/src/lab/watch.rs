//! `wire lab --watch`: the web page of a lab in simulated time.

use super::Lab;
use ::capture::signal;
use ::lab::Report;
use ::lab::{Options, Session, World};
use ::watch::Opened;
use anyhow::Context;

impl Lab {
    /// Binds the address of `--watch`, if it is given.
    ///
    /// # Errors
    /// When the lab does not run in simulated time, or the address cannot be bound.
    pub(super) fn open_page(&self, worlds: &[World]) -> anyhow::Result<Option<Opened>> {
        let Some(address) = self.watch else {
            return Ok(None);
        };
        anyhow::ensure!(
            worlds == [World::Sim],
            "--watch shows simulated time: add --world sim"
        );
        let opened = ::watch::open(address).context("--watch")?;
        Ok(Some(opened))
    }
}

/// Runs a lab at the pace that its page sets, until a signal ends the run.
///
/// # Errors
/// When the lab cannot run, or the server cannot start.
pub(super) fn run(lab: &::lab::Lab, options: Options, page: Opened) -> anyhow::Result<Report> {
    let options = Options {
        progress: None,
        ..options
    };
    let mut session = Session::open(lab, &options)?;
    let address = page.address();
    let mut watch = page.start(lab)?;
    eprintln!(
        "wire: page of {} at http://{address}, for all users of this machine; Ctrl-C ends the run with a report",
        lab.name
    );
    watch.run(&mut session, lab, &signal::stop_requested)?;
    drop(watch);
    Ok(session.end())
}
