use super::*;
use alloc::vec;
use node::random::Random;

/// All pieces, in bytes that come cut anywhere.
fn pieces(bytes: &[u8], random: &mut Random) -> Result<Vec<Piece>, NotSsh> {
    let (mut reader, mut found) = (Reader::default(), Vec::new());
    let mut rest = bytes;
    while !rest.is_empty() {
        let count = 1 + random.below(rest.len().min(50_000) as u64) as usize;
        reader.take(&rest[..count]);
        rest = &rest[count..];
        while let Some(piece) = reader.next()? {
            found.push(piece);
        }
    }
    Ok(found)
}

#[test]
fn a_key_and_its_echo_are_packets_of_36_bytes_as_openssh_has_them() {
    let mut writer = Writer {
        sealed: true,
        ..Writer::default()
    };
    writer.data(0, b"x");
    assert_eq!(writer.leaves.len(), 36);
}

#[test]
fn messages_of_every_length_read_back_however_they_are_cut() {
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let mut writer = Writer::default();
        writer.version();
        let mut expected = vec![Piece::Version];
        for (asks, answers) in LOGIN {
            for &message in asks.iter().chain(answers) {
                writer.message(message);
                expected.push(Piece::Message(message.0, Vec::new()));
            }
        }
        for _ in 0..5 {
            let zeros = random.below(MAX_DATA as u64) as usize;
            writer.data(zeros, PROMPT);
            let data = [vec![0; zeros], PROMPT.to_vec()].concat();
            expected.push(Piece::Message(number::CHANNEL_DATA, data));
        }
        // Both directions change to encrypted sizes at the first NEWKEYS of this one.
        assert_eq!(pieces(&writer.leaves, &mut random), Ok(expected), "{seed}");
    }
}

#[test]
fn other_protocols_are_not_read() {
    let mut random = Random::new(1);
    for text in [
        &b"GET / HTTP/1.1\r\n"[..],
        &[b'S'; 300],
        b"SSH-2.0-x\n\0\0\0\x05\0\0\0\0\0",
        b"SSH-2.0-x\n\xff\0\0\0\0\0",
        b"SSH-2.0-x\n\0\0\0\x08\xff\0\0\0\0\0\0\0",
        b"SSH-2.0-x\n\0\0\0\x08\x04\x5e\0\0\0\0\0\0",
    ] {
        assert_eq!(pieces(text, &mut random), Err(NotSsh), "{text:?}");
    }
}
