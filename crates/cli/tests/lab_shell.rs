//! `wire lab --shell`: a lab that goes on when it is told to.

use crate::shell::{Ended, Place};
use std::process::{Command, Stdio};

const ROW: &str = "\
[lab]
name = 'row'
[topology]
kind = 'linear'
switches = 3
link = { rate = '100 Mb/s', delay = '1 ms' }
";

/// What a lab answers to these commands.
fn told(place: &Place, lab: &str, commands: &str) -> Ended {
    place.write("lab.toml", lab);
    place.write("commands", commands);
    place.run("wire lab --shell lab.toml < commands")
}

#[test]
fn hosts_ping_each_other_until_a_link_goes_down_and_again_when_it_is_up() {
    let place = Place::new("shell");
    let commands = "pingall\nlink s1 s2 down\npingall\nlink s2 s1 up\nh1 ping h3\n";
    let out = told(&place, ROW, commands).good();
    let expected = "\
6 of 6 pings were answered
h1 -> h2 h3
h2 -> h1 h3
h3 -> h1 h2
link s1 - s2 down
2 of 6 pings were answered
h1 -> X X
h2 -> X h3
h3 -> X h2
link s2 - s1 up
";
    let rest = out
        .strip_prefix(expected)
        .unwrap_or_else(|| panic!("{out}"));
    assert!(rest.starts_with("h1 -> h3: answer after "), "{rest}");
    // The same words give the same answers.
    assert_eq!(told(&place, ROW, commands).good(), out);
}

#[test]
fn routers_ping_show_their_tables_and_are_seen_by_traceroute() {
    let place = Place::new("shell-routers");
    let mut lab = String::from("[lab]\nname = 'chain'\n");
    for number in 0..3 {
        let (before, after) = (number, number + 1);
        lab += &format!(
            "[node.r{number}]
kind = 'router'
route = ['10.0.0.0/24 via 10.0.{before}.1', '10.0.3.0/24 via 10.0.{after}.2']
[[node.r{number}.port]]
address = '10.0.{before}.2/24'
[[node.r{number}.port]]
address = '10.0.{after}.1/24'
"
        );
    }
    let lab = lab
        .replace("route = ['10.0.0.0/24 via 10.0.0.1', ", "route = [")
        .replace(", '10.0.3.0/24 via 10.0.3.2']", "]")
        + "[node.h1]
kind = 'host'
address = '10.0.0.1/24'
gateway = '10.0.0.2'
[node.h2]
kind = 'host'
address = '10.0.3.2/24'
gateway = '10.0.3.1'
[[link]]
ends = ['h1.0', 'r0.0']
[[link]]
ends = ['r0.1', 'r1.0']
[[link]]
ends = ['r1.1', 'r2.0']
[[link]]
ends = ['r2.1', 'h2.0']
";
    let commands = "h1 traceroute h2\nr1 ping h2\nh1 ping 10.0.3.77\nh2 ping 192.0.2.1\nr1 show ip route\nr1 show nat\npingall\n";
    let out = told(&place, &lab, commands).good();
    let lines: Vec<&str> = out.lines().collect();
    for (line, begin) in [
        "h1 -> h2",
        " 1  10.0.0.2  ",
        " 2  10.0.1.2  ",
        " 3  10.0.2.2  ",
        " 4  h2  ",
        "r1 -> h2: answer after ",
        // The last router needs three seconds to find that out.
        "h1 -> 10.0.3.77: no answer within 1 s",
        "h2 -> 192.0.2.1: network unreachable, from 10.0.3.1 after ",
        "routes: 4 entries",
        "  10.0.0.0/24 via 10.0.1.1 dev 0",
        "  10.0.1.0/24 dev 0",
        "  10.0.2.0/24 dev 1",
        "  10.0.3.0/24 via 10.0.2.2 dev 1",
        "r1 has no table `nat`; `tables r1` shows all",
        // Hosts alone.
        "2 of 2 pings were answered",
    ]
    .into_iter()
    .enumerate()
    {
        assert!(lines[line].starts_with(begin), "{begin}\n{out}");
    }
}

#[test]
fn time_stands_still_between_commands_and_passes_as_far_as_it_is_told_to() {
    let place = Place::new("shell-time");
    let lab = "\
[node.a]
kind = 'generator'
count = 3
gap = '10 us'
[node.b]
kind = 'sink'
[[link]]
ends = ['a.0', 'b.0']
delay = '5 us'
";
    let commands = "time\ntime\nstep\nstep 2 events\nstep 1us\ntime\nrun until 20 us\nrun\ntime\n";
    let out = told(&place, lab, commands).good();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 9, "{out}");
    assert_eq!(lines[0], lines[1]);
    assert!(lines[2].contains(" in 1 event,"), "{out}");
    assert!(lines[3].contains(" in 2 events"), "{out}");
    assert!(lines[4].contains("1 us passed"), "{out}");
    assert!(lines[6].contains("it is 20 us"), "{out}");
    assert!(lines[7].contains("nothing is left to happen"), "{out}");
    assert_eq!(lines[8], "26.0512 us, nothing is left to happen");
}

#[test]
fn run_and_report_tell_what_a_run_at_once_does_and_write_the_same_files() {
    for example in ["vlan", "first-light", "impairments"] {
        let place = Place::new("shell-same");
        let lab = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/");
        let script = format!(
            "wire lab {lab}{example}/lab.toml --world sim --out once | sed '/^wrote/d; /^$/d' > once.txt
             printf 'run\\nreport\\n' | wire lab --shell {lab}{example}/lab.toml --world sim --out step 2> files.txt | sed '1d; /^$/d' > step.txt
             diff once.txt step.txt && diff -r once step && ls once/out | grep -c . || true"
        );
        let ended = place.run(&script);
        assert_eq!(ended.code, Some(0), "{example}: {ended:?}");
        assert!(!ended.out.contains(['<', '>']), "{example}: {}", ended.out);
        let once = place.read("once.txt");
        assert!(once.len() > 100, "{example}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_line_the_rest_is_done_and_the_exit_code_says_so() {
    let place = Place::new("shell-wrong");
    let commands = "pnig h1 h2\nping h1 h9\nping h1 s1\nping h1 h1\nlink h1 h2 down\nrun until 1s\nrun until 1ms\nping h1\nping h1 h2\n";
    let Ended { code, out, err } = told(&place, ROW, commands);
    assert_eq!(code, Some(1), "{err}");
    for expected in [
        "line 1: there is no command `pnig`; `help` lists all",
        "line 2: there is no node `h9`; there are ",
        "line 3: `s1` is a node of kind `switch`: hosts and routers with an address ping and are pinged",
        "line 4: `h1` cannot ping itself",
        "line 5: no link leads from `h1` to `h2`; `links` shows all",
        "line 7: it is 1 s already: simulated time does not go back to 1 ms",
        "line 8: `ping h1`: write ping A B",
    ] {
        assert!(err.contains(expected), "{expected}\n{err}");
    }
    assert_eq!(err.lines().count(), 7, "{err}");
    assert!(out.contains("h1 -> h2: answer after"), "{out}");
}

#[test]
fn what_nothing_bounds_is_not_run_without_a_time() {
    let place = Place::new("shell-endless");
    let endless = "\
[node.a]
kind = 'generator'
gap = '1 ms'
[node.b]
kind = 'sink'
[[link]]
ends = ['a.0', 'b.0']
";
    let Ended { code, out, err } = told(&place, endless, "run\nrun until 10ms\n");
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("nothing bounds the run: "), "{err}");
    assert!(out.contains("10 ms passed"), "{out}");
    assert!(
        !out.contains("pings") && !out.contains("nothing is left"),
        "{out}"
    );
    // Hosts there are none.
    let ended = told(&place, endless, "pingall\n");
    assert!(
        ended.err.contains("no two hosts with addresses"),
        "{ended:?}"
    );
}

#[test]
fn nodes_links_flows_drops_counters_and_tables_are_shown() {
    let place = Place::new("shell-shown");
    let lab = format!(
        "{ROW}[[node.h1.program]]\nrun = 'ping'\nto = 'h2'\ncount = 2\ninterval = '10 ms'\n"
    );
    let before = told(&place, &lab, "flows\ndrops\ntables s1\ncounters\n").good();
    assert!(before.contains("no drops\nstations: empty\n"), "{before}");
    let commands = "nodes\nlinks\nrun\nflows\nlinks\nlink s1 s2 down\nping h1 h2\ndrops\ncounters h2\ntables s1\ntables h1\nlinks\n";
    let out = told(&place, &lab, commands).good();
    for expected in [
        "h1      host      1  10.0.0.1\n",
        "h1 ping",
        "lost on the way",
        "pings      2\n",
        "stations: 2 entries",
        " port 0 age ",
        "h1 has no tables with entries",
        " down ",
    ] {
        assert!(out.contains(expected), "{expected}\n{out}");
    }
}

#[test]
fn tables_of_openflow_switches_and_p4_programs_are_shown() {
    let place = Place::new("shell-tables");
    let lab = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/");
    let of = place.run(&format!(
        "printf 'run until 1.9 s\\ntables s1\\n' | wire lab --shell {lab}sdn/lab.toml --world sim --dry"
    ));
    let out = of.good();
    assert!(out.contains("\ntable 0: "), "{out}");
    assert!(
        out.contains("n_packets=") && out.contains("actions="),
        "{out}"
    );
    let p4 = place.run(&format!(
        "printf 'nodes\\ntables router\\n' | wire lab --shell {lab}p4-l2l3/lab.toml --world sim --dry"
    ));
    let out = p4.good();
    assert!(out.contains("table add "), "{out}");
}

#[test]
fn the_shell_of_simulated_time_says_where_it_is_not_for() {
    let place = Place::new("shell-where");
    place.write("lab.toml", ROW);
    for (script, expected) in [
        (
            "wire lab --shell",
            "of which lab? write wire lab --shell FILE",
        ),
        ("wire lab --shell none.toml", "none.toml"),
        (
            "wire lab lab.toml --shell --world live",
            "in the world live a shell is in a node",
        ),
        (
            "wire lab lab.toml --shell h1",
            "--run and --shell NODE need --world live",
        ),
        ("wire lab lab.toml --shell --json", "cannot be used with"),
    ] {
        let ended = place.run(&format!("{script} < /dev/null"));
        assert_eq!(ended.code, Some(2), "{script}: {ended:?}");
        assert!(ended.err.contains(expected), "{script}: {}", ended.err);
    }
    let long = place.run("head -c 100000 /dev/zero | tr '\\0' x | wire lab --shell lab.toml");
    assert_eq!(long.code, Some(2));
    assert!(
        long.err.contains("line 1 is longer than 65536 bytes"),
        "{}",
        long.err
    );
}

#[test]
fn at_a_terminal_lines_are_edited_and_ctrl_c_begins_a_new_one() {
    if Command::new("script")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        println!("skipped: script(1), which makes a terminal, is not here");
        return;
    }
    let place = Place::new("shell-terminal");
    place.write("lab.toml", ROW);
    // A mistake that is rubbed out, a line that Ctrl-C takes back, and the one before again by the arrow.
    place.write("first", "pin h\x7fx\x7f\x7fg h1 h2\r");
    place.write("second", "link s1\x03");
    place.write("third", "\x1b[A\r");
    place.write("fourth", "\x04");
    let ended = place.run(
        "(for keys in first second third fourth; do sleep 1; cat $keys; done; sleep 1) |
         TERM=xterm script -qec 'wire lab --shell lab.toml' /dev/null",
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(
        ended.out.matches("h1 -> h2: answer after").count(),
        2,
        "{}",
        ended.out
    );
    assert!(ended.out.contains("row 0 s> "), "{}", ended.out);
    assert!(!ended.out.contains("system call"), "{}", ended.out);
}

#[test]
fn the_page_of_the_book_answers_as_it_says() {
    let place = Place::new("shell-book");
    let page = include_str!("../../../docs/book/src/lab-shell.md");
    let blocks = |kind: &str| -> Vec<String> {
        let mark = format!("```{kind}\n");
        let parts = page.split(&mark).skip(1);
        parts
            .map(|part| part.split_once("```").unwrap().0.into())
            .collect()
    };
    place.write("row.toml", &blocks("toml")[0]);
    let sessions = blocks("console");
    assert!(sessions.len() >= 2);
    for session in sessions {
        let (command, answer) = session.split_once('\n').unwrap();
        let command = command.strip_prefix("$ ").unwrap();
        assert_eq!(place.run(command).good(), answer, "{command}");
    }
}

/// Two devices with DTP. Counters of `a` show its second beacon interval.
const CLOCKS: &str = "\
[default.link]
level = 'block'
[node]
a = { kind = 'sink', ports = 1, oscillator = 50, dtp = { commands = [{ at = '2 ms', run = 'set_beacon_interval 0 20000' }] } }
b = { kind = 'sink', ports = 1, oscillator = -50, dtp = {} }
[[link]]
ends = ['a.0', 'b.0']
delay = '280 ns'
[lab]
duration = '10 ms'
";

#[test]
fn dtp_is_asked_and_set_while_it_runs_by_the_papers_names() {
    let place = Place::new("shell-dtp");
    let commands = "run until 1 ms
dtp a read_state 0
dtp a read_delay 0
dtp a read_beacon_interval 0
dtp a set_cnt 5000000000
step 10 us
dtp b dtp_read_global_cnt
dtp b set_mode nic
dtp b get_mode
run until 3 ms
dtp a read_beacon_interval 0
dtp a debug_sent_msg 0
run until 4 ms
dtp a debug_sent_msg 0
dtp a reset
dtp a read_state 0
step 10 us
dtp a read_state 0
";
    let out = told(&place, CLOCKS, commands).good();
    let said: Vec<&str> = out
        .lines()
        .filter(|line| !line.contains(" passed: "))
        .collect();
    let [
        state,
        delay,
        interval,
        joined,
        mode,
        later,
        sent,
        again,
        resets,
        synced,
    ] = said[..]
    else {
        panic!("{out}");
    };
    assert_eq!(
        (state, interval, mode, later),
        ("SYNC", "200", "nic", "20000"),
        "{out}"
    );
    let delay: u64 = delay.parse().unwrap();
    assert!((42..=45).contains(&delay), "{out}");
    // 10 us are 1,562 ticks of 6.4 ns.
    let joined: u64 = joined.parse().unwrap();
    assert!((5_000_001_500..5_000_001_600).contains(&joined), "{out}");
    let count = |text: &str| text.parse::<u64>().unwrap();
    // 156,250 ticks in a millisecond.
    assert!((7..=9).contains(&(count(again) - count(sent))), "{out}");
    assert_eq!((resets, synced), ("INIT", "SYNC"), "{out}");
}

#[test]
fn commands_that_dtp_cannot_do_say_why() {
    let place = Place::new("shell-dtp-bad");
    for (command, why) in [
        (
            "dtp a read_delay 7",
            "there is no port 7: there are 1, from 0",
        ),
        (
            "dtp a set_beacon_interval 0 1",
            "beacons are 2 to 1000000 ticks apart",
        ),
        (
            "dtp a fly",
            "`fly` is no command of DTP: reset, set_cnt COUNTER",
        ),
        ("dtp a", "is no command of DTP"),
        ("dtp x read_state 0", "there is no node `x`"),
    ] {
        let ended = told(&place, CLOCKS, &format!("{command}\n"));
        assert!(ended.err.contains(why), "{command}: {}", ended.err);
    }
    let ended = told(&place, ROW, "dtp h1 read_state 0\n");
    assert!(ended.err.contains("`h1` has no sublayer"), "{}", ended.err);
    let wrong = CLOCKS.replace("set_beacon_interval 0 20000", "set_beacon_interval 3 20000");
    place.write("wrong.toml", &wrong);
    let ended = place.run("wire lab --check wrong.toml");
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(ended.err.contains("there is no port 3"), "{}", ended.err);
}
