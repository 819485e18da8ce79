//! `wire p4`: our own corpus in both engines, and what is said when a test or a program fails.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn wire(arguments: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_wire"))
        .arg("p4")
        .args(arguments)
        .current_dir(root())
        .output();
    command.unwrap()
}

fn scratch(name: &str, text: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_corpus_passes_in_both_engines() {
    let mut folders = vec![root().join("testdata/p4")];
    let examples = std::fs::read_dir(root().join("examples")).unwrap();
    folders.extend(
        examples
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir()),
    );
    let (mut tests, mut met) = (0, 0);
    for folder in folders {
        let has_tests = std::fs::read_dir(&folder).unwrap().any(|entry| {
            entry
                .unwrap()
                .path()
                .extension()
                .is_some_and(|e| e == "stf")
        });
        if !has_tests {
            continue;
        }
        let ran = wire(&["test", folder.to_str().unwrap(), "--json"]);
        let out = text(&ran.stdout);
        assert!(
            ran.status.success(),
            "{}: {out}{}",
            folder.display(),
            text(&ran.stderr)
        );
        for line in out.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["schema"], "wireline.p4/1");
            assert_eq!(line["type"], "test");
            tests += 1;
            met += line["met"].as_u64().unwrap();
        }
    }
    println!("{tests} runs, {met} expectations");
    assert!(
        tests >= 40 && met >= 400,
        "{tests} runs, {met} expectations: the corpus is not all here"
    );
}

#[test]
fn a_packet_that_differs_is_shown_below_the_one_that_is_wanted() {
    let stf = scratch(
        "differs.stf",
        "packet 0 00 f0 20 00\nexpect 1 00 f0 20 fe $\n",
    );
    let ran = wire(&["test", "testdata/p4/arithmetic.p4", &stf]);
    assert_eq!(ran.status.code(), Some(1));
    let out = text(&ran.stdout);
    assert!(out.contains("FAILED"), "{out}");
    assert!(out.contains("port 1: byte 3 differs\n    wanted 00f020fe\n    got    00f020ff\n                  ^\n"), "{out}");
}

#[test]
fn an_unknown_command_of_a_test_is_never_passed_over() {
    let stf = scratch("unknown.stf", "frobnicate 7\n");
    let ran = wire(&["test", "testdata/p4/arithmetic.p4", &stf]);
    assert_eq!(ran.status.code(), Some(1));
    assert!(
        text(&ran.stdout).contains(":1: there is no command `frobnicate`"),
        "{}",
        text(&ran.stdout)
    );
}

#[test]
fn several_errors_are_told_in_one_run_with_their_lines() {
    let program = scratch(
        "wrong.p4",
        "#include <core.p4>\nheader h_t { bit<8> a; }\ncontrol c(inout h_t h) {\n    apply {\n        h.b = 1;\n        h.a = true;\n    }\n}\n",
    );
    let ran = wire(&["check", &program]);
    assert_eq!(ran.status.code(), Some(1));
    let told = text(&ran.stderr);
    assert!(told.contains("wrong.p4:5:11: error:"), "{told}");
    assert!(told.contains("wrong.p4:6:15: error:"), "{told}");
    assert!(told.contains("2 errors"), "{told}");
    let json = wire(&["check", "--json", &program]);
    let out = text(&json.stdout);
    let first: serde_json::Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!(
        (first["line"].as_u64(), first["severity"].as_str()),
        (Some(5), Some("error"))
    );
}

#[test]
fn a_trace_tells_tables_actions_and_fields() {
    let entries = scratch("entries.txt", "table add longest 1 0x80/1 do set 7\n");
    let ran = wire(&[
        "trace",
        "testdata/p4/matches.p4",
        "--entries",
        &entries,
        "--packet",
        "0:01018100",
    ]);
    let out = text(&ran.stdout);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    assert!(
        out.contains("extract h.data: op = 1, a = 1, b = 129, c = 0"),
        "{out}"
    );
    assert!(out.contains("longest") && out.contains("set"), "{out}");
    assert!(out.contains("h.data.c: 0 -> 7"), "{out}");
    let json = wire(&[
        "trace",
        "testdata/p4/matches.p4",
        "--json",
        "--packet",
        "0:01018100",
    ]);
    let line = text(&json.stdout);
    assert!(
        serde_json::from_str::<serde_json::Value>(line.lines().next().unwrap()).is_ok(),
        "{line}"
    );
}

/// A user's folder: a program, its test and entries, and the corpus beside them.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let example = root().join("examples/p4-l2l3");
    for (from, to) in [
        ("l2l3.p4", "router.p4"),
        ("l2l3.stf", "router.stf"),
        ("entries.txt", "entries.txt"),
    ] {
        std::fs::copy(example.join(from), folder.join(to)).unwrap();
    }
    for shared in ["testdata", "examples"] {
        let shared = root().join(shared);
        let place = folder.join(shared.file_name().unwrap());
        std::os::unix::fs::symlink(shared, place).unwrap();
    }
    folder
}

/// Runs commands as they stand in a document, one by one.
fn run_commands(commands: &[&str], place: &Path) {
    let bin = Path::new(env!("CARGO_BIN_EXE_wire")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    for command in commands {
        let ran = Command::new("sh")
            .args(["-c", command])
            .env("PATH", &path)
            .current_dir(place)
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let told = text(&ran.stdout) + &text(&ran.stderr);
        assert!(ran.status.success(), "{command}\n{told}");
    }
}

#[test]
fn the_commands_of_the_book_s_chapter_run_as_they_stand() {
    let book = include_str!("../../../docs/book/src/p4.md");
    let lines = book.lines().filter_map(|line| line.strip_prefix("$ "));
    // What needs ports is run on ports elsewhere, and `lsp` by an editor.
    let commands: Vec<&str> = lines
        .filter(|line| line.starts_with("wire p4 ") && !line.contains("--control "))
        .collect();
    assert!(commands.len() >= 8, "only {commands:?}");
    run_commands(&commands, &folder("p4-book"));
}

#[test]
fn the_commands_of_the_readme_run_as_they_stand() {
    let readme = include_str!("../../../README.md");
    let ports = |line: &&str| line.starts_with("wire p4 ") && !line.contains("--on ");
    let commands: Vec<&str> = readme.lines().filter(ports).collect();
    assert!(commands.len() >= 2, "only {commands:?}");
    run_commands(&commands, &folder("p4-readme"));
}

/// The exercise of our own, in a folder of the test's.
fn exercise(name: &str) -> PathBuf {
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&to);
    std::fs::create_dir_all(to.join("net")).unwrap();
    let from = root().join("testdata/p4-exercise");
    for file in [
        "Makefile",
        "pair.p4",
        "net/topology.json",
        "net/s1-runtime.json",
        "net/s2-runtime.json",
    ] {
        std::fs::copy(from.join(file), to.join(file)).unwrap();
    }
    to
}

#[test]
fn a_program_sees_what_waits_for_a_slow_link_and_its_ports_may_be_without_any() {
    let program = root().join("testdata/p4-exercise/pair.p4");
    let lab = format!(
        "[node.g]\nkind = 'generator'\ngap = '1 ms'\ncount = 100\nip_destination = '10.0.2.2'\n\
         [node.astray]\nkind = 'generator'\ncount = 5\nip_destination = '10.0.9.9'\n\
         [node.s1]\nkind = 'p4'\nprogram = '{}'\nports = 6\np4runtime = '127.0.0.1:50051'\n\
         control = ['table add route 10.0.2.0/24 do forward 02:00:00:00:00:09 3',\
         'table add route 10.0.9.0/24 do forward 02:00:00:00:00:09 5']\n\
         [node.b]\nkind = 'sink'\n\
         [[link]]\nends = ['g.0', 's1.1']\n[[link]]\nends = ['astray.0', 's1.2']\n\
         [[link]]\nends = ['s1.3', 'b.0']\nrate = '0.5 Mb/s'\n[[capture]]\nat = 'b.0'\nfile = 'depths.pcapng'\n",
        program.display()
    );
    let file = scratch("depths.toml", &lab);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wire"));
        let ran = command.args(arguments).output().unwrap();
        assert!(ran.status.success(), "{}", text(&ran.stderr));
        text(&ran.stdout)
    };
    let report = run(&["lab", &file]);
    assert!(
        report.contains("s1     sent by a port that has no link       5")
            && report.contains("P4Runtime at 127.0.0.1:50051 is not served"),
        "{report}"
    );
    let capture = Path::new(&file).with_file_name("depths.pcapng");
    let column = run(&["cut", "6", capture.to_str().unwrap()]);
    let depths = column
        .lines()
        .map(|tos| u32::from_str_radix(tos, 16).unwrap() >> 2);
    let depths: Vec<u32> = depths.collect();
    // A frame comes each millisecond, and takes 1.344 ms to leave: after N of them N - N / 1.344 wait.
    assert_eq!(depths.len(), 100);
    for (before, depth) in depths.iter().enumerate() {
        let wait = before as f64 * (1.0 - 1.0 / 1.344);
        assert!((f64::from(*depth) - wait).abs() < 2.0, "{depths:?}");
    }
}

#[test]
fn what_is_wrong_with_an_exercise_is_told_at_its_place() {
    let folder = exercise("exercise-faults");
    let place = folder.to_str().unwrap();
    let good = wire(&["tutorial", place, "-o", "-"]);
    assert!(good.status.success(), "{}", text(&good.stderr));
    assert!(text(&good.stdout).contains("mirror add 7 3:1 truncate 64"));
    let cases: &[(&str, &str, &str, &str)] = &[
        (
            "net/topology.json",
            "\"mac\"",
            "\"mc\"",
            "topology.json: unknown field `mc`, expected one of `ip`, `mac`, `commands` at line 5 column 10",
        ),
        (
            "net/topology.json",
            "s1-p3",
            "s1p3",
            "net/topology.json: links[1][0]: there is no host `s1p3`",
        ),
        (
            "net/topology.json",
            "s1-p3",
            "s1-p1",
            "links[1][0]: \"s1-p1\" has a link already, links[0]",
        ),
        (
            "net/topology.json",
            "s1-p3",
            "s1-p700",
            "links[1][0]: `p700` is no port such as `p2`",
        ),
        (
            "net/topology.json",
            "s1-p3",
            "s7-p1",
            "links[1][0]: there is no switch `s7`",
        ),
        (
            "net/topology.json",
            "0.5",
            "-1",
            "links[1][3]: -1 is no rate in Mb/s",
        ),
        (
            "net/topology.json",
            "1ms",
            "1 fortnight",
            "links[1][2]: \"1 fortnight\" is no latency",
        ),
        (
            "net/topology.json",
            "10.0.1.1/24",
            "10.0.1.1/40",
            "hosts.h1.ip: `10.0.1.1/40` is no address",
        ),
        (
            "net/topology.json",
            "08:00:00:00:01:11",
            "09:00:00:00:01:11",
            "hosts.h1.mac: `09:00:00:00:01:11` is no station's",
        ),
        (
            "net/topology.json",
            "\"510\"",
            "\"cpu\"",
            "switches.s2.cpu_port: \"cpu\" is no number of a port",
        ),
        (
            "net/topology.json",
            "\"runtime_json\": \"net/s1-runtime.json\"",
            "\"cli_input\": \"s1.txt\"",
            "switches.s1.cli_input: commands of simple_switch_CLI",
        ),
        (
            "net/topology.json",
            "\"h2\": {",
            "\"h1\": {",
            "`h1` stands twice at line 8",
        ),
        (
            "net/topology.json",
            "[\"h2\", \"s2-p1\"]",
            "[\"h2\"]",
            "links[2]: a link is a list of its two ends",
        ),
        (
            "net/topology.json",
            ", [\"h2\", \"s2-p1\"]",
            "",
            "hosts.h2: no link leads to this host",
        ),
        (
            "net/s1-runtime.json",
            "\"bmv2\"",
            "\"tofino\"",
            "net/s1-runtime.json: target: `tofino` is not `bmv2`",
        ),
        (
            "net/s1-runtime.json",
            "build/pair.p4.p4info",
            "build/other.p4.p4info",
            "p4info: `build/other.p4.p4info.txtpb` is not that of",
        ),
        (
            "net/s1-runtime.json",
            "build/pair.json",
            "build/other.json",
            "other.p4",
        ),
        (
            "net/s1-runtime.json",
            "\"In.drop\"",
            "\"In.dorp\"",
            "table_entries[0].action_name: there is no action in table `In.route` `In.dorp`",
        ),
        (
            "net/s1-runtime.json",
            "\"table\": \"In.refused\"",
            "\"table\": \"In.refusd\"",
            "table_entries[3].table: there is no table `In.refusd`",
        ),
        (
            "net/s1-runtime.json",
            "hdr.ipv4.dstAddr",
            "hdr.ipv4.dst",
            "table_entries[1].match[\"hdr.ipv4.dst\"]: table `In.route` has the keys hdr.ipv4.dstAddr",
        ),
        (
            "net/s1-runtime.json",
            "[\"10.0.1.1\", 32]",
            "\"10.0.1.1\"",
            "the key is lpm: write [VALUE, LENGTH]",
        ),
        (
            "net/s1-runtime.json",
            "[\"10.0.1.1\", 32]",
            "[\"ten\", 32]",
            "\"ten\" is neither a number",
        ),
        (
            "net/s1-runtime.json",
            "\"port\": 1 ",
            "\"port\": 512 ",
            "table_entries[1]: ",
        ),
        (
            "net/s1-runtime.json",
            "\"port\": 1 ",
            "\"port\": -257 ",
            "table_entries[1].action_params[\"port\"]: -257 does not fit in 9 bits",
        ),
        (
            "net/s1-runtime.json",
            "\"port\": 1 ",
            "\"prt\": 1 ",
            "action_params[\"prt\"]: action `In.forward` takes station, port",
        ),
        (
            "net/s1-runtime.json",
            "\"priority\": 10",
            "\"priority\": 0",
            "table_entries[3].priority: `hdr.ipv4.srcAddr` of `In.refused`",
        ),
        (
            "net/s1-runtime.json",
            "\"priority\"",
            "\"prio\"",
            "unknown field `prio`",
        ),
        (
            "net/s1-runtime.json",
            "\"default_action\": true",
            "\"default_action\": true, \"match\": { \"hdr.ipv4.dstAddr\": [1, 1] }",
            "table_entries[0].match: a default action matches nothing",
        ),
        (
            "net/s1-runtime.json",
            "{ \"egress_port\": 3, \"instance\": 1 }] }\n  ],\n  \"clone",
            "{ \"egress_port\": 1, \"instance\": 1 }] }\n  ],\n  \"clone",
            "multicast_group_entries[0]: ",
        ),
        (
            "Makefile",
            "net/topology.json",
            "net/network.json",
            "network.json: name the network's file with --topology",
        ),
    ];
    for (file, from, to, told) in cases {
        let path = folder.join(file);
        let was = std::fs::read_to_string(&path).unwrap();
        assert!(was.contains(from), "{from}");
        std::fs::write(&path, was.replacen(from, to, 1)).unwrap();
        let ran = wire(&["tutorial", place, "-o", "-"]);
        let said = text(&ran.stderr);
        assert!(
            ran.status.code() == Some(2) && said.contains(told),
            "{file}: {to}: {told}\n{said}"
        );
        std::fs::write(&path, was).unwrap();
    }

    // Neither an other's file nor an old lab's folder is harmed.
    std::fs::write(folder.join("lab.toml"), "[lab]\n").unwrap();
    let refused = wire(&["tutorial", place]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(
        std::fs::read_to_string(folder.join("lab.toml")).unwrap(),
        "[lab]\n"
    );
    let missing = wire(&["tutorial", place, "--solution", "-o", "-"]);
    assert!(text(&missing.stderr).contains("no folder `solution`"));
}

#[test]
fn what_a_target_cannot_do_is_told_with_the_place_that_asks_for_it() {
    let program = "testdata/p4/queue_depths.p4";
    let of_file = std::fs::read_to_string(root().join(program)).unwrap();
    let asked = of_file.find("h.data.a").unwrap()..of_file.rfind("    }").unwrap();
    let mut under_a_condition = of_file.clone();
    under_a_condition.replace_range(asked, "if (s.deq_qdepth > 3)\n h.data.c = 1;\n");
    let folder = root().join("testdata/p4");
    let conditional = scratch("queue_depths_condition.p4", &under_a_condition);
    for target in ["verilog", "xdp"] {
        for (program, line) in [(program, 11), (&conditional, 12)] {
            let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("not-made");
            let made = made.to_str().unwrap();
            let include = folder.to_str().unwrap();
            let told = wire(&[
                "compile", "--target", target, program, "-I", include, "-o", made,
            ]);
            let told = text(&told.stderr);
            let place = format!("wire: {program}:{line}:");
            assert!(told.starts_with(&place) && told.contains("queue"), "{told}");
            assert!(told.contains("leave out `enq_qdepth`"), "{told}");
        }
    }
}
