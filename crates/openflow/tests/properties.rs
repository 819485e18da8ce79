//! What holds for every message.

use crate::samples::{Random, messages};
use openflow::message::{Header, Message, Version, decode};

#[test]
fn what_is_written_is_read_as_the_same_and_written_again_as_the_same_bytes() {
    for version in Version::ALL {
        for seed in 0..200 {
            for message in messages(version, seed) {
                let mut bytes = vec![0xee];
                message
                    .encode(version, seed as u32, &mut bytes)
                    .expect("it has a form");
                let bytes = &bytes[1..];
                let (header, read) = decode(bytes).unwrap_or_else(|error| {
                    panic!("{message:?} of {version}: {error}\n{bytes:02x?}")
                });
                assert_eq!(header.xid, seed as u32);
                assert_eq!(usize::from(header.length), bytes.len());
                assert_eq!(read, message);
                let mut again = Vec::new();
                read.encode(version, header.xid, &mut again)
                    .expect("as it was read");
                assert_eq!(again, bytes, "{message:?}");
                // From a list in memory as from the bytes: through the other version, if that can say it.
                let other = if version == Version::V10 {
                    Version::V13
                } else {
                    Version::V10
                };
                let mut translated = Vec::new();
                if read.encode(other, 1, &mut translated).is_ok() {
                    decode(&translated).unwrap_or_else(|error| {
                        panic!("{message:?} of {version} as {other}: {error}")
                    });
                }
            }
        }
    }
}

/// Everything that a message holds is visited; then it is written again.
fn visit(bytes: &[u8]) {
    match decode(bytes) {
        Ok((header, message)) => {
            assert!(usize::from(header.length) <= bytes.len());
            let _ = format!("{message:?}");
            let mut again = Vec::new();
            if let Some(version) = header.version() {
                message
                    .encode(version, header.xid, &mut again)
                    .expect("as it was read");
                let (_, twice) = decode(&again).expect("our own bytes");
                assert_eq!(twice, message);
            }
        }
        Err(error) => {
            assert!(error.quoted.len() <= 64);
            for version in Version::ALL {
                let mut answer = Vec::new();
                error
                    .message(version)
                    .encode(version, 0, &mut answer)
                    .expect("an error");
                assert!(matches!(decode(&answer), Ok((_, Message::Error(_)))));
            }
        }
    }
}

#[test]
fn no_bytes_make_it_panic_and_what_is_read_can_be_written() {
    let mut random = Random::new(99);
    for version in Version::ALL {
        for seed in 0..40 {
            for message in messages(version, seed) {
                let mut bytes = Vec::new();
                message
                    .encode(version, 1, &mut bytes)
                    .expect("it has a form");
                for _ in 0..20 {
                    let mut broken = bytes.clone();
                    for _ in 0..1 + random.below(3) {
                        let at = random.below(broken.len() as u64) as usize;
                        broken[at] = match random.below(3) {
                            0 => random.word() as u8,
                            1 => broken[at].wrapping_add(1),
                            _ => broken[at] ^ 1 << random.below(8),
                        };
                    }
                    broken[0] = version.wire();
                    visit(&broken);
                }
                for length in 8..bytes.len().min(200) {
                    let mut cut = bytes[..length].to_vec();
                    cut[2..4].copy_from_slice(&(length as u16).to_be_bytes());
                    visit(&cut);
                }
                assert!(Header::peek(&bytes[..7]).is_none());
            }
        }
    }
}
