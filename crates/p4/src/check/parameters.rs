//! Parameters: their types, directions and default values (specification 6.8).

use super::calls::is_optional;
use super::checker::{Checker, Context, Entity};
use super::type_expressions::ApplicableKind;
use crate::ast::{Direction, Parameter};
use crate::diagnostic::Diagnostic;
use crate::types::Type;
use alloc::format;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Parameters {
    Function,
    Action,
    Method,
    Applied,
    Constructor,
    Package,
}

impl<'a> Checker<'a> {
    /// Parameters: their types, directions and default values (6.8, 7.2.x).
    pub(super) fn parameters(&mut self, parameters: &'a [Parameter], kind: Parameters) {
        let mut default_before = None;
        for parameter in parameters {
            self.annotations(&parameter.annotations);
            let ty = self.resolve(&parameter.ty);
            self.record(parameter.id, ty.clone());
            self.parameter_type(parameter, &ty, kind);
            if let Some(default) = &parameter.default {
                default_before = Some(parameter);
                match parameter.direction {
                    Direction::Out | Direction::InOut => self.error(
                        "default-argument",
                        default.span,
                        "a parameter that is written to cannot have a default value",
                    ),
                    Direction::In | Direction::None => {}
                }
                if is_optional(parameter) {
                    self.error(
                        "default-argument",
                        parameter.name.span,
                        format!(
                            "`{}` is `@optional` and cannot have a default value too",
                            parameter.name.text
                        ),
                    );
                }
                // The default of a package's parameter may be what only some type arguments allow.
                let wanted = if kind == Parameters::Package {
                    self.opened(&ty)
                } else {
                    ty.clone()
                };
                self.value_of(default, &wanted);
                if !self.is_compile_time(default) {
                    self.error(
                        "not-constant",
                        default.span,
                        "a default value must be known while compiling",
                    );
                }
            }
            if is_optional(parameter)
                && !(self.context == Context::Extern && kind == Parameters::Constructor)
                && !matches!(
                    kind,
                    Parameters::Package | Parameters::Applied | Parameters::Method
                )
            {
                self.error(
                    "optional",
                    parameter.name.span,
                    "only parameters of packages, parsers, controls and externs can be `@optional`",
                );
            }
            if kind == Parameters::Applied
                && matches!(parameter.direction, Direction::In | Direction::InOut)
            {
                self.inputs.insert(parameter.id);
            }
            if kind == Parameters::Constructor {
                self.constructor_parameters.insert(parameter.id);
            }
            self.declare(&parameter.name, Entity::Parameter(parameter));
        }
        let _ = default_before;
        if kind == Parameters::Action {
            let mut last_plain: Option<&Parameter> = None;
            for parameter in parameters {
                if parameter.direction == Direction::None {
                    last_plain = Some(parameter);
                } else if let Some(plain) = last_plain {
                    self.report(
                        Diagnostic::error(
                            "parameter-order",
                            plain.name.span,
                            "parameters without a direction come last: the control plane gives them",
                        )
                        .note(parameter.name.span, "this one has a direction"),
                    );
                    break;
                }
            }
        }
    }

    pub(super) fn parameter_type(&mut self, parameter: &'a Parameter, ty: &Type, kind: Parameters) {
        let has_direction = parameter.direction != Direction::None;
        let text = self.show(ty);
        let name = &parameter.name.text;
        let message = match ty {
            _ if has_direction && matches!(kind, Parameters::Constructor | Parameters::Package) => {
                Some("constructor parameters have no direction".into())
            }
            Type::Void => Some(format!("`{name}` cannot be `void`")),
            Type::Integer if has_direction => {
                Some(format!("`{name}` is `int`, and can have no direction"))
            }
            Type::String if has_direction => {
                Some(format!("`{name}` is `string`, and can have no direction"))
            }
            Type::Object(..) if has_direction => {
                Some(format!("`{name}` is `{text}`, and can have no direction"))
            }
            Type::Object(..) | Type::String | Type::Integer if kind == Parameters::Action => {
                Some(format!("`{name}` of an action cannot be `{text}`"))
            }
            Type::Object(id, _) => match self.applicable(*id) {
                Some(applicable)
                    if applicable.kind == ApplicableKind::Package
                        && kind != Parameters::Package =>
                {
                    Some(format!("`{name}` cannot be the package `{text}`"))
                }
                Some(applicable)
                    if self.context == Context::Extern
                        || !matches!(kind, Parameters::Constructor | Parameters::Package)
                        || (!applicable.is_type && applicable.kind != ApplicableKind::Package) =>
                {
                    Some(format!("`{name}` cannot be `{text}`"))
                }
                _ => None,
            },
            Type::Set(_) => Some(format!("`{name}` cannot be a value set")),
            _ if self.is_open(ty) => Some("`_` cannot be the type of a parameter".into()),
            _ => None,
        };
        if let Some(message) = message {
            self.error("parameter-type", parameter.ty.span, message);
        }
    }
}
