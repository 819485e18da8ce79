//! Expressions.

use super::{Field, Kind, Source};

impl Source<'_, '_> {
    /// A number, or a truth.
    pub(super) fn constant(&mut self, kind: Kind) -> String {
        match kind {
            Kind::Bits(width) => format!("{width}w{}", self.c.bits(width).unsigned()),
            // The least number is no literal.
            Kind::Signed(width) => {
                format!("((int<{width}>){width}w{})", self.c.bits(width).unsigned())
            }
            Kind::Bool => (*self.c.pick(&["true", "false"])).into(),
        }
    }

    /// A field, parameter or variable for which something holds.
    fn find(&mut self, wanted: impl Fn(&Field) -> bool) -> Option<Field> {
        let fields = self.fields.iter().chain(&self.locals);
        let fitting: Vec<&Field> = fields.filter(|field| wanted(field)).collect();
        if fitting.is_empty() {
            return None;
        }
        let at = self.c.below(fitting.len());
        Some(fitting[at].clone())
    }

    /// Something that can be changed, of this kind if one is given.
    pub(super) fn target(&mut self, kind: Option<Kind>) -> Option<String> {
        let found = self.find(|field| field.writable && kind.is_none_or(|kind| kind == field.kind));
        found.map(|field| field.name)
    }

    /// Something that can be changed, and what it is.
    pub(super) fn any_target(&mut self) -> Field {
        if self.c.one_in(6) {
            return self.element();
        }
        let field = self.find(|field| field.writable);
        let mut field = field.expect("the stack has elements");
        if let Kind::Bits(width) = field.kind
            && width > 2
            && self.c.one_in(4)
        {
            let low = self.c.below(width as usize) as u32;
            let high = low + self.c.below((width - low) as usize) as u32;
            field.name = format!("{}[{high}:{low}]", field.name);
            field.kind = Kind::Bits(high - low + 1);
        }
        field
    }

    /// An element of the stack, of which the index is known only when the packet comes.
    fn element(&mut self) -> Field {
        let (width, _) = self.stack;
        // Of a constant, the compiler would say that it is outside.
        let index = self.named(8).unwrap_or_else(|| "s.packet_length".into());
        Field {
            name: format!("h.st[{index}].v"),
            kind: Kind::Bits(width),
            writable: true,
        }
    }

    pub(super) fn expression(&mut self, kind: Kind, depth: usize) -> String {
        match kind {
            Kind::Bits(width) => self.bits(width, depth),
            Kind::Signed(width) => self.signed(width, depth),
            Kind::Bool => self.condition(depth),
        }
    }

    pub(super) fn bits(&mut self, width: u32, depth: usize) -> String {
        if depth == 0 {
            return self.leaf(width);
        }
        let below = depth - 1;
        match self.c.below(12) {
            0 | 1 => self.leaf(width),
            // Wide products and quotients are left to the interpreter.
            2 | 3 => {
                let wide = *self.c.pick(&[width, width.max(8), 136, 200]);
                let (one, two) = (self.bits(wide, below), self.bits(wide, below));
                format!("((bit<{width}>)({one} * {two}))")
            }
            4 | 5 => {
                let operator = *self.c.pick(&["+", "-", "&", "|", "^", "|+|", "|-|"]);
                let (one, two) = (self.bits(width, below), self.bits(width, below));
                format!("({one} {operator} {two})")
            }
            6 => {
                let operator = *self.c.pick(&["<<", ">>"]);
                let (one, two) = (self.bits(width, below), self.bits(8, below));
                format!("({one} {operator} {two})")
            }
            7 => {
                let operator = *self.c.pick(&["~", "-"]);
                format!("({operator}{})", self.bits(width, below))
            }
            8 if width > 1 => {
                let left = 1 + self.c.below(width as usize - 1) as u32;
                let (one, two) = (self.bits(left, below), self.bits(width - left, below));
                format!("({one} ++ {two})")
            }
            9 => {
                let (condition, one, two) = (
                    self.condition(below),
                    self.bits(width, below),
                    self.bits(width, below),
                );
                format!("({condition} ? {one} : {two})")
            }
            10 => {
                let more = width + self.c.below(70) as u32;
                let low = self.c.below((more - width + 1) as usize) as u32;
                let value = self.bits(more, below);
                format!("({value})[{}:{low}]", low + width - 1)
            }
            _ => {
                let field = self.element();
                format!("((bit<{width}>){})", field.name)
            }
        }
    }

    fn leaf(&mut self, width: u32) -> String {
        if self.c.one_in(4) {
            return self.constant(Kind::Bits(width));
        }
        let same = self.find(|field| field.kind == Kind::Bits(width));
        if let (Some(field), false) = (same, self.c.one_in(3)) {
            return field.name;
        }
        self.named(width)
            .unwrap_or_else(|| self.constant(Kind::Bits(width)))
    }

    /// Something with a name, cut or extended to a width.
    fn named(&mut self, width: u32) -> Option<String> {
        let field = self.find(|field| field.kind != Kind::Bool)?;
        Some(match field.kind {
            Kind::Signed(own) => format!("((bit<{width}>)(bit<{own}>){})", field.name),
            _ => format!("((bit<{width}>){})", field.name),
        })
    }

    fn signed(&mut self, width: u32, depth: usize) -> String {
        if depth == 0 || self.c.one_in(3) {
            let same = self.find(|field| field.kind == Kind::Signed(width));
            return match same {
                Some(field) if !self.c.one_in(4) => field.name,
                _ => format!("((int<{width}>){})", self.leaf(width)),
            };
        }
        let one = self.signed(width, depth - 1);
        if self.c.one_in(3) {
            let by = self.bits(8, depth - 1);
            return format!("({one} {} {by})", self.c.pick(&["<<", ">>"]));
        }
        let operator = *self.c.pick(&["+", "-", "*", "&", "|", "^", "|+|", "|-|"]);
        let two = self.signed(width, depth - 1);
        format!("({one} {operator} {two})")
    }

    pub(super) fn condition(&mut self, depth: usize) -> String {
        if depth > 0 && self.c.one_in(3) {
            let (one, two) = (self.condition(depth - 1), self.condition(depth - 1));
            return match self.c.below(3) {
                0 => format!("(!{one})"),
                1 => format!("({one} && {two})"),
                _ => format!("({one} || {two})"),
            };
        }
        match self.c.below(6) {
            0 => format!("{}.isValid()", self.c.pick(&self.headers)),
            1 => match self.find(|field| field.kind == Kind::Bool) {
                Some(field) => field.name,
                None => "true".into(),
            },
            2 => {
                let width = 2 + self.c.below(150) as u32;
                let (one, two) = (self.signed(width, 1), self.signed(width, 1));
                format!("({one} {} {two})", self.c.pick(&["<", ">=", "=="]))
            }
            _ => {
                let width = *self.c.pick(&[1, 8, 9, 64, 136]);
                let below = depth.saturating_sub(1);
                let (one, two) = (self.bits(width, below), self.bits(width, below));
                let operator = *self.c.pick(&["==", "!=", "<", "<=", ">", ">="]);
                format!("({one} {operator} {two})")
            }
        }
    }

    /// A tuple whose widths are multiples of this.
    pub(super) fn list(&mut self, multiple: u32) -> String {
        let mut items = Vec::new();
        for _ in 0..1 + self.c.below(4) {
            let width = multiple * (1 + self.c.below(10) as u32);
            let value = self.bits(width, 1);
            items.push(format!("(bit<{width}>)({value})"));
        }
        format!("{{ {} }}", items.join(", "))
    }
}
