//! What could stand here.

use super::{Analysis, Definition, Kind, keywords};
use crate::ast::{CompositeKind, DeclarationKind, NodeId};
use crate::diagnostic::Diagnostics;
use crate::lex::Lexer;
use crate::token::{Interner, Symbol, Token, TokenKind};
use crate::types::Type;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Something that could stand here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What is to be written.
    pub name: String,
    pub kind: Kind,
    /// Its head or type.
    pub detail: String,
}

/// What P4 itself gives to values of a type.
const OF_HEADERS: &[&str] = &[
    "isValid",
    "setValid",
    "setInvalid",
    "minSizeInBits",
    "minSizeInBytes",
];
const OF_STACKS: &[&str] = &[
    "next",
    "last",
    "lastIndex",
    "size",
    "push_front",
    "pop_front",
];

impl Analysis {
    /// What could stand at a byte of the text, which may be newer than the one that was read: members behind a dot, else names and keywords.
    /// What is already written of the name is for the editor to match.
    #[must_use]
    pub fn complete(&self, text: &str, offset: usize) -> Vec<Item> {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let line = before.rfind('\n').map_or(0, |n| n + 1);
        let typed = before
            .rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .map_or(0, |n| n + 1);
        let at = self.place(offset);
        if before[line..].trim_start().starts_with('#') || before[line..].contains("//") {
            return Vec::new();
        }
        let start = before[..typed].rfind([';', '{', '}']).map_or(0, |n| n + 1);
        let tokens = tokens(&before[start..typed]);
        if tokens.last().is_some_and(|t| t.is(Symbol::Dot)) {
            return self.members(&tokens, at).unwrap_or_default();
        }
        let mut found: BTreeMap<String, Item> = BTreeMap::new();
        for definition in self.index.definitions.values() {
            if self.is_visible(definition, at) {
                found.insert(definition.name.to_string(), item(definition));
            }
        }
        let mut list: Vec<Item> = found.into_values().collect();
        list.extend(keywords().map(|word| Item {
            name: word.to_string(),
            kind: Kind::Keyword,
            detail: String::new(),
        }));
        list
    }

    /// The members of what stands before the dot at the end.
    fn members(&self, tokens: &[Token], at: u32) -> Option<Vec<Item>> {
        // Backwards over `a.b[i].c(...)`.
        let mut start = tokens.len() - 1;
        let mut depth = 0_u32;
        while let Some(before) = start.checked_sub(1) {
            let token = &tokens[before];
            let after_name = tokens[start].is(Symbol::Dot)
                || tokens[start].is(Symbol::OpenBracket)
                || tokens[start].is(Symbol::OpenParen);
            match &token.kind {
                TokenKind::Symbol(Symbol::CloseBracket | Symbol::CloseParen)
                    if depth > 0 || after_name =>
                {
                    depth += 1
                }
                TokenKind::Symbol(Symbol::OpenBracket | Symbol::OpenParen) => {
                    let Some(outer) = depth.checked_sub(1) else {
                        break;
                    };
                    depth = outer;
                }
                _ if depth > 0 => {}
                TokenKind::Name(..) if after_name => {}
                TokenKind::Symbol(Symbol::Dot) if !tokens[start].is(Symbol::Dot) => {}
                _ => break,
            }
            start = before;
        }
        let mut chain = tokens[start..tokens.len() - 1].iter().peekable();
        let first = chain.next()?.name()?;
        if &**first == "error" {
            return Some(self.of_kind(Kind::Member, |d| d.detail.starts_with("error.")));
        }
        let (id, definition) = self.visible(first, at)?;
        let mut ty = self.type_of(id, definition)?;
        while let Some(token) = chain.next() {
            match token.kind {
                TokenKind::Symbol(Symbol::Dot) => {
                    let name = chain.next()?.name()?;
                    ty = self.member_type(&ty, name)?;
                }
                TokenKind::Symbol(Symbol::OpenBracket) => {
                    skip(&mut chain);
                    ty = match ty {
                        Type::Stack(base, _) => *base,
                        other => other,
                    };
                }
                TokenKind::Symbol(Symbol::OpenParen) => {
                    skip(&mut chain);
                    ty = match ty {
                        Type::Table(id) => Type::ApplyResult(id),
                        _ => return None,
                    };
                }
                _ => return None,
            }
        }
        Some(self.members_of(&ty))
    }

    fn is_own(&self, definition: &Definition) -> bool {
        self.own.start <= definition.full.start && definition.full.start < self.own.end
    }

    /// Whether its name can be used at a place. What included files declare stands behind the own text in the numbering, but before it in the program.
    fn is_visible(&self, definition: &Definition, at: u32) -> bool {
        let visible = definition.visible;
        if self.is_own(definition) {
            visible.start < at && at <= visible.end
        } else {
            visible.end == u32::MAX
        }
    }

    /// The innermost thing of a name that can be used at a place.
    fn visible(&self, name: &str, at: u32) -> Option<(NodeId, &Definition)> {
        self.index
            .definitions
            .iter()
            .filter(|(_, d)| *d.name == *name && self.is_visible(d, at))
            .max_by_key(|(_, d)| if self.is_own(d) { d.visible.start } else { 0 })
            .map(|(id, d)| (*id, d))
    }

    fn type_of(&self, id: NodeId, definition: &Definition) -> Option<Type> {
        match definition.kind {
            Kind::Enum => Some(Type::Enum(id)),
            Kind::Table => Some(Type::Table(id)),
            Kind::Block => Some(Type::Object(id, Vec::new())),
            _ => self.checked.types.get(&definition.ty?).map(|ty| match ty {
                Type::Name(inner) => (**inner).clone(),
                other => other.clone(),
            }),
        }
    }

    fn member_type(&self, ty: &Type, name: &str) -> Option<Type> {
        match ty {
            Type::Stack(base, _) if matches!(name, "next" | "last") => Some((**base).clone()),
            Type::Table(_) if name == "apply" => Some(ty.clone()),
            Type::Composite(id, arguments) => {
                let field =
                    self.index.definitions.values().find(|d| {
                        d.parent == Some(*id) && d.kind == Kind::Field && *d.name == *name
                    })?;
                let found = self.checked.types.get(&field.ty?)?;
                Some(self.substituted(found, *id, arguments))
            }
            _ => None,
        }
    }

    /// A field's type, when it is itself a type parameter of its header or struct.
    fn substituted(&self, ty: &Type, of: NodeId, arguments: &[Type]) -> Type {
        if let Type::Parameter(id) = ty {
            let parameters = self
                .index
                .definitions
                .iter()
                .filter(|(_, d)| d.parent == Some(of) && d.kind == Kind::Type);
            let position = parameters.map(|(n, _)| n).position(|n| n == id);
            if let Some(argument) = position.and_then(|n| arguments.get(n)) {
                return argument.clone();
            }
        }
        ty.clone()
    }

    fn of_kind(&self, kind: Kind, keep: impl Fn(&Definition) -> bool) -> Vec<Item> {
        let all = self.index.definitions.values();
        all.filter(|d| d.kind == kind && keep(d))
            .map(item)
            .collect()
    }

    fn members_of(&self, ty: &Type) -> Vec<Item> {
        let builtin = |names: &[&str]| -> Vec<Item> {
            names
                .iter()
                .map(|name| Item {
                    name: (*name).to_string(),
                    kind: Kind::Method,
                    detail: String::new(),
                })
                .collect()
        };
        let of = |id: &NodeId| {
            let own = self
                .index
                .definitions
                .values()
                .filter(|d| d.parent == Some(*id));
            own.filter(|d| matches!(d.kind, Kind::Field | Kind::Member | Kind::Method))
                .map(item)
                .collect::<Vec<_>>()
        };
        match ty {
            Type::Composite(id, _) => {
                let mut list = of(id);
                if self.is_header(*id) {
                    list.extend(builtin(OF_HEADERS));
                }
                list
            }
            Type::Enum(id) => of(id),
            Type::Object(id, _) => {
                let mut list = of(id);
                let is_block = self
                    .index
                    .definitions
                    .get(id)
                    .is_some_and(|d| d.kind == Kind::Block);
                if is_block {
                    list = builtin(&["apply"]);
                }
                list
            }
            Type::Stack(..) => builtin(OF_STACKS),
            Type::Table(_) => builtin(&["apply"]),
            Type::ApplyResult(_) => builtin(&["hit", "miss", "action_run"]),
            _ => Vec::new(),
        }
    }

    fn is_header(&self, id: NodeId) -> bool {
        self.checked.program.declarations.iter().any(|d| {
            d.id == id
                && matches!(
                    d.kind,
                    DeclarationKind::Composite {
                        kind: CompositeKind::Header | CompositeKind::Union,
                        ..
                    }
                )
        })
    }
}

fn item(definition: &Definition) -> Item {
    Item {
        name: definition.name.to_string(),
        kind: definition.kind,
        detail: definition.detail.clone(),
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let (mut names, mut diagnostics) = (Interner::default(), Diagnostics::default());
    let mut lexer = Lexer::new(text, 0);
    core::iter::from_fn(|| lexer.next(&mut names, &mut diagnostics)).collect()
}

/// To behind the bracket that closes the one that was taken.
fn skip<'t>(chain: &mut impl Iterator<Item = &'t Token>) {
    let mut depth = 1_u32;
    for token in chain {
        match token.kind {
            TokenKind::Symbol(Symbol::OpenBracket | Symbol::OpenParen) => depth += 1,
            TokenKind::Symbol(Symbol::CloseBracket | Symbol::CloseParen) => {
                depth -= 1;
                if depth == 0 {
                    return;
                }
            }
            _ => {}
        }
    }
}
