//! `wire lab --watch`: a lab in simulated time on a web page.

use super::Lab;
use ::capture::signal;
use ::lab::Report;
use ::lab::{Options, Session, World};
use ::watch::Opened;
use anyhow::Context;

impl Lab {
    /// Binds the address of the page, if one is asked for.
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

/// Runs a lab at the pace that its page asks for, until somebody ends it.
///
/// # Errors
/// When the lab cannot run, or not be shown.
pub(super) fn run(lab: &::lab::Lab, options: Options, page: Opened) -> anyhow::Result<Report> {
    let options = Options {
        progress: None,
        ..options
    };
    let mut session = Session::open(lab, &options)?;
    let address = page.address();
    let mut watch = page.start(lab)?;
    eprintln!(
        "wire: http://{address} shows {} at work; every user of this machine may look and steer; Ctrl-C ends it with a report",
        lab.name
    );
    watch.run(&mut session, lab, &signal::stop_requested)?;
    drop(watch);
    Ok(session.end())
}
