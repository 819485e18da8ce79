//! The syntax tree of P4_16 (specification 1.2.5). P4_14 programs are read into the same tree.
//!
//! Every node that can be given a meaning later - an expression, a use of a type, a declaration, a parameter, a
//! parser state - has a [`NodeId`], unique in its program; what the checker finds out stands in tables by that id
//! ([`crate::check::Checked`]), so that the tree itself never changes.

use crate::source::Span;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use num_bigint::BigInt;

/// A node's number, counted from 0 in the order in which the parser made them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A name where it stands in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub text: Arc<str>,
    /// Where it stands.
    pub span: Span,
}

/// A whole program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The declarations in order.
    pub declarations: Vec<Declaration>,
    /// One more than the largest [`NodeId`] in it.
    pub nodes: u32,
}

/// `@name`, `@name(tokens)`, `@name[expressions]`, `@name[key = value]`.
#[derive(Clone, Debug)]
pub struct Annotation {
    /// Without the `@`.
    pub name: Name,
    /// What stands behind it.
    pub body: AnnotationBody,
    /// All of it.
    pub span: Span,
}

/// What stands behind an annotation's name.
#[derive(Clone, Debug)]
pub enum AnnotationBody {
    /// Nothing.
    Empty,
    /// The tokens between the brackets, as text with one space between two: `@name("ingress.t")`. A single string literal
    /// has its quotes, and is unescaped by [`Annotation::string`].
    Tokens(Vec<Arc<str>>),
    /// A structured list of expressions.
    Expressions(Vec<Expression>),
    /// A structured list of pairs.
    Pairs(Vec<(Name, Expression)>),
}

/// A declaration at the top or inside a parser, control, extern or block.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// Its number; uses of the name refer to it.
    pub id: NodeId,
    /// All of it, annotations too.
    pub span: Span,
    /// In the order of the text.
    pub annotations: Vec<Annotation>,
    /// What it declares. For `error` and `match_kind` there is no name of its own.
    pub kind: DeclarationKind,
}

/// What is declared.
#[derive(Clone, Debug)]
pub enum DeclarationKind {
    /// `const T name = value;`
    Constant {
        ty: TypeExpression,
        name: Name,
        value: Expression,
    },
    /// `T name = value;`
    Variable {
        ty: TypeExpression,
        name: Name,
        value: Option<Expression>,
    },
    /// `T(arguments) name = { abstract methods };` and at the top level the package `main`.
    Instance {
        ty: TypeExpression,
        arguments: Vec<Argument>,
        name: Name,
        initializer: Option<Vec<Declaration>>,
    },
    /// `extern E<T> { constructors and methods }`
    Extern {
        name: Name,
        type_parameters: Vec<TypeParameter>,
        methods: Vec<Method>,
    },
    /// `extern T f<X>(...);`
    ExternFunction(Prototype),
    /// `T f<X>(...) { ... }`; also an abstract method's implementation.
    Function { prototype: Prototype, body: Block },
    /// `action a(...) { ... }`
    Action {
        name: Name,
        parameters: Vec<Parameter>,
        body: Block,
    },
    /// `header`, `struct`, `header_union`
    Composite {
        kind: CompositeKind,
        name: Name,
        type_parameters: Vec<TypeParameter>,
        fields: Vec<Field>,
    },
    /// `enum E { A, B }` and `enum bit<8> E { A = 1 }`
    Enum {
        name: Name,
        underlying: Option<TypeExpression>,
        members: Vec<Member>,
    },
    /// `error { A, B }`
    Error { members: Vec<Member> },
    /// `match_kind { exact }`
    MatchKind { members: Vec<Member> },
    /// `typedef T name;`
    Typedef { ty: TypeExpression, name: Name },
    /// `type T name;`
    NewType { ty: TypeExpression, name: Name },
    /// `parser P<H>(...);`
    ParserType {
        name: Name,
        type_parameters: Vec<TypeParameter>,
        parameters: Vec<Parameter>,
    },
    /// `control C<H>(...);`
    ControlType {
        name: Name,
        type_parameters: Vec<TypeParameter>,
        parameters: Vec<Parameter>,
    },
    /// `package S<H>(...);`
    PackageType {
        name: Name,
        type_parameters: Vec<TypeParameter>,
        parameters: Vec<Parameter>,
    },
    /// `parser P(...)(...) { ... }`
    Parser(Box<Parser>),
    /// `control C(...)(...) { ... }`
    Control(Box<Control>),
    /// `value_set<T>(size) name;`
    ValueSet {
        element: TypeExpression,
        size: Expression,
        name: Name,
    },
    /// `table t { ... }`
    Table(Box<Table>),
}

/// The three kinds of types with fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompositeKind {
    Header,
    Struct,
    Union,
}

/// A field of a header, struct or union.
#[derive(Clone, Debug)]
pub struct Field {
    pub id: NodeId,
    pub annotations: Vec<Annotation>,
    pub ty: TypeExpression,
    pub name: Name,
}

/// A member of an enum, of `error` or of `match_kind`.
#[derive(Clone, Debug)]
pub struct Member {
    pub id: NodeId,
    pub annotations: Vec<Annotation>,
    pub name: Name,
    pub value: Option<Expression>,
}

/// A name that stands for a type.
#[derive(Clone, Debug)]
pub struct TypeParameter {
    pub id: NodeId,
    pub name: Name,
}

/// A parameter's direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    None,
    In,
    Out,
    InOut,
}

/// A parameter of a function, action, method, parser, control, package or constructor.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub id: NodeId,
    pub annotations: Vec<Annotation>,
    pub direction: Direction,
    pub ty: TypeExpression,
    pub name: Name,
    /// The default value; `@optional` is an annotation.
    pub default: Option<Expression>,
}

/// A function's head.
#[derive(Clone, Debug)]
pub struct Prototype {
    pub result: TypeExpression,
    pub name: Name,
    pub type_parameters: Vec<TypeParameter>,
    pub parameters: Vec<Parameter>,
}

/// A method of an extern.
#[derive(Clone, Debug)]
pub struct Method {
    pub id: NodeId,
    pub annotations: Vec<Annotation>,
    /// `abstract`: the instance must implement it.
    pub is_abstract: bool,
    /// A constructor has the extern's name, and `void` as result.
    pub is_constructor: bool,
    pub prototype: Prototype,
    pub span: Span,
}

/// `parser P<T>(parameters)(constructor parameters) { locals states }`
#[derive(Clone, Debug)]
pub struct Parser {
    pub name: Name,
    pub type_parameters: Vec<TypeParameter>,
    pub parameters: Vec<Parameter>,
    pub constructor_parameters: Vec<Parameter>,
    pub locals: Vec<Declaration>,
    pub states: Vec<State>,
}

/// A parser's state.
#[derive(Clone, Debug)]
pub struct State {
    pub id: NodeId,
    pub annotations: Vec<Annotation>,
    pub name: Name,
    pub statements: Vec<Statement>,
    /// Without one the state goes to `reject`.
    pub transition: Option<Transition>,
    pub span: Span,
}

/// Where a state goes.
#[derive(Clone, Debug)]
pub enum Transition {
    /// `transition name;` (`accept` and `reject` too)
    Direct(StateRef),
    /// `transition select(a, b) { ... }`
    Select {
        id: NodeId,
        selectors: Vec<Expression>,
        cases: Vec<SelectCase>,
        span: Span,
    },
}

/// A use of a state's name.
#[derive(Clone, Debug)]
pub struct StateRef {
    pub id: NodeId,
    pub name: Name,
}

/// `(1, _, 3 &&& 7): name;`. A keyset of one element is not wrapped in a [`ExpressionKind::List`]; one of several is a list
/// expression. `default` and `_` are [`ExpressionKind::Default`] and [`ExpressionKind::DontCare`].
#[derive(Clone, Debug)]
pub struct SelectCase {
    pub keyset: Expression,
    pub next: StateRef,
    pub span: Span,
}

/// `control C<T>(parameters)(constructor parameters) { locals apply { } }`
#[derive(Clone, Debug)]
pub struct Control {
    pub name: Name,
    pub type_parameters: Vec<TypeParameter>,
    pub parameters: Vec<Parameter>,
    pub constructor_parameters: Vec<Parameter>,
    /// Constants, actions, tables, instances, variables, functions.
    pub locals: Vec<Declaration>,
    pub apply: Block,
}

/// A table; the properties in order.
#[derive(Clone, Debug)]
pub struct Table {
    pub name: Name,
    pub properties: Vec<TableProperty>,
}

/// A property of a table.
#[derive(Clone, Debug)]
pub struct TableProperty {
    pub annotations: Vec<Annotation>,
    pub span: Span,
    pub is_const: bool,
    pub kind: TablePropertyKind,
}

/// A property of a table.
#[derive(Clone, Debug)]
pub enum TablePropertyKind {
    /// `key = { e : kind; }`
    Key(Vec<KeyElement>),
    /// `actions = { a; b(x); }`; each is a path or a call of one.
    Actions(Vec<ActionReference>),
    /// `entries = { ... }`
    Entries(Vec<Entry>),
    /// `default_action = a(1);`, `size = 1024;`, `counters = c;` and whatever else.
    Other { name: Name, value: Expression },
}

/// `hdr.ipv4.dst : lpm @name("dst")`
#[derive(Clone, Debug)]
pub struct KeyElement {
    pub id: NodeId,
    pub annotations: Vec<Annotation>,
    pub expression: Expression,
    pub match_kind: Name,
    pub span: Span,
}

/// An action in a table's list.
#[derive(Clone, Debug)]
pub struct ActionReference {
    pub id: NodeId,
    pub annotations: Vec<Annotation>,
    pub action: Expression,
    pub span: Span,
}

/// `const priority = 10 : (1, _) : a(2) @annotation;`
#[derive(Clone, Debug)]
pub struct Entry {
    pub id: NodeId,
    pub annotations: Vec<Annotation>,
    pub is_const: bool,
    pub priority: Option<Expression>,
    /// As [`SelectCase::keyset`].
    pub keyset: Expression,
    pub action: Expression,
    pub span: Span,
}

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
    Named { name: Name, absolute: bool },
    /// `base<arguments>`
    Specialized {
        base: Box<TypeExpression>,
        arguments: Vec<TypeExpression>,
    },
    /// `base[size]`
    Stack {
        base: Box<TypeExpression>,
        size: Box<Expression>,
    },
    /// `tuple<...>`
    Tuple(Vec<TypeExpression>),
    /// `list<T>`
    List(Box<TypeExpression>),
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expression {
    pub id: NodeId,
    pub span: Span,
    pub kind: ExpressionKind,
}

/// An expression.
#[derive(Clone, Debug)]
pub enum ExpressionKind {
    /// `8w0xff`, `3`, `-`-free. `width` has the bits and whether it is signed (`8s1`).
    Integer {
        value: BigInt,
        width: Option<(u32, bool)>,
    },
    /// `true`, `false`
    Bool(bool),
    /// `"text"`, unescaped.
    String(Arc<str>),
    /// A name; with a dot before it `absolute`.
    Path { name: Name, absolute: bool },
    /// `this`
    This,
    /// A type in an expression's place: what a constructor call, a static `apply` or an `error`/enum member stands on, when
    /// it is more than a plain name (`H<bit<8>>`, `error`).
    Type(TypeExpression),
    /// `base.member`
    Member { base: Box<Expression>, member: Name },
    /// `base[index]`
    Index {
        base: Box<Expression>,
        index: Box<Expression>,
    },
    /// `base[high:low]`
    Slice {
        base: Box<Expression>,
        high: Box<Expression>,
        low: Box<Expression>,
    },
    /// `base[low+:width]`
    PlusSlice {
        base: Box<Expression>,
        low: Box<Expression>,
        width: Box<Expression>,
    },
    /// `{ a, b, ... }`; `dots` when it ends with `...`. Also `(a, b)` in keysets.
    List {
        elements: Vec<Expression>,
        dots: bool,
    },
    /// `{ a = 1, b = 2, ... }`
    Struct {
        fields: Vec<(Name, Expression)>,
        dots: bool,
    },
    /// `{#}`
    Invalid,
    /// `-a`, `!a`, `~a`, `+a`
    Unary {
        operator: UnaryOperator,
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
        condition: Box<Expression>,
        yes: Box<Expression>,
        no: Box<Expression>,
    },
    /// `(T) a`, and `(T) { ... }`
    Cast {
        ty: Box<TypeExpression>,
        operand: Box<Expression>,
    },
    /// `f<T>(arguments)`; also a constructor call when `callee` is a type.
    Call {
        callee: Box<Expression>,
        type_arguments: Vec<TypeExpression>,
        arguments: Vec<Argument>,
    },
    /// `a &&& mask`, only in keysets.
    Mask {
        value: Box<Expression>,
        mask: Box<Expression>,
    },
    /// `a .. b`, only in keysets.
    Range {
        low: Box<Expression>,
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
    Negate,
    Not,
    Complement,
    Plus,
}

/// An operator with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    SaturatingAdd,
    SaturatingSubtract,
    ShiftLeft,
    ShiftRight,
    BitAnd,
    BitOr,
    BitXor,
    Concat,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
}

/// `value`, `name = value`, `_`
#[derive(Clone, Debug)]
pub struct Argument {
    pub name: Option<Name>,
    pub value: Expression,
    pub span: Span,
}

/// `{ ... }`
#[derive(Clone, Debug)]
pub struct Block {
    pub annotations: Vec<Annotation>,
    pub statements: Vec<Statement>,
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    pub id: NodeId,
    pub span: Span,
    pub kind: StatementKind,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// `;`
    Empty,
    /// `{ ... }`
    Block(Block),
    /// A constant, variable or instance among statements.
    Declaration(Box<Declaration>),
    /// `a = b;`, `a += b;`
    Assign {
        target: Expression,
        operator: Option<BinaryOperator>,
        value: Expression,
    },
    /// A call, of whatever kind; always an [`ExpressionKind::Call`].
    Call(Expression),
    /// `if (c) ... else ...`
    If {
        condition: Expression,
        yes: Box<Statement>,
        no: Option<Box<Statement>>,
    },
    /// `switch (e) { label: { } }`
    Switch {
        value: Expression,
        cases: Vec<SwitchCase>,
    },
    /// `return e;`
    Return(Option<Expression>),
    /// `exit;`
    Exit,
    /// `for (init; condition; update) body`
    For {
        annotations: Vec<Annotation>,
        initial: Vec<Statement>,
        condition: Expression,
        update: Vec<Statement>,
        body: Box<Statement>,
    },
    /// `for (T x in collection) body`; `variable` is a [`DeclarationKind::Variable`], or an l-value. A range is
    /// [`ExpressionKind::Range`].
    ForIn {
        annotations: Vec<Annotation>,
        variable: ForVariable,
        collection: Expression,
        body: Box<Statement>,
    },
    /// `break;`
    Break,
    /// `continue;`
    Continue,
}

/// The variable of a `for ... in`.
#[derive(Clone, Debug)]
pub enum ForVariable {
    Declared(Box<Declaration>),
    Existing(Expression),
}

/// `label: { }`; without a block the label falls through to the next.
#[derive(Clone, Debug)]
pub struct SwitchCase {
    pub label: Expression,
    pub body: Option<Block>,
    pub span: Span,
}
