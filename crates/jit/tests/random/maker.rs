//! Random programs.

use super::Choices;
use p4::ast::Direction;
use p4::ir::*;
use p4::source::Span;
use p4::value::Bits;

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
    m.section(SectionKind::Parser, Role::Parser);
    m.section(SectionKind::Control, Role::Ingress);
    m.section(SectionKind::Control, Role::Deparser);
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

    fn place(&mut self) -> (LValue, Ty) {
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
                    LValue::Element {
                        slots,
                        index,
                        slice,
                    },
                    of,
                );
            }
            return (LValue::Slice { slot, high, low }, of);
        }
        if self.c.one_in(6)
            && let Some(slots) = self.elements(ty)
        {
            let index = self.expression(Ty::Bits(8), 1);
            let slice = None;
            return (
                LValue::Element {
                    slots,
                    index,
                    slice,
                },
                ty,
            );
        }
        (LValue::Slot(slot), ty)
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
        let of = |object, method| Callee::Method(ObjectId(object), method);
        let (callee, arguments, results) = match self.c.below(4) {
            0 => (of(1, Method::Count), vec![value(index)], Vec::new()),
            1 => match self.slot_of(Ty::Bits(width)) {
                Some(slot) => (
                    of(0, Method::Read),
                    vec![value(index)],
                    vec![LValue::Slot(slot)],
                ),
                None => (of(1, Method::Count), vec![value(index)], Vec::new()),
            },
            2 => {
                let what = self.expression(Ty::Bits(width), 2);
                (
                    of(0, Method::Write),
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
                    let (function, results) = match number {
                        5 => (Function::VerifyChecksum, Vec::new()),
                        _ => (Function::UpdateChecksum, vec![LValue::Slot(slot)]),
                    };
                    return StatementKind::Call {
                        callee: Callee::Function(function),
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
                let hash = Callee::Function(Function::Hash);
                (hash, arguments, vec![LValue::Slot(slot)])
            }
        };
        StatementKind::Call {
            callee,
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
                    match &key.match_kind {
                        MatchKind::Exact => KeyMatch::Exact(value),
                        MatchKind::Lpm => {
                            let length = self.c.below(width as usize + 1) as u32;
                            let mask =
                                Bits::new(width, p4::value::mask(length) << (width - length));
                            let value = Bits::new(width, value.unsigned() & mask.unsigned());
                            KeyMatch::Prefix(value, length)
                        }
                        MatchKind::Range => {
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
            empty_group: None,
            direct,
            idle_timeout: false,
            properties: Vec::new(),
            hit,
            action_run,
            annotations: Vec::new(),
        });
    }

    fn section(&mut self, kind: SectionKind, role: Role) {
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
        let body = self.body(kind, role == Role::Deparser, role == Role::Ingress, &ends);
        // Every second slot is the section's own, if nobody else uses it.
        let fields = self.program.slots.iter().enumerate();
        let fields = fields.filter(|(index, slot)| index % 2 == 0 || slot.name.contains('.'));
        let fields = fields.map(|(index, slot)| (slot.name.clone(), SlotId(index as u32)));
        let fields = fields.collect();
        self.program.sections.push(Section {
            name: role.parameter(&self.program.architecture).into(),
            role,
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
