//! `wire p4 info`

use super::source::Reading;
use crate::Verdict;
use crate::output::{Buffering, Output};
use ::capture::output::apart;
use confine::Permissions;
use p4::ir::{Program, SectionId, Terminator};
use p4::passes;
use p4runtime::p4info;
use serde_json::{Value, json};
use std::fmt;
use std::path::PathBuf;

/// What a controller has to know of a program: its P4Info
///
/// Tables, actions, counters and all else that P4Runtime reads and writes, with the numbers that it gives them. Behind it stands, as comments,
/// what the compiler's passes made of the program: how large a packet's representation is, and what could run at once on targets that do so.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire p4 info router.p4 --p4info router.p4info.txtpb")]
pub struct Info {
    /// The program
    program: PathBuf,
    /// Write the P4Info to a file: as JSON when its name ends in .json, otherwise as text
    #[arg(long, value_name = "FILE")]
    p4info: Option<PathBuf>,
    /// One line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: Reading,
}

impl Info {
    /// Describes the program.
    ///
    /// # Errors
    /// When it has errors, or a file cannot be read or written.
    pub fn run(self) -> anyhow::Result<Verdict> {
        confine::reader(Permissions {
            writes: self.p4info.is_some(),
            ..Permissions::default()
        })?;
        let compiled = self.reading.load_valid(&self.program)?;
        let (Some(checked), Some(program)) = (&compiled.checked, &compiled.program) else {
            anyhow::bail!(
                "{}: without a `main` there is nothing to control",
                self.program.display()
            );
        };
        let info = p4info::message(&p4::info::describe(checked, program));
        if let Some(path) = &self.p4info {
            let text = match path.extension().is_some_and(|end| end == "json") {
                true => p4info::json(&info) + "\n",
                false => p4info::text(&info),
            };
            apart(path, [self.program.as_path()])?;
            ::capture::output::replace(path, text.as_bytes())?;
            return Ok(Verdict::Good);
        }
        let passes = Passes::of(program);
        let head = packet::json::Head {
            what: "p4",
            kind: "info",
        };
        let text = match self.json {
            true => format!(
                "{head},\"p4info\":{},\"passes\":{}}}\n",
                p4info::json(&info),
                passes.json()
            ),
            false => format!("{}{passes}", p4info::text(&info)),
        };
        let mut stdout = Output::open(&Buffering::default())?;
        stdout.write(text.as_bytes())?;
        stdout.finish()?;
        Ok(Verdict::Good)
    }
}

/// What the passes made of a program.
struct Passes<'a> {
    program: &'a Program,
    at_once: passes::Parallel,
}

impl<'a> Passes<'a> {
    fn of(program: &'a Program) -> Self {
        Passes {
            program,
            at_once: passes::parallel(program),
        }
    }

    fn bits(&self) -> u64 {
        let slots = self.program.slots.iter();
        slots.map(|slot| u64::from(slot.ty.width())).sum()
    }

    /// Names of the tables that a section still looks up in, those that could be looked up at once together.
    fn tables(&self, id: SectionId) -> Vec<Vec<&'a str>> {
        let name = |table: p4::ir::TableId| &*self.program.tables[table.index()].name;
        let groups = self.at_once.tables.iter();
        let groups: Vec<_> = groups.filter(|group| group.section == id).collect();
        let mut all = Vec::new();
        let blocks = &self.program.sections[id.index()].body.blocks;
        for (index, block) in blocks.iter().enumerate() {
            let Terminator::Apply { table, .. } = block.terminator else {
                continue;
            };
            let mut of = groups.iter();
            let at = |block: &p4::ir::BlockId| block.index() == index;
            match of.find(|group| group.blocks.iter().any(at)) {
                None => all.push(vec![name(table)]),
                Some(group) if group.blocks.first().is_some_and(at) => {
                    all.push(group.tables.iter().map(|table| name(*table)).collect());
                }
                Some(_) => {}
            }
        }
        all
    }

    fn json(&self) -> Value {
        let sections = self.program.sections.iter().enumerate();
        let sections = sections.map(|(index, section)| {
            let id = SectionId(index as u32);
            let (steps, statements) = self.at_once.longest(id);
            json!({
                "name": *section.name,
                "blocks": section.body.blocks.len(),
                "longest_block": { "statements": statements, "steps": steps },
                "tables": self.tables(id),
            })
        });
        json!({
            "slots": self.program.slots.len(),
            "bits": self.bits(),
            "sections": sections.collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for Passes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slots = super::source::count(self.program.slots.len(), "value");
        writeln!(
            f,
            "# Behind the passes a packet is {slots}, {} bits.",
            self.bits()
        )?;
        for (index, section) in self.program.sections.iter().enumerate() {
            let id = SectionId(index as u32);
            let (steps, statements) = self.at_once.longest(id);
            if statements > 0 {
                let steps = super::source::count(steps, "step");
                let statements = super::source::count(statements, "statement");
                writeln!(
                    f,
                    "# {}: {statements} of its longest block in {steps}",
                    section.name
                )?;
            }
            for group in self.tables(id) {
                let at_once = if group.len() > 1 { ", at once" } else { "" };
                let tables = group.join(", ");
                // A name of several lines would become part of the text format.
                writeln!(
                    f,
                    "# {}: table {}{at_once}",
                    section.name,
                    packet::printable::word(&tables)
                )?;
            }
        }
        Ok(())
    }
}
