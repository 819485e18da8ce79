//! From text to a program.

use super::Error;
use super::lex::{Placed, Token, WIDEST, fault, tokens};
use super::print::OPERATORS;
use crate::ast::Direction;
use crate::ir::*;
use crate::source::Span;
use crate::value::Bits;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
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
        if beyond(&table.default) || table.entries.iter().any(|e| beyond(&e.call)) {
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

    fn section(&mut self, kind: SectionKind) -> Result<Section> {
        let name = self.word()?;
        self.keyword("role")?;
        let role = self.word()?;
        let error = if self.take_keyword("error_in") {
            Some(self.slot_id()?)
        } else {
            None
        };
        self.symbol("{")?;
        let mut parameters = Vec::new();
        while self.take_keyword("parameter") {
            let name = self.word()?;
            self.symbol(":")?;
            let ty = self.word()?;
            let direction = match &*self.name()? {
                "none" => Direction::None,
                "in" => Direction::In,
                "out" => Direction::Out,
                "inout" => Direction::InOut,
                _ => {
                    self.at -= 1;
                    return Err(self.expected("none, in, out or inout"));
                }
            };
            let fields = self.braces(|p| {
                let path = p.word()?;
                p.symbol("=")?;
                Ok((path, p.slot_id()?))
            })?;
            parameters.push(SectionParameter {
                name,
                ty,
                direction,
                fields,
            });
        }
        let body = self.body()?;
        self.symbol("}")?;
        Ok(Section {
            name,
            role,
            kind,
            parameters,
            body,
            error,
        })
    }

    /// Up to the closing brace, which stays.
    fn body(&mut self) -> Result<Body> {
        self.find_labels()?;
        let mut body = Body::default();
        if self.take_keyword("fail") {
            body.fail = Some(self.block_id()?);
        }
        while *self.peek() != Token::Symbol("}") {
            self.name()?;
            let name = if self.take_symbol("(") {
                let name = self.word()?;
                self.symbol(")")?;
                Some(name)
            } else {
                None
            };
            self.symbol(":")?;
            let mut statements = Vec::new();
            let terminator = loop {
                if let Some(terminator) = self.terminator()? {
                    break terminator;
                }
                let kind = self.statement()?;
                let mut span = Span::default();
                if self.take_symbol("!") {
                    span.start = self.number()?;
                    self.symbol("..")?;
                    span.end = self.number()?;
                }
                statements.push(Statement { kind, span });
            };
            body.blocks.push(Block {
                name,
                statements,
                terminator,
            });
        }
        Ok(body)
    }

    /// Within a body a colon behind a name, or behind a name and one in parentheses, stands in labels only.
    fn find_labels(&mut self) -> Result<()> {
        self.labels.clear();
        let mut depth = 0u32;
        let mut at = self.at;
        let mut count = 0;
        while let Some(placed) = self.tokens.get(at) {
            let ahead = |n: usize| self.tokens.get(at + n).map(|p| &p.token);
            match &placed.token {
                Token::Symbol("{") => depth += 1,
                Token::Symbol("}") if depth == 0 => break,
                Token::Symbol("}") => depth -= 1,
                Token::Name(name) => {
                    let plain = ahead(1) == Some(&Token::Symbol(":"));
                    let named = ahead(1) == Some(&Token::Symbol("("))
                        && matches!(ahead(2), Some(Token::Name(_) | Token::Keyword(_)))
                        && ahead(3) == Some(&Token::Symbol(")"))
                        && ahead(4) == Some(&Token::Symbol(":"));
                    if plain || named {
                        if self.labels.insert(name.to_string(), count).is_some() {
                            self.at = at;
                            return Err(self.here("there is a block with this label above"));
                        }
                        count += 1;
                        at += if named { 3 } else { 0 };
                    }
                }
                _ => {}
            }
            at += 1;
        }
        Ok(())
    }

    fn statement(&mut self) -> Result<StatementKind> {
        let word = match self.peek() {
            Token::Keyword("at") | Token::Name(_) | Token::Symbol("#") => {
                let target = self.place()?;
                self.symbol("=")?;
                let value = self.expression()?;
                return Ok(StatementKind::Assign { target, value });
            }
            Token::Keyword(word) => *word,
            _ => return Err(self.expected("a statement")),
        };
        self.at += 1;
        Ok(match word {
            "extract" => StatementKind::Extract {
                header: HeaderId(self.reference(Kind::Header)?),
                size: self.size()?,
            },
            "extract_next" => StatementKind::ExtractNext {
                stack: StackId(self.reference(Kind::Stack)?),
                size: self.size()?,
            },
            "lookahead" => StatementKind::Lookahead {
                into: self.slot_id()?,
            },
            "advance" => StatementKind::Advance {
                bits: self.expression()?,
            },
            "length" => StatementKind::Length {
                into: self.slot_id()?,
            },
            "emit" => StatementKind::Emit {
                header: HeaderId(self.reference(Kind::Header)?),
            },
            "emit_value" => StatementKind::EmitValue {
                value: self.expression()?,
            },
            "call" => {
                let name = self.word()?;
                let object = if self.take_keyword("of") {
                    Some(ObjectId(self.reference(Kind::Object)?))
                } else {
                    None
                };
                let arguments = self.parentheses(Self::argument)?;
                let results = if self.take_symbol("->") {
                    self.parentheses(Self::place)?
                } else {
                    Vec::new()
                };
                StatementKind::Call {
                    object,
                    name,
                    arguments,
                    results,
                }
            }
            _ => {
                self.at -= 1;
                return Err(self.expected("a statement"));
            }
        })
    }

    fn size(&mut self) -> Result<Option<Expr>> {
        if self.take_keyword("size") {
            self.expression().map(Some)
        } else {
            Ok(None)
        }
    }

    /// `None` when no terminator stands here.
    fn terminator(&mut self) -> Result<Option<Terminator>> {
        let Token::Keyword(word) = *self.peek() else {
            return Ok(None);
        };
        self.at += 1;
        Ok(Some(match word {
            "jump" => Terminator::Jump(self.block_id()?),
            "branch" => Terminator::Branch {
                condition: self.expression()?,
                yes: self.block_id()?,
                no: self.block_id()?,
            },
            "select" => {
                let keys = self.parentheses(Self::expression)?;
                let count = keys.len();
                let cases = self.braces(|p| {
                    let start = p.at;
                    let patterns = p.parentheses(Self::pattern)?;
                    if patterns.len() != count {
                        p.at = start;
                        return Err(p.here(format!("{count} patterns are needed")));
                    }
                    p.symbol("->")?;
                    Ok(Case {
                        patterns,
                        next: p.block_id()?,
                    })
                })?;
                Terminator::Select {
                    keys,
                    cases,
                    default: self.block_id()?,
                }
            }
            "apply" => {
                let table = TableId(self.reference(Kind::Table)?);
                let next = self.block_id()?;
                self.keyword("exit")?;
                Terminator::Apply {
                    table,
                    next,
                    exit: self.block_id()?,
                }
            }
            "return" => Terminator::Return,
            "exit" => Terminator::Exit,
            "reject" => Terminator::Reject,
            _ => {
                self.at -= 1;
                return Ok(None);
            }
        }))
    }

    fn pattern(&mut self) -> Result<Pattern> {
        if self.take_keyword("any") {
            return Ok(Pattern::Any);
        }
        if self.take_keyword("value_set") {
            return Ok(Pattern::ValueSet(ValueSetId(
                self.reference(Kind::ValueSet)?,
            )));
        }
        let value = self.expression()?;
        Ok(if self.take_symbol("&&&") {
            Pattern::Mask(value, self.expression()?)
        } else if self.take_symbol("..") {
            Pattern::Range(value, self.expression()?)
        } else {
            Pattern::Equal(value)
        })
    }

    fn argument(&mut self) -> Result<Argument> {
        Ok(match self.peek() {
            Token::Symbol("{") => Argument::List(self.braces(|p| {
                let name = p.word()?;
                p.symbol("=")?;
                Ok(ListItem {
                    name,
                    value: p.expression()?,
                    valid: if p.take_keyword("valid") {
                        Some(p.slot_id()?)
                    } else {
                        None
                    },
                })
            })?),
            Token::Keyword("text") => {
                self.at += 1;
                Argument::Text(self.name()?)
            }
            Token::Keyword("object") => {
                self.at += 1;
                Argument::Object(ObjectId(self.reference(Kind::Object)?))
            }
            Token::Keyword("member") => {
                self.at += 1;
                let e = EnumId(self.reference(Kind::Enumeration)?);
                Argument::Member(e, self.number()?)
            }
            _ => Argument::Value(self.expression()?),
        })
    }

    fn constant(&mut self) -> Result<Constant> {
        self.deeper(|p| {
            Ok(match p.peek() {
                Token::Symbol("{") => Constant::List(p.braces(Self::constant)?),
                Token::Keyword("text") => {
                    p.at += 1;
                    Constant::Text(p.name()?)
                }
                Token::Keyword("object") => {
                    p.at += 1;
                    Constant::Object(ObjectId(p.reference(Kind::Object)?))
                }
                Token::Keyword("member") => {
                    p.at += 1;
                    let e = EnumId(p.reference(Kind::Enumeration)?);
                    Constant::Member(e, p.number()?)
                }
                _ => Constant::Bits(p.bits()?),
            })
        })
    }

    fn place(&mut self) -> Result<Place> {
        if self.take_keyword("at") {
            let (slots, index) = self.element()?;
            let slice = if *self.peek() == Token::Symbol("[") {
                Some(self.slice()?)
            } else {
                None
            };
            return Ok(Place::Element {
                slots,
                index,
                slice,
            });
        }
        let slot = self.slot_id()?;
        Ok(if *self.peek() == Token::Symbol("[") {
            let (high, low) = self.slice()?;
            Place::Slice { slot, high, low }
        } else {
            Place::Slot(slot)
        })
    }

    fn slice(&mut self) -> Result<(u32, u32)> {
        self.symbol("[")?;
        let start = self.at;
        let high = self.number()?;
        self.symbol(":")?;
        let low = self.number()?;
        if low > high || high >= WIDEST {
            self.at = start;
            return Err(self.here("a slice is [high:low]"));
        }
        self.symbol("]")?;
        Ok((high, low))
    }

    fn element(&mut self) -> Result<(Vec<SlotId>, Expr)> {
        self.symbol("(")?;
        let index = self.expression()?;
        let mut slots = Vec::new();
        while self.take_symbol(",") {
            slots.push(self.slot_id()?);
        }
        self.symbol(")")?;
        Ok((slots, index))
    }

    fn expression(&mut self) -> Result<Expr> {
        self.deeper(|p| {
            let mut value = p.primary()?;
            let mut slices = 0;
            while *p.peek() == Token::Symbol("[") {
                slices += 1;
                if p.depth + slices > DEEPEST {
                    return Err(p.here("nested too deep"));
                }
                let (high, low) = p.slice()?;
                value = Expr::Slice {
                    value: Box::new(value),
                    high,
                    low,
                };
            }
            Ok(value)
        })
    }

    fn primary(&mut self) -> Result<Expr> {
        match self.peek().clone() {
            Token::Bits(value, signed) => {
                self.at += 1;
                let width = value.width();
                let ty = if signed {
                    Ty::Signed(width)
                } else {
                    Ty::Bits(width)
                };
                Ok(Expr::Constant(value, ty))
            }
            Token::Symbol(sign @ ("-" | "~" | "!")) => {
                self.at += 1;
                let operator = match sign {
                    "-" => Unary::Negate,
                    "~" => Unary::Complement,
                    _ => Unary::Not,
                };
                // A slice binds tighter.
                Ok(Expr::Unary(operator, Box::new(self.expression()?)))
            }
            Token::Symbol("(") => {
                self.at += 1;
                let left = self.expression()?;
                if self.take_symbol(")") {
                    return Ok(left);
                }
                let Token::Symbol(sign) = *self.peek() else {
                    return Err(self.expected("an operator"));
                };
                let Some((operator, _)) = OPERATORS.iter().find(|(_, s)| *s == sign) else {
                    return Err(self.expected("an operator"));
                };
                self.at += 1;
                let right = self.expression()?;
                self.symbol(")")?;
                Ok(Expr::Binary(*operator, Box::new(left), Box::new(right)))
            }
            Token::Keyword(word) => {
                self.at += 1;
                match word {
                    "true" => Ok(Expr::Constant(Bits::from(true), Ty::Bool)),
                    "false" => Ok(Expr::Constant(Bits::from(false), Ty::Bool)),
                    "at" => {
                        let (slots, index) = self.element()?;
                        Ok(Expr::Element {
                            slots,
                            index: Box::new(index),
                        })
                    }
                    "typed" => {
                        self.symbol("(")?;
                        let ty = self.ty()?;
                        self.symbol(",")?;
                        let value = self.bits()?;
                        self.symbol(")")?;
                        Ok(Expr::Constant(value, ty))
                    }
                    "cast" => {
                        self.symbol("(")?;
                        let ty = self.ty()?;
                        self.symbol(",")?;
                        let value = Box::new(self.expression()?);
                        self.symbol(")")?;
                        Ok(Expr::Cast { value, ty })
                    }
                    "if" => {
                        self.symbol("(")?;
                        let condition = Box::new(self.expression()?);
                        self.symbol(",")?;
                        let yes = Box::new(self.expression()?);
                        self.symbol(",")?;
                        let no = Box::new(self.expression()?);
                        self.symbol(")")?;
                        Ok(Expr::Conditional { condition, yes, no })
                    }
                    "varbit_length" => {
                        self.symbol("(")?;
                        let slot = self.slot_id()?;
                        self.symbol(")")?;
                        Ok(Expr::VarbitLength(slot))
                    }
                    _ => {
                        self.at -= 1;
                        Err(self.expected("an expression"))
                    }
                }
            }
            Token::Name(_) | Token::Symbol("#") => Ok(Expr::Slot(self.slot_id()?)),
            _ => Err(self.expected("an expression")),
        }
    }

    fn ty(&mut self) -> Result<Ty> {
        let name = self.name()?;
        let width = |from: usize| {
            let width = name.get(from..)?.parse::<u32>().ok()?;
            (width <= WIDEST && !name[from..].starts_with('+')).then_some(width)
        };
        let ty = match name.as_bytes().first() {
            _ if &*name == "bool" => Some(Ty::Bool),
            Some(b'b') => width(1).map(Ty::Bits),
            Some(b'i') => width(1).map(Ty::Signed),
            Some(b'v') => width(1).map(Ty::Varbit),
            _ => None,
        };
        ty.ok_or_else(|| {
            self.at -= 1;
            self.expected("a type: bool, b16, i16 or v16")
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

    fn peek(&self) -> &Token<'a> {
        // The last token is `End`, and nothing moves past it.
        &self.tokens[self.at.min(self.tokens.len() - 1)].token
    }

    fn here(&self, message: impl Into<String>) -> Error {
        let at = self.tokens[self.at.min(self.tokens.len() - 1)].at;
        fault(self.text, at, message)
    }

    fn expected(&self, what: &str) -> Error {
        let found = match self.peek() {
            Token::Name(name) => format!("{name:?}"),
            Token::Keyword(word) => (*word).to_string(),
            Token::Number(number) => number.to_string(),
            Token::Bits(value, _) => value.to_string(),
            Token::Symbol(symbol) => (*symbol).to_string(),
            Token::End => "the end of the text".to_string(),
        };
        self.here(format!("expected {what}, found {found}"))
    }

    fn symbol(&mut self, symbol: &'static str) -> Result<()> {
        if self.take_symbol(symbol) {
            Ok(())
        } else {
            Err(self.expected(symbol))
        }
    }

    fn take_symbol(&mut self, symbol: &'static str) -> bool {
        let there = *self.peek() == Token::Symbol(symbol);
        self.at += usize::from(there);
        there
    }

    fn keyword(&mut self, word: &str) -> Result<()> {
        if self.take_keyword(word) {
            Ok(())
        } else {
            Err(self.expected(word))
        }
    }

    fn take_keyword(&mut self, word: &str) -> bool {
        let there = matches!(self.peek(), Token::Keyword(found) if *found == word);
        self.at += usize::from(there);
        there
    }

    fn name(&mut self) -> Result<Arc<str>> {
        let Token::Name(name) = self.peek() else {
            return Err(self.expected("a name"));
        };
        let name = Arc::from(&**name);
        self.at += 1;
        Ok(name)
    }

    /// A name where no keyword can stand, so that one may be a name.
    fn word(&mut self) -> Result<Arc<str>> {
        if let Token::Keyword(word) = *self.peek() {
            self.at += 1;
            return Ok(word.into());
        }
        self.name()
    }

    fn number(&mut self) -> Result<u32> {
        let Token::Number(number) = *self.peek() else {
            return Err(self.expected("a number"));
        };
        let number = u32::try_from(number).map_err(|_| self.here("the number is too large"))?;
        self.at += 1;
        Ok(number)
    }

    fn width(&mut self) -> Result<u32> {
        let width = self.number()?;
        if width > WIDEST {
            self.at -= 1;
            return Err(self.here(format!("wider than {WIDEST} bits")));
        }
        Ok(width)
    }

    fn bits(&mut self) -> Result<Bits> {
        let Token::Bits(value, false) = self.peek() else {
            return Err(self.expected("a value such as 16w0x800"));
        };
        let value = value.clone();
        self.at += 1;
        Ok(value)
    }

    fn braces<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.list("{", "}", item)
    }

    fn parentheses<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.list("(", ")", item)
    }

    fn list<T>(
        &mut self,
        open: &'static str,
        close: &'static str,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.symbol(open)?;
        let mut out = Vec::new();
        if self.take_symbol(close) {
            return Ok(out);
        }
        loop {
            out.push(item(self)?);
            if self.take_symbol(close) {
                return Ok(out);
            }
            self.symbol(",")?;
        }
    }

    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEEPEST {
            return Err(self.here("nested too deep"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }
}
