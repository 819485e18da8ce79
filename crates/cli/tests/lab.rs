//! `wire lab` as people and scripts meet it.

use crate::shell::{can_unshare, is_root};
use std::path::Path;
use std::process::{Command, Output};

fn lab(name: &str, text: &str, arguments: &[&str]) -> Output {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("lab.toml");
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_wire"));
    command.arg("lab").arg(&file).args(arguments);
    command.output().unwrap()
}

const PAIR: &str = "\
[node.a]
kind = 'generator'
count = 5
[node.b]
kind = 'sink'
[[link]]
ends = ['a.0', 'b.0']
";

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_good_lab_is_reported_and_ends_well() {
    let output = lab("good", PAIR, &[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text(&output.stdout).contains("b.0        5     0"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn the_report_begins_with_the_verdict_and_detail_is_asked_for() {
    let lossy = format!("{PAIR}loss = 1.0\n");
    let output = text(&lab("verdict", &lossy, &[]).stdout);
    let first = output.lines().next().unwrap();
    assert!(first.ends_with("5 drops"), "{output}");
    assert!(
        output.contains("a.0 -> b.0  lost on the way       5"),
        "{output}"
    );
    let whole = text(&lab("verdict-whole", PAIR, &[]).stdout);
    assert!(
        whole.starts_with("lab: 5 of 5 probes arrived, mean delay 0"),
        "{whole}"
    );
    assert!(
        whole.contains("nothing came to a.0") && !whole.contains("longest queue"),
        "{whole}"
    );
    let verbose = text(&lab("verdict-verbose", PAIR, &["-v"]).stdout);
    assert!(verbose.contains("longest queue"), "{verbose}");
}

#[test]
fn a_lab_runs_many_times_and_what_is_wrong_is_told_at_its_place() {
    let axes = ["--sweep", "link.0.rate=1Gb/s..10Gb/s:4", "--seeds", "3"];
    let plot = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sweep/rates.svg");
    let arguments = [
        &axes[..],
        &[
            "--measure",
            "throughput,drops",
            "--plot",
            plot.to_str().unwrap(),
        ],
    ]
    .concat();
    let output = lab("sweep", PAIR, &arguments);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        told.starts_with("lab: 12 runs at 4 points, seeds 0 to 2"),
        "{told}"
    );
    assert!(
        told.lines()
            .any(|line| line.starts_with("10 Gb/s") && line.ends_with("0 ± 0")),
        "{told}"
    );
    assert!(
        std::fs::read_to_string(plot)
            .unwrap()
            .contains("link.0.rate [Gb/s]")
    );
    let json = text(&lab("sweep", PAIR, &[&axes[..], &["--json"]].concat()).stdout);
    let kinds: Vec<String> = json
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|line| format!("{} {}", line["schema"], line["type"]))
        .collect();
    assert_eq!(kinds[0], "\"wireline.lab/1\" \"sweep\"");
    assert_eq!(kinds[1..], vec!["\"wireline.lab/1\" \"point\""; 4]);
    let wrong = lab("sweep", PAIR, &["--sweep", "link.0.loss=0.5,2"]);
    let told = text(&wrong.stderr);
    assert!(
        told.contains("lab.toml:6:1") && told.contains("with link.0.loss = 2"),
        "{told}"
    );
    assert!(wrong.stdout.is_empty() && !wrong.status.success());
}

#[test]
fn a_network_is_drawn_in_each_format() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("topology");
    for (file, begin) in [
        ("n.svg", &b"<svg"[..]),
        ("n.png", b"\x89PNG"),
        ("n.dot", b"graph"),
    ] {
        let path = folder.join(file);
        let output = lab("topology", PAIR, &["--topology", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(std::fs::read(path).unwrap().starts_with(begin), "{file}");
    }
    assert!(
        !lab("topology", PAIR, &["--topology", "n.gif"])
            .status
            .success()
    );
}

#[test]
fn json_is_one_object_a_line() {
    let output = lab("json", PAIR, &["--json", "--seed", "9"]);
    let first = text(&output.stdout).lines().next().unwrap().to_string();
    let run: serde_json::Value = serde_json::from_str(&first).unwrap();
    assert_eq!((&run["type"], &run["seed"]), (&"run".into(), &9.into()));
}

#[test]
fn a_plot_of_delays_where_no_probe_came_is_not_written_and_said() {
    let transfer = "[node.a]\nkind = 'host'\naddress = '10.0.0.1'\n[[node.a.program]]\nrun = 'bulk'\nto = '10.0.0.2'\n\
        bytes = '1000'\ncount = 1\n[node.b]\nkind = 'host'\naddress = '10.0.0.2'\n[[node.b.program]]\nrun = 'sink'\n\
        [[link]]\nends = ['a.0', 'b.0']\n[[plot]]\nfile = 'd.svg'\nkind = 'delay'\nat = 'b.0'\n";
    let output = lab("empty-plot", transfer, &[]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("d.svg: nothing to draw: no frame there tells when it left"),
        "{told}"
    );
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("empty-plot");
    assert!(!folder.join("d.svg").exists());
    let drawn = format!("{PAIR}[[plot]]\nfile = 'd.svg'\nkind = 'delay'\nat = 'b.0'\n");
    assert_eq!(lab("drawn-plot", &drawn, &[]).status.code(), Some(0));
}

#[test]
fn a_check_tells_what_would_never_end() {
    let fat_tree = "[topology]\nkind = 'fat-tree'\n[[node.h1.program]]\nrun = 'bulk'\nto = 'h16'\n\
        [[node.h16.program]]\nrun = 'sink'\n";
    let told = text(&lab("endless-check", fat_tree, &["--check"]).stdout);
    let why = "good, but nothing bounds a run: `h1` runs bulk without `duration`, or `bytes` and `count`; \
               write `duration = \"10 s\"` under [lab], or --duration 10s";
    assert!(told.contains(why), "{told}");
    let generator = PAIR.replace("count = 5\n", "");
    let told = text(&lab("endless-check-2", &generator, &["--check"]).stdout);
    assert!(
        told.contains("`a` generates without `count` or `duration`"),
        "{told}"
    );
    let bounded = format!("[lab]\nduration = '1 s'\n{fat_tree}");
    for (name, lab_file, arguments) in [
        ("bounded-1", &bounded[..], &["--check"][..]),
        ("bounded-2", fat_tree, &["--check", "--duration", "1s"]),
        ("bounded-3", PAIR, &["--check"]),
    ] {
        let told = text(&lab(name, lab_file, arguments).stdout);
        assert!(told.ends_with("lab.toml: good\n"), "{told}");
    }
}

#[test]
fn a_faulty_lab_ends_with_2_and_says_where() {
    let output = lab("faulty", &PAIR.replace("count", "cuont"), &["--check"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("lab.toml:3:1"), "{said}");
    assert!(said.contains("did you mean `count`?"), "{said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_capture_that_cannot_be_made_ends_with_2() {
    let text_with_capture = format!("{PAIR}[[capture]]\nat = 'b.0'\nfile = 'x.pcapng'\n");
    let output = lab(
        "unwritable",
        &text_with_capture,
        &["--out", "/proc/nowhere"],
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("/proc/nowhere/x.pcapng"));
}

#[test]
fn an_endless_lab_ends_by_interrupt_with_its_report() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("endless");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("lab.toml");
    std::fs::write(&file, PAIR.replace("count = 5", "gap = '1 us'")).unwrap();
    // `timeout` exits with 124 when it had to interrupt; with --preserve-status as the command does.
    let output = Command::new("timeout")
        .args(["--preserve-status", "-s", "INT", "1"])
        // The tests may have been started with signals ignored.
        .args(["env", "--default-signal"])
        .arg(env!("CARGO_BIN_EXE_wire"))
        .arg("lab")
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(
        said.lines().any(|line| line.ends_with(", stopped")),
        "{said}"
    );
}

/// A live lab in a chroot whose root is no mount point, and then in one whose root is one. All in a mount namespace of the test's
/// own, whose mounts are shared with nobody but those made from it: what leaks is seen there, and goes no further.
const CHROOT: &str = r#"
mount --make-rshared /
root=$PWD/root
mkdir -p $root/tmp $root/wire
for folder in bin sbin lib lib32 lib64 usr etc dev proc sys; do
    if [ -L /$folder ]; then cp -P /$folder $root/; continue; fi
    [ -d /$folder ] || continue
    mkdir $root/$folder
    mount --rbind /$folder $root/$folder
done
mount --bind "$WIRE" $root/wire
cp lab.toml $root/
try() {
    before=$(sort /proc/self/mountinfo; cat /etc/hosts)
    code=0
    chroot $root /wire/wire lab /lab.toml --world live 2>&1 || code=$?
    echo "exit $code"
    [ "$before" = "$(sort /proc/self/mountinfo; cat /etc/hosts)" ] && echo "nothing leaked"
    [ -e $root/tmp/ran ] && echo "it ran"
    true
}
try
echo ---
mount --rbind $root $root
try
"#;

#[test]
fn programs_of_a_lab_do_not_start_where_their_mounts_would_come_to_the_machine() {
    let test = "a lab in a chroot";
    if !is_root(test) || !can_unshare("--mount", test) {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chroot");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let lab = "\
[node.a]
kind = 'process'
address = '10.0.0.1/24'
run = 'getent hosts b && touch /tmp/ran'
[node.b]
kind = 'process'
address = '10.0.0.2/24'
[[link]]
ends = ['a.0', 'b.0']
";
    std::fs::write(folder.join("lab.toml"), lab).unwrap();
    let mut command = Command::new("timeout");
    command.args(["50", "unshare", "--mount", "--propagation", "private"]);
    command
        .args(["bash", "-e", "-c", CHROOT])
        .current_dir(&folder);
    command.env(
        "WIRE",
        Path::new(env!("CARGO_BIN_EXE_wire")).parent().unwrap(),
    );
    let output = command.output().unwrap();
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    let (plain, mounted) = said.split_once("---\n").expect("both");
    assert!(
        plain.contains("keeping its mounts from the machine"),
        "{said}{errors}"
    );
    assert!(plain.contains("exit 1\nnothing leaked\n"), "{said}{errors}");
    assert!(!plain.contains("it ran"), "{said}");
    assert!(
        mounted.contains("exit 0\nnothing leaked\nit ran\n"),
        "{said}{errors}"
    );
}

#[test]
fn keys_are_set_and_a_drop_is_explained_on_the_command_line() {
    let text_of = |name: &str, arguments: &[&str]| {
        let output = lab(name, PAIR, arguments);
        text(&[output.stdout, output.stderr].concat())
    };
    let set = ["--set", "node.a.count=40", "--set", "node.a.rate=2 Gb/s"];
    let slow = ["--set", "link.0.rate=1 Gb/s"];
    let queue = ["--set", "link.0.forth.queue=pfifo limit 4"];
    let all = [&set[..], &slow, &queue].concat();
    let told = text_of("set", &all);
    assert!(
        told.contains("of 40 probes arrived") && told.contains("full"),
        "{told}"
    );
    let told = text_of("why", &[&all[..], &["--why", "3"]].concat());
    assert!(
        told.contains("of a.0 was dropped, reason full: 3 of"),
        "{told}"
    );
    assert!(
        told.lines()
            .any(|line| line.starts_with("limit ") && line.contains(" 4 ")),
        "{told}"
    );
    // Many runs have the keys, too.
    let many = [&all[..], &["--seeds", "3", "--measure", "drops"]].concat();
    let told = text_of("set-many", &many);
    assert!(
        told.starts_with("lab: 3 runs") && !told.contains(" 0 ± 0"),
        "{told}"
    );
    for (arguments, wanted) in [
        (&["--set", "link.0.rate"][..], "write a key and a value"),
        (&["--set", "link.7.rate=1Gb/s"], "there is no `7`"),
        (
            &["--why", "1"],
            "no link of this lab has a queue discipline",
        ),
        (
            &["--set", "link.0.queue=codel limit x"],
            "`x`: a whole number is wanted",
        ),
        (&["--why", "1", "--seeds", "3"], "cannot be used with"),
    ] {
        let told = text_of("set-wrong", arguments);
        assert!(told.contains(wanted), "{arguments:?}: {told}");
    }
}
