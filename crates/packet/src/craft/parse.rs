//! Reading templates.

use super::layer::{Kind, Known, LAYERS};
use super::value::{Choice, Choices, Type, Value};
use super::{CraftError, Layer, Stated, Template};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

/// Maximum number of layers of a template.
const MAX_LAYERS: usize = 32;
/// Maximum length of a template, bytes.
const MAX_TEMPLATE_LEN: usize = 600_000;

pub fn template(text: &str) -> Result<Template, CraftError> {
    let mut reader = Reader { text, at: 0 };
    if text.len() > MAX_TEMPLATE_LEN {
        return Err(reader.wrong(
            0..0,
            format!("a template has at most {MAX_TEMPLATE_LEN} bytes"),
        ));
    }
    let mut layers: Vec<Layer> = Vec::new();
    loop {
        let layer = reader.layer()?;
        if layers.len() == MAX_LAYERS {
            return Err(reader.wrong(
                layer.at,
                format!("a template has at most {MAX_LAYERS} layers"),
            ));
        }
        if let Some(above) = layers.last() {
            if !fits(above, &layer) {
                let (inner, outer) = (layer.kind.name(), above.kind.name());
                let message = format!("{inner} does not stand in {outer}");
                return Err(reader.wrong(layer.at, message));
            }
        } else if layer.kind != Kind::Eth {
            // The frame goes without saying.
            if !matches!(
                layer.kind,
                Kind::Vlan | Kind::Mpls | Kind::Arp | Kind::Ip | Kind::Ipv6
            ) {
                let message = format!(
                    "a packet begins with eth, vlan, mpls, arp, ip or ipv6, not with {}",
                    layer.kind.name()
                );
                return Err(reader.wrong(layer.at, message));
            }
            layers.push(Layer {
                kind: Kind::Eth,
                at: layer.at.clone(),
                fields: Vec::new(),
                bytes: Vec::new(),
            });
        }
        layers.push(layer);
        if !reader.takes('/') {
            break;
        }
    }
    match reader.rest() {
        "" => Ok(Template {
            layers,
            length: text.len(),
        }),
        _ => Err(reader.here("here the next layer begins with /, or the packet ends".into())),
    }
}

/// Whether a layer can stand in another.
fn fits(above: &Layer, layer: &Layer) -> bool {
    match layer.kind {
        Kind::Eth => matches!(above.kind, Kind::Vxlan | Kind::Gre | Kind::Mpls),
        Kind::Vlan => matches!(above.kind, Kind::Eth | Kind::Vlan),
        Kind::Mpls => matches!(above.kind, Kind::Eth | Kind::Vlan | Kind::Mpls | Kind::Gre),
        Kind::Arp => matches!(above.kind, Kind::Eth | Kind::Vlan),
        Kind::Ip | Kind::Ipv6 => {
            matches!(above.kind, Kind::Eth | Kind::Vlan | Kind::Mpls | Kind::Gre | Kind::Ip | Kind::Ipv6)
                // What an error quotes.
                || matches!(above.kind, Kind::Icmp | Kind::Icmpv6)
        }
        Kind::Icmp => above.kind == Kind::Ip,
        Kind::Icmpv6 => above.kind == Kind::Ipv6,
        Kind::Tcp | Kind::Udp | Kind::Gre => matches!(above.kind, Kind::Ip | Kind::Ipv6),
        Kind::Dns | Kind::Vxlan => above.kind == Kind::Udp,
        Kind::Bytes => true,
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn wrong(&self, at: Range<usize>, message: String) -> CraftError {
        CraftError { at, message }
    }

    fn here(&self, message: String) -> CraftError {
        let length = self.text[self.at..]
            .chars()
            .next()
            .map_or(0, char::len_utf8);
        self.wrong(self.at..self.at + length, message)
    }

    /// The rest of the text, without leading spaces.
    fn rest(&mut self) -> &'a str {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        rest
    }

    fn takes(&mut self, sign: char) -> bool {
        let takes = self.rest().starts_with(sign);
        self.at += if takes { sign.len_utf8() } else { 0 };
        takes
    }

    /// The characters up to one of these, or a space.
    fn word(&mut self, ends: &[char]) -> (&'a str, Range<usize>) {
        let rest = self.rest();
        let end = rest.find(|c: char| ends.contains(&c) || c.is_whitespace());
        let word = &rest[..end.unwrap_or(rest.len())];
        let from = self.at;
        self.at += word.len();
        (word, from..self.at)
    }

    fn layer(&mut self) -> Result<Layer, CraftError> {
        let from = {
            self.rest();
            self.at
        };
        if self.rest().starts_with('"') || self.rest().starts_with("x\"") {
            let bytes = self.quoted()?;
            return Ok(Layer {
                kind: Kind::Bytes,
                at: from..self.at,
                fields: Vec::new(),
                bytes,
            });
        }
        let (name, at) = self.word(&['(', '/', ')', ',', '"']);
        let Some(kind) = Kind::named(name) else {
            let known: Vec<&str> = LAYERS.iter().map(|(_, names, _)| names[0]).collect();
            let message = format!(
                "a layer is one of {}, or a payload: \"text\" or x\"68 69\"",
                known.join(" ")
            );
            return Err(self.wrong(at, message));
        };
        let mut layer = Layer {
            kind,
            at,
            fields: Vec::new(),
            bytes: Vec::new(),
        };
        if self.takes('(') && !self.takes(')') {
            loop {
                let stated = self.field(kind)?;
                if layer.fields.iter().any(|field| field.name == stated.name) {
                    return Err(self.wrong(stated.at, format!("{} is stated twice", stated.name)));
                }
                layer.fields.push(stated);
                if self.takes(')') {
                    break;
                }
                if !self.takes(',') {
                    return Err(self.here(
                        "here another field begins with a comma, or the layer ends with )".into(),
                    ));
                }
            }
        }
        Ok(layer)
    }

    fn field(&mut self, kind: Kind) -> Result<Stated, CraftError> {
        let (name, at) = self.word(&['=', ',', ')', '(']);
        let known = kind
            .fields()
            .iter()
            .find(|known| known.name == name || known.also.contains(&name));
        let Some(known) = known else {
            let names: Vec<&str> = kind.fields().iter().map(|known| known.name).collect();
            let message = format!(
                "{} has no field `{name}`; it has {}",
                kind.name(),
                names.join(" ")
            );
            return Err(self.wrong(at, message));
        };
        if !self.takes('=') {
            return Err(self.here(format!("a field has a value: {name}=...")));
        }
        let mut choices = Vec::new();
        if self.takes('[') {
            loop {
                choices.push(self.choice(known)?);
                if self.takes(']') {
                    break;
                }
                if !self.takes(',') {
                    return Err(self.here(
                        "here another value begins with a comma, or the list ends with ]".into(),
                    ));
                }
            }
        } else {
            choices.push(self.choice(known)?);
        }
        Ok(Stated {
            name: known.name,
            choices: Choices(choices),
            at: at.start..self.at,
        })
    }

    fn choice(&mut self, known: &Known) -> Result<Choice, CraftError> {
        if self.rest().starts_with('"') {
            let from = self.at;
            let bytes = self.quoted()?;
            return match (known.holds, String::from_utf8(bytes)) {
                (Type::Text, Ok(text)) => Ok(Choice::one(Value::Text(text))),
                _ => Err(self.wrong(from..self.at, "only a name is a text".into())),
            };
        }
        let (word, at) = self.word(&[',', ')', ']', '(', '[']);
        if word.is_empty() {
            return Err(self.here(format!("{} has a value: {0}=...", known.name)));
        }
        Choice::parse(word, known.holds)
            .map_err(|wanted| self.wrong(at, format!("{} is {wanted}", known.name)))
    }

    /// A text in quotes, or hexadecimal digits in quotes behind an x.
    fn quoted(&mut self) -> Result<Vec<u8>, CraftError> {
        let hex = self.takes('x');
        let from = self.at;
        self.takes('"');
        let mut bytes = Vec::new();
        loop {
            let start = self.at;
            let Some(c) = self.next() else {
                return Err(self.wrong(from..self.at, "the quote has no end".into()));
            };
            match c {
                '"' => return Ok(bytes),
                c if hex && (c.is_whitespace() || c == ':') => {}
                c if hex => bytes.push(self.digits(Some(c), start)?),
                '\\' => match self.next() {
                    Some('n') => bytes.push(b'\n'),
                    Some('r') => bytes.push(b'\r'),
                    Some('t') => bytes.push(b'\t'),
                    Some('0') => bytes.push(0),
                    Some('x') => bytes.push(self.digits(None, start)?),
                    Some(c @ ('\\' | '"')) => bytes.push(c as u8),
                    _ => {
                        return Err(self.wrong(
                            start..self.at,
                            r#"behind a backslash stands one of n r t 0 \ " or xHH"#.into(),
                        ));
                    }
                },
                c => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.text[self.at..].chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// A byte of two hexadecimal digits.
    fn digits(&mut self, first: Option<char>, from: usize) -> Result<u8, CraftError> {
        let mut digit = |c: Option<char>| c.or_else(|| self.next()).and_then(|c| c.to_digit(16));
        match (digit(first), digit(None)) {
            (Some(a), Some(b)) => Ok((a << 4 | b) as u8),
            _ => Err(self.wrong(from..self.at, "a byte is two hexadecimal digits".into())),
        }
    }
}
