//! Random programs as P4 source text, for v1model: what a user could write, with the shapes that the fast engine leaves to the interpreter.

mod statements;
mod terms;

use super::Choices;
use std::fmt::Write;

/// Field widths: such that values have one limb, several, and too many.
const WIDTHS: [u32; 16] = [
    1, 3, 7, 8, 9, 16, 20, 32, 48, 63, 64, 65, 128, 136, 200, 600,
];

/// What an expression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bits(u32),
    Signed(u32),
    Bool,
}

impl Kind {
    fn text(self) -> String {
        match self {
            Kind::Bits(width) => format!("bit<{width}>"),
            Kind::Signed(width) => format!("int<{width}>"),
            Kind::Bool => "bool".into(),
        }
    }
}

/// Something that has a name and a value.
#[derive(Clone, Debug)]
struct Field {
    name: String,
    kind: Kind,
    /// Whether statements may change it.
    writable: bool,
}

/// A block of the program, by which what may stand in it depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Parser,
    Ingress,
    Egress,
}

/// A program in the making.
struct Source<'a, 'b> {
    c: &'a mut Choices<'b>,
    text: String,
    block: Block,
    /// What can be named everywhere.
    fields: Vec<Field>,
    /// Actions' parameters, and variables, for as long as they can be named.
    locals: Vec<Field>,
    /// Headers by name.
    headers: Vec<String>,
    /// The stack's element: a width, and how many elements there are.
    stack: (u32, usize),
    /// Registers of this control: name and width.
    registers: Vec<(String, u32)>,
    counters: usize,
    /// Tables that are not applied yet, and actions.
    tables: Vec<String>,
    actions: Vec<(String, Vec<Kind>)>,
    variables: usize,
}

/// A program that compiles.
pub fn source(c: &mut Choices<'_>) -> String {
    let mut source = Source {
        c,
        text: "#include <core.p4>\n#include <v1model.p4>\n".into(),
        block: Block::Parser,
        fields: Vec::new(),
        locals: Vec::new(),
        headers: Vec::new(),
        stack: (8, 3),
        registers: Vec::new(),
        counters: 0,
        tables: Vec::new(),
        actions: Vec::new(),
        variables: 0,
    };
    source.types();
    source.parser();
    source.checksums("V", "verify_checksum");
    source.control(Block::Ingress);
    source.control(Block::Egress);
    source.checksums("C", "update_checksum");
    source.deparser();
    source.text + "V1Switch(P(), V(), I(), E(), C(), D()) main;\n"
}

impl Source<'_, '_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn types(&mut self) {
        let mut members = String::new();
        for number in 0..2 + self.c.below(2) {
            let mut body = String::new();
            let mut total = 0;
            for field in 0..1 + self.c.below(4) {
                let width = *self.c.pick(&WIDTHS);
                let kind = match self.c.below(5) {
                    0 if width > 1 => Kind::Signed(width),
                    _ => Kind::Bits(width),
                };
                total += width;
                let _ = write!(body, "{} f{field}; ", kind.text());
                self.field(format!("h.h{number}.f{field}"), kind, true);
            }
            let rest = 8 - total % 8;
            let _ = write!(body, "bit<{rest}> rest; ");
            self.field(format!("h.h{number}.rest"), Kind::Bits(rest), true);
            self.line(&format!("header h{number}_t {{ {body}}}"));
            let _ = write!(members, "h{number}_t h{number}; ");
            self.headers.push(format!("h.h{number}"));
        }
        // More than 64 elements are too many for the fast engine.
        self.stack = (
            *self.c.pick(&[8, 16, 64, 136]),
            *self.c.pick(&[1, 3, 4, 66]),
        );
        let (width, count) = self.stack;
        self.line(&format!("header e_t {{ bit<{width}> v; bit<8> more; }}"));
        self.line(&format!("struct headers {{ {members}e_t[{count}] st; }}"));
        for element in [0, count - 1] {
            self.field(format!("h.st[{element}].v"), Kind::Bits(width), true);
        }
        let mut body = String::new();
        for number in 0..3 + self.c.below(5) {
            let width = *self.c.pick(&WIDTHS);
            let kind = match self.c.below(6) {
                0 if width > 1 => Kind::Signed(width),
                1 => Kind::Bool,
                _ => Kind::Bits(width),
            };
            let list = *self.c.pick(&["", "@field_list(1) ", "@field_list(1, 2) "]);
            let _ = write!(body, "{list}{} m{number}; ", kind.text());
            self.field(format!("m.m{number}"), kind, true);
        }
        self.line(&format!("struct meta {{ {body}}}"));
        for (name, width, writable) in [
            ("egress_spec", 9, true),
            ("mcast_grp", 16, false),
            ("ingress_port", 9, false),
            ("egress_port", 9, false),
            ("packet_length", 32, false),
            ("instance_type", 32, false),
            ("egress_rid", 16, false),
            ("ingress_global_timestamp", 48, false),
        ] {
            self.field(format!("s.{name}"), Kind::Bits(width), writable);
        }
    }

    fn field(&mut self, name: String, kind: Kind, writable: bool) {
        self.fields.push(Field {
            name,
            kind,
            writable,
        });
    }

    fn parser(&mut self) {
        self.block = Block::Parser;
        self.line(
            "parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) {",
        );
        let count = self.headers.len();
        for number in 0..count {
            let name = if number == 0 {
                "start".into()
            } else {
                format!("s{number}")
            };
            self.line(&format!("state {name} {{ p.extract(h.h{number});"));
            self.statements(1, 2);
            let next = if number + 1 < count {
                format!("s{}", number + 1)
            } else {
                "items".into()
            };
            self.transition(&next);
        }
        self.line("state items { p.extract(h.st.next);");
        self.line(
            "transition select(h.st.last.more[1:0]) { 0: accept; 1: ahead; default: items; } }",
        );
        let ahead = *self.c.pick(&[8, 24, 64, 200]);
        self.line(&format!(
            "state ahead {{ bit<{ahead}> a = p.lookahead<bit<{ahead}>>();"
        ));
        let verify = self.condition(2);
        self.line(&format!(
            "verify(a != 0 || {verify}, error.NoMatch); p.advance(8);"
        ));
        self.line("transition accept; } }");
    }

    /// A `select` over one or two expressions, mostly to the next state.
    fn transition(&mut self, next: &str) {
        if self.c.one_in(3) {
            return self.line(&format!("transition {next}; }}"));
        }
        let width = *self.c.pick(&[1, 8, 16, 64, 200]);
        let key = self.bits(width, 2);
        self.line(&format!("transition select({key}) {{"));
        for _ in 0..1 + self.c.below(3) {
            let (one, two) = (
                self.constant(Kind::Bits(width)),
                self.constant(Kind::Bits(width)),
            );
            let case = match self.c.below(3) {
                0 => one,
                1 => format!("{one} &&& {two}"),
                _ => self.range(width),
            };
            let to = *self.c.pick(&["accept", "items", next]);
            self.line(&format!("{case}: {to};"));
        }
        self.line(&format!("default: {next}; }} }}"));
    }

    /// A range that has something in it.
    fn range(&mut self, width: u32) -> String {
        let bits = [self.c.bits(width), self.c.bits(width)];
        let [one, two] = bits.map(|bits| bits.unsigned().clone());
        let (low, high) = if one < two { (one, two) } else { (two, one) };
        format!("{width}w{low} .. {width}w{high}")
    }

    fn checksums(&mut self, name: &str, call: &str) {
        self.line(&format!(
            "control {name}(inout headers h, inout meta m) {{ apply {{"
        ));
        // v1model's standard metadata cannot be named there.
        let all = self.fields.clone();
        self.fields.retain(|field| !field.name.starts_with("s."));
        let target = self.target(Some(Kind::Bits(16)));
        if let (Some(target), false) = (target, self.c.one_in(3)) {
            let condition = self.condition(1);
            let data = self.list(16);
            self.line(&format!(
                "{call}({condition}, {data}, {target}, HashAlgorithm.csum16);"
            ));
        }
        self.fields = all;
        self.line("} }");
    }

    fn control(&mut self, block: Block) {
        self.block = block;
        let name = if block == Block::Ingress { "I" } else { "E" };
        self.line(&format!(
            "control {name}(inout headers h, inout meta m, inout standard_metadata_t s) {{"
        ));
        self.registers.clear();
        for number in 0..1 + self.c.below(2) {
            let width = *self.c.pick(&WIDTHS);
            let size = 1 + self.c.below(70);
            self.line(&format!("register<bit<{width}>>({size}) r{number};"));
            self.registers.push((format!("r{number}"), width));
        }
        self.counters = 1;
        self.line("counter(8, CounterType.packets_and_bytes) c0;");
        self.actions.clear();
        for number in 0..1 + self.c.below(3) {
            self.action(number);
        }
        self.tables.clear();
        for number in 0..1 + self.c.below(3) {
            self.table(number);
        }
        self.line("apply {");
        if block == Block::Ingress {
            let port = self.bits(2, 2);
            self.line(&format!("s.egress_spec = (bit<9>)({port});"));
            if self.c.one_in(4) {
                let group = self.bits(1, 2);
                self.line(&format!("s.mcast_grp = (bit<16>)({group});"));
            }
        }
        self.statements(2, 8);
        for table in std::mem::take(&mut self.tables) {
            self.apply(&table, 1);
        }
        self.line("} }");
    }

    fn action(&mut self, number: usize) {
        let mut kinds = Vec::new();
        let mut parameters = Vec::new();
        for parameter in 0..self.c.below(3) {
            let kind = Kind::Bits(*self.c.pick(&WIDTHS));
            parameters.push(format!("{} p{parameter}", kind.text()));
            self.locals.push(Field {
                name: format!("p{parameter}"),
                kind,
                writable: false,
            });
            kinds.push(kind);
        }
        self.line(&format!("action a{number}({}) {{", parameters.join(", ")));
        let (tables, actions) = (std::mem::take(&mut self.tables), self.actions.clone());
        self.statements(1, 4);
        (self.tables, self.actions) = (tables, actions);
        self.locals.clear();
        self.line("}");
        self.actions.push((format!("a{number}"), kinds));
    }

    fn table(&mut self, number: usize) {
        let mut keys = Vec::new();
        let mut lpm = false;
        for _ in 0..1 + self.c.below(2) {
            let width = *self.c.pick(&[1, 8, 16, 32, 64, 136]);
            let mut kind = *self
                .c
                .pick(&["exact", "ternary", "lpm", "range", "optional"]);
            if kind == "lpm" && std::mem::replace(&mut lpm, true) {
                kind = "exact";
            }
            keys.push((width, kind));
        }
        self.line(&format!("table t{number} {{ key = {{"));
        for (at, (width, kind)) in keys.iter().enumerate() {
            let key = self.bits(*width, 2);
            self.line(&format!("({key}) : {kind} @name(\"k{at}\");"));
        }
        let mut names: Vec<String> = self.actions.iter().map(|(name, _)| name.clone()).collect();
        names.push("NoAction".into());
        self.line(&format!("}} actions = {{ {}; }}", names.join("; ")));
        self.line("const entries = {");
        let mut seen = Vec::new();
        for _ in 0..self.c.below(5) {
            let patterns: Vec<String> = keys.iter().map(|key| self.pattern(*key)).collect();
            let call = self.call_of_action();
            // The same entry twice is an error.
            if !seen.contains(&patterns) {
                self.line(&format!("({}) : {call};", patterns.join(", ")));
                seen.push(patterns);
            }
        }
        let constant = *self.c.pick(&["const ", ""]);
        let default = self.call_of_action();
        self.line(&format!("}} {constant}default_action = {default}; }}"));
        self.tables.push(format!("t{number}"));
    }

    /// What an entry says of a key.
    fn pattern(&mut self, (width, kind): (u32, &str)) -> String {
        let (value, mask) = (self.c.bits(width), self.c.bits(width));
        let (value, mask) = (value.unsigned(), mask.unsigned());
        match kind {
            "ternary" if self.c.one_in(2) => format!("{width}w{} &&& {width}w{mask}", value & mask),
            "lpm" => {
                let cut = self.c.below(width as usize) as u32;
                let mask = p4::value::mask(width) >> cut << cut;
                format!("{width}w{} &&& {width}w{mask}", value & &mask)
            }
            "range" => self.range(width),
            "optional" | "ternary" if self.c.one_in(3) => "_".into(),
            _ => format!("{width}w{value}"),
        }
    }

    /// An action with constants.
    fn call_of_action(&mut self) -> String {
        let Some((name, kinds)) = (!self.c.one_in(6)).then(|| self.c.pick(&self.actions).clone())
        else {
            return "NoAction()".into();
        };
        let arguments: Vec<String> = kinds.into_iter().map(|kind| self.constant(kind)).collect();
        format!("{name}({})", arguments.join(", "))
    }

    fn deparser(&mut self) {
        self.line("control D(packet_out p, in headers h) { apply {");
        for header in self.headers.clone() {
            if !self.c.one_in(8) {
                self.line(&format!("p.emit({header});"));
            }
        }
        self.line("p.emit(h.st); } }");
    }
}
