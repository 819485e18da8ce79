//! Scenario files of Unbound and Deckard (`.rpl`), played to a forwarder or resolver.
//!
//! They are not part of this repository. The environment variable `WIRE_RPL` names a folder with such files, for example a
//! checkout's `testdata`; without it the test says that it was skipped. Scenarios that need another program's features are
//! counted with the feature. A response matches when code, question, answer section and the presence of a SOA record are as
//! expected; the rest of authority and additional section is a server's choice.

mod file;
mod play;

use std::collections::BTreeMap;
use std::path::Path;

/// Scenarios that may fail, with the reason; all others must pass.
const DIFFERENT: &[(&str, &str)] = &[
    (
        "fetch_glue_cname",
        "the name of a server is an alias (RFC 2181 section 10.3)",
    ),
    ("iter_auth_tc", "no TCP: TC goes to the client"),
    ("iter_cycle_noh", "glue of another zone is not taken"),
    (
        "iter_dname_insec",
        "Deckard: an alias of itself is an error; Unbound: it is not, as here",
    ),
    (
        "iter_lame_aaaa",
        "Deckard: an empty response with AA and the root's servers is an error; Unbound: it is not, as here",
    ),
    (
        "iter_minim_a",
        "minimised queries of type NS; here they are of type A (RFC 9156 section 2.1)",
    ),
    ("iter_minim_a_nxdomain", "minimised queries of type NS"),
    (
        "iter_minim_nonempty",
        "a query without RD, which is refused here",
    ),
    ("iter_minim_ns", "minimised queries of type NS"),
    ("iter_ns_badip", "minimised queries of type NS"),
    (
        "iter_pcdiff",
        "a zone's own servers and addresses replace those of its parent; here the parent's count",
    ),
    ("iter_pcdirect", "as iter_pcdiff"),
    ("iter_pcnamech", "as iter_pcdiff"),
    ("iter_pcnamechrec", "as iter_pcdiff"),
    ("iter_pcnamerec", "as iter_pcdiff"),
    (
        "iter_ranoaa_lame",
        "an empty response without SOA and AA that names the zone's own servers is an error here",
    ),
    (
        "iter_unexpectedrrtype",
        "Deckard: a response with records of another type is empty; here an error",
    ),
    ("local_ds", "built-in zones of Unbound"),
    (
        "trust_cname_chain",
        "each alias of a zone is asked for again; here a server of the zone may answer for all of it",
    ),
    ("ttl_msg", "a query without RD, which is refused here"),
];

fn files(folder: &Path, all: &mut Vec<std::path::PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("a folder");
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            files(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rpl") {
            all.push(path);
        }
    }
}

#[test]
fn scenarios_of_other_implementations_pass() {
    let Ok(folder) = std::env::var("WIRE_RPL") else {
        println!("skipped: WIRE_RPL names no folder of scenarios");
        return;
    };
    let mut all = Vec::new();
    files(Path::new(&folder), &mut all);
    all.sort();
    let (mut passed, mut failed) = (0, Vec::new());
    let mut skipped: BTreeMap<String, usize> = BTreeMap::new();
    for path in &all {
        let text = std::fs::read(path).expect("a file");
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let scenario = file::parse(&String::from_utf8_lossy(&text));
        if name.starts_with("module_") {
            *skipped
                .entry("modules of the Knot Resolver".into())
                .or_default() += 1;
            continue;
        }
        match scenario.and_then(|scenario| play::play(&scenario)) {
            Ok(()) => passed += 1,
            Err(play::Stop::Unsupported(reason)) => *skipped.entry(reason).or_default() += 1,
            Err(play::Stop::Failed(reason)) => failed.push((name, reason)),
        }
    }
    println!(
        "{} scenarios: {passed} passed, {} failed",
        all.len(),
        failed.len()
    );
    for (reason, count) in &skipped {
        println!("{count} not played: {reason}");
    }
    let mut unexpected = 0;
    for (name, reason) in &failed {
        let known = DIFFERENT.iter().find(|(other, _)| other == name);
        unexpected += usize::from(known.is_none());
        println!(
            "{name}: {reason} [{}]",
            known.map_or("unexpected", |known| known.1)
        );
    }
    assert!(passed > 0, "no scenario was played");
    assert_eq!(unexpected, 0);
}
