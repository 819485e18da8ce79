//! Python code of scripts: assertions on the state of a connection.
//!
//! `assert` with an expression of comparisons, `and`, `or`, `not`, `+`, `-`, `*`, `&` and `|` is in the subset, `print` is passed over.

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// Depth of an expression at most.
const MAX_DEPTH: usize = 64;

/// Runs the lines; `value` has the values of names.
///
/// # Errors
/// The first assertion that does not hold, or else the first that is not in the subset.
pub fn run(code: &str, value: &dyn Fn(&str) -> Result<f64, String>) -> Result<(), String> {
    let joined = code.replace("\\\n", " ");
    let mut unknown = None;
    for line in joined.lines() {
        let line = line.split('#').next().unwrap_or_default();
        for statement in line.split(';').map(str::trim) {
            if statement.is_empty() || statement.starts_with("print(") {
                continue;
            }
            match assert(statement, value) {
                Ok(()) => {}
                Err(Failure::Subset(what)) => _ = unknown.get_or_insert(what),
                Err(Failure::Wrong(values)) => return Err(format!("{statement}: {values}")),
            }
        }
    }
    match unknown {
        Some(what) => Err(format!("not in the subset: {what}")),
        None => Ok(()),
    }
}

enum Failure {
    /// A construct outside the subset.
    Subset(String),
    /// The values with which an assertion does not hold.
    Wrong(String),
}

fn assert(statement: &str, value: &dyn Fn(&str) -> Result<f64, String>) -> Result<(), Failure> {
    let unknown = || Failure::Subset(format!("Python's `{statement}`"));
    let text = statement.strip_prefix("assert").ok_or_else(unknown)?;
    let tokens = tokens(text).ok_or_else(unknown)?;
    let mut expression = Expression {
        tokens: &tokens,
        value,
        depth: 0,
    };
    let holds = expression.any().map_err(Failure::Subset)?;
    // A message may follow, which is not evaluated.
    match expression.tokens.first() {
        None | Some(Token::Sign(",")) if holds != 0.0 => Ok(()),
        None | Some(Token::Sign(",")) => Err(Failure::Wrong(shown(&tokens, value))),
        Some(_) => Err(unknown()),
    }
}

/// The values of the names in an expression.
fn shown(tokens: &[Token], value: &dyn Fn(&str) -> Result<f64, String>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for token in tokens
        .iter()
        .take_while(|token| **token != Token::Sign(","))
    {
        match token {
            Token::Name(name) if name.starts_with("tcpi_") => names.push(name),
            _ => {}
        }
    }
    let pairs = names
        .iter()
        .filter_map(|name| Some((name, value(name).ok()?)));
    let pairs: Vec<String> = pairs
        .map(|(name, value)| format!("{name} is {value}"))
        .collect();
    pairs.join(", ")
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    Name(String),
    Sign(&'static str),
}

const SIGNS: [&str; 15] = [
    "==", "!=", "<=", ">=", "//", "<", ">", "+", "-", "*", "&", "|", "(", ")", ",",
];

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length;
        if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            length = sign.len();
            tokens.push(Token::Sign(sign));
            if *sign == "," {
                // Nothing of a message matters.
                return Some(tokens);
            }
        } else if first.is_ascii_alphanumeric() || first == '_' {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let word = &rest[..length];
            tokens.push(match word.parse() {
                Ok(number) if first.is_ascii_digit() => Token::Number(number),
                _ => Token::Name(word.to_string()),
            });
        } else {
            return None;
        }
        rest = rest[length..].trim_start();
    }
    Some(tokens)
}

struct Expression<'a> {
    tokens: &'a [Token],
    value: &'a dyn Fn(&str) -> Result<f64, String>,
    depth: usize,
}

impl Expression<'_> {
    fn eat(&mut self, wanted: &Token) -> bool {
        let is_next = self.tokens.first() == Some(wanted);
        if is_next {
            self.tokens = &self.tokens[1..];
        }
        is_next
    }

    fn eat_name(&mut self, name: &str) -> bool {
        self.eat(&Token::Name(name.to_string()))
    }

    fn any(&mut self) -> Result<f64, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("an expression as deep".to_string());
        }
        let mut left = self.all()?;
        while self.eat_name("or") {
            let right = self.all()?;
            left = if left != 0.0 { left } else { right };
        }
        self.depth -= 1;
        Ok(left)
    }

    fn all(&mut self) -> Result<f64, String> {
        let mut left = self.negated()?;
        while self.eat_name("and") {
            let right = self.negated()?;
            left = if left == 0.0 { left } else { right };
        }
        Ok(left)
    }

    fn negated(&mut self) -> Result<f64, String> {
        let mut is_negated = false;
        while self.eat_name("not") {
            is_negated = !is_negated;
        }
        let value = self.comparison()?;
        Ok(match is_negated {
            true => f64::from(value == 0.0),
            false => value,
        })
    }

    /// Comparisons may be chained: `1 <= x <= 3`.
    fn comparison(&mut self) -> Result<f64, String> {
        let mut left = self.bits()?;
        let mut result = None;
        while let Some(&Token::Sign(sign)) = self.tokens.first()
            && ["==", "!=", "<=", ">=", "<", ">"].contains(&sign)
        {
            self.tokens = &self.tokens[1..];
            let right = self.bits()?;
            let holds = match sign {
                "==" => left == right,
                "!=" => left != right,
                "<=" => left <= right,
                ">=" => left >= right,
                "<" => left < right,
                _ => left > right,
            };
            result = Some(result.unwrap_or(true) && holds);
            left = right;
        }
        Ok(result.map_or(left, f64::from))
    }

    fn bits(&mut self) -> Result<f64, String> {
        let mut left = self.sum()?;
        loop {
            if self.eat(&Token::Sign("&")) {
                left = (left as i64 & self.sum()? as i64) as f64;
            } else if self.eat(&Token::Sign("|")) {
                left = (left as i64 | self.sum()? as i64) as f64;
            } else {
                return Ok(left);
            }
        }
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut left = self.product()?;
        loop {
            if self.eat(&Token::Sign("+")) {
                left += self.product()?;
            } else if self.eat(&Token::Sign("-")) {
                left -= self.product()?;
            } else {
                return Ok(left);
            }
        }
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut left = self.operand()?;
        while self.eat(&Token::Sign("*")) {
            left *= self.operand()?;
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<f64, String> {
        let Some((first, rest)) = self.tokens.split_first() else {
            return Err("an expression ends too early".to_string());
        };
        self.tokens = rest;
        match first {
            Token::Number(number) => Ok(*number),
            Token::Name(name) => (self.value)(name),
            Token::Sign("(") => {
                let value = self.any()?;
                match self.eat(&Token::Sign(")")) {
                    true => Ok(value),
                    false => Err("`)` is missing in an expression".to_string()),
                }
            }
            Token::Sign(sign) => Err(format!("Python's `{sign}`")),
        }
    }
}
