//! NTP: what is read of a header writes back the same, and times come back from any side of an era.

use packet::ntp::{HEADER, Header, Timestamp};

pub fn target(data: &[u8]) {
    let Ok(header) = Header::parse(data) else {
        return;
    };
    let mut written = Vec::new();
    header.build(&mut written);
    assert_eq!(written, data[..HEADER]);
    let near = i128::from(header.origin.0 as i64) * 1_000;
    for time in [header.set, header.receive, header.transmit] {
        assert_eq!(Timestamp::since_1970(time.near(near)), time);
    }
}
