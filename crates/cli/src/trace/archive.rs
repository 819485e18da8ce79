//! Archive of a trace, in scamper's format.

use super::Tracer;
use crate::output::{Buffering, Output};
use crate::ping::session::Clock;
use ::trace::archive::{self, About};
use anyhow::Context;
use std::path::{Path, PathBuf};

/// Maximum number of probes in an archive. Each takes about 200 bytes of memory.
pub const MAX_LOG: usize = 1_000_000;

/// An archive in progress.
pub struct Archive {
    path: PathBuf,
    file: Output,
}

impl Archive {
    /// Creates the file, so that a wrong path fails before probes are sent.
    pub fn new(path: &Path) -> anyhow::Result<Archive> {
        Ok(Archive {
            path: path.into(),
            file: Output::create(path, &[], &Buffering::default())?,
        })
    }

    /// Writes the results of the trace, and moves the file into place.
    pub fn end(mut self, node: &Tracer, clock: &Clock) -> anyhow::Result<()> {
        let host = rustix::system::uname();
        let about = About {
            epoch: clock.epoch(),
            end: clock.now(),
            host: &host.nodename().to_string_lossy(),
        };
        let path = self.path.display();
        let file = archive::file(node, &about)
            .with_context(|| format!("cannot write {path}; use fewer --rounds or --probes"))?;
        if node.left_out() > 0 {
            let count = node.left_out();
            eprintln!("warning: {path} lacks the last {count} probes: it holds {MAX_LOG}");
        }
        if file.omitted_links > 0 {
            let count = file.omitted_links;
            eprintln!(
                "note: {path} lacks {count} links across silent hops, which its format cannot hold"
            );
        }
        self.file.write(&file.bytes)?;
        self.file.finish()
    }
}
