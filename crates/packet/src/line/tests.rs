use super::*;
use crate::flow;
use alloc::vec;
use std::string::{String, ToString};

const PLAIN: &[u8] = b"00000000075BCD15 001122334455 66778899AABB 0800 45 00 00 54";

fn read(text: &[u8]) -> Result<Option<(Head, Vec<u8>)>, LineError> {
    let mut frame = vec![9; 3];
    Ok(decode(text, &mut frame)?.map(|head| (head, frame)))
}

fn packet(text: &[u8]) -> (Head, Vec<u8>) {
    read(text).unwrap().expect("a packet")
}

#[test]
fn each_form_is_written_and_read_back() {
    let (head, frame) = packet(PLAIN);
    let head = Head {
        hash: Some(0xDEAD_BEEF),
        ..head
    };
    for (form, want) in [
        (
            (true, false),
            "00000000075BCD15 001122334455 66778899AABB 0800 45 00 00 54\n",
        ),
        (
            (false, false),
            "001122334455 66778899AABB 0800 45 00 00 54\n",
        ),
        (
            (false, true),
            "DEADBEEF 001122334455 66778899AABB 0800 45 00 00 54\n",
        ),
        (
            (true, true),
            "00000000075BCD15 DEADBEEF 001122334455 66778899AABB 0800 45 00 00 54\n",
        ),
    ] {
        let form = Form {
            time: form.0,
            hash: form.1,
        };
        let mut text = b"before ".to_vec();
        encode(&head.packet(&frame), form, &mut text).unwrap();
        assert_eq!(text, [b"before ", want.as_bytes()].concat());
        assert_eq!(want.len(), form.length(frame.len()));
        let back = packet(want.as_bytes());
        assert_eq!(back.0.stamp, form.time.then_some(Stamp::Word(123_456_789)));
        assert_eq!(back.0.hash, form.hash.then_some(0xDEAD_BEEF));
        assert_eq!(back.1, frame);
    }
}

#[test]
fn a_missing_word_is_zero_and_a_missing_hash_is_computed() {
    let mut frame = [0u8; 60];
    frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
    let mut text = Vec::new();
    let form = Form {
        time: true,
        hash: true,
    };
    encode(&Head::default().packet(&frame), form, &mut text).unwrap();
    let (head, back) = packet(&text);
    assert_eq!(head.stamp, Some(Stamp::Word(0)));
    assert_eq!(head.hash, Some(flow::hash(&frame)));
    assert_eq!(back, frame);
}

#[test]
fn a_header_alone_has_no_trailing_blank() {
    let mut text = Vec::new();
    let form = Form {
        time: false,
        hash: false,
    };
    encode(&Head::default().packet(&[0xAB; 14]), form, &mut text).unwrap();
    assert_eq!(text, b"ABABABABABAB ABABABABABAB ABAB\n");
}

#[test]
fn frames_that_no_line_carries_are_refused() {
    for length in [0, 13, crate::MAX_FRAME_LEN + 1] {
        let (frame, mut text) = (vec![0; length], vec![7]);
        let fault = encode(&Head::default().packet(&frame), Form::default(), &mut text);
        assert_eq!(fault, Err(BadLength(length)));
        assert_eq!(text, [7]);
    }
    assert_eq!(
        BadLength(13).to_string(),
        "a frame of 13 bytes: lines and records carry 14 to 262144 bytes"
    );
}

#[test]
fn blanks_case_and_line_ends_do_not_matter() {
    let want = packet(PLAIN);
    for text in [
        "00000000075bcd15 001122334455 66778899aaBB 0800 45 00 00 54\n",
        "00000000075BCD15 001122334455 66778899AABB 0800 45 00 00 54\r\n",
        "  00000000075BCD15\t001122334455 \t 66778899AABB   0800 45\t00 00  54 \n",
        "\t00000000075BCD15 001122334455 66778899AABB 0800 45 00 00 54   ",
    ] {
        assert_eq!(packet(text.as_bytes()), want, "{text:?}");
    }
}

#[test]
fn empty_lines_and_comments_hold_no_packet() {
    for text in ["", "\n", "\r\n", "  \t \n", "# 45 00\n", "#", "  # x"] {
        assert_eq!(read(text.as_bytes()), Ok(None), "{text:?}");
    }
}

#[test]
fn a_fault_is_told_with_its_column_and_its_mend() {
    for (text, want) in [
        (
            "00112233445G 66778899AABB 0800",
            "column 12: 'G' is no hexadecimal digit",
        ),
        ("hello", "column 1: 'h' is no hexadecimal digit"),
        (
            "001122334455",
            "column 13: the line ends before the source address",
        ),
        (
            "001122334455 66778899AABB",
            "column 26: the line ends before the EtherType",
        ),
        (
            "00000000075BCD15 ",
            "column 18: the line ends before a hash",
        ),
        ("075BCD15", "column 9: the line ends before the destination"),
        (
            "001122334455 66778899AA 0800",
            "column 14: a field of 10 digit(s) where the source",
        ),
        (
            "001122334455 66778899AABB 0800 45000",
            "column 32: a field of 5 digit(s) where a payload",
        ),
        (
            "001122334455 66778899AABB 0800 45 0",
            "column 35: a field of 1 digit(s)",
        ),
        (
            "001122334455 66778899AABB 0800 45\r00",
            "column 34: '\\r' is no hexadecimal",
        ),
        (
            "001122334455 66778899AABB 0800 \u{e9}",
            "column 32: '\\xc3' is no hexadecimal",
        ),
        (
            "075BCD15 00000000075BCD15 0800",
            "column 10: a field of 16 digit(s) where the dest",
        ),
        (
            "0800",
            "column 1: a field of 4 digit(s) where a date (20 digits)",
        ),
    ] {
        let fault = read(text.as_bytes()).unwrap_err().to_string();
        assert!(fault.starts_with(want), "{text:?}: {fault}");
    }
}

#[test]
fn the_longest_frame_passes_and_one_byte_more_does_not() {
    let mut text = String::from("001122334455 66778899AABB 0800");
    text.push_str(&" AB".repeat(crate::MAX_FRAME_LEN - 14));
    assert_eq!(packet(text.as_bytes()).1.len(), crate::MAX_FRAME_LEN);
    text.push_str(" CD");
    let fault = read(text.as_bytes()).unwrap_err();
    assert_eq!(fault.reason, Reason::TooManyBytes);
    assert_eq!(fault.column, text.len() - 1);
}

#[test]
fn what_the_papers_sed_commands_leave_is_read() {
    // Paper 001, commands 7 and 8: a tag put in before the EtherType, and one taken out.
    let (mut frame, mut plain) = (Vec::new(), Vec::new());
    for (edited, proper) in [
        (
            "001122334455 66778899AABB 8100 00 01 0800 45 00 00 54 01 02 03 04 05 06 07 08",
            "001122334455 66778899AABB 8100 00 01 08 00 45 00 00 54 01 02 03 04 05 06 07 08",
        ),
        (
            "001122334455 66778899AABB 08 00 45 00 00 54",
            "001122334455 66778899AABB 0800 45 00 00 54",
        ),
    ] {
        assert!(decode(edited.as_bytes(), &mut frame).unwrap().is_some());
        decode(proper.as_bytes(), &mut plain).unwrap();
        assert_eq!(frame, plain);
    }
    for bad in [
        "001122334455 66778899AABB 08",
        "001122334455 66778899AABB 08 0045",
        "001122334455 66778899AABB 0800 450",
    ] {
        assert!(decode(bad.as_bytes(), &mut frame).is_err(), "{bad}");
    }
}
