//! Cases of the kernel's suite for tc (`tools/testing/selftests/tc-testing/tc-tests/qdiscs`), which
//! set a root discipline.
//!
//! The suite is not part of this repository: the environment variable names its folder.

use serde_json::Value;
use std::path::PathBuf;

/// Environment variable that names a folder of JSON files as the suite has them.
const FOLDER: &str = "WIRE_TC_TESTING";

/// A line of tc that adds, replaces or changes a root discipline.
#[derive(Debug)]
pub struct Case {
    pub id: String,
    /// Name of the discipline, and its parameters.
    pub words: Vec<String>,
    /// Whether the line stands alone: it does not change a discipline that is there.
    #[allow(dead_code, reason = "netem sets all its parameters with each line")]
    pub is_whole: bool,
    /// Whether the suite wants tc and the kernel to accept the line.
    pub is_accepted: bool,
    /// What `tc qdisc show` must have afterwards, as a regular expression.
    shown: Option<String>,
}

impl Case {
    fn new(case: &Value) -> Option<Case> {
        // Numbers are texts in most cases.
        let text = |key: &str| match case.get(key)? {
            Value::String(text) => Some(text.clone()),
            number => Some(number.to_string()),
        };
        let line = text("cmdUnderTest")?;
        let mut words = line.split_whitespace();
        if (words.next(), words.next()) != (Some("$TC"), Some("qdisc")) {
            return None;
        }
        let verb = words.next()?;
        if !["add", "replace", "change"].contains(&verb) {
            return None;
        }
        let mut is_root = false;
        let name = loop {
            match words.next()? {
                "dev" | "handle" => _ = words.next()?,
                "root" => is_root = true,
                name => break name,
            }
        };
        if !is_root {
            return None;
        }
        let words = [name].into_iter().chain(words).map(String::from).collect();
        let is_accepted = text("expExitCode")? == "0";
        Some(Case {
            id: text("id")?,
            words,
            is_whole: verb == "add",
            is_accepted,
            shown: text("matchPattern").filter(|_| text("matchCount").as_deref() != Some("0")),
        })
    }

    /// Words that the pattern has literally, from the first parameter on; none where it is not about
    /// this discipline.
    pub fn shown(&self) -> Vec<&str> {
        let pattern = self.shown.as_deref().unwrap_or_default();
        let words = pattern.split_whitespace();
        let mut words = words.flat_map(|word| word.trim_end_matches('$').split(".*"));
        if (words.next(), words.next()) != (Some("qdisc"), Some(&self.words[0])) {
            return Vec::new();
        }
        words
            .skip_while(|word| word.ends_with(':') || *word == "root" || *word == "refcnt")
            .filter(|word| !word.is_empty() && !word.contains('['))
            .collect()
    }
}

/// The cases with a discipline for which `is_here` holds; `None`, with a line that says so, where no
/// folder is named.
pub fn cases(is_here: impl Fn(&str) -> bool) -> Option<Vec<Case>> {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        println!("skipped: {FOLDER} does not name a folder of the kernel's tc-testing cases");
        return None;
    };
    let entries = std::fs::read_dir(&folder);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let file: Value = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        cases.extend(file.as_array().into_iter().flatten().filter_map(Case::new));
    }
    cases.retain(|case| is_here(&case.words[0]));
    Some(cases)
}

/// Counts of a comparison.
#[derive(Debug, Default)]
pub struct Tally {
    accepted: u32,
    refused: u32,
    known: Vec<String>,
    unknown: Vec<String>,
}

impl Tally {
    /// Enters a case: `difference` from the suite, or none. `known` has a reason for a difference
    /// that is meant.
    pub fn enter(&mut self, case: &Case, difference: Option<String>, known: Option<&str>) {
        let line = case.words.join(" ");
        match (difference, known) {
            (None, None) if case.is_accepted => self.accepted += 1,
            (None, None) => self.refused += 1,
            (None, Some(_)) => {
                let text = "no difference any more; take the case from the list";
                self.unknown.push(format!("{} `{line}`: {text}", case.id));
            }
            (Some(_), Some(reason)) => self.known.push(format!("{} `{line}`: {reason}", case.id)),
            (Some(difference), None) => {
                self.unknown
                    .push(format!("{} `{line}`: {difference}", case.id));
            }
        }
    }

    /// Prints the counts, and panics for a difference without a reason.
    pub fn finish(self, what: &str) {
        let (known, unknown) = (self.known.len(), self.unknown.len());
        let cases = self.accepted as usize + self.refused as usize + known + unknown;
        println!(
            "{what}: {cases} cases, {} accepted by both, {} refused by both, {} different ({known} known)",
            self.accepted,
            self.refused,
            known + unknown,
        );
        for known in &self.known {
            println!("  {known}");
        }
        assert!(self.unknown.is_empty(), "{}", self.unknown.join("\n"));
    }
}
