//! Helpers: connections whose packets announce others, as Linux's nf_conntrack_ftp and nf_conntrack_tftp read them (RFC 959, RFC 2428,
//! RFC 1350).
//!
//! A rule gives a connection its helper (`ct helper set`); by its port alone no connection has one. The connection that is
//! announced is `related` until its first answer, and has its parent's mark.
//!
//! - **FTP:** PORT and EPRT of the client, answers 227 and 229 of the server, each at the beginning of a segment that begins a line. An
//!   address that is not the sender's own is not followed, so that a host opens no way to another. A line that is cut off in such a
//!   command is dropped: the sender repeats it, and is then seen whole.
//! - **TFTP:** a request to read or write; the server answers from a port of its choice.
//!
//! Behind a NAT the endpoint in the data is rewritten as nf_nat_ftp does, and the [numbers](super::sequence) after it follow.

use super::Headers;
use super::sequence::Shift;
use super::tuple::Tuple;
use alloc::format;
use alloc::string::String;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use node::Time;
use packet::ipv4::protocol;
use packet::tcp::TcpView;

/// Time for which a connection is expected.
pub(crate) const EXPECTATION_TIMEOUT: Time = Time::from_secs(300);
/// Maximum length of an IPv6 address in a text, bytes.
const MAX_IPV6_TEXT: usize = 45;

/// Protocol that announces connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Helper {
    /// FTP, of TCP.
    Ftp,
    /// TFTP, of UDP.
    Tftp,
}

impl Helper {
    /// The helper with a name of `ct helper`.
    pub fn named(name: &str) -> Option<Helper> {
        match name {
            "ftp" => Some(Helper::Ftp),
            "tftp" => Some(Helper::Tftp),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Helper::Ftp => "ftp",
            Helper::Tftp => "tftp",
        }
    }

    /// Its transport protocol.
    pub fn protocol(self) -> u8 {
        match self {
            Helper::Ftp => protocol::TCP,
            Helper::Tftp => protocol::UDP,
        }
    }
}

/// A connection that is expected: all of its first packet but the source port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Expected {
    pub zone: u16,
    pub protocol: u8,
    pub source: IpAddr,
    pub destination: IpAddr,
    pub port: u16,
}

impl Expected {
    /// The expectation that a first packet would fulfil.
    pub fn of(tuple: &Tuple) -> Expected {
        Expected {
            zone: tuple.zone,
            protocol: tuple.protocol,
            source: tuple.source,
            destination: tuple.destination,
            port: tuple.ids[1],
        }
    }
}

/// Sequence numbers of one side at which lines begin: the last two.
#[derive(Clone, Copy, Debug, Default)]
struct Lines {
    begins: [u32; 2],
    count: usize,
}

impl Lines {
    fn has(&self, sequence: u32) -> bool {
        self.begins[..self.count].contains(&sequence)
    }

    fn note(&mut self, sequence: u32) {
        if self.has(sequence) {
            return;
        }
        let is_before = |a: u32, b: u32| (a.wrapping_sub(b) as i32) < 0;
        let place = match self.count {
            2 => usize::from(!is_before(self.begins[0], self.begins[1])),
            count => count,
        };
        // A retransmission is not the latest line.
        if self.count == 2 && !is_before(self.begins[place], sequence) {
            return;
        }
        self.begins[place] = sequence;
        self.count = self.count.max(place + 1);
    }
}

/// Form of an endpoint in the data of FTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// `10,0,0,2,1,57`, of PORT and 227.
    Numbers,
    /// `|1|10.0.0.2|313|`, of EPRT.
    Extended,
    /// `|||313|`, of 229.
    PortAlone,
}

/// Place and form of an announcement in the data of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Text {
    /// Offset in the data and length, bytes.
    pub at: usize,
    pub length: usize,
    form: Form,
}

impl Text {
    /// The announcement of another endpoint, as Linux's nf_nat_ftp writes it.
    pub fn of(&self, address: Ipv4Addr, port: u16) -> String {
        let [a, b, c, d] = address.octets();
        let [high, low] = port.to_be_bytes();
        match self.form {
            Form::Numbers => format!("{a},{b},{c},{d},{high},{low}"),
            Form::Extended => format!("|1|{address}|{port}|"),
            Form::PortAlone => format!("|||{port}|"),
        }
    }
}

/// A helper's knowledge of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Help {
    lines: [Lines; 2],
    /// The connection that is expected.
    pub expects: Option<Expected>,
    /// Changes of the sequence numbers of each side, after announcements whose length has changed.
    pub shifts: [Shift; 2],
}

/// Result of reading a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Announced {
    Nothing,
    /// The announcement goes on after the packet.
    Partly,
    /// A connection, and the place of its endpoint in the data.
    Connection(Expected, Option<Text>),
}

impl Help {
    /// Reads a segment of an FTP connection; `ways` are the connection's keys, that of the segment first.
    pub fn ftp(
        &mut self,
        side: usize,
        ways: [Tuple; 2],
        frame: &[u8],
        headers: &Headers,
    ) -> Announced {
        let segment = headers
            .upper(frame)
            .and_then(|upper| TcpView::new(upper).ok());
        let Some(segment) = segment.filter(|segment| !segment.payload().is_empty()) else {
            return Announced::Nothing;
        };
        let (data, lines) = (segment.payload(), &mut self.lines[side]);
        let begins_line = lines.has(segment.sequence());
        let found = match begins_line {
            true => command(side, ways[0].source, data),
            false => Command::None,
        };
        if found == Command::Partly {
            return Announced::Partly;
        }
        if data.ends_with(b"\n") {
            lines.note(segment.sequence().wrapping_add(data.len() as u32));
        }
        match found {
            Command::Endpoint(address, port, text) if address == ways[0].source => {
                let expected = Expected {
                    zone: ways[0].zone,
                    protocol: protocol::TCP,
                    source: ways[1].source,
                    destination: ways[1].destination,
                    port,
                };
                Announced::Connection(expected, Some(text))
            }
            _ => Announced::Nothing,
        }
    }
}

/// Reads a datagram of a TFTP connection; `reply` is the key of its replies.
pub(super) fn tftp(reply: Tuple, frame: &[u8], headers: &Headers) -> Announced {
    /// Opcodes of requests to read and to write.
    const REQUESTS: [[u8; 2]; 2] = [[0, 1], [0, 2]];
    let opcode = headers.upper(frame).and_then(|upper| upper.get(8..10));
    match opcode.is_some_and(|opcode| REQUESTS.iter().any(|request| request == opcode)) {
        true => {
            let expected = Expected {
                zone: reply.zone,
                protocol: protocol::UDP,
                source: reply.source,
                destination: reply.destination,
                port: reply.ids[1],
            };
            Announced::Connection(expected, None)
        }
        false => Announced::Nothing,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command {
    None,
    Partly,
    Endpoint(IpAddr, u16, Text),
}

/// An endpoint, and the bytes before it and in it.
type Endpoint = (IpAddr, u16, [usize; 2]);

/// The command or answer at the beginning of a line, by the side of its sender, whose address stands for one that is not given.
fn command(side: usize, own: IpAddr, data: &[u8]) -> Command {
    type Read = fn(IpAddr, &[u8]) -> Option<Endpoint>;
    /// Its first word, the character before its argument (0: none), and form and reader of that.
    type Known = (&'static [u8], u8, Form, Read);
    const CLIENT: [Known; 2] = [
        (b"PORT", b' ', Form::Numbers, port),
        (b"EPRT", b' ', Form::Extended, extended_port),
    ];
    const SERVER: [Known; 2] = [
        (b"227 ", 0, Form::Numbers, passive),
        (b"229 ", b'(', Form::PortAlone, extended_passive),
    ];
    let known = if side == 0 { CLIENT } else { SERVER };
    for (word, before, form, read) in known {
        let length = word.len().min(data.len());
        if !data[..length].eq_ignore_ascii_case(&word[..length]) {
            continue;
        }
        if data.len() <= word.len() {
            return Command::Partly;
        }
        let rest = &data[word.len()..];
        let start = match before {
            0 => Some(0),
            before => rest
                .iter()
                .position(|byte| *byte == before)
                .map(|at| at + 1),
        };
        let found = start.and_then(|start| Some((start, read(own, &rest[start..])?)));
        return match found {
            None => Command::Partly,
            Some((start, (address, port, [at, length]))) => {
                let at = word.len() + start + at;
                Command::Endpoint(address, port, Text { at, length, form })
            }
        };
    }
    Command::None
}

/// Numbers with `separator` between them, and the number of bytes before what follows. What follows is `end`, or with `None`
/// anything; there must be something.
fn numbers<const N: usize>(
    data: &[u8],
    separator: u8,
    end: Option<u8>,
) -> Option<([u32; N], usize)> {
    let (mut all, mut index) = ([0_u32; N], 0);
    for (at, byte) in data.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                all[index] = all[index]
                    .wrapping_mul(10)
                    .wrapping_add(u32::from(byte - b'0'));
            }
            _ if *byte == separator => {
                index += 1;
                if index == N {
                    return None;
                }
            }
            _ if index == N - 1 && end.is_none_or(|end| end == *byte) => return Some((all, at)),
            _ => return None,
        }
    }
    None
}

/// An IPv4 address from four numbers, of which Linux lets the bits above eight run into those before.
fn address(of: [u32; 4]) -> Ipv4Addr {
    Ipv4Addr::from_bits(of[0] << 24 | of[1] << 16 | of[2] << 8 | of[3])
}

fn six(data: &[u8], end: Option<u8>) -> Option<Endpoint> {
    let ([a, b, c, d, high, low], length) = numbers::<6>(data, b',', end)?;
    let port = (high << 8 | low) as u16;
    Some((address([a, b, c, d]).into(), port, [0, length]))
}

fn port(_: IpAddr, data: &[u8]) -> Option<Endpoint> {
    six(data, Some(b'\r'))
}

/// The answer 227, whose text before the numbers servers choose (RFC 1123 section 4.1.2.6).
fn passive(_: IpAddr, data: &[u8]) -> Option<Endpoint> {
    let first = data.iter().position(u8::is_ascii_digit)?;
    let (address, port, [at, length]) = six(&data[first..], None)?;
    Some((address, port, [first + at, length]))
}

/// A port and the delimiter after it, and the bytes of both.
fn delimited_port(data: &[u8], delimiter: u8) -> Option<(u16, usize)> {
    let end = data.iter().position(|byte| !byte.is_ascii_digit())?;
    let digits = data[..end].iter();
    let port = digits.fold(0_u16, |port, digit| {
        port.wrapping_mul(10).wrapping_add(u16::from(digit - b'0'))
    });
    (data[end] == delimiter && port != 0).then_some((port, end + 1))
}

/// A delimiter: a character that is seen, and no digit (RFC 2428 section 2).
fn delimiter(data: &[u8]) -> Option<u8> {
    let first = *data.first().filter(|_| data.len() > 3)?;
    (first.is_ascii_graphic() && !first.is_ascii_digit()).then_some(first)
}

fn extended_port(own: IpAddr, data: &[u8]) -> Option<Endpoint> {
    let delimiter = delimiter(data)?;
    if data[2] != delimiter {
        return None;
    }
    let rest = &data[3..];
    let (address, length) = match (data[1], own) {
        (b'1', IpAddr::V4(_)) => {
            let (of, length) = numbers::<4>(rest, b'.', Some(delimiter))?;
            (address(of).into(), length)
        }
        (b'2', IpAddr::V6(_)) => {
            let length = rest
                .iter()
                .take(MAX_IPV6_TEXT)
                .position(|byte| *byte == delimiter)?;
            let text = core::str::from_utf8(&rest[..length]).ok()?;
            (IpAddr::V6(text.parse::<Ipv6Addr>().ok()?), length)
        }
        _ => return None,
    };
    let (port, end) = delimited_port(&rest[length + 1..], delimiter)?;
    Some((address, port, [0, 3 + length + 1 + end]))
}

fn extended_passive(own: IpAddr, data: &[u8]) -> Option<Endpoint> {
    let delimiter = delimiter(data)?;
    let is_empty = data[1] == delimiter && data[2] == delimiter;
    is_empty
        .then(|| delimited_port(&data[3..], delimiter))
        .flatten()
        .map(|(port, length)| (own, port, [0, 3 + length]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
    const V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, 2));

    #[test]
    fn announcements_of_both_sides_are_read() {
        let outside = Ipv4Addr::new(192, 0, 2, 100);
        for (side, text, place, behind_nat) in [
            (
                0,
                "PORT 10,0,0,2,1,57\r\n",
                "10,0,0,2,1,57",
                "192,0,2,100,255,254",
            ),
            (
                0,
                "port 10,0,0,2,1,57\r",
                "10,0,0,2,1,57",
                "192,0,2,100,255,254",
            ),
            (
                0,
                "EPRT !1!10.0.0.2!313!\r\n",
                "!1!10.0.0.2!313!",
                "|1|192.0.2.100|65534|",
            ),
            (
                1,
                "227 Entering Passive Mode (10,0,0,2,01,57).\r\n",
                "10,0,0,2,01,57",
                "192,0,2,100,255,254",
            ),
            (
                1,
                "227 =10,0,0,2,1,57\r\n",
                "10,0,0,2,1,57",
                "192,0,2,100,255,254",
            ),
            (1, "229 Extended (|||313|)\r\n", "|||313|", "|||65534|"),
        ] {
            let Command::Endpoint(address, port, found) = command(side, V4, text.as_bytes()) else {
                panic!("{text}");
            };
            assert_eq!((address, port), (V4, 313), "{text}");
            assert_eq!(&text[found.at..found.at + found.length], place, "{text}");
            assert_eq!(found.of(outside, 65_534), behind_nat);
        }
        let six = command(0, V6, b"EPRT |2|fd00::2|313|\r\n");
        assert!(matches!(six, Command::Endpoint(V6, 313, _)), "{six:?}");
    }

    #[test]
    fn commands_that_are_cut_off_are_known_as_such_and_others_are_none() {
        for (side, text) in [
            (0, "PO"),
            (0, "PORT"),
            (0, "PORT 10,0,0"),
            (0, "EPRT |1|10.0.0.2|31"),
            (1, "227 Entering"),
            (1, "229 (|||"),
            (0, "EPRT |2|fd00::2|313|\r\n"),
            (0, "PORT 10,0,0,2,1,57,9\r\n"),
            (1, "229 (|||0|)\r\n"),
            (1, "229 (1111|)\r\n"),
        ] {
            assert_eq!(
                command(side, V4, text.as_bytes()),
                Command::Partly,
                "{text}"
            );
        }
        for (side, text) in [
            (0, "USER x\r\n"),
            (0, "227 x"),
            (1, "PORT 1"),
            (1, "2270"),
            (1, "150 ok\r\n"),
        ] {
            assert_eq!(command(side, V4, text.as_bytes()), Command::None, "{text}");
        }
    }

    #[test]
    fn the_last_two_beginnings_of_lines_are_known() {
        let mut lines = Lines::default();
        for begin in [u32::MAX - 1, 5, 9] {
            lines.note(begin);
            lines.note(begin);
        }
        assert!(lines.has(5) && lines.has(9) && !lines.has(u32::MAX - 1));
        lines.note(4);
        assert!(lines.has(5) && lines.has(9), "a retransmission");
    }
}
