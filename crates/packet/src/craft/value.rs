//! Values of fields: one, a range, or a list of both.

use crate::ethernet::Mac;
use crate::tcp::flag;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr};

/// What a field holds.
#[derive(Clone, Copy)]
pub enum Type {
    /// A number of so many bits.
    Number(u32),
    /// The same, or one of these names.
    Named(&'static [(&'static str, u64)], u32),
    Hardware,
    Address4,
    Address6,
    /// Letters of TCP's flags, or their number.
    Flags,
    Text,
    /// Two numbers of 32 bits, `OWN:ECHO`.
    Timestamps,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Number(u64),
    Mac(Mac),
    Ipv4(Ipv4Addr),
    Ipv6(Ipv6Addr),
    Text(String),
}

/// The values that a field takes one after the other; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices(pub Vec<Choice>);

/// So many values from the first on, one more each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    first: Value,
    count: u128,
}

/// What is wanted where a text is no value of a field: the words behind "FIELD is".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    #[error("a number from 0 to {most}, a range such as 1-9{}{}", if names.is_empty() { "" } else { ", or one of " }, names.join(" "))]
    Number { most: u64, names: Vec<&'static str> },
    #[error("a range that begins with its lowest number")]
    Downwards,
    #[error(
        "a MAC address of twelve hexadecimal digits, such as 02:00:00:00:00:01 or 020000000001"
    )]
    Mac,
    #[error("an IPv4 address such as 10.0.0.1, a range 10.0.0.1-10.0.0.9, or a prefix 10.0.0.0/30")]
    Ipv4,
    #[error("an IPv6 address such as fd00::1, a range fd00::1-fd00::9, or a prefix fd00::/126")]
    Ipv6,
    #[error(
        "made of the letters S F R P A (or .) U E C; or none, or a number up to 0xff such as 0x12"
    )]
    Flags,
    #[error("two numbers, the own timestamp and the echoed one, such as 1:0")]
    Timestamps,
}

impl Choices {
    /// How many there are.
    pub fn count(&self) -> u128 {
        let counts = self.0.iter().map(|choice| choice.count);
        counts.fold(0, u128::saturating_add)
    }

    /// One of them; behind the last the last.
    pub fn get(&self, mut index: u128) -> Value {
        for choice in &self.0 {
            if index < choice.count {
                return choice.get(index);
            }
            index -= choice.count;
        }
        self.0
            .last()
            .map_or(Value::Number(0), |last| last.get(last.count - 1))
    }
}

impl Choice {
    fn get(&self, index: u128) -> Value {
        match &self.first {
            Value::Number(first) => Value::Number(first + index as u64),
            Value::Ipv4(first) => Value::Ipv4((first.to_bits().wrapping_add(index as u32)).into()),
            Value::Ipv6(first) => Value::Ipv6((first.to_bits().wrapping_add(index)).into()),
            value => value.clone(),
        }
    }

    /// Always the same.
    pub fn one(first: Value) -> Choice {
        Choice { first, count: 1 }
    }

    /// Reads a value, a range, or a prefix.
    ///
    /// # Errors
    /// What is wrong with it, and the mend.
    pub fn parse(text: &str, holds: Type) -> Result<Choice, ValueError> {
        match holds {
            Type::Number(bits) => numbers(text, &[], bits),
            Type::Named(names, bits) => numbers(text, names, bits),
            Type::Flags => flags(text).map(|flags| Choice::one(Value::Number(flags.into()))),
            Type::Text => Ok(Choice::one(Value::Text(text.into()))),
            Type::Hardware => match text.parse() {
                Ok(mac) => Ok(Choice::one(Value::Mac(mac))),
                Err(_) => Err(ValueError::Mac),
            },
            Type::Timestamps => {
                let parts = text
                    .split_once(':')
                    .map(|(own, echo)| (own.parse::<u32>(), echo.parse::<u32>()));
                match parts {
                    Some((Ok(own), Ok(echo))) => Ok(Choice::one(Value::Number(
                        u64::from(own) << 32 | u64::from(echo),
                    ))),
                    _ => Err(ValueError::Timestamps),
                }
            }
            Type::Address4 => addresses(
                text,
                32,
                |text| text.parse().ok().map(|at: Ipv4Addr| at.to_bits().into()),
                |bits| Value::Ipv4((bits as u32).into()),
            )
            .ok_or(ValueError::Ipv4),
            Type::Address6 => addresses(
                text,
                128,
                |text| text.parse().ok().map(|at: Ipv6Addr| at.to_bits()),
                |bits| Value::Ipv6(bits.into()),
            )
            .ok_or(ValueError::Ipv6),
        }
    }
}

fn number(text: &str, names: &[(&str, u64)]) -> Option<u64> {
    if let Some((_, number)) = names
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(text))
    {
        return Some(*number);
    }
    match text.strip_prefix("0x") {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            u64::from_str_radix(digits, 16).ok()
        }
        Some(_) => None,
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        None => None,
    }
}

fn numbers(text: &str, names: &[(&'static str, u64)], bits: u32) -> Result<Choice, ValueError> {
    let most = u64::MAX >> (64 - bits);
    let wrong = || ValueError::Number {
        most,
        names: names.iter().map(|(name, _)| *name).collect(),
    };
    // Names may have dashes in them.
    let (first, last) = match number(text, names) {
        Some(number) => (number, number),
        None => {
            let (first, last) = text.split_once('-').ok_or_else(wrong)?;
            (
                number(first, names).ok_or_else(wrong)?,
                number(last, names).ok_or_else(wrong)?,
            )
        }
    };
    if last > most {
        return Err(wrong());
    }
    if first > last {
        return Err(ValueError::Downwards);
    }
    Ok(Choice {
        first: Value::Number(first),
        count: u128::from(last - first) + 1,
    })
}

fn addresses(
    text: &str,
    width: u32,
    read: impl Fn(&str) -> Option<u128>,
    value: impl Fn(u128) -> Value,
) -> Option<Choice> {
    let (first, count) = if let Some((address, length)) = text.split_once('/') {
        let length = number(length, &[]).filter(|length| *length <= width.into())? as u32;
        let rest = width - length;
        let low = 1u128.checked_shl(rest).map_or(u128::MAX, |size| size - 1);
        (read(address)? & !low, low.saturating_add(1))
    } else if let Some((first, last)) = text.split_once('-') {
        let first = read(first)?;
        (first, read(last)?.checked_sub(first)?.saturating_add(1))
    } else {
        (read(text)?, 1)
    };
    let first = value(first);
    Some(Choice { first, count })
}

/// Flags in the letters of tcpdump or of scapy: `S`, `SA`, `S.`, `none`; or as a number.
fn flags(text: &str) -> Result<u8, ValueError> {
    if let Some(number) = number(text, &[("none", 0)]) {
        return u8::try_from(number).map_err(|_| ValueError::Flags);
    }
    text.chars().try_fold(0, |flags, letter| {
        let letter = match letter.to_ascii_uppercase() {
            'A' => '.',
            'C' => 'W',
            letter => letter,
        };
        let known = flag::LETTERS.iter().find(|(_, known)| *known == letter);
        let (bit, _) = known.ok_or(ValueError::Flags)?;
        Ok(flags | bit)
    })
}
