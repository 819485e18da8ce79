//! Types as the checker sees them, and values known while compiling.

use crate::ast::NodeId;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use num_bigint::BigInt;

/// A type. Named types are told by their declaration and their arguments, so that two are the same type just when
/// they compare equal (typedefs are resolved, `type` makes a new one).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    /// Something of which an error was already told; agrees with everything.
    Unknown,
    /// `void`
    Void,
    /// `bool`
    Bool,
    /// `int` of any size, known while compiling.
    Integer,
    /// `bit<width>`
    Bits(u32),
    /// `int<width>`
    Signed(u32),
    /// `varbit<most>`
    Varbit(u32),
    /// `string`
    String,
    /// `error`
    Error,
    /// `match_kind`
    MatchKind,
    /// A header, struct or header union.
    Composite(NodeId, Vec<Type>),
    /// An enum, with or without an underlying type.
    Enum(NodeId),
    /// Made by `type`.
    New(NodeId),
    /// `base[size]`
    Stack(Box<Type>, u32),
    /// `tuple<...>`; also what `{a, b}` has before it becomes a struct, header, or list.
    Tuple(Vec<Type>),
    /// What `{f = a, g = b}` has before it becomes a struct or header.
    Fields(Vec<(Arc<str>, Type)>),
    /// `{#}` before it becomes a header or union.
    Invalid,
    /// `...` before it becomes the default value of a type.
    Default,
    /// `list<T>`
    List(Box<Type>),
    /// `set<T>`: what a keyset has.
    Set(Box<Type>),
    /// A type parameter, by its declaration.
    Parameter(NodeId),
    /// A type still to be inferred; none is left when checking has ended well.
    Variable(u32),
    /// An extern, parser, parser type, control, control type or package with its type arguments.
    Object(NodeId, Vec<Type>),
    /// A name that stands for a type itself (`E` in `E.member`).
    Name(Box<Type>),
    /// A table, by its declaration.
    Table(NodeId),
    /// What `t.apply()` gives: a struct of `hit`, `miss` and `action_run`, by the table's declaration.
    ApplyResult(NodeId),
    /// What `t.apply().action_run` gives, by the table's declaration.
    ActionRun(NodeId),
    /// Something that can only be called: a function, action, method, by its declaration.
    Callable(NodeId),
    /// A parser's state, by its declaration.
    State,
}

/// The control plane's name of a generic struct with its arguments, as p4c makes it: `S_bit32` for
/// `S<bit<32>>`. `name` names a declared type.
pub(crate) fn specialized(
    base: &str,
    arguments: &[Type],
    name: &dyn Fn(NodeId) -> Arc<str>,
) -> String {
    let mut text = String::from(base);
    for argument in arguments {
        text.push('_');
        written(argument, name, &mut text);
    }
    text
}

/// A type as text, without the signs that a name cannot have.
fn written(ty: &Type, name: &dyn Fn(NodeId) -> Arc<str>, text: &mut String) {
    let several = |parts: &[Type], text: &mut String| {
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                text.push('_');
            }
            written(part, name, text);
        }
    };
    match ty {
        Type::Bool => text.push_str("bool"),
        Type::Error => text.push_str("error"),
        Type::Bits(width) => *text += &format!("bit{width}"),
        Type::Signed(width) => *text += &format!("int{width}"),
        Type::Varbit(width) => *text += &format!("varbit{width}"),
        Type::Tuple(parts) => {
            text.push_str("tuple");
            several(parts, text);
        }
        Type::Stack(element, size) => {
            written(element, name, text);
            *text += &format!("[{size}]");
        }
        Type::Composite(id, arguments) => {
            text.push_str(&name(*id));
            several(arguments, text);
        }
        Type::Enum(id) | Type::New(id) => text.push_str(&name(*id)),
        _ => {}
    }
}

/// A value known while compiling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constant {
    /// Of a `bool`.
    Bool(bool),
    /// Of an `int`, `bit<>`, `int<>`, or of a serialisable enum; in the range of its type, signed where it is.
    Integer(BigInt),
    /// Of a `string`.
    String(Arc<str>),
    /// A member of an enum, `error` or `match_kind`, by its declaration.
    Member(NodeId),
    /// A struct, valid header, tuple or list: fields in the order of the type.
    List(Vec<Constant>),
    /// An invalid header or union.
    Invalid,
}
