//! Rules: matches and statements.

use super::fields::{FIELDS, Field, Named};
use super::lexer::Token;
use super::limit::Limit;
use super::program::{Counter, Program, Source, Step, Test};
use super::reader::{Reader, Scope, list, verdict};
use super::sets::{Data, Holds, Set, Verdict};
use super::values::{ICMP_CODES, ICMPV6_CODES, Type};
use super::{Fault, Reject, SynProxy};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use packet::ipv4::protocol;

/// Packets of a burst that a limit has without `burst`, as in nftables.
const BURST: u64 = 5;

/// Facts about the packets that come to a statement of a rule.
struct Context {
    is_v4: Option<bool>,
    protocol: Option<u8>,
}

impl Context {
    fn narrow(
        &mut self,
        reader: &Reader,
        v4: Option<bool>,
        number: Option<u8>,
    ) -> Result<(), Fault> {
        let differs = |own: Option<u8>, new: Option<u8>| own.zip(new).is_some_and(|(a, b)| a != b);
        let version = self.is_v4.zip(v4).is_some_and(|(own, new)| own != new);
        if version || differs(self.protocol, number) {
            return Err(reader.fault("no packet has this together with the matches before it"));
        }
        self.is_v4 = self.is_v4.or(v4);
        self.protocol = self.protocol.or(number);
        Ok(())
    }
}

/// Reads a rule, and appends its steps.
pub(super) fn rule(
    reader: &mut Reader,
    scope: &Scope,
    ports: &[Vec<String>],
    program: &mut Program,
) -> Result<(), Fault> {
    let mut context = Context {
        is_v4: scope.is_v4,
        protocol: None,
    };
    let start = program.steps.len();
    let mut is_over = false;
    loop {
        match reader.peek() {
            None | Some(Token::End | Token::Symbol("}")) => {
                return match program.steps.len() > start {
                    true => Ok(()),
                    false => Err(reader.fault("a rule is missing")),
                };
            }
            _ => {}
        }
        if reader.take("comment") {
            reader.text("the comment")?;
            return Ok(());
        }
        if is_over {
            return Err(reader.fault("nothing may follow a verdict in a rule"));
        }
        if let Some(verdict) = verdict(reader, scope)? {
            program.steps.push(Step::Verdict(verdict));
            is_over = verdict != Verdict::Continue;
            continue;
        }
        match reader.peek_word() {
            Some("counter") => counter(reader, program)?,
            Some("log") => log(reader, program)?,
            Some("limit") => limit(reader, program)?,
            Some("notrack") => {
                reader.at += 1;
                program.steps.push(Step::NoTrack);
            }
            Some("ct") if reader.second_word() == Some("helper") => {
                set_helper(reader, scope, program)?;
            }
            Some("reject") => {
                reject(reader, scope, &mut context, program)?;
                is_over = true;
            }
            Some("synproxy") => {
                context.narrow(reader, None, Some(protocol::TCP))?;
                synproxy(reader, program)?;
                is_over = true;
            }
            _ => is_over = expression(reader, scope, ports, &mut context, program)?,
        }
    }
}

/// Reads `ct helper set NAME`.
fn set_helper(reader: &mut Reader, scope: &Scope, program: &mut Program) -> Result<(), Fault> {
    reader.at += 2;
    if !reader.take("set") {
        return Err(reader.fault("write `ct helper set NAME`"));
    }
    let name = reader.text("the helper's name")?;
    let Some((helper, is_v4)) = scope.helpers.get(name) else {
        reader.at -= 1;
        return Err(reader.fault(format!("this table has no `ct helper {name}`")));
    };
    program.steps.push(Step::SetHelper(*helper, *is_v4));
    Ok(())
}

/// The field whose name is next.
fn field(reader: &mut Reader) -> Result<&'static Named, Fault> {
    let unknown = |reader: &Reader| {
        let word = reader.peek_word().unwrap_or_default();
        reader.fault(format!("`{word}` is not a known match or statement"))
    };
    let first = reader
        .peek_word()
        .ok_or_else(|| reader.fault("a match or a statement is missing"))?;
    let find = |words: &str| FIELDS.iter().find(|field| field.words == words);
    if let Some(second) = reader.second_word()
        && let Some(named) = find(&format!("{first} {second}"))
    {
        reader.at += 2;
        return Ok(named);
    }
    // The words of some fields of `meta` stand alone, too.
    let alone = match first {
        "iifname" | "oifname" => &first[..3],
        other => other,
    };
    let named = find(alone).ok_or_else(|| unknown(reader))?;
    reader.at += 1;
    Ok(named)
}

/// Reads a match of a field, or a statement that sets it. Returns whether a verdict was chosen.
fn expression(
    reader: &mut Reader,
    scope: &Scope,
    ports: &[Vec<String>],
    context: &mut Context,
    program: &mut Program,
) -> Result<bool, Fault> {
    let start = reader.at;
    let named = field(reader)?;
    let (field, kind) = (named.field, named.kind);
    if matches!(field, Field::Mark | Field::CtMark) && reader.take("set") {
        let source = source(reader, scope, context, program)?;
        program.steps.push(match field {
            Field::Mark => Step::SetMark(source),
            _ => Step::SetCtMark(source),
        });
        return Ok(false);
    }
    let end = reader.at;
    reader.at = start;
    if field == Field::Family && scope.is_v4.is_some() {
        return Err(reader.fault("the table has one version of IP; `meta nfproto` is for inet"));
    }
    let (v4, number) = field.needs();
    context.narrow(reader, v4, number)?;
    reader.at = end;
    if reader.take("vmap") {
        let map = map(reader, kind, Holds::Verdicts, scope, program)?;
        program.steps.push(Step::Choose(field, map));
        return Ok(true);
    }
    let test = match kind {
        Type::Interface => interface(reader, ports, program)?,
        _ => {
            let test = test(reader, kind, scope, program)?;
            learn(reader, field, test, context)?;
            test
        }
    };
    program.add_test(field, test);
    Ok(false)
}

/// Takes into account that a test leaves packets of one protocol or version alone.
fn learn(reader: &Reader, field: Field, test: Test, context: &mut Context) -> Result<(), Fault> {
    let Test::Within(value, last, true) = test else {
        return Ok(());
    };
    let is_protocol = matches!(
        field,
        Field::L4Protocol
            | Field::Ip {
                is_v4: true,
                at: 9,
                ..
            }
            | Field::Ip {
                is_v4: false,
                at: 6,
                ..
            }
    );
    match field {
        _ if value != last => Ok(()),
        Field::Family => context.narrow(reader, Some(value == 2), None),
        _ if is_protocol => context.narrow(reader, None, Some(value as u8)),
        _ => Ok(()),
    }
}

/// Operator of a comparison.
fn operator(reader: &mut Reader) -> Option<&'static str> {
    ["==", "!=", "<=", ">=", "<", ">"]
        .into_iter()
        .find(|symbol| reader.symbol(symbol))
}

fn one(reader: &mut Reader, kind: Type) -> Result<(u128, u128), Fault> {
    let (line, column) = reader.place();
    kind.read(reader.word("a value")?, line, column)
}

/// Values with `|` between them, in parentheses if there are several.
fn bits(reader: &mut Reader, kind: Type) -> Result<u128, Fault> {
    let is_group = reader.symbol("(");
    let mut all = 0;
    loop {
        let (value, last) = one(reader, kind)?;
        if value != last {
            return Err(reader.fault("a mask is no range"));
        }
        all |= value;
        if !is_group {
            return Ok(all);
        }
        if reader.symbol(")") {
            return Ok(all);
        }
        reader.expect("|")?;
    }
}

/// Values of bits with commas between them.
fn flags(reader: &mut Reader, kind: Type) -> Result<u128, Fault> {
    let mut all = 0;
    loop {
        all |= one(reader, kind)?.0;
        if !reader.symbol(",") {
            return Ok(all);
        }
    }
}

fn test(
    reader: &mut Reader,
    kind: Type,
    scope: &Scope,
    program: &mut Program,
) -> Result<Test, Fault> {
    if reader.symbol("&") {
        let mask = bits(reader, kind)?;
        let is = match operator(reader) {
            Some("==") => true,
            Some("!=") => false,
            _ => return Err(reader.fault("`==` or `!=` is missing after the mask")),
        };
        return Ok(Test::Masked(mask, bits(reader, kind)?, is));
    }
    let operator = operator(reader);
    let is = operator != Some("!=");
    if matches!(operator, None | Some("==" | "!="))
        && let Some(set) = set(reader, kind, scope, program)?
    {
        return Ok(Test::InSet(set, is));
    }
    if kind.is_bits() && matches!(operator, None | Some("!=")) {
        let (line, column) = reader.place();
        let value = flags(reader, kind)?;
        if reader.take("/") {
            return Ok(Test::Masked(flags(reader, kind)?, value, is));
        }
        if operator.is_none() {
            return Ok(Test::Masked(value, 0, false));
        }
        return match value.is_power_of_two() {
            true => Ok(Test::Within(value, value, false)),
            false => Err(Fault::new(
                line,
                column,
                "`!=` takes one value; write `field & mask != value`",
            )),
        };
    }
    let (first, last) = one(reader, kind)?;
    if matches!(operator, None | Some("==" | "!=")) {
        return Ok(Test::Within(first, last, is));
    }
    if first != last || !kind.has_ranges() {
        return Err(reader.fault("an order needs one number"));
    }
    let bounds = match operator {
        Some("<") => first.checked_sub(1).map(|last| (0, last)),
        Some("<=") => Some((0, first)),
        Some(">") => (first < kind.max()).then(|| (first + 1, kind.max())),
        _ => Some((first, kind.max())),
    };
    match bounds {
        Some((first, last)) => Ok(Test::Within(first, last, true)),
        None => Err(reader.fault("no value is before the least, or after the greatest")),
    }
}

/// A set that is next, in braces or by its name.
fn set(
    reader: &mut Reader,
    kind: Type,
    scope: &Scope,
    program: &mut Program,
) -> Result<Option<u32>, Fault> {
    if reader.symbol("@") {
        return by_name(reader, kind, Holds::Nothing, scope, program).map(Some);
    }
    if !reader.symbol("{") {
        return Ok(None);
    }
    let elements = list(reader, kind, Holds::Nothing, scope)?;
    add(reader, kind, Holds::Nothing, elements, program).map(Some)
}

fn map(
    reader: &mut Reader,
    kind: Type,
    holds: Holds,
    scope: &Scope,
    program: &mut Program,
) -> Result<u32, Fault> {
    if kind == Type::Interface {
        return Err(reader.fault("a map's key is no port"));
    }
    if reader.symbol("@") {
        return by_name(reader, kind, holds, scope, program);
    }
    reader.expect("{")?;
    let elements = list(reader, kind, holds, scope)?;
    add(reader, kind, holds, elements, program)
}

fn add(
    reader: &Reader,
    kind: Type,
    holds: Holds,
    elements: Vec<(u128, u128, Data)>,
    program: &mut Program,
) -> Result<u32, Fault> {
    if elements.is_empty() {
        return Err(reader.fault("the set is empty"));
    }
    let merges = holds == Holds::Nothing;
    let set = Set::new(kind, holds, elements, merges);
    let set = set.map_err(|_| reader.fault("two keys of the map overlap"))?;
    program.sets.push(set);
    Ok(program.sets.len() as u32 - 1)
}

fn by_name(
    reader: &mut Reader,
    kind: Type,
    holds: Holds,
    scope: &Scope,
    program: &Program,
) -> Result<u32, Fault> {
    let name = reader.word("the set's name")?;
    reader.at -= 1;
    let Some(number) = scope.sets.get(name) else {
        return Err(reader.fault(format!("this table has no set `{name}`")));
    };
    let set = &program.sets[*number as usize];
    if set.kind != kind || set.holds != holds {
        return Err(reader.fault(format!("`{name}` has elements of another type")));
    }
    reader.at += 1;
    Ok(*number)
}

/// A test of a port by numbers and names. `*` at the end of a name stands for any rest.
fn interface(
    reader: &mut Reader,
    ports: &[Vec<String>],
    program: &mut Program,
) -> Result<Test, Fault> {
    let is = match operator(reader) {
        None | Some("==") => true,
        Some("!=") => false,
        Some(_) => return Err(reader.fault("ports have no order")),
    };
    let is_list = reader.symbol("{");
    let mut elements = Vec::new();
    loop {
        reader.skip_ends();
        let (line, column) = reader.place();
        let name = reader.text("a port")?;
        let prefix = name.strip_suffix('*');
        let is_it = |own: &String| match prefix {
            Some(prefix) => own.starts_with(prefix),
            None => own == name,
        };
        let before = elements.len();
        for (number, names) in ports.iter().enumerate() {
            if names.iter().any(is_it) {
                elements.push((number as u128, number as u128, Data::None));
            }
        }
        if elements.len() == before {
            let reason = format!(
                "the router has no port `{name}`; ports are 0 to {}",
                ports.len() - 1
            );
            return Err(Fault::new(line, column, reason));
        }
        if is_list {
            reader.skip_ends();
        }
        if !is_list || reader.symbol("}") {
            break;
        }
        reader.expect(",")?;
    }
    match elements[..] {
        [(port, _, _)] => Ok(Test::Within(port, port, is)),
        _ => add(reader, Type::Interface, Holds::Nothing, elements, program)
            .map(|set| Test::InSet(set, is)),
    }
}

/// Origin of a mark that a statement sets.
fn source(
    reader: &mut Reader,
    scope: &Scope,
    context: &mut Context,
    program: &mut Program,
) -> Result<Source, Fault> {
    let is_number = reader
        .peek_word()
        .is_some_and(|word| word.starts_with(|first: char| first.is_ascii_digit()));
    if is_number {
        return Ok(Source::Value(one(reader, Type::Mark)?.0 as u32));
    }
    let named = field(reader)?;
    let (v4, number) = named.field.needs();
    context.narrow(reader, v4, number)?;
    if reader.take("map") {
        let holds = Holds::Values(Type::Mark);
        let map = map(reader, named.kind, holds, scope, program)?;
        return Ok(Source::Map(named.field, map));
    }
    match named.kind {
        Type::Mark => Ok(Source::Field(named.field)),
        _ => Err(reader.fault("a mark is set to a number, a mark, or an element of a `map`")),
    }
}

fn counter(reader: &mut Reader, program: &mut Program) -> Result<(), Fault> {
    reader.at += 1;
    let mut counter = Counter::default();
    if reader.take("packets") {
        counter.packets = reader.number()?;
        if !reader.take("bytes") {
            return Err(reader.fault("`bytes NUMBER` is missing"));
        }
        counter.bytes = reader.number()?;
    }
    add_counter(counter, program);
    Ok(())
}

fn add_counter(counter: Counter, program: &mut Program) {
    program
        .steps
        .push(Step::Counter(program.counters.len() as u32));
    program.counters.push(counter);
}

/// A log becomes a counter with the name of its prefix.
fn log(reader: &mut Reader, program: &mut Program) -> Result<(), Fault> {
    reader.at += 1;
    let mut name = String::from("log");
    loop {
        if reader.take("prefix") {
            name = format!("log {}", reader.text("the prefix")?);
        } else if reader.take("level") {
            let level = reader.word("the level")?;
            if !matches!(
                level,
                "emerg" | "alert" | "crit" | "err" | "warn" | "notice" | "info" | "debug"
            ) {
                reader.at -= 1;
                return Err(reader
                    .fault("the level is emerg, alert, crit, err, warn, notice, info or debug"));
            }
        } else {
            break;
        }
    }
    add_counter(
        Counter {
            name,
            ..Counter::default()
        },
        program,
    );
    Ok(())
}

/// Bytes of a unit.
fn unit_of_bytes(unit: &str) -> Option<u64> {
    match unit {
        "bytes" => Some(1),
        "kbytes" => Some(1 << 10),
        "mbytes" => Some(1 << 20),
        _ => None,
    }
}

fn limit(reader: &mut Reader, program: &mut Program) -> Result<(), Fault> {
    reader.at += 1;
    if !reader.take("rate") {
        return Err(reader.fault("write `limit rate 10/second`"));
    }
    let is_over = reader.take("over");
    let fault = reader.fault("write a rate such as 10/second, or 1 mbytes/second");
    let word = reader.word("the rate")?;
    let (amount, unit, size) = match word.split_once('/') {
        Some((amount, unit)) => (amount, unit, None),
        None => {
            let (size, unit) = reader
                .word("the unit")?
                .split_once('/')
                .ok_or(fault.clone())?;
            (word, unit, Some(unit_of_bytes(size).ok_or(fault.clone())?))
        }
    };
    let seconds = match unit {
        "second" => 1,
        "minute" => 60,
        "hour" => 3_600,
        "day" => 86_400,
        "week" => 604_800,
        _ => return Err(fault),
    };
    let amount: u64 = amount.parse().map_err(|_| fault.clone())?;
    let mut burst = if size.is_some() { 0 } else { BURST };
    if reader.take("burst") {
        let number: u64 = reader.number()?;
        let unit = reader.word("`packets` or `bytes`")?;
        burst = match size {
            None if unit == "packets" => Some(number),
            None => None,
            Some(_) => unit_of_bytes(unit).and_then(|unit| unit.checked_mul(number)),
        }
        .filter(|burst| *burst > 0 && *burst <= u32::MAX.into())
        .ok_or_else(|| {
            reader.fault(
                "the burst is packets of a rate of packets, bytes of one of bytes, and more than 0",
            )
        })?;
    }
    let rate = amount.checked_mul(size.unwrap_or(1)).ok_or(fault.clone())?;
    let limit = Limit::new(rate, seconds, burst, size.is_some(), is_over).ok_or(fault)?;
    program.steps.push(Step::Limit(program.limits.len() as u32));
    program.limits.push(limit);
    Ok(())
}

fn reject(
    reader: &mut Reader,
    scope: &Scope,
    context: &mut Context,
    program: &mut Program,
) -> Result<(), Fault> {
    reader.at += 1;
    let mut reject = Reject::Icmp {
        v4: Some(3),
        v6: Some(4),
    };
    if reader.take("with") {
        match reader.word("tcp reset, icmp, icmpv6 or icmpx")? {
            "tcp" => {
                if !reader.take("reset") {
                    return Err(reader.fault("write `tcp reset`"));
                }
                context.narrow(reader, None, Some(protocol::TCP))?;
                reject = Reject::Reset;
            }
            "icmp" => {
                context.narrow(reader, Some(true), None)?;
                reject = Reject::Icmp {
                    v4: Some(code(reader, &ICMP_CODES)?),
                    v6: None,
                };
            }
            "icmpv6" => {
                context.narrow(reader, Some(false), None)?;
                reject = Reject::Icmp {
                    v4: None,
                    v6: Some(code(reader, &ICMPV6_CODES)?),
                };
            }
            "icmpx" if scope.is_v4.is_none() => {
                const CODES: [(&str, u128); 4] = [
                    ("no-route", 0),
                    ("port-unreachable", 1),
                    ("host-unreachable", 2),
                    ("admin-prohibited", 3),
                ];
                let number = usize::from(code(reader, &CODES)?);
                let [v4, v6] = [[0, 3, 1, 13], [0, 4, 3, 1]].map(|codes: [u8; 4]| codes[number]);
                reject = Reject::Icmp {
                    v4: Some(v4),
                    v6: Some(v6),
                };
            }
            _ => {
                reader.at -= 1;
                return Err(reader.fault("write tcp reset, icmp, icmpv6, or in a table inet icmpx"));
            }
        }
    }
    program.steps.push(Step::Reject(reject));
    Ok(())
}

fn code(reader: &mut Reader, codes: &[(&str, u128)]) -> Result<u8, Fault> {
    reader.take("type");
    let word = reader.peek_word().unwrap_or_default();
    let found = codes.iter().find(|(name, _)| *name == word);
    let Some((_, code)) = found else {
        let names: Vec<&str> = codes.iter().map(|(name, _)| *name).collect();
        return Err(reader.fault(format!("the reason is one of {}", names.join(", "))));
    };
    reader.at += 1;
    Ok(*code as u8)
}

fn synproxy(reader: &mut Reader, program: &mut Program) -> Result<(), Fault> {
    reader.at += 1;
    let mut proxy = SynProxy::default();
    loop {
        if reader.take("mss") {
            proxy.mss = Some(reader.number()?);
        } else if reader.take("wscale") {
            let scale: u8 = reader.number()?;
            if scale > 14 {
                return Err(reader.fault("wscale is at most 14"));
            }
            proxy.scale = Some(scale);
        } else if reader.take("timestamp") {
            proxy.timestamps = true;
        } else if reader.take("sack-perm") {
            proxy.selective = true;
        } else {
            break;
        }
    }
    program.steps.push(Step::SynProxy(proxy));
    Ok(())
}
