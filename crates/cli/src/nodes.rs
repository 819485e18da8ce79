//! `wire nodes`: the kinds of nodes, and what each is.

use crate::Verdict;
use crate::output::{Buffering, Output};
use lab::{Description, Registry};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Tell the kinds of nodes, or the ports, keys, counters and an example of one, or of a table of any node
///
/// A node is what a lab file, `wire run` and `wire relay run` name by its kind. A key's value is its default, unless its
/// meaning says otherwise; in a lab file times, rates and sizes have their units.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire nodes
  wire nodes delay
  wire nodes --json | jq -r 'select(.kind == \"generator\").keys[].name'")]
pub struct Nodes {
    /// The kind, or the table
    kind: Option<String>,
    /// One JSON object a kind
    #[arg(long)]
    json: bool,
}

impl Nodes {
    /// Tells them.
    pub fn run(self, registry: &Registry) -> anyhow::Result<Verdict> {
        let wanted = |name: &str| self.kind.as_deref().is_none_or(|kind| kind == name);
        let mut kinds: Vec<_> = registry
            .descriptions()
            .filter(|(name, _)| wanted(name))
            .collect();
        kinds.sort_by_key(|(name, _)| *name);
        let tables = registry.table_descriptions();
        let mut tables = tables.iter().filter(|(name, _)| wanted(name)).peekable();
        if kinds.is_empty() && tables.peek().is_none() {
            let mut all: Vec<&str> = registry.descriptions().map(|(name, _)| name).collect();
            all.extend(registry.table_descriptions().iter().map(|(name, _)| *name));
            all.sort_unstable();
            let kind = self.kind.unwrap_or_default();
            anyhow::bail!("there is no kind `{kind}`; there are: {}", all.join(", "));
        }
        let mut text = String::new();
        for (name, description) in kinds {
            let description = description.unwrap_or_default();
            match (self.json, &self.kind) {
                (true, _) => writeln!(text, "{}", object("kind", name, &description))?,
                (false, None) => writeln!(text, "{name:<16} {}", description.what)?,
                (false, Some(_)) => put(&mut text, name, &description)?,
            }
        }
        for (name, description) in tables {
            match (self.json, &self.kind) {
                (true, _) => writeln!(text, "{}", object("table", name, description))?,
                (false, None) => writeln!(text, "{name:<16} {}", description.what)?,
                (false, Some(_)) => put(&mut text, name, description)?,
            }
        }
        let mut out = Output::open(&Buffering::default())?;
        out.tell(&text)?;
        out.finish()?;
        Ok(Verdict::Good)
    }
}

fn put(text: &mut String, name: &str, description: &Description) -> std::fmt::Result {
    match description.what.is_empty() {
        true => writeln!(text, "{name}: nothing is told of it")?,
        false => writeln!(text, "{name}: {}", description.what)?,
    }
    if !description.keys.is_empty() {
        let width = |part: fn(&lab::Key) -> &str| {
            let widths = description.keys.iter().map(|key| part(key).chars().count());
            widths.max().unwrap_or(0).min(28)
        };
        let (names, values) = (width(|key| &key.name), width(|key| &key.value));
        writeln!(text, "\nKeys:")?;
        for key in &description.keys {
            let line = format!(
                "  {:<names$}  {:<values$}  {}",
                key.name, key.value, key.meaning
            );
            writeln!(text, "{}", line.trim_end())?;
        }
    }
    writeln!(text)?;
    for (fact, rest) in &description.facts {
        let (first, others) = fact.split_at(1);
        writeln!(text, "{}{others}: {rest}", first.to_uppercase())?;
    }
    if !description.example.is_empty() {
        writeln!(text, "\nExample:\n\n{}", description.example)?;
    }
    Ok(())
}

fn object(what: &str, name: &str, description: &Description) -> Value {
    let keys = description.keys.iter();
    let keys: Vec<Value> = keys
        .map(|key| json!({ "name": key.name, "value": key.value, "meaning": key.meaning }))
        .collect();
    let facts = description.facts.iter();
    let facts: Map<String, Value> = facts
        .map(|(fact, rest)| (fact.clone(), json!(rest)))
        .collect();
    let mut line = json_line!("nodes", what, {
        what: name, "what": description.what, "keys": keys, "example": description.example,
    });
    if let Value::Object(line) = &mut line {
        line.extend(facts);
    }
    line
}
