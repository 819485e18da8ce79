use super::*;
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;

/// A part of a stream, as a writer takes it.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    Idles(u64),
    Block(u8, u64),
    Bits(u64, u32),
    State(u64),
}

fn part() -> impl Strategy<Value = Part> {
    let idles = prop_oneof![1u64..10, 1u64..1 << 40].prop_map(Part::Idles);
    let payload = prop_oneof![
        any::<u64>(),
        any::<u64>().prop_map(|payload| payload & !0xFF | 0x78),
        Just(IDLE)
    ];
    let block = (0u8..4, payload).prop_map(|(header, payload)| Part::Block(header, payload));
    let bits = (any::<u64>(), 1u32..65).prop_map(|(bits, count)| {
        let mask = u64::MAX >> (64 - count);
        Part::Bits(bits & mask, count)
    });
    prop_oneof![
        4 => idles,
        20 => block,
        1 => bits,
        1 => (0..=STATE).prop_map(Part::State)
    ]
}

fn write(header: &Header, parts: &[Part]) -> (Vec<u8>, u64) {
    let mut file = Vec::new();
    let mut writer = Writer::begin(header, &mut file);
    for part in parts {
        match *part {
            Part::Idles(count) => writer.idles(count, &mut file),
            Part::Block(header, payload) => writer.block(header, payload, &mut file),
            Part::Bits(bits, count) => writer.bits(bits, count, &mut file),
            Part::State(state) => writer.set_state(state, &mut file),
        }
    }
    let position = writer.position();
    let length = writer.finish(&mut file);
    assert_eq!(length, file.len() as u64);
    (file, position)
}

/// What a file tells, in one form whatever its runs and segments are.
#[derive(Debug, Default, PartialEq)]
struct Content {
    header: Option<Header>,
    /// Runs of idles are one entry.
    parts: Vec<Part>,
    entries: Vec<Entry>,
    end: u64,
    damaged: usize,
    ended: bool,
}

impl Content {
    fn idles(&mut self, count: u64) {
        match self.parts.last_mut() {
            Some(Part::Idles(before)) => *before += count,
            _ => self.parts.push(Part::Idles(count)),
        }
    }

    fn bit(&mut self, bit: u64) {
        match self.parts.last_mut() {
            Some(Part::Bits(bits, count)) if *count < 64 => {
                *bits |= bit << *count;
                *count += 1;
            }
            _ => self.parts.push(Part::Bits(bit, 1)),
        }
    }
}

/// Reads a file that comes in pieces. Checks that each segment's state follows from what was before.
fn read(file: &[u8], piece: usize) -> Result<Content, FileError> {
    let (mut told, mut reader) = (Content::default(), Reader::default());
    let (mut at, mut have) = (0, 0);
    loop {
        let step = reader.next(&file[at..have], have == file.len())?;
        let Some(used) = step.used() else {
            if have == file.len() {
                return Ok(told);
            }
            have = (have + piece).min(file.len());
            continue;
        };
        match step {
            Step::Header { header, .. } => told.header = Some(header),
            Step::Index { entries, .. } => told.entries.extend(entries),
            Step::Damaged { .. } => told.damaged += 1,
            Step::End { .. } => told.ended = true,
            Step::More => {}
            Step::Segment { segment, .. } => {
                told.end = segment.first() + segment.bits();
                if let Segment::Bits { bits, content, .. } = segment {
                    for bit in 0..bits {
                        let byte = content[bit as usize / 8];
                        told.bit(u64::from(byte >> (bit % 8) & 1));
                    }
                }
                if let Segment::Blocks { state, .. } = segment {
                    told.parts.push(Part::State(state));
                }
                for run in segment.runs() {
                    match run {
                        Run::Idles(count) => told.idles(count),
                        Run::Blocks(blocks) => told.parts.extend(
                            blocks
                                .iter()
                                .map(|(header, payload)| Part::Block(header, payload)),
                        ),
                    }
                }
            }
        }
        at += used;
        assert_eq!(reader.offset(), at as u64);
    }
}

/// What should be told of parts, without the states.
fn plain(parts: &[Part]) -> Vec<Part> {
    let mut told = Content::default();
    for part in parts {
        match *part {
            Part::Idles(count) => told.idles(count),
            Part::Block(CONTROL, IDLE) => told.idles(1),
            Part::Bits(bits, count) => (0..count).for_each(|at| told.bit(bits >> at & 1)),
            Part::Block(..) => told.parts.push(part.clone()),
            Part::State(_) => {}
        }
    }
    told.parts
}

proptest! {
    #[test]
    fn what_was_written_is_read(parts in prop::collection::vec(part(), 0..300), start_ps: i128, piece in 1usize..5_000) {
        let header = Header { start_ps, epoch_ns: 5, ..Header::default() };
        let (file, position) = write(&header, &parts);
        let told = read(&file, piece).unwrap();
        prop_assert_eq!(told.header, Some(header));
        prop_assert!(told.ended);
        prop_assert_eq!(told.end, position);
        prop_assert_eq!(plain(&told.parts), plain(&parts));
        // Each segment begins with the state that follows from the blocks before.
        let (leap, mut state, mut set) = (Leap::default(), 0, None);
        for part in &told.parts {
            match *part {
                Part::State(found) => {
                    prop_assert!(found == state || parts.contains(&Part::State(found)));
                    (state, set) = (found, Some(found));
                }
                Part::Idles(count) => state = leap.state(state, count),
                Part::Block(_, payload) => state = scramble(payload, state).1,
                Part::Bits(..) => {}
            }
        }
        prop_assert!(set.is_some() || plain(&parts).iter().all(|part| matches!(part, Part::Bits(..))));
    }

    #[test]
    fn a_damaged_byte_is_found_and_the_rest_is_read(at in 48usize..10_000, bit in 0u8..8) {
        let mut parts = vec![Part::Idles(1_000)];
        for n in 0..900u64 {
            parts.push(Part::Block(DATA, n));
            if n % 100 == 0 {
                parts.push(Part::Bits(1, 3));
            }
        }
        let (mut file, _) = write(&Header::default(), &parts);
        let at = 48 + at % (file.len() - 48);
        file[at] ^= 1 << bit;
        let whole = plain(&parts).len();
        match read(&file, 4_096) {
            Ok(told) => {
                let lost = whole - plain(&told.parts).len();
                // The trailer is only a way to the index.
                let trailer = at >= file.len() - TRAILER;
                prop_assert!(told.damaged == 1 || trailer, "{} {}", told.damaged, at);
                prop_assert!(lost <= 101 * told.damaged);
            }
            Err(error) => {
                let place = matches!(
                    error,
                    FileError::Segment(_) | FileError::TooLong(..) | FileError::Truncated(_)
                );
                prop_assert!(place, "{error}");
            }
        }
    }
}

#[test]
fn a_second_of_nothing_takes_no_room() {
    let blocks = LINE_RATE / BLOCK;
    let (file, position) = write(&Header::default(), &[Part::Idles(blocks)]);
    assert_eq!(file.len(), HEADER + (40 + 8) + (40 + 24) + TRAILER);
    assert_eq!(position, LINE_RATE);
    assert_eq!(
        read(&file, 100).unwrap().parts,
        [Part::State(0), Part::Idles(blocks)]
    );
}

#[test]
fn the_index_leads_to_each_segment_and_frame() {
    // Many short segments: more than one part of the index.
    let mut parts = Vec::new();
    for n in 0..6_000u64 {
        parts.extend([
            Part::Bits(n, 7),
            Part::Block(CONTROL, 0x78),
            Part::Idles(n + 1),
        ]);
    }
    let (file, _) = write(&Header::default(), &parts);
    let told = read(&file, file.len()).unwrap();
    assert_eq!(told.entries.len(), 12_000);
    // From the end: every part of the index is found, and it is the one that was read on the way.
    let mut place = last_index(&file[file.len() - TRAILER..]).unwrap();
    let mut found = Vec::new();
    while place != 0 {
        let mut reader = Reader::at(place);
        let Ok(Step::Index {
            previous, entries, ..
        }) = reader.next(&file[place as usize..], true)
        else {
            panic!("no index at {place}");
        };
        found.splice(0..0, entries);
        place = previous;
    }
    assert_eq!(found, told.entries);
    for entry in [found[0], found[1], found[4_321], found[11_999]] {
        let mut reader = Reader::at(entry.offset);
        let Ok(Step::Segment { segment, .. }) = reader.next(&file[entry.offset as usize..], true)
        else {
            panic!("no segment at {entry:?}");
        };
        assert_eq!(segment.first(), entry.first);
    }
    assert_eq!(found[11_999].starts, 5_999);
}

#[test]
fn a_file_whose_writing_was_cut_short_gives_what_is_whole() {
    let parts = [Part::Idles(5), Part::Bits(1, 1), Part::Idles(6)];
    let (file, _) = write(&Header::default(), &parts);
    let cut = HEADER + (40 + 8) + (40 + 8);
    assert_eq!(last_index(&file[..cut][cut - TRAILER..]), None);
    let told = read(&file[..cut], 11).unwrap();
    assert_eq!((told.ended, plain(&told.parts).len()), (false, 2));
    assert_eq!(
        read(&file[..cut + 9], 11),
        Err(FileError::Truncated(cut as u64))
    );
}

#[test]
fn what_is_no_file_is_refused_at_its_place() {
    let mut file = Vec::new();
    Writer::begin(&Header::default(), &mut file).finish(&mut file);
    let refused = |at: usize, byte: u8| {
        let mut file = file.clone();
        file[at] = byte;
        read(&file, file.len()).unwrap_err()
    };
    assert_eq!(refused(0, b'P'), FileError::Magic);
    assert_eq!(refused(8, 9), FileError::Version(9));
    assert_eq!(refused(12, 1), FileError::Length(1));
    assert_eq!(refused(60, b'X'), FileError::Segment(48));
    assert_eq!(read(&[], 1).unwrap(), Content::default());
    assert_eq!(read(&MAGIC[..5], 1), Err(FileError::Truncated(0)));
}

/// Bits, one a boolean.
fn bits_of(pieces: impl FnOnce(&mut dyn FnMut(Piece<'_>))) -> Vec<bool> {
    let mut bits = Vec::new();
    let mut idles = Player::default();
    let push = |bits: &mut Vec<bool>, word: u64, count: u32| {
        bits.extend((0..count).map(|at| word >> at & 1 == 1));
    };
    pieces(&mut |piece| match piece {
        Piece::Words(words) => words.iter().for_each(|&word| push(&mut bits, word, 64)),
        Piece::Bits(word, count) => push(&mut bits, word, count),
        Piece::Idles { blocks, before, .. } => {
            idles.idles(blocks, before, &mut |piece| match piece {
                Piece::Words(words) => words.iter().for_each(|&word| push(&mut bits, word, 64)),
                Piece::Bits(word, count) => push(&mut bits, word, count),
                Piece::Idles { .. } => unreachable!("they are made"),
            });
        }
    });
    bits
}

/// The bits of the line that a file stands for.
fn played(file: &[u8]) -> Vec<bool> {
    bits_of(|each| {
        let (mut reader, mut player, mut rest) = (Reader::default(), Player::default(), file);
        loop {
            let step = reader.next(rest, true).unwrap();
            if let Step::Segment { segment, .. } = &step {
                player.play(segment, &mut |piece| each(piece));
            }
            let Some(used) = step.used() else { break };
            rest = &rest[used..];
        }
    })
}

/// A file of these bits, which come in pieces of so many.
fn recorded(bits: &[bool], piece: usize) -> Vec<u8> {
    let mut file = Vec::new();
    let mut recorder = Recorder::new(Writer::begin(&Header::default(), &mut file));
    for bits in bits.chunks(piece) {
        let word = bits
            .iter()
            .rev()
            .fold(0, |word, &bit| word << 1 | u64::from(bit));
        recorder.push(word, bits.len() as u32, &mut file);
    }
    recorder.finish(&mut file);
    file
}

/// Some blocks on the line, scrambled bit by bit.
fn line(blocks: &[(u8, u64)]) -> Vec<bool> {
    let (mut bits, mut scrambled) = (Vec::new(), Vec::<bool>::new());
    for &(header, payload) in blocks {
        bits.extend([header & 1 == 1, header & 2 == 2]);
        for at in 0..64 {
            let tap = |back: usize| scrambled.len() >= back && scrambled[scrambled.len() - back];
            let bit = (payload >> at & 1 == 1) ^ tap(39) ^ tap(58);
            scrambled.push(bit);
            bits.push(bit);
        }
    }
    bits
}

proptest! {
    #[test]
    fn a_file_plays_the_line_of_its_blocks(blocks in prop::collection::vec((0u8..4, prop_oneof![any::<u64>(), Just(IDLE)]), 0..300)) {
        let parts: Vec<Part> = blocks.iter().map(|&(header, payload)| Part::Block(header, payload)).collect();
        let (file, _) = write(&Header::default(), &parts);
        prop_assert_eq!(played(&file), line(&blocks));
    }

    #[test]
    fn any_line_is_recorded_without_loss(
        noise in prop::collection::vec(any::<bool>(), 0..300),
        blocks in prop::collection::vec((1u8..3, any::<u64>()), 0..300),
        wrong in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        cut in any::<prop::sample::Index>(),
        piece in 1usize..65,
    ) {
        let mut bits = noise;
        bits.extend(line(&blocks));
        for place in wrong {
            if !bits.is_empty() {
                let place = place.index(bits.len());
                bits[place] ^= true;
            }
        }
        if !bits.is_empty() {
            bits.remove(cut.index(bits.len()));
        }
        let file = recorded(&bits, piece);
        prop_assert_eq!(played(&file), bits);
    }
}

#[test]
fn a_recorded_line_has_its_idles_counted() {
    let mut blocks = vec![(CONTROL, IDLE); 40_000];
    blocks[20_000] = (DATA, 5);
    let mut bits = vec![true; 17];
    bits.extend(line(&blocks));
    let file = recorded(&bits, 64);
    assert_eq!(played(&file), bits);
    assert!(file.len() < 500, "{}", file.len());
    let told = read(&file, file.len()).unwrap();
    let data = told
        .parts
        .iter()
        .filter(|part| matches!(part, Part::Block(..)));
    assert_eq!(data.collect::<Vec<_>>(), [&Part::Block(DATA, 5)]);
}

/// A sink that keeps everything as parts.
struct Parts(Vec<Part>);

impl crate::Sink for Parts {
    fn block(&mut self, block: crate::Block) {
        self.0.push(Part::Block(block.header(), block.payload));
    }

    fn idle(&mut self, blocks: u64) {
        self.0.push(Part::Idles(blocks));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Frames with gaps, wrong bits and slips.
    #[test]
    fn a_file_tells_a_receiver_what_its_bits_would(
        frames in prop::collection::vec((1usize..200, prop_oneof![0u64..50, 500u64..4_000, 100_000u64..600_000]), 1..12),
        wrong in prop::collection::vec((any::<prop::sample::Index>(), 0u32..66), 0..60),
        slips in prop::collection::vec((any::<prop::sample::Index>(), 1u32..65), 0..3),
    ) {
        let (mut encoder, mut parts) = (crate::Encoder::new(), Parts(vec![]));
        for (length, idles) in frames {
            let frame = vec![length as u8; length];
            encoder.frame(&frame, crate::Start::After(idles), &mut parts).unwrap();
        }
        encoder.flush(&mut parts);
        let mut parts = parts.0;
        for (place, bit) in wrong {
            match place.get_mut(&mut parts[..]) {
                Part::Block(header, _) if bit < 2 => *header ^= 1 << bit,
                Part::Block(_, payload) => *payload ^= 1 << (bit - 2),
                _ => {}
            }
        }
        for (place, count) in slips {
            parts.insert(place.index(parts.len()), Part::Bits(0x5555, count));
        }
        let (file, _) = write(&Header::default(), &parts);

        let mut told = Vec::new();
        let mut feed = Feed::default();
        let (mut reader, mut rest) = (Reader::default(), &file[..]);
        loop {
            let step = reader.next(rest, true).unwrap();
            if let Step::Segment { segment, .. } = &step {
                feed.segment(segment, &mut |base, item| told.push(std::format!("{base} {item:?}")));
            }
            let Some(used) = step.used() else { break };
            rest = &rest[used..];
        }
        feed.finish(&mut |base, item| told.push(std::format!("{base} {item:?}")));

        let (mut receiver, mut wanted) = (crate::Receiver::default(), Vec::new());
        let mut each = |item: crate::Item<'_>| wanted.push(std::format!("0 {item:?}"));
        for bits in played(&file).chunks(64) {
            let word = bits.iter().rev().fold(0, |word, &bit| word << 1 | u64::from(bit));
            receiver.push_bits(word, bits.len() as u32, &mut each);
        }
        receiver.finish(&mut each);
        prop_assert_eq!(told, wanted);
    }
}
