//! `wire papers`: every table and figure of the papers, the paper's figures next to ours, and the
//! commands that repeat them.

mod catalogue;
mod markdown;
mod run;

use crate::Verdict;
use crate::output::{Buffering, Output};
use catalogue::{Catalogue, Repeat, Row, System};
use serde_json::Value;
use std::fmt::{self, Write};
use std::path::PathBuf;

/// List the tables and figures of the papers, the papers' values next to ours, and repeat them
///
/// The book cites five documents by numbers, 000 to 004; ten systems of theirs are built. Each row
/// has its world, how exact
/// ours is, and the command that repeats it, in the folder of the examples.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire papers
  wire papers SoNIC
  wire papers EtherPIPE --run 'figure 5.3'
  wire papers 004 --json | jq -r .label")]
pub struct Papers {
    /// A document, such as 002, or a system, such as SoNIC
    #[arg(value_name = "DOCUMENT|SYSTEM")]
    of: Option<String>,
    /// Run the command of a table or figure, such as 6.1 or 'command 3'; `all`: of all of them
    #[arg(long, value_name = "LABEL", conflicts_with_all = ["json", "markdown"])]
    run: Option<String>,
    /// The folder of the examples; by default that of the source tree or of the installation
    #[arg(long, value_name = "FOLDER", requires = "run")]
    examples: Option<PathBuf>,
    /// Run in a copy of the examples here, so that pictures and captures are written below it
    #[arg(long, value_name = "FOLDER", requires = "run")]
    out: Option<PathBuf>,
    /// A line of JSON for each document, system and row
    #[arg(long)]
    json: bool,
    /// Print the book's page of the papers
    #[arg(long, conflicts_with_all = ["json", "of"])]
    markdown: bool,
}

impl Papers {
    /// Prints or runs them.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let catalogue = Catalogue::standard();
        let systems = catalogue.choose(self.of.as_deref())?;
        if let Some(label) = &self.run {
            return run::run(&systems, label, self.examples, self.out.as_deref());
        }
        let text = match (self.json, self.markdown, &self.of) {
            (true, ..) => objects(&catalogue, &systems)?,
            (_, true, _) => markdown::page(&catalogue)?,
            (.., None) => overview(&catalogue)?,
            (.., Some(_)) => tables(&systems)?,
        };
        let mut out = Output::open(&Buffering::default())?;
        out.tell(&text)?;
        out.finish()?;
        Ok(Verdict::Good)
    }
}

/// Documents and systems, a line each.
fn overview(catalogue: &Catalogue) -> Result<String, fmt::Error> {
    let mut text = String::from("Documents:\n");
    for document in &catalogue.documents {
        let (number, title, year) = (&document.number, &document.title, &document.year);
        let (authors, venue) = (&document.authors, &document.venue);
        writeln!(
            text,
            "  {number}  {title}\n       {authors}; {venue}; {year}"
        )?;
    }
    writeln!(
        text,
        "\n{:<12} {:<9} {:>4} {:>4} {:>8}",
        "System", "documents", "rows", "run", "not here"
    )?;
    for system in &catalogue.systems {
        let [commands, none] = system.counts();
        let (name, documents, rows) = (&system.name, system.documents.join(","), system.rows.len());
        writeln!(
            text,
            "{name:<12} {documents:<9} {rows:>4} {commands:>4} {none:>8}  {}",
            system.title
        )?;
    }
    writeln!(text, "\nNot here:")?;
    for part in &catalogue.elsewhere {
        writeln!(
            text,
            "  {} ({}): {}",
            part.name,
            part.documents.join(", "),
            part.reason
        )?;
    }
    writeln!(
        text,
        "\n`wire papers SoNIC` shows the rows of a system, `wire papers SoNIC --run 4.9` runs one."
    )?;
    Ok(text)
}

/// The rows of systems.
fn tables(systems: &[&System]) -> Result<String, fmt::Error> {
    let mut text = String::new();
    for (index, system) in systems.iter().enumerate() {
        let gap = if index > 0 { "\n" } else { "" };
        writeln!(
            text,
            "{gap}{} (paper {})",
            system.title,
            system.documents.join(", ")
        )?;
        for row in &system.rows {
            writeln!(text, "\n{}", heading(row))?;
            writeln!(text, "  paper    {}", row.paper)?;
            if let Some(ours) = &row.ours {
                writeln!(text, "  here     {ours}")?;
            }
            if let (Some(world), Some(exact)) = (row.world, &row.exact) {
                writeln!(text, "  world    {}; {exact}", world.name())?;
            }
            match row.repeat() {
                Repeat::Command(command) => writeln!(text, "  command  {command}")?,
                Repeat::NotHere(reason) => writeln!(text, "  not here: {reason}")?,
            }
        }
    }
    Ok(text)
}

/// A row's names and subject.
fn heading(row: &Row) -> String {
    let also = row.also.as_ref().map(|also| format!(" ({also})"));
    format!("{}{}: {}", row.label, also.unwrap_or_default(), row.shows)
}

fn objects(catalogue: &Catalogue, systems: &[&System]) -> Result<String, fmt::Error> {
    let mut text = String::new();
    let mut put = |line: Value| writeln!(text, "{line}");
    let chosen = |number: &String| {
        systems
            .iter()
            .any(|system| system.documents.contains(number))
    };
    for document in catalogue
        .documents
        .iter()
        .filter(|document| chosen(&document.number))
    {
        put(json_line!("papers", "document", {
            "number": document.number, "title": document.title, "authors": document.authors,
            "year": document.year, "venue": document.venue,
        }))?;
    }
    for system in systems {
        put(json_line!("papers", "system", {
            "system": system.name, "title": system.title, "documents": system.documents, "chapters": system.chapters,
        }))?;
        for row in &system.rows {
            let (command, reason) = match row.repeat() {
                Repeat::Command(command) => (Some(command), None),
                Repeat::NotHere(reason) => (None, Some(reason)),
            };
            put(json_line!("papers", "row", {
                "system": system.name, "label": row.label, "also": row.also, "shows": row.shows, "paper": row.paper,
                "ours": row.ours, "world": row.world.map(|world| world.name()), "exact": row.exact,
                "command": command, "needs": row.needs, "not_here": reason,
            }))?;
        }
    }
    if systems.len() == catalogue.systems.len() {
        for part in &catalogue.elsewhere {
            put(json_line!("papers", "elsewhere", {
                "name": part.name, "documents": part.documents, "labels": part.labels, "reason": part.reason,
            }))?;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
