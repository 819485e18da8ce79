//! Capture files: any bytes give the same blocks however they are cut, every byte is accounted for, and packets write back.

use packet::capture::{Block, Interface, PcapngWriter, Reader, Resolution, Step};

/// What each block was, and how reading ended; with `piece` bytes more at a time.
fn walk(data: &[u8], piece: usize, mut see: impl FnMut(&Block<'_>)) -> String {
    let (mut reader, mut at, mut have) = (Reader::default(), 0, 0);
    loop {
        match reader.next(&data[at..have], have == data.len()) {
            Ok(Step::Block { used, block }) => {
                assert!(used > 0);
                at += used;
                assert_eq!(reader.offset(), at as u64);
                see(&block);
            }
            Ok(Step::More) if have == data.len() => {
                assert_eq!(at, data.len());
                return String::new();
            }
            Ok(Step::More) => have = (have + piece).min(data.len()),
            // How much is missing, and where a block that is passed over stops, depends on the pieces.
            Err(packet::capture::CaptureError::Truncated { part, .. }) => return part.into(),
            Err(error) => return error.to_string(),
        }
    }
}

pub fn target(data: &[u8]) {
    let (mut whole, mut pieces) = (Vec::new(), Vec::new());
    let (mut file, mut writer) = (Vec::new(), PcapngWriter::default());
    writer.header("", &mut file);
    let described = Interface {
        resolution: Resolution::NANO,
        ..Interface::default()
    };
    writer.interface(&described, &mut file);
    let (mut written, mut read) = (Vec::new(), Vec::new());
    let end = walk(data, data.len().max(1), |block| {
        if let Block::Packet {
            at_ps,
            original_len,
            bytes,
            ..
        } = block
        {
            let at_ps = at_ps.unwrap_or(0);
            writer.cut_packet(0, at_ps, *original_len, bytes, &mut file);
            let stored = Resolution::NANO.to_ps(Resolution::NANO.from_ps(at_ps, 0), 0);
            assert!(stored <= at_ps);
            written.push((stored, *original_len, bytes.to_vec()));
        }
        if !matches!(block, Block::Passed { .. }) {
            whole.push(format!("{block:?}"));
        }
    });
    let same = walk(data, 7, |block| {
        if !matches!(block, Block::Passed { .. }) {
            pieces.push(format!("{block:?}"));
        }
    });
    assert_eq!((whole, end), (pieces, same));
    let end = walk(&file, file.len(), |block| {
        if let Block::Packet {
            at_ps,
            original_len,
            bytes,
            ..
        } = block
        {
            read.push((at_ps.unwrap_or(0), *original_len, bytes.to_vec()));
        }
    });
    assert_eq!((end, read), (String::new(), written));
}
