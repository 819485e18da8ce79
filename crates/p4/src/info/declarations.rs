//! The declarations behind the objects of the intermediate representation, and what their annotations say.

use super::{AnnotationValue, Documentation, Notes, StructuredAnnotation};
use crate::ast::{
    Annotation, AnnotationBody, Declaration, DeclarationKind, Expression, ExpressionKind, NodeId,
    Program, UnaryOperator,
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
    /// By their own names: `@name`, or as written.
    named: Vec<(String, &'a Declaration)>,
    by_id: BTreeMap<NodeId, &'a Declaration>,
}

impl<'a> Declarations<'a> {
    pub(super) fn new(program: &'a Program) -> Self {
        let mut declarations = Declarations {
            named: Vec::new(),
            by_id: BTreeMap::new(),
        };
        declarations.add(&program.declarations);
        declarations
    }

    fn add(&mut self, list: &'a [Declaration]) {
        for declaration in list {
            self.by_id.insert(declaration.id, declaration);
            if let Some(name) = name(declaration) {
                self.named
                    .push((control_name(name, &declaration.annotations), declaration));
            }
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

    /// The declaration of an object with this name for the control plane, of those that `wanted` takes. Where several
    /// declarations end alike, the longest end is meant.
    pub(super) fn find(
        &self,
        object: &str,
        wanted: impl Fn(&Declaration) -> bool,
    ) -> Option<&'a Declaration> {
        let object = plain(object);
        let mut found: Option<(usize, &Declaration)> = None;
        for (name, declaration) in &self.named {
            let name = plain(name);
            let fits = object
                .strip_suffix(name)
                .is_some_and(|before| before.is_empty() || before.ends_with('.'));
            if fits && found.is_none_or(|(length, _)| length < name.len()) && wanted(declaration) {
                found = Some((name.len(), declaration));
            }
        }
        found.map(|(_, declaration)| declaration)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &'a Declaration> {
        self.by_id.values().copied()
    }
}

fn plain(name: &str) -> &str {
    name.strip_prefix('.').unwrap_or(name)
}

fn name(declaration: &Declaration) -> Option<&str> {
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
            other if matches!(annotation.body, AnnotationBody::Empty) => {
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

fn value(expression: &Expression) -> Option<AnnotationValue> {
    Some(match &expression.kind {
        ExpressionKind::Integer { value, .. } => {
            AnnotationValue::Number(i64::try_from(value).ok()?)
        }
        ExpressionKind::Unary {
            operator: UnaryOperator::Negate,
            operand,
        } => match value(operand)? {
            AnnotationValue::Number(number) => AnnotationValue::Number(number.checked_neg()?),
            _ => return None,
        },
        ExpressionKind::Bool(value) => AnnotationValue::Bool(*value),
        ExpressionKind::String(text) => AnnotationValue::Text(text.clone()),
        ExpressionKind::Binary { .. } => AnnotationValue::Number(sum(expression)?),
        _ => return None,
    })
}

/// Arithmetic of literals, as annotations have it now and then: `@id[5 * 2 + 1]`.
fn sum(expression: &Expression) -> Option<i64> {
    use crate::ast::BinaryOperator as Operator;
    match &expression.kind {
        ExpressionKind::Integer { value, .. } => i64::try_from(value).ok(),
        ExpressionKind::Binary {
            operator,
            left,
            right,
        } => {
            let (left, right) = (sum(left)?, sum(right)?);
            match operator {
                Operator::Add => left.checked_add(right),
                Operator::Subtract => left.checked_sub(right),
                Operator::Multiply => left.checked_mul(right),
                Operator::Divide => left.checked_div(right),
                _ => None,
            }
        }
        _ => None,
    }
}
