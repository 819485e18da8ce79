//! Faults of lab files: each is found, at its place, with its fix.

/// The faults of a file, each as `LINE:COLUMN message / help`.
fn faults(text: &str) -> Vec<String> {
    let faults = lab::parse(text).expect_err("the file is wrong");
    let one = |fault: &lab::Fault| {
        let (line, column) = faults.place(fault.span.start);
        let help = fault.help.as_deref().unwrap_or("-");
        format!("{line}:{column} {} / {help}", fault.message)
    };
    faults.list.iter().map(one).collect()
}

const PAIR: &str = "\
[node.a]
kind = 'generator'
[node.b]
kind = 'sink'
[[link]]
ends = ['a.0', 'b.0']
";

#[test]
fn a_good_file_has_none() {
    assert_eq!(lab::parse(PAIR).map(|lab| lab.name), Ok("lab".into()));
}

#[test]
fn a_filter_that_asks_for_the_direction_of_frames_is_refused() {
    // `inbound`, by tcpdump -ddd.
    let program = "4\n40 0 0 4294963204\n21 0 1 4\n6 0 0 0\n6 0 0 1\n";
    let filter = format!("[node.f]\nkind = 'filter'\nprogram = \"\"\"{program}\"\"\"\n");
    let found = faults(&format!("{filter}{PAIR}"));
    let first = found.first().map(String::as_str).unwrap_or_default();
    assert!(
        first.starts_with("3:") && first.contains("no direction"),
        "{found:?}"
    );
}

#[test]
fn several_faults_are_told_in_one_run_in_the_order_of_the_file() {
    let found = faults(
        "\
[lab]
nam = 'x'
[node.a]
kind = 'swich'
[node.b]
kind = 'sink'
[[link]]
ends = ['b.0', 'c.0']
rate = '0 b/s'
dealy = '1 s'
",
    );
    assert_eq!(
        found,
        [
            "2:1 unknown key `nam` / did you mean `name`?",
            "4:8 there is no kind of node called `swich` / did you mean `switch`?",
            "8:16 there is no node called `c` / add `[node.c]`",
            "9:8 a rate is at least 1 b/s, in whole bits a second; for a link on which a frame takes \
             no time write \"unlimited\" / -",
            "10:1 unknown key `dealy` / did you mean `delay`?",
        ]
    );
}

#[test]
fn faults_of_the_graph_are_shown_at_their_place_in_the_file() {
    let found = faults(&format!(
        "{PAIR}[[link]]\nends = ['a.0', 'b.7']\n[node.c]\nkind = 'echo'\n"
    ));
    assert_eq!(
        found,
        [
            "8:9 port `a.0` has two links; a port takes one / -",
            "8:16 `b` has 1 port(s), counted from 0: there is no `b.7` / -",
            "9:7 port `c.0` is not connected; add a link to it, or make the node with fewer ports / -",
        ]
    );
}

#[test]
fn a_node_refuses_what_it_cannot_be() {
    let text = PAIR.replace("kind = 'sink'", "kind = 'sink'\nports = 0");
    assert_eq!(
        faults(&text),
        ["5:9 `ports`: a sink has at least 1 port / -"]
    );
    let text = PAIR.replace("kind = 'generator'", "kind = 'generator'\ngap = '5 parsec'");
    assert_eq!(
        faults(&text),
        ["3:7 unknown or missing unit: ps, ns, us, ms, s, min, h are known / -"]
    );
    let text = PAIR.replace("kind = 'generator'", "kind = 'generator'\ncuont = 5");
    assert_eq!(
        faults(&text),
        ["3:1 unknown key `cuont` / did you mean `count`?"]
    );
}

#[test]
fn impairments_out_of_their_range_are_refused() {
    let text = format!(
        "{PAIR}loss = 1.5\nbit_error = 1\nreorder = 0.1\nqueue = '0 packets'\nback = {{ delay = 5 }}\n"
    );
    assert_eq!(
        faults(&text),
        [
            "7:8 a probability is from 0 (never) to 1 (always) / -",
            "8:13 a bit error ratio is at least 0 and below 1, such as 1e-9 / -",
            "9:11 frames are held up for no time, so none is overtaken / say for how long: \
             `reorder_by = \"10 us\"`",
            "10:9 a queue of 0 holds no frame; give it room for at least one / -",
            "11:18 invalid type: integer `5`, expected a time with its unit, such as \"10 ms\" / -",
        ]
    );
}

#[test]
fn views_must_be_at_ports_that_are_linked_and_files_must_tell_their_format() {
    let text = format!(
        "{PAIR}[[capture]]\nat = 'a'\nfile = 'x.txt'\n[[plot]]\nat = 'b.1'\nfile = 'x.gif'\n[[measure]]\n"
    );
    assert_eq!(
        faults(&text),
        [
            "8:6 `a` is a node: name one of its ports / write `a.0`",
            "9:8 the ending of \"x.txt\" tells no format / use .pcapng, .pcap, .phy",
            "11:6 no link ends at `b.1` / look at a port that a [[link]] names",
            "12:8 the ending of \"x.gif\" tells no format / use .png, .svg",
            "13:1 the key `at` is missing / add `at = \"a.0\"`",
        ]
    );
}

#[test]
fn copies_are_checked_like_what_they_are_copied_from() {
    let text = "\
[node.'h{n}']
each = 4
kind = 'generator'
source = '02:00:00:00:00:{n:02x}'
[node.switch]
kind = 'switch'
ports = 4
[[link]]
each = 4
ends = ['h{n}.0', 'switch.{n}']
";
    assert!(lab::parse(text).is_ok());
    assert_eq!(
        faults(&text.replace("each = 4\nkind", "each = 0\nkind"))[0],
        "2:8 not a number of copies / write a number, such as `each = 64`, or a range, such as \
         `each = \"1..65\"`, of 1 to 65536"
    );
    assert_eq!(
        faults(&text.replace("{n:02x}", "{m}"))[0],
        "4:10 `{m}` is not known / in a section with `each`, `{n}`, `{n+1}`, `{n+1%64}` and \
         `{n:02x}` are known"
    );
    assert_eq!(
        faults(&text.replace("each = 4\nends", "each = 5\nends"))[0],
        "10:9 there is no node called `h4` / add `[node.h4]`"
    );
}

#[test]
fn broken_syntax_is_told_as_such_and_nothing_else() {
    let found = faults("[node.a\nkind = 'sink'\n[[link]]\nends = [\n");
    assert!(found.len() >= 2, "{found:?}");
    assert!(found[0].starts_with("1:"), "{found:?}");
}

#[test]
fn huge_files_are_refused_at_once() {
    let text = "#".repeat(lab::MAX_FILE_LEN + 1);
    assert_eq!(lab::parse(&text).unwrap_err().list.len(), 1);
    let bomb =
        "[node.'a{n}']\neach = 65536\nkind = 'sink'\n[node.'b{n}']\neach = 65536\nkind = 'sink'\n";
    assert!(faults(bomb)[0].contains("a lab has at most 100000 nodes"));
}

#[test]
fn a_fault_is_shown_as_people_expect_it() {
    let text = format!("{PAIR}rate = \"fast\"\n");
    let shown = lab::parse(&text)
        .unwrap_err()
        .of_file("x/lab.toml")
        .to_string();
    assert_eq!(
        shown,
        "\
error: a number and its unit are wanted, such as \"10 Gb/s\"
 --> x/lab.toml:7:8
  |
7 | rate = \"fast\"
  |        ^^^^^^
"
    );
}

#[test]
fn a_lab_that_would_take_all_memory_is_refused() {
    let text = "\
[node.'s{n}']
each = 1000
kind = 'sink'
ports = 65535
";
    let found = faults(text);
    assert!(found[0].starts_with("1:7 the nodes of a lab have at most 200000 ports together"));
}

#[test]
fn a_node_of_no_kind_is_one_fault_and_what_refers_to_it_is_none() {
    let text = PAIR.replace("kind = 'sink'", "colour = 'red'");
    let views = "[[capture]]\nat = ['b.0', 'a.0']\nfile = 'x.pcap'\n";
    assert_eq!(
        faults(&format!("{text}{views}[[measure]]\nat = 'b'\n")),
        [
            "3:7 the node `b` has no `kind` / add `kind = \"switch\"`, or another kind",
            "11:6 `b` is a node: name one of its ports / write `b.0`",
        ]
    );
}

#[test]
fn faults_of_levels_and_clocks_are_told_with_their_mend() {
    let found = faults(&format!("{PAIR}clocks = [1, 2]\n"));
    assert_eq!(
        found,
        ["7:10 only a link at the level of blocks has clocks / add `level = \"block\"`"]
    );
    let with = |keys: &str| faults(&format!("{PAIR}level = 'block'\n{keys}\n"));
    let two = "a link has two clocks, one for each end / write how many ppm each is fast: \
               `clocks = [100, -100]`";
    assert_eq!(with("clocks = [1]"), [format!("8:10 {two}")]);
    assert_eq!(with("clocks = ['1 ppm', 0]"), [format!("8:11 {two}")]);
    assert_eq!(
        with("clocks = [100.5, {drift = 2000}]"),
        [
            "8:11 a clock is at most 100 ppm off, fast or slow / -",
            "8:18 a clock drifts by at most 1000 ppm a second / -",
        ]
    );
    assert_eq!(
        with("clocks = [0, {ppm = 1, drif = 2}]"),
        ["8:24 unknown key `drif` / did you mean `drift`?"]
    );
    assert_eq!(
        with("clocks = [0, {temperature = [['1 s', 20], ['1 s', 30]]}]"),
        [
            "8:14 the times of temperatures go up, and there are at most 1000 / write \
          `temperature = [[\"0 s\", 20], [\"60 s\", 45]]`"
        ]
    );
    assert_eq!(
        with("rate = '1 Gb/s'"),
        ["6:9 a link at the level of blocks is 10GBASE-R: its rate is 10 Gb/s, not another / -"]
    );
    assert_eq!(
        with("gap = 4"),
        ["6:9 a link at the level of blocks has a gap of at least 8 bytes / -"]
    );
    let unknown = faults(&format!("{PAIR}level = 'blocks'\n"));
    assert!(unknown[0].starts_with("7:9 "), "{unknown:?}");
    assert!(
        unknown[0].contains("`frame`") || unknown[0].contains("`block`"),
        "{unknown:?}"
    );
}
