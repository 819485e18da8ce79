//! From text to a program.

mod flow;
mod tokens;
mod values;

use super::Error;
use super::lex::{Placed, Token, tokens};
use crate::ir::*;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// How deep expressions and constants nest.
const DEEPEST: u32 = 500;

/// The kinds of things that have a number, as the words that declare them.
#[derive(Clone, Copy)]
enum Kind {
    Enumeration,
    Slot,
    Header,
    Stack,
    ValueSet,
    Object,
    Action,
    Table,
}

const KINDS: [&str; 8] = [
    "enum",
    "slot",
    "header",
    "stack",
    "value_set",
    "object",
    "action",
    "table",
];

/// Names of one kind: how many there are, and the index of each; `None` when several have it.
#[derive(Default)]
struct Known {
    count: u32,
    names: BTreeMap<String, Option<u32>>,
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Placed<'a>>,
    at: usize,
    known: [Known; 8],
    labels: BTreeMap<String, u32>,
    depth: u32,
}

type Result<T> = core::result::Result<T, Error>;

pub(super) fn parse(text: &str) -> Result<Program> {
    let mut parser = Parser {
        text,
        tokens: tokens(text)?,
        at: 0,
        known: Default::default(),
        labels: BTreeMap::new(),
        depth: 0,
    };
    parser.find_declarations();
    parser.program()
}

impl<'a> Parser<'a> {
    /// Uses may stand before declarations.
    fn find_declarations(&mut self) {
        let mut depth = 0u32;
        for pair in self.tokens.windows(2) {
            match (&pair[0].token, &pair[1].token) {
                (Token::Symbol("(" | "{" | "["), _) => depth += 1,
                (Token::Symbol(")" | "}" | "]"), _) => depth = depth.saturating_sub(1),
                (Token::Keyword(word), Token::Name(name)) if depth == 0 => {
                    if let Some(kind) = KINDS.iter().position(|k| k == word) {
                        let known = &mut self.known[kind];
                        let index = known.count;
                        known.count += 1;
                        known
                            .names
                            .entry(name.to_string())
                            .and_modify(|known| *known = None)
                            .or_insert(Some(index));
                    }
                }
                _ => {}
            }
        }
    }

    fn program(&mut self) -> Result<Program> {
        let mut program = Program::default();
        self.keyword("program")?;
        program.architecture = self.word()?;
        loop {
            let declaration = match self.peek() {
                Token::End => return Ok(program),
                Token::Keyword(word) => *word,
                _ => return Err(self.expected("a declaration")),
            };
            self.at += 1;
            match declaration {
                "enum" => program.enumerations.push(self.enumeration()?),
                "slot" => program.slots.push(self.slot()?),
                "header" => program.headers.push(self.header()?),
                "stack" => program.stacks.push(self.stack()?),
                "value_set" => program.value_sets.push(self.value_set()?),
                "object" => program.objects.push(self.object()?),
                "action" => program.actions.push(self.action()?),
                "table" => program.tables.push(self.table()?),
                "parser" => program.sections.push(self.section(SectionKind::Parser)?),
                "control" => program.sections.push(self.section(SectionKind::Control)?),
                _ => {
                    self.at -= 1;
                    return Err(self.expected("a declaration"));
                }
            }
        }
    }

    fn enumeration(&mut self) -> Result<Enumeration> {
        let name = self.name()?;
        self.symbol(":")?;
        let width = self.width()?;
        let members = self.braces(|p| {
            let name = p.word()?;
            p.symbol("=")?;
            Ok((name, p.bits()?))
        })?;
        Ok(Enumeration {
            name,
            width,
            members,
        })
    }

    fn slot(&mut self) -> Result<Slot> {
        let name = self.name()?;
        self.symbol(":")?;
        let ty = self.ty()?;
        let enumeration = if self.take_keyword("is") {
            Some(EnumId(self.reference(Kind::Enumeration)?))
        } else {
            None
        };
        Ok(Slot {
            name,
            ty,
            enumeration,
            annotations: self.annotations()?,
        })
    }

    fn header(&mut self) -> Result<Header> {
        let name = self.name()?;
        self.symbol(":")?;
        let ty = self.word()?;
        self.keyword("valid")?;
        Ok(Header {
            name,
            ty,
            valid: self.slot_id()?,
            fields: self.braces(Self::slot_id)?,
        })
    }

    fn stack(&mut self) -> Result<Stack> {
        let name = self.name()?;
        self.symbol(":")?;
        self.keyword("next")?;
        Ok(Stack {
            name,
            next: self.slot_id()?,
            headers: self.braces(|p| Ok(HeaderId(p.reference(Kind::Header)?)))?,
        })
    }

    fn value_set(&mut self) -> Result<ValueSet> {
        let name = self.name()?;
        self.symbol(":")?;
        self.keyword("size")?;
        Ok(ValueSet {
            name,
            size: self.number()?,
            fields: self.braces(|p| {
                let name = p.word()?;
                p.symbol(":")?;
                Ok((name, p.ty()?, p.word()?))
            })?,
            annotations: self.annotations()?,
        })
    }

    fn object(&mut self) -> Result<Object> {
        let name = self.name()?;
        self.symbol(":")?;
        let kind = self.word()?;
        self.keyword("types")?;
        let types = self.parentheses(|p| {
            p.braces(|p| {
                let name = p.word()?;
                p.symbol(":")?;
                Ok((name, p.ty()?))
            })
        })?;
        let arguments = self.parentheses(|p| {
            let name = p.word()?;
            p.symbol("=")?;
            Ok((name, p.constant()?))
        })?;
        let annotations = self.annotations()?;
        let mut methods = Vec::new();
        if self.take_symbol("{") {
            while self.take_keyword("method") {
                let name = self.word()?;
                let parameters = self.parentheses(Self::slot_id)?;
                self.symbol("->")?;
                let results = self.parentheses(Self::slot_id)?;
                self.symbol("{")?;
                let body = self.body()?;
                self.symbol("}")?;
                methods.push(MethodBody {
                    name,
                    parameters,
                    results,
                    body,
                });
            }
            self.symbol("}")?;
        }
        Ok(Object {
            name,
            kind,
            types,
            arguments,
            methods,
            annotations,
        })
    }

    fn action(&mut self) -> Result<Action> {
        let name = self.name()?;
        let parameters = self.parentheses(|p| {
            let name = p.word()?;
            p.symbol(":")?;
            Ok((name, p.slot_id()?, p.annotations()?))
        })?;
        let annotations = self.annotations()?;
        self.symbol("{")?;
        let body = self.body()?;
        self.symbol("}")?;
        Ok(Action {
            name,
            parameters,
            body,
            annotations,
        })
    }

    fn table(&mut self) -> Result<Table> {
        let mut table = Table {
            name: self.name()?,
            keys: Vec::new(),
            actions: Vec::new(),
            default: ActionCall {
                action: 0,
                arguments: Vec::new(),
            },
            const_default: false,
            entries: Vec::new(),
            const_entries: false,
            size: None,
            implementation: None,
            empty_group: None,
            direct: Vec::new(),
            idle_timeout: false,
            properties: Vec::new(),
            hit: None,
            action_run: None,
            annotations: self.annotations()?,
        };
        self.symbol("{")?;
        while !self.take_symbol("}") {
            let Token::Keyword(word) = *self.peek() else {
                return Err(self.expected("a property of a table or }"));
            };
            self.at += 1;
            match word {
                "key" => {
                    let name = self.word()?;
                    self.symbol(":")?;
                    let ty = self.ty()?;
                    let match_kind = self.word()?;
                    self.symbol("=")?;
                    table.keys.push(Key {
                        name,
                        value: self.expression()?,
                        ty,
                        match_kind,
                        annotations: self.annotations()?,
                    });
                }
                "action" => table.actions.push(TableAction {
                    action: ActionId(self.reference(Kind::Action)?),
                    table_only: self.take_keyword("table_only"),
                    default_only: self.take_keyword("default_only"),
                    annotations: self.annotations()?,
                }),
                "default" => {
                    table.const_default = self.take_keyword("const");
                    table.default = self.action_call()?;
                }
                "entry" => table.entries.push(Entry {
                    priority: self.number()?,
                    is_const: self.take_keyword("const"),
                    keys: self.parentheses(Self::key_match)?,
                    call: {
                        self.symbol("->")?;
                        self.action_call()?
                    },
                    annotations: self.annotations()?,
                }),
                "const_entries" => table.const_entries = true,
                "size" => table.size = Some(self.number()?),
                "implementation" => {
                    table.implementation = Some(ObjectId(self.reference(Kind::Object)?));
                }
                "empty_group" => table.empty_group = Some(self.action_call()?),
                "direct" => table.direct.push(ObjectId(self.reference(Kind::Object)?)),
                "idle_timeout" => table.idle_timeout = true,
                "property" => {
                    let name = self.word()?;
                    self.symbol("=")?;
                    table.properties.push((name, self.constant()?));
                }
                "hit" => table.hit = Some(self.slot_id()?),
                "action_run" => table.action_run = Some(self.slot_id()?),
                _ => {
                    self.at -= 1;
                    return Err(self.expected("a property of a table or }"));
                }
            }
        }
        // Engines index the list of actions with these.
        let actions = table.actions.len() as u32;
        let beyond = |call: &ActionCall| actions > 0 && call.action >= actions;
        let mut calls = core::iter::once(&table.default)
            .chain(&table.empty_group)
            .chain(table.entries.iter().map(|entry| &entry.call));
        if calls.any(beyond) {
            self.at -= 1;
            return Err(
                self.here("an entry or the default calls an action that the table does not have")
            );
        }
        Ok(table)
    }

    fn key_match(&mut self) -> Result<KeyMatch> {
        if self.take_keyword("any") {
            return Ok(KeyMatch::Any);
        }
        let value = self.bits()?;
        Ok(if self.take_symbol("/") {
            KeyMatch::Prefix(value, self.number()?)
        } else if self.take_symbol("&&&") {
            KeyMatch::Mask(value, self.bits()?)
        } else if self.take_symbol("..") {
            KeyMatch::Range(value, self.bits()?)
        } else {
            KeyMatch::Exact(value)
        })
    }

    fn action_call(&mut self) -> Result<ActionCall> {
        Ok(ActionCall {
            action: self.number()?,
            arguments: self.parentheses(Self::bits)?,
        })
    }

    fn annotations(&mut self) -> Result<Vec<Annotation>> {
        let mut out = Vec::new();
        while self.take_symbol("@") {
            let name = self.word()?;
            self.symbol("(")?;
            let body = self.name()?;
            self.symbol(")")?;
            out.push(Annotation { name, body });
        }
        Ok(out)
    }

    // Small things.

    fn slot_id(&mut self) -> Result<SlotId> {
        self.reference(Kind::Slot).map(SlotId)
    }

    fn reference(&mut self, kind: Kind) -> Result<u32> {
        let word = KINDS[kind as usize];
        if self.take_symbol("#") {
            let index = self.number()?;
            let count = self.known[kind as usize].count;
            if index >= count {
                self.at -= 1;
                return Err(self.here(format!("the last {word} is before #{count}")));
            }
            return Ok(index);
        }
        let Token::Name(name) = self.peek() else {
            return Err(self.expected(&format!("the name of a declared {word}")));
        };
        match self.known[kind as usize].names.get(&**name) {
            Some(Some(index)) => {
                let index = *index;
                self.at += 1;
                Ok(index)
            }
            Some(None) => Err(self.here(format!(
                "several have this name; use # and an index: {word}"
            ))),
            None => Err(self.here(format!("there is no {word} with this name"))),
        }
    }

    fn block_id(&mut self) -> Result<BlockId> {
        let Token::Name(name) = self.peek() else {
            return Err(self.expected("a label"));
        };
        let found = self.labels.get(&**name).copied();
        let found = found.ok_or_else(|| self.here("there is no block with this label"))?;
        self.at += 1;
        Ok(BlockId(found))
    }
}
