//! The catalogue of the papers' tables and figures.

use crate::shell::Place;

/// The folder of the examples.
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

#[test]
fn the_books_page_is_the_one_that_the_catalogue_makes() {
    let page = Place::new("papers").run("wire papers --markdown").good();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/book/src/papers.md");
    if std::env::var_os("WIRELINE_GENERATE").is_some() {
        std::fs::write(file, &page).unwrap();
    }
    assert!(
        std::fs::read_to_string(file).unwrap() == page,
        "docs/book/src/papers.md is not what `wire papers --markdown` prints; WIRELINE_GENERATE=1 before this test writes it"
    );
}

#[test]
fn a_row_runs_and_shows_ours_beside_the_papers() {
    let place = Place::new("papers-run");
    let out = place
        .run(&format!(
            "wire papers EtherPIPE --run 'Figure 5.3' --examples {EXAMPLES}"
        ))
        .good();
    let said = [
        "EtherPIPE figure 5.3 (001, figure 3): the shell format",
        "$ wire gen --count 1 --no-time\n020000000002 020000000001 0800 45 00",
        "\npaper: destination, source, type, payload\nhere:  the same",
    ];
    assert!(said.iter().all(|part| out.contains(part)), "{out}");
    let out = place
        .run(&format!(
            "wire papers --run 'table 3.1' --examples {EXAMPLES}"
        ))
        .good();
    assert!(
        out.contains("l2l3                       230     1825"),
        "{out}"
    );
}

#[test]
fn a_number_names_all_rows_that_have_it() {
    let place = Place::new("papers-summary");
    let command = format!("wire papers EtherPIPE --run 5.6 --examples {EXAMPLES}");
    let ended = place.run(&command);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended
            .err
            .contains("figures 5.5 to 5.8 is not here: ports are files"),
        "{}",
        ended.err
    );
    let ended = place.run(&format!(
        "wire papers P4FPGA --run 3.1 --examples {EXAMPLES}"
    ));
    let last = ended.out.lines().last().unwrap();
    assert_eq!(
        last, "2 ran, 0 failed, 0 skipped; 0 not here",
        "{}",
        ended.err
    );
}

#[test]
fn a_run_in_a_copy_of_the_examples_leaves_the_examples_as_they_are() {
    let place = Place::new("papers-out");
    let out = place
        .run(&format!(
            "cp -r {EXAMPLES}/two-clocks {EXAMPLES}/timing . 2> /dev/null; mkdir examples; mv two-clocks timing examples
             find examples -type f | sort > before
             wire papers DTP --run 4.26 --examples examples --out copy
             find examples -type f | sort | diff before - && test -f copy/two-clocks/lab.toml && echo unchanged"
        ))
        .good();
    assert!(out.ends_with("unchanged\n"), "{out}");
    let ended = place.run("wire papers DTP --run 4.26 --examples examples --out examples/timing/x");
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.err.contains("is inside the examples"),
        "{}",
        ended.err
    );
}

#[test]
fn mistakes_name_what_there_is() {
    let place = Place::new("papers-mistakes");
    let cases = [
        (
            "wire papers nothing",
            "there is no document or system `nothing`; there are: 000, 001",
        ),
        (
            "wire papers Signpost",
            "Signpost: connectivity by users is not here: a naming service",
        ),
        (
            "wire papers DTP --run 9.9",
            "no table, figure or command `9.9`; there are: figures 4.26 and 4.27,",
        ),
        (
            "wire papers SoNIC --run 4.2 --examples .",
            ". has no timing/lab.toml",
        ),
    ];
    for (command, says) in cases {
        let ended = place.run(command);
        assert_eq!(ended.code, Some(2), "{command}");
        assert!(ended.err.contains(says), "{command}: {}", ended.err);
    }
}

#[test]
fn a_program_reads_the_catalogue_as_json() {
    let out = Place::new("papers-json")
        .run("wire papers 003 --json")
        .good();
    let lines: Vec<serde_json::Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
    assert_eq!((of("document"), of("system"), of("elsewhere")), (1, 3, 0));
    let row = lines
        .iter()
        .find(|line| line["label"] == "table 3.3")
        .unwrap();
    assert_eq!(
        (&row["system"], &row["command"]),
        (&"SDNSIM".into(), &"sdn/cbench.sh".into())
    );
}
