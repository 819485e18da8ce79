//! The catalogue as a page of the book.

use super::catalogue::{Catalogue, Repeat, Row, System};
use std::fmt::{self, Write};

/// The page `papers.md`.
pub fn page(catalogue: &Catalogue) -> Result<String, fmt::Error> {
    let mut page = String::from(HEAD);
    writeln!(page, "\n## Documents\n")?;
    writeln!(
        page,
        "| number | title | authors | year | published |\n|---|---|---|---|---|"
    )?;
    for document in &catalogue.documents {
        let (number, title) = (&document.number, &document.title);
        let (authors, year, venue) = (&document.authors, &document.year, &document.venue);
        writeln!(
            page,
            "| {number} | {title} | {authors} | {year} | {venue} |"
        )?;
    }
    writeln!(page, "\n## Systems\n")?;
    writeln!(
        page,
        "| system | documents | rows | run | not here | chapters |"
    )?;
    writeln!(page, "|---|---|---|---|---|---|")?;
    for system in &catalogue.systems {
        let counts = system.counts();
        writeln!(
            page,
            "| [{}](#{}) | {} | {} | {} | {} | {} |",
            system.title,
            anchor(&system.title),
            system.documents.join(", "),
            system.rows.len(),
            counts[0],
            counts[1],
            chapters(system)
        )?;
    }
    for system in &catalogue.systems {
        writeln!(page, "\n## {}\n", system.title)?;
        writeln!(
            page,
            "Paper {}; {}. `wire papers {}`\n",
            system.documents.join(", "),
            chapters(system),
            system.name
        )?;
        writeln!(
            page,
            "| | shows | the paper | here | world | exact | command |"
        )?;
        writeln!(page, "|---|---|---|---|---|---|---|")?;
        for row in &system.rows {
            write_row(&mut page, row)?;
        }
    }
    writeln!(page, "\n## Not here\n")?;
    writeln!(
        page,
        "| part | documents | tables and figures | reason |\n|---|---|---|---|"
    )?;
    for part in &catalogue.elsewhere {
        let documents = part.documents.join(", ");
        writeln!(
            page,
            "| {} | {documents} | {} | {} |",
            part.name, part.labels, part.reason
        )?;
    }
    Ok(page)
}

const HEAD: &str = "# The papers

Wireline builds ten systems that five documents describe. The book cites the documents by their numbers. This page has a row for each table,
figure, listing and command of these systems: the paper's figure, ours, and the command that repeats it. It is made by `wire papers --markdown`.

    wire papers                              # documents and systems
    wire papers SoNIC                        # the rows of a system; or of a document, such as 002
    wire papers EtherPIPE --run 6.1          # runs a row's command, and prints the paper's figure and ours
    wire papers --run all                    # runs all that can be run here, which takes long

Commands are typed in the folder of the [examples](../../../examples/README.md); `wire papers --run` finds it in the source tree or below the installed program, and
`--examples FOLDER` names another. What needs root, or a program that is missing, is skipped with the reason.

| column | meaning |
|---|---|
| world | simulated time; Linux interfaces; simulated hardware, by `wire-rtl`; files and memory, where no packet is on a wire |
| exact | `exact`: the command prints the same digits again; `measured`: ours was measured on one machine and differs on another; `works`: there is no figure |
| command | \"not here\": there is no counterpart, for the reason given |
";

fn write_row(page: &mut String, row: &Row) -> fmt::Result {
    let also = row.also.as_ref().map(|also| format!(" ({also})"));
    let repeat = match row.repeat() {
        Repeat::Command(command) => format!("`{command}`"),
        Repeat::NotHere(reason) => format!("not here: {reason}"),
    };
    let cells = [
        format!("{}{}", row.label, also.unwrap_or_default()),
        row.shows.clone(),
        row.paper.clone(),
        row.ours.clone().unwrap_or_default(),
        row.world.map_or("", |world| world.name()).into(),
        row.exact.clone().unwrap_or_default(),
        repeat,
    ];
    writeln!(
        page,
        "| {} |",
        cells.map(|cell| cell.replace('|', "\\|")).join(" | ")
    )
}

fn chapters(system: &System) -> String {
    let links = system.chapters.iter();
    let links = links.map(|file| format!("[{}]({file})", file.trim_end_matches(".md")));
    links.collect::<Vec<_>>().join(", ")
}

/// A heading's anchor, as mdBook makes it.
fn anchor(title: &str) -> String {
    let kept = title
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| {
        if c == ' ' {
            '-'
        } else {
            c.to_ascii_lowercase()
        }
    })
    .collect()
}
