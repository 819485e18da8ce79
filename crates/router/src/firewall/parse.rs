//! Tables, chains and sets of a ruleset.

use super::lexer::{self, Lexed, Token};
use super::program::{Base, Chain, Program, Rule, Verdict};
use super::sets::{Data, Holds, Set};
use super::values::Type;
use super::{Fault, Hook};
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

/// A table while it is read.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// IP version; `None`: both.
    pub is_v4: Option<bool>,
    pub sets: BTreeMap<String, u32>,
    /// Chains with their numbers, and whether each is a base chain.
    pub chains: BTreeMap<String, (u32, bool)>,
    /// Rules of each chain, as ranges of tokens.
    rules: Vec<(u32, Range<usize>)>,
}

/// A place in the tokens of a ruleset.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    tokens: &'a [Lexed],
    pub at: usize,
}

impl<'a> Reader<'a> {
    pub fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at).map(|lexed| &lexed.token)
    }

    fn next(&mut self) -> Option<&'a Token> {
        let token = self.peek();
        self.at += 1;
        token
    }

    /// Line and column of the next token.
    pub fn place(&self) -> (u32, u32) {
        let found = self.tokens.get(self.at).or(self.tokens.last());
        found.map_or((1, 1), |lexed| (lexed.line, lexed.column))
    }

    /// A fault at the next token.
    pub fn fault(&self, reason: impl Into<String>) -> Fault {
        let (line, column) = self.place();
        Fault::new(line, column, reason)
    }

    /// The next word, which is not taken.
    pub fn peek_word(&self) -> Option<&'a str> {
        match self.peek() {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// The word after the next token.
    pub fn second_word(&self) -> Option<&'a str> {
        match self.tokens.get(self.at + 1).map(|lexed| &lexed.token) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// Takes the next word if it is this one.
    pub fn take(&mut self, word: &str) -> bool {
        let found = self.peek_word() == Some(word);
        self.at += usize::from(found);
        found
    }

    /// Takes a symbol if it is next.
    pub fn symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Symbol(own)) if *own == symbol);
        self.at += usize::from(found);
        found
    }

    /// Takes a symbol that must be next.
    pub fn expect(&mut self, symbol: &str) -> Result<(), Fault> {
        match self.symbol(symbol) {
            true => Ok(()),
            false => Err(self.fault(format!("`{symbol}` is missing"))),
        }
    }

    /// Takes a word, of a kind that the fault names.
    pub fn word(&mut self, kind: &str) -> Result<&'a str, Fault> {
        match self.peek_word() {
            Some(word) => {
                self.at += 1;
                Ok(word)
            }
            None => Err(self.fault(format!("{kind} is missing"))),
        }
    }

    /// Takes a text in quotation marks or a word.
    pub fn text(&mut self, kind: &str) -> Result<&'a str, Fault> {
        match self.peek() {
            Some(Token::Text(text)) => {
                self.at += 1;
                Ok(text)
            }
            _ => self.word(kind),
        }
    }

    /// Takes a whole number.
    pub fn number<T: core::str::FromStr>(&mut self) -> Result<T, Fault> {
        let number = self.peek_word().and_then(|word| word.parse().ok());
        let number = number.ok_or_else(|| self.fault("a number is missing, or is too large"))?;
        self.at += 1;
        Ok(number)
    }

    /// Passes ends of lines.
    pub fn skip_ends(&mut self) {
        while self.peek() == Some(&Token::End) {
            self.at += 1;
        }
    }

    /// Takes the end of a statement.
    fn end(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Some(Token::End) => {
                self.skip_ends();
                Ok(())
            }
            Some(Token::Symbol("}")) | None => Ok(()),
            _ => Err(self.fault("begin a new line, or write `;`, before this")),
        }
    }

    /// The part of the tokens between two places, as one line.
    pub fn line(&self, range: Range<usize>) -> String {
        let mut line = String::new();
        for lexed in &self.tokens[range] {
            let text = match &lexed.token {
                Token::Word(word) => word.clone(),
                Token::Text(text) => format!("\"{text}\""),
                Token::Symbol(symbol) => (*symbol).to_owned(),
                Token::End => continue,
            };
            if !line.is_empty() {
                line.push(' ');
            }
            line += &text;
        }
        line
    }
}

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
            _ => return Err(reader.fault("a table has chains, sets and maps")),
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

/// Reads elements up to the closing brace.
pub(super) fn list(
    reader: &mut Reader,
    kind: Type,
    holds: Holds,
    scope: &Scope,
) -> Result<Vec<(u128, u128, Data)>, Fault> {
    let mut elements = Vec::new();
    loop {
        reader.skip_ends();
        if reader.symbol("}") {
            return Ok(elements);
        }
        let (line, column) = reader.place();
        let (first, last) = kind.read(reader.word("an element")?, line, column)?;
        let data = match holds {
            Holds::Nothing => Data::None,
            Holds::Values(kind) => {
                reader.expect(":")?;
                let (line, column) = reader.place();
                let (value, last) = kind.read(reader.word("a value")?, line, column)?;
                if value != last {
                    return Err(Fault::new(line, column, "data of a map is one value"));
                }
                Data::Value(value)
            }
            Holds::Verdicts => {
                reader.expect(":")?;
                let fault = reader.fault("a verdict is missing, such as accept or drop");
                Data::Verdict(verdict(reader, scope)?.ok_or(fault)?)
            }
        };
        elements.push((first, last, data));
        reader.skip_ends();
        if !reader.symbol(",") {
            reader.skip_ends();
            reader.expect("}")?;
            return Ok(elements);
        }
    }
}

/// Reads a verdict, if one is next.
pub(super) fn verdict(reader: &mut Reader, scope: &Scope) -> Result<Option<Verdict>, Fault> {
    let verdict = match reader.peek_word() {
        Some("accept") => Verdict::Accept,
        Some("drop") => Verdict::Drop,
        Some("continue") => Verdict::Continue,
        Some("return") => Verdict::Return,
        Some(word @ ("jump" | "goto")) => {
            reader.at += 1;
            let name = reader.word("the chain's name")?;
            reader.at -= 1;
            let number = match scope.chains.get(name) {
                Some((number, false)) => *number,
                Some(_) => return Err(reader.fault(format!("`{name}` has a hook of its own"))),
                None => return Err(reader.fault(format!("this table has no chain `{name}`"))),
            };
            match word {
                "jump" => Verdict::Jump(number),
                _ => Verdict::Goto(number),
            }
        }
        _ => return Ok(None),
    };
    reader.at += 1;
    Ok(Some(verdict))
}
