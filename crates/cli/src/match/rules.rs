//! Rules of the form FIELD=VALUE, and how they are tried on a line's text.

use crate::blocks::is_blank;
use crate::fields::{Field, Line, has_ports};
use crate::layout::{self, Layout};
use anyhow::{Context, bail, ensure};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::str::FromStr;

#[derive(Clone, Debug)]
pub struct Rule {
    field: Field,
    value: Value,
}

#[derive(Clone, Debug)]
enum Value {
    /// Digits, in the form in which [`fold`] gives those of a line.
    Digits(u128),
    Number(u16),
    Prefix(IpAddr, u32),
}

impl FromStr for Rule {
    type Err = anyhow::Error;
    fn from_str(text: &str) -> anyhow::Result<Rule> {
        let (field, value) = text
            .split_once('=')
            .with_context(|| format!("`{text}` is not FIELD=VALUE, such as dst=001122334455"))?;
        let field: Field = field.parse()?;
        let value = match field {
            Field::Dst | Field::Src => digits(value, 12)?,
            Field::Type => digits(value, 4)?,
            Field::Proto if value == "icmp" => Value::Number(1),
            Field::Proto if value == "tcp" => Value::Number(6),
            Field::Proto if value == "udp" => Value::Number(17),
            Field::Vlan | Field::Proto | Field::Sport | Field::Dport => {
                let number = value.parse();
                Value::Number(
                    number.with_context(|| format!("`{value}` in `{text}` is no number"))?,
                )
            }
            Field::IpSrc | Field::IpDst => prefix(value)?,
            Field::Time | Field::Hash | Field::Ether | Field::Payload => {
                bail!(
                    "a rule cannot name {}; `wire cut {0} --command` can",
                    field.name()
                )
            }
        };
        Ok(Rule { field, value })
    }
}

/// Reads hexadecimal digits, with or without colons or dashes.
fn digits(text: &str, count: usize) -> anyhow::Result<Value> {
    let digits: Vec<u8> = text.bytes().filter(|b| !matches!(b, b':' | b'-')).collect();
    let sound = digits.len() == count && digits.iter().all(u8::is_ascii_hexdigit);
    ensure!(sound, "`{text}` is not {count} hexadecimal digits");
    Ok(Value::Digits(fold(&digits)))
}

/// Reads an address, or a prefix of addresses.
fn prefix(text: &str) -> anyhow::Result<Value> {
    let place = || format!("`{text}` is neither an IP address nor a prefix such as 10.0.0.0/8");
    let (address, length) = text
        .split_once('/')
        .map_or((text, None), |(a, l)| (a, Some(l)));
    let address: IpAddr = address.parse().with_context(place)?;
    let longest = if address.is_ipv4() { 32 } else { 128 };
    let length = length.map_or(Ok(longest), str::parse).with_context(place)?;
    ensure!(length <= longest, place());
    Ok(Value::Prefix(address, length))
}

/// At most 16 digits as a number that is the same for either case: 0x20 turns upper into lower
/// case and leaves 0 to 9 as they are.
#[inline]
fn fold(digits: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    bytes[..digits.len()].copy_from_slice(digits);
    u128::from_le_bytes(bytes) | u128::from_le_bytes([0x20; 16])
}

/// Whether an address lies within a prefix.
fn within(address: IpAddr, prefix: IpAddr, length: u32) -> bool {
    match (address, prefix) {
        (IpAddr::V4(a), IpAddr::V4(p)) => {
            let differs = u32::from(a) ^ u32::from(p);
            differs.leading_zeros() >= length
        }
        (IpAddr::V6(a), IpAddr::V6(p)) => {
            let differs = u128::from(a) ^ u128::from(p);
            differs.leading_zeros() >= length
        }
        _ => false,
    }
}

/// Maximum number of values that are compared one by one; more are kept in a set.
const MAX_LINEAR_VALUES: usize = 12;

/// Rules together.
pub struct Rules {
    /// Values compared with the text of the line, by field.
    dst: Values,
    src: Values,
    ethertype: Values,
    /// Rules for which the packet's head is decoded.
    inner: Vec<Rule>,
    all: bool,
    invert: bool,
}

/// Values of one field: a few to be compared in turn, or many in a set.
#[derive(Default)]
struct Values {
    few: Vec<u128>,
    many: BTreeSet<u128>,
}

impl Values {
    #[inline]
    fn has(&self, value: u128) -> bool {
        self.few.contains(&value) || !self.many.is_empty() && self.many.contains(&value)
    }

    fn all_are(&self, value: u128) -> bool {
        self.few.iter().chain(&self.many).all(|one| *one == value)
    }

    fn is_empty(&self) -> bool {
        self.few.is_empty() && self.many.is_empty()
    }
}

impl FromIterator<u128> for Values {
    fn from_iter<I: IntoIterator<Item = u128>>(values: I) -> Values {
        let few: Vec<u128> = values.into_iter().collect();
        if few.len() <= MAX_LINEAR_VALUES {
            Values {
                few,
                many: BTreeSet::new(),
            }
        } else {
            Values {
                few: Vec::new(),
                many: few.into_iter().collect(),
            }
        }
    }
}

impl Rules {
    /// Rules of which any, or all, must hold; or the contrary.
    pub fn new(rules: Vec<Rule>, all: bool, invert: bool) -> Rules {
        let digits = |field| {
            let of_field = rules.iter().filter(|rule| rule.field == field);
            of_field
                .filter_map(|rule| match rule.value {
                    Value::Digits(digits) => Some(digits),
                    _ => None,
                })
                .collect()
        };
        let (dst, src, ethertype) = (digits(Field::Dst), digits(Field::Src), digits(Field::Type));
        let inner = |rule: &Rule| !matches!(rule.value, Value::Digits(_));
        Rules {
            dst,
            src,
            ethertype,
            inner: rules.into_iter().filter(inner).collect(),
            all,
            invert,
        }
    }

    /// Whether a line, which may end in a newline, is chosen; `None` if it is none. An empty line
    /// or a comment is not chosen.
    #[inline]
    pub fn judge(&self, line: &[u8], scratch: &mut Vec<u8>) -> Option<bool> {
        if let Some(layout) = Layout::of(line) {
            return Some(self.hold(line, layout) != self.invert);
        }
        self.judge_untidy(line, scratch)
    }

    /// Lines with other blanks than on output, or with nothing behind the type.
    #[cold]
    fn judge_untidy(&self, line: &[u8], scratch: &mut Vec<u8>) -> Option<bool> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if is_blank(line) {
            return Some(false);
        }
        layout::tidy(line, scratch);
        let layout = Layout::of(scratch)?;
        Some(self.hold(scratch, layout) != self.invert)
    }

    #[inline]
    fn hold(&self, line: &[u8], layout: Layout) -> bool {
        let outer = [
            (&self.dst, layout.dst()),
            (&self.src, layout.src()),
            (&self.ethertype, layout.ethertype()),
        ];
        let mut outer = outer.into_iter().filter(|(values, _)| !values.is_empty());
        if self.all {
            outer.all(|(values, range)| values.all_are(fold(&line[range])))
                && self.inner_hold(line, layout)
        } else {
            outer.any(|(values, range)| values.has(fold(&line[range])))
                || self.inner_hold(line, layout)
        }
    }

    /// Whether all or any of the rules hold that look into the packet.
    fn inner_hold(&self, line: &[u8], layout: Layout) -> bool {
        if self.inner.is_empty() {
            return self.all;
        }
        let mut line = Line::with_layout(line, layout);
        let mut holds = |rule: &Rule| -> Option<bool> {
            Some(match (rule.field, &rule.value) {
                (Field::Vlan, Value::Number(id)) => line.vlan()? == *id,
                (Field::Proto, Value::Number(n)) => u16::from(line.tuple()?.protocol) == *n,
                (Field::Sport | Field::Dport, Value::Number(n)) => {
                    let tuple = line.tuple().filter(|tuple| has_ports(tuple.protocol))?;
                    let source = rule.field == Field::Sport;
                    *n == if source {
                        tuple.source_port
                    } else {
                        tuple.destination_port
                    }
                }
                (Field::IpSrc, Value::Prefix(at, len)) => within(line.tuple()?.source, *at, *len),
                (_, Value::Prefix(at, len)) => within(line.tuple()?.destination, *at, *len),
                _ => false,
            })
        };
        let mut holds = |rule| holds(rule).unwrap_or(false);
        if self.all {
            self.inner.iter().all(&mut holds)
        } else {
            self.inner.iter().any(holds)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UDP: &str = "001122334455 66778899AABB 0800 \
        45 00 00 1C 00 00 00 00 40 11 00 00 0A 00 00 01 0A 00 00 02 00 35 10 00 00 08 00 00\n";

    fn judge(rules: &[&str], all: bool, line: &str) -> Option<bool> {
        let rules = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        Rules::new(rules, all, false).judge(line.as_bytes(), &mut Vec::new())
    }

    #[test]
    fn a_rule_holds_for_its_field_only() {
        for (rule, expected) in [
            ("dst=00:11:22:33:44:55", true),
            ("dst=66778899aabb", false),
            ("src=66778899aabb", true),
            ("type=0800", true),
            ("type=0806", false),
            ("proto=udp", true),
            ("sport=53", true),
            ("dport=53", false),
            ("dport=4096", true),
            ("ip.src=10.0.0.0/8", true),
            ("ip.src=0.0.0.0/0", true),
            ("ip.src=10.0.0.2", false),
            ("ip.dst=10.0.0.2", true),
            ("ip.dst=::/0", false),
            ("vlan=1", false),
        ] {
            assert_eq!(judge(&[rule], false, UDP), Some(expected), "{rule}");
            assert_eq!(judge(&[rule], true, UDP), Some(expected), "{rule}");
            let timed = format!("0000000000000001 {}", UDP.to_lowercase().replace(' ', "  "));
            assert_eq!(judge(&[rule], false, &timed), Some(expected), "{rule}");
        }
    }

    #[test]
    fn any_is_one_of_them_and_all_is_each() {
        let rules = ["dst=001122334455", "proto=tcp"];
        assert_eq!(judge(&rules, false, UDP), Some(true));
        assert_eq!(judge(&rules, true, UDP), Some(false));
        let many: Vec<String> = (0..100).map(|n| format!("dst=0011223344{n:02}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(judge(&many, false, UDP), Some(true));
        assert_eq!(judge(&many[..50], false, UDP), Some(false));
    }

    #[test]
    fn what_is_no_packet_is_told_from_what_does_not_fit() {
        assert_eq!(judge(&["vlan=1"], false, "# comment\n"), Some(false));
        assert_eq!(judge(&["vlan=1"], false, "\r\n"), Some(false));
        assert_eq!(judge(&["vlan=1"], false, "hello world\n"), None);
        assert_eq!(
            judge(&["type=0806"], false, "FFFFFFFFFFFF 001122334455 0806\n"),
            Some(true)
        );
    }

    #[test]
    fn rules_without_sense_are_refused() {
        for bad in [
            "dst",
            "dst=12",
            "vlan=x",
            "ip.src=10.0.0.1/33",
            "payload=00",
            "mac=1",
        ] {
            assert!(bad.parse::<Rule>().is_err(), "{bad}");
        }
    }
}
