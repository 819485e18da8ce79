//! SNMP, version 2c (RFC 1901, RFC 3416), as far as asking for values goes: GetRequest, GetNextRequest and Response,
//! in the basic encoding rules of ASN.1 (X.690).

use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// Maximum number of parts of an object identifier (RFC 2578 section 3.5).
const MAX_OID_PARTS: usize = 128;
/// Maximum number of variables of an answer that are read.
const MAX_VARIABLES: usize = 256;
/// Version 2c in a message.
const VERSION: i64 = 1;

const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const NULL: u8 = 0x05;
const OBJECT: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const RESPONSE: u8 = 0xa2;

/// An object identifier, at least two parts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Oid(Vec<u32>);

/// A text that is no object identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OidError;

impl fmt::Display for OidError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object identifier is numbers with dots between, such as 1.3.6.1.2.1.1.3.0")
    }
}

impl core::error::Error for OidError {}

impl FromStr for Oid {
    type Err = OidError;

    fn from_str(text: &str) -> Result<Oid, OidError> {
        let text = text.strip_prefix('.').unwrap_or(text);
        let parts: Result<Vec<u32>, _> = text.split('.').map(str::parse).collect();
        let parts = parts.map_err(|_| OidError)?;
        let good = match parts[..] {
            [0 | 1, second, ..] => second < 40,
            // Both are one number in a message.
            [2, second, ..] => second <= u32::MAX - 80,
            _ => false,
        };
        match good && parts.len() <= MAX_OID_PARTS {
            true => Ok(Oid(parts)),
            false => Err(OidError),
        }
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            let dot = if index == 0 { "" } else { "." };
            write!(f, "{dot}{part}")?;
        }
        Ok(())
    }
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PduType {
    /// The values of these objects.
    Get,
    /// The names that come next behind these, and their values.
    GetNext,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    Integer(i64),
    /// Counter32, Gauge32, TimeTicks (hundredths of a second) or Counter64.
    Unsigned(u64),
    /// OCTET STRING.
    Octets(&'a [u8]),
    /// OBJECT IDENTIFIER.
    Name(Oid),
    /// IpAddress.
    Address([u8; 4]),
    /// Something of another type, by its tag.
    Other(u8),
    /// There is none: noSuchObject, noSuchInstance, endOfMibView, or null.
    Nothing,
}

impl Value<'_> {
    /// As a number, if it is one.
    pub fn number(&self) -> Option<i64> {
        match self {
            Value::Integer(number) => Some(*number),
            Value::Unsigned(number) => i64::try_from(*number).ok(),
            _ => None,
        }
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// The request's number.
    pub id: i32,
    /// 0, or why there is no answer (RFC 3416 section 3): 5 is a general error.
    pub error: i64,
    /// The objects and their values, in the order of the request.
    pub variables: Vec<(Oid, Value<'a>)>,
}

/// Why bytes are no answer: what was looked for where they were wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer of SNMP version 2c: {} is wrong", self.0)
    }
}

impl core::error::Error for Malformed {}

/// Writes a request for these objects, replacing what `out` has.
pub fn request(ask: PduType, community: &str, id: i32, names: &[Oid], out: &mut Vec<u8>) {
    let mut list = Vec::new();
    for name in names {
        let mut one = Vec::new();
        put(OBJECT, &object(name), &mut one);
        put(NULL, &[], &mut one);
        put(SEQUENCE, &one, &mut list);
    }
    let mut body = Vec::new();
    put(INTEGER, &integer(id.into()), &mut body);
    put(INTEGER, &[0], &mut body);
    put(INTEGER, &[0], &mut body);
    put(SEQUENCE, &list, &mut body);
    let mut message = Vec::new();
    put(INTEGER, &integer(VERSION), &mut message);
    put(OCTETS, community.as_bytes(), &mut message);
    let tag = match ask {
        PduType::Get => 0xa0,
        PduType::GetNext => 0xa1,
    };
    put(tag, &body, &mut message);
    out.clear();
    put(SEQUENCE, &message, out);
}

/// Reads an answer.
///
/// # Errors
/// What is wrong with it first; also more than 256 variables.
pub fn response(bytes: &[u8]) -> Result<Response<'_>, Malformed> {
    let mut rest = bytes;
    let mut message = expect(&mut rest, SEQUENCE, "the message")?;
    let version = number(expect(&mut message, INTEGER, "the version")?, "the version")?;
    if version != VERSION {
        return Err(Malformed("the version"));
    }
    expect(&mut message, OCTETS, "the community")?;
    let mut body = expect(&mut message, RESPONSE, "the kind of message")?;
    let id = number(expect(&mut body, INTEGER, "the number")?, "the number")?;
    let id = i32::try_from(id).map_err(|_| Malformed("the number"))?;
    let what = "the error";
    let error = number(expect(&mut body, INTEGER, what)?, what)?;
    number(expect(&mut body, INTEGER, what)?, what)?;
    let mut list = expect(&mut body, SEQUENCE, "the list of variables")?;
    let mut variables = Vec::new();
    while !list.is_empty() {
        if variables.len() == MAX_VARIABLES {
            return Err(Malformed("the number of variables"));
        }
        let mut one = expect(&mut list, SEQUENCE, "a variable")?;
        let name = name(expect(&mut one, OBJECT, "a name")?)?;
        let (tag, bytes) = take(&mut one, "a value")?;
        variables.push((name, value(tag, bytes)?));
    }
    Ok(Response {
        id,
        error,
        variables,
    })
}

fn value(tag: u8, bytes: &[u8]) -> Result<Value<'_>, Malformed> {
    Ok(match tag {
        INTEGER => Value::Integer(number(bytes, "a value")?),
        OCTETS => Value::Octets(bytes),
        OBJECT => Value::Name(name(bytes)?),
        0x40 => Value::Address(bytes.try_into().map_err(|_| Malformed("an address"))?),
        // Counter32, Gauge32, TimeTicks, Counter64.
        0x41..=0x43 | 0x46 => Value::Unsigned(unsigned(bytes)?),
        NULL | 0x80..=0x82 => Value::Nothing,
        other => Value::Other(other),
    })
}

/// Takes a tag, a length, and so many bytes.
fn take<'a>(rest: &mut &'a [u8], what: &'static str) -> Result<(u8, &'a [u8]), Malformed> {
    let wrong = Malformed(what);
    let [tag, first, after @ ..] = *rest else {
        return Err(wrong);
    };
    let (length, after) = match first {
        0..=0x7f => (usize::from(*first), after),
        // More than four bytes of length is no datagram; 0x80 has no length at all.
        0x81..=0x84 => {
            let (bytes, after) = after
                .split_at_checked(usize::from(first & 0x7f))
                .ok_or(wrong)?;
            let length = bytes
                .iter()
                .fold(0usize, |sum, byte| sum << 8 | usize::from(*byte));
            (length, after)
        }
        _ => return Err(wrong),
    };
    let (own, after) = after.split_at_checked(length).ok_or(wrong)?;
    *rest = after;
    Ok((*tag, own))
}

fn expect<'a>(rest: &mut &'a [u8], tag: u8, what: &'static str) -> Result<&'a [u8], Malformed> {
    match take(rest, what)? {
        (found, bytes) if found == tag => Ok(bytes),
        _ => Err(Malformed(what)),
    }
}

fn number(bytes: &[u8], what: &'static str) -> Result<i64, Malformed> {
    match bytes {
        [first, ..] if bytes.len() <= 8 => {
            let sign = i64::from(*first as i8) >> 7;
            Ok(bytes
                .iter()
                .fold(sign, |sum, byte| sum << 8 | i64::from(*byte)))
        }
        _ => Err(Malformed(what)),
    }
}

fn unsigned(bytes: &[u8]) -> Result<u64, Malformed> {
    // A zero before it keeps the highest bit from being a sign.
    let bytes = bytes
        .strip_prefix(&[0])
        .filter(|rest| !rest.is_empty())
        .unwrap_or(bytes);
    match bytes.len() {
        1..=8 => Ok(bytes
            .iter()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte))),
        _ => Err(Malformed("a number")),
    }
}

fn name(bytes: &[u8]) -> Result<Oid, Malformed> {
    let wrong = Malformed("a name");
    let (mut parts, mut part) = (Vec::new(), 0u32);
    let mut whole = false;
    for byte in bytes {
        if part > u32::MAX >> 7 || parts.len() >= MAX_OID_PARTS {
            return Err(wrong);
        }
        part = part << 7 | u32::from(byte & 0x7f);
        whole = byte & 0x80 == 0;
        if whole {
            if parts.is_empty() {
                let first = (part / 40).min(2);
                parts.push(first);
                part -= 40 * first;
            }
            parts.push(part);
            part = 0;
        }
    }
    match whole {
        true => Ok(Oid(parts)),
        false => Err(wrong),
    }
}

fn put(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    let length = (bytes.len() as u32).to_be_bytes();
    match bytes.len() {
        0..0x80 => out.push(length[3]),
        0x80..0x100 => out.extend([0x81, length[3]]),
        0x100..0x1_0000 => out.extend([0x82, length[2], length[3]]),
        _ => {
            out.push(0x84);
            out.extend(length);
        }
    }
    out.extend(bytes);
}

/// As few bytes as hold the number and its sign.
fn integer(number: i64) -> Vec<u8> {
    let bytes = number.to_be_bytes();
    let keeps = |at: usize| {
        let fill = if number < 0 { 0xff } else { 0 };
        at < 7 && bytes[at] == fill && (bytes[at + 1] ^ fill) & 0x80 == 0
    };
    let skip = (0..7).take_while(|&at| keeps(at)).count();
    bytes[skip..].into()
}

fn object(name: &Oid) -> Vec<u8> {
    let mut out = Vec::new();
    let [first, second, rest @ ..] = &name.0[..] else {
        return out;
    };
    for part in core::iter::once(first * 40 + second).chain(rest.iter().copied()) {
        let groups = (32 - part.leading_zeros()).div_ceil(7).max(1);
        for group in (0..groups).rev() {
            let more = if group > 0 { 0x80 } else { 0 };
            out.push((part >> (7 * group)) as u8 & 0x7f | more);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    /// What snmpd 5.9 answered to `snmpget -v2c -c public HOST 1.3.6.1.2.1.1.3.0 1.3.6.1.4.1.2021.11.53.0`, but
    /// for its values, put together by hand from RFC 3416.
    fn answer() -> Vec<u8> {
        let mut list = Vec::new();
        for (text, tag, bytes) in [
            ("1.3.6.1.2.1.1.3.0", 0x43, &[0x00, 0x9c, 0x40][..]),
            ("1.3.6.1.4.1.2021.11.53.0", 0x41, &[0x01, 0x00]),
            ("1.3.6.1.2.1.1.1.0", OCTETS, b"Linux"),
            ("2.999.3", 0x81, &[]),
        ] {
            let mut one = Vec::new();
            put(OBJECT, &object(&text.parse().unwrap()), &mut one);
            put(tag, bytes, &mut one);
            put(SEQUENCE, &one, &mut list);
        }
        let mut body = Vec::new();
        put(INTEGER, &integer(-5), &mut body);
        put(INTEGER, &[0], &mut body);
        put(INTEGER, &[0], &mut body);
        put(SEQUENCE, &list, &mut body);
        let mut message = Vec::new();
        put(INTEGER, &[1], &mut message);
        put(OCTETS, b"public", &mut message);
        put(RESPONSE, &body, &mut message);
        let mut all = Vec::new();
        put(SEQUENCE, &message, &mut all);
        all
    }

    #[test]
    fn an_answer_is_read_and_each_of_its_pieces_refused() {
        let answer = answer();
        let read = response(&answer).unwrap();
        assert_eq!((read.id, read.error), (-5, 0));
        let values: Vec<_> = read
            .variables
            .iter()
            .map(|(_, value)| value.clone())
            .collect();
        let octets = Value::Octets(b"Linux");
        let wanted = [
            Value::Unsigned(40_000),
            Value::Unsigned(256),
            octets,
            Value::Nothing,
        ];
        assert_eq!(values, wanted);
        assert_eq!(read.variables[1].0.to_string(), "1.3.6.1.4.1.2021.11.53.0");
        assert_eq!(read.variables[3].0.to_string(), "2.999.3");
        for length in 0..answer.len() {
            assert!(response(&answer[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn a_request_is_as_the_standard_has_it() {
        let mut out = Vec::new();
        let names = ["1.3.6.1.2.1.1.3.0".parse().unwrap()];
        request(PduType::Get, "public", 0x1234, &names, &mut out);
        let wanted = vec![
            0x30, 0x27, 0x02, 0x01, 0x01, 0x04, 0x06, b'p', b'u', b'b', b'l', b'i', b'c', 0xa0,
            0x1a, 0x02, 0x02, 0x12, 0x34, 0x02, 0x01, 0x00, 0x02, 0x01, 0x00, 0x30, 0x0e, 0x30,
            0x0c, 0x06, 0x08, 0x2b, 0x06, 0x01, 0x02, 0x01, 0x01, 0x03, 0x00, 0x05, 0x00,
        ];
        assert_eq!(out, wanted);
    }

    #[test]
    fn names_and_numbers_at_their_limits() {
        for text in ["", "1", "3.1", "1.40", "1.3.x", "1.3.4294967296"] {
            assert_eq!(text.parse::<Oid>(), Err(OidError), "{text}");
        }
        for text in ["0.0", "1.39.4294967295", "2.47.128.127.16384"] {
            let oid: Oid = text.parse().unwrap();
            assert_eq!(name(&object(&oid)).unwrap().to_string(), text);
        }
        for number in [0, 127, 128, -128, -129, i64::MAX, i64::MIN] {
            assert_eq!(super::number(&integer(number), "it"), Ok(number));
        }
        assert_eq!(
            unsigned(&[0, 255, 255, 255, 255, 255, 255, 255, 255]),
            Ok(u64::MAX)
        );
        assert_eq!(
            name(&[0x2b, 0x90, 0x80, 0x80, 0x80, 0x00]),
            Err(Malformed("a name"))
        );
    }
}
