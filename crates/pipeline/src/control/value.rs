//! Values and matches as people write them.
//!
//! A value is a number (`42`, `0x2a`, `0b101010`, `0o52`, digits may be parted by `_`), an IPv4 address for 32 bits, an
//! IPv6 address for 128 bits, a MAC address for 48 bits, `true` or `false` for a bool. A match is a value, `*` for whatever it is,
//! `VALUE/LENGTH`, `VALUE &&& MASK`, a number with `*` for digits that do not count (`0x25**`, `0b1*0`), or `FROM..TO`.

use super::Error;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use num_bigint::{BigInt, BigUint};
use num_traits::{Num, One, Zero};
use p4::ir::{KeyMatch, MatchKind, Ty};
use p4::value::{Bits, mask};

/// Maximum number of digits of a value; it bounds the work on hostile input.
const MAX_DIGITS: usize = 20_000;

/// A value of a type. The error says what is wrong with the text; the caller says where it stood.
pub fn parse(text: &str, ty: Ty) -> Result<Bits, Error> {
    let width = ty.width();
    if ty == Ty::Bool {
        match text {
            "true" => return Ok(Bits::from(true)),
            "false" => return Ok(Bits::from(false)),
            _ => {}
        }
    }
    if let Some(bytes) = mac(text) {
        return address(text, "a MAC address", &bytes, ty);
    }
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => return address(text, "an IPv4 address", &ip.octets(), ty),
        Ok(IpAddr::V6(ip)) => return address(text, "an IPv6 address", &ip.octets(), ty),
        Err(_) => {}
    }
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let value = number(digits).ok_or_else(|| {
        Error::value(format!(
            "`{text}` is not a value of {}: write a number (10, 0x0a, 0b1010){}",
            describe(ty),
            match width {
                1 => " or true, false",
                32 => " or an address such as 10.0.0.1",
                48 => " or an address such as 00:11:22:33:44:55",
                128 => " or an address such as 2001:db8::1",
                _ => "",
            }
        ))
    })?;
    fit(text, negative, &value, ty)
}

/// A match of a key of the kind (`exact`, `lpm`, ...).
pub fn parse_match(text: &str, ty: Ty, kind: &MatchKind) -> Result<KeyMatch, Error> {
    let parsed = any_match(text.trim(), ty)?;
    adapt(parsed, ty.width(), kind).map_err(|reason| Error::value(format!("`{text}` {reason}")))
}

/// The match in the form that a kind of key has, when it has one.
pub fn adapt(given: KeyMatch, width: u32, kind: &MatchKind) -> Result<KeyMatch, &'static str> {
    let given = match given {
        // A length of nothing and a mask of nothing say that the value does not count.
        KeyMatch::Prefix(_, 0) => KeyMatch::Any,
        KeyMatch::Mask(_, m) if m.unsigned().is_zero() => KeyMatch::Any,
        KeyMatch::Prefix(value, length) if length >= width => KeyMatch::Exact(value),
        KeyMatch::Mask(value, m) if *m.unsigned() == mask(width) => KeyMatch::Exact(value),
        KeyMatch::Range(low, high) if low == high => KeyMatch::Exact(low),
        KeyMatch::Range(low, high)
            if low.unsigned().is_zero() && *high.unsigned() == mask(width) =>
        {
            KeyMatch::Any
        }
        other => other,
    };
    Ok(match (kind, given) {
        (MatchKind::Exact, KeyMatch::Exact(value)) => KeyMatch::Exact(value),
        (MatchKind::Exact, _) => {
            return Err("leaves a choice, but the key is exact: write one value");
        }
        (MatchKind::Optional, KeyMatch::Exact(value)) => KeyMatch::Exact(value),
        (MatchKind::Optional, KeyMatch::Any) => KeyMatch::Any,
        (MatchKind::Optional, _) => {
            return Err("is neither one value nor `*`, and the key is optional");
        }
        (MatchKind::Lpm, KeyMatch::Any) => KeyMatch::Any,
        (MatchKind::Lpm, KeyMatch::Exact(value)) => KeyMatch::Prefix(value, width),
        (MatchKind::Lpm, KeyMatch::Prefix(value, length)) => {
            KeyMatch::Prefix(and(&value, &prefix_mask(width, length)), length)
        }
        (MatchKind::Lpm, KeyMatch::Mask(value, m)) => match prefix_length(&m) {
            Some(length) => KeyMatch::Prefix(and(&value, &m), length),
            None => {
                return Err("has a mask with gaps, but the key is lpm: write VALUE/LENGTH");
            }
        },
        (MatchKind::Lpm, KeyMatch::Range(..)) => {
            return Err("is a range, but the key is lpm: write VALUE/LENGTH");
        }
        (MatchKind::Range, KeyMatch::Exact(value)) => KeyMatch::Range(value.clone(), value),
        (MatchKind::Range, KeyMatch::Prefix(value, length)) => {
            block(&value, &prefix_mask(width, length))
        }
        (MatchKind::Range, KeyMatch::Mask(value, m)) => match prefix_length(&m) {
            Some(_) => block(&value, &m),
            None => return Err("has a mask with gaps, but the key is a range: write FROM..TO"),
        },
        (MatchKind::Ternary, KeyMatch::Prefix(value, length)) => {
            let m = prefix_mask(width, length);
            KeyMatch::Mask(and(&value, &m), m)
        }
        (MatchKind::Ternary, KeyMatch::Exact(value)) => {
            KeyMatch::Mask(value, Bits::new(width, mask(width)))
        }
        (MatchKind::Ternary, KeyMatch::Mask(value, m)) => KeyMatch::Mask(and(&value, &m), m),
        (MatchKind::Ternary, KeyMatch::Range(low, high)) => match block_mask(&low, &high) {
            Some(m) => KeyMatch::Mask(low, m),
            None => {
                return Err(
                    "is a range that no single mask gives, but the key is ternary: write VALUE &&& MASK",
                );
            }
        },
        (_, other) => other,
    })
}

fn any_match(text: &str, ty: Ty) -> Result<KeyMatch, Error> {
    let width = ty.width();
    if matches!(text, "*" | "_" | "any") {
        return Ok(KeyMatch::Any);
    }
    if let Some((value, m)) = text.split_once("&&&") {
        return Ok(KeyMatch::Mask(
            parse(value.trim(), ty)?,
            parse_mask(m.trim(), width)?,
        ));
    }
    if let Some((low, high)) = text.split_once("..").or_else(|| text.split_once("->")) {
        let high = high.strip_prefix('.').unwrap_or(high);
        let (low, high) = (parse(low.trim(), ty)?, parse(high.trim(), ty)?);
        let order = match ty {
            Ty::Signed(_) => low.signed() <= high.signed(),
            _ => low <= high,
        };
        if !order {
            return Err(Error::value(format!("`{text}` ends before it begins")));
        }
        return Ok(KeyMatch::Range(low, high));
    }
    if let Some((value, length)) = text.split_once('/') {
        let value = parse(value.trim(), ty)?;
        let length = length.trim();
        // A mask in the form of an address, as routers write it.
        if length.contains('.') || length.contains(':') || length.starts_with("0x") {
            return Ok(KeyMatch::Mask(value, parse_mask(length, width)?));
        }
        return match length.parse::<u32>() {
            Ok(length) if length <= width => Ok(KeyMatch::Prefix(value, length)),
            _ => Err(Error::value(format!(
                "`{length}` is not a length of a prefix of {}: write 0 to {width}",
                describe(ty)
            ))),
        };
    }
    if text.contains('*') {
        return wildcards(text, ty);
    }
    Ok(KeyMatch::Exact(parse(text, ty)?))
}

/// A mask is a bit pattern also where the key is signed.
fn parse_mask(text: &str, width: u32) -> Result<Bits, Error> {
    parse(text, Ty::Bits(width))
}

/// `0x25**`, `0b1*0`: a star is a digit that does not count.
fn wildcards(text: &str, ty: Ty) -> Result<KeyMatch, Error> {
    let width = ty.width();
    let bad = || {
        Error::value(format!(
            "`{text}` is not a value of {}: `*` stands for a digit behind 0x or 0b",
            describe(ty)
        ))
    };
    let lower = text.to_ascii_lowercase();
    let (digits, each) = if let Some(digits) = lower.strip_prefix("0x") {
        (digits, 4u32)
    } else if let Some(digits) = lower.strip_prefix("0b") {
        (digits, 1)
    } else {
        return Err(bad());
    };
    if digits.len() > MAX_DIGITS {
        return Err(bad());
    }
    let radix = 1 << each;
    let (mut value, mut m) = (BigUint::zero(), BigUint::zero());
    for digit in digits.chars().filter(|c| *c != '_') {
        value <<= each;
        m <<= each;
        if digit != '*' {
            value += digit.to_digit(radix).ok_or_else(bad)?;
            m += radix - 1;
        }
    }
    if value.bits() > u64::from(width) {
        return Err(too_wide(text, ty));
    }
    // Digits that are not written are zeros, and count: those above the first one too.
    let written = digits.chars().filter(|c| *c != '_').count() as u64 * u64::from(each);
    if written < u64::from(width) {
        m |= mask(width) ^ mask(written as u32);
    }
    Ok(KeyMatch::Mask(Bits::new(width, value), Bits::new(width, m)))
}

fn number(text: &str) -> Option<BigUint> {
    if text.len() > MAX_DIGITS {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    // A width as P4 writes it (`16w0x800`) is checked against the type like everything else.
    let (digits, radix) = match lower.get(..2) {
        Some("0x") => (&lower[2..], 16),
        Some("0b") => (&lower[2..], 2),
        Some("0o") => (&lower[2..], 8),
        _ => (&lower[..], 10),
    };
    let digits: String = digits.chars().filter(|c| *c != '_').collect();
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    BigUint::from_str_radix(&digits, radix).ok()
}

fn fit(text: &str, negative: bool, value: &BigUint, ty: Ty) -> Result<Bits, Error> {
    let width = ty.width();
    if !negative {
        return if value.bits() <= u64::from(width) {
            Ok(Bits::new(width, value.clone()))
        } else {
            Err(too_wide(text, ty))
        };
    }
    let signed = -BigInt::from(value.clone());
    let least = match ty {
        Ty::Signed(width) if width > 0 => -(BigInt::one() << (width - 1)),
        _ if value.is_zero() => BigInt::zero(),
        _ => {
            return Err(Error::value(format!(
                "`{text}` is negative, and {} has no sign",
                describe(ty)
            )));
        }
    };
    if signed < least {
        return Err(too_wide(text, ty));
    }
    Ok(Bits::from_int(width, &signed))
}

fn too_wide(text: &str, ty: Ty) -> Error {
    let most = match mask(ty.width()) {
        most if ty.width() <= 64 => format!("{most}"),
        most => format!("{most:#x}"),
    };
    Error::value(format!(
        "`{text}` does not fit into {}: the most is {most}",
        describe(ty)
    ))
}

fn address(text: &str, kind: &str, bytes: &[u8], ty: Ty) -> Result<Bits, Error> {
    let width = bytes.len() as u32 * 8;
    if width != ty.width() {
        return Err(Error::value(format!(
            "`{text}` is {kind} and has {width} bits, but here stands {}",
            describe(ty)
        )));
    }
    Ok(Bits::new(width, BigUint::from_bytes_be(bytes)))
}

fn mac(text: &str) -> Option<Vec<u8>> {
    let separator = text.chars().find(|c| matches!(c, ':' | '-'))?;
    let parts: Vec<_> = text.split(separator).collect();
    if parts.len() != 6 {
        return None;
    }
    parts
        .iter()
        .map(|part| {
            let hex = (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_hexdigit());
            hex.then(|| u8::from_str_radix(part, 16).ok()).flatten()
        })
        .collect()
}

fn describe(ty: Ty) -> String {
    match ty {
        Ty::Bool => "bool".to_string(),
        Ty::Bits(width) => format!("bit<{width}>"),
        Ty::Signed(width) => format!("int<{width}>"),
        Ty::Varbit(width) => format!("varbit<{width}>"),
    }
}

fn and(value: &Bits, m: &Bits) -> Bits {
    Bits::new(value.width(), value.unsigned() & m.unsigned())
}

/// So many leading ones.
#[must_use]
pub fn prefix_mask(width: u32, length: u32) -> Bits {
    let length = length.min(width);
    Bits::new(width, mask(length) << (width - length))
}

/// How many leading ones, when nothing else is set.
#[must_use]
pub fn prefix_length(m: &Bits) -> Option<u32> {
    let ones = m.unsigned().count_ones() as u32;
    (prefix_mask(m.width(), ones) == *m).then_some(ones)
}

/// The values that a prefix stands for, as a range.
fn block(value: &Bits, m: &Bits) -> KeyMatch {
    let width = value.width();
    let low = and(value, m);
    let high = Bits::new(width, low.unsigned() | (mask(width) ^ m.unsigned()));
    KeyMatch::Range(low, high)
}

/// The mask that gives just the values of a range, where there is one.
fn block_mask(low: &Bits, high: &Bits) -> Option<Bits> {
    let differing = low.unsigned() ^ high.unsigned();
    let free = differing.clone();
    let full = mask(free.bits() as u32);
    (differing == full && (low.unsigned() & &full).is_zero())
        .then(|| Bits::new(low.width(), mask(low.width()) ^ full))
}

/// The value as people read it best: an address where it has an address's width and `addresses`
/// says
/// so, `0x` and all digits where it has more than 16 bits, decimal otherwise. No host has an
/// address
/// in 0.0.0.0/8 (RFC 6890): such a value of 32 bits is an index or a count, and shown in decimal.
#[must_use]
pub fn display(value: &Bits, addresses: bool) -> String {
    let bytes = || {
        let digits = value.unsigned().to_bytes_be();
        let mut bytes = alloc::vec![0; (value.width() as usize / 8).saturating_sub(digits.len())];
        bytes.extend(digits);
        bytes
    };
    match value.width() {
        32 if addresses => match value.to_u64().unwrap_or(0) as u32 {
            number @ 0..0x0100_0000 => number.to_string(),
            number => Ipv4Addr::from(number).to_string(),
        },
        48 if addresses => {
            let parts: Vec<_> = bytes().iter().map(|b| format!("{b:02x}")).collect();
            parts.join(":")
        }
        128 if addresses => {
            let mut octets = [0; 16];
            octets.copy_from_slice(&bytes()[..16]);
            Ipv6Addr::from(octets).to_string()
        }
        width if width <= 16 => format!("{}", value.unsigned()),
        width => format!(
            "{:#0digits$x}",
            value.unsigned(),
            digits = 2 + width.div_ceil(4) as usize
        ),
    }
}

/// The value of a register's cell: a number, in decimal as far as 64 bits go.
#[must_use]
pub fn display_number(value: &Bits) -> String {
    match value.to_u64() {
        Some(number) => number.to_string(),
        None => display(value, false),
    }
}

/// A match as [`parse_match`] reads it.
#[must_use]
pub fn display_match(given: &KeyMatch, addresses: bool) -> String {
    match given {
        KeyMatch::Any => "*".to_string(),
        KeyMatch::Exact(value) => display(value, addresses),
        KeyMatch::Prefix(value, length) => format!("{}/{length}", display(value, addresses)),
        KeyMatch::Mask(value, m) if *m.unsigned() == mask(m.width()) => display(value, addresses),
        KeyMatch::Mask(value, m) => {
            format!("{}&&&{:#x}", display(value, addresses), m.unsigned())
        }
        KeyMatch::Range(low, high) => {
            format!("{}..{}", display(low, addresses), display(high, addresses))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(width: u32, value: u64) -> Bits {
        Bits::new(width, value)
    }

    #[test]
    fn numbers_and_addresses_are_read_in_every_notation() {
        for (text, width, value) in [
            ("10", 8, 10u64),
            ("0x0a", 8, 10),
            ("0b1010", 4, 10),
            ("0o12", 4, 10),
            ("1_000", 16, 1000),
            ("10.0.0.1", 32, 0x0a00_0001),
            ("00:11:22:33:44:55", 48, 0x0011_2233_4455),
            ("00-11-22-33-44-55", 48, 0x0011_2233_4455),
        ] {
            assert_eq!(
                parse(text, Ty::Bits(width)).unwrap(),
                bits(width, value),
                "{text}"
            );
        }
        let address = parse("2001:db8::1", Ty::Bits(128)).unwrap();
        assert_eq!(
            *address.unsigned(),
            (BigUint::from(0x2001_0db8u32) << 96u32) + 1u8
        );
        assert_eq!(parse("-1", Ty::Signed(8)).unwrap(), bits(8, 255));
        assert_eq!(parse("true", Ty::Bool).unwrap(), bits(1, 1));
    }

    #[test]
    fn an_index_is_shown_as_a_number_and_an_address_as_one() {
        for (width, value, shown) in [
            (32, 0, "0"),
            (32, 1, "1"),
            (32, 0x00ff_ffff, "16777215"),
            (32, 0x0100_0000, "1.0.0.0"),
            (32, 0x0a00_0001, "10.0.0.1"),
            (48, 1, "00:00:00:00:00:01"),
            (9, 511, "511"),
        ] {
            assert_eq!(display(&bits(width, value), true), shown);
            let back = parse(shown, Ty::Bits(width)).unwrap();
            assert_eq!(back, bits(width, value), "{shown} is read as it was");
        }
        assert_eq!(display_number(&bits(48, 0x0011_2233_4455)), "73588229205");
        assert_eq!(display_number(&bits(32, 0x0a00_0001)), "167772161");
        let wide = Bits::new(128, BigUint::one() << 100u32);
        assert_eq!(parse(&display_number(&wide), Ty::Bits(128)).unwrap(), wide);
    }

    #[test]
    fn values_that_do_not_fit_are_refused_with_the_width() {
        for (text, ty, says) in [
            (
                "256",
                Ty::Bits(8),
                "does not fit into bit<8>: the most is 255",
            ),
            (
                "10.0.0.1",
                Ty::Bits(9),
                "has 32 bits, but here stands bit<9>",
            ),
            ("-1", Ty::Bits(8), "bit<8> has no sign"),
            ("-129", Ty::Signed(8), "does not fit into int<8>"),
            ("ten", Ty::Bits(48), "00:11:22:33:44:55"),
            ("", Ty::Bits(8), "is not a value"),
            ("0x", Ty::Bits(8), "is not a value"),
        ] {
            let error = parse(text, ty).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn matches_take_the_form_of_their_key() {
        let ternary = |value, m| KeyMatch::Mask(bits(16, value), bits(16, m));
        for (text, kind, expected) in [
            ("0x25**", "ternary", ternary(0x2500, 0xff00)),
            ("0x5*", "ternary", ternary(0x50, 0xfff0)),
            ("7", "ternary", ternary(7, 0xffff)),
            ("0x1234 &&& 0xf0", "ternary", ternary(0x30, 0xf0)),
            ("0x1234/8", "ternary", ternary(0x1200, 0xff00)),
            ("0x100..0x1ff", "ternary", ternary(0x100, 0xff00)),
            ("*", "ternary", KeyMatch::Any),
            ("0x12**", "lpm", KeyMatch::Prefix(bits(16, 0x1200), 8)),
            ("0x1234/8", "lpm", KeyMatch::Prefix(bits(16, 0x1200), 8)),
            ("0x1234", "lpm", KeyMatch::Prefix(bits(16, 0x1234), 16)),
            ("0x1234/0", "lpm", KeyMatch::Any),
            ("5..9", "range", KeyMatch::Range(bits(16, 5), bits(16, 9))),
            ("5->9", "range", KeyMatch::Range(bits(16, 5), bits(16, 9))),
            ("5", "range", KeyMatch::Range(bits(16, 5), bits(16, 5))),
            ("0..65535", "range", KeyMatch::Any),
            ("5", "optional", KeyMatch::Exact(bits(16, 5))),
            ("_", "optional", KeyMatch::Any),
            ("5/16", "exact", KeyMatch::Exact(bits(16, 5))),
        ] {
            let of = &MatchKind::from(kind);
            let got = parse_match(text, Ty::Bits(16), of).unwrap();
            assert_eq!(got, expected, "{text} {kind}");
            let again = parse_match(&display_match(&got, true), Ty::Bits(16), of).unwrap();
            assert_eq!(again, got, "{text} {kind} as shown");
        }
    }

    #[test]
    fn matches_of_another_form_are_refused_with_the_right_one() {
        for (text, kind, says) in [
            ("*", "exact", "write one value"),
            ("1..2", "lpm", "write VALUE/LENGTH"),
            ("1 &&& 5", "lpm", "write VALUE/LENGTH"),
            ("1 &&& 5", "range", "write FROM..TO"),
            ("1..2", "ternary", "write VALUE &&& MASK"),
            ("1/8", "optional", "neither one value nor `*`"),
            ("1/17", "lpm", "write 0 to 16"),
            ("9..5", "range", "ends before it begins"),
            ("12**", "ternary", "behind 0x or 0b"),
        ] {
            let error = parse_match(text, Ty::Bits(16), &kind.into())
                .unwrap_err()
                .to_string();
            assert!(error.contains(says), "{text} {kind}: {error}");
        }
    }
}
