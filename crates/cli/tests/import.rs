//! Packets out of other text and back, checksums set right after `sed`, and captures in parts.

use crate::shell::{Place, has};
use std::path::Path;

fn testdata(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/captures");
    Path::new(folder).join(name).display().to_string()
}

#[test]
fn json_lines_are_read_back_to_the_last_digit_of_stamps() {
    let place = Place::new("import-json");
    for name in ["nano.pcap", "tunnels.pcapng", "micro-big-endian.pcap"] {
        let file = testdata(name);
        place.run(&format!("wire cat {file} >a && wire cat {file} --json | wire cat >b && wire cat {file} --json | wire cat --from json >c && cmp a b && cmp a c")).good();
    }
    // Words of a port, too.
    place
        .run("wire gen --count 5 --gap 7us >a && wire cat a --json | wire cat >b && cmp a b")
        .good();
    for (text, place_of) in [
        (
            r#"{"schema":"wireline.ping/1","type":"answer","bytes":"00"}"#,
            "x:2",
        ),
        (r#"{"schema":"wireline.packet/1","bytes":"0"}"#, "x:2"),
        ("nonsense", "x:2"),
    ] {
        place.write("x", format!("\n{text}\n"));
        let ended = place.run("wire cat --from json x");
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.err.contains(place_of), "{}", ended.err);
    }
}

#[test]
fn hex_dumps_of_many_programs_are_read() {
    let place = Place::new("import-hex");
    let file = testdata("tunnels.pcapng");
    // What text2pcap made the capture of; its times are of a day.
    let text = testdata("tunnels.txt");
    place
        .run(&format!(
            "wire cat --from hex {text} --no-time >a && wire cat {file} --no-time >b && cmp a b"
        ))
        .good();
    place.run(&format!("wire cat {file} --json -c 1 | sed 's/.*\"bytes\":\"//; s/\".*//' >hex && wire cat {file} --no-time -c 1 >b")).good();
    for (program, dump) in [
        ("xxd", "xxd -r -p hex | xxd"),
        ("xxd", "xxd -r -p hex | xxd -g 1 -c 8"),
        ("hexdump", "xxd -r -p hex | hexdump -C"),
        ("od", "xxd -r -p hex | od -t x1"),
        ("od", "xxd -r -p hex | od -A x -t x1z"),
    ] {
        if has("xxd", "hex dumps are made by it") && has(program, "its dumps are read") {
            place
                .run(&format!(
                    "{dump} | wire cat --from hex --no-time >a && cmp a b"
                ))
                .good();
        }
    }
    if has("tcpdump", "its dumps are read") {
        let dated = testdata("micro.pcap");
        place.run(&format!("tcpdump -tt -n -xx -r {dated} 2>/dev/null | wire cat --from hex >a && wire cat {dated} >b && cmp a b")).good();
    }
    place.write("bad", "0000 01 02 03\n0010 04\n");
    let ended = place.run("wire cat --from hex bad");
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.err.contains("bad:2") && ended.err.contains("offset"),
        "{}",
        ended.err
    );
}

#[test]
fn checksums_are_set_right_behind_sed_and_what_cannot_be_known_is_told() {
    let place = Place::new("import-fix");
    let file = testdata("nano.pcap");
    place
        .run(&format!(
            "wire undump {file} | sed 's/ 0A 00 00 01 / 0A 00 00 63 /' >changed"
        ))
        .good();
    let fixed = place.run(
        "wire dump changed --fix-checksums -o fixed.pcapng && wire dump changed -o wrong.pcapng",
    );
    assert_eq!(fixed.code, Some(0), "{fixed:?}");
    assert!(
        fixed.err.contains("checksums set right") && fixed.err.contains("of IPv4"),
        "{}",
        fixed.err
    );
    assert!(fixed.err.contains("fragments"), "{}", fixed.err);
    if has("tshark", "it checks checksums") {
        let bad = |file: &str| {
            let check = "-o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE -o udp.check_checksum:TRUE -o ip.defragment:FALSE";
            // What an error of ICMP quotes is as sed left it.
            let wrong = "!(icmp.type == 3) && (ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0 || icmp.checksum.status == 0)";
            place
                .run(&format!(
                    "tshark -r {file} {check} -Y '{wrong}' 2>/dev/null | wc -l"
                ))
                .good()
        };
        assert_ne!(bad("wrong.pcapng"), "0\n");
        assert_eq!(bad("fixed.pcapng"), "0\n");
    }
    // What is right stays as it is.
    let same = place
        .run("wire cat fixed.pcapng >a && wire cat fixed.pcapng --fix-checksums >b && cmp a b");
    assert_eq!(same.code, Some(0));
    assert!(same.err.contains("0 checksums set right"), "{}", same.err);
    let longer = place.run("wire craft 'ip/udp/\"abcdefghijklmnopqrstuvwxyz\"' | sed 's/$/ 41 42/' | wire cat --fix-lengths | wire cut ip.len,udp.length");
    assert_eq!(longer.out, "56 36\n", "{longer:?}");
}

#[test]
fn a_ring_keeps_the_newest_files_and_a_snap_length_the_lengths() {
    let place = Place::new("import-ring");
    place.run("wire craft 'ip/udp(dport=1-10)/\"0123456789\"' | wire dump --split 2 -W 2 -o ring.pcapng").good();
    let mut names = place.names();
    names.sort();
    assert_eq!(names.len(), 2, "{names:?}");
    let ports = place
        .run(&format!("wire cut dport {}", names.join(" ")))
        .good();
    assert_eq!(ports, "7\n8\n9\n10\n");
    assert_eq!(
        place
            .run("wire craft arp | wire dump -W 2 -o x.pcapng")
            .code,
        Some(2)
    );
    let snap =
        place.run("wire craft 'ip/udp/\"0123456789\"' | wire dump -s 20 | wire dump -o cut.pcapng");
    assert_eq!(snap.code, Some(0), "{snap:?}");
    if has("tshark", "it tells lengths") {
        let told = place
            .run("tshark -r cut.pcapng -T fields -e frame.len -e frame.cap_len 2>/dev/null")
            .good();
        assert_eq!(told, "52\t20\n");
    }
}
