//! Names, types, constants, and every rule that a valid program keeps.

mod annotations;
mod arguments;
mod calls;
mod checker;
mod coercion;
mod constants;
mod constructors;
mod core_methods;
mod declarations;
mod display;
mod expressions;
mod inference;
mod instances;
mod members;
mod methods;
mod nesting;
mod operators;
mod parameters;
mod parsers;
mod parts;
mod rules;
mod scopes;
mod sizes;
mod statements;
mod substitution;
mod tables;
mod type_declarations;
mod type_expressions;

#[cfg(test)]
mod tests;

use crate::ast::{Annotation, AnnotationBody, DeclarationKind, Expression, NodeId, Program};
use crate::cancel::{Cancel, stopped};
use crate::diagnostic::Diagnostics;
use crate::token::integer;
use crate::types::{Constant, Type};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use num_bigint::BigInt;

/// Properties that say what runs when an entry's group has no members.
pub(crate) const EMPTY_GROUP_ACTIONS: [&str; 2] =
    ["psa_empty_group_action", "pna_empty_group_action"];

/// Checks a program. What it finds is complete only when no error was told.
#[must_use]
pub fn check(program: Program, diagnostics: &mut Diagnostics) -> Checked {
    check_until(program, None, diagnostics)
}

/// The same, given up with an error when `stop` says so.
pub(crate) fn check_until(
    program: Program,
    stop: Option<&Cancel>,
    diagnostics: &mut Diagnostics,
) -> Checked {
    let mut out = {
        let mut checker = checker::Checker::new(&program, diagnostics);
        // Specification 7.1.2: all declarations of `error` are one, wherever they stand.
        for declaration in &program.declarations {
            if let DeclarationKind::Error { members } = &declaration.kind {
                checker.union_of(members, true);
            }
        }
        for declaration in &program.declarations {
            if stop.is_some_and(Cancel::is_requested) {
                checker.report(stopped());
                break;
            }
            checker.top_level(declaration);
        }
        checker.check_main();
        checker.finish_types();
        checker.out
    };
    out.program = program;
    // Without types the other rules would complain of what follows from the first error only.
    if !diagnostics.failed() {
        rules::run(&out, diagnostics);
    }
    out
}

/// A program of which everything is known. Lowering reads the tree beside these tables.
///
/// A generic declaration is checked once; inside it types may contain [`Type::Parameter`], for which whoever walks the tree
/// substitutes what the use gave ([`Call::type_arguments`], the arguments in [`Type::Object`]).
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// The tree.
    pub program: Program,
    /// By an expression's or type expression's id: its type. For an expression the type *before* any implicit cast.
    /// Also by the id of a constant, variable, instance, value set, parameter, field, enum member, key: its type; of a typedef: what it means; of a `type`: what it
    /// is made of. An instance has a [`Type::Object`] with its type arguments, a table [`Type::Table`].
    pub types: BTreeMap<NodeId, Type>,
    /// By an expression's id: the type to which it is implicitly cast where it stands (from `int`, from a serialisable enum, from a
    /// list or struct expression to a struct, header or tuple). A value in a keyset has the cast to the type of what is matched, none to a set; so
    /// have the parts of `&&&` and `..`. Of a list or struct expression that is cast its elements have casts of their own.
    pub casts: BTreeMap<NodeId, Type>,
    /// By the id of a path expression, named type expression, member expression (to the field, method, enum member), state reference: the
    /// declaration, parameter, type parameter, field, method, member or state it means. Members built into the language have none.
    pub references: BTreeMap<NodeId, NodeId>,
    /// By an expression's id: its value, where known without looking at constructor arguments, *before* any
    /// implicit cast; a list's or struct's in the order of the type to which it is cast. Also by the id of a constant's declaration (of the declared type) and of a
    /// member of an enum with an underlying type.
    pub constants: BTreeMap<NodeId, Constant>,
    /// By the id of a call expression, of an instance declaration, of an action reference, of the expression of a
    /// `default_action` or of an entry's action (a call, or the path alone): what is called and how. What the list of actions binds and a default action does
    /// not repeat is [`Bound::Absent`] there.
    pub calls: BTreeMap<NodeId, Call>,
    /// The declaration `main`, when there is one.
    pub main: Option<NodeId>,
}

impl Checked {
    /// The number of `@name(number)`, if there is one.
    #[must_use]
    pub fn annotation_number(&self, annotations: &[Annotation], name: &str) -> Option<u64> {
        let annotation = annotations.iter().find(|a| &*a.name.text == name)?;
        match &annotation.body {
            AnnotationBody::Numbers(list) | AnnotationBody::Expressions(list) => match &list[..] {
                [only] => u64::try_from(self.integer(only)?).ok(),
                _ => None,
            },
            // As `@pragma` has them, and programs that were translated from P4_14.
            AnnotationBody::Tokens(tokens) => match &tokens[..] {
                [only] => integer(only),
                _ => None,
            },
            AnnotationBody::Empty | AnnotationBody::Pairs(_) => None,
        }
    }

    /// The value of an expression, if it is a number that is known while compiling.
    #[must_use]
    pub fn integer(&self, expression: &Expression) -> Option<&BigInt> {
        match self.constants.get(&expression.id)? {
            Constant::Integer(number) => Some(number),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What is called.
    pub target: Target,
    /// For each type parameter of the target its type.
    pub type_arguments: Vec<Type>,
    /// For each parameter of the target, in the order of its declaration, the argument for it.
    pub arguments: Vec<Bound>,
}

/// The argument that a parameter gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The argument with this index in the call.
    Argument(usize),
    /// The parameter's default value.
    Default,
    /// Nothing: the parameter is `@optional`, or an action's that the control plane gives.
    Absent,
}

/// What a call calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A function, by its declaration.
    Function(NodeId),
    /// An action called directly, by its declaration.
    Action(NodeId),
    /// An extern function, by its declaration.
    ExternFunction(NodeId),
    /// A method of an extern, by the method's id; the object is the base of the callee.
    Method(NodeId),
    /// `t.apply()`, by the table's declaration.
    Table(NodeId),
    /// `c.apply(...)` of a parser or control instance, or of its type with no constructor parameters (`C.apply(...)`): by the parser's
    /// or control's declaration.
    Apply(NodeId),
    /// A constructor: of an extern (with the constructor method's id), parser, control, package (with the declaration's id).
    Constructor(NodeId),
    /// `isValid`, `setValid`, `setInvalid`, `push_front`, `pop_front`, `minSizeInBits`, `minSizeInBytes`, `maxSizeInBits`,
    /// `maxSizeInBytes`; the object is the base of the callee.
    Builtin(Builtin),
}

/// Methods that the language itself gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    /// `isValid()`
    IsValid,
    /// `setValid()`
    SetValid,
    /// `setInvalid()`
    SetInvalid,
    /// `push_front(n)`
    PushFront,
    /// `pop_front(n)`
    PopFront,
    /// `minSizeInBits()`
    MinSizeInBits,
    /// `minSizeInBytes()`
    MinSizeInBytes,
    /// `maxSizeInBits()`
    MaxSizeInBits,
    /// `maxSizeInBytes()`
    MaxSizeInBytes,
}
