//! The files that `#include <...>` finds without looking at any disc: the core library and the architectures, from `p4include/`.

use crate::ir::Architecture;
use crate::source::{IncludeError, Includes};
use alloc::string::String;

/// The library, behind the files that a function finds by the name that they are included by: those beside a program, for example.
pub struct WithFiles<F>(pub F);

impl<F: FnMut(&str) -> Option<String>> Includes for WithFiles<F> {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = match (self.0)(name) {
            Some(text) => text,
            None => file(name).ok_or("no such file")?.into(),
        };
        Ok((name.into(), text))
    }
}

/// The text of a library file, by the name that programs include it by.
#[must_use]
pub fn file(name: &str) -> Option<&'static str> {
    FILES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

/// All names that [`file()`] knows, for messages and completion.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// The file that declares a name at its top level, for a program that forgot to include it.
#[must_use]
pub fn declaring(name: &str) -> Option<&'static str> {
    let kinds = [
        "struct", "enum", "extern", "header", "typedef", "type", "action", "const", "parser",
        "control", "package",
    ];
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let declares = |line: &str| {
        let mut words = line.split(|c| !is_name(c)).filter(|word| !word.is_empty());
        // What stands in brackets are parameters.
        let head = line.split(['(', '<', '=']).next().unwrap_or(line);
        let last = head.split(|c| !is_name(c)).rfind(|word| !word.is_empty());
        words.next().is_some_and(|first| kinds.contains(&first)) && last == Some(name)
            || line.starts_with("enum ") && head.split(|c| !is_name(c)).any(|word| word == name)
    };
    let mut files = FILES.iter();
    let found = files.find(|(_, text)| text.lines().any(declares));
    found.map(|(file, _)| *file)
}

/// Programs of other targets name the same architectures by other paths; what these targets add stands behind a macro.
const FILES: &[(&str, &str)] = &[
    ("core.p4", include_str!("../../../p4include/core.p4")),
    ("v1model.p4", include_str!("../../../p4include/v1model.p4")),
    ("psa.p4", include_str!("../../../p4include/psa.p4")),
    ("bmv2/psa.p4", "#include <psa.p4>\n"),
    (
        "dpdk/psa.p4",
        "#define PSA_ON_DPDK\n#include <psa.p4>\n#undef PSA_ON_DPDK\n",
    ),
    ("externs.p4", include_str!("../../../p4include/externs.p4")),
    ("switch.p4", include_str!("../../../p4include/switch.p4")),
    ("bump.p4", include_str!("../../../p4include/bump.p4")),
    ("pna.p4", include_str!("../../../p4include/pna.p4")),
    (
        "dpdk/pna.p4",
        "#define PNA_ON_DPDK\n#include <pna.p4>\n#undef PNA_ON_DPDK\n",
    ),
];

/// Whether a package is one that engines run, by its name and the names of its blocks: packages of others are called `Switch` too.
#[must_use]
pub fn runs<'a>(package: &Architecture, blocks: impl IntoIterator<Item = &'a str>) -> bool {
    let blocks = blocks.into_iter();
    match package {
        Architecture::V1Switch | Architecture::PsaSwitch | Architecture::PnaNic => true,
        Architecture::Switch => blocks.eq(["p", "ig", "eg", "dep"]),
        Architecture::Bump => blocks.eq(["p", "pipe", "dep"]),
        Architecture::Other(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_library_file_can_include_what_it_names() {
        for name in names() {
            let text = file(name).expect("listed");
            for line in text.lines() {
                if let Some(rest) = line.strip_prefix("#include <") {
                    let wanted = rest.trim_end_matches('>');
                    assert!(file(wanted).is_some(), "{name} includes {wanted}");
                }
            }
        }
    }

    #[test]
    fn every_conditional_part_is_closed() {
        for name in names() {
            let text = file(name).expect("listed");
            let open = text.lines().filter(|l| l.starts_with("#if")).count();
            let closed = text.lines().filter(|l| l.starts_with("#endif")).count();
            assert_eq!(open, closed, "{name}");
        }
    }

    #[test]
    fn names_are_found_in_the_file_that_declares_them() {
        for (name, file) in [
            ("packet_in", Some("core.p4")),
            ("verify", Some("core.p4")),
            ("NoAction", Some("core.p4")),
            ("standard_metadata_t", Some("v1model.p4")),
            ("mark_to_drop", Some("v1model.p4")),
            ("HashAlgorithm", Some("v1model.p4")),
            ("V1Switch", Some("v1model.p4")),
            ("PSA_Switch", Some("psa.p4")),
            ("switch_metadata_t", Some("switch.p4")),
            ("route", None),
            ("void", None),
        ] {
            assert_eq!(declaring(name), file, "{name}");
        }
    }

    #[test]
    fn an_unknown_file_is_not_found() {
        assert_eq!(file("v2model.p4"), None);
    }
}
