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

/// Annotations that take numbers: expressions whose values are known while compiling, not tokens.
pub const NUMBERED: [&str; 5] = [
    "field_list",
    "id",
    "max_group_size",
    "max_member_weight",
    "priority",
];

/// What stands behind an annotation's name.
#[derive(Clone, Debug)]
pub enum AnnotationBody {
    /// Nothing.
    Empty,
    /// The tokens between the brackets, as text with one space between two: `@name("ingress.t")`. A single string literal
    /// has its quotes, and is unescaped by [`Annotation::string`].
    Tokens(Vec<Arc<str>>),
    /// The numbers of [`NUMBERED`] annotations: `@id(5 * 2)`, `@field_list(FIRST, 2)`. The checker works them out.
    Numbers(Vec<Expression>),
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
        /// Its type.
        ty: TypeExpression,
        /// Its name.
        name: Name,
        /// Its value.
        value: Expression,
    },
    /// `T name = value;`
    Variable {
        /// Its type.
        ty: TypeExpression,
        /// Its name.
        name: Name,
        /// Its value.
        value: Option<Expression>,
    },
    /// `T(arguments) name = { abstract methods };` and at the top level the package `main`.
    Instance {
        /// Its type.
        ty: TypeExpression,
        /// In order.
        arguments: Vec<Argument>,
        /// Its name.
        name: Name,
        /// Its abstract methods, when it has braces.
        initializer: Option<Vec<Declaration>>,
    },
    /// `extern E<T> { constructors and methods }`
    Extern {
        /// Its name.
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
        /// Its name.
        name: Name,
        /// In order.
        parameters: Vec<Parameter>,
        /// What it does.
        body: Block,
    },
    /// `header`, `struct`, `header_union`
    Composite {
        /// What it is.
        kind: CompositeKind,
        /// Its name.
        name: Name,
        /// Between `<` and `>`.
        type_parameters: Vec<TypeParameter>,
        /// In order.
        fields: Vec<Field>,
    },
    /// `enum E { A, B }` and `enum bit<8> E { A = 1 }`
    Enum {
        /// Its name.
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
        /// Its name.
        name: Name,
    },
    /// `type T name;`
    NewType {
        /// Its type.
        ty: TypeExpression,
        /// Its name.
        name: Name,
    },
    /// `parser P<H>(...);`
    ParserType {
        /// Its name.
        name: Name,
        /// Between `<` and `>`.
        type_parameters: Vec<TypeParameter>,
        /// In order.
        parameters: Vec<Parameter>,
    },
    /// `control C<H>(...);`
    ControlType {
        /// Its name.
        name: Name,
        /// Between `<` and `>`.
        type_parameters: Vec<TypeParameter>,
        /// In order.
        parameters: Vec<Parameter>,
    },
    /// `package S<H>(...);`
    PackageType {
        /// Its name.
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
        /// Its name.
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
    /// Its number.
    pub id: NodeId,
    /// In the order of the text.
    pub annotations: Vec<Annotation>,
    /// Its type.
    pub ty: TypeExpression,
    /// Its name.
    pub name: Name,
}

/// A member of an enum, of `error` or of `match_kind`.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its number.
    pub id: NodeId,
    /// In the order of the text.
    pub annotations: Vec<Annotation>,
    /// Its name.
    pub name: Name,
    /// Its value.
    pub value: Option<Expression>,
}

/// A name that stands for a type.
#[derive(Clone, Debug)]
pub struct TypeParameter {
    /// Its number.
    pub id: NodeId,
    /// Its name.
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
    /// Its number.
    pub id: NodeId,
    /// In the order of the text.
    pub annotations: Vec<Annotation>,
    /// `in`, `out`, `inout` or none.
    pub direction: Direction,
    /// Its type.
    pub ty: TypeExpression,
    /// Its name.
    pub name: Name,
    /// The default value; `@optional` is an annotation.
    pub default: Option<Expression>,
}

/// A function's head.
#[derive(Clone, Debug)]
pub struct Prototype {
    /// The type of what it returns.
    pub result: TypeExpression,
    /// Its name.
    pub name: Name,
    /// Between `<` and `>`.
    pub type_parameters: Vec<TypeParameter>,
    /// In order.
    pub parameters: Vec<Parameter>,
}

/// A method of an extern.
#[derive(Clone, Debug)]
pub struct Method {
    /// Its number.
    pub id: NodeId,
    /// In the order of the text.
    pub annotations: Vec<Annotation>,
    /// `abstract`: the instance must implement it.
    pub is_abstract: bool,
    /// A constructor has the extern's name, and `void` as result.
    pub is_constructor: bool,
    /// Its head.
    pub prototype: Prototype,
    /// All of it.
    pub span: Span,
}

/// `parser P<T>(parameters)(constructor parameters) { locals states }`
#[derive(Clone, Debug)]
pub struct Parser {
    /// Its name.
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
    /// Its number.
    pub id: NodeId,
    /// In the order of the text.
    pub annotations: Vec<Annotation>,
    /// Its name.
    pub name: Name,
    /// In order.
    pub statements: Vec<Statement>,
    /// Without one the state goes to `reject`.
    pub transition: Option<Transition>,
    /// All of it.
    pub span: Span,
}

/// Where a state goes.
#[derive(Clone, Debug)]
pub enum Transition {
    /// `transition name;` (`accept` and `reject` too)
    Direct(StateRef),
    /// `transition select(a, b) { ... }`
    Select {
        /// Its number.
        id: NodeId,
        /// What is selected by.
        selectors: Vec<Expression>,
        /// In order.
        cases: Vec<SelectCase>,
        /// All of it.
        span: Span,
    },
}

/// A use of a state's name.
#[derive(Clone, Debug)]
pub struct StateRef {
    /// Its number.
    pub id: NodeId,
    /// Its name.
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
    /// All of it.
    pub span: Span,
}

/// `control C<T>(parameters)(constructor parameters) { locals apply { } }`
#[derive(Clone, Debug)]
pub struct Control {
    /// Its name.
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
    /// Its name.
    pub name: Name,
    /// In order.
    pub properties: Vec<TableProperty>,
}

/// A property of a table.
#[derive(Clone, Debug)]
pub struct TableProperty {
    /// In the order of the text.
    pub annotations: Vec<Annotation>,
    /// All of it.
    pub span: Span,
    /// Whether it is `const`: the control plane cannot change it.
    pub is_const: bool,
    /// What it is.
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
    Other {
        /// Its name.
        name: Name,
        /// Its value.
        value: Expression,
    },
}

/// `hdr.ipv4.dst : lpm @name("dst")`
#[derive(Clone, Debug)]
pub struct KeyElement {
    /// Its number.
    pub id: NodeId,
    /// In the order of the text.
    pub annotations: Vec<Annotation>,
    /// What is matched.
    pub expression: Expression,
    /// How it is matched.
    pub match_kind: Name,
    /// All of it.
    pub span: Span,
}

/// An action in a table's list.
#[derive(Clone, Debug)]
pub struct ActionReference {
    /// Its number.
    pub id: NodeId,
    /// In the order of the text.
    pub annotations: Vec<Annotation>,
    /// A path or a call of one.
    pub action: Expression,
    /// All of it.
    pub span: Span,
}

/// `const priority = 10 : (1, _) : a(2) @annotation;`
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its number.
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
    /// All of it.
    pub span: Span,
}

/// A use of a type.
#[derive(Clone, Debug)]
pub struct TypeExpression {
    /// Its number.
    pub id: NodeId,
    /// All of it.
    pub span: Span,
    /// What it is.
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
        /// Its name.
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

/// An expression.
#[derive(Clone, Debug)]
pub struct Expression {
    /// Its number.
    pub id: NodeId,
    /// All of it.
    pub span: Span,
    /// What it is.
    pub kind: ExpressionKind,
}

/// An expression.
#[derive(Clone, Debug)]
pub enum ExpressionKind {
    /// `8w0xff`, `3`, `-`-free. `width` has the bits and whether it is signed (`8s1`).
    Integer {
        /// Its value.
        value: BigInt,
        /// How many bits.
        width: Option<(u32, bool)>,
    },
    /// `true`, `false`
    Bool(bool),
    /// `"text"`, unescaped.
    String(Arc<str>),
    /// A name; with a dot before it `absolute`.
    Path {
        /// Its name.
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
        /// Which.
        operator: UnaryOperator,
        /// What it works on.
        operand: Box<Expression>,
    },
    /// `a + b`
    Binary {
        /// Which.
        operator: BinaryOperator,
        /// Left of it.
        left: Box<Expression>,
        /// Right of it.
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
        /// Its value.
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
    /// Its name.
    pub name: Option<Name>,
    /// Its value.
    pub value: Expression,
    /// All of it.
    pub span: Span,
}

/// `{ ... }`
#[derive(Clone, Debug)]
pub struct Block {
    /// In the order of the text.
    pub annotations: Vec<Annotation>,
    /// In order.
    pub statements: Vec<Statement>,
    /// All of it.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Its number.
    pub id: NodeId,
    /// All of it.
    pub span: Span,
    /// What it is.
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
        /// What is assigned to.
        target: Expression,
        /// Which.
        operator: Option<BinaryOperator>,
        /// Its value.
        value: Expression,
    },
    /// A call, of whatever kind; always an [`ExpressionKind::Call`].
    Call(Expression),
    /// `if (c) ... else if (c) ... else ...`: a chain is no nesting, however long it is.
    If {
        /// In the order of the text; at least one.
        branches: Vec<Branch>,
        /// When no condition holds.
        otherwise: Option<Box<Statement>>,
    },
    /// `switch (e) { label: { } }`
    Switch {
        /// Its value.
        value: Expression,
        /// In order.
        cases: Vec<SwitchCase>,
    },
    /// `return e;`
    Return(Option<Expression>),
    /// `exit;`
    Exit,
    /// `for (init; condition; update) body`
    For {
        /// In the order of the text.
        annotations: Vec<Annotation>,
        /// What is done first.
        initial: Vec<Statement>,
        /// What decides.
        condition: Expression,
        /// What is done after each round.
        update: Vec<Statement>,
        /// What it does.
        body: Box<Statement>,
    },
    /// `for (T x in collection) body`; `variable` is a [`DeclarationKind::Variable`], or an l-value. A range is
    /// [`ExpressionKind::Range`].
    ForIn {
        /// In the order of the text.
        annotations: Vec<Annotation>,
        /// What changes from round to round.
        variable: ForVariable,
        /// What it runs over.
        collection: Expression,
        /// What it does.
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
    /// `T x`
    Declared(Box<Declaration>),
    /// A variable that is there already.
    Existing(Expression),
}

/// `if (c) ...`
#[derive(Clone, Debug)]
pub struct Branch {
    /// What decides, if no condition before it does.
    pub condition: Expression,
    /// When it holds.
    pub body: Statement,
    /// From its `if` to the end of its statement.
    pub span: Span,
}

/// `label: { }`; without a block the label falls through to the next.
#[derive(Clone, Debug)]
pub struct SwitchCase {
    /// Which value.
    pub label: Expression,
    /// What it does.
    pub body: Option<Block>,
    /// All of it.
    pub span: Span,
}
