//! Structured annotations (specification 20.2): lists and pairs of values known while compiling.

use super::checker::Checker;
use crate::ast::{Annotation, AnnotationBody, Expression, Name};
use crate::diagnostic::Diagnostic;
use crate::types::{Constant, Type};
use alloc::collections::BTreeMap;
use alloc::format;
use num_bigint::BigInt;

impl<'a> Checker<'a> {
    /// The annotations of one thing.
    pub(super) fn annotations(&mut self, annotations: &'a [Annotation]) {
        for (index, annotation) in annotations.iter().enumerate() {
            let structured = match &annotation.body {
                AnnotationBody::Expressions(values) => {
                    for value in values {
                        self.annotation_value(value);
                    }
                    true
                }
                AnnotationBody::Pairs(pairs) => {
                    for (at, (name, value)) in pairs.iter().enumerate() {
                        if let Some((first, _)) =
                            pairs[..at].iter().find(|(n, _)| n.text == name.text)
                        {
                            self.report(
                                Diagnostic::error(
                                    "annotation",
                                    name.span,
                                    format!("the key `{}` stands here twice", name.text),
                                )
                                .note(first.span, "the first one"),
                            );
                        }
                        self.annotation_value(value);
                    }
                    true
                }
                AnnotationBody::Numbers(values) => {
                    for value in values {
                        self.annotation_number(&annotation.name, value);
                    }
                    false
                }
                AnnotationBody::Empty | AnnotationBody::Tokens(_) => false,
            };
            let earlier = annotations[..index]
                .iter()
                .find(|other| other.name.text == annotation.name.text);
            if let Some(first) = earlier
                && structured
            {
                self.report(
                    Diagnostic::error(
                        "annotation",
                        annotation.span,
                        format!(
                            "a structured annotation stands only once, and there is another `@{}`",
                            annotation.name.text
                        ),
                    )
                    .note(first.span, "the other one"),
                );
            }
        }
    }

    /// `@length(x)` speaks of an earlier field.
    pub(super) fn length_annotation(
        &mut self,
        annotations: &'a [Annotation],
        earlier: &BTreeMap<&str, &Name>,
    ) {
        for annotation in annotations.iter().filter(|a| &*a.name.text == "length") {
            let AnnotationBody::Tokens(tokens) = &annotation.body else {
                continue;
            };
            let [name] = tokens.as_slice() else { continue };
            let plain = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
            if plain && !earlier.contains_key(&**name) && self.find(name, false).is_empty() {
                self.error(
                    "not-found",
                    annotation.span,
                    format!("there is no field `{name}` before this one"),
                );
            }
        }
    }

    /// A number from 0 to 2³² - 1, known while compiling.
    fn annotation_number(&mut self, name: &Name, e: &'a Expression) {
        let ty = self.value(e);
        if ty == Type::Unknown {
            return;
        }
        let fits = |number: &BigInt| u32::try_from(number).is_ok();
        let ty = self.show(&ty);
        let what = match self.constant(e) {
            Some(Constant::Integer(number)) if fits(number) => return,
            Some(Constant::Integer(number)) => format!("{number}"),
            Some(_) => format!("`{ty}`"),
            None => "a value that is not known while compiling".into(),
        };
        self.error(
            "annotation",
            e.span,
            format!(
                "`@{}` takes numbers from 0 to 4294967295, and this is {what}",
                name.text
            ),
        );
    }

    fn annotation_value(&mut self, e: &'a Expression) {
        let ty = self.value(e);
        match &ty {
            Type::Unknown => {}
            Type::Integer
            | Type::Bits(_)
            | Type::Signed(_)
            | Type::String
            | Type::Bool
            | Type::Enum(_) => {
                if self.constant(e).is_none() {
                    self.error(
                        "not-constant",
                        e.span,
                        "the values of a structured annotation must be known while compiling",
                    );
                }
            }
            other => {
                let text = self.show(other);
                self.error(
                    "annotation",
                    e.span,
                    format!("the values of a structured annotation are numbers, strings and `bool`, not `{text}`"),
                );
            }
        }
    }
}
