//! From a program to its text.

use super::names::{is_keyword, is_plain};
use crate::ast::Direction;
use crate::ir::*;
use crate::value::Bits;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Write;

/// For each thing of one kind whether its name tells it from the others.
struct Names<'a>(Vec<(&'a str, bool)>);

impl<'a> Names<'a> {
    fn new(names: impl Iterator<Item = &'a Arc<str>> + Clone) -> Self {
        let mut seen = BTreeMap::new();
        for name in names.clone() {
            *seen.entry(&**name).or_insert(0) += 1;
        }
        Names(names.map(|name| (&**name, seen[&**name] == 1)).collect())
    }
}

struct Printer<'a> {
    out: String,
    enums: Names<'a>,
    slots: Names<'a>,
    headers: Names<'a>,
    stacks: Names<'a>,
    value_sets: Names<'a>,
    objects: Names<'a>,
    actions: Names<'a>,
    tables: Names<'a>,
}

/// Writing to a `String` does not fail.
macro_rules! put {
    ($printer:expr, $($rest:tt)*) => { let _ = write!($printer.out, $($rest)*); };
}

pub(super) fn print(program: &Program) -> String {
    let mut p = Printer {
        out: String::new(),
        enums: Names::new(program.enumerations.iter().map(|e| &e.name)),
        slots: Names::new(program.slots.iter().map(|s| &s.name)),
        headers: Names::new(program.headers.iter().map(|h| &h.name)),
        stacks: Names::new(program.stacks.iter().map(|s| &s.name)),
        value_sets: Names::new(program.value_sets.iter().map(|v| &v.name)),
        objects: Names::new(program.objects.iter().map(|o| &o.name)),
        actions: Names::new(program.actions.iter().map(|a| &a.name)),
        tables: Names::new(program.tables.iter().map(|t| &t.name)),
    };
    p.program(program);
    p.out
}

impl Printer<'_> {
    fn program(&mut self, program: &Program) {
        put!(self, "program ");
        self.word(program.architecture.name());
        put!(self, "\n");
        for e in &program.enumerations {
            put!(self, "enum ");
            self.name(&e.name);
            put!(self, ": {} {{ ", e.width);
            self.list(&e.members, |p, (name, value)| {
                p.word(name);
                put!(p, " = {value}");
            });
            put!(self, " }}\n");
        }
        for slot in &program.slots {
            put!(self, "slot ");
            self.name(&slot.name);
            put!(self, ": ");
            self.ty(slot.ty);
            if let Some(e) = slot.enumeration {
                put!(self, " is ");
                self.enumeration(e);
            }
            self.annotations(&slot.annotations);
            put!(self, "\n");
        }
        for header in &program.headers {
            put!(self, "header ");
            self.name(&header.name);
            put!(self, ": ");
            self.word(&header.ty);
            put!(self, " valid ");
            self.slot(header.valid);
            put!(self, " {{ ");
            self.list(&header.fields, |p, slot| p.slot(*slot));
            put!(self, " }}\n");
        }
        for stack in &program.stacks {
            put!(self, "stack ");
            self.name(&stack.name);
            put!(self, ": next ");
            self.slot(stack.next);
            put!(self, " {{ ");
            self.list(&stack.headers, |p, header| p.header(*header));
            put!(self, " }}\n");
        }
        for set in &program.value_sets {
            put!(self, "value_set ");
            self.name(&set.name);
            put!(self, ": size {} {{ ", set.size);
            self.list(&set.fields, |p, (name, ty, kind)| {
                p.word(name);
                put!(p, ": ");
                p.ty(*ty);
                put!(p, " ");
                p.word(kind.name());
            });
            put!(self, " }}");
            self.annotations(&set.annotations);
            put!(self, "\n");
        }
        program.objects.iter().for_each(|o| self.object_line(o));
        program.actions.iter().for_each(|a| self.action_lines(a));
        program.tables.iter().for_each(|t| self.table_lines(t));
        let sections = program.sections.iter();
        sections.for_each(|s| self.section(s, &program.architecture));
    }

    fn object_line(&mut self, object: &Object) {
        put!(self, "object ");
        self.name(&object.name);
        put!(self, ": ");
        self.word(object.kind.name());
        put!(self, " types (");
        self.list(&object.types, |p, fields| {
            put!(p, "{{ ");
            p.list(fields, |p, (name, ty)| {
                p.word(name);
                put!(p, ": ");
                p.ty(*ty);
            });
            put!(p, " }}");
        });
        put!(self, ") (");
        self.list(&object.arguments, |p, (name, value)| {
            p.word(name);
            put!(p, " = ");
            p.constant(value);
        });
        put!(self, ")");
        self.annotations(&object.annotations);
        if object.methods.is_empty() {
            put!(self, "\n");
            return;
        }
        put!(self, " {{\n");
        for method in &object.methods {
            put!(self, "method ");
            self.word(&method.name);
            put!(self, "(");
            self.list(&method.parameters, |p, slot| p.slot(*slot));
            put!(self, ") -> (");
            self.list(&method.results, |p, slot| p.slot(*slot));
            put!(self, ") {{\n");
            self.body(&method.body);
            put!(self, "}}\n");
        }
        put!(self, "}}\n");
    }

    fn action_lines(&mut self, action: &Action) {
        put!(self, "action ");
        self.name(&action.name);
        put!(self, "(");
        self.list(&action.parameters, |p, (name, slot, annotations)| {
            p.word(name);
            put!(p, ": ");
            p.slot(*slot);
            p.annotations(annotations);
        });
        put!(self, ")");
        self.annotations(&action.annotations);
        put!(self, " {{\n");
        self.body(&action.body);
        put!(self, "}}\n");
    }

    fn table_lines(&mut self, table: &Table) {
        put!(self, "table ");
        self.name(&table.name);
        self.annotations(&table.annotations);
        put!(self, " {{\n");
        for key in &table.keys {
            put!(self, "  key ");
            self.word(&key.name);
            put!(self, ": ");
            self.ty(key.ty);
            put!(self, " ");
            self.word(key.match_kind.name());
            put!(self, " = ");
            self.expression(&key.value);
            self.annotations(&key.annotations);
            put!(self, "\n");
        }
        for choice in &table.actions {
            put!(self, "  action ");
            self.action(choice.action);
            if choice.table_only {
                put!(self, " table_only");
            }
            if choice.default_only {
                put!(self, " default_only");
            }
            self.annotations(&choice.annotations);
            put!(self, "\n");
        }
        put!(self, "  default ");
        if table.const_default {
            put!(self, "const ");
        }
        self.action_call(&table.default);
        put!(self, "\n");
        for entry in &table.entries {
            put!(self, "  entry {} ", entry.priority);
            if entry.is_const {
                put!(self, "const ");
            }
            put!(self, "(");
            self.list(&entry.keys, |p, key| match key {
                KeyMatch::Any => {
                    put!(p, "any");
                }
                KeyMatch::Exact(v) => p.bits(v),
                KeyMatch::Prefix(v, length) => {
                    put!(p, "{v} / {length}");
                }
                KeyMatch::Mask(v, m) => {
                    put!(p, "{v} &&& {m}");
                }
                KeyMatch::Range(a, b) => {
                    put!(p, "{a} .. {b}");
                }
            });
            put!(self, ") -> ");
            self.action_call(&entry.call);
            self.annotations(&entry.annotations);
            put!(self, "\n");
        }
        if table.const_entries {
            put!(self, "  const_entries\n");
        }
        if let Some(size) = table.size {
            put!(self, "  size {size}\n");
        }
        if let Some(object) = table.implementation {
            put!(self, "  implementation ");
            self.object(object);
            put!(self, "\n");
        }
        if let Some(call) = &table.empty_group {
            put!(self, "  empty_group ");
            self.action_call(call);
            put!(self, "\n");
        }
        for object in &table.direct {
            put!(self, "  direct ");
            self.object(*object);
            put!(self, "\n");
        }
        if table.idle_timeout {
            put!(self, "  idle_timeout\n");
        }
        for (name, value) in &table.properties {
            put!(self, "  property ");
            self.word(name);
            put!(self, " = ");
            self.constant(value);
            put!(self, "\n");
        }
        for (word, slot) in [("hit", table.hit), ("action_run", table.action_run)] {
            if let Some(slot) = slot {
                put!(self, "  {word} ");
                self.slot(slot);
                put!(self, "\n");
            }
        }
        put!(self, "}}\n");
    }

    fn action_call(&mut self, call: &ActionCall) {
        put!(self, "{}(", call.action);
        self.list(&call.arguments, Self::bits);
        put!(self, ")");
    }

    fn section(&mut self, section: &Section, architecture: &Architecture) {
        put!(
            self,
            "{} ",
            match section.kind {
                SectionKind::Parser => "parser",
                SectionKind::Control => "control",
            }
        );
        self.word(&section.name);
        put!(self, " role ");
        self.word(section.role.parameter(architecture));
        if let Some(slot) = section.error {
            put!(self, " error_in ");
            self.slot(slot);
        }
        put!(self, " {{\n");
        for parameter in &section.parameters {
            put!(self, "  parameter ");
            self.word(&parameter.name);
            put!(self, ": ");
            self.word(&parameter.ty);
            put!(
                self,
                " {} {{ ",
                match parameter.direction {
                    Direction::None => "none",
                    Direction::In => "in",
                    Direction::Out => "out",
                    Direction::InOut => "inout",
                }
            );
            self.list(&parameter.fields, |p, (path, slot)| {
                p.word(path);
                put!(p, " = ");
                p.slot(*slot);
            });
            put!(self, " }}\n");
        }
        self.body(&section.body);
        put!(self, "}}\n");
    }

    fn body(&mut self, body: &Body) {
        if let Some(fail) = body.fail {
            put!(self, "  fail b{}\n", fail.0);
        }
        for (index, block) in body.blocks.iter().enumerate() {
            put!(self, "b{index}");
            if let Some(name) = &block.name {
                put!(self, " (");
                self.word(name);
                put!(self, ")");
            }
            put!(self, ":\n");
            for statement in &block.statements {
                put!(self, "  ");
                self.statement(&statement.kind);
                put!(self, "\n");
            }
            put!(self, "  ");
            self.terminator(&block.terminator);
            put!(self, "\n");
        }
    }

    fn statement(&mut self, statement: &StatementKind) {
        match statement {
            StatementKind::Assign { target, value } => {
                self.lvalue(target);
                put!(self, " = ");
                self.expression(value);
            }
            StatementKind::Extract { header, size } => {
                put!(self, "extract ");
                self.header(*header);
                self.size(size.as_ref());
            }
            StatementKind::ExtractNext { stack, size } => {
                put!(self, "extract_next ");
                self.stack(*stack);
                self.size(size.as_ref());
            }
            StatementKind::Lookahead { into } => {
                put!(self, "lookahead ");
                self.slot(*into);
            }
            StatementKind::Advance { bits } => {
                put!(self, "advance ");
                self.expression(bits);
            }
            StatementKind::Length { into } => {
                put!(self, "length ");
                self.slot(*into);
            }
            StatementKind::Emit { header } => {
                put!(self, "emit ");
                self.header(*header);
            }
            StatementKind::EmitValue { value } => {
                put!(self, "emit_value ");
                self.expression(value);
            }
            StatementKind::Call {
                callee,
                arguments,
                results,
            } => {
                put!(self, "call ");
                self.word(callee.name());
                if let Callee::Method(object, _) = callee {
                    put!(self, " of ");
                    self.object(*object);
                }
                put!(self, " (");
                self.list(arguments, Self::argument);
                put!(self, ")");
                if !results.is_empty() {
                    put!(self, " -> (");
                    self.list(results, Self::lvalue);
                    put!(self, ")");
                }
            }
        }
    }

    fn size(&mut self, size: Option<&Expr>) {
        if let Some(size) = size {
            put!(self, " size ");
            self.expression(size);
        }
    }

    fn argument(&mut self, argument: &Argument) {
        match argument {
            Argument::Value(value) => self.expression(value),
            Argument::List(items) => {
                put!(self, "{{ ");
                self.list(items, |p, item| {
                    p.word(&item.name);
                    put!(p, " = ");
                    p.expression(&item.value);
                    if let Some(valid) = item.valid {
                        put!(p, " valid ");
                        p.slot(valid);
                    }
                });
                put!(self, " }}");
            }
            Argument::Text(text) => {
                put!(self, "text ");
                self.quoted(text);
            }
            Argument::Object(object) => {
                put!(self, "object ");
                self.object(*object);
            }
            Argument::Member(e, member) => {
                put!(self, "member ");
                self.enumeration(*e);
                put!(self, " {member}");
            }
        }
    }

    fn constant(&mut self, constant: &Constant) {
        match constant {
            Constant::Bits(value) => self.bits(value),
            Constant::Member(e, member) => {
                put!(self, "member ");
                self.enumeration(*e);
                put!(self, " {member}");
            }
            Constant::Text(text) => {
                put!(self, "text ");
                self.quoted(text);
            }
            Constant::Object(object) => {
                put!(self, "object ");
                self.object(*object);
            }
            Constant::List(items) => {
                put!(self, "{{ ");
                self.list(items, Self::constant);
                put!(self, " }}");
            }
        }
    }

    fn lvalue(&mut self, lvalue: &LValue) {
        match lvalue {
            LValue::Slot(slot) => self.slot(*slot),
            LValue::Slice { slot, high, low } => {
                self.slot(*slot);
                put!(self, "[{high}:{low}]");
            }
            LValue::Element {
                slots,
                index,
                slice,
            } => {
                self.element(slots, index);
                if let Some((high, low)) = slice {
                    put!(self, "[{high}:{low}]");
                }
            }
        }
    }

    fn element(&mut self, slots: &[SlotId], index: &Expr) {
        put!(self, "at(");
        self.expression(index);
        for slot in slots {
            put!(self, ", ");
            self.slot(*slot);
        }
        put!(self, ")");
    }

    fn expression(&mut self, expression: &Expr) {
        match expression {
            Expr::Constant(value, Ty::Bool) if value.width() == 1 => {
                put!(self, "{}", value.is_true());
            }
            Expr::Constant(value, Ty::Bits(width)) if value.width() == *width => self.bits(value),
            Expr::Constant(value, Ty::Signed(width)) if value.width() == *width => {
                put!(self, "{width}s{:#x}", value.unsigned());
            }
            Expr::Constant(value, ty) => {
                put!(self, "typed(");
                self.ty(*ty);
                put!(self, ", {value})");
            }
            Expr::Slot(slot) => self.slot(*slot),
            Expr::Element { slots, index } => self.element(slots, index),
            Expr::Unary(operator, value) => {
                put!(self, "{}", operator.symbol());
                self.expression(value);
            }
            Expr::Binary(operator, left, right) => {
                put!(self, "(");
                self.expression(left);
                put!(self, " {} ", operator.symbol());
                self.expression(right);
                put!(self, ")");
            }
            Expr::Slice { value, high, low } => {
                // `-a[1:0]` is `-(a[1:0])`.
                let prefixed = matches!(**value, Expr::Unary(..));
                if prefixed {
                    put!(self, "(");
                }
                self.expression(value);
                if prefixed {
                    put!(self, ")");
                }
                put!(self, "[{high}:{low}]");
            }
            Expr::Cast { value, ty } => {
                put!(self, "cast(");
                self.ty(*ty);
                put!(self, ", ");
                self.expression(value);
                put!(self, ")");
            }
            Expr::Conditional { condition, yes, no } => {
                put!(self, "if(");
                self.expression(condition);
                put!(self, ", ");
                self.expression(yes);
                put!(self, ", ");
                self.expression(no);
                put!(self, ")");
            }
            Expr::VarbitLength(slot) => {
                put!(self, "varbit_length(");
                self.slot(*slot);
                put!(self, ")");
            }
        }
    }

    fn terminator(&mut self, terminator: &Terminator) {
        match terminator {
            Terminator::Jump(next) => {
                put!(self, "jump b{}", next.0);
            }
            Terminator::Branch { condition, yes, no } => {
                put!(self, "branch ");
                self.expression(condition);
                put!(self, " b{} b{}", yes.0, no.0);
            }
            Terminator::Select {
                keys,
                cases,
                default,
            } => {
                put!(self, "select (");
                self.list(keys, Self::expression);
                put!(self, ") {{ ");
                self.list(cases, |p, case| {
                    put!(p, "(");
                    p.list(&case.patterns, Self::pattern);
                    put!(p, ") -> b{}", case.next.0);
                });
                put!(self, " }} b{}", default.0);
            }
            Terminator::Apply { table, next, exit } => {
                put!(self, "apply ");
                self.table(*table);
                put!(self, " b{} exit b{}", next.0, exit.0);
            }
            Terminator::Return => {
                put!(self, "return");
            }
            Terminator::Exit => {
                put!(self, "exit");
            }
            Terminator::Reject => {
                put!(self, "reject");
            }
        }
    }

    fn pattern(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Any => {
                put!(self, "any");
            }
            Pattern::Equal(value) => self.expression(value),
            Pattern::Mask(value, mask) => {
                self.expression(value);
                put!(self, " &&& ");
                self.expression(mask);
            }
            Pattern::Range(from, to) => {
                self.expression(from);
                put!(self, " .. ");
                self.expression(to);
            }
            Pattern::ValueSet(set) => {
                put!(self, "value_set ");
                self.value_set(*set);
            }
        }
    }

    fn ty(&mut self, ty: Ty) {
        let _ = match ty {
            Ty::Bool => write!(self.out, "bool"),
            Ty::Bits(width) => write!(self.out, "b{width}"),
            Ty::Signed(width) => write!(self.out, "i{width}"),
            Ty::Varbit(width) => write!(self.out, "v{width}"),
        };
    }

    fn bits(&mut self, value: &Bits) {
        put!(self, "{value}");
    }

    fn annotations(&mut self, annotations: &[Annotation]) {
        for annotation in annotations {
            put!(self, " @");
            self.word(&annotation.name);
            put!(self, "(");
            self.quoted(&annotation.body);
            put!(self, ")");
        }
    }

    fn name(&mut self, name: &str) {
        if is_plain(name) && !is_keyword(name) {
            self.out.push_str(name);
        } else {
            self.quoted(name);
        }
    }

    /// Where nothing but a name can stand.
    fn word(&mut self, name: &str) {
        if is_keyword(name) {
            self.out.push_str(name);
        } else {
            self.name(name);
        }
    }

    fn quoted(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }

    fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        for (index, it) in items.iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            item(self, it);
        }
    }

    fn reference(&mut self, known: Option<(&str, bool)>, index: u32) {
        match known {
            Some((name, true)) if !name.is_empty() => self.name(name),
            _ => {
                put!(self, "#{index}");
            }
        }
    }
}

macro_rules! references {
    ($($function:ident $id:ident $names:ident;)*) => {
        impl Printer<'_> {
            $(fn $function(&mut self, id: $id) {
                self.reference(self.$names.0.get(id.index()).copied(), id.0);
            })*
        }
    };
}
references! {
    enumeration EnumId enums;
    slot SlotId slots;
    header HeaderId headers;
    stack StackId stacks;
    value_set ValueSetId value_sets;
    object ObjectId objects;
    action ActionId actions;
    table TableId tables;
}
