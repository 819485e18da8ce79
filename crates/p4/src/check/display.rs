//! Types as P4 writes them.

use super::checker::{Checker, Entity, name_of};
use crate::types::Type;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

impl Checker<'_> {
    /// A type as P4 writes it.
    pub(super) fn show(&self, ty: &Type) -> String {
        let ty = self.known(ty);
        let list = |types: &[Type]| -> String {
            let parts: Vec<String> = types.iter().map(|ty| self.show(ty)).collect();
            parts.join(", ")
        };
        let named = |id, arguments: &[Type]| {
            let name = self.text_of(id);
            if arguments.is_empty() {
                name
            } else {
                format!("{name}<{}>", list(arguments))
            }
        };
        match &ty {
            Type::Unknown => "?".to_string(),
            Type::Void => "void".to_string(),
            Type::Bool => "bool".to_string(),
            Type::Integer => "int".to_string(),
            Type::Bits(width) => format!("bit<{width}>"),
            Type::Signed(width) => format!("int<{width}>"),
            Type::Varbit(width) => format!("varbit<{width}>"),
            Type::String => "string".to_string(),
            Type::Error => "error".to_string(),
            Type::MatchKind => "match_kind".to_string(),
            Type::Composite(id, arguments) | Type::Object(id, arguments) => named(*id, arguments),
            Type::Enum(id) | Type::New(id) | Type::Parameter(id) => self.text_of(*id),
            Type::Stack(base, size) => format!("{}[{size}]", self.show(base)),
            Type::Tuple(parts) => format!("tuple<{}>", list(parts)),
            Type::Fields(fields) => {
                let parts: Vec<String> = fields
                    .iter()
                    .map(|(name, ty)| format!("{} {name};", self.show(ty)))
                    .collect();
                format!("struct {{ {} }}", parts.join(" "))
            }
            Type::Invalid => "{#}".to_string(),
            Type::Default => "...".to_string(),
            Type::List(part) => format!("list<{}>", self.show(part)),
            Type::Set(part) => format!("set<{}>", self.show(part)),
            Type::Variable(index) => self.variables[*index as usize].name.to_string(),
            Type::Name(part) => format!("the type {}", self.show(part)),
            Type::Table(id) => format!("table {}", self.text_of(*id)),
            Type::ApplyResult(id) => format!("the result of {}.apply()", self.text_of(*id)),
            Type::ActionRun(id) => format!("the action run by {}", self.text_of(*id)),
            Type::Callable(id) => format!("the function {}", self.text_of(*id)),
            Type::State => "a parser state".to_string(),
        }
    }

    fn text_of(&self, id: crate::ast::NodeId) -> String {
        let name = match self.entity(id) {
            Some(Entity::Declaration(d)) => name_of(d),
            Some(other) => self.name_of(other),
            None => None,
        };
        name.map_or_else(|| "?".to_string(), |name| name.text.to_string())
    }
}
