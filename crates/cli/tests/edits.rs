//! From capture to capture: nothing is lost, and the parts are those of editcap and mergecap.

use crate::shell::{Place, has};
use std::path::Path;

fn testdata(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/captures");
    Path::new(folder).join(name).display().to_string()
}

/// What tshark tells of each packet.
fn told(place: &Place, file: &str) -> String {
    let fields = [
        "frame.time_epoch",
        "frame.len",
        "frame.cap_len",
        "frame.interface_name",
        "frame.comment",
        "frame.encap_type",
        "_ws.col.Info",
    ];
    let fields = fields.map(|field| format!("-e {field}")).join(" ");
    // pcap has no name for its interface.
    let unnamed = r"sed 's/\tunknown\t/\t\t/'";
    let script = format!("tshark -r {file} -T fields {fields} 2>/dev/null | {unnamed}");
    place.run(&script).good()
}

#[test]
fn a_capture_of_a_capture_is_dissected_the_same() {
    if !has("tshark", "all of it is the same") {
        return;
    }
    let place = Place::new("edits-same");
    for name in [
        "comment.pcapng",
        "two-interfaces.pcapng",
        "tunnels.pcapng",
        "nano.pcap",
        "micro-big-endian.pcap",
    ] {
        let file = testdata(name);
        let whole = |file: &str| {
            place
                .run(&format!("tshark -r {file} -T json 2>/dev/null"))
                .good()
        };
        place
            .run(&format!("wire dump {file} | wire dump -o o.pcapng"))
            .good();
        // pcap says nothing of its interface.
        assert!(
            name.ends_with(".pcap") || whole("o.pcapng").len() == whole(&file).len(),
            "{name}"
        );
        assert!(told(&place, "o.pcapng") == told(&place, &file), "{name}");
        let about = |file: &str| {
            let script = format!(
                "capinfos -T -M -S -a -e -c -l -E -I {file} 2>/dev/null | cut -f2- | tail -n1"
            );
            place.run(&script).good()
        };
        if !name.ends_with(".pcap") && has("capinfos", "and what it says of itself") {
            assert_eq!(about("o.pcapng"), about(&file), "{name}");
        }
    }
}

#[test]
fn parts_of_a_capture_are_those_of_editcap_and_mergecap() {
    for tool in ["tshark", "editcap", "mergecap"] {
        if !has(tool, "parts are compared with those of others") {
            return;
        }
    }
    let place = Place::new("edits-parts");
    let (one, other) = (testdata("two-interfaces.pcapng"), testdata("nano.pcap"));
    let times = place
        .run(&format!(
            "tshark -r {other} -T fields -e frame.time_epoch 2>/dev/null"
        ))
        .good();
    let times: Vec<&str> = times.lines().collect();
    let (from, to) = (times[3], times[9]);
    // Of one time mergecap takes the last file's packet first.
    place
        .run(&format!("editcap -t 0.000000005 {other} later"))
        .good();
    for (ours, theirs) in [
        (
            format!("wire dump --skip 4 --count 6 {one} -o a"),
            format!("editcap -r {one} b 5-10"),
        ),
        (
            format!("wire dump --shift -3600.5 {one} -o a"),
            format!("editcap -t -3600.5 {one} b"),
        ),
        (
            format!("wire dump --shift 1500ms {other} -o a"),
            format!("editcap -t 1.5 {other} b"),
        ),
        (
            format!("wire dump --merge {one} later -o a"),
            format!("mergecap -w b {one} later"),
        ),
        (
            format!("wire dump {other} {one} -o a"),
            format!("mergecap -a -w b {other} {one}"),
        ),
        (
            format!("wire dump --filter 'tcp port 5000' {one} -o a"),
            format!("tshark -r {one} -Y 'tcp.port == 5000' -w b 2>/dev/null"),
        ),
        (
            format!("wire dump --since {from} --until {to} {other} -o a"),
            format!(
                "tshark -r {other} -Y 'frame.time_epoch >= {from} && frame.time_epoch < {to}' -w b 2>/dev/null"
            ),
        ),
    ] {
        place.run(&ours).good();
        place.run(&theirs).good();
        let told_of = told(&place, "a");
        assert!(told_of.lines().count() > 1, "{ours}: {told_of}");
        assert!(told_of == told(&place, "b"), "{ours}");
    }
}

#[test]
fn what_an_interface_counted_moves_with_its_packets() {
    if !has("tshark", "statistics of a capture") {
        return;
    }
    let place = Place::new("edits-statistics");
    let file = testdata("two-interfaces.pcapng");
    place
        .run(&format!("wire dump --shift 3600 {file} -o later; wire dump --shift -3600 later -o back; wire dump {file} -o same"))
        .good();
    // But for when each was written they are the same bytes.
    place.run("cmp back same").good();
    assert_ne!(place.read("later"), place.read("same"));
}

#[test]
fn what_is_split_is_whole_together() {
    let place = Place::new("edits-split");
    let file = testdata("nano.pcap");
    let lines = place.run(&format!("wire cat {file}")).good();
    for (how, together) in [
        ("10", "wire cat o-*.pcapng | cmp - whole"),
        ("1ms", "wire cat o-*.pcapng | cmp - whole"),
        ("2kB", "wire cat o-*.pcapng | cmp - whole"),
        (
            "flow",
            "wire dump --merge o-*.pcapng | wire cat | sort | cmp - <(sort whole)",
        ),
    ] {
        place.write("whole", &lines);
        place
            .run(&format!(
                "rm -f o-*; wire dump {file} --split {how} -o o.pcapng"
            ))
            .good();
        let files = place
            .names()
            .iter()
            .filter(|name| name.starts_with("o-"))
            .count();
        assert!(files > 1, "{how}: {:?}", place.names());
        place.run(together).good();
        assert!(!place.names().contains(&"o.pcapng".to_owned()), "{how}");
    }
    // Each file has one conversation, by the judgement of another.
    if has("tshark", "conversations are one a file") {
        for name in place
            .names()
            .iter()
            .filter(|name| name.starts_with("o-udp"))
        {
            let script =
                format!("tshark -r {name} -T fields -e udp.stream 2>/dev/null | sort -u | wc -l");
            assert_eq!(place.run(&script).good(), "1\n", "{name}");
        }
    }
    // 10 packets a file, but for the last.
    place
        .run(&format!("rm o-*; wire dump {file} --split 10 -o o.pcapng"))
        .good();
    assert_eq!(place.run("wire cat o-00001.pcapng | wc -l").good(), "10\n");
}

#[test]
fn packets_that_no_wire_carries_are_kept_as_they_are() {
    let place = Place::new("edits-foreign");
    // Big-endian, of a wireless network, with a comment and flags on the packet, a comment on the interface, an FCS of 4 bytes, and five bytes.
    let block = |kind: u32, body: &[u8]| {
        let length = (12 + body.len() as u32).to_be_bytes();
        [&kind.to_be_bytes(), &length[..], body, &length].concat()
    };
    let option = |code: u16, value: &[u8]| {
        let mut option = [code.to_be_bytes(), (value.len() as u16).to_be_bytes()].concat();
        option.extend(value);
        option.resize(option.len().next_multiple_of(4), 0);
        option
    };
    let section = [0x1A, 0x2B, 0x3C, 0x4D, 0, 1, 0, 0]
        .into_iter()
        .chain([0xFF; 8])
        .chain(option(1, b"of the section"));
    let mut file = block(0x0A0D_0D0A, &section.collect::<Vec<_>>());
    let interface = [
        [0, 105, 0, 0, 0, 0, 0, 0].to_vec(),
        option(1, b"of the interface"),
        option(13, &[4]),
        vec![0; 4],
    ];
    file.extend(block(1, &interface.concat()));
    let words = [0u32, 0x0005_E0D9, 0x2F6C_4000, 5, 5];
    let mut packet: Vec<u8> = words.into_iter().flat_map(u32::to_be_bytes).collect();
    packet.extend(b"abcde\0\0\0");
    packet.extend(
        [
            option(1, "of the packet".as_bytes()),
            option(2, &[0, 0, 0, 2]),
            vec![0; 4],
        ]
        .concat(),
    );
    file.extend(block(6, &packet));
    place.write("in.pcapng", &file);
    place
        .run("wire dump in.pcapng -o out.pcapng; wire dump out.pcapng -o again.pcapng")
        .good();
    assert_eq!(place.read("out.pcapng"), place.read("again.pcapng"));
    if has("tshark", "another reads the same") {
        for file in ["in.pcapng", "out.pcapng"] {
            let script = format!(
                "tshark -r {file} -T fields -e frame.comment -e frame.packet_flags_direction -e frame.encap_type -e frame.len 2>/dev/null"
            );
            assert_eq!(
                place.run(&script).good(),
                "of the packet\t0x00000002\t20\t5\n",
                "{file}"
            );
        }
    }
    let bytes = place.read("out.pcapng");
    for comment in ["of the section", "of the interface", "of the packet"] {
        assert!(
            bytes
                .windows(comment.len())
                .any(|part| part == comment.as_bytes()),
            "{comment}"
        );
    }
    // Where frames for a wire are wanted it is none. A filter looks into it as it is, and asks for
    // what there is.
    assert_eq!(place.run("wire cat in.pcapng").code, Some(1));
    let length = place.run("wire dump --filter 'len = 5' in.pcapng -o five.pcapng");
    assert_eq!(length.code, Some(0), "{}", length.err);
    let refused = place.run("wire dump --filter mpls in.pcapng > out");
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("link type 105"), "{}", refused.err);
}

#[test]
fn what_cannot_be_done_is_said() {
    let place = Place::new("edits-refused");
    let file = testdata("comment.pcapng");
    for (script, code, why) in [
        ("wire dump F --split 10 > out", 2, "-o FILE"),
        ("wire dump F --split 0 -o out", 2, "split by a count"),
        (
            "wire dump F --since yesterday -o out",
            2,
            "2026-11-22T10:00:00Z",
        ),
        (
            "wire dump F --shift -1800000000 -o out",
            2,
            "out of the dates",
        ),
        ("wire dump F --pcap -o out", 1, "comments or flags"),
        ("wire dump nowhere --split 10 -o out", 2, "nowhere"),
    ] {
        let ended = place.run(
            &script
                .replace('F', &file)
                .replace("-o out", "-o out.pcapng"),
        );
        assert_eq!(ended.code, Some(code), "{script}: {}", ended.err);
        assert!(ended.err.contains(why), "{script}: {}", ended.err);
    }
}
