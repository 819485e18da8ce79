//! Declarations: of types, parsers, controls, tables and all else that has a name.

use super::*;
use alloc::boxed::Box;
use alloc::vec::Vec;

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
        /// Its type.
        ty: TypeExpression,
        name: Name,
        value: Expression,
    },
    /// `T name = value;`
    Variable {
        /// Its type.
        ty: TypeExpression,
        name: Name,
        value: Option<Expression>,
    },
    /// `T(arguments) name = { abstract methods };` and at the top level the package `main`.
    Instance {
        /// Its type.
        ty: TypeExpression,
        /// In order.
        arguments: Vec<Argument>,
        name: Name,
        /// Its abstract methods, when it has braces.
        initializer: Option<Vec<Declaration>>,
    },
    /// `extern E<T> { constructors and methods }`
    Extern {
        name: Name,
        /// Between `<` and `>`.
        type_parameters: Vec<TypeParameter>,
        /// Constructors and methods in order.
        methods: Vec<Method>,
    },
    /// `extern T f<X>(...);`
    ExternFunction(Prototype),
    /// `T f<X>(...) { ... }`; also an abstract method's implementation.
    Function {
        /// Its head.
        prototype: Prototype,
        /// What it does.
        body: Block,
    },
    /// `action a(...) { ... }`
    Action {
        name: Name,
        /// In order.
        parameters: Vec<Parameter>,
        /// What it does.
        body: Block,
    },
    /// `header`, `struct`, `header_union`
    Composite {
        kind: CompositeKind,
        name: Name,
        /// Between `<` and `>`.
        type_parameters: Vec<TypeParameter>,
        /// In order.
        fields: Vec<Field>,
    },
    /// `enum E { A, B }` and `enum bit<8> E { A = 1 }`
    Enum {
        name: Name,
        /// The type of its values.
        underlying: Option<TypeExpression>,
        /// In order.
        members: Vec<Member>,
    },
    /// `error { A, B }`
    Error {
        /// In order.
        members: Vec<Member>,
    },
    /// `match_kind { exact }`
    MatchKind {
        /// In order.
        members: Vec<Member>,
    },
    /// `typedef T name;`
    Typedef {
        /// Its type.
        ty: TypeExpression,
        name: Name,
    },
    /// `type T name;`
    NewType {
        /// Its type.
        ty: TypeExpression,
        name: Name,
    },
    /// `parser P<H>(...);`
    ParserType {
        name: Name,
        /// Between `<` and `>`.
        type_parameters: Vec<TypeParameter>,
        /// In order.
        parameters: Vec<Parameter>,
    },
    /// `control C<H>(...);`
    ControlType {
        name: Name,
        /// Between `<` and `>`.
        type_parameters: Vec<TypeParameter>,
        /// In order.
        parameters: Vec<Parameter>,
    },
    /// `package S<H>(...);`
    PackageType {
        name: Name,
        /// Between `<` and `>`.
        type_parameters: Vec<TypeParameter>,
        /// In order.
        parameters: Vec<Parameter>,
    },
    /// `parser P(...)(...) { ... }`
    Parser(Box<Parser>),
    /// `control C(...)(...) { ... }`
    Control(Box<Control>),
    /// `value_set<T>(size) name;`
    ValueSet {
        /// The type of its elements.
        element: TypeExpression,
        /// How many elements.
        size: Expression,
        name: Name,
    },
    /// `table t { ... }`
    Table(Box<Table>),
}

/// The three kinds of types with fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompositeKind {
    /// `header`
    Header,
    /// `struct`
    Struct,
    /// `header_union`
    Union,
}

/// A field of a header, struct or union.
#[derive(Clone, Debug)]
pub struct Field {
    pub id: NodeId,
    /// In the order of the text.
    pub annotations: Vec<Annotation>,
    /// Its type.
    pub ty: TypeExpression,
    pub name: Name,
}

/// A member of an enum, of `error` or of `match_kind`.
#[derive(Clone, Debug)]
pub struct Member {
    pub id: NodeId,
    /// In the order of the text.
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
    /// None is written.
    None,
    /// `in`
    In,
    /// `out`
    Out,
    /// `inout`
    InOut,
}

/// A parameter of a function, action, method, parser, control, package or constructor.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub id: NodeId,
    /// In the order of the text.
    pub annotations: Vec<Annotation>,
    /// `in`, `out`, `inout` or none.
    pub direction: Direction,
    /// Its type.
    pub ty: TypeExpression,
    pub name: Name,
    /// The default value; `@optional` is an annotation.
    pub default: Option<Expression>,
}

/// A function's head.
#[derive(Clone, Debug)]
pub struct Prototype {
    /// The type of what it returns.
    pub result: TypeExpression,
    pub name: Name,
    /// Between `<` and `>`.
    pub type_parameters: Vec<TypeParameter>,
    /// In order.
    pub parameters: Vec<Parameter>,
}

/// A method of an extern.
#[derive(Clone, Debug)]
pub struct Method {
    pub id: NodeId,
    /// In the order of the text.
    pub annotations: Vec<Annotation>,
    /// `abstract`: the instance must implement it.
    pub is_abstract: bool,
    /// A constructor has the extern's name, and `void` as result.
    pub is_constructor: bool,
    /// Its head.
    pub prototype: Prototype,
    pub span: Span,
}

/// `parser P<T>(parameters)(constructor parameters) { locals states }`
#[derive(Clone, Debug)]
pub struct Parser {
    pub name: Name,
    /// Between `<` and `>`.
    pub type_parameters: Vec<TypeParameter>,
    /// In order.
    pub parameters: Vec<Parameter>,
    /// What each instance is made with.
    pub constructor_parameters: Vec<Parameter>,
    /// Declarations before the states, or before `apply`.
    pub locals: Vec<Declaration>,
    /// In order.
    pub states: Vec<State>,
}

/// A parser's state.
#[derive(Clone, Debug)]
pub struct State {
    pub id: NodeId,
    /// In the order of the text.
    pub annotations: Vec<Annotation>,
    pub name: Name,
    /// In order.
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
        /// What is selected by.
        selectors: Vec<Expression>,
        /// In order.
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
    /// The values.
    pub keyset: Expression,
    /// Where it goes.
    pub next: StateRef,
    pub span: Span,
}

/// `control C<T>(parameters)(constructor parameters) { locals apply { } }`
#[derive(Clone, Debug)]
pub struct Control {
    pub name: Name,
    /// Between `<` and `>`.
    pub type_parameters: Vec<TypeParameter>,
    /// In order.
    pub parameters: Vec<Parameter>,
    /// What each instance is made with.
    pub constructor_parameters: Vec<Parameter>,
    /// Constants, actions, tables, instances, variables, functions.
    pub locals: Vec<Declaration>,
    /// What it does.
    pub apply: Block,
}

/// A table; the properties in order.
#[derive(Clone, Debug)]
pub struct Table {
    pub name: Name,
    /// In order.
    pub properties: Vec<TableProperty>,
}

#[derive(Clone, Debug)]
pub struct TableProperty {
    /// In the order of the text.
    pub annotations: Vec<Annotation>,
    pub span: Span,
    /// Whether it is `const`: the control plane cannot change it.
    pub is_const: bool,
    pub kind: TablePropertyKind,
}

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
    /// In the order of the text.
    pub annotations: Vec<Annotation>,
    /// What is matched.
    pub expression: Expression,
    pub match_kind: Name,
    pub span: Span,
}

/// An action in a table's list.
#[derive(Clone, Debug)]
pub struct ActionReference {
    pub id: NodeId,
    /// In the order of the text.
    pub annotations: Vec<Annotation>,
    /// A path or a call of one.
    pub action: Expression,
    pub span: Span,
}

/// `const priority = 10 : (1, _) : a(2) @annotation;`
#[derive(Clone, Debug)]
pub struct Entry {
    pub id: NodeId,
    /// In the order of the text.
    pub annotations: Vec<Annotation>,
    /// Whether it is `const`: the control plane cannot change it.
    pub is_const: bool,
    /// As written.
    pub priority: Option<Expression>,
    /// As [`SelectCase::keyset`].
    pub keyset: Expression,
    /// A path or a call of one.
    pub action: Expression,
    pub span: Span,
}
