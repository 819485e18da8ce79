//! Tables, chains and sets of a ruleset.

use super::lexer::{self, Token};
use super::program::{Base, Chain, Program, Rule};
use super::reader::{Reader, Scope, list};
use super::sets::{Holds, Set};
use super::values::Type;
use super::{Fault, Hook};
use crate::conntrack::Helper;
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use packet::ipv4::protocol;

/// Reads a ruleset for a router whose ports have these names.
pub(super) fn parse(text: &str, ports: &[Vec<String>]) -> Result<Program, Fault> {
    let tokens = lexer::split(text)?;
    let mut reader = Reader {
        tokens: &tokens,
        at: 0,
    };
    let mut program = Program::default();
    let mut scopes: BTreeMap<(String, String), Scope> = BTreeMap::new();
    let mut order = Vec::new();
    loop {
        reader.skip_ends();
        if reader.peek().is_none() {
            break;
        }
        // Files for nftables begin with it.
        if reader.take("flush") {
            if !reader.take("ruleset") {
                return Err(reader.fault("only `flush ruleset` is known here"));
            }
            continue;
        }
        if !reader.take("table") {
            return Err(reader.fault("write `table inet NAME { ... }`"));
        }
        let mut name = reader.word("the table's name")?;
        let mut family = "ip";
        if reader.peek_word().is_some() {
            family = core::mem::replace(&mut name, reader.word("the table's name")?);
        }
        let is_v4 = match family {
            "ip" => Some(true),
            "ip6" => Some(false),
            "inet" => None,
            _ => {
                reader.at -= 2;
                return Err(reader.fault("a table is of the family ip, ip6 or inet"));
            }
        };
        let key = (family.to_owned(), name.to_owned());
        if !scopes.contains_key(&key) {
            order.push(key.clone());
        }
        let scope = scopes.entry(key).or_insert_with(|| Scope {
            is_v4,
            ..Scope::default()
        });
        reader.expect("{")?;
        table(
            &mut reader,
            &format!("{family} {name}"),
            scope,
            &mut program,
        )?;
        reader.end()?;
    }
    for key in &order {
        let Some(scope) = scopes.get(key) else {
            continue;
        };
        for (chain, tokens) in &scope.rules {
            let start = program.rules.len() as u32;
            reader.at = tokens.start;
            loop {
                reader.skip_ends();
                if reader.at >= tokens.end {
                    break;
                }
                let first = reader.at;
                super::statement::rule(&mut reader, scope, ports, &mut program)?;
                reader.end()?;
                let end = program.steps.len() as u32;
                let text = reader.line(first..reader.at.min(tokens.end));
                program.ends.push(end);
                program.rules.push(Rule {
                    packets: 0,
                    bytes: 0,
                    text,
                });
            }
            program.chains[*chain as usize].rules = start..program.rules.len() as u32;
        }
    }
    super::check::check(&program).map_err(|reason| Fault::new(1, 1, reason))?;
    Ok(program)
}

fn table(
    reader: &mut Reader,
    name: &str,
    scope: &mut Scope,
    program: &mut Program,
) -> Result<(), Fault> {
    let mut sets = Vec::new();
    loop {
        reader.skip_ends();
        if reader.symbol("}") {
            break;
        }
        match reader.peek_word() {
            Some("set" | "map") => {
                let is_map = reader.word("")? == "map";
                let own = reader.word("the set's name")?;
                reader.expect("{")?;
                sets.push((own, is_map, reader.at));
                skip_block(reader)?;
            }
            Some("ct") => helper(reader, scope)?,
            Some("chain") => {
                reader.at += 1;
                let own = reader.word("the chain's name")?;
                if scope.chains.contains_key(own) {
                    return Err(reader.fault(format!("there is a chain `{own}` already")));
                }
                reader.expect("{")?;
                let number = program.chains.len() as u32;
                let base = chain_head(reader, scope)?;
                scope
                    .chains
                    .insert(own.to_owned(), (number, base.is_some()));
                let start = reader.at;
                skip_block(reader)?;
                scope.rules.push((number, start..reader.at - 1));
                program.chains.push(Chain {
                    name: format!("{name} {own}"),
                    rules: 0..0,
                    base,
                    packets: 0,
                    bytes: 0,
                });
            }
            Some("comment") => {
                reader.at += 1;
                reader.text("the comment")?;
            }
            _ => return Err(reader.fault("a table has chains, sets, maps and `ct helper`")),
        }
        reader.end()?;
    }
    // Maps of verdicts may name chains that come after them.
    let end = reader.at;
    for (own, is_map, start) in sets {
        reader.at = start;
        let set = named_set(reader, is_map, scope)?;
        if scope
            .sets
            .insert(own.to_owned(), program.sets.len() as u32)
            .is_some()
        {
            return Err(reader.fault(format!("there is a set `{own}` already")));
        }
        program.sets.push(set);
    }
    reader.at = end;
    Ok(())
}

/// Reads `ct helper NAME { type "ftp" protocol tcp; l3proto ip; }`.
fn helper(reader: &mut Reader, scope: &mut Scope) -> Result<(), Fault> {
    reader.at += 1;
    if !reader.take("helper") {
        return Err(reader.fault("write `ct helper NAME { ... }`"));
    }
    let own = reader.word("the helper's name")?;
    if scope.helpers.contains_key(own) {
        return Err(reader.fault(format!("there is a helper `{own}` already")));
    }
    reader.expect("{")?;
    let (mut found, mut is_v4) = (None, scope.is_v4);
    loop {
        reader.skip_ends();
        if reader.symbol("}") {
            break;
        }
        match reader.word("type or l3proto")? {
            "type" => {
                let named = Helper::named(reader.text("the type")?);
                let Some(helper) = named else {
                    reader.at -= 1;
                    return Err(reader.fault("the type is \"ftp\" or \"tftp\""));
                };
                let is_tcp = helper.protocol() == protocol::TCP;
                let wanted = if is_tcp { "tcp" } else { "udp" };
                if !reader.take("protocol") || !reader.take(wanted) {
                    return Err(reader.fault(format!("write `protocol {wanted}` after the type")));
                }
                found = Some(helper);
            }
            "l3proto" => {
                let wanted = match reader.word("ip, ip6 or inet")? {
                    "ip" => Some(true),
                    "ip6" => Some(false),
                    "inet" => None,
                    _ => {
                        reader.at -= 1;
                        return Err(reader.fault("l3proto is ip, ip6 or inet"));
                    }
                };
                if scope.is_v4.is_some() && wanted != scope.is_v4 {
                    reader.at -= 1;
                    return Err(reader.fault("the table has another version of IP"));
                }
                is_v4 = wanted;
            }
            _ => {
                reader.at -= 1;
                return Err(reader.fault("a helper has `type` and `l3proto`"));
            }
        }
        reader.end()?;
    }
    let found = found.ok_or_else(|| reader.fault("the helper's type is missing"))?;
    scope.helpers.insert(own.to_owned(), (found, is_v4));
    Ok(())
}

/// Passes everything up to the brace that closes a block, and the brace.
fn skip_block(reader: &mut Reader) -> Result<(), Fault> {
    let start = reader.at;
    let mut depth = 1;
    while depth > 0 {
        match reader.next() {
            Some(Token::Symbol("{")) => depth += 1,
            Some(Token::Symbol("}")) => depth -= 1,
            Some(_) => {}
            None => {
                reader.at = start;
                return Err(reader.fault("`}` is missing at the end of this block"));
            }
        }
    }
    Ok(())
}

/// Reads the hook and the policy at the beginning of a chain.
fn chain_head(reader: &mut Reader, scope: &Scope) -> Result<Option<Base>, Fault> {
    let mut base: Option<Base> = None;
    loop {
        reader.skip_ends();
        match reader.peek_word() {
            Some("type") => {
                reader.at += 1;
                if !reader.take("filter") {
                    return Err(reader.fault("the type is `filter`; the router's `nat` translates"));
                }
                if !reader.take("hook") {
                    return Err(reader.fault("write `type filter hook HOOK priority NUMBER;`"));
                }
                let hook = match reader.peek_word() {
                    Some("prerouting") => Hook::Prerouting,
                    Some("input") => Hook::Input,
                    Some("forward") => Hook::Forward,
                    Some("output") => Hook::Output,
                    _ => {
                        let hooks = "the hook is prerouting, input, forward or output";
                        return Err(reader.fault(hooks));
                    }
                };
                reader.at += 1;
                if !reader.take("priority") {
                    return Err(reader.fault("write `priority NUMBER;` after the hook"));
                }
                let priority = priority(reader)?;
                base = Some(Base {
                    hook,
                    priority,
                    drops: false,
                    is_v4: scope.is_v4,
                });
                reader.end()?;
            }
            Some("policy") => {
                reader.at += 1;
                let Some(base) = &mut base else {
                    return Err(reader.fault("a policy needs `type filter hook ...;` before it"));
                };
                base.drops = match reader.word("accept or drop")? {
                    "accept" => false,
                    "drop" => true,
                    _ => {
                        reader.at -= 1;
                        return Err(reader.fault("the policy is accept or drop"));
                    }
                };
                reader.end()?;
            }
            Some("comment") => {
                reader.at += 1;
                reader.text("the comment")?;
                reader.end()?;
            }
            _ => return Ok(base),
        }
    }
}

fn priority(reader: &mut Reader) -> Result<i32, Fault> {
    let fault = reader.fault("the priority is a number, or raw, mangle, filter or security");
    let word = reader.word("the priority")?;
    let base = match word {
        "raw" => -300,
        "mangle" => -150,
        "filter" => 0,
        "security" => 50,
        _ => return word.parse().map_err(|_| fault),
    };
    let sign = match reader.peek_word() {
        Some("+") => 1,
        Some("-") => -1,
        _ => return Ok(base),
    };
    reader.at += 1;
    let more: i32 = reader.number()?;
    Ok(base + sign * more.clamp(0, 1 << 20))
}

fn named_set(reader: &mut Reader, is_map: bool, scope: &Scope) -> Result<Set, Fault> {
    let (mut kind, mut holds) = (None, Holds::Nothing);
    let (mut has_intervals, mut merges) = (false, false);
    let mut elements = Vec::new();
    loop {
        reader.skip_ends();
        if reader.symbol("}") {
            break;
        }
        match reader.word("type, flags or elements")? {
            "type" => {
                kind = Some(type_name(reader)?);
                if is_map {
                    reader.expect(":")?;
                    holds = match reader.take("verdict") {
                        true => Holds::Verdicts,
                        false => Holds::Values(type_name(reader)?),
                    };
                }
            }
            "flags" => loop {
                match reader.word("interval or constant")? {
                    "interval" => has_intervals = true,
                    "constant" => {}
                    flag => {
                        reader.at -= 1;
                        let reason = format!("the flag `{flag}` is not supported; elements stay");
                        return Err(reader.fault(reason));
                    }
                }
                if !reader.symbol(",") {
                    break;
                }
            },
            "auto-merge" => merges = true,
            "size" => {
                reader.number::<u32>()?;
            }
            "comment" => {
                reader.text("the comment")?;
            }
            "elements" => {
                reader.expect("=")?;
                reader.expect("{")?;
                let Some(kind) = kind else {
                    return Err(reader.fault("write `type` before the elements"));
                };
                elements = list(reader, kind, holds, scope)?;
                let long = elements.iter().any(|(first, last, _)| first != last);
                if long && !has_intervals {
                    return Err(reader.fault("add `flags interval` to a set with ranges"));
                }
            }
            word => {
                reader.at -= 1;
                let reason = format!("`{word}` is not supported in a set");
                return Err(reader.fault(reason));
            }
        }
        reader.end()?;
    }
    let Some(kind) = kind else {
        return Err(reader.fault("a set needs `type`, such as `type ipv4_addr`"));
    };
    Set::new(kind, holds, elements, merges)
        .map_err(|_| reader.fault("two elements overlap; add `auto-merge` to a set"))
}

fn type_name(reader: &mut Reader) -> Result<Type, Fault> {
    let fault = reader.fault(
        "the type is ipv4_addr, ipv6_addr, inet_service, inet_proto, icmp_type, icmpv6_type, mark, ct_state or dscp",
    );
    Type::named(reader.word("the type")?).ok_or(fault)
}
