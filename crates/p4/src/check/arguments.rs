//! Arguments against parameters (specification 6.8 and 8.17).

use super::calls::{Candidate, is_optional};
use super::checker::Checker;
use super::substitution::{Substitution, substitute};
use super::{Bound, Target};
use crate::ast::{Argument, Direction, Expression, ExpressionKind, Parameter};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::types::{Constant, Type};
use alloc::format;
use alloc::vec::Vec;
use num_traits::Signed;

impl<'a> Checker<'a> {
    /// Checks arguments against parameters. Arguments that are only literals come last: the others tell their types.
    pub(super) fn check_arguments(
        &mut self,
        span: Span,
        candidate: &Candidate<'a>,
        bound: &[Bound],
        arguments: &'a [Argument],
        types: &Substitution,
    ) {
        let mut later = Vec::new();
        for (parameter, bound) in candidate.parameters.iter().zip(bound) {
            let declared = self.type_of(parameter.id);
            let want = substitute(&self.renewed(&declared), types);
            let argument = match bound {
                Bound::Argument(index) => &arguments[*index].value,
                Bound::Default => {
                    if let Some(default) = &parameter.default {
                        let have = substitute(&self.type_of(default.id), types);
                        if self.is_open(&want) {
                            self.unify(&have, &want);
                        }
                    }
                    continue;
                }
                Bound::Absent => {
                    // What only an argument left out would tell need not be known.
                    if is_optional(parameter) {
                        self.forgive(&want);
                    }
                    continue;
                }
            };
            if matches!(argument.kind, ExpressionKind::DontCare) {
                self.record(argument.id, want.clone());
                if parameter.direction != Direction::Out {
                    self.error(
                        "argument",
                        argument.span,
                        format!(
                            "`_` can be given only for an `out` parameter, which `{}` is not",
                            parameter.name.text
                        ),
                    );
                }
                continue;
            }
            let have = self.argument_value(argument);
            match parameter.direction {
                Direction::Out | Direction::InOut => {
                    if have != Type::Unknown && self.why_not_writable(argument).is_some() {
                        self.must_be_argument(argument, parameter);
                        self.forgive(&want);
                    } else if !self.unify(&have, &want) {
                        self.argument_mismatch(argument, &have, &want, parameter);
                    }
                }
                Direction::In | Direction::None => {
                    if self.is_soft(&have) && self.is_open(&want) {
                        later.push((argument, have, want));
                    } else {
                        self.coerce(argument, &have, &want);
                    }
                }
            }
            if parameter.direction == Direction::None
                && !matches!(candidate.target, Target::Action(_))
                && !matches!(
                    self.known(&self.type_of(argument.id)),
                    Type::Object(..) | Type::Unknown
                )
                && !self.made_by_extern(argument)
                && !self.is_fixed(argument)
            {
                self.error(
                    "not-constant",
                    argument.span,
                    format!(
                        "the parameter `{}` has no direction, so that its argument must be known while compiling",
                        parameter.name.text
                    ),
                );
            }
        }
        for (argument, have, want) in later {
            let width = self.width_for_any(argument, &have, &want);
            self.coerce(argument, &have, width.as_ref().unwrap_or(&want));
        }
        let _ = span;
    }

    /// The type of a number without a width where an object has `_` for the type, as in `execute(0)` of a `RegisterAction<T, _, U>`: 32 bits, or as
    /// many as it takes. p4c refuses it, and asks for a width. The `_` stays open for other calls.
    fn width_for_any(&self, argument: &Expression, have: &Type, want: &Type) -> Option<Type> {
        let Type::Variable(index) = self.shallow(want) else {
            return None;
        };
        let Some(Constant::Integer(number)) = self.constant(argument) else {
            return None;
        };
        if *have != Type::Integer || &*self.variables[index as usize].name != "_" {
            return None;
        }
        if number.is_negative() {
            return Some(Type::Signed((number.bits() as u32 + 1).max(32)));
        }
        Some(Type::Bits((number.bits() as u32).max(32)))
    }

    /// What an extern function gives for known arguments counts as known where objects are made.
    pub(super) fn made_by_extern(&self, e: &'a Expression) -> bool {
        let ExpressionKind::Call { arguments, .. } = &e.kind else {
            return false;
        };
        matches!(
            self.out.calls.get(&e.id).map(|call| call.target),
            Some(Target::ExternFunction(_))
        ) && arguments.iter().all(|a| self.is_compile_time(&a.value))
    }

    /// The type of an argument; objects are allowed.
    pub(super) fn argument_value(&mut self, e: &'a Expression) -> Type {
        self.value(e)
    }

    pub(super) fn argument_mismatch(
        &mut self,
        e: &Expression,
        have: &Type,
        want: &Type,
        parameter: &Parameter,
    ) {
        let (have_text, want_text) = (self.show(have), self.show(want));
        let mut diagnostic = Diagnostic::error(
            "type-mismatch",
            e.span,
            format!(
                "this is `{have_text}` where the `{}` parameter `{}` is `{want_text}`",
                if parameter.direction == Direction::Out {
                    "out"
                } else {
                    "inout"
                },
                parameter.name.text
            ),
        )
        .note(parameter.name.span, "the parameter");
        if self.castable(have, want) {
            diagnostic = diagnostic.help(
                "nothing is cast when it is written to: use a variable of the parameter's type",
            );
        }
        self.report(diagnostic);
    }

    pub(super) fn must_be_argument(&mut self, e: &'a Expression, parameter: &Parameter) {
        if let Some(why) = self.why_not_writable(e) {
            let direction = if parameter.direction == Direction::Out {
                "out"
            } else {
                "inout"
            };
            self.report(
                Diagnostic::error(
                    "not-an-l-value",
                    e.span,
                    format!("the argument for the `{direction}` parameter `{}` is written to, and cannot be: {why}", parameter.name.text),
                )
                .note(parameter.name.span, "the parameter"),
            );
        }
    }
}
