//! The declarations behind the objects of the intermediate representation, and what their annotations say.

use super::{AnnotationValue, Documentation, Notes, StructuredAnnotation};
use crate::ast::{
    Annotation, AnnotationBody, BinaryOperator, Declaration, DeclarationKind, Expression,
    ExpressionKind, NodeId, Program, UnaryOperator,
};
use crate::check::Checked;
use crate::print;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// All declarations of a program.
pub(super) struct Declarations<'a> {
    by_id: BTreeMap<NodeId, &'a Declaration>,
}

impl<'a> Declarations<'a> {
    pub(super) fn new(program: &'a Program) -> Self {
        let mut declarations = Declarations {
            by_id: BTreeMap::new(),
        };
        declarations.add(&program.declarations);
        declarations
    }

    fn add(&mut self, list: &'a [Declaration]) {
        for declaration in list {
            self.by_id.insert(declaration.id, declaration);
            match &declaration.kind {
                DeclarationKind::Parser(parser) => self.add(&parser.locals),
                DeclarationKind::Control(control) => self.add(&control.locals),
                _ => {}
            }
        }
    }

    pub(super) fn by_id(&self, id: NodeId) -> Option<&'a Declaration> {
        self.by_id.get(&id).copied()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &'a Declaration> {
        self.by_id.values().copied()
    }
}

fn plain(name: &str) -> &str {
    name.strip_prefix('.').unwrap_or(name)
}

/// The name that a declaration declares.
pub(super) fn name(declaration: &Declaration) -> Option<&str> {
    Some(match &declaration.kind {
        DeclarationKind::Instance { name, .. }
        | DeclarationKind::Action { name, .. }
        | DeclarationKind::Composite { name, .. }
        | DeclarationKind::Enum { name, .. }
        | DeclarationKind::NewType { name, .. }
        | DeclarationKind::ValueSet { name, .. } => &name.text,
        DeclarationKind::Table(table) => &table.name.text,
        _ => return None,
    })
}

/// The name by `@name`, or as written.
pub(super) fn control_name(name: &str, annotations: &[Annotation]) -> String {
    annotation(annotations, "name")
        .and_then(Annotation::string)
        .unwrap_or_else(|| name.to_string())
}

/// A declaration's name for the control plane.
pub(super) fn declared_name(declaration: &Declaration) -> Arc<str> {
    let name = control_name(name(declaration).unwrap_or(""), &declaration.annotations);
    plain(&name).into()
}

pub(super) fn annotation<'a>(annotations: &'a [Annotation], name: &str) -> Option<&'a Annotation> {
    annotations
        .iter()
        .find(|annotation| &*annotation.name.text == name)
}

/// The number of `@id(number)`.
pub(super) fn id(checked: &Checked, annotations: &[Annotation]) -> Option<u32> {
    u32::try_from(checked.annotation_number(annotations, "id")?).ok()
}

/// Documentation, and the annotations that nothing else tells.
pub(super) fn notes(annotations: &[Annotation], told: &[&str]) -> Notes {
    let mut notes = Notes::default();
    let (mut brief, mut description) = (None, None);
    for annotation in annotations {
        let name = &annotation.name.text;
        let numbers: Vec<Arc<str>>;
        let tokens = match &annotation.body {
            AnnotationBody::Expressions(list) => {
                let values = list.iter().filter_map(|item| Some((None, value(item)?)));
                notes.structured.push(StructuredAnnotation {
                    name: name.clone(),
                    values: values.collect(),
                    pairs: false,
                });
                continue;
            }
            AnnotationBody::Pairs(pairs) => {
                let values = pairs
                    .iter()
                    .filter_map(|(key, item)| Some((Some(key.text.clone()), value(item)?)));
                notes.structured.push(StructuredAnnotation {
                    name: name.clone(),
                    values: values.collect(),
                    pairs: true,
                });
                continue;
            }
            AnnotationBody::Numbers(list) => {
                numbers = list.iter().map(|e| print::expression(e).into()).collect();
                &numbers[..]
            }
            AnnotationBody::Tokens(tokens) => &tokens[..],
            AnnotationBody::Empty => &[],
        };
        match &**name {
            "name" | "id" => {}
            "brief" => brief = strings(tokens),
            "description" => description = strings(tokens),
            other if told.contains(&other) => {}
            other if tokens.is_empty() => {
                notes.annotations.push(format!("@{other}"));
            }
            other => notes
                .annotations
                .push(format!("@{other}({})", tokens.join(" "))),
        }
    }
    if brief.is_some() || description.is_some() {
        notes.documentation = Some(Documentation {
            brief: brief.unwrap_or_default(),
            description: description.unwrap_or_default(),
        });
    }
    notes
}

/// String literals one behind the other, as one.
pub(super) fn strings(tokens: &[Arc<str>]) -> Option<String> {
    let mut text = String::new();
    for token in tokens {
        let inside = token.strip_prefix('"')?.strip_suffix('"')?;
        text += &crate::token::unescape(inside);
    }
    (!tokens.is_empty()).then_some(text)
}

/// The value of an expression in a structured annotation: literals, and what can be computed of
/// them.
fn value(expression: &Expression) -> Option<AnnotationValue> {
    use AnnotationValue::{Bool, Number, Text};
    Some(match &expression.kind {
        ExpressionKind::Integer { value, .. } => Number(i64::try_from(value).ok()?),
        ExpressionKind::Bool(value) => Bool(*value),
        ExpressionKind::String(text) => Text(text.clone()),
        ExpressionKind::Unary { operator, operand } => match (operator, value(operand)?) {
            (UnaryOperator::Negate, Number(number)) => Number(number.checked_neg()?),
            (UnaryOperator::Plus, Number(number)) => Number(number),
            (UnaryOperator::Not, Bool(value)) => Bool(!value),
            _ => return None,
        },
        ExpressionKind::Binary {
            operator,
            left,
            right,
        } => match (value(left)?, value(right)?) {
            (Number(a), Number(b)) => numbers(*operator, a, b)?,
            (Bool(a), Bool(b)) => Bool(match operator {
                BinaryOperator::And => a && b,
                BinaryOperator::Or => a || b,
                BinaryOperator::Equal => a == b,
                BinaryOperator::NotEqual => a != b,
                _ => return None,
            }),
            (Text(a), Text(b)) => match operator {
                BinaryOperator::Concat => Text(format!("{a}{b}").into()),
                BinaryOperator::Equal => Bool(a == b),
                BinaryOperator::NotEqual => Bool(a != b),
                _ => return None,
            },
            _ => return None,
        },
        _ => return None,
    })
}

fn numbers(operator: BinaryOperator, a: i64, b: i64) -> Option<AnnotationValue> {
    use BinaryOperator as Operator;
    let number = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide => a.checked_div(b),
        Operator::Modulo => a.checked_rem(b),
        Operator::BitAnd => Some(a & b),
        Operator::BitOr => Some(a | b),
        Operator::BitXor => Some(a ^ b),
        Operator::Equal => return Some(AnnotationValue::Bool(a == b)),
        Operator::NotEqual => return Some(AnnotationValue::Bool(a != b)),
        Operator::Less => return Some(AnnotationValue::Bool(a < b)),
        Operator::LessEqual => return Some(AnnotationValue::Bool(a <= b)),
        Operator::Greater => return Some(AnnotationValue::Bool(a > b)),
        Operator::GreaterEqual => return Some(AnnotationValue::Bool(a >= b)),
        _ => None,
    };
    number.map(AnnotationValue::Number)
}
