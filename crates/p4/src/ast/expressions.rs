//! Expressions, and how types are written.

use super::*;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use num_bigint::BigInt;

/// A use of a type.
#[derive(Clone, Debug)]
pub struct TypeExpression {
    pub id: NodeId,
    pub span: Span,
    pub kind: TypeExpressionKind,
}

/// A use of a type.
#[derive(Clone, Debug)]
pub enum TypeExpressionKind {
    /// `bool`
    Bool,
    /// `error`
    Error,
    /// `match_kind`
    MatchKind,
    /// `int`, of any size, only while compiling.
    Int,
    /// `string`
    String,
    /// `void`
    Void,
    /// `_` as a type argument.
    DontCare,
    /// `bit<w>` (`bit` is `bit<1>`, with `None`), `int<w>`, `varbit<w>`
    Bit(Option<Box<Expression>>),
    /// `int<w>`
    Signed(Box<Expression>),
    /// `varbit<w>`
    Varbit(Box<Expression>),
    /// A name, `absolute` with a dot before it.
    Named {
        name: Name,
        /// Whether a dot stands before it.
        absolute: bool,
    },
    /// `base<arguments>`
    Specialized {
        /// What it stands on.
        base: Box<TypeExpression>,
        /// In order.
        arguments: Vec<TypeExpression>,
    },
    /// `base[size]`
    Stack {
        /// What it stands on.
        base: Box<TypeExpression>,
        /// How many elements.
        size: Box<Expression>,
    },
    /// `tuple<...>`
    Tuple(Vec<TypeExpression>),
    /// `list<T>`
    List(Box<TypeExpression>),
}

#[derive(Clone, Debug)]
pub struct Expression {
    pub id: NodeId,
    pub span: Span,
    pub kind: ExpressionKind,
}

#[derive(Clone, Debug)]
pub enum ExpressionKind {
    /// `8w0xff`, `3`, `-`-free. `width` has the bits and whether it is signed (`8s1`).
    Integer {
        value: BigInt,
        /// How many bits.
        width: Option<(u32, bool)>,
        /// Base of the literal: 2, 8, 10 or 16.
        radix: u32,
    },
    /// `true`, `false`
    Bool(bool),
    /// `"text"`, unescaped.
    String(Arc<str>),
    /// A name; with a dot before it `absolute`.
    Path {
        name: Name,
        /// Whether a dot stands before it.
        absolute: bool,
    },
    /// `this`
    This,
    /// A type in an expression's place: what a constructor call, a static `apply` or an `error`/enum member stands on, when
    /// it is more than a plain name (`H<bit<8>>`, `error`).
    Type(TypeExpression),
    /// `base.member`
    Member {
        /// What it stands on.
        base: Box<Expression>,
        /// The name behind the dot.
        member: Name,
    },
    /// `base[index]`
    Index {
        /// What it stands on.
        base: Box<Expression>,
        /// Which element.
        index: Box<Expression>,
    },
    /// `base[high:low]`
    Slice {
        /// What it stands on.
        base: Box<Expression>,
        /// The highest.
        high: Box<Expression>,
        /// The lowest.
        low: Box<Expression>,
    },
    /// `base[low+:width]`
    PlusSlice {
        /// What it stands on.
        base: Box<Expression>,
        /// The lowest.
        low: Box<Expression>,
        /// How many bits.
        width: Box<Expression>,
    },
    /// `{ a, b, ... }`; `dots` when it ends with `...`. Also `(a, b)` in keysets.
    List {
        /// In order.
        elements: Vec<Expression>,
        /// Whether it ends with `...`: all that is left has its default value.
        dots: bool,
    },
    /// `{ a = 1, b = 2, ... }`
    Struct {
        /// In order.
        fields: Vec<(Name, Expression)>,
        /// Whether it ends with `...`: all that is left has its default value.
        dots: bool,
    },
    /// `{#}`
    Invalid,
    /// `-a`, `!a`, `~a`, `+a`
    Unary {
        operator: UnaryOperator,
        /// What it works on.
        operand: Box<Expression>,
    },
    /// `a + b`
    Binary {
        operator: BinaryOperator,
        left: Box<Expression>,
        right: Box<Expression>,
    },
    /// `c ? a : b`
    Conditional {
        /// What decides.
        condition: Box<Expression>,
        /// When it holds.
        yes: Box<Expression>,
        /// When it does not.
        no: Box<Expression>,
    },
    /// `(T) a`, and `(T) { ... }`
    Cast {
        /// Its type.
        ty: Box<TypeExpression>,
        /// What it works on.
        operand: Box<Expression>,
    },
    /// `f<T>(arguments)`; also a constructor call when `callee` is a type.
    Call {
        /// What is called.
        callee: Box<Expression>,
        /// Between `<` and `>`.
        type_arguments: Vec<TypeExpression>,
        /// In order.
        arguments: Vec<Argument>,
    },
    /// `a &&& mask`, only in keysets.
    Mask {
        value: Box<Expression>,
        /// The bits that count.
        mask: Box<Expression>,
    },
    /// `a .. b`, only in keysets.
    Range {
        /// The lowest.
        low: Box<Expression>,
        /// The highest.
        high: Box<Expression>,
    },
    /// `default` in keysets and switch labels.
    Default,
    /// `_` in keysets and as an argument.
    DontCare,
    /// `...` as a whole value: the default value of a type.
    Dots,
    /// What could not be read; a diagnostic was given.
    Broken,
}

/// An operator with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOperator {
    /// `-a`
    Negate,
    /// `!a`
    Not,
    /// `~a`
    Complement,
    /// `+a`
    Plus,
}

/// An operator with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `|+|`
    SaturatingAdd,
    /// `|-|`
    SaturatingSubtract,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `++`
    Concat,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `&&`
    And,
    /// `||`
    Or,
}

/// `value`, `name = value`, `_`
#[derive(Clone, Debug)]
pub struct Argument {
    pub name: Option<Name>,
    pub value: Expression,
    pub span: Span,
}
