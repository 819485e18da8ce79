//! Random programs and packets, and both engines run on them side by side.
#![allow(dead_code, reason = "each test uses a part of it")]

use p4::ast::Direction;
use p4::ir::*;
use p4::source::Span;
use p4::value::Bits;
use pipeline::context::{Context, STEPS};
use pipeline::engine::{Ended, Engine, Packet, Passed, Path, Source, Step};
use pipeline::environment::{Environment, Options};
use pipeline::interpreter::Interpreter;
use std::sync::Arc;

/// Where choices come from.
pub struct Choices<'a> {
    /// Used first, each byte once.
    bytes: &'a [u8],
    state: u64,
}

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8], seed: u64) -> Self {
        Choices { bytes, state: seed }
    }

    pub fn next(&mut self) -> u64 {
        if let Some((first, rest)) = self.bytes.split_first() {
            self.bytes = rest;
            return u64::from(*first);
        }
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<'b, T>(&mut self, list: &'b [T]) -> &'b T {
        &list[self.below(list.len())]
    }

    fn bits(&mut self, width: u32) -> Bits {
        let limbs: Vec<u64> = (0..width.div_ceil(64).max(1))
            .map(|_| match self.below(6) {
                0 => 0,
                1 => u64::MAX,
                2 => 1 << self.below(64),
                3 => self.next() & 0xFF,
                _ => {
                    // A byte of the fuzzer's is not enough.
                    let more = self.next();
                    more.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ self.next()
                }
            })
            .collect();
        Bits::from_limbs(width, &limbs)
    }
}

const WIDTHS: [u32; 24] = [
    1, 2, 3, 7, 8, 9, 12, 16, 20, 31, 32, 33, 48, 63, 64, 65, 72, 100, 128, 129, 192, 256, 512, 600,
];

/// A program in the making.
struct Maker<'a, 'b> {
    c: &'a mut Choices<'b>,
    program: Program,
    /// Slots for anything.
    free: Vec<SlotId>,
}

/// A program that uses most of what there is.
pub fn program(c: &mut Choices<'_>) -> Program {
    let mut m = Maker {
        c,
        program: Program {
            architecture: "V1Switch".into(),
            ..Program::default()
        },
        free: Vec::new(),
    };
    let errors = [
        "NoError",
        "PacketTooShort",
        "NoMatch",
        "StackOutOfBounds",
        "HeaderTooShort",
        "ParserTimeout",
        "ParserInvalidArgument",
    ];
    let members = errors.iter().enumerate();
    let members = members.map(|(index, name)| ((*name).into(), Bits::new(32, index)));
    m.program.enumerations.push(Enumeration {
        name: "error".into(),
        width: 32,
        members: members.collect(),
    });
    let algorithms = ["crc32", "crc16", "csum16", "xor16", "identity"];
    let members = algorithms.iter().enumerate();
    let members = members.map(|(index, name)| ((*name).into(), Bits::new(32, index)));
    m.program.enumerations.push(Enumeration {
        name: "HashAlgorithm".into(),
        width: 32,
        members: members.collect(),
    });
    for index in 0..8 + m.c.below(16) {
        let ty = m.ty();
        let slot = m.slot(&format!("x{index}"), ty);
        m.free.push(slot);
    }
    for index in 0..2 + m.c.below(3) {
        let aligned = m.c.below(3) > 0;
        m.header(&format!("h{index}"), aligned, index == 1);
    }
    m.stack();
    m.objects();
    for index in 0..2 + m.c.below(3) {
        m.action(index);
    }
    for index in 0..1 + m.c.below(3) {
        m.table(index);
    }
    m.section(SectionKind::Parser, "p");
    m.section(SectionKind::Control, "ig");
    m.section(SectionKind::Control, "dep");
    m.program
}

impl Maker<'_, '_> {
    fn ty(&mut self) -> Ty {
        let width = *self.c.pick(&WIDTHS);
        match self.c.below(5) {
            0 => Ty::Bool,
            1 => Ty::Signed(width),
            _ => Ty::Bits(width),
        }
    }

    fn slot(&mut self, name: &str, ty: Ty) -> SlotId {
        self.program.slots.push(Slot {
            name: name.into(),
            ty,
            enumeration: None,
            annotations: Vec::new(),
        });
        SlotId(self.program.slots.len() as u32 - 1)
    }

    fn header(&mut self, name: &str, aligned: bool, variable: bool) -> HeaderId {
        let valid = self.slot(&format!("{name}.$valid"), Ty::Bool);
        self.free.push(valid);
        let mut fields = Vec::new();
        let mut total = 0;
        for index in 0..1 + self.c.below(6) {
            let width = *self.c.pick(&WIDTHS[..20]);
            total += width;
            fields.push(self.slot(&format!("{name}.f{index}"), Ty::Bits(width)));
        }
        if aligned && total % 8 != 0 {
            fields.push(self.slot(&format!("{name}.pad"), Ty::Bits(8 - total % 8)));
        }
        self.free.extend(&fields);
        if variable {
            fields.push(self.slot(&format!("{name}.var"), Ty::Varbit(320)));
        }
        self.program.headers.push(Header {
            name: name.into(),
            ty: "t".into(),
            valid,
            fields,
        });
        HeaderId(self.program.headers.len() as u32 - 1)
    }

    fn stack(&mut self) {
        let width = *self.c.pick(&[8, 16, 20, 32, 40, 128]);
        let headers: Vec<HeaderId> = (0..1 + self.c.below(3))
            .map(|index| {
                let name = format!("s[{index}]");
                let valid = self.slot(&format!("{name}.$valid"), Ty::Bool);
                let field = self.slot(&format!("{name}.f"), Ty::Bits(width));
                self.free.push(field);
                self.program.headers.push(Header {
                    name: name.as_str().into(),
                    ty: "s".into(),
                    valid,
                    fields: vec![field],
                });
                HeaderId(self.program.headers.len() as u32 - 1)
            })
            .collect();
        let next = self.slot("s.$next", Ty::Bits(32));
        self.program.stacks.push(Stack {
            name: "s".into(),
            headers,
            next,
        });
    }

    fn objects(&mut self) {
        let object = |name: &str, kind: &str, types, arguments| Object {
            name: name.into(),
            kind: kind.into(),
            types,
            arguments,
            methods: Vec::new(),
            annotations: Vec::new(),
        };
        let width = *self.c.pick(&WIDTHS);
        let size = |size: u32| vec![("size".into(), Constant::Bits(Bits::new(32, size)))];
        let register = vec![vec![("".into(), Ty::Bits(width))]];
        self.program
            .objects
            .push(object("r", "register", register, size(5)));
        self.program
            .objects
            .push(object("c", "counter", Vec::new(), size(4)));
        self.program
            .objects
            .push(object("d", "direct_counter", Vec::new(), Vec::new()));
    }

    /// A slot of the width and signedness, if there is one.
    fn slot_of(&mut self, ty: Ty) -> Option<SlotId> {
        let start = self.c.below(self.free.len());
        let order = self.free[start..].iter().chain(&self.free[..start]);
        let slots = &self.program.slots;
        order.copied().find(|slot| slots[slot.index()].ty == ty)
    }

    fn expression(&mut self, ty: Ty, depth: u32) -> Expr {
        if depth == 0 || self.c.one_in(5) {
            return match self.slot_of(ty) {
                Some(slot) if !self.c.one_in(4) => Expr::Slot(slot),
                _ => Expr::Constant(self.c.bits(ty.width()), ty),
            };
        }
        let depth = depth - 1;
        if ty == Ty::Bool && !self.c.one_in(4) {
            let of = self.ty();
            return match self.c.below(4) {
                0 => Expr::Unary(Unary::Not, Box::new(self.expression(Ty::Bool, depth))),
                _ => {
                    let operator = *self.c.pick(&[
                        Binary::Equal,
                        Binary::NotEqual,
                        Binary::Less,
                        Binary::LessEqual,
                        Binary::Greater,
                        Binary::GreaterEqual,
                    ]);
                    let left = Box::new(self.expression(of, depth));
                    Expr::Binary(operator, left, Box::new(self.expression(of, depth)))
                }
            };
        }
        match self.c.below(12) {
            0 if ty != Ty::Bool => {
                let operator = *self.c.pick(&[Unary::Negate, Unary::Complement]);
                Expr::Unary(operator, Box::new(self.expression(ty, depth)))
            }
            1..=4 => {
                let mut operator = *self.c.pick(&[
                    Binary::Add,
                    Binary::Subtract,
                    Binary::Multiply,
                    Binary::SaturatingAdd,
                    Binary::SaturatingSubtract,
                    Binary::Divide,
                    Binary::Modulo,
                    Binary::And,
                    Binary::Or,
                    Binary::Xor,
                ]);
                if ty == Ty::Bool {
                    operator = *self.c.pick(&[Binary::And, Binary::Or, Binary::Xor]);
                } else if matches!(ty, Ty::Signed(_))
                    && matches!(operator, Binary::Divide | Binary::Modulo)
                {
                    operator = Binary::Add;
                }
                let left = Box::new(self.expression(ty, depth));
                Expr::Binary(operator, left, Box::new(self.expression(ty, depth)))
            }
            5 | 6 if ty != Ty::Bool => {
                let operator = *self.c.pick(&[Binary::ShiftLeft, Binary::ShiftRight]);
                let by = Ty::Bits(*self.c.pick(&[3, 6, 7, 8, 32, 64, 80]));
                let left = Box::new(self.expression(ty, depth));
                let right = match self.c.one_in(2) {
                    true => Expr::Constant(Bits::new(by.width(), self.c.below(140)), by),
                    false => self.expression(by, depth),
                };
                Expr::Binary(operator, left, Box::new(right))
            }
            7 => {
                if let Ty::Bits(width) = ty {
                    if width >= 2 && self.c.one_in(2) {
                        let low = 1 + self.c.below(width as usize - 1) as u32;
                        let left = self.expression(Ty::Bits(width - low), depth);
                        let right = self.expression(Ty::Bits(low), depth);
                        return Expr::Binary(Binary::Concat, Box::new(left), Box::new(right));
                    }
                    let from = self.c.pick(&WIDTHS[..]).max(&width).to_owned();
                    let low = self.c.below((from - width) as usize + 1) as u32;
                    return Expr::Slice {
                        value: Box::new(self.expression(Ty::Bits(from), depth)),
                        high: low + width - 1,
                        low,
                    };
                }
                self.cast(ty, depth)
            }
            8 => Expr::Conditional {
                condition: Box::new(self.expression(Ty::Bool, depth)),
                yes: Box::new(self.expression(ty, depth)),
                no: Box::new(self.expression(ty, depth)),
            },
            9 => self.element(ty, depth),
            _ => self.cast(ty, depth),
        }
    }

    fn cast(&mut self, ty: Ty, depth: u32) -> Expr {
        let from = match ty {
            Ty::Bool => Ty::Bits(1),
            _ => self.ty(),
        };
        Expr::Cast {
            value: Box::new(self.expression(from, depth)),
            ty,
        }
    }

    fn elements(&mut self, ty: Ty) -> Option<Vec<SlotId>> {
        let first = self.slot_of(ty)?;
        let second = self.slot_of(ty)?;
        Some(vec![first, second, first])
    }

    fn element(&mut self, ty: Ty, depth: u32) -> Expr {
        let Some(slots) = self.elements(ty) else {
            return self.expression(ty, depth);
        };
        let of = Ty::Bits(*self.c.pick(&[1, 2, 8, 32, 70]));
        let index = Box::new(self.expression(of, depth));
        Expr::Element { slots, index }
    }

    fn place(&mut self) -> (Place, Ty) {
        let slot = *self.c.pick(&self.free);
        let ty = self.program.slots[slot.index()].ty;
        if ty != Ty::Bool && self.c.one_in(4) {
            let width = ty.width() as usize;
            let low = self.c.below(width) as u32;
            let high = low + self.c.below(width - low as usize) as u32;
            let of = Ty::Bits(high - low + 1);
            if self.c.one_in(3)
                && let Some(slots) = self.elements(ty)
            {
                let index = self.expression(Ty::Bits(8), 1);
                let slice = Some((high, low));
                return (
                    Place::Element {
                        slots,
                        index,
                        slice,
                    },
                    of,
                );
            }
            return (Place::Slice { slot, high, low }, of);
        }
        if self.c.one_in(6)
            && let Some(slots) = self.elements(ty)
        {
            let index = self.expression(Ty::Bits(8), 1);
            let slice = None;
            return (
                Place::Element {
                    slots,
                    index,
                    slice,
                },
                ty,
            );
        }
        (Place::Slot(slot), ty)
    }

    fn statement(&mut self, kind: SectionKind, emits: bool) -> StatementKind {
        let choice = self.c.below(12);
        if kind == SectionKind::Parser && choice < 6 {
            let header = HeaderId(self.c.below(self.program.headers.len()) as u32);
            match choice {
                0..=2 => {
                    let fields = &self.program.headers[header.index()].fields;
                    let mut fields = fields
                        .iter()
                        .map(|slot| self.program.slots[slot.index()].ty);
                    let variable = fields.any(|ty| matches!(ty, Ty::Varbit(_)));
                    let size = variable.then(|| {
                        let by = self.expression(Ty::Bits(6), 1);
                        let value = Box::new(by);
                        let value = Expr::Cast {
                            value,
                            ty: Ty::Bits(32),
                        };
                        let by = 2 + self.c.below(3);
                        let by = Expr::Constant(Bits::new(8, by), Ty::Bits(8));
                        Expr::Binary(Binary::ShiftLeft, Box::new(value), Box::new(by))
                    });
                    return StatementKind::Extract { header, size };
                }
                3 => {
                    return StatementKind::ExtractNext {
                        stack: StackId(0),
                        size: None,
                    };
                }
                4 => {
                    let into = *self.c.pick(&self.free);
                    return StatementKind::Lookahead { into };
                }
                _ => {
                    let bits = self.expression(Ty::Bits(5), 1);
                    let value = Box::new(bits);
                    let ty = Ty::Bits(32);
                    return StatementKind::Advance {
                        bits: Expr::Cast { value, ty },
                    };
                }
            }
        }
        if emits && choice < 6 {
            let header = HeaderId(self.c.below(self.program.headers.len()) as u32);
            if choice == 0 {
                let ty = self.ty();
                let value = self.expression(ty, 2);
                return StatementKind::EmitValue { value };
            }
            return StatementKind::Emit { header };
        }
        if choice == 11 {
            return self.call();
        }
        let (target, ty) = self.place();
        let value = self.expression(ty, 3);
        StatementKind::Assign { target, value }
    }

    fn call(&mut self) -> StatementKind {
        let value = |expression| Argument::Value(expression);
        let index = self.expression(Ty::Bits(3), 1);
        let Ty::Bits(width) = self.program.objects[0].types[0][0].1 else {
            unreachable!("the register holds bits");
        };
        let (object, name, arguments, results) = match self.c.below(4) {
            0 => (Some(ObjectId(1)), "count", vec![value(index)], Vec::new()),
            1 => match self.slot_of(Ty::Bits(width)) {
                Some(slot) => (
                    Some(ObjectId(0)),
                    "read",
                    vec![value(index)],
                    vec![Place::Slot(slot)],
                ),
                None => (Some(ObjectId(1)), "count", vec![value(index)], Vec::new()),
            },
            2 => {
                let what = self.expression(Ty::Bits(width), 2);
                (
                    Some(ObjectId(0)),
                    "write",
                    vec![value(index), value(what)],
                    Vec::new(),
                )
            }
            _ => {
                let items = (0..1 + self.c.below(4)).map(|_| {
                    let ty = self.ty();
                    let valid = self.slot_of(Ty::Bool).filter(|_| self.c.one_in(3));
                    ListItem {
                        name: "".into(),
                        value: self.expression(ty, 1),
                        valid,
                    }
                });
                let items: Vec<ListItem> = items.collect();
                let number = self.c.below(7) as u32;
                if number >= 5 {
                    // A checksum, verified or updated; the same validity for all, or none.
                    let mut items = items;
                    if self.c.one_in(2) {
                        let valid = items[0].valid;
                        items.iter_mut().for_each(|item| item.valid = valid);
                    }
                    let condition = Argument::Value(self.expression(Ty::Bool, 1));
                    let slot = self.slot_of(Ty::Bits(16)).unwrap_or(self.free[0]);
                    let old = Argument::Value(Expr::Slot(slot));
                    let algorithm = Argument::Member(EnumId(1), 2);
                    let arguments = vec![condition, Argument::List(items), old, algorithm];
                    let (name, results) = match number {
                        5 => ("verify_checksum", Vec::new()),
                        _ => ("update_checksum", vec![Place::Slot(slot)]),
                    };
                    return StatementKind::Call {
                        object: None,
                        name: name.into(),
                        arguments,
                        results,
                    };
                }
                let algorithm = Argument::Member(EnumId(1), number);
                let slot = *self.c.pick(&self.free);
                let constant = |value: u64| {
                    Argument::Value(Expr::Constant(Bits::new(32, value), Ty::Bits(32)))
                };
                let arguments = vec![
                    algorithm,
                    constant(3),
                    Argument::List(items),
                    constant(1 << 20),
                ];
                (None, "hash", arguments, vec![Place::Slot(slot)])
            }
        };
        StatementKind::Call {
            object,
            name: name.into(),
            arguments,
            results,
        }
    }

    fn body(&mut self, kind: SectionKind, emits: bool, tables: bool, ends: &[Terminator]) -> Body {
        let count = 1 + self.c.below(6);
        let mut blocks = Vec::new();
        for index in 0..count {
            let statements = (0..self.c.below(6)).map(|_| Statement {
                kind: self.statement(kind, emits),
                span: Span::default(),
            });
            let statements = statements.collect();
            // Now and then a jump backwards, of which some end only when the steps are used up.
            let to = |m: &mut Self| {
                BlockId(match m.c.one_in(12) {
                    true => m.c.below(count),
                    false => (index + 1 + m.c.below(count - index)).min(count - 1),
                } as u32)
            };
            let terminator = if index + 1 == count {
                self.c.pick(ends).clone()
            } else {
                match self.c.below(6) {
                    0 => Terminator::Jump(to(self)),
                    1 | 2 => Terminator::Branch {
                        condition: self.expression(Ty::Bool, 3),
                        yes: to(self),
                        no: to(self),
                    },
                    3 if tables => Terminator::Apply {
                        table: TableId(self.c.below(self.program.tables.len()) as u32),
                        next: to(self),
                        exit: to(self),
                    },
                    _ => self.select(to),
                }
            };
            blocks.push(Block {
                name: None,
                statements,
                terminator,
            });
        }
        let fail =
            (kind == SectionKind::Parser && self.c.one_in(2)).then(|| BlockId(count as u32 - 1));
        Body { blocks, fail }
    }

    fn select(&mut self, to: impl Fn(&mut Self) -> BlockId) -> Terminator {
        let types: Vec<Ty> = (0..1 + self.c.below(2)).map(|_| self.ty()).collect();
        let simple = self.c.one_in(2);
        let keys = types.iter().map(|ty| self.expression(*ty, 2)).collect();
        let cases = (0..self.c.below(5)).map(|_| {
            let patterns = types.iter().map(|ty| {
                let constant = |m: &mut Self| Expr::Constant(m.c.bits(ty.width()), *ty);
                match self.c.below(5) {
                    _ if simple => Pattern::Equal(constant(self)),
                    0 => Pattern::Any,
                    1 => Pattern::Mask(constant(self), constant(self)),
                    2 => Pattern::Range(constant(self), constant(self)),
                    3 => Pattern::Equal(self.expression(*ty, 1)),
                    _ => Pattern::Equal(constant(self)),
                }
            });
            let patterns = patterns.collect();
            Case {
                patterns,
                next: to(self),
            }
        });
        let cases = cases.collect();
        Terminator::Select {
            keys,
            cases,
            default: to(self),
        }
    }

    fn action(&mut self, index: usize) {
        let parameters = (0..self.c.below(3)).map(|number| {
            let ty = self.ty();
            let slot = self.slot(&format!("a{index}.{number}"), ty);
            self.free.push(slot);
            (format!("p{number}").into(), slot, Vec::new())
        });
        let parameters = parameters.collect();
        let ends = [Terminator::Return, Terminator::Return, Terminator::Exit];
        let body = self.body(SectionKind::Control, false, false, &ends);
        self.program.actions.push(Action {
            name: format!("a{index}").into(),
            parameters,
            body,
            annotations: Vec::new(),
        });
    }

    fn arguments(&mut self, action: ActionId) -> Vec<Bits> {
        let parameters = self.program.actions[action.index()].parameters.clone();
        let slots = parameters.iter().map(|(_, slot, _)| *slot);
        let widths: Vec<u32> = slots
            .map(|slot| self.program.slots[slot.index()].ty.width())
            .collect();
        widths.into_iter().map(|width| self.c.bits(width)).collect()
    }

    fn table(&mut self, index: usize) {
        let all: [&[&str]; 8] = [
            &["exact"],
            &["exact", "exact"],
            &["lpm"],
            &["exact", "lpm"],
            &["ternary"],
            &["ternary", "exact"],
            &["range"],
            &[],
        ];
        let kinds = all[self.c.below(all.len())];
        let keys: Vec<Key> = kinds
            .iter()
            .map(|kind| {
                let width = *self.c.pick(&[1, 3, 8, 12, 16, 32, 48, 64, 70, 128]);
                let ty = Ty::Bits(width);
                Key {
                    name: "k".into(),
                    value: self.expression(ty, 2),
                    ty,
                    match_kind: (*kind).into(),
                    annotations: Vec::new(),
                }
            })
            .collect();
        let actions: Vec<TableAction> = (0..self.program.actions.len() as u32)
            .map(|action| TableAction {
                action: ActionId(action),
                table_only: false,
                default_only: false,
                annotations: Vec::new(),
            })
            .collect();
        let call = |m: &mut Self| {
            let action = m.c.below(actions.len()) as u32;
            let arguments = m.arguments(actions[action as usize].action);
            ActionCall { action, arguments }
        };
        let default = call(self);
        let mut entries: Vec<Entry> = Vec::new();
        for number in 0..self.c.below(12) * usize::from(!keys.is_empty()) {
            let matches: Vec<KeyMatch> = keys
                .iter()
                .map(|key| {
                    let width = key.ty.width();
                    let value = self.c.bits(width);
                    match &*key.match_kind {
                        "exact" => KeyMatch::Exact(value),
                        "lpm" => {
                            let length = self.c.below(width as usize + 1) as u32;
                            let mask =
                                Bits::new(width, p4::value::mask(length) << (width - length));
                            let value = Bits::new(width, value.unsigned() & mask.unsigned());
                            KeyMatch::Prefix(value, length)
                        }
                        "range" => {
                            let other = self.c.bits(width);
                            let (low, high) = if value <= other {
                                (value, other)
                            } else {
                                (other, value)
                            };
                            KeyMatch::Range(low, high)
                        }
                        _ => {
                            let mask = self.c.bits(width);
                            let value = Bits::new(width, value.unsigned() & mask.unsigned());
                            KeyMatch::Mask(value, mask)
                        }
                    }
                })
                .collect();
            if entries.iter().all(|entry| entry.keys != matches) {
                let call = call(self);
                entries.push(Entry {
                    priority: 100 - number as u32,
                    keys: matches,
                    call,
                    is_const: true,
                    annotations: Vec::new(),
                });
            }
        }
        // Which of the two is written first, an argument or this, is nobody's business.
        let bound = |m: &Self, slot: &SlotId| {
            let parameters = m
                .program
                .actions
                .iter()
                .flat_map(|action| &action.parameters);
            parameters
                .into_iter()
                .any(|(_, parameter, _)| parameter == slot)
        };
        let hit = self.slot_of(Ty::Bool).filter(|slot| !bound(self, slot));
        let action_run = self.slot_of(Ty::Bits(32)).filter(|slot| !bound(self, slot));
        let direct = if index == 0 {
            vec![ObjectId(2)]
        } else {
            Vec::new()
        };
        self.program.tables.push(Table {
            name: format!("t{index}").into(),
            keys,
            actions,
            default,
            const_default: false,
            entries,
            const_entries: false,
            size: Some(16),
            implementation: None,
            direct,
            idle_timeout: false,
            properties: Vec::new(),
            hit,
            action_run,
            annotations: Vec::new(),
        });
    }

    fn section(&mut self, kind: SectionKind, role: &str) {
        let parser = kind == SectionKind::Parser;
        let ends = [
            Terminator::Return,
            Terminator::Return,
            if parser {
                Terminator::Reject
            } else {
                Terminator::Exit
            },
        ];
        let error = parser.then(|| self.slot("error", Ty::Bits(32)));
        let body = self.body(kind, role == "dep", role == "ig", &ends);
        // Every second slot is the section's own, if nobody else uses it.
        let fields = self.program.slots.iter().enumerate();
        let fields = fields.filter(|(index, slot)| index % 2 == 0 || slot.name.contains('.'));
        let fields = fields.map(|(index, slot)| (slot.name.clone(), SlotId(index as u32)));
        let fields = fields.collect();
        self.program.sections.push(Section {
            name: role.into(),
            role: role.into(),
            kind,
            parameters: vec![SectionParameter {
                name: "all".into(),
                ty: "all".into(),
                direction: Direction::InOut,
                fields,
            }],
            body,
            error,
        });
    }
}

/// What came of a packet: how sections ended, the slots that others see, what is emitted.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    ended: Vec<Ended>,
    slots: Vec<(Arc<str>, Bits)>,
    position: u64,
    emitted: Vec<u8>,
    emitted_bits: u64,
    steps: u32,
    counts: Vec<Option<(u64, u64)>>,
    registers: Vec<Option<Vec<Bits>>>,
    checksum_error: bool,
}

impl Outcome {
    /// Without what only other sections would see.
    pub fn outside(mut self) -> Self {
        self.slots.clear();
        self
    }

    /// Without how many steps it took.
    pub fn in_any_time(mut self) -> Self {
        self.steps = 0;
        self
    }

    /// Whether it came to an end by itself.
    pub fn ended(&self) -> bool {
        !self.ended.contains(&Ended::Stop)
    }
}

/// A program with its state in one engine.
pub struct Side {
    environment: Arc<Environment>,
    engine: Box<dyn Engine>,
    context: Context,
    seen: Vec<SlotId>,
}

impl Side {
    pub fn new(
        program: &Arc<Program>,
        engine: impl Fn(&Arc<Environment>) -> Box<dyn Engine>,
    ) -> Self {
        let environment = Environment::new(Arc::clone(program), Options::default());
        let environment = Arc::new(environment.expect("its objects are small"));
        let parameters = program
            .sections
            .iter()
            .flat_map(|section| &section.parameters);
        let seen = parameters.flat_map(|parameter| parameter.fields.iter().map(|(_, slot)| *slot));
        let mut seen: Vec<SlotId> = seen.collect();
        seen.sort();
        seen.dedup();
        Side {
            engine: engine(&environment),
            context: Context::new(Arc::clone(&environment), 1),
            environment,
            seen,
        }
    }

    pub fn interpreter(program: &Arc<Program>) -> Self {
        Self::new(program, |environment| {
            Box::new(Interpreter::new(environment).expect("its externs are known"))
        })
    }

    pub fn jit(program: &Arc<Program>) -> Self {
        Self::new(program, |environment| {
            Box::new(jit::Jit::new(environment).expect("its externs are known"))
        })
    }

    /// Runs all sections one after the other.
    pub fn run(&mut self, bytes: &[u8]) -> Outcome {
        let program = Arc::clone(&self.environment.program);
        let mut cells = self.environment.layout.fresh();
        let mut packet = Packet::default();
        packet.begin(bytes);
        self.context.begin(node::Time::ZERO, bytes.len() as u32);
        // Loops without end shall not take the test's time.
        self.context.steps = 50;
        let mut ended = Vec::new();
        let view = self.environment.tables.view();
        for section in 0..program.sections.len() as u32 {
            let end = self.engine.run(
                SectionId(section),
                &mut cells,
                &mut packet,
                view.tables(),
                &mut self.context,
            );
            ended.push(end);
            if end == Ended::Stop {
                break;
            }
        }
        let layout = &self.environment.layout;
        let slots = self.seen.iter().map(|slot| {
            let name = &program.slots[slot.index()].name;
            (Arc::clone(name), layout.read(&cells, *slot))
        });
        let counter = |object: u32, index| {
            self.environment
                .counter(ObjectId(object))
                .and_then(|counter| counter.read(index))
        };
        let counts = (0..4).map(|index| counter(1, index));
        let direct = (0..16).map(|index| counter(2, index));
        let register = self.environment.register(ObjectId(0));
        let registers = (0..5).map(|index| register.and_then(|register| register.read(index)));
        Outcome {
            slots: slots.collect(),
            ended,
            position: packet.position,
            emitted: packet.emitted,
            emitted_bits: packet.emitted_bits,
            steps: self.context.steps,
            counts: counts.chain(direct).collect(),
            registers: registers.collect(),
            checksum_error: self.context.effects.checksum_error,
        }
    }
}

/// A path through all sections of a program, with everything that can stand between them.
pub fn path(c: &mut Choices<'_>, program: &Program) -> Path {
    let slots = program.slots.iter().enumerate();
    let narrow = |ty: Ty| ty.width() <= 64 && !matches!(ty, Ty::Varbit(_));
    let narrow = slots.filter(|(_, slot)| narrow(slot.ty));
    let slots: Vec<SlotId> = narrow.map(|(index, _)| SlotId(index as u32)).collect();
    let mut steps = Vec::new();
    for section in 0..program.sections.len() as u32 {
        for _ in 0..c.below(4) {
            let slot = *c.pick(&slots);
            steps.push(match c.below(10) {
                0..=4 => Step::Set(
                    slot,
                    match c.below(6) {
                        0 => Source::Number(c.next()),
                        1 => Source::Slot(*c.pick(&slots)),
                        2 => Source::Port,
                        3 => Source::Length,
                        4 => Source::Now,
                        _ => Source::ChecksumError,
                    },
                ),
                5 => Step::LeaveIfAsked,
                6 => Step::LeaveIf(slot),
                7 => Step::DropIf(slot, c.below(3) as u64),
                _ => Step::Port(slot),
            });
        }
        steps.push(Step::Run(SectionId(section)));
    }
    steps.push(Step::Send);
    Path { steps }
}

/// What came of a packet on a path: slots only where it left it.
#[derive(Debug, PartialEq)]
pub struct Way {
    passed: Passed,
    slots: Vec<Bits>,
    position: u64,
    emitted: Vec<u8>,
    counts: Vec<Option<(u64, u64)>>,
    registers: Vec<Option<Vec<Bits>>>,
}

impl Side {
    fn begin(&mut self, bytes: &[u8]) {
        self.context
            .begin(node::Time::from_us(77), bytes.len() as u32);
        self.context.steps = 50;
    }

    /// What a path means: section by section.
    pub fn follow(&mut self, path: &Path, port: u32, bytes: &[u8]) -> Way {
        let mut cells = self.environment.layout.fresh();
        let mut packet = Packet::default();
        packet.begin(bytes);
        self.begin(bytes);
        let environment = Arc::clone(&self.environment);
        let at = |slot: SlotId| environment.layout.place(slot).0;
        let mut leaves = 0;
        let mut passed = None;
        for (number, step) in path.steps.iter().enumerate() {
            match *step {
                Step::Run(section) => {
                    let view = environment.tables.view();
                    let (tables, context) = (view.tables(), &mut self.context);
                    let engine = &mut self.engine;
                    let ended = engine.run(section, &mut cells, &mut packet, tables, context);
                    if ended == Ended::Stop {
                        passed = Some(Passed::Stopped);
                    }
                }
                Step::Set(slot, source) => {
                    let value = match source {
                        Source::Number(number) => number,
                        Source::Slot(slot) => cells[at(slot)],
                        Source::Port => u64::from(port),
                        Source::Length => bytes.len() as u64,
                        Source::Now => 77,
                        Source::ChecksumError => u64::from(self.context.effects.checksum_error),
                    };
                    let width = environment.layout.place(slot).1.width();
                    environment
                        .layout
                        .write(&mut cells, slot, &Bits::new(width, value));
                }
                Step::Renew => self.context.steps = STEPS,
                Step::LeaveIfAsked => {}
                Step::LeaveIf(slot) if cells[at(slot)] != 0 => {
                    passed = Some(Passed::Left(number, leaves));
                }
                Step::DropIf(slot, value) if cells[at(slot)] == value => {
                    passed = Some(Passed::Dropped(number));
                }
                Step::LeaveIf(_) | Step::DropIf(..) => {}
                Step::Port(slot) => leaves = cells[at(slot)] as u32,
                Step::Send => {
                    packet.emit_payload();
                    passed = Some(Passed::Sent(leaves));
                }
            }
            if passed.is_some() {
                break;
            }
        }
        let passed = passed.expect("a path ends with sending");
        self.way(passed, &cells, packet)
    }

    /// The same by the engine.
    pub fn pass(&mut self, buffers: &mut Buffers, port: u32, bytes: &[u8]) -> Way {
        self.begin(bytes);
        let (cells, packet) = buffers;
        let environment = Arc::clone(&self.environment);
        let view = environment.tables.view();
        let (tables, context) = (view.tables(), &mut self.context);
        let passed = self
            .engine
            .pass(port, bytes, cells, packet, tables, context);
        self.way(passed, cells, packet.clone())
    }

    fn way(&self, passed: Passed, cells: &[u64], packet: Packet) -> Way {
        let environment = &self.environment;
        let left = matches!(passed, Passed::Left(..));
        let slots = self.seen.iter().filter(|_| left);
        let counter = |object: u32, index| {
            environment
                .counter(ObjectId(object))
                .and_then(|counter| counter.read(index))
        };
        let counts = (0..4).map(|index| counter(1, index));
        let direct = (0..16).map(|index| counter(2, index));
        let register = environment.register(ObjectId(0));
        let registers = (0..5).map(|index| register.and_then(|register| register.read(index)));
        let (sent, position) = match passed {
            Passed::Sent(_) => (true, 0),
            Passed::Left(..) => (false, packet.position),
            _ => (false, 0),
        };
        Way {
            passed,
            slots: slots
                .map(|slot| environment.layout.read(cells, *slot))
                .collect(),
            position,
            emitted: if sent { packet.emitted } else { Vec::new() },
            counts: counts.chain(direct).collect(),
            registers: registers.collect(),
        }
    }
}

/// What an engine is given for its packets on a path.
pub type Buffers = (Vec<u64>, Packet);

/// Runs a random program on random packets along a path: section by section in the interpreter, at once in the fast engine.
pub fn compare_paths(c: &mut Choices<'_>, packets: usize) {
    let program = Arc::new(program(c));
    let path = path(c, &program);
    let mut one = Side::interpreter(&program);
    let mut two = Side::jit(&program);
    assert_eq!(two.engine.prepare(Some(&path)), Ok(true));
    let mut buffers = (two.environment.layout.fresh(), Packet::default());
    for number in 0..packets {
        let bytes = packet(c);
        let port = c.next() as u32;
        let expected = one.follow(&path, port, &bytes);
        let got = two.pass(&mut buffers, port, &bytes);
        assert!(
            expected == got,
            "packet {number} {bytes:02x?}\n{expected:?}\n{got:?}\n{path:?}\n{}",
            p4::ir::text::print(&program)
        );
    }
}

/// Packets of different lengths.
pub fn packet(c: &mut Choices<'_>) -> Vec<u8> {
    let length = match c.below(4) {
        0 => c.below(20),
        1 => c.below(400),
        _ => 40 + c.below(100),
    };
    (0..length)
        .map(|_| match c.below(3) {
            0 => 0,
            _ => c.next() as u8,
        })
        .collect()
}

/// Runs a random program on random packets in both engines.
pub fn compare(c: &mut Choices<'_>, packets: usize) {
    let program = Arc::new(program(c));
    let mut one = Side::interpreter(&program);
    let mut two = Side::jit(&program);
    for number in 0..packets {
        let bytes = packet(c);
        let (expected, got) = (one.run(&bytes), two.run(&bytes));
        assert!(
            expected == got,
            "packet {number} {bytes:02x?}\n{}\n{}",
            difference(&expected, &got),
            p4::ir::text::print(&program)
        );
    }
}

fn difference(expected: &Outcome, got: &Outcome) -> String {
    let slots = expected
        .slots
        .iter()
        .zip(&got.slots)
        .filter(|(one, two)| one != two);
    let slots: Vec<_> = slots.collect();
    let rest = |outcome: &Outcome| {
        format!(
            "{:?} at {} emitted {} bits {:02x?} steps {} {:?} {:?}",
            outcome.ended,
            outcome.position,
            outcome.emitted_bits,
            outcome.emitted,
            outcome.steps,
            outcome.counts,
            outcome.registers
        )
    };
    format!(
        "slots {slots:?}\nexpected {}\ngot      {}",
        rest(expected),
        rest(got)
    )
}
