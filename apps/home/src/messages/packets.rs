//! Packets of MQTT 3.1.1 (OASIS standard, 29 October 2014), as a client that only publishes needs them.

use super::reach::Stream;
use tokio::io::AsyncReadExt;

/// Maximum length of a packet from a broker, bytes: acknowledgements have four.
const MAX_PACKET: usize = 256;

/// Types of packets from a broker (section 2.2.1).
pub mod kind {
    pub const CONNACK: u8 = 2;
    pub const PUBACK: u8 = 4;
    pub const PINGRESP: u8 = 13;
}

fn packet(first: u8, body: &[u8]) -> Vec<u8> {
    let mut packet = vec![first];
    let mut left = body.len();
    // Section 2.2.3: seven bits a byte, the lowest first.
    loop {
        let (low, rest) = ((left % 128) as u8, left / 128);
        packet.push(low | if rest > 0 { 0x80 } else { 0 });
        left = rest;
        if left == 0 {
            break;
        }
    }
    packet.extend(body);
    packet
}

/// A text, of at most 65,535 bytes.
fn put(body: &mut Vec<u8>, text: &[u8]) {
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    body.extend(length.to_be_bytes());
    body.extend(&text[..usize::from(length)]);
}

/// CONNECT (section 3.1) with a will: a retained message that the broker publishes when the connection is lost.
pub fn connect(
    client: &str,
    keep_alive: u16,
    (topic, will): (&str, &str),
    user: Option<&str>,
    password: Option<&str>,
) -> Vec<u8> {
    let mut body = Vec::new();
    put(&mut body, b"MQTT");
    let names = if user.is_some() { 0x80 } else { 0 } | if password.is_some() { 0x40 } else { 0 };
    // Clean session, will of QoS 1, retained.
    body.extend([4, 0x02 | 0x04 | 0x08 | 0x20 | names]);
    body.extend(keep_alive.to_be_bytes());
    put(&mut body, client.as_bytes());
    put(&mut body, topic.as_bytes());
    put(&mut body, will.as_bytes());
    for text in [user, password].into_iter().flatten() {
        put(&mut body, text.as_bytes());
    }
    packet(0x10, &body)
}

/// PUBLISH with QoS 1 (section 3.3).
pub fn publish(topic: &str, payload: &str, number: u16, is_retained: bool) -> Vec<u8> {
    let mut body = Vec::new();
    put(&mut body, topic.as_bytes());
    body.extend(number.to_be_bytes());
    body.extend(payload.as_bytes());
    packet(0x32 | u8::from(is_retained), &body)
}

/// PINGREQ (section 3.12).
pub const PING: [u8; 2] = [0xC0, 0];
/// DISCONNECT (section 3.14): the broker does not publish the will.
pub const DISCONNECT: [u8; 2] = [0xE0, 0];

/// Reads packets. A read that is cancelled loses nothing.
#[derive(Default)]
pub struct Reader(Vec<u8>);

impl Reader {
    /// The next packet: its type and its body.
    pub async fn next(&mut self, stream: &mut dyn Stream) -> Result<(u8, Vec<u8>), String> {
        loop {
            if let Some(packet) = self.take()? {
                return Ok(packet);
            }
            let mut part = [0; 256];
            match stream.read(&mut part).await {
                Ok(0) => return Err("the broker closed the connection".into()),
                Ok(length) => self.0.extend(&part[..length]),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    fn take(&mut self) -> Result<Option<(u8, Vec<u8>)>, String> {
        let Some((first, rest)) = self.0.split_first() else {
            return Ok(None);
        };
        let Some(end) = rest.iter().take(4).position(|byte| byte & 0x80 == 0) else {
            return match rest.len() >= 4 {
                true => Err("the broker does not speak MQTT".into()),
                false => Ok(None),
            };
        };
        let length = rest[..=end]
            .iter()
            .rev()
            .fold(0, |sum, byte| sum << 7 | usize::from(byte & 0x7F));
        if length > MAX_PACKET {
            return Err("the broker sent a packet that was not asked for".into());
        }
        let kind = first >> 4;
        let Some(body) = rest.get(end + 1..end + 1 + length).map(<[u8]>::to_vec) else {
            return Ok(None);
        };
        self.0.drain(..end + 2 + length);
        Ok(Some((kind, body)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_table_2_4() {
        for (length, bytes) in [
            (0, &[0][..]),
            (127, &[0x7F]),
            (128, &[0x80, 1]),
            (16_383, &[0xFF, 0x7F]),
            (16_384, &[0x80, 0x80, 1]),
        ] {
            assert_eq!(packet(0x30, &vec![0; length])[1..][..bytes.len()], *bytes);
        }
    }

    #[test]
    fn packets_are_read_whole_and_odd_ones_end_the_connection() {
        let read = |bytes: &[u8]| Reader(bytes.to_vec()).take();
        assert_eq!(
            read(&[0x20, 2, 0, 0, 0xD0]),
            Ok(Some((kind::CONNACK, vec![0, 0])))
        );
        for end in 0..4 {
            assert_eq!(read(&[0x20, 2, 0, 0][..end]), Ok(None));
        }
        assert!(read(&[0x30, 0xFF, 0xFF, 0xFF, 0x7F]).is_err());
        assert!(read(&[0x30, 0xFF, 0xFF, 0xFF, 0xFF]).is_err());
    }
}
