use super::*;
use packet::capture::{Interface, PcapngWriter};
use packet::line::Form;
use packet::{Packet, Stamp};
use std::io::Write;
use std::sync::{Arc, Mutex};

/// Gives a stream in pieces of a few bytes, as a pipe may.
struct Trickle(Vec<u8>, usize, usize);

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let end = (self.1 + self.2).min(self.0.len());
        let len = (end - self.1).min(buffer.len());
        buffer[..len].copy_from_slice(&self.0[self.1..self.1 + len]);
        self.1 += len;
        Ok(len)
    }
}

fn frame(n: u8) -> Vec<u8> {
    (0..60 + usize::from(n)).map(|i| i as u8 ^ n).collect()
}

fn lines(count: u8) -> Vec<u8> {
    let mut out = Vec::new();
    for n in 0..count {
        let bytes = frame(n);
        let packet = Packet {
            stamp: Some(Stamp::Word(n.into())),
            hash: None,
            bytes: &bytes,
        };
        line::encode(&packet, Form::default(), &mut out).unwrap();
    }
    out
}

fn records(count: u8) -> Vec<u8> {
    let mut out = Vec::new();
    for n in 0..count {
        let bytes = frame(n);
        let packet = Packet {
            stamp: Some(Stamp::Word(n.into())),
            hash: Some(7),
            bytes: &bytes,
        };
        record::encode(&packet, &mut out).unwrap();
    }
    out
}

fn pcapng(count: u8) -> Vec<u8> {
    let (mut out, mut writer) = (Vec::new(), PcapngWriter::default());
    writer.header("test", &mut out);
    let ethernet = writer.interface(&Interface::default(), &mut out);
    for n in 0..count {
        writer.packet(ethernet, u128::from(n) * 1000, &frame(n), &mut out);
    }
    out
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    ruzstd::encoding::compress_to_vec(bytes, level)
}

fn source(stream: Vec<u8>, piece: usize) -> Source {
    Source::from_reader("test", Box::new(Trickle(stream, 0, piece))).unwrap()
}

fn read_all(mut source: Source) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while let Next::Item(item) = source.next().unwrap() {
        frames.push(item.bytes.to_vec());
    }
    frames
}

#[test]
fn every_kind_is_told_by_content_however_it_is_cut_and_compressed() {
    let want: Vec<_> = (0..20).map(frame).collect();
    for (kind, plain) in [
        (Kind::Lines, lines(20)),
        (Kind::Records, records(20)),
        (Kind::Capture, pcapng(20)),
    ] {
        // Two members or frames one behind the other are one stream.
        let (first, second) = plain.split_at(plain.len() / 3);
        let two = |pack: fn(&[u8]) -> Vec<u8>| [pack(first), pack(second)].concat();
        let mut skippable = vec![0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3];
        skippable.splice(0..0, zstd(first));
        skippable.extend(zstd(second));
        for stream in [plain.clone(), two(gzip), two(zstd), skippable] {
            for piece in [1, 7, 1 << 20] {
                let mut first = source(stream.clone(), piece);
                first.next().unwrap();
                assert_eq!(first.kind(), Some(kind));
                assert_eq!(read_all(source(stream.clone(), piece)), want);
            }
        }
    }
}

#[test]
fn words_hashes_and_stamps_come_along() {
    let (mut lines, mut records, mut pcapng) = (
        source(lines(2), 99),
        source(records(2), 99),
        source(pcapng(2), 99),
    );
    for source in [&mut lines, &mut records, &mut pcapng] {
        source.next().unwrap();
    }
    let item = lines.next().unwrap().item().unwrap();
    assert_eq!((item.word, item.hash, item.at_ps), (Some(1), None, None));
    let item = records.next().unwrap().item().unwrap();
    assert_eq!((item.word, item.hash, item.at_ps), (Some(1), Some(7), None));
    let item = pcapng.next().unwrap().item().unwrap();
    assert_eq!((item.word, item.hash, item.at_ps), (None, None, Some(1000)));
}

#[test]
fn what_makes_no_sense_is_told_with_its_place_and_skipped() {
    let mut stream = lines(1);
    stream.extend(b"# a comment\n\nnonsense\n");
    stream.extend(lines(1));
    let told = Arc::new(Mutex::new(Vec::new()));
    let log = told.clone();
    let mut source =
        source(stream.clone(), 50).on_complaint(move |c| log.lock().unwrap().push(c.to_string()));
    assert!(source.next().unwrap().item().is_some());
    assert!(source.next().unwrap().item().is_some());
    assert!(matches!(source.next(), Ok(Next::End)));
    assert_eq!(
        (source.counters().packets, source.counters().skipped),
        (2, 1)
    );
    assert!(told.lock().unwrap()[0].starts_with("line 4: "));

    let mut strict = self::source(stream, 50).strict();
    assert!(strict.next().unwrap().item().is_some());
    let error = strict.next().unwrap_err().to_string();
    assert!(error.starts_with("test: line 4: "), "{error}");
}

#[test]
fn a_last_line_that_was_cut_off_is_no_packet() {
    let ip = "020000000001 0200000000FF 0800 45 00 00 18 00 00 00 00 40 11 00 00 0A 00 00 01 0A 00 00 02 AB CD EF 01";
    let tagged = ip.replace("0800", "8100 00 07 08 00");
    let six = "020000000001 0200000000FF 86DD 60 00 00 00 00 02 3B 40 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 02 AB CD";
    let packets = |text: String| {
        let mut source =
            Source::from_reader("test", Box::new(io::Cursor::new(text.into_bytes()))).unwrap();
        while let Next::Item(_) = source.next().unwrap() {}
        (source.counters().packets, source.counters().skipped)
    };
    for line in [ip, &tagged, six] {
        assert_eq!(packets(format!("{line}\n")), (1, 0), "{line}");
        // Text whose last line has no line feed is as good.
        assert_eq!(packets(line.into()), (1, 0), "{line}");
        let cut = &line[..line.len() - 3];
        assert_eq!(packets(cut.into()), (0, 1), "{cut}");
        assert_eq!(packets(line[..60].into()), (0, 1));
        // What has a line feed was meant so, as are packets that a capture has cut short.
        assert_eq!(packets(format!("{cut}\n")), (1, 0), "{cut}");
    }
    assert_eq!(packets("020000000001 0200000000FF 0806 00".into()), (1, 0));
}

#[test]
fn garbage_between_records_is_measured() {
    let stream = [records(1), b"garbage".to_vec(), records(2)].concat();
    let mut source = source(stream, 1 << 20);
    let mut packets = 0;
    while source.next().unwrap().item().is_some() {
        packets += 1;
    }
    assert_eq!((packets, source.counters().skipped_bytes), (3, 7));
}

#[test]
fn a_truncated_file_gives_what_it_has_and_then_says_so() {
    for (whole, said) in [
        (pcapng(5), "byte "),
        (gzip(&lines(5)), "after "),
        (zstd(&lines(5)), "after "),
    ] {
        let mut source = source(whole[..whole.len() - 5].to_vec(), 1 << 20);
        let error = loop {
            match source.next() {
                Ok(Next::Item(_)) => {}
                Ok(Next::End | Next::Stopped) => {
                    panic!("the end of a truncated file is no good end")
                }
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.contains(said), "{error}");
    }
}

/// Gives a stream up to a place, and then stops as a signal stops it.
struct Interrupted(Vec<u8>, usize);

impl Read for Interrupted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = (self.0.len() - self.1)
            .min(buffer.len())
            .min(1 + self.1 % 900);
        if len == 0 {
            return Err(signal::Stopped.into());
        }
        buffer[..len].copy_from_slice(&self.0[self.1..self.1 + len]);
        self.1 += len;
        Ok(len)
    }
}

#[test]
fn a_stop_gives_what_came_whole_and_is_no_damage() {
    let want: Vec<_> = (0..20).map(frame).collect();
    for plain in [lines(20), records(20), pcapng(20)] {
        let asis: fn(&[u8]) -> Vec<u8> = |bytes| bytes.to_vec();
        for (pack, exact) in [(asis, true), (gzip, false), (zstd, false)] {
            let stream = pack(&plain);
            let mut most = 0;
            for end in (0..=stream.len()).step_by(13).chain([stream.len()]) {
                let given = Box::new(Interrupted(stream[..end].to_vec(), 0));
                let mut source = Source::from_reader("test", given).unwrap();
                let mut frames = Vec::new();
                let ended = loop {
                    match source.next().unwrap() {
                        Next::Item(item) => frames.push(item.bytes.to_vec()),
                        ended => break ended,
                    }
                };
                // Nothing behind the last bytes tells a decoder that they are the last.
                assert!(matches!(ended, Next::Stopped), "{end} of {}", stream.len());
                assert!(matches!(source.next(), Ok(Next::Stopped)));
                assert_eq!(frames, want[..frames.len()]);
                assert_eq!(source.counters().skipped, 0);
                assert!(
                    frames.len() >= most || !exact,
                    "more bytes have fewer packets"
                );
                most = most.max(frames.len());
            }
            assert_eq!(most, want.len());
        }
    }
}

#[test]
fn packets_of_ip_get_an_ethernet_header_and_those_of_other_link_types_are_skipped() {
    let (mut out, mut writer) = (Vec::new(), PcapngWriter::default());
    writer.header("test", &mut out);
    let interface = |link_type| Interface {
        link_type,
        ..Interface::default()
    };
    let raw_ip = writer.interface(&interface(101), &mut out);
    writer.cut_packet(raw_ip, 0, 99, &[0x45, 7, 8], &mut out);
    writer.packet(raw_ip, 0, &[0x15, 7, 8], &mut out);
    let (foreign, ethernet) = (
        writer.interface(&interface(105), &mut out),
        writer.interface(&Interface::default(), &mut out),
    );
    writer.packet(foreign, 0, &frame(0), &mut out);
    writer.packet(ethernet, 0, &frame(1), &mut out);
    writer.packet(ethernet, 0, b"short", &mut out);
    let mut verbatim = source(out.clone(), 1 << 20).verbatim();
    assert_eq!(verbatim.next().unwrap().item().unwrap().bytes, [0x45, 7, 8]);
    let mut source = source(out, 1 << 20);
    let item = source.next().unwrap().item().unwrap();
    let made = [&[0; 12][..], &[8, 0, 0x45, 7, 8]].concat();
    assert_eq!((item.bytes, item.original_len), (&made[..], 113));
    assert_eq!(source.next().unwrap().item().unwrap().bytes, frame(1));
    assert!(matches!(source.next(), Ok(Next::End)));
    let counters = source.counters();
    assert_eq!((counters.skipped, counters.headed), (4, 1));
}

#[test]
fn a_missing_file_is_named() {
    let error = Source::open("/no/such/file").err().unwrap().to_string();
    assert!(error.starts_with("/no/such/file: "), "{error}");
    assert!(Source::open("/").is_err());
    assert!(matches!(source(Vec::new(), 1).next(), Ok(Next::End)));
}
