//! Reading STF files.

use super::script::{
    Call, Check, Checked, Command, Entry, Expected, Index, Kind, Pattern, Relation, Removed,
};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Why a line cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// From 1.
    pub line: u32,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// Why a command cannot be read: what is wanted, and what stands there.
struct Malformed(String);

impl From<String> for Malformed {
    fn from(message: String) -> Self {
        Malformed(message)
    }
}

impl From<&str> for Malformed {
    fn from(message: &str) -> Self {
        Malformed(message.into())
    }
}

type Result<T> = core::result::Result<T, Malformed>;

fn malformed<T>(message: impl Into<String>) -> Result<T> {
    Err(Malformed(message.into()))
}

/// How long a plain `wait` is: a second, in picoseconds.
const WAIT: u64 = 1_000_000_000_000;

/// Reads an STF file.
///
/// # Errors
/// Every line that cannot be read.
pub fn parse(text: &str) -> core::result::Result<Vec<Command>, Vec<Fault>> {
    let mut faults = Vec::new();
    // The innermost list is where commands go; an `either` opens one for each branch.
    let mut script = Vec::new();
    let mut either: Option<(u32, Vec<Vec<Command>>)> = None;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let word = word.to_ascii_lowercase();
        match (word.as_str(), &mut either) {
            ("either", Some(_)) => faults.push(fault(
                number,
                "an `either` inside another; end the first with `end`",
            )),
            ("either", None) => either = Some((number, alloc::vec![Vec::new()])),
            ("or", Some((_, branches))) => branches.push(Vec::new()),
            ("end", Some((line, branches))) => {
                script.push(Command {
                    line: *line,
                    kind: Kind::Either(core::mem::take(branches)),
                });
                either = None;
            }
            ("or" | "end", None) => faults.push(fault(
                number,
                format!("`{word}` without an `either` above it"),
            )),
            _ => match command(&word, rest.trim(), line) {
                Err(Malformed(message)) => faults.push(Fault {
                    line: number,
                    message,
                }),
                Ok(kind) => {
                    let command = Command { line: number, kind };
                    match &mut either {
                        None => script.push(command),
                        Some((_, branches)) => {
                            if !expectation(&command.kind) {
                                faults.push(fault(number, format!("`{word}` inside an `either`: only what is expected stands there")));
                            }
                            if let Some(branch) = branches.last_mut() {
                                branch.push(command);
                            }
                        }
                    }
                }
            },
        }
    }
    if let Some((line, _)) = either {
        faults.push(fault(line, "an `either` without an `end`"));
    }
    if faults.is_empty() {
        Ok(script)
    } else {
        Err(faults)
    }
}

fn fault(line: u32, message: impl Into<String>) -> Fault {
    Fault {
        line,
        message: message.into(),
    }
}

fn expectation(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::Expect(_) | Kind::NoPacket(_) | Kind::ExpectDigest { .. } | Kind::Check(_)
    )
}

fn command(word: &str, rest: &str, line: &str) -> Result<Kind> {
    let mut tokens = Tokens::new(rest)?;
    let kind = match word {
        "packet" => return packet(rest),
        "expect" => return expect(rest),
        "no_packet" => Kind::NoPacket(if tokens.is_empty() {
            None
        } else {
            Some(tokens.number("a port")?)
        }),
        "wait" => return wait(rest),
        "add" => Kind::Add(add(&mut tokens)?),
        "setdefault" => Kind::SetDefault {
            table: tokens.name("a table")?,
            action: call(&mut tokens)?,
        },
        "remove" => Kind::Remove(remove(&mut tokens)?),
        "check_counter" => Kind::Check(check_counter(&mut tokens)?),
        "check_register" => {
            let name = tokens.name("a register")?;
            // As in `check_counter`, or as in bmv2's command line.
            let brackets = tokens.take("(");
            let index = Index::Number(tokens.number("an index")?);
            if brackets {
                tokens.need(")")?;
            }
            let wanted = Some((tokens.relation()?, tokens.number("a value")?));
            Kind::Check(Check {
                what: Checked::Register,
                name,
                index,
                wanted,
            })
        }
        "counter_read" => read("counter_read", &mut tokens)?,
        "register_read" => read("register_read", &mut tokens)?,
        "meter_get_rates" => read("meter_get_rates", &mut tokens)?,
        "mirroring_get" => Kind::Read {
            command: "mirroring_get",
            name: String::new(),
            index: tokens.number("a session")?,
        },
        "counter_write" => Kind::CounterWrite {
            name: tokens.name("a counter")?,
            index: tokens.number("an index")?,
            packets: tokens.number("packets")?,
            bytes: tokens.number("bytes")?,
        },
        "register_write" => Kind::RegisterWrite {
            name: tokens.name("a register")?,
            index: tokens.number("an index")?,
            value: tokens.value("a value")?,
        },
        "register_reset" => Kind::RegisterReset(tokens.name("a register")?),
        "meter_set_rates" => Kind::MeterRates {
            name: tokens.name("a meter")?,
            index: Some(tokens.number("an index")?),
            rates: rates(&mut tokens)?,
        },
        "meter_array_set_rates" => Kind::MeterRates {
            name: tokens.name("a meter")?,
            index: None,
            rates: rates(&mut tokens)?,
        },
        "mirroring_add" => Kind::MirrorPort {
            session: tokens.number("a session")?,
            port: tokens.number("a port")?,
        },
        "mirroring_add_mc" => Kind::MirrorGroup {
            session: tokens.number("a session")?,
            group: tokens.number("a multicast group")?,
        },
        "mirroring_delete" => Kind::MirrorDelete(tokens.number("a session")?),
        "mc_mgrp_create" => Kind::GroupCreate(tokens.number("a multicast group")?),
        "mc_node_create" => Kind::NodeCreate {
            rid: tokens.number("a replica's id")?,
            ports: tokens.numbers("a port")?,
        },
        "mc_node_update" => Kind::NodeUpdate {
            node: tokens.number("a node")?,
            ports: tokens.numbers("a port")?,
        },
        "mc_node_associate" => Kind::NodeAssociate {
            group: tokens.number("a multicast group")?,
            node: tokens.number("a node")?,
        },
        "expect_digest" => Kind::ExpectDigest {
            name: tokens.name("a digest")?,
            fields: pairs(&mut tokens)?,
        },
        // The control plane's own words are read where they are carried out; it knows which there are.
        _ => return Ok(Kind::Words(line.to_string())),
    };
    tokens.end()?;
    Ok(kind)
}

fn packet(rest: &str) -> Result<Kind> {
    let (port, data) = port(rest)?;
    let digits = hex(data)?;
    if digits.len() % 2 == 1 {
        return malformed(format!(
            "{} hexadecimal digits: a packet is whole bytes",
            digits.len()
        ));
    }
    if digits.iter().any(Option::is_none) {
        return malformed("`*` stands only in what is expected");
    }
    let bytes = digits.chunks(2).map(|pair| {
        pair.iter()
            .fold(0, |byte, digit| byte << 4 | digit.unwrap_or(0))
    });
    Ok(Kind::Packet {
        port,
        bytes: bytes.collect(),
    })
}

fn expect(rest: &str) -> Result<Kind> {
    let (port, data) = port(rest)?;
    if data.is_empty() {
        return Ok(Kind::Expect(Expected { port, data: None }));
    }
    let (data, exact) = match data.strip_suffix('$') {
        Some(data) => (data, true),
        None => (data, false),
    };
    let nibbles = hex(data)?;
    Ok(Kind::Expect(Expected {
        port,
        data: Some(Box::new(Pattern { nibbles, exact })),
    }))
}

fn port(rest: &str) -> Result<(u32, &str)> {
    let (port, data) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let number = port
        .parse()
        .map_err(|_| format!("the number of a port is wanted, not `{port}`"))?;
    Ok((number, data.trim()))
}

fn hex(data: &str) -> Result<Vec<Option<u8>>> {
    let digits = data.chars().filter(|c| !c.is_whitespace());
    let digit = |c: char| match c {
        '*' => Ok(None),
        _ => c
            .to_digit(16)
            .map(|d| Some(d as u8))
            .ok_or_else(|| Malformed(format!("`{c}` is not a hexadecimal digit"))),
    };
    digits.map(digit).collect()
}

fn wait(rest: &str) -> Result<Kind> {
    if rest.is_empty() {
        return Ok(Kind::Wait(WAIT));
    }
    rest.parse::<node::Time>()
        .map(|time| Kind::Wait(time.as_ps()))
        .map_err(|_| Malformed(format!("a time such as 100ms is wanted, not `{rest}`")))
}

fn add(tokens: &mut Tokens) -> Result<Entry> {
    let table = tokens.name("a table")?;
    let priority = tokens.priority();
    let keys = pairs(tokens)?;
    let action = call(tokens)?;
    let id = if tokens.take("=") {
        Some(tokens.name("a name for the entry")?)
    } else {
        None
    };
    Ok(Entry {
        table,
        priority,
        keys,
        action,
        id,
    })
}

/// `KEY:VALUE ...`, as far as they go.
fn pairs(tokens: &mut Tokens) -> Result<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    while tokens.second_is(":") {
        let name = tokens.name("a key")?;
        tokens.need(":")?;
        let mut value = tokens.value("a value")?;
        for joint in ["/", "&&&", ".."] {
            if tokens.take(joint) {
                value = format!("{value}{joint}{}", tokens.value("a value")?);
            }
        }
        pairs.push((name, value));
    }
    Ok(pairs)
}

fn call(tokens: &mut Tokens) -> Result<Call> {
    let name = tokens.name("an action")?;
    let mut arguments = Vec::new();
    tokens.need("(")?;
    while !tokens.take(")") {
        if !arguments.is_empty() {
            tokens.need(",")?;
        }
        let name = tokens.name("a parameter")?;
        tokens.need(":")?;
        arguments.push((name, tokens.value("a value")?));
    }
    Ok(Call { name, arguments })
}

fn remove(tokens: &mut Tokens) -> Result<Removed> {
    let name = tokens.name("`all`, an entry's name or a table")?;
    if tokens.is_empty() {
        return Ok(match name.as_str() {
            "all" | "ALL" => Removed::All,
            _ => Removed::Id(name),
        });
    }
    Ok(Removed::Entry {
        table: name,
        priority: tokens.priority(),
        keys: pairs(tokens)?,
    })
}

fn check_counter(tokens: &mut Tokens) -> Result<Check> {
    let name = tokens.name("a counter")?;
    tokens.need("(")?;
    let index = tokens.value("an index or an entry's name")?;
    tokens.need(")")?;
    let index = match number(&index) {
        Some(number) => Index::Number(u64::try_from(number).map_err(|_| "the index is too large")?),
        None => Index::Entry(index.trim_start_matches('$').to_string()),
    };
    let (what, wanted) = match tokens.next() {
        None => (Checked::Packets, None),
        Some(word) => {
            let what = match word.to_ascii_lowercase().as_str() {
                "packets" => Checked::Packets,
                "bytes" => Checked::Bytes,
                _ => return malformed(format!("`packets` or `bytes` is wanted, not `{word}`")),
            };
            (what, Some((tokens.relation()?, tokens.number("a number")?)))
        }
    };
    Ok(Check {
        what,
        name,
        index,
        wanted,
    })
}

fn read(command: &'static str, tokens: &mut Tokens) -> Result<Kind> {
    Ok(Kind::Read {
        command,
        name: tokens.name("its name")?,
        index: tokens.number("an index")?,
    })
}

fn rates(tokens: &mut Tokens) -> Result<Vec<(u64, u64)>> {
    let mut rates = Vec::new();
    while !tokens.is_empty() {
        let rate = tokens.value("a rate")?;
        tokens.need(":")?;
        rates.push((millionths(&rate)?, tokens.number("a burst")?));
    }
    if rates.len() != 2 {
        return malformed(format!(
            "two pairs RATE:BURST are wanted, the committed and the peak one, not {}",
            rates.len()
        ));
    }
    Ok(rates)
}

/// A decimal fraction in millionths, what lies under one of them rounded up.
fn millionths(text: &str) -> Result<u64> {
    let wrong = || Malformed(format!("a number such as 0.00002 is wanted, not `{text}`"));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    if !fraction.chars().all(|c| c.is_ascii_digit()) {
        return Err(wrong());
    }
    let shown: String = fraction.chars().chain("000000".chars()).take(6).collect();
    let small: u64 = shown.parse().map_err(|_| wrong())?;
    let beyond = u64::from(fraction.chars().skip(6).any(|c| c != '0'));
    whole
        .checked_mul(1_000_000)
        .and_then(|w| w.checked_add(small + beyond))
        .ok_or_else(wrong)
}

/// A number in any notation.
#[must_use]
pub fn number(text: &str) -> Option<u128> {
    let lower = text.to_ascii_lowercase();
    match lower.get(..2) {
        Some("0x") => u128::from_str_radix(&lower[2..], 16).ok(),
        Some("0b") => u128::from_str_radix(&lower[2..], 2).ok(),
        Some("0o") => u128::from_str_radix(&lower[2..], 8).ok(),
        _ => lower.parse().ok(),
    }
}

/// A line in pieces: names and values, and the signs between them.
struct Tokens<'a> {
    pieces: Vec<&'a str>,
    at: usize,
}

const SIGNS: [&str; 16] = [
    "&&&", "..", "==", "!=", "<=", ">=", "<", ">", "=", "(", ")", "[", "]", ":", ",", "/",
];

impl<'a> Tokens<'a> {
    fn new(mut rest: &'a str) -> Result<Self> {
        let mut pieces = Vec::new();
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                return Ok(Tokens { pieces, at: 0 });
            }
            let length = if let Some(quoted) = rest.strip_prefix('"') {
                quoted.find('"').ok_or("a quoted name without its end")? + 2
            } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                sign.len()
            } else {
                word(rest).ok_or_else(|| {
                    format!(
                        "`{}` has no meaning here",
                        rest.chars().next().unwrap_or(' ')
                    )
                })?
            };
            pieces.push(&rest[..length]);
            rest = &rest[length..];
        }
    }

    fn is_empty(&self) -> bool {
        self.at == self.pieces.len()
    }

    fn next(&mut self) -> Option<&'a str> {
        let piece = self.pieces.get(self.at).copied();
        self.at += usize::from(piece.is_some());
        piece
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = self.pieces.get(self.at) == Some(&sign);
        self.at += usize::from(found);
        found
    }

    fn need(&mut self, sign: &str) -> Result<()> {
        if self.take(sign) {
            return Ok(());
        }
        malformed(format!("`{sign}` is wanted{}", self.found()))
    }

    fn found(&self) -> String {
        match self.pieces.get(self.at) {
            Some(piece) => format!(", not `{piece}`"),
            None => " at the end of the line".into(),
        }
    }

    /// Whether the name that comes next has the sign behind it.
    fn second_is(&self, sign: &str) -> bool {
        let mut at = self.at + 1;
        while self.pieces.get(at) == Some(&"[") {
            at += 3;
            at += usize::from(
                self.pieces
                    .get(at)
                    .is_some_and(|piece| piece.starts_with('.')),
            );
        }
        self.pieces.get(at) == Some(&sign)
    }

    /// A name such as `hdr.ipv4.dst`, `stack[0].f` or in quotes.
    fn name(&mut self, what: &str) -> Result<String> {
        let mut name = match self.pieces.get(self.at) {
            Some(piece) if !SIGNS.contains(piece) => (*piece).to_string(),
            _ => return malformed(format!("{what} is wanted{}", self.found())),
        };
        self.at += 1;
        if let Some(inner) = name.strip_prefix('"') {
            return Ok(inner.trim_end_matches('"').to_string());
        }
        while self.take("[") {
            name = format!("{name}[{}]", self.next().unwrap_or(""));
            self.need("]")?;
            if let Some(more) = self
                .pieces
                .get(self.at)
                .filter(|piece| piece.starts_with('.') && piece.len() > 1)
            {
                name.push_str(more);
                self.at += 1;
            }
        }
        // `extra$0.h` is an older way to write `extra[0].h`.
        Ok(brackets(&name))
    }

    fn value(&mut self, what: &str) -> Result<String> {
        match self.next() {
            Some(piece) if !SIGNS.contains(&piece) => Ok(piece.to_string()),
            _ => malformed(format!("{what} is wanted")),
        }
    }

    fn number<T: TryFrom<u128>>(&mut self, what: &str) -> Result<T> {
        let text = self.value(what)?;
        number(&text)
            .and_then(|n| T::try_from(n).ok())
            .ok_or_else(|| Malformed(format!("{what} is wanted, not `{text}`")))
    }

    fn numbers<T: TryFrom<u128>>(&mut self, what: &str) -> Result<Vec<T>> {
        let mut numbers = Vec::new();
        while !self.is_empty() {
            numbers.push(self.number(what)?);
        }
        Ok(numbers)
    }

    fn priority(&mut self) -> Option<u32> {
        if self.second_is(":") {
            return None;
        }
        let priority = self.pieces.get(self.at)?.parse().ok()?;
        self.at += 1;
        Some(priority)
    }

    fn relation(&mut self) -> Result<Relation> {
        let relation = match self.pieces.get(self.at).copied() {
            Some("==" | "=") => Relation::Equal,
            Some("!=") => Relation::NotEqual,
            Some("<") => Relation::Less,
            Some("<=") => Relation::LessEqual,
            Some(">") => Relation::Greater,
            Some(">=") => Relation::GreaterEqual,
            _ => return malformed(format!("one of == != < <= > >= is wanted{}", self.found())),
        };
        self.at += 1;
        Ok(relation)
    }

    fn end(&self) -> Result<()> {
        match self.pieces.get(self.at) {
            None => Ok(()),
            Some(piece) => malformed(format!("`{piece}` is one too many")),
        }
    }
}

/// How long the name or value at the start is.
fn word(rest: &str) -> Option<usize> {
    let inside =
        |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '*' | '.' | '-' | '|' | '&');
    let end = rest.find(|c| !inside(c)).unwrap_or(rest.len());
    // A key may be an expression such as `hdr.ip.dst&0xf`; before a mask stand three of them.
    let end = rest[..end].find("&&&").unwrap_or(end);
    // A range's dots divide two values, a name's single dots do not.
    let end = rest[..end].find("..").unwrap_or(end);
    (end > 0).then_some(end)
}

/// `a$0.b` as `a[0].b`.
fn brackets(name: &str) -> String {
    let mut out = String::new();
    for (index, part) in name.split('.').enumerate() {
        if index > 0 {
            out.push('.');
        }
        match part.rsplit_once('$') {
            Some((stack, element))
                if !stack.is_empty()
                    && !element.is_empty()
                    && element.bytes().all(|b| b.is_ascii_digit()) =>
            {
                out.push_str(&format!("{stack}[{element}]"));
            }
            _ => out.push_str(part),
        }
    }
    out
}
