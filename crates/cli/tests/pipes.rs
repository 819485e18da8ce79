//! `wire` between the shell's own tools.

use crate::shell::{Place, lines};

#[test]
fn a_reader_that_has_seen_enough_is_a_normal_end() {
    let place = Place::new("enough");
    place.write("t.lines", lines(200_000));
    for command in [
        "wire cat t.lines",
        "wire cat --raw t.lines",
        "wire cut ip.src t.lines",
        "wire cut 4- t.lines",
        "wire match type=0800 -f t.lines",
        "wire dump t.lines",
        "wire dump t.lines | wire undump",
        "wire gen",
    ] {
        let ended = place.run(&format!("{command} | head -c 1000 | wc -c"));
        assert_eq!(ended.good(), "1000\n", "{command}");
    }
}

#[test]
fn lines_go_through_grep_and_awk_and_come_back_as_packets() {
    let place = Place::new("grep");
    place.write("t.lines", lines(1_000));
    let arp = place.run("wire cat t.lines | grep ' 0806 ' | wire cat --raw | wire cat | wc -l");
    assert_eq!(arp.good(), "500\n");
    let awk = place.run(r#"wire cat --no-time t.lines | awk '$1=="020000000003"' | wc -l"#);
    assert_eq!(awk.good(), "143\n");
    // The line is the contract: reading and writing it changes nothing.
    place.run("wire cat t.lines | cmp - t.lines").good();
    place
        .run("wire cat --raw t.lines | wire cat | cmp - t.lines")
        .good();
    place
        .run("wire cat --hash t.lines | wire cat | cmp - t.lines")
        .good();
}

#[test]
fn columns_are_those_of_cut() {
    let place = Place::new("cut");
    place.write("t.lines", lines(5_000));
    for fields in ["4-", "1", "2,3", "1-3,5", "-2"] {
        let script = format!("cmp <(cut -d' ' -f{fields} t.lines) <(wire cut {fields} t.lines)");
        place.run(&script).good();
    }
}

#[test]
fn a_filter_sees_the_extract_and_whole_packets_pass() {
    let place = Place::new("epcmd");
    place.write("t.lines", lines(50_000));
    place
        .run(
            "cmp <(grep '^[0-9A-F]* 020000000003 ' t.lines) \
                 <(wire cut ether --command 'grep ^020000000003' t.lines)",
        )
        .good();
    // Nothing fits: nothing comes, and that is no error.
    assert_eq!(
        place
            .run("wire cut ip.src --command 'grep 192.0.2.1' t.lines")
            .good(),
        ""
    );
    // One run over everything keeps a filter's own state.
    let script = "wire cut dst --once --command 'tail -2' t.lines | wc -l";
    assert_eq!(place.run(script).good(), "2\n");
    let changed = place.run("wire cut dst --command 'sed s/0/x/' t.lines");
    assert_eq!(changed.code, Some(2));
    assert!(changed.err.contains("was not given"), "{}", changed.err);
    let failed = place.run("wire cut dst --command 'exit 7' t.lines");
    assert_eq!(failed.code, Some(2));
}

#[test]
fn rules_choose_what_grep_chooses() {
    let place = Place::new("match");
    place.write("t.lines", lines(10_000));
    place
        .run(
            "cmp <(grep -E ' 02000000000[135] 0200000000FF ' t.lines) \
                 <(wire match dst=02:00:00:00:00:01 dst=020000000003 dst=020000000005 < t.lines)",
        )
        .good();
    let count = place
        .run("wire match -c ip.dst=10.0.0.0/25 proto=tcp -f t.lines")
        .good();
    let counted = place
        .run("wire cut ip.dst t.lines | grep -cE '^10.0.0.([0-9]|[0-9][0-9]|1[01][0-9]|12[0-7])$'");
    assert_eq!(count, counted.good());
    let none = place.run("wire match vlan=7 -f t.lines");
    assert_eq!((none.code, none.out.as_str()), (Some(1), ""));
}

#[test]
fn what_is_no_packet_is_told_with_its_place_and_skipped() {
    let place = Place::new("bad");
    let good = lines(3);
    let (first, rest) = good.split_once('\n').unwrap();
    place.write(
        "t.lines",
        format!("{first}\n# note\n\nnonsense\n{rest}0123 45\n"),
    );
    for command in [
        "wire cat t.lines",
        "wire cut dst t.lines",
        "wire match type=0800 type=0806 -f t.lines",
    ] {
        let ended = place.run(&format!("{command} | wc -l"));
        assert_eq!(
            (ended.code, ended.out.as_str()),
            (Some(1), "3\n"),
            "{command}: {}",
            ended.err
        );
        let lenient = place.run(&format!("{command} --lenient | wc -l"));
        let told = ended.err.as_str();
        assert_eq!((lenient.code, lenient.err.as_str()), (Some(0), told));
        assert!(
            ended.err.contains("4: ") && ended.err.contains("7: "),
            "{}",
            ended.err
        );
        assert!(ended.err.contains("2 bad"), "{}", ended.err);
        let strict = place.run(&format!("{command} --strict"));
        assert_eq!(strict.code, Some(2), "{command}");
        assert!(strict.err.contains("4: "), "{}", strict.err);
    }
    // What is for people and programs is none of packets, and what is wrong with it is not its digits.
    for form in ["--json", "--text"] {
        for reader in [
            "wire cat",
            "wire cat --lenient",
            "wire dump -o back.pcapng",
            "wire dump",
            "wire cut dst",
            "wire cut dst --command cat",
            "wire undump",
            "wire profile",
            "wire match type=0800",
        ] {
            // JSON is read back.
            let reads = reader.starts_with("wire cat") || reader.starts_with("wire dump");
            if form == "--json" && reads {
                continue;
            }
            let back = place.run(&format!(
                "wire cat --lenient {form} t.lines 2> first | {reader} > out"
            ));
            assert_eq!(back.code, Some(2), "{reader}: {}", back.err);
            let reason = format!("{form}, from which no packets are read");
            assert!(
                back.err.contains(&reason) && back.err.lines().count() == 1,
                "{reader}: {}",
                back.err
            );
            assert_ne!(place.run("test -e back.pcapng").code, Some(0));
            let written = place.run("wc -c < out").good();
            // A profile says that there was no packet.
            assert!(
                written.trim() == "0" || reader == "wire profile",
                "{reader}: {written}"
            );
        }
    }
    let replayed = place
        .run("wire cat --lenient --json t.lines > b.json 2> first; wire gen --dry --replay b.json");
    assert_eq!(replayed.code, Some(2), "{}", replayed.err);
    assert!(
        replayed.err.contains("b.json: line 1: an object of --json"),
        "{}",
        replayed.err
    );
    // Among packets it is skipped and counted as anything else.
    let among = place
        .run("(head -n 1 t.lines; wire cat --lenient --json t.lines 2> first) | wire cat | wc -l");
    assert_eq!((among.code, among.out.trim()), (Some(1), "1"));
    // Dated records are no text.
    let dated = "wire dump --lenient t.lines -o d.pcapng 2> first; wire cat d.pcapng --raw | wire cut dst | wc -l";
    assert_eq!(place.run(dated).good().trim(), "3");
    // Many bad lines do not flood the terminal.
    let flood = place.run("seq -f line%g 10000 | wire cat --lenient 2>&1 | wc -l");
    assert_eq!(flood.good(), "22\n");
}

#[test]
fn a_full_disk_is_an_error_that_says_how_much_was_written() {
    let place = Place::new("full");
    place.write("t.lines", lines(10));
    for command in [
        "wire cat t.lines > /dev/full",
        "wire cut dst t.lines > /dev/full",
        "wire dump -o /dev/full t.lines",
        "wire ports > /dev/full",
    ] {
        let ended = place.run(command);
        assert_eq!(ended.code, Some(2), "{command}");
        assert!(
            ended.err.contains("after 0 bytes: No space left"),
            "{}",
            ended.err
        );
    }
}

#[test]
fn training_without_memory_is_not_put_down_to_the_packets() {
    let place = Place::new("memory");
    place
        .run("wire gen --count 2000 > made.lines; wire relay train made.lines -o out.dict > told")
        .good();
    let mut refusals = 0;
    for megabytes in (20..200).step_by(2) {
        let limit = megabytes << 20;
        let ended = place.run(&format!(
            "prlimit --as={limit} wire relay train made.lines -o out.dict > told"
        ));
        let blamed = ended.err.contains("nothing in common") && !ended.err.contains("memory");
        assert!(!blamed, "{megabytes} MiB: {}", ended.err);
        refusals += u32::from(ended.code == Some(2) && ended.err.contains("too little memory"));
        if ended.code == Some(0) {
            break;
        }
    }
    assert!(refusals > 0, "memory was there, or was not enough to begin");
}

#[test]
fn a_report_that_cannot_be_written_is_told_and_words_on_stderr_that_cannot_end_nothing() {
    let place = Place::new("words");
    place.write("t.lines", format!("{}nonsense\n", lines(100)));
    let report = place.run(
        "wire gen --count 2000 > made.lines; wire relay train made.lines -o out.dict > /dev/full",
    );
    assert_eq!(report.code, Some(2));
    assert_eq!(
        report.err,
        "wire: cannot write to standard output: No space left on device (os error 28)\n"
    );
    place
        .run("wire relay train made.lines -o out.dict | true")
        .good();
    assert_eq!(
        place.run("wire cat t.lines 2> /dev/full | wc -l").out,
        "100\n"
    );
    assert_eq!(place.run("wire cat nowhere 2> /dev/full").code, Some(2));
}

#[test]
fn an_interrupt_loses_nothing_that_was_read() {
    let place = Place::new("interrupt");
    place.write("t.lines", lines(5_000));
    for (signal, code) in [("INT", "130\n"), ("TERM", "143\n")] {
        for command in [
            "wire cat",
            "wire cut 1-",
            "wire match type=0800 type=0806",
            "wire undump",
        ] {
            // The writer keeps the pipe open: only the signal ends the command. Without job control
            // the shell would start it with the signal ignored.
            let script = format!(
                "set -m; mkfifo p; exec 3<>p; {command} <p >out & pid=$!; cat t.lines >&3; \
                 for i in $(seq 1200); do [ $(wc -l <out) = 5000 ] && break; sleep 0.05; done; \
                 kill -{signal} $pid; wait $pid; echo $?; cmp out t.lines; rm p"
            );
            let ended = place.run(&script);
            // Job control tells on stderr how the job ended.
            assert_eq!(
                (ended.code, ended.out.as_str()),
                (Some(0), code),
                "{signal} {command}"
            );
            assert!(!ended.err.contains("wire:"), "{}", ended.err);
        }
    }
}

#[test]
fn what_came_is_written_when_the_input_pauses() {
    let place = Place::new("pause");
    place.write("t.lines", lines(10));
    for command in [
        "wire cat",
        "wire cut dst",
        "wire cut dst --command cat",
        "wire match type=0800 type=0806",
    ] {
        let script = format!(
            "mkfifo p; exec 3<>p; {command} <p >out & pid=$!; cat t.lines >&3; \
             for i in $(seq 1200); do [ $(wc -l <out) = 10 ] && break; sleep 0.05; done; \
             kill $pid; wait $pid; wc -l <out; rm p"
        );
        assert_eq!(place.run(&script).good(), "10\n", "{command}");
    }
}

#[test]
fn a_file_without_a_last_newline_or_without_anything_is_fine() {
    let place = Place::new("edges");
    place.write("cut.lines", lines(2).trim_end());
    place.write("empty", "");
    assert_eq!(place.run("wire cat cut.lines | wc -l").good(), "2\n");
    assert_eq!(place.run("wire cut dst cut.lines | wc -l").good(), "2\n");
    assert_eq!(
        place.run("wire match type=0806 < cut.lines | wc -l").good(),
        "1\n"
    );
    for command in [
        "wire cat empty",
        "wire cut dst empty",
        "wire cat --raw empty",
        "wire undump empty",
    ] {
        assert_eq!(place.run(command).good(), "", "{command}");
    }
    // An empty capture is one still.
    assert_eq!(
        place.run("wire dump empty | wire undump | wc -l").good(),
        "0\n"
    );
    let missing = place.run("wire cat ./nowhere");
    assert_eq!(missing.code, Some(2));
    assert!(missing.err.contains("nowhere"), "{}", missing.err);
    assert_eq!(place.run("wire cat nowhere").code, Some(2));
    assert_eq!(place.run("wire frobnicate").code, Some(2));
}

#[test]
fn a_schedule_without_end_is_not_rehearsed() {
    let place = Place::new("gen-dry");
    let endless = place.run("wire gen --dry");
    assert_eq!(endless.code, Some(2));
    assert!(
        endless.err.contains("add --count N or --duration TIME"),
        "{}",
        endless.err
    );
    place
        .run("wire gen --dry --count 3; wire gen --dry --duration 3ms")
        .good();
}

#[test]
fn json_is_one_object_a_line_with_a_schema() {
    let place = Place::new("json");
    place.write("t.lines", lines(4));
    place.write("lab.toml", replay("t.lines"));
    place.write("numbers", "1\n2\n");
    let program = include_str!("../../../examples/p4-l2l3/l2l3.p4");
    place.write("router.p4", program);
    let out = place
        .run("wire cat --json t.lines; wire cut dst,type,dst,ip.src,dport --json t.lines")
        .good();
    assert_eq!(out.lines().count(), 8);
    let first = out.lines().nth(4).unwrap();
    for key in ["schema", "type", "ethertype", "dst", "ip.src", "dport"] {
        assert_eq!(first.matches(&format!("\"{key}\":")).count(), 1, "{first}");
    }
    let packets = out.clone();
    for (command, what) in [
        ("cat t.lines", "packet"),
        ("cut dport t.lines", "cut"),
        ("ports", "ports"),
        ("gen --count 3 --dry", "gen"),
        ("profile t.lines", "profile"),
        ("lab lab.toml", "lab"),
        ("plot numbers -o t.svg", "plot"),
        ("p4 check router.p4", "p4"),
        ("p4 info router.p4", "p4"),
        ("p4 graph router.p4", "p4"),
        ("p4 fmt router.p4", "p4"),
        (
            "p4 trace router.p4 --packet 0:00112233445566778899AABB080045000000",
            "p4-trace",
        ),
    ] {
        let out = place.run(&format!("wire {command} --json")).out;
        for line in out.lines() {
            let value: serde_json::Value = serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{command}: {error}: {line}"));
            let kind = &value["type"];
            let head = format!(r#"{{"schema":"wireline.{what}/1","type":{kind},"#);
            assert!(
                kind.is_string() && line.starts_with(&head),
                "{command}: {line}"
            );
        }
        assert!(!out.is_empty() || command.contains("check"), "{command}");
    }
    let out = packets;
    let first: serde_json::Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["ns"], &first["ip"]["sport"]),
        (&8_000.into(), &53.into())
    );
}

/// A lab that replays a file.
fn replay(file: &str) -> String {
    format!(
        "[lab]\nname = \"replay\"\n[node.g]\nkind = \"generator\"\nreplay = {file:?}\n\
         [node.s]\nkind = \"sink\"\n[[link]]\nends = [\"g.0\", \"s.0\"]\n"
    )
}

#[test]
fn what_is_lost_is_told_and_exits_with_1_unless_that_is_accepted() {
    let place = Place::new("lost");
    place.write("good.lines", lines(50));
    let made = "wire dump good.lines -o good; head -c -200 good > cut; gzip < good | head -c 300 > cut.gz; \
                (cat good.lines; seq -f 'nonsense %g' 30) > garbage";
    place.run(made).good();
    for file in ["good", "cut", "garbage"] {
        place.write(&format!("{file}.toml"), replay(file));
    }
    for (command, strict) in [
        ("wire cat FILE", true),
        ("wire cat --raw FILE", true),
        ("wire dump FILE", true),
        ("wire undump FILE", true),
        ("wire cut dst FILE", true),
        ("wire match type=0800 -f FILE", true),
        ("wire profile FILE", true),
        ("wire gen --replay FILE --dry", true),
        ("wire gen --replay FILE", true),
        ("wire send --at-once pcap:sent.pcapng FILE", true),
        ("wire phy encode --idles 20 FILE", true),
        ("wire covert encode hi FILE --idles 1000 --tick 8ns", true),
        ("wire lab FILE.toml --dry", false),
    ] {
        // Of a damaged file nothing behind the place can be read. A replay has sent what was before it.
        let replays = command.contains("replay") || command.contains("lab");
        let damaged = if replays { 1 } else { 2 };
        for (file, code) in [
            ("good", 0),
            ("garbage", 1),
            ("cut", damaged),
            ("cut.gz", damaged),
        ] {
            if file == "cut.gz" && !strict {
                continue;
            }
            let command = command.replace("FILE", file);
            let ended = place.run(&format!("{command} > out"));
            assert_eq!(ended.code, Some(code), "{command}: {}", ended.err);
            if code == 0 {
                continue;
            }
            // What a lab replays is told by its report.
            let named = |told: &str| told.contains(file) || !strict && told.contains("replayed");
            assert!(named(&ended.err), "{command}: {}", ended.err);
            let lenient = place.run(&format!("{command} --lenient > out2"));
            assert_eq!(lenient.code, Some(0), "{command}: {}", lenient.err);
            assert!(named(&lenient.err), "{command}: {}", lenient.err);
            if strict {
                let strict = place.run(&format!("{command} --strict > out3"));
                assert_eq!(strict.code, Some(2), "{command}: {}", strict.err);
            }
        }
    }
}

#[test]
fn packets_have_by_default_the_least_length_that_holds_what_they_are_to_be() {
    let place = Place::new("least");
    let v6 = "--ip-src fd00::1 --ip-dst fd00::2";
    // Without FCS: a probe needs 18 bytes behind UDP, IPv6 20 more than IPv4, a tag 4.
    for (options, bytes) in [
        ("", 60),
        ("--vlan 2", 64),
        (v6, 80),
        (&format!("{v6} --vlan 2")[..], 84),
    ] {
        let told = place
            .run(&format!("wire gen -c 1 {options} | wire cat --json"))
            .good();
        assert!(told.contains(&format!(r#""length":{bytes},"#)), "{told}");
    }
    let refused = place.run(&format!("wire gen -c 1 {v6} --size 64"));
    assert_eq!(refused.code, Some(2), "{}", refused.err);
}
