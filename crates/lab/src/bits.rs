//! Captures of the stream of blocks itself, of links at the level of blocks.

use crate::plan::{BitsPlan, Lab};
use crate::watch::lock;
use node::{Channel, Level};
use phy::file::{Header, LINE_RATE, Writer};
use sim::{BitTap, Bits};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Bytes gathered before they are written.
const GATHERED: usize = 1 << 18;

/// A file of a bit stream being written. After the first error nothing more is written, and the error
/// is kept for the end.
pub(crate) struct BitKeep {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    writer: Option<Writer>,
    failed: Option<io::Error>,
}

impl BitKeep {
    /// Begins a file.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(lab: &Lab, plan: &BitsPlan, folder: &Path) -> io::Result<BitKeep> {
        let path = folder.join(&plan.file);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let channel = &lab.links[plan.link].link.channels[plan.direction.index()];
        let mut buffer = Vec::with_capacity(GATHERED + GATHERED / 4);
        Ok(BitKeep {
            file: File::create(&path)?,
            path,
            writer: Some(Writer::begin(&header(channel), &mut buffer)),
            buffer,
            failed: None,
        })
    }

    /// Who looks at the blocks for it.
    pub fn tap(keep: &Arc<Mutex<BitKeep>>, plan: &BitsPlan) -> BitTap {
        let keep = keep.clone();
        BitTap {
            link: plan.link,
            direction: plan.direction,
            see: Box::new(move |bits| lock(&keep).see(bits)),
        }
    }

    fn see(&mut self, bits: Bits) {
        if let Some(writer) = &mut self.writer {
            match bits {
                Bits::Idles(blocks) => writer.idles(blocks, &mut self.buffer),
                Bits::Block { header, payload } => {
                    writer.block(header, payload, &mut self.buffer);
                }
            }
        }
        if self.buffer.len() >= GATHERED {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.failed.is_none() {
            self.failed = self.file.write_all(&self.buffer).err();
        }
        self.buffer.clear();
    }

    /// Ends the file, and tells where it is.
    ///
    /// # Errors
    /// The first error there was, and the file's path.
    pub fn finish(&mut self) -> Result<PathBuf, (PathBuf, io::Error)> {
        if let Some(writer) = self.writer.take() {
            writer.finish(&mut self.buffer);
        }
        self.flush();
        match self.failed.take().or_else(|| self.file.flush().err()) {
            None => Ok(self.path.clone()),
            Some(error) => Err((self.path.clone(), error)),
        }
    }
}

/// The stream's first bit leaves at the start of the run, at the rate of the sender's clock then.
fn header(channel: &Channel) -> Header {
    let ppm = match &channel.level {
        Level::Block(clocks) => clocks.sender.offset,
        Level::Frame => 0.0,
    };
    let off = (LINE_RATE as f64 * ppm * 1e-6).round() as i64;
    Header {
        rate: LINE_RATE.saturating_add_signed(off),
        start_ps: channel.delay.as_ps().into(),
        ..Header::default()
    }
}
