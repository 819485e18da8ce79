//! The catalogue: documents, systems, and a row for each table, figure and command, from the files
//! next to this file.

use serde::Deserialize;

/// A paper or thesis.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The number by which the book cites it, such as 000.
    pub number: String,
    pub title: String,
    pub authors: String,
    pub year: String,
    /// Journal, or kind of thesis and university.
    pub venue: String,
}

/// A part of the documents that is not built.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elsewhere {
    pub name: String,
    pub documents: Vec<String>,
    /// Its tables and figures.
    pub labels: String,
    pub reason: String,
}

/// A system of the papers that is built.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// A word, by which a command line names it.
    pub name: String,
    pub title: String,
    pub documents: Vec<String>,
    /// Pages of the book.
    pub chapters: Vec<String>,
    #[serde(rename = "row")]
    pub rows: Vec<Row>,
}

impl System {
    /// Rows with a command, and without a counterpart.
    pub fn counts(&self) -> [usize; 2] {
        let mut counts = [0; 2];
        for row in &self.rows {
            counts[match row.repeat() {
                Repeat::Command(_) => 0,
                Repeat::NotHere(_) => 1,
            }] += 1;
        }
        counts
    }
}

/// A table, figure, listing or command of a paper, or several with one result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Its name in the paper, such as `table 6.1`; behind a comma the variant, such as `live`.
    pub label: String,
    /// Its names in another document, such as `001, table 2`.
    pub also: Option<String>,
    /// Its subject.
    pub shows: String,
    /// The paper's figures.
    pub paper: String,
    /// Ours; left out where there are none.
    pub ours: Option<String>,
    pub world: Option<World>,
    /// Repeatability of our figure: `exact` to the digit, `measured` on one machine, `works` without a
    /// figure.
    pub exact: Option<String>,
    /// The command that repeats it, in the folder of the examples.
    command: Option<String>,
    /// Requirements of the command other than `wire`: programs, or `root`.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The reason why there is no command.
    not_here: Option<String>,
}

/// Where a row's figures come from.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum World {
    /// Simulated time.
    Sim,
    /// Linux interfaces.
    Live,
    /// Simulated hardware.
    Cosim,
    /// No world: text, streams in files, programs in memory.
    Files,
}

impl World {
    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            World::Sim => "simulated time",
            World::Live => "Linux interfaces",
            World::Cosim => "simulated hardware",
            World::Files => "files and memory",
        }
    }
}

/// Ways to repeat a row.
#[derive(Clone, Copy, Debug)]
pub enum Repeat<'a> {
    /// By this command, in the folder of the examples.
    Command(&'a str),
    /// Not at all, for this reason.
    NotHere(&'a str),
}

impl Row {
    /// The way to repeat it.
    pub fn repeat(&self) -> Repeat<'_> {
        match (&self.command, &self.not_here) {
            (Some(command), _) => Repeat::Command(command),
            (None, reason) => Repeat::NotHere(reason.as_deref().unwrap_or_default()),
        }
    }

    /// Whether `wanted` names it: the whole label, its number alone, or a number in its range. With
    /// a word such as `table` before the
    /// number the names in other documents count too.
    pub fn is_named(&self, wanted: &str) -> bool {
        let wanted = wanted.trim().to_lowercase();
        let label = self.label.to_lowercase();
        if label == wanted {
            return true;
        }
        match wanted.split_once(' ') {
            None => has_number(&label, &wanted),
            Some((kind, number)) => {
                let kind = kind.trim_end_matches('s');
                let names = self.also.iter().flat_map(|also| also.split(';'));
                let names = names.filter_map(|name| Some(name.split_once(", ")?.1.to_lowercase()));
                std::iter::once(label)
                    .chain(names)
                    .any(|name| name.starts_with(kind) && has_number(&name, number))
            }
        }
    }

    /// Number of forms of [`Repeat`] that are given; exactly one is correct.
    #[cfg(test)]
    pub fn forms(&self) -> usize {
        let forms = [&self.command, &self.not_here];
        forms.iter().filter(|form| form.is_some()).count()
    }
}

/// Whether a label has a number, or a range with it.
fn has_number(label: &str, number: &str) -> bool {
    let words: Vec<&str> = label
        .split([' ', ','])
        .filter(|word| !word.is_empty())
        .collect();
    let within = |range: &[&str]| {
        let [first, "to", last] = range else {
            return false;
        };
        match (parts(first), parts(number), parts(last)) {
            (Some(first), Some(number), Some(last)) => {
                number.0 == first.0 && (first.1..=last.1).contains(&number.1)
            }
            _ => false,
        }
    };
    words.contains(&number) || words.windows(3).any(within)
}

/// Chapter and number: of `4.31` 4 and 31, of `12` nothing and 12.
fn parts(number: &str) -> Option<(&str, u32)> {
    let (chapter, number) = number.rsplit_once('.').unwrap_or(("", number));
    Some((chapter, number.parse().ok()?))
}

/// All of it.
#[derive(Debug)]
pub struct Catalogue {
    pub documents: Vec<Document>,
    pub elsewhere: Vec<Elsewhere>,
    pub systems: Vec<System>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    document: Vec<Document>,
    elsewhere: Vec<Elsewhere>,
}

const SYSTEMS: [(&str, &str); 11] = [
    ("etherpipe.toml", include_str!("etherpipe.toml")),
    ("timing.toml", include_str!("timing.toml")),
    ("p4fpga.toml", include_str!("p4fpga.toml")),
    ("paxos.toml", include_str!("paxos.toml")),
    ("sonic.toml", include_str!("sonic.toml")),
    ("minprobe.toml", include_str!("minprobe.toml")),
    ("dtp.toml", include_str!("dtp.toml")),
    ("oflops.toml", include_str!("oflops.toml")),
    ("sdnsim.toml", include_str!("sdnsim.toml")),
    ("relay.toml", include_str!("relay.toml")),
    ("home.toml", include_str!("home.toml")),
];

impl Catalogue {
    /// Reads the catalogue that is compiled in.
    pub fn standard() -> Catalogue {
        let head: Head = read("documents.toml", include_str!("documents.toml"));
        let systems = SYSTEMS.iter().map(|(name, text)| read(name, text));
        Catalogue {
            documents: head.document,
            elsewhere: head.elsewhere,
            systems: systems.collect(),
        }
    }

    /// The systems of a document, or the one of that name or of a name that begins so; all without
    /// one.
    ///
    /// # Errors
    /// There is none.
    pub fn choose(&self, of: Option<&str>) -> anyhow::Result<Vec<&System>> {
        let Some(of) = of else {
            return Ok(self.systems.iter().collect());
        };
        let wanted = of.to_lowercase();
        let fits = |test: &dyn Fn(&System) -> bool| -> Vec<&System> {
            self.systems.iter().filter(|system| test(system)).collect()
        };
        let named = fits(&|system| system.name.to_lowercase() == wanted);
        let chosen = match named.is_empty() {
            false => named,
            true => fits(&|system| {
                system.documents.contains(&wanted)
                    || !wanted.is_empty() && system.name.to_lowercase().starts_with(&wanted)
            }),
        };
        if chosen.is_empty() {
            let mut others = self.elsewhere.iter();
            if let Some(other) = others.find(|other| other.name.to_lowercase().starts_with(&wanted))
            {
                anyhow::bail!("{} is not here: {}", other.name, other.reason);
            }
            let documents = self.documents.iter().map(|document| &*document.number);
            let all: Vec<&str> = documents
                .chain(self.systems.iter().map(|system| &*system.name))
                .collect();
            anyhow::bail!(
                "there is no document or system `{of}`; there are: {}",
                all.join(", ")
            );
        }
        Ok(chosen)
    }
}

/// Reads a file that was compiled in, and that tests have read.
fn read<T: for<'de> Deserialize<'de>>(name: &str, text: &str) -> T {
    toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"))
}
