use super::*;

const LINE: &str = "001122334455 66778899AABB 0800 45 00";

/// Keeps what it is given, and has room for so many packets.
struct Kept {
    room: usize,
    strict: bool,
    packets: Vec<(Departure, Vec<u8>)>,
    faults: Vec<Fault>,
}

impl Kept {
    fn new(room: usize) -> Kept {
        Kept {
            room,
            strict: false,
            packets: Vec::new(),
            faults: Vec::new(),
        }
    }
}

impl Taker for Kept {
    fn packet(&mut self, departure: Departure, bytes: &[u8]) -> bool {
        if self.room == 0 {
            return false;
        }
        self.room -= 1;
        self.packets.push((departure, bytes.to_vec()));
        true
    }

    fn fault(&mut self, fault: Fault) -> bool {
        self.faults.push(fault);
        !self.strict
    }
}

fn lines(count: usize) -> Vec<u8> {
    (0..count)
        .flat_map(|n| format!("{LINE} {n:02X}\n").into_bytes())
        .collect()
}

fn records(count: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for n in 0..count {
        let bytes = [n as u8; 60];
        record::encode(
            &packet::Packet {
                stamp: Some(packet::Stamp::Word(0)),
                hash: None,
                bytes: &bytes,
            },
            &mut out,
        )
        .unwrap();
    }
    out
}

#[test]
fn the_size_of_the_writes_makes_no_difference() {
    for (input, make) in [
        (lines(40), Writer::of_lines as fn() -> Writer),
        (records(40), Writer::of_records),
    ] {
        for piece in [1, 2, 3, 7, 37, 100, 1000, 10_000] {
            let (mut writer, mut kept) = (make(), Kept::new(usize::MAX));
            for piece in input.chunks(piece) {
                assert_eq!(writer.write(piece, &mut kept), Got::All);
            }
            writer.finish(false, &mut kept);
            assert_eq!((kept.packets.len(), kept.faults.len()), (40, 0), "{piece}");
            for (n, (_, bytes)) in kept.packets.iter().enumerate() {
                assert_eq!(*bytes.last().unwrap(), n as u8);
            }
        }
    }
}

#[test]
fn a_write_that_finds_no_room_goes_on_where_it_stopped() {
    for (input, make) in [
        (lines(40), Writer::of_lines as fn() -> Writer),
        (records(40), Writer::of_records),
    ] {
        for piece in [1, 5, 37, 100, 10_000] {
            let (mut writer, mut kept) = (make(), Kept::new(0));
            for mut piece in input.chunks(piece) {
                while let Got::Full(taken) = writer.write(piece, &mut kept) {
                    piece = &piece[taken..];
                    kept.room = 1;
                }
            }
            assert_eq!((kept.packets.len(), kept.faults.len()), (40, 0), "{piece}");
            for (n, (_, bytes)) in kept.packets.iter().enumerate() {
                assert_eq!(*bytes.last().unwrap(), n as u8);
            }
        }
    }
}

#[test]
fn a_last_line_without_end_is_sent_at_close() {
    let (mut writer, mut kept) = (Writer::of_lines(), Kept::new(10));
    writer.write(LINE.replace("0800", "0806").as_bytes(), &mut kept);
    assert!(kept.packets.is_empty());
    writer.finish(false, &mut kept);
    assert_eq!((kept.packets.len(), kept.faults.len()), (1, 0));
    // What was cut off in the middle of its IP packet is none.
    writer.write(LINE.as_bytes(), &mut kept);
    writer.finish(false, &mut kept);
    assert_eq!((kept.packets.len(), kept.faults.len()), (1, 1));
}

#[test]
fn half_a_packet_at_close_is_told() {
    let (mut writer, mut kept) = (Writer::of_lines(), Kept::new(10));
    writer.write(b"001122334455 6677", &mut kept);
    writer.finish(false, &mut kept);
    assert!(matches!(
        kept.faults[..],
        [Fault::Torn {
            what: "line",
            bytes: 17,
            ..
        }]
    ));
    let (mut writer, mut kept) = (Writer::of_records(), Kept::new(10));
    writer.write(&records(1)[..40], &mut kept);
    writer.finish(false, &mut kept);
    assert!(matches!(
        kept.faults[..],
        [Fault::Torn {
            what: "record",
            bytes: 40,
            ..
        }]
    ));
    assert!(kept.packets.is_empty());
}

#[test]
fn bad_lines_are_numbered_and_skipped() {
    let text = format!(
        "# comment\n{LINE}\nnonsense\n\n18{:014} {LINE}\n{LINE}\n",
        0
    );
    let (mut writer, mut kept) = (Writer::of_lines(), Kept::new(10));
    assert_eq!(writer.write(text.as_bytes(), &mut kept), Got::All);
    assert_eq!(kept.packets.len(), 2);
    let told: Vec<String> = kept.faults.iter().map(|fault| fault.to_string()).collect();
    assert!(told[0].starts_with("line 3, column 1:"), "{told:?}");
    assert!(told[1].starts_with("packet 2, timestamp 18"), "{told:?}");
}

#[test]
fn a_strict_writer_is_told_at_the_first_bad_line() {
    let text = format!("{LINE}\nnonsense\n{LINE}\n");
    let (mut writer, mut kept) = (Writer::of_lines(), Kept::new(10));
    kept.strict = true;
    let bad = LINE.len() + 1 + "nonsense\n".len();
    assert_eq!(writer.write(text.as_bytes(), &mut kept), Got::Refused(bad));
    assert_eq!(kept.packets.len(), 1);
}

#[test]
fn a_line_without_end_does_not_grow_without_bound() {
    let (mut writer, mut kept) = (Writer::of_lines(), Kept::new(10));
    for _ in 0..2 * line::MAX_LINE_LEN / 10_000 {
        writer.write(&[b' '; 10_000], &mut kept);
        assert!(writer.partial.len() <= line::MAX_LINE_LEN + 1);
    }
    writer.write(format!("\n{LINE}\n").as_bytes(), &mut kept);
    assert_eq!(
        (kept.packets.len(), &kept.faults[..]),
        (1, &[Fault::TooLong(1)][..])
    );
}

#[test]
fn departures_are_read_from_the_words() {
    let text = format!("1100000000000000 {LINE}\n01000000001312D0 {LINE}\n");
    let (mut writer, mut kept) = (Writer::of_lines(), Kept::new(10));
    writer.write(text.as_bytes(), &mut kept);
    let one = packet::word::Timer::new(1).unwrap();
    let departures: Vec<Departure> = kept.packets.iter().map(|packet| packet.0).collect();
    assert_eq!(
        departures,
        [Departure::Mark(one), Departure::After(one, 1_250_000)]
    );
}

#[test]
fn a_line_is_sent_before_its_line_feed_when_it_is_a_packet() {
    let mut kept = Kept::new(9);
    let mut writer = Writer::of_lines();
    for n in 1..=3 {
        assert_eq!(writer.write(LINE.as_bytes(), &mut kept), Got::All);
        writer.complete_line(true, &mut kept);
        assert_eq!(kept.packets.len(), n);
        writer.complete_line(true, &mut kept);
        assert_eq!(writer.write(b"\n", &mut kept), Got::All);
        assert_eq!(kept.packets.len(), n, "the line feed is no packet");
    }
    assert_eq!(kept.faults, []);
    writer.finish(false, &mut kept);
    assert_eq!((kept.packets.len(), kept.faults.len()), (3, 0));
}

#[test]
fn a_line_is_kept_until_its_line_feed_when_it_is_not_complete() {
    // No packet, an IPv4 packet whose length says that it goes on, half a record, and no room.
    for start in ["00112233", "001122334455 66778899AABB 0800 45 00 00 2"] {
        let mut kept = Kept::new(9);
        let mut writer = Writer::of_lines();
        assert_eq!(writer.write(start.as_bytes(), &mut kept), Got::All);
        writer.complete_line(false, &mut kept);
        assert_eq!((kept.packets.len(), kept.faults.len()), (0, 0), "{start}");
    }
    let mut kept = Kept::new(9);
    let mut writer = Writer::of_records();
    let record = records(1);
    assert_eq!(writer.write(&record[..40], &mut kept), Got::All);
    writer.complete_line(true, &mut kept);
    assert_eq!(writer.write(&record[40..], &mut kept), Got::All);
    assert_eq!((kept.packets.len(), kept.faults.len()), (1, 0));

    let (mut full, mut writer) = (Kept::new(0), Writer::of_lines());
    assert_eq!(writer.write(LINE.as_bytes(), &mut full), Got::All);
    writer.complete_line(true, &mut full);
    let mut kept = Kept::new(1);
    assert_eq!(writer.write(b"\n", &mut kept), Got::All);
    assert_eq!(kept.packets.len(), 1);
}
