use super::catalogue::{Catalogue, Repeat, Row, System};
use std::collections::BTreeSet;
use std::path::Path;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
const BOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/book/src");

fn rows(catalogue: &Catalogue) -> impl Iterator<Item = (&System, &Row)> {
    let systems = catalogue.systems.iter();
    systems.flat_map(|system| system.rows.iter().map(move |row| (system, row)))
}

/// The words of a command line, with single quotes around those that have spaces.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in command.split('\'').enumerate() {
        match index % 2 {
            0 => words.extend(part.split_whitespace().map(String::from)),
            _ => words.push(part.into()),
        }
    }
    words
}

/// The simple commands of a command line.
fn commands(line: &str) -> Vec<Vec<String>> {
    let all = words(line);
    let parts = all.split(|word| ["|", "&&"].contains(&word.as_str()));
    parts.map(<[String]>::to_vec).collect()
}

#[test]
fn every_row_has_one_form_and_its_figures() {
    let catalogue = Catalogue::standard();
    assert!(rows(&catalogue).count() > 100);
    for (system, row) in rows(&catalogue) {
        let name = format!("{} {}", system.name, row.label);
        assert_eq!(row.forms(), 1, "{name}");
        if let Repeat::Command(command) = row.repeat() {
            assert!(row.world.is_some() && row.exact.is_some(), "{name}");
            assert!(!command.contains("cargo"), "{name}: {command}");
        } else {
            assert!(row.needs.is_empty(), "{name}");
        }
        assert_eq!(row.ours.is_some(), row.world.is_some(), "{name}");
    }
}

#[test]
fn labels_are_unique_and_documents_and_chapters_exist() {
    let catalogue = Catalogue::standard();
    let numbers: BTreeSet<&str> = catalogue
        .documents
        .iter()
        .map(|document| &*document.number)
        .collect();
    assert_eq!(numbers.len(), 5);
    for system in &catalogue.systems {
        let labels: BTreeSet<&str> = system.rows.iter().map(|row| &*row.label).collect();
        assert_eq!(labels.len(), system.rows.len(), "{}", system.name);
        assert!(
            system
                .documents
                .iter()
                .all(|number| numbers.contains(&**number))
        );
        for chapter in &system.chapters {
            assert!(Path::new(BOOK).join(chapter).exists(), "{chapter}");
        }
    }
    let other = catalogue.elsewhere.iter();
    assert!(
        other
            .flat_map(|part| &part.documents)
            .all(|number| numbers.contains(&**number))
    );
}

#[test]
fn commands_are_those_that_exist_on_files_that_exist() {
    let catalogue = Catalogue::standard();
    let mut parsed = 0;
    for (_, row) in rows(&catalogue) {
        let Repeat::Command(line) = row.repeat() else {
            continue;
        };
        let mut folder = Path::new(EXAMPLES).to_path_buf();
        for command in commands(line) {
            let words = match command[0].as_str() {
                "time" => &command[1..],
                _ => &command[..],
            };
            match words[0].as_str() {
                "cd" => folder = folder.join(&words[1]),
                // Not one of `wire`: the tests of `wire-rtl` run it.
                "wire-rtl" if words[1] == "check" => {
                    assert!(row.needs.iter().any(|need| need == "wire-rtl"), "{line}");
                }
                "wire" | "wire-rtl" => {
                    let asks = words.iter().any(|word| word == "--help");
                    let result = crate::definition().try_get_matches_from(words);
                    let is_help =
                        |error: &clap::Error| error.kind() == clap::error::ErrorKind::DisplayHelp;
                    match result {
                        Ok(_) => {}
                        Err(error) => assert!(asks && is_help(&error), "{line}: {error}"),
                    }
                    parsed += 1;
                    assert_eq!(
                        words[0] == "wire-rtl",
                        row.needs.iter().any(|need| need == "wire-rtl"),
                        "{line}"
                    );
                }
                "grep" | "od" => {}
                script => assert!(folder.join(script).is_file(), "{line}: no {script}"),
            }
            let inputs = words.iter().enumerate().skip(1).filter(|(at, word)| {
                let kinds = [".toml", ".p4", ".stf", ".txt"];
                words[at - 1] != "-o" && kinds.iter().any(|kind| word.ends_with(kind))
            });
            for (_, file) in inputs {
                assert!(folder.join(file).is_file(), "{line}: no {file}");
            }
        }
    }
    assert!(parsed > 50, "{parsed}");
}

#[test]
fn the_index_of_the_examples_has_every_folder_of_a_system() {
    let index = std::fs::read_to_string(Path::new(EXAMPLES).join("README.md")).unwrap();
    let catalogue = Catalogue::standard();
    for system in &catalogue.systems {
        let line = index
            .lines()
            .find(|line| line.starts_with(&format!("| {} |", system.title)));
        let line = line.unwrap_or_else(|| panic!("no line of {}", system.title));
        for row in &system.rows {
            let Repeat::Command(command) = row.repeat() else {
                continue;
            };
            for word in words(command) {
                let folder = word
                    .trim_start_matches("./")
                    .split('/')
                    .next()
                    .unwrap_or_default();
                let is_folder = !folder.is_empty() && Path::new(EXAMPLES).join(folder).is_dir();
                // `relay` of `wire relay` is none.
                if is_folder && (word.contains('/') || command.starts_with("cd ")) {
                    assert!(
                        line.contains(&format!("]({folder}")),
                        "{}: {folder}",
                        system.title
                    );
                }
            }
        }
    }
}

#[test]
fn rows_are_found_by_their_numbers() {
    let catalogue = Catalogue::standard();
    let find = |of: &str, label: &str| -> Vec<String> {
        let systems = catalogue.choose(Some(of)).unwrap();
        let rows = systems.iter().flat_map(|system| &system.rows);
        rows.filter(|row| row.is_named(label))
            .map(|row| row.label.clone())
            .collect()
    };
    assert_eq!(find("EtherPIPE", "6.1"), ["table 6.1", "figure 6.1"]);
    assert_eq!(find("etherpipe", "Table 6.1"), ["table 6.1"]);
    assert_eq!(find("001", "table 2"), ["table 6.1"]);
    assert_eq!(find("EtherPIPE", "figure 6.3"), ["figures 6.2 to 6.4"]);
    assert_eq!(find("EtherPIPE", "command 1"), ["command 1"]);
    assert_eq!(find("DTP", "4.31a"), ["figures 4.30 and 4.31a"]);
    assert_eq!(find("DTP", "figure D.30"), ["figures D.24, D.26 to D.33"]);
    assert_eq!(
        find("004", "11"),
        ["figures 10 to 12", "figures 10 to 12, live"]
    );
    assert_eq!(find("timing", "figure 6.6, live"), ["figure 6.6, live"]);
    assert!(find("SoNIC", "9.9").is_empty());
    assert!(
        catalogue
            .choose(Some("Signpost"))
            .unwrap_err()
            .to_string()
            .contains("not here")
    );
    assert!(catalogue.choose(Some("005")).is_err() && catalogue.choose(Some("")).is_err());
}
