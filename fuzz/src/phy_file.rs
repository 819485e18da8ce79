//! Stream files: any bytes give the same parts however they are cut, what was read writes back the same, and nothing that a
//! file says makes a receiver hang.

use phy::file::{Feed, FileError, Header, Reader, Run, Segment, Step, Writer};

/// What each part was, and how reading ended; with `piece` bytes more at a time.
fn walk(data: &[u8], piece: usize, mut see: impl FnMut(&Step<'_>)) -> String {
    let (mut reader, mut at, mut have) = (Reader::default(), 0, 0);
    loop {
        let step = match reader.next(&data[at..have], have == data.len()) {
            Ok(step) => step,
            // Where a file ends that is cut in its first bytes is the same place.
            Err(error @ FileError::Truncated(_)) => return error.to_string(),
            Err(error) => return error.to_string(),
        };
        let Some(used) = step.used() else {
            if have == data.len() {
                return String::new();
            }
            have = (have + piece).min(data.len());
            continue;
        };
        see(&step);
        assert!(used > 0);
        at += used;
        assert_eq!(reader.offset(), at as u64);
    }
}

/// Writes what was read.
fn copy(segment: &Segment<'_>, writer: &mut Writer, out: &mut Vec<u8>) {
    match *segment {
        Segment::Bits { bits, content, .. } => {
            let mut left = bits;
            for word in content.chunks_exact(8) {
                let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
                writer.bits(word, left.min(64) as u32, out);
                left = left.saturating_sub(64);
            }
        }
        Segment::Blocks { state, .. } => {
            writer.set_state(state, out);
            for run in segment.runs() {
                match run {
                    Run::Idles(count) => writer.idles(count, out),
                    Run::Blocks(blocks) => blocks
                        .iter()
                        .for_each(|(header, payload)| writer.block(header, payload, out)),
                }
            }
        }
    }
}

/// The bits of a segment and a sum of its blocks.
fn told(segment: &Segment<'_>, sums: &mut (u64, u64)) {
    sums.0 += segment.bits();
    for run in segment.runs() {
        if let Run::Blocks(blocks) = run {
            for (header, payload) in blocks.iter() {
                sums.1 = sums.1.rotate_left(7) ^ payload ^ u64::from(header);
            }
        }
    }
}

pub fn target(data: &[u8]) {
    // Check sums are no obstacle: they are mended first.
    let mut data = data.to_vec();
    mend(&mut data);
    let (mut whole, mut pieces) = (Vec::new(), Vec::new());
    let end = walk(&data, data.len().max(1), |step| {
        whole.push(format!("{step:?}"))
    });
    let same = walk(&data, 13, |step| pieces.push(format!("{step:?}")));
    assert_eq!((&whole, &end), (&pieces, &same));

    let (mut file, mut read, mut feed) = (Vec::new(), (0, 0), Feed::default());
    let mut writer = Writer::begin(&Header::default(), &mut file);
    let mut frames = 0u64;
    walk(&data, data.len().max(1), |step| {
        if let Step::Segment { segment, .. } = step {
            copy(segment, &mut writer, &mut file);
            told(segment, &mut read);
            feed.segment(segment, &mut |_, item| {
                frames += u64::from(matches!(item, phy::Item::Frame(_)))
            });
        }
    });
    feed.finish(&mut |_, _| {});
    let length = writer.finish(&mut file);
    assert_eq!(length, file.len() as u64);
    let mut again = (0, 0);
    let end = walk(&file, 4_096, |step| {
        assert!(!matches!(step, Step::Damaged { .. }), "{step:?}");
        if let Step::Segment { segment, .. } = step {
            told(segment, &mut again);
        }
    });
    assert_eq!((end.as_str(), again), ("", read));
}

/// Gives every segment that is whole its check sum.
fn mend(data: &mut [u8]) {
    let mut at = 48;
    while let Some(head) = data.get(at..at + 40) {
        let length = u32::from_le_bytes(head[4..8].try_into().expect("four bytes")) as usize;
        let Some(rest) = data.get(at + 12..at + 40 + length) else {
            return;
        };
        let check = phy::crc::fcs(rest).to_le_bytes();
        data[at + 8..at + 12].copy_from_slice(&check);
        at += 40 + length;
    }
}
