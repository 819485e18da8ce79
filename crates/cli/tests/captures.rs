//! Captures, and whatever else packets are kept in.

use crate::shell::{Place, has, is_root, lines};

#[test]
fn dump_and_undump_give_the_same_lines_back() {
    let place = Place::new("identity");
    place.write("t.lines", lines(3_000));
    for script in [
        "wire dump t.lines | wire undump --words | cmp - t.lines",
        // The file says where its counter's zero is, even after a conversion.
        "wire dump t.lines | wire dump | wire undump --words | cmp - t.lines",
        "wire cat --raw t.lines | wire dump | wire undump --words --raw | wire cat | cmp - t.lines",
        "wire dump --tick 6.4ns t.lines | wire undump --words | cmp - t.lines",
        "wire dump --pcap --epoch 1700000000123456789 t.lines \
             | wire undump --words --epoch 1700000000123456789 | cmp - t.lines",
        "wire dump -o t.pcapng t.lines && wire undump --words t.pcapng | cmp - t.lines",
    ] {
        place.run(script).good();
    }
}

#[test]
fn anything_compressed_is_read_as_it_is() {
    let place = Place::new("compressed");
    place.write("t.lines", lines(300));
    for made in [
        "cat t.lines",
        "wire cat --raw t.lines",
        "wire dump t.lines",
        "wire dump --pcap --epoch 0 t.lines",
    ] {
        let undo = if made.contains("--pcap") {
            "wire undump --words --epoch 0"
        } else {
            "wire undump --words"
        };
        place
            .run(&format!(
                "{made} | gzip > t.gz && {undo} t.gz | cmp - t.lines"
            ))
            .good();
        place
            .run(&format!("{made} | gzip | {undo} | cmp - t.lines"))
            .good();
    }
    place
        .run("gzip < t.lines | wire cut dst | cmp - <(wire cut dst t.lines)")
        .good();
    place.write("t.zst", zstd(lines(2).as_bytes()));
    assert_eq!(place.run("wire cat t.zst").good(), lines(2));
    assert_eq!(place.run("wire cut 1- t.zst").good(), lines(2));
    // A file that was cut off gives what it has, and says where it ended.
    let cut = place.run("gzip < t.lines | head -c 500 | wire cat | tail -1");
    assert_eq!(cut.code, Some(2));
    assert!(cut.err.contains("standard input"), "{}", cut.err);
}

/// A zstd frame (RFC 8878) of a single raw block.
fn zstd(content: &[u8]) -> Vec<u8> {
    let len = content.len() as u32;
    // Single segment, content size in four bytes.
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0xA0];
    frame.extend(len.to_le_bytes());
    frame.extend(&(len << 3 | 1).to_le_bytes()[..3]);
    frame.extend(content);
    frame
}

#[test]
fn tshark_reads_what_dump_writes_to_the_nanosecond() {
    if !has("tshark", "a comparison with tshark") {
        return;
    }
    let place = Place::new("tshark");
    place.write("t.lines", lines(100));
    for format in ["", "--pcap"] {
        let script = format!(
            "wire dump {format} --epoch 1700000000000000000 -o t.cap t.lines && \
             tshark -r t.cap -T fields -e frame.time_epoch -e eth.dst -e udp.srcport 2>/dev/null"
        );
        let out = place.run(&script).good();
        let rows: Vec<Vec<&str>> = out.lines().map(|row| row.split('\t').collect()).collect();
        assert_eq!(rows.len(), 100);
        assert_eq!(rows[0], ["1700000000.000008000", "02:00:00:00:00:00", "53"]);
        assert_eq!(rows[99][0], "1700000000.000107000");
    }
}

#[test]
fn garbage_between_records_is_skipped_and_counted() {
    let place = Place::new("garbage");
    place.write("t.lines", lines(3));
    let script = "wire cat --raw t.lines > t.rec; (head -c 62 t.rec; printf 7vgarbage; tail -c +63 t.rec) \
                  | wire cat | wc -l";
    let ended = place.run(script);
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("bytes"), "{}", ended.err);
    assert!(matches!(ended.out.as_str(), "3\n" | "2\n"), "{}", ended.out);
}

#[test]
fn a_generated_train_has_exact_gaps() {
    let place = Place::new("train");
    let script = "wire gen --count 1001 --rate 10Gb/s --tick 6.4ns | wire dump --tick 6.4ns | wire undump --words | tail -1 | cut -c1-16";
    // 1000 times 67.2 ns are 10,500 ticks of 6.4 ns.
    assert_eq!(place.run(script).good(), format!("{:016X}\n", 10_500));
    let sizes = place.run("wire gen --imix --count 12 | wire cat --json | grep -o 'length\":[0-9]*' | LC_ALL=C sort | uniq -c | tr -s ' '");
    assert_eq!(
        sizes.good(),
        " 1 length\":1514\n 4 length\":590\n 7 length\":60\n"
    );
}

#[test]
fn a_schedule_in_idle_characters_is_told_and_survives_a_replay() {
    let place = Place::new("idles");
    let dry = "wire gen --idles 170 --size 1518 --count 1000 --dry --json";
    let told: serde_json::Value = serde_json::from_str(&place.run(dry).good()).unwrap();
    assert_eq!(told["type"], "schedule");
    assert_eq!(told["interval_ps"]["mean"], 1_356_800.0);
    assert_eq!(told["interval_ps"]["sd"], 0.0);
    assert_eq!(told["idles"]["min"], 170);
    let again = "wire gen --idles 33 --size 64,1518 --count 999 --tick 800ps | wire dump --tick 800ps -o t.pcapng; \
                 wire gen --replay t.pcapng --dry --json";
    let told: serde_json::Value = serde_json::from_str(&place.run(again).good()).unwrap();
    assert_eq!(
        (&told["packets"], &told["idles"]["sd"]),
        (&999.into(), &0.0.into())
    );
    assert_eq!(told["idles"]["min"], 33);
}

#[test]
fn frames_shorter_than_a_header_are_replayed_where_they_can_be() {
    let place = Place::new("shorter");
    let mut pcap = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 0x4_0000, 1] {
        pcap.extend(word.to_le_bytes());
    }
    for length in [60, 4, 0_u32] {
        for word in [1_700_000_000, 0, length, length] {
            pcap.extend(word.to_le_bytes());
        }
        pcap.extend((0..length).map(|n| n as u8 + 1));
    }
    place.write("t.pcap", pcap);
    let dry = place.run("wire gen --replay t.pcap --dry --json").good();
    let told: serde_json::Value = serde_json::from_str(&dry).unwrap();
    assert_eq!((&told["packets"], &told["bytes"]), (&3.into(), &64.into()));
    // A line cannot say them: told and counted.
    let lines = place.run("wire gen --replay t.pcap");
    assert_eq!((lines.code, lines.out.lines().count()), (Some(1), 1));
    assert!(
        lines.err.contains("2 packets were not written"),
        "{}",
        lines.err
    );
    place.write(
        "p.p4",
        "#include <core.p4>\n#include <v1model.p4>
header b_t { bit<8> v; }
struct H { b_t b; }
struct M { }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { p.extract(h.b); transition accept; } }
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) { apply { s.egress_spec = 1; h.b.v = 0xff; } }
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h.b); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
",
    );
    let traced = place.run("wire p4 trace p.p4 t.pcap | grep bytes:").good();
    let told: Vec<&str> = traced.lines().skip(2).collect();
    assert_eq!(
        told,
        [
            "packet in by port 0, 4 bytes: 01020304",
            "out by port 1, 4 bytes: ff020304",
            "packet in by port 0, 0 bytes: ",
            "out by port 1, 0 bytes: ",
        ]
    );
}

#[test]
fn manual_pages_and_completions_come_from_the_same_definitions() {
    let place = Place::new("man");
    place.run("wire man m").good();
    let pages = place.run("ls m").good();
    for command in [
        "cat", "cut", "dump", "gen", "lab", "match", "mount", "ports", "run", "send", "tap",
        "undump",
    ] {
        assert!(pages.contains(&format!("wire-{command}.1")), "{pages}");
    }
    let page = place.read("m/wire-phy-decode.1");
    let page = String::from_utf8(page).unwrap();
    assert!(
        page.contains("EXIT STATUS") && page.contains("SIGNALS"),
        "{page}"
    );
    for shell in ["bash", "zsh", "fish"] {
        let text = place.run(&format!("wire completions {shell}")).good();
        assert!(text.contains("line-buffered"), "{shell}");
    }
    place.run("bash -n <(wire completions bash)").good();
}

/// Frames of these lengths as lines without a word.
fn long_lines(lengths: &[usize]) -> String {
    let line = |&length: &usize| {
        let payload = (14..length).map(|at| format!(" {:02X}", at % 251));
        format!(
            "0200000000AA 0200000000BB 88B6{}\n",
            payload.collect::<String>()
        )
    };
    lengths.iter().map(line).collect()
}

#[test]
fn super_frames_pass_through_every_form() {
    let place = Place::new("super-frames");
    let lengths = [60, 16_000, 16_001, 65_550, 262_144, 61];
    place.write("t.lines", long_lines(&lengths));
    for script in [
        "wire cat --no-time t.lines | cmp - t.lines",
        "wire cat --raw t.lines | wire cat --no-time | cmp - t.lines",
        "wire dump t.lines | wire undump --no-time | cmp - t.lines",
        "wire dump --pcap --epoch 0 t.lines | wire undump --no-time | cmp - t.lines",
        "wire dump t.lines | wire cat --raw | wire dump | wire undump --no-time | cmp - t.lines",
        "wire dump -o t.pcapng t.lines && wire send pcap:out.pcapng t.pcapng 2>told && wire undump --no-time out.pcapng | cmp - t.lines",
        "wire cut 1- t.lines | cmp - t.lines",
        "wire gen --replay t.pcapng | wire cat --no-time | cmp - t.lines",
    ] {
        place.run(script).good();
    }
    let told =
        place.run("wire gen --size 65535 --count 2 | wire cat --json | grep -o 'length\":[0-9]*'");
    assert_eq!(told.good(), "length\":65531\n".repeat(2));
    // One byte more than any frame has is told and counted, with its place; the others pass.
    place.write("long.lines", long_lines(&[60, 262_145, 61]));
    let ended = place.run("wire cat --no-time long.lines | awk '{ print NF }'");
    assert_eq!(ended.out, "49\n50\n");
    assert!(
        ended.err.contains("line 2") || ended.err.contains(":2"),
        "{}",
        ended.err
    );
    assert!(ended.err.contains("262144"), "{}", ended.err);
}

#[test]
fn lengths_of_gigabytes_in_a_capture_cost_no_memory() {
    let place = Place::new("gigabytes");
    let word = |value: u32| value.to_le_bytes();
    let header = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, 1]
        .map(word)
        .concat();
    for length in [262_145, 1 << 24, 0x7FFF_FFFF, u32::MAX] {
        let packet = [1, 2, length, length].map(word).concat();
        place.write("t.pcap", [&header[..], &packet, &[7; 5_000]].concat());
        let ended = place.run("ulimit -v 500000; wire cat t.pcap; echo $?");
        assert!(
            !ended.out.starts_with("0\n") && !ended.err.is_empty(),
            "{length}: {ended:?}"
        );
        assert!(!ended.err.contains("memory"), "{length}: {}", ended.err);
    }
}

/// A capture that tcpdump makes of a TCP connection whose segments nobody has cut yet (TSO), read packet for packet.
#[test]
fn a_capture_of_super_frames_by_tcpdump_is_read_whole() {
    let test = "a capture of super-frames";
    if !is_root(test)
        || !["tcpdump", "iperf3", "tshark", "ip"]
            .iter()
            .all(|program| has(program, test))
    {
        return;
    }
    let place = Place::new("tso");
    let script = "unshare --net bash -e -c '
        ip link set lo up; ip link add one type veth peer name two
        unshare --net sleep 120 & far=$!
        while [ \"$(readlink /proc/$far/ns/net)\" = \"$(readlink /proc/self/ns/net)\" ]; do sleep 0.02; done
        ip link set two netns $far
        ip address add 10.9.0.1/24 dev one; ip link set one up
        nsenter --net --target $far bash -c \"ip address add 10.9.0.2/24 dev two; ip link set two up; ip link set lo up\"
        tcpdump --immediate-mode -U -i one -w tso.pcap -B 65536 2>tcpdump.err & dump=$!
        until grep -q listening tcpdump.err; do sleep 0.02; done
        nsenter --net --target $far iperf3 --server >/dev/null & server=$!
        until iperf3 --client 10.9.0.2 --bytes 5M >/dev/null 2>&1; do sleep 0.05; done
        kill $server
        until [ $(stat -c %s tso.pcap) -ge 1000000 ]; do sleep 0.05; done
        kill $dump; wait $dump; kill $far'";
    // What the kernel has not handed over when tcpdump is ended is not in its file, nor what a busy machine let it drop: most is waited for.
    let made = place.run(script);
    assert_eq!(made.code, Some(0), "{}", made.err);
    let count = |script: &str| -> u64 { place.run(script).good().trim().parse().unwrap() };
    let lengths = place
        .run("tshark -r tso.pcap -T fields -e frame.len 2>/dev/null")
        .good();
    let lengths: Vec<usize> = lengths
        .lines()
        .map(|length| length.parse().unwrap())
        .collect();
    let theirs = lengths.len() as u64;
    assert!(
        lengths.iter().any(|&length| length > 16_000),
        "the kernel has cut all {theirs} packets"
    );
    for reader in [
        "wire cat tso.pcap | wc -l",
        "wire undump tso.pcap | wc -l",
        "wire cat --raw tso.pcap | wire cat | wc -l",
        "wire dump tso.pcap | wire cat --no-time | wc -l",
    ] {
        assert_eq!(count(reader), theirs, "{reader}");
    }
}

/// What a folder holds, by name.
fn names(place: &Place) -> Vec<String> {
    let names = std::fs::read_dir(&place.path).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn an_output_that_is_an_input_too_is_refused_and_stays() {
    let place = Place::new("same");
    place.write("t.lines", lines(50));
    place.run("wire dump t.lines -o f; wire phy encode t.lines -o f.phy 2> /dev/null; ln f hard; ln -s f soft; cp f before; cp f.phy before.phy; echo '1 2' > n; echo 'const bit<8> a = 1;' > p.p4; cp p.p4 p").good();
    let all = names(&place);
    for script in [
        "wire dump f -o f",
        "wire dump f -o ./f",
        "wire dump f -o soft",
        "wire dump f -o hard",
        "wire dump soft -o f",
        "wire dump t.lines f -o hard",
        "wire dump < f -o f",
        "wire dump f >> f",
        "wire dump < f 1<> f",
        "wire dump f -o /dev/stdout >> f",
        "wire cat f >> f",
        "wire undump f >> f",
        "wire undump < f 1<> soft",
        "wire cut dst f >> f",
        "wire match type=0800 --file f >> f",
        "wire phy encode f -o f",
        "wire phy decode f.phy -o f.phy",
        "wire phy lock f.phy -o f.phy",
        "wire relay train f -o f",
        "ln n n.svg; wire plot n -o n.svg; code=$?; rm n.svg; exit $code",
    ] {
        let ended = place.run(script);
        assert_eq!(ended.code, Some(2), "{script}: {}", ended.err);
        assert!(
            ended.err.contains("is the same file as"),
            "{script}: {}",
            ended.err
        );
        place
            .run("cmp f before && cmp f.phy before.phy && cmp p p.p4")
            .good();
        assert_eq!(names(&place), all, "{script}");
    }
    // Another file of the same content, and what is no file, may be both.
    place.run("wire dump f -o before && wire dump /dev/null -o /dev/null && wire cat < /dev/null > /dev/null").good();
}

#[test]
fn an_input_that_is_missing_or_damaged_leaves_the_old_output() {
    let place = Place::new("missing");
    place.write("t.lines", lines(2_000));
    place
        .run("wire dump t.lines -o whole; head -c 100000 whole > cut; printf old > old")
        .good();
    place.write("garbage", b"\x0a\x0d\x0d\x0a garbage garbage garbage");
    let all = names(&place);
    for script in [
        "wire dump nowhere -o old",
        "wire dump t.lines nowhere -o old",
        "wire dump . -o old",
        "wire dump garbage -o old",
        "wire phy encode nowhere -o old",
        "wire phy encode garbage -o old",
        "wire phy decode nowhere -o old",
        "wire phy lock nowhere -o old",
        "wire relay train nowhere -o old",
        "wire p4 info nowhere --p4info old",
        "wire p4 graph nowhere -o old",
        "wire profile cut nowhere --plot old.svg",
    ] {
        let ended = place.run(script);
        assert_eq!(ended.code, Some(2), "{script}: {}", ended.err);
        assert_eq!(place.read("old"), b"old", "{script}");
        assert_eq!(names(&place), all, "{script}");
    }
    // What was there of a capture that is cut off is beside it, whole in itself.
    let ended = place.run("gzip -c whole | head -c 5000 | wire dump -o old");
    assert_eq!((ended.code, place.read("old")), (Some(2), b"old".to_vec()));
    let told = ended.err.split_once("what was written is in ").unwrap().1;
    let (partial, rest) = told.split_once("; ").unwrap();
    assert!(rest.starts_with("old was not touched"), "{}", ended.err);
    let kept = place.run(&format!("wire undump --words {partial}")).good();
    assert!(kept.lines().count() > 10 && lines(2_000).starts_with(&kept));
}

#[test]
fn a_full_disk_leaves_the_old_output_and_what_was_accepted() {
    let place = Place::new("disk");
    place.write("t.lines", lines(20_000));
    place.write("ugly.p4", "const bit<8> a=1;\n".repeat(20_000));
    place.run("seq 20000 | awk '{ print $1, $1 * $1 % 977 }' > n; cp ugly.p4 ugly; printf old > old; printf old > old.svg; printf old > old.dict").good();
    // A limit of the size of files, as a disk has one; without it bash would be ended by a signal.
    let limited = "trap '' XFSZ; ulimit -f 16; ";
    for (script, keeps) in [
        ("wire dump t.lines -o old", true),
        ("wire dump --pcap t.lines -o old", true),
        ("wire phy encode t.lines -o old", true),
        ("wire plot n --kind line -o old.svg", false),
        ("wire p4 fmt --write ugly.p4", false),
        ("wire gen --count 20000 --pps 1000000000 pcap:old", true),
    ] {
        let before = names(&place);
        let ended = place.run(&format!("{limited}{script}"));
        assert_eq!(ended.code, Some(2), "{script}: {}", ended.err);
        assert!(
            ended.err.contains("File too large"),
            "{script}: {}",
            ended.err
        );
        let after: Vec<_> = names(&place);
        let new: Vec<_> = after.iter().filter(|name| !before.contains(name)).collect();
        assert_eq!(new.len(), usize::from(keeps), "{script}: {new:?}");
        for name in new {
            assert!(
                name.starts_with("old.") && name.ends_with(".partial"),
                "{name}"
            );
            assert!(ended.err.contains(name.as_str()), "{script}: {}", ended.err);
            assert_eq!(place.read(name).len(), 16 * 1024);
            std::fs::remove_file(place.path.join(name)).unwrap();
        }
        place
            .run("cmp ugly ugly.p4; cat old old.svg old.dict")
            .good();
        assert_eq!(place.read("old"), b"old", "{script}");
        assert_eq!(place.read("old.svg"), b"old", "{script}");
    }
}

#[test]
fn a_signal_is_no_fault_and_a_kill_leaves_the_old_output() {
    let place = Place::new("signals");
    place.write("t.lines", lines(3_000));
    place.write("old", "old");
    // The writer keeps the pipe open: only the signal ends the command, once it has written.
    let script = |signal| {
        format!(
            "set -m; mkfifo p; exec 3<>p; wire dump -o old <p & pid=$!; cat t.lines >&3; \
             for i in $(seq 1200); do [ -s \"$(ls old.*.partial 2>/dev/null)\" ] && break; sleep 0.05; done; sleep 0.3; \
             kill -{signal} $pid; wait $pid; rm p"
        )
    };
    place.run(&script("KILL"));
    assert_eq!(place.read("old"), b"old");
    let is_partial = |name: &String| name.starts_with("old.") && name.ends_with(".partial");
    let partial = names(&place).into_iter().find(is_partial).unwrap();
    // Cut off where it was: what is there is read.
    let kept = place.run(&format!("wire undump --words {partial}"));
    assert!(
        lines(3_000).starts_with(&kept.out) && !kept.out.is_empty(),
        "{}",
        kept.err
    );
    place.run(&format!("rm {partial}")).good();
    for signal in ["INT", "TERM"] {
        place.write("old", "old");
        place.run(&script(signal));
        place.run("wire undump --words old | cmp - t.lines").good();
        assert_eq!(names(&place), ["old", "t.lines"]);
    }
}

#[test]
fn an_output_may_be_a_link_a_pipe_or_have_any_mode() {
    let place = Place::new("kinds");
    place.write("t.lines", lines(30));
    place.run("mkdir deep; printf old > deep/real; chmod 640 deep/real; ln -s deep/real link; wire dump t.lines -o link && wire undump --words deep/real | cmp - t.lines && [ -L link ] && [ $(stat -c %a deep/real) = 640 ]").good();
    place.run("mkfifo pipe; wire undump --words pipe > read & wire dump t.lines -o pipe && wait && cmp read t.lines && [ -p pipe ]").good();
    place.run("wire dump t.lines -o /dev/stdout | wire undump --words | cmp - t.lines; wire dump t.lines -o >(wire undump --words > read2); sleep 0.2; until [ -s read2 ]; do sleep 0.05; done; cmp read2 t.lines").good();
    place
        .run("umask 027; wire dump t.lines -o new && [ $(stat -c %a new) = 640 ]")
        .good();
    let ended = place.run("wire dump t.lines -o deep");
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.err.contains("cannot write deep: Is a directory"),
        "{}",
        ended.err
    );
    // Root writes everywhere, and asks nobody.
    let ended = place.run("chmod 555 deep; touch deep/probe 2> /dev/null && { rm deep/probe; exit 77; }; wire dump t.lines -o deep/real; code=$?; chmod 755 deep; exit $code");
    match ended.code {
        Some(77) => {
            println!("skipped: uid 0 may write in a folder that is read-only");
            place.run("chmod 755 deep").good();
        }
        code => {
            assert_eq!(code, Some(2));
            assert!(
                ended
                    .err
                    .contains("making a new file beside it: Permission denied"),
                "{}",
                ended.err
            );
        }
    }
    place
        .run("wire undump --words deep/real | cmp - t.lines")
        .good();
}

#[test]
fn a_damaged_block_is_told_with_its_place_once() {
    let place = Place::new("place-once");
    place.write("t.lines", lines(3));
    place.run("wire dump t.lines -o t.pcapng").good();
    let mut capture = place.read("t.pcapng");
    let number = |capture: &[u8], at: usize| {
        u32::from_le_bytes(capture[at..at + 4].try_into().unwrap()) as usize
    };
    let mut at = 0;
    while number(&capture, at) != 6 {
        at += number(&capture, at + 4);
    }
    // Of an interface that there is not.
    capture[at + 8] = 9;
    place.write("t.pcapng", capture);
    let ended = place.run("wire cat t.pcapng | wc -l");
    let told = format!("byte {at}: a packet of an interface that was not described");
    assert!(ended.err.contains(&told), "{ended:?}");
    assert_eq!(
        (ended.err.matches("byte ").count(), ended.out.trim()),
        (1, "2"),
        "{ended:?}"
    );
}
