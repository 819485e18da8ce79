//! Captures of the stream of blocks itself, of links at the level of blocks.

use crate::error::LabError;
use crate::output_file::BufferedFile;
use crate::plan::{BitsPlan, Lab};
use ::capture::output::OutputError;
use node::{Channel, Level};
use parking_lot::Mutex;
use phy::file::{Header, LINE_RATE, Writer};
use sim::{BitTap, Bits};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file of a bit stream being written.
pub(crate) struct BlockCapture {
    file: BufferedFile,
    writer: Option<Writer>,
}

impl BlockCapture {
    /// Begins a file.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(lab: &Lab, plan: &BitsPlan, folder: &Path) -> Result<BlockCapture, LabError> {
        let channel = &lab.links[plan.link].link.channels[plan.direction.index()];
        let mut file = BufferedFile::create(folder.join(&plan.file))?;
        let writer = Some(Writer::begin(&header(channel), &mut file.buffer));
        Ok(BlockCapture { file, writer })
    }

    /// Who looks at the blocks for it.
    pub fn tap(capture: &Arc<Mutex<BlockCapture>>, plan: &BitsPlan) -> BitTap {
        let capture = capture.clone();
        BitTap {
            link: plan.link,
            direction: plan.direction,
            see: Box::new(move |bits| capture.lock().see(bits)),
        }
    }

    fn see(&mut self, bits: Bits) {
        if let Some(writer) = &mut self.writer {
            match bits {
                Bits::Idles(blocks) => writer.idles(blocks, &mut self.file.buffer),
                Bits::Block { header, payload } => {
                    writer.block(header, payload, &mut self.file.buffer);
                }
            }
        }
        self.file.relieve();
    }

    /// Ends the file, and tells where it is.
    ///
    /// # Errors
    /// The first error there was.
    pub fn finish(&mut self) -> Result<PathBuf, OutputError> {
        if let Some(writer) = self.writer.take() {
            writer.finish(&mut self.file.buffer);
        }
        self.file.finish()
    }

    /// Leaves the stream so far beside the file's name, and tells where.
    pub fn give_up(&mut self) -> Option<PathBuf> {
        if let Some(writer) = self.writer.take() {
            writer.finish(&mut self.file.buffer);
        }
        self.file.give_up()
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
