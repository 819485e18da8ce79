//! Names for the control plane, and annotations as text.

use super::Lowerer;
use super::index::Node;
use crate::ast::{
    self, AnnotationBody, BinaryOperator, Declaration, DeclarationKind, Expression, ExpressionKind,
    UnaryOperator,
};
use crate::ir::Annotation;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use num_bigint::BigInt;

/// The name that a declaration declares.
pub(super) fn declared(declaration: &Declaration) -> Arc<str> {
    match &declaration.kind {
        DeclarationKind::Constant { name, .. }
        | DeclarationKind::Variable { name, .. }
        | DeclarationKind::Instance { name, .. }
        | DeclarationKind::Extern { name, .. }
        | DeclarationKind::Action { name, .. }
        | DeclarationKind::Composite { name, .. }
        | DeclarationKind::Enum { name, .. }
        | DeclarationKind::Typedef { name, .. }
        | DeclarationKind::NewType { name, .. }
        | DeclarationKind::ParserType { name, .. }
        | DeclarationKind::ControlType { name, .. }
        | DeclarationKind::PackageType { name, .. }
        | DeclarationKind::ValueSet { name, .. } => name.text.clone(),
        DeclarationKind::ExternFunction(prototype)
        | DeclarationKind::Function { prototype, .. } => prototype.name.text.clone(),
        DeclarationKind::Parser(parser) => parser.name.text.clone(),
        DeclarationKind::Control(control) => control.name.text.clone(),
        DeclarationKind::Table(table) => table.name.text.clone(),
        DeclarationKind::Error { .. } => "error".into(),
        DeclarationKind::MatchKind { .. } => "match_kind".into(),
    }
}

/// The string that an annotation of the name holds: `@name("x")`.
pub(super) fn string_annotation(annotations: &[ast::Annotation], name: &str) -> Option<String> {
    let annotation = annotations.iter().find(|a| &*a.name.text == name)?;
    match &annotation.body {
        AnnotationBody::Tokens(tokens) => {
            let text: String = tokens
                .iter()
                .map(|token| {
                    token
                        .strip_prefix('"')
                        .and_then(|t| t.strip_suffix('"'))
                        .unwrap_or(token)
                })
                .collect();
            Some(text)
        }
        AnnotationBody::Expressions(list) => match list.first().map(|e| &e.kind) {
            Some(ExpressionKind::String(text)) => Some(text.to_string()),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn has_annotation(annotations: &[ast::Annotation], name: &str) -> bool {
    annotations.iter().any(|a| &*a.name.text == name)
}

/// `prefix.name`; `@name` gives another last part, or with a dot in front the whole name.
pub(super) fn external(prefix: &str, annotations: &[ast::Annotation], name: &str) -> String {
    let own = string_annotation(annotations, "name");
    let own = own.as_deref().unwrap_or(name);
    match own.strip_prefix('.') {
        Some(absolute) => absolute.to_string(),
        None if prefix.is_empty() => own.to_string(),
        None => format!("{prefix}.{own}"),
    }
}

impl<'a> Lowerer<'a> {
    /// The name of a key for the control plane, which is p4c's: the expression as written, fields
    /// by their `@name`, `isValid()` as the field `$valid$`, and numbers that are known while
    /// compiling as such.
    pub fn key_name(&mut self, expr: &'a Expression) -> String {
        self.key_part(expr, 0)
    }

    fn key_part(&mut self, expr: &'a Expression, depth: u32) -> String {
        if depth > super::MAX_DEPTH {
            return "...".into();
        }
        let mut part = |e| self.key_part(e, depth + 1);
        match &expr.kind {
            ExpressionKind::Call { callee, .. } => match &callee.kind {
                ExpressionKind::Member { base, member } if &*member.text == "isValid" => {
                    format!("{}.$valid$", part(base))
                }
                _ => expression(expr, 0),
            },
            ExpressionKind::Member { base, member } => {
                let ty = self.type_of(base.id);
                let fields = self.fields(&ty);
                let field = fields.iter().find(|field| field.name == member.text);
                let own = field.and_then(|field| string_annotation(field.annotations, "name"));
                let own = own.unwrap_or_else(|| member.text.to_string());
                match own.strip_prefix('.') {
                    // The whole name.
                    Some(absolute) => absolute.into(),
                    None => format!("{}.{own}", self.key_part(base, depth + 1)),
                }
            }
            ExpressionKind::Index { base, index } => format!("{}[{}]", part(base), part(index)),
            ExpressionKind::Slice { base, high, low } => {
                format!("{}[{}:{}]", part(base), part(high), part(low))
            }
            ExpressionKind::Binary {
                operator: BinaryOperator::BitAnd,
                left,
                right,
            } => format!("{} & {}", part(left), part(right)),
            _ => match self.checked.integer(expr) {
                Some(value) => number(value, self.radix(expr, 0)),
                None => expression(expr, 0),
            },
        }
    }

    /// The base in which p4c shows a number: that of the literal from which it comes first.
    fn radix(&self, expr: &Expression, depth: u32) -> u32 {
        if depth > super::MAX_DEPTH {
            return 10;
        }
        match &expr.kind {
            ExpressionKind::Integer { radix, .. } => *radix,
            ExpressionKind::Unary { operand: first, .. }
            | ExpressionKind::Cast { operand: first, .. }
            | ExpressionKind::Binary { left: first, .. } => self.radix(first, depth + 1),
            ExpressionKind::Path { .. } => {
                let declared = self.checked.references.get(&expr.id);
                match declared.and_then(|id| self.index.get(*id)) {
                    Some(Node::Declaration(Declaration {
                        kind: DeclarationKind::Constant { value, .. },
                        ..
                    })) => self.radix(value, depth + 1),
                    _ => 10,
                }
            }
            _ => 10,
        }
    }

    pub fn annotations(&self, annotations: &[ast::Annotation]) -> Vec<Annotation> {
        annotations
            .iter()
            .map(|annotation| Annotation {
                name: annotation.name.text.clone(),
                body: match &annotation.body {
                    AnnotationBody::Empty => "".into(),
                    AnnotationBody::Tokens(tokens) => {
                        let mut text = String::new();
                        for token in tokens {
                            if !text.is_empty() && !matches!(&**token, "," | ")" | "]" | ";") {
                                text.push(' ');
                            }
                            text.push_str(token);
                        }
                        text.into()
                    }
                    AnnotationBody::Numbers(list) => {
                        let numbers = list.iter().filter_map(|e| self.checked.integer(e));
                        let numbers: Vec<String> = numbers.map(ToString::to_string).collect();
                        numbers.join(", ").into()
                    }
                    AnnotationBody::Expressions(list) => {
                        let list: Vec<String> = list.iter().map(|e| expression(e, 0)).collect();
                        list.join(", ").into()
                    }
                    AnnotationBody::Pairs(list) => {
                        let list: Vec<String> = list
                            .iter()
                            .map(|(name, e)| format!("{} = {}", name.text, expression(e, 0)))
                            .collect();
                        list.join(", ").into()
                    }
                },
            })
            .collect()
    }
}

/// An expression as a programmer writes it, without needless brackets.
fn expression(expr: &Expression, depth: u32) -> String {
    if depth > super::MAX_DEPTH {
        return "...".into();
    }
    let inner = |e: &Expression| expression(e, depth + 1);
    let list = |list: &[Expression]| list.iter().map(inner).collect::<Vec<_>>().join(", ");
    match &expr.kind {
        ExpressionKind::Integer { value, radix, .. } => number(value, *radix),
        ExpressionKind::Bool(value) => value.to_string(),
        ExpressionKind::String(text) => format!("{text:?}"),
        ExpressionKind::Path { name, .. } => name.text.to_string(),
        ExpressionKind::This => "this".into(),
        ExpressionKind::Member { base, member } => format!("{}.{}", inner(base), member.text),
        ExpressionKind::Index { base, index } => format!("{}[{}]", inner(base), inner(index)),
        ExpressionKind::Slice { base, high, low } => {
            format!("{}[{}:{}]", inner(base), inner(high), inner(low))
        }
        ExpressionKind::PlusSlice { base, low, width } => {
            format!("{}[{}+:{}]", inner(base), inner(low), inner(width))
        }
        ExpressionKind::List { elements, .. } => format!("{{ {} }}", list(elements)),
        ExpressionKind::Struct { fields, .. } => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, e)| format!("{} = {}", name.text, inner(e)))
                .collect();
            format!("{{ {} }}", fields.join(", "))
        }
        ExpressionKind::Unary { operator, operand } => {
            let sign = match operator {
                UnaryOperator::Negate => "-",
                UnaryOperator::Not => "!",
                UnaryOperator::Complement => "~",
                UnaryOperator::Plus => "+",
            };
            format!("{sign}{}", inner(operand))
        }
        ExpressionKind::Binary {
            operator,
            left,
            right,
        } => format!("{} {} {}", inner(left), sign(*operator), inner(right)),
        ExpressionKind::Conditional { condition, yes, no } => {
            format!("{} ? {} : {}", inner(condition), inner(yes), inner(no))
        }
        ExpressionKind::Cast { operand, .. } => inner(operand),
        ExpressionKind::Call {
            callee, arguments, ..
        } => {
            let arguments: Vec<String> = arguments.iter().map(|a| inner(&a.value)).collect();
            format!("{}({})", inner(callee), arguments.join(", "))
        }
        ExpressionKind::Mask { value, mask } => format!("{} &&& {}", inner(value), inner(mask)),
        ExpressionKind::Range { low, high } => format!("{}..{}", inner(low), inner(high)),
        ExpressionKind::Invalid => "{#}".into(),
        ExpressionKind::Default => "default".into(),
        ExpressionKind::DontCare => "_".into(),
        ExpressionKind::Dots => "...".into(),
        ExpressionKind::Type(_) | ExpressionKind::Broken => String::new(),
    }
}

/// A number as a literal without a width.
fn number(value: &BigInt, radix: u32) -> String {
    match radix {
        2 => format!("{value:#b}"),
        8 => format!("{value:#o}"),
        16 => format!("{value:#x}"),
        _ => value.to_string(),
    }
}

fn sign(operator: BinaryOperator) -> &'static str {
    match operator {
        BinaryOperator::Add => "+",
        BinaryOperator::Subtract => "-",
        BinaryOperator::Multiply => "*",
        BinaryOperator::Divide => "/",
        BinaryOperator::Modulo => "%",
        BinaryOperator::SaturatingAdd => "|+|",
        BinaryOperator::SaturatingSubtract => "|-|",
        BinaryOperator::ShiftLeft => "<<",
        BinaryOperator::ShiftRight => ">>",
        BinaryOperator::BitAnd => "&",
        BinaryOperator::BitOr => "|",
        BinaryOperator::BitXor => "^",
        BinaryOperator::Concat => "++",
        BinaryOperator::Equal => "==",
        BinaryOperator::NotEqual => "!=",
        BinaryOperator::Less => "<",
        BinaryOperator::LessEqual => "<=",
        BinaryOperator::Greater => ">",
        BinaryOperator::GreaterEqual => ">=",
        BinaryOperator::And => "&&",
        BinaryOperator::Or => "||",
    }
}
