//! OpenFlow messages of both versions: decoded, visited, written again as the same.

use openflow::message::{Message, Version, decode};

/// Reads the bytes as they are, and as a message of each version whose length fits.
pub fn target(data: &[u8]) {
    visit(data);
    for version in Version::ALL {
        let mut bytes = data.to_vec();
        if let [number, _, high, low, ..] = &mut bytes[..] {
            *number = version.wire();
            [*high, *low] = (data.len() as u16).to_be_bytes();
            visit(&bytes);
        }
    }
}

fn visit(bytes: &[u8]) {
    match decode(bytes) {
        Ok((header, message)) => {
            let _ = format!("{message:?}");
            let Some(version) = header.version() else {
                return;
            };
            let mut again = Vec::new();
            message
                .encode(version, header.xid, &mut again)
                .expect("as it was read");
            let (_, twice) = decode(&again).expect("our own bytes");
            assert_eq!(twice, message);
            let mut stable = Vec::new();
            twice
                .encode(version, header.xid, &mut stable)
                .expect("as it was read");
            assert_eq!(stable, again);
        }
        Err(error) => {
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
