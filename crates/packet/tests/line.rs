//! Every way of reading and writing a line gives the same, whatever the line.

use packet::line::{Codec, Form, Head, LineError};
use packet::{Date, Stamp};
use proptest::prelude::*;

type Read = Result<Option<(Head, Vec<u8>)>, LineError>;

fn read(codec: Codec, line: &[u8]) -> Read {
    let mut frame = vec![0xEE; 5];
    let head = codec.decode(line, &mut frame)?;
    Ok(head.map(|head| (head, frame)))
}

/// What all codecs make of the line.
fn read_alike(line: &[u8]) -> Read {
    let portable = read(Codec::PORTABLE, line);
    for codec in Codec::available() {
        assert_eq!(
            read(codec, line),
            portable,
            "{codec:?}: {}",
            line.escape_ascii()
        );
    }
    portable
}

fn write(codec: Codec, head: Head, form: Form, frame: &[u8]) -> Vec<u8> {
    let mut out = b"before\n".to_vec();
    codec.encode(&head.packet(frame), form, &mut out).unwrap();
    out.split_off(7)
}

fn form(number: u8) -> Form {
    Form {
        time: number & 1 != 0,
        hash: number & 2 != 0,
    }
}

/// A byte for each place, so that no two bytes of a vector are the same by chance.
fn frame(length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| (at * 151 + at / 256 * 7 + 0x9C) as u8)
        .collect()
}

const HEAD: Head = Head {
    stamp: Some(Stamp::Word(0x0123_4567_89AB_CDEF)),
    hash: Some(0xFEDC_BA98),
};
/// As [`HEAD`], with a date.
const DATED: Head = Head {
    stamp: Some(Stamp::Date(
        Date::from_ps(0xA5B4_0123_4567_89AB_CDEF).unwrap(),
    )),
    ..HEAD
};

/// Each form of a head with a word and of one with a date.
fn shapes() -> impl Iterator<Item = (Head, Form)> {
    [HEAD, DATED]
        .into_iter()
        .flat_map(|head| (0..4).map(move |number| (head, form(number))))
}

#[test]
fn every_length_and_form_is_written_alike_and_read_back() {
    let lengths = (14..=400).chain([
        1514,
        4_000,
        9_014,
        65_535,
        packet::MAX_FRAME_LEN - 1,
        packet::MAX_FRAME_LEN,
    ]);
    for length in lengths {
        let frame = frame(length);
        for (head, form) in shapes() {
            let line = write(Codec::PORTABLE, head, form, &frame);
            let wider = if head == DATED && form.time { 4 } else { 0 };
            assert_eq!(line.len(), form.length(length) + wider);
            for codec in Codec::available() {
                assert_eq!(
                    write(codec, head, form, &frame),
                    line,
                    "{codec:?}, {length}"
                );
            }
            let (found, back) = read_alike(&line).unwrap().unwrap();
            assert_eq!(found.stamp, head.stamp.filter(|_| form.time));
            assert_eq!(found.hash, head.hash.filter(|_| form.hash));
            assert_eq!(back, frame);
        }
    }
}

#[test]
fn every_value_of_every_character_is_judged_alike() {
    for (head, form) in shapes() {
        let line = write(Codec::PORTABLE, head, form, &frame(92));
        for at in 0..line.len() {
            let mut changed = line.clone();
            for value in 0..=255 {
                changed[at] = value;
                let _ = read_alike(&changed);
            }
        }
    }
}

#[test]
fn a_line_cut_anywhere_is_judged_alike() {
    for (head, form) in shapes() {
        let line = write(Codec::PORTABLE, head, form, &frame(150));
        for end in 0..line.len() {
            let _ = read_alike(&line[..end]);
            let _ = read_alike(&[&line[..end], b"\r\n"].concat());
            let _ = read_alike(&[&line[..end], b" \n"].concat());
            let _ = read_alike(&[&line[..end], b"0\n"].concat());
        }
    }
}

#[test]
fn a_line_has_one_stamp_at_most() {
    let line = write(Codec::PORTABLE, HEAD, form(3), &frame(92));
    let date = b"0123456789ABCDEF0123 ";
    for twice in [&line[..], &[&date[..], &line[17..]].concat()] {
        assert!(read_alike(&[date, twice].concat()).is_err());
        assert!(read_alike(&[&line[..17], twice].concat()).is_err());
    }
}

#[test]
fn a_frame_too_long_is_judged_alike() {
    for (head, form) in shapes() {
        let mut line = write(Codec::PORTABLE, head, form, &frame(packet::MAX_FRAME_LEN));
        line.pop();
        assert!(read_alike(&line).is_ok());
        line.extend_from_slice(b" 00");
        let fault = read_alike(&line).unwrap_err();
        assert_eq!(fault.column, line.len() - 1);
    }
}

/// Changes that a person or a script makes to a line.
#[derive(Clone, Debug)]
enum Change {
    Replace(prop::sample::Index, u8),
    Insert(prop::sample::Index, u8),
    Remove(prop::sample::Index),
}

fn change() -> impl Strategy<Value = Change> {
    let byte = prop_oneof![
        prop::sample::select(b" \t\r\n#0fFgG`@:/".to_vec()),
        any::<u8>()
    ];
    let index = any::<prop::sample::Index>;
    prop_oneof![
        (index(), byte.clone()).prop_map(|(at, byte)| Change::Replace(at, byte)),
        (index(), byte).prop_map(|(at, byte)| Change::Insert(at, byte)),
        index().prop_map(Change::Remove),
    ]
}

fn packets() -> impl Strategy<Value = (Head, Vec<u8>)> {
    let length = prop_oneof![14..130usize, 14..2_000usize];
    let frame = length.prop_flat_map(|length| prop::collection::vec(any::<u8>(), length));
    let stamp = prop_oneof![
        any::<u64>().prop_map(Stamp::Word),
        (0..1u128 << 80).prop_map(|ps| Stamp::Date(Date::from_ps(ps).unwrap())),
    ];
    (stamp, any::<u32>(), frame).prop_map(|(stamp, hash, frame)| {
        (
            Head {
                stamp: Some(stamp),
                hash: Some(hash),
            },
            frame,
        )
    })
}

proptest! {
    #[test]
    fn lines_to_frames_to_lines_is_the_identity((head, frame) in packets(), number in 0..4u8) {
        let line = write(Codec::best(), head, form(number), &frame);
        let (head, back) = read_alike(&line).unwrap().unwrap();
        prop_assert_eq!(&back, &frame);
        prop_assert_eq!(write(Codec::best(), head, form(number), &back), line);
    }

    #[test]
    fn case_and_blanks_do_not_matter(
        (head, frame) in packets(),
        number in 0..4u8,
        blanks in prop::collection::vec("[ \t]{1,3}", 1..40),
        cases in any::<u64>(),
        end in prop::sample::select(vec!["", "\n", "\r\n", " \t\n"]),
    ) {
        let line = write(Codec::best(), head, form(number), &frame);
        let want = read_alike(&line).unwrap();
        let mut loose = Vec::new();
        for (index, &byte) in line.trim_ascii_end().iter().enumerate() {
            match byte {
                b' ' => loose.extend_from_slice(blanks[index % blanks.len()].as_bytes()),
                _ if cases >> (index % 64) & 1 != 0 => loose.push(byte.to_ascii_lowercase()),
                _ => loose.push(byte),
            }
        }
        loose.extend_from_slice(end.as_bytes());
        prop_assert_eq!(read_alike(&loose).unwrap(), want);
    }

    #[test]
    fn a_changed_line_is_judged_alike(
        (head, frame) in packets(),
        number in 0..4u8,
        changes in prop::collection::vec(change(), 1..4),
    ) {
        let mut line = write(Codec::best(), head, form(number), &frame);
        for change in changes {
            match change {
                Change::Replace(at, byte) => { let at = at.index(line.len()); line[at] = byte; }
                Change::Insert(at, byte) => line.insert(at.index(line.len()), byte),
                Change::Remove(at) => { line.remove(at.index(line.len())); }
            }
        }
        if let Ok(Some((head, frame))) = read_alike(&line) {
            let form = Form { time: head.stamp.is_some(), hash: head.hash.is_some() };
            let line = write(Codec::best(), head, form, &frame);
            prop_assert_eq!(read_alike(&line), Ok(Some((head, frame))));
        }
    }

    #[test]
    fn what_is_no_line_is_judged_alike(line in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_alike(&line);
    }
}
