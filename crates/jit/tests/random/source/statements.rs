//! Statements.

use super::{Block, Field, Kind, Source};

impl Source<'_, '_> {
    /// Up to so many statements, nested as deep as that.
    pub(super) fn statements(&mut self, depth: usize, most: usize) {
        let known = self.locals.len();
        for _ in 0..1 + self.c.below(most) {
            self.statement(depth);
        }
        self.locals.truncate(known);
    }

    fn statement(&mut self, depth: usize) {
        let control = self.block != Block::Parser;
        match self.c.below(16) {
            0..=4 => self.assign(),
            5 => {
                let kind = Kind::Bits(*self.c.pick(&super::WIDTHS));
                let value = self.expression(kind, 2);
                let name = format!("v{}", self.variables);
                self.variables += 1;
                self.line(&format!("{} {name} = {value};", kind.text()));
                self.locals.push(Field {
                    name,
                    kind,
                    writable: true,
                });
            }
            6 | 7 if control && depth > 0 => {
                let condition = self.condition(2);
                self.line(&format!("if ({condition}) {{"));
                self.statements(depth - 1, 3);
                if self.c.one_in(2) {
                    self.line("} else {");
                    self.statements(depth - 1, 3);
                }
                self.line("}");
            }
            8 => {
                let call = *self.c.pick(&["setValid", "setInvalid"]);
                let header = self.c.pick(&self.headers).clone();
                self.line(&format!("{header}.{call}();"));
            }
            9 => {
                let call = *self.c.pick(&["push_front", "pop_front"]);
                let by = 1 + self.c.below(2);
                self.line(&format!("h.st.{call}({by});"));
            }
            10 if control && !self.tables.is_empty() && self.c.one_in(2) => {
                let at = self.c.below(self.tables.len());
                let table = self.tables.remove(at);
                self.apply(&table, depth);
            }
            11 if control && !self.actions.is_empty() && depth == 2 => {
                let (name, kinds) = self.c.pick(&self.actions).clone();
                let arguments: Vec<String> = kinds
                    .into_iter()
                    .map(|kind| self.expression(kind, 2))
                    .collect();
                self.line(&format!("{name}({});", arguments.join(", ")));
            }
            12..=14 if control => self.request(),
            _ if control => self.external(),
            _ => self.assign(),
        }
    }

    fn assign(&mut self) {
        let target = self.any_target();
        let value = self.expression(target.kind, 3);
        self.line(&format!("{} = {value};", target.name));
    }

    /// A table's application in one of the forms that there are.
    pub(super) fn apply(&mut self, table: &str, depth: usize) {
        match self.c.below(3) {
            0 if depth > 0 => {
                self.line(&format!("if (!{table}.apply().hit) {{"));
                self.statements(depth - 1, 2);
                self.line("}");
            }
            1 if depth > 0 => {
                self.line(&format!("switch ({table}.apply().action_run) {{"));
                for (name, _) in self.actions.clone() {
                    self.line(&format!("{name}: {{"));
                    self.statements(depth - 1, 2);
                    self.line("}");
                }
                self.line("default: { } }");
            }
            _ => self.line(&format!("{table}.apply();")),
        }
    }

    /// What the architecture does when the block has ended.
    fn request(&mut self) {
        let kind = if self.block == Block::Ingress {
            "I2E"
        } else {
            "E2E"
        };
        let again = if self.block == Block::Ingress {
            "resubmit"
        } else {
            "recirculate"
        };
        let condition = self.condition(1);
        let line = match self.c.below(6) {
            0 | 1 => {
                let session = self.bits(2, 3);
                format!("clone(CloneType.{kind}, (bit<32>)({session}));")
            }
            2 => {
                let (session, list) = (self.bits(2, 3), self.c.below(4));
                format!(
                    "clone_preserving_field_list(CloneType.{kind}, (bit<32>)({session}), {list});"
                )
            }
            3 => {
                let length = self.bits(7, 3);
                format!("truncate((bit<32>)({length}));")
            }
            4 => format!("{again}_preserving_field_list({});", self.c.below(4)),
            _ => {
                let data = self.list(1);
                format!("{again}({data});")
            }
        };
        // Actions may hold no condition around a call in the language's first versions; ours may.
        self.line(&format!("if ({condition}) {{ {line} }}"));
    }

    /// Other externs.
    fn external(&mut self) {
        match self.c.below(9) {
            0 => {
                let data = self.list(1);
                self.line(&format!("digest(1, {data});"));
            }
            1 | 2 => {
                let algorithm = *self
                    .c
                    .pick(&["crc32", "crc16", "csum16", "xor16", "identity"]);
                let width = *self.c.pick(&[8, 16, 32, 64]);
                let Some(target) = self.target(Some(Kind::Bits(width))) else {
                    return self.assign();
                };
                let (base, data, most) = (self.bits(width, 1), self.list(16), self.bits(width, 1));
                self.line(&format!(
                    "hash({target}, HashAlgorithm.{algorithm}, {base}, {data}, {most});"
                ));
            }
            3 => {
                let (register, width) = self.c.pick(&self.registers).clone();
                let index = self.bits(6, 2);
                match self.target(Some(Kind::Bits(width))) {
                    Some(target) => {
                        self.line(&format!("{register}.read({target}, (bit<32>)({index}));"));
                    }
                    None => self.assign(),
                }
            }
            4 | 5 => {
                let (register, width) = self.c.pick(&self.registers).clone();
                let (index, value) = (self.bits(6, 2), self.bits(width, 2));
                self.line(&format!("{register}.write((bit<32>)({index}), {value});"));
            }
            6 => {
                let index = self.bits(4, 2);
                self.line(&format!("c0.count((bit<32>)({index}));"));
            }
            7 => {
                let condition = self.condition(1);
                self.line(&format!("if ({condition}) {{ mark_to_drop(s); }}"));
            }
            _ => {
                let (condition, data) = (self.condition(1), self.bits(32, 1));
                self.line(&format!(
                    "assert({condition} || true); log_msg(\"{{}}\", {{ {data} }});"
                ));
            }
        }
    }
}
