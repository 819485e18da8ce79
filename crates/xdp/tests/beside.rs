//! What random programs do not have, in the kernel beside the interpreter: the same packets go in, and the same come out.

use crate::corpus::{allowed, environment};
use crate::random::Choices;
use node::Time;
use pipeline::architecture::{Collected, Config, Pipeline};
use pipeline::control::Control;
use pipeline::interpreter::Interpreter;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use xdp::{Tally, Xdp};

/// A program twice, each with its own tables.
struct Both {
    sides: [(Pipeline, Control); 2],
    tally: Arc<Tally>,
    name: String,
}

impl Both {
    /// `None` where the kernel takes no programs of ours.
    fn of(name: &str, text: &str) -> Option<Both> {
        if !allowed() {
            return None;
        }
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.p4"));
        std::fs::write(&program, text).expect("a file");
        let [one, two] = [(); 2].map(|()| environment(&program));
        let reference = Interpreter::new(&one).expect(name);
        let kernel = Xdp::new(&two).expect(name);
        let tally = kernel.tally();
        let config = Config::default();
        let reference = Pipeline::new(&one, Box::new(reference), &config).expect(name);
        let kernel = Pipeline::new(&two, Box::new(kernel), &config);
        let kernel = kernel.unwrap_or_else(|why| panic!("{name}: {}", why.message));
        Some(Both {
            sides: [(reference, Control::new(one)), (kernel, Control::new(two))],
            tally,
            name: name.into(),
        })
    }

    fn say(&self, words: &str) {
        for (_, control) in &self.sides {
            control.say(words).expect(words);
        }
    }

    /// What both make of a packet.
    fn send(&mut self, at: Time, port: u32, bytes: &[u8]) -> Collected {
        let [one, two] = [0, 1].map(|side| {
            let mut out = Collected::default();
            self.sides[side].0.process(at, port, bytes, &mut out);
            out
        });
        assert_eq!(one, two, "{}: {bytes:02x?} at {at:?}", self.name);
        one
    }

    /// How many packets the kernel ran, and how many it left to the interpreter.
    fn ran(&self) -> [u64; 2] {
        [&self.tally.kernel, &self.tally.interpreter].map(|count| count.load(Ordering::Relaxed))
    }
}

/// Whether the kernel refuses a program with these words.
fn refused(name: &str, text: &str, why: &str) {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.p4"));
    std::fs::write(&program, text).expect("a file");
    match xdp::program(&environment(&program)) {
        Ok(_) => panic!("{name} is not refused"),
        Err(error) => assert!(error.to_string().contains(why), "{name}: {error}"),
    }
}

/// A program for v1model over one header, with what ingress, egress and their surroundings have.
fn program(around: &str, ingress: &str, egress: &str) -> String {
    let (declared, ingress) = ingress
        .split_once("apply:")
        .expect("declarations, and `apply:`");
    format!(
        "#include <core.p4>
#include <v1model.p4>
header data_t {{ bit<8> op; bit<8> a; bit<16> b; bit<32> c; }}
struct headers {{ data_t data; }}
struct meta {{ @field_list(1) bit<8> count; @field_list(2) bit<16> other; bit<8> lost; }}
{around}
parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) {{
    state start {{ p.extract(h.data); transition accept; }}
}}
control V(inout headers h, inout meta m) {{ apply {{ }} }}
control I(inout headers h, inout meta m, inout standard_metadata_t s) {{
    {declared}
    apply {{ s.egress_spec = 1; {ingress} }}
}}
control E(inout headers h, inout meta m, inout standard_metadata_t s) {{ apply {{ {egress} }} }}
control C(inout headers h, inout meta m) {{ apply {{ }} }}
control D(packet_out p, in headers h) {{ apply {{ p.emit(h.data); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

fn bytes(c: &mut Choices, length: usize) -> Vec<u8> {
    (0..length).map(|_| c.next() as u8).collect()
}

const SELECTING: &str = "
    action mark(bit<16> value) { h.data.b = value; }
    action out_by(bit<9> port, bit<32> value) { s.egress_spec = port; h.data.c = value; }
    action_selector(HashAlgorithm.crc32, 16, 12) chooser;
    table chosen {
        key = { h.data.op: exact; h.data.a: selector; h.data.c: selector; }
        actions = { mark; out_by; NoAction; }
        implementation = chooser;
    }
    action_profile(8) profile;
    table plain {
        key = { h.data.op: ternary; }
        actions = { out_by; mark; }
        implementation = profile;
    }
    apply: if (chosen.apply().hit) { h.data.op = h.data.op + 1; } plain.apply();";

#[test]
fn members_of_profiles_and_groups_are_those_that_the_interpreter_chooses() {
    for algorithm in ["crc32", "crc16", "identity", "csum16", "xor16"] {
        let text = program("", &SELECTING.replace("crc32", algorithm), "");
        let Some(mut both) = Both::of(&format!("selecting_{algorithm}"), &text) else {
            return;
        };
        both.say("profile add chooser member 1 do mark 0x1111");
        both.say("profile add chooser member 2 do out_by 2 0x22222222");
        both.say("profile add chooser member 3 do out_by 3 0x33333333");
        both.say("profile add chooser group 9 1 2*3 3");
        both.say("profile add chooser group 8");
        both.say("table add chosen 0 do group 9");
        both.say("table add chosen 1 do group 8");
        both.say("table add chosen 2 do member 3");
        both.say("profile add profile member 5 do mark 0x5555");
        both.say("table add plain 3&&&0x3 priority 1 do member 5");
        let c = &mut Choices::new(&[], 7);
        let mut ports = std::collections::BTreeSet::new();
        let mut round = |both: &mut Both| {
            for _ in 0..60 {
                let mut packet = bytes(c, 20);
                packet[0] &= 3;
                let out = both.send(Time::ZERO, 0, &packet);
                ports.extend(out.packets.iter().map(|(port, _)| *port));
            }
        };
        round(&mut both);
        // A member changes for all who name it, and a group as a whole.
        both.say("profile set chooser member 2 do out_by 4 0x44444444");
        both.say("profile set profile member 5 do out_by 6 1");
        round(&mut both);
        both.say("profile set chooser group 9 3");
        both.say("profile set chooser group 8 1 1 2");
        round(&mut both);
        both.say("table rm chosen 0");
        round(&mut both);
        assert!(ports.len() > 3, "{algorithm}: {ports:?}");
        assert_eq!(both.ran(), [240, 0], "{algorithm}");
    }
}

#[test]
fn a_selector_that_hashes_by_what_a_controller_may_change_is_refused() {
    let text = program("", &SELECTING.replace("crc32", "crc32_custom"), "");
    refused("custom_selector", &text, "hash algorithm is not supported");
}

#[test]
fn meters_say_the_same_colours() {
    let text = program(
        "",
        "meter(4, MeterType.bytes) by_bytes;
        meter(4, MeterType.packets) by_packets;
        direct_meter<bit<8>>(MeterType.packets) direct;
        action read() { direct.read(h.data.op); }
        table metered {
            key = { h.data.op: exact; }
            actions = { read; NoAction; }
            meters = direct;
            default_action = read();
        }
        apply: bit<8> colour;
            by_bytes.execute_meter<bit<8>>((bit<32>)h.data.a, colour); h.data.b[7:0] = colour;
            by_packets.execute_meter<bit<8>>((bit<32>)h.data.a, colour); h.data.b[15:8] = colour;
            metered.apply();",
        "",
    );
    let Some(mut both) = Both::of("meters", &text) else {
        return;
    };
    both.say("meter set by_bytes 0 1000:100 3000:300");
    both.say("meter set by_bytes 3 0:50 7:60");
    both.say("meter set by_packets 1 10:2 20:4");
    both.say("meter set by_packets 2 1000000000000:3 2000000000000:18000000000");
    both.say("table add metered 1 do read");
    both.say("meter set direct 1 5:1 50:9");
    let c = &mut Choices::new(&[], 3);
    let mut at = Time::from_ms(5);
    let mut colours = [0; 3];
    for number in 0..600 {
        let mut packet = bytes(c, 24);
        (packet[0], packet[1]) = (packet[0] & 1, packet[1] % 6);
        at += Time::from_ns(c.next() % 40_000_000);
        if number == 300 {
            // Buckets are full again, and one says nothing any more.
            both.say("meter set by_bytes 0 1000:100 3000:300");
            both.say("meter reset by_packets 1");
        }
        let out = both.send(at, 0, &packet);
        let colour = usize::from(out.packets[0].1[2].max(out.packets[0].1[3]));
        colours[colour] += 1;
    }
    assert!(colours.iter().all(|count| *count > 10), "{colours:?}");
    assert_eq!(both.ran(), [600, 0]);
    // A bucket that the kernel has no room for: the interpreter takes the packets.
    both.say("meter set by_packets 0 1:99000000000 1:99000000000");
    both.send(at, 0, &[0; 24]);
    assert_eq!(both.ran(), [600, 1]);
}

const AROUND: &str = "
    if (h.data.op > 0) { h.data.c = h.data.c + 1; }
    h.data.b = h.data.b ^ ((bit<16>)m.count << 4) ^ m.other ^ (bit<16>)m.lost ^ (bit<16>)s.instance_type;";

#[test]
fn resubmitted_packets_begin_anew_with_what_goes_along() {
    let ingress = format!(
        "apply: {AROUND}
        m.lost = 7;
        if (m.count < h.data.a) {{
            m.count = m.count + 1; m.other = m.other + 3;
            if (h.data.op[0:0] == 1) {{ resubmit_preserving_field_list(1); }}
            else {{ resubmit_preserving_field_list((bit<8>)1); resubmit_preserving_field_list(2); s.mcast_grp = 3; }}
            if (h.data.op == 4) {{ m.count = 255; resubmit_preserving_field_list(1); }}
        }}"
    );
    let text = program("", &ingress, "h.data.a = (bit<8>)s.instance_type + 1;");
    let Some(mut both) = Both::of("resubmits", &text) else {
        return;
    };
    let c = &mut Choices::new(&[], 5);
    for _ in 0..200 {
        let mut packet = bytes(c, 30);
        (packet[0], packet[1]) = (packet[0] % 5, packet[1] % 30);
        if packet[0] == 0 || packet[0] == 2 {
            // The count does not go along: it has no end unless there is nothing to count.
            packet[1] = 0;
        }
        both.send(Time::ZERO, 2, &packet);
    }
    assert_eq!(both.ran(), [200, 0]);
    // More often than the kernel allows: nothing of it is kept, and the interpreter begins anew.
    let out = both.send(
        Time::ZERO,
        2,
        &[1, 40, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7],
    );
    assert_eq!((out.packets.len(), both.ran()), (1, [200, 1]));
}

#[test]
fn recirculated_packets_come_in_as_they_left() {
    let text = program(
        "",
        &format!(
            "apply: {AROUND} s.egress_spec = (bit<9>)h.data.a[1:0]; recirculate_preserving_field_list(1);"
        ),
        "h.data.c = h.data.c + (bit<32>)s.packet_length;
        if (h.data.op == 9) { truncate(20); }
        if (h.data.a > 3) {
            h.data.a = h.data.a - 1; m.count = m.count + 1; m.lost = 9;
            if (h.data.op == 3) { h.data.setInvalid(); }
            recirculate_preserving_field_list(1);
        }
        resubmit_preserving_field_list(1);",
    );
    let Some(mut both) = Both::of("recirculates", &text) else {
        return;
    };
    let c = &mut Choices::new(&[], 9);
    for _ in 0..200 {
        let length = 20 + c.next() as usize % 60;
        let mut packet = bytes(c, length);
        (packet[0], packet[1]) = (packet[0] % 10, packet[1] % 30);
        if packet[0] == 3 {
            // Without its header the packet begins with what was behind it, which comes to an end, too.
            packet.resize(24, 0);
            (packet[9], packet[17]) = (packet[9] % 20, packet[17] % 20);
        }
        both.send(Time::ZERO, 2, &packet);
    }
    assert_eq!(both.ran(), [200, 0]);
}

#[test]
fn packets_are_cut_where_the_program_says() {
    let text = program(
        "",
        "apply: if (h.data.op[0:0] == 1) { truncate((bit<32>)h.data.b); truncate((bit<32>)h.data.a); }
            if (h.data.op[3:3] == 1) { s.mcast_grp = 4; }",
        "if (h.data.op[1:1] == 1) { truncate(33); } if (h.data.op[2:2] == 1) { h.data.setInvalid(); }",
    );
    let Some(mut both) = Both::of("truncates", &text) else {
        return;
    };
    both.say("group add 4 2 3");
    let c = &mut Choices::new(&[], 11);
    let mut shortest = usize::MAX;
    for _ in 0..300 {
        let length = 8 + c.next() as usize % 150;
        let packet = bytes(c, length);
        let out = both.send(Time::ZERO, 2, &packet);
        let lengths = out.packets.iter().map(|(_, bytes)| bytes.len());
        shortest = lengths.fold(shortest, usize::min);
    }
    assert!(shortest < 14, "{shortest}");
    assert_eq!(both.ran(), [300, 0]);
}

#[test]
fn clones_and_checksums_over_the_payload_are_refused() {
    let text = program("", "apply: clone(CloneType.I2E, 5);", "");
    refused("clones", &text, "cannot copy a packet");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/p4");
    let sums = std::fs::read_to_string(folder.join("psa_paths.p4")).expect("it is there");
    let hashed = sums.replace(
        "InternetChecksum() sum;",
        "Checksum<bit<16>>(PSA_HashAlgorithm_t.CRC16) sum;",
    );
    let hashed = hashed.replace("sum.add", "sum.update");
    let lines = hashed.lines().filter(|line| !line.contains("sum.subtract"));
    let data = format!("#include \"{}", folder.join("").display());
    let hashed = lines
        .collect::<Vec<_>>()
        .join("\n")
        .replace("#include \"", &data);
    refused(
        "hashed",
        &hashed,
        "`ED.sum.update`: this extern is not supported",
    );
}
