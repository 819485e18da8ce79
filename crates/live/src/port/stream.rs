//! Ports over files and pipes: `pcap:FILE`, a path, and `-`.
//!
//! Frames come from anything that [`file`](capture::file) reads, as fast as they are asked for, with
//! the stamps that they have there. Frames go to pcapng (`pcap:FILE`), records (a path such as `r0`)
//! or lines, with the time of sending. A file is made when the first frame is sent, and not before.

mod receive;
mod send;

use crate::port::{Options, Port, PortError, PortInfo, Receive, Transmit};
use ::capture::file::{FileError, Source};
use ::capture::{clock, file_system};
use packet::MAX_FRAME_LEN;
use receive::{Files, Piped};
use send::{Format, Writer};
use std::path::Path;

/// Opens `pcap:FILE`.
///
/// # Errors
/// When the file is there and cannot be read.
pub fn open_capture(path: &Path, options: &Options) -> Result<Port, PortError> {
    open(
        path,
        format!("pcap:{}", path.display()),
        Format::Pcapng,
        options,
    )
}

/// Opens a path, or standard input and output for `-`.
///
/// # Errors
/// When the file is there and cannot be read.
pub fn open_path(path: &Path, options: &Options) -> Result<Port, PortError> {
    // Under a mount `r0` has records, `0` has lines (FORMATS section 5).
    let name = path.file_name().map(|name| name.to_string_lossy());
    let number = name.as_deref().and_then(|name| name.strip_prefix('r'));
    let records = number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let format = if records {
        Format::Records
    } else {
        Format::Lines
    };
    open(path, path.display().to_string(), format, options)
}

fn open(path: &Path, name: String, format: Format, options: &Options) -> Result<Port, PortError> {
    let standard = path.as_os_str() == "-";
    let epoch = clock::epoch_ns();
    let (rx, epoch): (Box<dyn Receive>, u64) = if standard || path.exists() {
        let source = Source::open(path).map_err(|source| PortError::File {
            name: name.clone(),
            source,
        })?;
        if standard || !path.is_file() || file_system::is_fuse(path) {
            // It may keep its reader waiting, which a port must not.
            let piped = Piped::start(&name, source, options.tick, epoch)?;
            (Box::new(piped), epoch)
        } else {
            let files = Files::open(&name, source, options.tick, epoch)?;
            let epoch = files.epoch();
            (Box::new(files), epoch)
        }
    } else {
        (Box::new(receive::Nothing::new(&name)), epoch)
    };
    let tx: Box<dyn Transmit> = Box::new(Writer::new(&name, path, format, options.tick));
    Ok(Port {
        info: PortInfo {
            mtu: MAX_FRAME_LEN as u32 - 14,
            epoch_ns: epoch,
            ..PortInfo::of(name, "file", options)
        },
        rx,
        tx,
    })
}

/// A file's fault as a port's.
fn fault(name: &str, source: FileError) -> PortError {
    PortError::File {
        name: name.into(),
        source,
    }
}

#[cfg(test)]
mod tests;
