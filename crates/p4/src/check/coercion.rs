//! Implicit casts (specification 8.11.2).

use super::checker::Checker;
use super::constants;
use crate::ast::{CompositeKind, Expression, ExpressionKind, Name};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::types::{Constant, Type};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

impl<'a> Checker<'a> {
    /// Checks an expression that must have a type, cast to it where the language casts by itself.
    pub(super) fn value_of(&mut self, e: &'a Expression, want: &Type) -> bool {
        let have = self.value(e);
        self.coerce(e, &have, want)
    }

    /// Casts an expression to a type where the language does so by itself; complains where it cannot.
    pub(super) fn coerce(&mut self, e: &'a Expression, have: &Type, want: &Type) -> bool {
        self.deeper(e.span, true, |checker| checker.coerce_parts(e, have, want))
    }

    fn coerce_parts(&mut self, e: &'a Expression, have: &Type, want: &Type) -> bool {
        let (have, want) = (self.shallow(have), self.shallow(want));
        match (&have, &want) {
            (Type::Unknown, _) | (_, Type::Unknown) => return true,
            (_, Type::Set(element)) if !matches!(have, Type::Set(_)) => {
                return self.coerce(e, &have, element);
            }
            (Type::Set(x), Type::Set(y)) if self.unify(x, y) => {
                return true;
            }
            (Type::Integer, Type::Bits(_) | Type::Signed(_)) => {
                self.cast(e, &want);
                self.check_fits(e, &want);
                return true;
            }
            // As p4c does: a number without a width becomes a new type's value too.
            (Type::Integer, Type::New(id)) if self.number_below(*id).is_some() => {
                let number = self.number_below(*id).unwrap_or(Type::Unknown);
                self.cast(e, &want);
                self.check_fits(e, &number);
                return true;
            }
            (Type::Bits(_) | Type::Signed(_), Type::Integer) => {
                self.cast(e, &want);
                return true;
            }
            (Type::Enum(id), Type::Bits(_) | Type::Signed(_))
                if self.underlying(*id).as_ref() == Some(&want) =>
            {
                self.cast(e, &want);
                return true;
            }
            (Type::Invalid, _) => {
                let fits = matches!(&want, Type::Composite(..))
                    && (self.is_kind(&want, CompositeKind::Header)
                        || self.is_kind(&want, CompositeKind::Union));
                if fits || matches!(want, Type::Variable(_)) && self.unify(&have, &want) {
                    self.cast(e, &want);
                    self.out.constants.insert(e.id, Constant::Invalid);
                    return true;
                }
            }
            (Type::Default, _) if self.has_default(&want) => {
                self.cast(e, &want);
                if let Some(value) = self.default_value(&want) {
                    self.out.constants.insert(e.id, value);
                }
                return true;
            }
            _ => {}
        }
        match &e.kind {
            ExpressionKind::List { elements, dots } => {
                self.coerce_list(e, elements, *dots, &have, &want)
            }
            ExpressionKind::Struct { fields, dots } => {
                self.coerce_fields(e, fields, *dots, &have, &want)
            }
            ExpressionKind::Conditional { condition, yes, no }
                if matches!(have, Type::Integer | Type::Tuple(_) | Type::Fields(_))
                    && !matches!(want, Type::Variable(_)) =>
            {
                let (a, b) = (self.type_of(yes.id), self.type_of(no.id));
                let good = self.coerce(yes, &a, &want) && self.coerce(no, &b, &want);
                self.record(e.id, want);
                // The value of the branch that is chosen, as its own cast made it.
                if let Some(Constant::Bool(first)) = self.constant(condition) {
                    let chosen = if *first { yes } else { no };
                    match self.cast_value(chosen) {
                        Some(value) if good => self.out.constants.insert(e.id, value),
                        _ => self.out.constants.remove(&e.id),
                    };
                }
                good
            }
            _ => {
                if self.unify(&have, &want) {
                    return true;
                }
                self.mismatch(e, &have, &want);
                false
            }
        }
    }

    pub(super) fn mismatch(&mut self, e: &Expression, have: &Type, want: &Type) {
        let (have_text, want_text) = (self.show(have), self.show(want));
        let mut diagnostic = Diagnostic::error(
            "type-mismatch",
            e.span,
            format!("this is `{have_text}` where `{want_text}` is needed"),
        );
        if let Some((place, why)) = self.why_not_implemented(have, want) {
            diagnostic = diagnostic.note(place, why);
        } else if self.castable(have, want) {
            diagnostic = diagnostic.help(format!("write a cast: `({want_text})...`"));
        }
        self.report(diagnostic);
    }

    /// The number of which a new type is made, if it is one.
    pub(super) fn number_below(&self, id: crate::ast::NodeId) -> Option<Type> {
        match self.type_of(id) {
            Type::New(below) => self.number_below(below),
            number @ (Type::Bits(_) | Type::Signed(_)) => Some(number),
            _ => None,
        }
    }

    /// Notes an implicit cast.
    pub(super) fn cast(&mut self, e: &Expression, to: &Type) {
        self.out.casts.insert(e.id, to.clone());
    }

    /// Warns of a number that the type to which it is cast cannot hold.
    pub(super) fn check_fits(&mut self, e: &Expression, to: &Type) {
        let Some(Constant::Integer(value)) = self.constant(e) else {
            return;
        };
        let (value, text) = (value.clone(), self.show(to));
        if let Some((least, most)) = constants::bounds(to)
            && (value < least || value > most)
        {
            let wrapped = constants::wrap(&value, to);
            self.warn(
                "does-not-fit",
                e.span,
                format!("{value} does not fit in `{text}` and becomes {wrapped}"),
            );
        }
    }

    fn coerce_list(
        &mut self,
        e: &'a Expression,
        elements: &'a [Expression],
        dots: bool,
        have: &Type,
        want: &Type,
    ) -> bool {
        let parts: Vec<(Type, Option<&'a Name>)> = match want {
            Type::Tuple(parts) => parts.iter().map(|ty| (ty.clone(), None)).collect(),
            Type::Composite(id, arguments) if !self.is_kind(want, CompositeKind::Union) => self
                .fields(*id, arguments)
                .into_iter()
                .map(|(field, ty)| (ty, Some(&field.name)))
                .collect(),
            Type::List(part) => elements.iter().map(|_| ((**part).clone(), None)).collect(),
            Type::Stack(part, size) => {
                let count = if dots { *size as usize } else { elements.len() };
                if count > *size as usize
                    || elements.len() > *size as usize
                    || (!dots && count < *size as usize)
                {
                    return self.wrong_count(e, elements.len(), *size as usize, want);
                }
                core::iter::repeat_n(((**part).clone(), None), count).collect()
            }
            Type::Variable(_) => {
                if dots {
                    self.error(
                        "default",
                        e.span,
                        "cannot infer which values `...` stands for",
                    );
                    return false;
                }
                // What the list is used for does not say more; so it is a tuple of what stands in it.
                return if self.unify(have, want) {
                    true
                } else {
                    self.mismatch(e, have, want);
                    false
                };
            }
            _ => {
                self.mismatch(e, have, want);
                return false;
            }
        };
        if elements.len() > parts.len() || (elements.len() < parts.len() && !dots) {
            return self.wrong_count(e, elements.len(), parts.len(), want);
        }
        self.cast(e, want);
        let mut good = true;
        let mut values = Vec::new();
        for (element, (want, name)) in elements.iter().zip(&parts) {
            let have = self.type_of(element.id);
            if self.coerce(element, &have, want) {
                values.push(self.cast_value(element));
            } else {
                good = false;
                values.push(None);
                if let Some(name) = name {
                    self.note_field(name);
                }
            }
        }
        for (want, _) in parts.iter().skip(elements.len()) {
            if self.has_default(want) {
                values.push(self.default_value(want));
            } else {
                good = self.no_default(e.span, want);
            }
        }
        self.out.constants.remove(&e.id);
        if good {
            self.constant_list(e, &values);
        }
        good
    }

    /// Says in the last diagnostic which field is meant (nothing where it is plain).
    fn note_field(&mut self, _name: &Name) {}

    fn wrong_count(&mut self, e: &Expression, have: usize, need: usize, want: &Type) -> bool {
        let text = self.show(want);
        let mut diagnostic = Diagnostic::error(
            "type-mismatch",
            e.span,
            format!("this list has {have} elements where `{text}` needs {need}"),
        );
        if have < need {
            diagnostic = diagnostic
                .help("end the list with `...` to give the rest default values".to_string());
        }
        self.report(diagnostic);
        false
    }

    fn no_default(&mut self, span: Span, ty: &Type) -> bool {
        let text = self.show(ty);
        self.error(
            "default",
            span,
            format!("`{text}` has no default value for `...` to stand for"),
        );
        false
    }

    fn coerce_fields(
        &mut self,
        e: &'a Expression,
        given: &'a [(Name, Expression)],
        dots: bool,
        have: &Type,
        want: &Type,
    ) -> bool {
        let fields = match want {
            Type::Composite(id, arguments) if !self.is_kind(want, CompositeKind::Union) => {
                self.fields(*id, arguments)
            }
            Type::Variable(_) if !dots => {
                return if self.unify(have, want) {
                    true
                } else {
                    self.mismatch(e, have, want);
                    false
                };
            }
            _ => {
                self.mismatch(e, have, want);
                return false;
            }
        };
        self.cast(e, want);
        let text = self.show(want);
        let mut good = true;
        let mut values = Vec::new();
        for (field, ty) in &fields {
            let found = given.iter().find(|(name, _)| name.text == field.name.text);
            match found {
                Some((_, value)) => {
                    let have = self.type_of(value.id);
                    good &= self.coerce(value, &have, ty);
                    values.push(self.cast_value(value));
                }
                None if dots => {
                    if self.has_default(ty) {
                        values.push(self.default_value(ty));
                    } else {
                        good = self.no_default(e.span, ty);
                    }
                }
                None => {
                    good = false;
                    let diagnostic = Diagnostic::error(
                        "field-missing",
                        e.span,
                        format!("field `{}` of `{text}` has no value here", field.name.text),
                    )
                    .note(field.name.span, "the field")
                    .help("give it a value, or end with `...` to give the rest default values");
                    self.report(diagnostic);
                }
            }
        }
        for (name, _) in given {
            if !fields.iter().any(|(field, _)| field.name.text == name.text) {
                good = false;
                let mut diagnostic = Diagnostic::error(
                    "no-such-field",
                    name.span,
                    format!("`{text}` has no field `{}`", name.text),
                );
                let names = fields.iter().map(|(field, _)| &*field.name.text);
                if let Some(close) = super::scopes::nearest(&name.text, names) {
                    diagnostic = diagnostic.help(format!("did you mean `{close}`?"));
                }
                self.report(diagnostic);
            }
        }
        self.out.constants.remove(&e.id);
        if good {
            self.constant_list(e, &values);
        }
        good
    }

    /// Whether a type has a default value (7.3).
    pub(super) fn has_default(&self, ty: &Type) -> bool {
        match self.shallow(ty) {
            Type::Unknown
            | Type::Bool
            | Type::Integer
            | Type::Bits(_)
            | Type::Signed(_)
            | Type::Varbit(_)
            | Type::String
            | Type::Error
            | Type::Enum(_)
            | Type::Default => true,
            Type::New(id) => self.has_default(&self.type_of(id)),
            Type::Stack(base, _) => self.has_default(&base),
            Type::Tuple(parts) => parts.iter().all(|part| self.has_default(part)),
            Type::Composite(id, arguments) => {
                !self.is_kind(&Type::Composite(id, Vec::new()), CompositeKind::Struct)
                    || self
                        .fields(id, &arguments)
                        .iter()
                        .all(|(_, ty)| self.has_default(ty))
            }
            _ => false,
        }
    }

    /// The default value of a type, where it can be written down and is not too long.
    pub(super) fn default_value(&mut self, ty: &Type) -> Option<Constant> {
        let ty = self.known(ty);
        if self.scalars(&ty) > 4096 {
            return None;
        }
        self.default_parts(&ty)
    }

    fn default_parts(&self, ty: &Type) -> Option<Constant> {
        Some(match self.shallow(ty) {
            Type::Bool => Constant::Bool(false),
            Type::Integer | Type::Bits(_) | Type::Signed(_) => Constant::Integer(0.into()),
            Type::String => Constant::String("".into()),
            Type::Error => Constant::Member(self.errors.get("NoError")?.id),
            Type::Enum(id) => match &self.declaration(id)?.kind {
                crate::ast::DeclarationKind::Enum {
                    underlying: Some(_),
                    ..
                } => Constant::Integer(0.into()),
                crate::ast::DeclarationKind::Enum { members, .. } => {
                    Constant::Member(members.first()?.id)
                }
                _ => return None,
            },
            Type::New(id) => return self.default_parts(&self.type_of(id)),
            Type::Stack(base, size) if size <= 1024 => {
                let part = self.default_parts(&base)?;
                Constant::List(core::iter::repeat_n(part, size as usize).collect())
            }
            Type::Tuple(parts) => Constant::List(
                parts
                    .iter()
                    .map(|part| self.default_parts(part))
                    .collect::<Option<_>>()?,
            ),
            Type::Composite(id, arguments) => {
                if self.is_kind(&Type::Composite(id, Vec::new()), CompositeKind::Struct) {
                    let fields = self.fields(id, &arguments);
                    Constant::List(
                        fields
                            .iter()
                            .map(|(_, ty)| self.default_parts(ty))
                            .collect::<Option<_>>()?,
                    )
                } else {
                    Constant::Invalid
                }
            }
            _ => return None,
        })
    }

    /// Whether an explicit cast is allowed (8.11.1).
    pub(super) fn castable(&self, from: &Type, to: &Type) -> bool {
        let (from, to) = (self.known(from), self.known(to));
        if from == to {
            return true;
        }
        match (&from, &to) {
            (Type::Unknown, _) | (_, Type::Unknown) => true,
            (Type::Bits(x), Type::Signed(y)) | (Type::Signed(x), Type::Bits(y)) => x == y,
            (Type::Bits(_), Type::Bits(_)) | (Type::Signed(_), Type::Signed(_)) => true,
            (Type::Bits(1), Type::Bool) | (Type::Bool, Type::Bits(1)) => true,
            (Type::Integer, Type::Bits(_) | Type::Signed(_) | Type::Bool) => true,
            (Type::Bits(_) | Type::Signed(_), Type::Integer) => true,
            (Type::Enum(id), _) if self.underlying(*id).is_some() => {
                let under = self.underlying(*id).unwrap_or(Type::Unknown);
                self.castable(&under, &to)
            }
            (_, Type::Enum(id)) if self.underlying(*id).is_some() => {
                let under = self.underlying(*id).unwrap_or(Type::Unknown);
                from == under || from == Type::Integer
            }
            (Type::New(id), _) if self.castable(&self.type_of(*id), &to) => true,
            (_, Type::New(id)) => {
                let under = self.type_of(*id);
                from == under
                    || from == Type::Integer && matches!(under, Type::Bits(_) | Type::Signed(_))
                    || matches!(under, Type::New(_)) && self.castable(&from, &under)
            }
            _ => false,
        }
    }

    /// Whether a type is of values still without a width or a name: a literal's.
    pub(super) fn is_soft(&self, ty: &Type) -> bool {
        super::substitution::any(&self.known(ty), &mut |part| {
            matches!(
                part,
                Type::Integer | Type::Fields(_) | Type::Invalid | Type::Default
            )
        })
    }

    /// A boxed element for keysets.
    pub(super) fn set(ty: Type) -> Type {
        Type::Set(Box::new(ty))
    }
}
