//! Names and texts from outside: they are shown, and act on no terminal, in no picture; what is read by programs stays exact.

use crate::shell::{Ended, Place, has};
use serde_json::Value;

/// Sets the window's title, colours by a C1 character, and turns what follows around; but also speaks German.
const HOSTILE: &str = "\x1b]0;owned\x07\u{9b}31m\u{202e}Zürich";
/// The same as it is to be shown.
const SHOWN: &str = "\\u001b]0;owned\\u0007\\u009b31m\\u202eZürich";

/// Asserts that nothing of it acts, and that it is shown.
#[track_caller]
fn is_tame(text: &str, what: &str) {
    for part in ["\x1b]", "\x07", "\u{9b}", "\u{202e}"] {
        assert!(!text.contains(part), "{what}: {text:?}");
    }
    assert!(text.contains(SHOWN), "{what}: {text:?}");
}

/// Runs a script whose three standard streams are a terminal.
fn on_a_terminal(place: &Place, script: &str) -> Ended {
    place.write("script.sh", script);
    place.run("script -qec 'bash script.sh' /dev/null < /dev/null")
}

/// A pcapng whose names and descriptions and comments all are hostile: two interfaces, the same UDP packets on both.
fn capture() -> Vec<u8> {
    let option = |code: u16, text: &[u8]| {
        let mut bytes = code.to_le_bytes().to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    };
    let block = |kind: u32, body: &[u8]| {
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes(), &length[..], body, &length].concat()
    };
    let hostile = |before: &str| format!("{before}{HOSTILE}").into_bytes();
    let mut head = vec![0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0];
    head.extend([0xFF; 8]);
    head.extend(option(1, &hostile("file ")));
    let mut file = block(0x0A0D_0D0A, &head);
    for interface in 0..2 {
        let mut body = vec![1, 0, 0, 0, 0, 0, 4, 0];
        body.extend(option(2, &hostile(&format!("if{interface} "))));
        body.extend(option(3, &hostile("described ")));
        body.extend(option(9, &[9]));
        file.extend(block(1, &body));
    }
    for packet in 0..40u8 {
        let stamp = 1_700_000_000_000_000_000 + 1_000 * u64::from(packet);
        let mut frame = vec![2; 12];
        frame.extend([8, 0, 0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0]);
        frame.extend([10, 0, 0, 1, 10, 0, 0, 2, 0, 53, 0, 53, 0, 12, 0, 0]);
        frame.extend([packet / 2; 18]);
        let (high, low) = ((stamp >> 32) as u32, stamp as u32);
        let length = frame.len() as u32;
        let fields = [u32::from(packet % 2), high, low, length, length];
        let mut body: Vec<u8> = fields
            .iter()
            .flat_map(|field| field.to_le_bytes())
            .collect();
        body.extend(frame);
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(option(1, &hostile("packet ")));
        file.extend(block(6, &body));
    }
    file
}

#[test]
fn names_in_captures_act_on_no_terminal_and_stay_exact_in_json() {
    if !has("script", "names on a terminal") {
        return;
    }
    let place = Place::new("hostile-captures");
    place.write("h.pcapng", capture());
    place.write(&format!("{HOSTILE}.pcapng"), capture());
    for command in [
        "profile h.pcapng",
        "profile --json h.pcapng",
        "profile h.pcapng | cat",
        "profile --json h.pcapng | cat",
        "profile NAME.pcapng",
        "profile --compare NAME.pcapng#0 h.pcapng#1",
        "profile --compare h.pcapng#0 NAME.pcapng#1 --json",
        "cat NAME",
        "dump ./NAME",
        "dump NAME.pcapng -o NAME.pcapng",
    ] {
        let script = format!("wire {command}").replace("NAME", &format!("'{HOSTILE}'"));
        is_tame(&on_a_terminal(&place, &script).out, command);
    }
    // What is ordinary is not touched.
    assert_eq!(
        on_a_terminal(&place, "wire cat h.pcapng")
            .out
            .replace("\r\n", "\n"),
        place.run("wire cat h.pcapng").good()
    );
    for script in [
        "wire profile --json h.pcapng".to_owned(),
        "script -qec 'wire profile --json h.pcapng' /dev/null < /dev/null".into(),
    ] {
        let first = place.run(&script).out;
        let first: Value = serde_json::from_str(first.lines().next().unwrap()).unwrap();
        assert_eq!(first["name"], format!("h.pcapng if0 {HOSTILE}"), "{script}");
        assert_eq!(first["stamps"]["told"], format!("described {HOSTILE}"));
    }
    // A capture of a capture has what it had.
    place.run("wire dump h.pcapng -o again.pcapng").good();
    let again = place.read("again.pcapng");
    let name = format!("if0 {HOSTILE}");
    assert!(
        again
            .windows(name.len())
            .any(|part| part == name.as_bytes())
    );
    let picture = "wire profile h.pcapng --plot h.svg && cat h.svg";
    is_tame(&place.run(picture).good(), "a picture");
}

#[test]
fn names_in_programs_and_labs_are_shown_and_do_not_act() {
    let place = Place::new("hostile-sources");
    place.write("bad.p4", format!("header h_t {{ bit<8> {HOSTILE}; }}\n"));
    let program = std::fs::read_to_string(super::PROGRAM).unwrap();
    let named = format!("@name(\"{HOSTILE}\")\n    table dmac ");
    let program = program.replacen("table dmac ", &named, 1);
    place.write("named.p4", program);
    let lab = format!(
        "[lab]\nname = '{HOSTILE}'\nabout = '{HOSTILE}'\n[node.a]\nkind = 'generator'\ncount = 20\ngap = '1 us'\n\
         [node.b]\nkind = 'sink'\n[[link]]\nends = ['a.0', 'b.0']\n[[plot]]\nat = 'b.0'\nfile = 'b.svg'\n"
    );
    // A string of TOML has no control characters but by escapes.
    let escaped = lab.replace('\x1b', "\\u001b").replace('\x07', "\\u0007");
    place.write("good.toml", escaped.replace('\'', "\""));
    place.write("bad.toml", &lab);
    for (command, code) in [
        ("p4 check bad.p4", 1),
        ("p4 check bad.p4 2>&1", 1),
        ("p4 graph bad.p4", 1),
        ("lab bad.toml", 2),
        ("lab bad.toml --check 2>&1", 2),
        ("lab good.toml", 0),
        ("lab good.toml 2>&1 | cat", 0),
    ] {
        let ended = place.run(&format!("wire {command}"));
        assert_eq!(ended.code, Some(code), "{command}: {ended:?}");
        is_tame(&(ended.out + &ended.err), command);
    }
    // The carets stand below what is meant, as it is shown.
    let said = place.run("wire p4 check bad.p4");
    assert!(
        said.err.contains(&format!(" | {}^^^^^^\n", " ".repeat(20))),
        "{said:?}"
    );
    is_tame(&place.run("cat b.svg").good(), "the plot of a lab");
    place.write("columns", format!("x {HOSTILE}\n1 2\n2 3\n"));
    let plot = format!("wire plot columns -o p.svg --y-name '{HOSTILE}' --title Zürich 2>&1");
    let said = place.run(&plot).good();
    assert!(!said.contains('\x1b'), "{said:?}");
    let picture = place.run("cat p.svg").good();
    is_tame(&picture, "a plot");
    assert!(picture.contains(">Zürich<"), "{picture}");
    let info = place.run("wire p4 info named.p4").good();
    let table = info.lines().find(|line| line.contains(SHOWN)).unwrap();
    assert!(table.starts_with("# Route: table Route."), "{table}");
}

#[test]
fn a_file_whose_name_is_not_utf_8_is_a_file_as_any() {
    let place = Place::new("odd-names");
    place.write("t.lines", crate::shell::lines(4));
    place.write("lab.toml", "[node.a]\nkind = 'generator'\ncount = 20\ngap = '1 us'\n[node.b]\nkind = 'sink'\n[[link]]\nends = ['a.0', 'b.0']\n");
    let odd = "odd=$(printf 'caf\\351\\233')\n";
    let run = |script: &str| place.run(&format!("{odd}{script}"));
    run(&format!("mkdir $odd && cp t.lines $odd/$odd.lines && cp lab.toml $odd/$odd.toml && cp {} $odd/$odd.p4", super::PROGRAM)).good();
    for script in [
        "wire cat $odd/$odd.lines | cmp - t.lines",
        "cd $odd && wire cat $odd.lines | cmp - ../t.lines",
        "cd $odd && wire cat pcap:$odd.lines | cmp - ../t.lines",
        "wire dump $odd/$odd.lines -o $odd.pcapng && wire undump --words $odd.pcapng | cmp - t.lines",
        "wire profile $odd.pcapng > told && wire profile --json $odd.pcapng > json",
        "wire profile --compare $odd.pcapng#0 $odd/$odd.lines > told",
        "wire cut dst $odd/$odd.lines | wc -l | grep -qx 4",
        "wire match type=0806 -f $odd/$odd.lines | wc -l | grep -qx 2",
        "wire phy encode $odd/$odd.lines -o $odd.phy 2>&1 && wire phy decode $odd.phy 2>&1 > told",
        "wire p4 check $odd/$odd.p4 2>&1 && wire p4 graph $odd/$odd.p4 -o $odd.svg && test -s $odd.svg",
        "wire lab $odd/$odd.toml && wire lab --check $odd/$odd.toml",
        "wire gen --dry -c 3 --replay $odd.pcapng",
        "wire plot <(seq 3) -o $odd.png 2>&1 && test -s $odd.png",
    ] {
        let ended = run(script);
        assert_eq!(
            (ended.code, ended.err.as_str()),
            (Some(0), ""),
            "{script}: {ended:?}"
        );
    }
    // A name is told in UTF-8: its odd bytes, alone, are C1 characters to some terminals.
    for command in ["cat ./", "cat ", "dump ", "p4 check ", "lab "] {
        let ended = run(&format!(
            "{{ wire {command}no$odd 2>&1 || true; }} | iconv -f UTF-8 -t UTF-8"
        ));
        assert!(ended.out.contains("nocaf\u{fffd}"), "{command}: {ended:?}");
        ended.good();
    }
}

#[test]
fn a_lab_file_writes_elsewhere_only_if_it_is_allowed_to() {
    let place = Place::new("lab-paths");
    let lab = |file: &str| {
        format!(
            "[node.a]\nkind = 'generator'\ncount = 20\ngap = '1 us'\n[node.b]\nkind = 'sink'\n[[link]]\nends = ['a.0', 'b.0']\n\
             [[capture]]\nat = 'b.0'\nfile = 'b.pcap'\n[[plot]]\nat = 'b.0'\nfile = '{file}'\n"
        )
    };
    place
        .run("mkdir lab else; ln -s ../else lab/link; ln -s ../else/dangling.svg lab/dangling.svg")
        .good();
    let absolute = place.path.join("else/p.svg");
    for file in [
        "../else/p.svg",
        absolute.to_str().unwrap(),
        "link/p.svg",
        "dangling.svg",
    ] {
        place.write("lab/lab.toml", lab(file));
        for command in ["lab/lab.toml", "lab/lab.toml --check"] {
            let ended = place.run(&format!("wire lab {command}"));
            assert_eq!(ended.code, Some(2), "{file}: {ended:?}");
            assert!(
                ended.err.contains("leads out of lab") && ended.err.contains("--allow-paths"),
                "{ended:?}"
            );
        }
        assert_eq!(place.run("ls else; ls lab/*.pcap").out, "", "{file}");
        place.run("wire lab lab/lab.toml --dry").good();
        place.run("wire lab lab/lab.toml --allow-paths; grep -l '<svg' else/* && rm else/* lab/b.pcap").good();
    }
    // Two outputs of one name are one too many, allowed or not.
    place.write("lab/lab.toml", lab("b.pcap").replace("plot", "capture"));
    for allowed in ["", "--allow-paths"] {
        let ended = place.run(&format!("wire lab lab/lab.toml {allowed}"));
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(
            ended.err.contains("`b.pcap` is written twice by this lab"),
            "{ended:?}"
        );
    }
    place.write("lab/lab.toml", lab("new/folder/p.svg"));
    place
        .run("wire lab lab/lab.toml && ls lab/new/folder/p.svg")
        .good();
}
