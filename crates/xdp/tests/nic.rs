//! PNA programs in the kernel, compared with the interpreter packet by packet: output, learned entries and counters.

use crate::corpus::{allowed, environment};
use crate::interfaces::{arrivals, as_generic, datagram, hosts};
use crate::random::Choices;
use ::capture::clock::now_ns;
use live::port::{self, Options};
use node::Time;
use p4::ir::{ObjectId, TableId};
use pipeline::architecture::{Collected, Config, Pipeline};
use pipeline::control::Control;
use pipeline::control::commands::Answer;
use pipeline::engine::Engine;
use pipeline::interpreter::Interpreter;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use xdp::{Switch, Tally, Xdp};

/// A program of the corpus twice: in the interpreter and in the kernel.
fn devices(program: &Path) -> ([(Pipeline, Control); 2], Arc<Tally>) {
    let name = program.display().to_string();
    let [one, two] = [(); 2].map(|()| environment(program));
    let kernel = Xdp::new(&two).expect(&name);
    let tally = kernel.tally();
    let reference = Interpreter::new(&one).expect(&name);
    let engines: [(_, Box<dyn Engine>); 2] = [(one, Box::new(reference)), (two, Box::new(kernel))];
    let devices = engines.map(|(environment, engine)| {
        let pipeline = Pipeline::new(&environment, engine, &Config::default());
        let pipeline = pipeline.unwrap_or_else(|why| panic!("{name}: {}", why.message));
        (pipeline, Control::new(environment))
    });
    (devices, tally)
}

/// Sends a command to both; their answers must be equal.
fn say(devices: &[(Pipeline, Control); 2], line: &str) {
    let [one, two] = [0, 1].map(|at| devices[at].1.say(line).map_err(|error| error.message));
    assert_eq!(one, two, "{line}");
}

/// Packets and bytes that the program has counted.
fn counts(control: &Control) -> Vec<Vec<u64>> {
    let environment = control.environment();
    let objects = (0..environment.objects.len() as u32).map(ObjectId);
    let counters = objects.filter_map(|id| environment.counter(id));
    let cells = counters.map(|counter| counter.cells().iter());
    cells
        .map(|cells| cells.map(|cell| cell.load(Ordering::Relaxed)).collect())
        .collect()
}

/// Counts of a comparison.
struct Compared {
    sent: usize,
    /// The most entries that the first table had.
    most: usize,
    kernel: u64,
    interpreter: u64,
}

/// Sends random packets by ports whose sides change.
fn compared(name: &str, setup: &[&str], random: &mut Choices<'_>, length: usize) -> Compared {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/p4");
    let (mut devices, tally) = devices(&folder.join(name));
    for line in setup {
        say(&devices, line);
    }
    let (mut sent, mut most) = (0, 0);
    let mut now = Time::from_secs(1);
    for number in 0..1500 {
        if random.one_in(40) {
            let port = random.below(6);
            let side = ["set 0 net", "set 4 host", "rm 0", "rm 4"][random.below(4)];
            let side = side.replace(['0', '4'], &port.to_string());
            say(&devices, &format!("port {side}"));
        }
        now += Time::from_ms([1, 1, 1, 100, 3000, 20_000][random.below(6)]);
        let mut bytes: Vec<u8> = (0..length).map(|_| random.below(4) as u8).collect();
        bytes[0] = random.below(12) as u8;
        bytes.truncate(if random.one_in(10) {
            random.below(length + 1)
        } else {
            length
        });
        let port = random.below(6) as u32;
        let [one, two] = [0, 1].map(|at| {
            let mut out = Collected::default();
            devices[at].0.process(now, port, &bytes, &mut out);
            out
        });
        sent += one.packets.len();
        assert_eq!(
            one, two,
            "{name}: packet {number}, {bytes:02x?} at port {port}, {now:?}"
        );
        say(&devices, "table dump");
        let [one, two] = [0, 1].map(|at| counts(&devices[at].1));
        assert_eq!(one, two, "{name}: packet {number}, {bytes:02x?}");
        let tables = &devices[0].1.environment().tables;
        most = most.max(tables.len(TableId(0)));
        let [one, two] = [0, 1].map(|at| devices[at].1.environment().digests.drain());
        assert_eq!(one, two, "{name}: {bytes:02x?}");
    }
    let [kernel, interpreter] =
        [&tally.kernel, &tally.interpreter].map(|count| count.load(Ordering::Relaxed));
    println!(
        "{name}: {sent} sent, {most} entries, {kernel} packets in the kernel and {interpreter} not"
    );
    Compared {
        sent,
        most,
        kernel,
        interpreter,
    }
}

#[test]
fn packets_take_the_same_ways_through_a_nic_in_the_kernel() {
    if !allowed() {
        return;
    }
    let setup = [
        "mirror add 5 7",
        "mirror add 6 8 truncate 2",
        "mirror add 9 2",
        "table add ports op=7 near=1 do to 3",
        "table add ports op=7 near=2 do mirror 0 5",
        "table add outs 1 do to 1",
        "table add outs 2 do to 4",
        "table add outs 3 do to 9",
        "table add ports op=8 near=3 do mirror 4 6",
    ];
    let all = compared("pna_paths.p4", &setup, &mut Choices::new(&[], 1), 6);
    assert!(all.sent > 700, "{}", all.sent);
    assert!(all.kernel > 10 * all.interpreter);
}

#[test]
fn entries_are_learned_and_forgotten_in_the_kernel() {
    if !allowed() {
        return;
    }
    let setup = ["port set 4 host", "port set 0 net", "expiry set 4 never"];
    let all = compared("pna_learning.p4", &setup, &mut Choices::new(&[], 2), 10);
    assert!(all.sent > 150 && all.most == 3, "{} sent", all.sent);
    assert_eq!(all.interpreter, 0);
}

/// A table with times that each hit starts again, and entries that packets add.
const IDLE: &str = "
    action known() { h.data.c = 1; }
    table idle {
        key = { h.data.op: exact; }
        actions = { known; NoAction; }
        default_action = NoAction;
        support_timeout = true;
        counters = hits;
    }
    apply { s.egress_spec = 1; idle.apply(); }";

#[test]
fn idle_timeouts_are_the_same_in_the_kernel() {
    if !allowed() {
        return;
    }
    let text = format!(
        "#include <core.p4>
#include <v1model.p4>
header data_t {{ bit<8> op; bit<8> c; }}
struct headers {{ data_t data; }}
struct meta {{ }}
parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) {{
    state start {{ p.extract(h.data); transition accept; }}
}}
control V(inout headers h, inout meta m) {{ apply {{ }} }}
control I(inout headers h, inout meta m, inout standard_metadata_t s) {{
    direct_counter(CounterType.packets_and_bytes) hits;
    {IDLE}
}}
control E(inout headers h, inout meta m, inout standard_metadata_t s) {{ apply {{ }} }}
control C(inout headers h, inout meta m) {{ apply {{ }} }}
control D(packet_out p, in headers h) {{ apply {{ p.emit(h.data); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    );
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("idle_in_kernel.p4");
    std::fs::write(&program, text).expect("a file");
    let (mut devices, tally) = devices(&program);
    for line in [
        "table add idle 1 timeout 5s do known",
        "table add idle 2 timeout 1s do known",
        "table add idle 3 do known",
    ] {
        say(&devices, line);
    }
    let random = &mut Choices::new(&[], 4);
    let (mut now, mut idle) = (Time::from_secs(1), 0);
    for _ in 0..400 {
        now += Time::from_ms([1, 300, 900, 2000][random.below(4)]);
        let bytes = [random.below(5) as u8, 0, 7];
        let [one, two] = [0, 1].map(|at| {
            let mut out = Collected::default();
            devices[at].0.process(now, 0, &bytes, &mut out);
            let idle = devices[at].1.environment().tables.idle(now);
            (out, idle)
        });
        assert_eq!(one, two, "{bytes:02x?} at {now:?}");
        idle += one.1.len();
        say(&devices, "table dump");
        let [one, two] = [0, 1].map(|at| counts(&devices[at].1));
        assert_eq!(one, two, "{bytes:02x?} at {now:?}");
    }
    assert!(idle > 20, "{idle}");
    assert_eq!(tally.interpreter.load(Ordering::Relaxed), 0);
}

#[test]
fn a_nic_s_objects_are_the_same_in_the_kernel() {
    if !allowed() {
        return;
    }
    let setup = [
        "meter set Main.meter 1 2:10 4:20",
        "profile add selector member 1 do to 6",
        "profile add selector member 2 do to 7",
        "profile add selector group 1 1 2",
        "table add members 1 do member 1",
        "table add members 2 do group 1",
        "table add measured 1 do measure",
        "table add measured 2 do measure",
        "meter set metered 1 10:300 20:500",
    ];
    let all = compared("pna_externs.p4", &setup, &mut Choices::new(&[], 3), 11);
    assert!(all.sent > 1000, "{}", all.sent);
    assert_eq!(all.interpreter, 0);
}

/// The packet's type decides what happens to it; the last byte of its source is for the test.
const TYPES: &str = "#include <core.p4>
#include <pna.p4>
header ethernet_t { bit<48> to; bit<40> from; bit<8> tag; bit<16> kind; }
struct headers { ethernet_t ethernet; }
struct meta { }
struct known_t { PortId_t port; }
parser MainParser(packet_in p, out headers h, inout meta m, in pna_main_parser_input_metadata_t i) {
    state start { p.extract(h.ethernet); transition accept; }
}
control Pre(in headers h, inout meta m, in pna_pre_input_metadata_t i, inout pna_pre_output_metadata_t o) { apply { } }
control Main(inout headers h, inout meta m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {
    DirectCounter<bit<32>>(PNA_CounterType_t.PACKETS) hits;
    action known(PortId_t port) { hits.count(); send_to_port(port); }
    action unknown() {
        drop_packet();
        add_entry(\"known\", (known_t){ (PortId_t)32w1 }, (ExpireTimeProfileId_t)8w0);
    }
    table flows {
        key = { h.ethernet.tag: exact; }
        actions = { @tableonly known; @defaultonly unknown; }
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        const default_action = unknown;
        pna_direct_counter = hits;
        size = 8;
    }
    apply {
        if (h.ethernet.kind == 0x0800) {
            flows.apply();
        } else if (h.ethernet.kind == 0x0801) {
            mirror_packet((MirrorSlotId_t)0, (MirrorSessionId_t)16w5);
            send_to_port((PortId_t)32w1);
        } else if (h.ethernet.kind == 0x0802) {
            mirror_packet((MirrorSlotId_t)1, (MirrorSessionId_t)16w5);
            drop_packet();
        } else if (h.ethernet.kind == 0x0803) {
            bit<8> pass = (bit<8>)(bit<3>)(PassNumberUint_t)i.pass;
            if (pass < 3) { recirculate(); } else { h.ethernet.tag = pass; send_to_port((PortId_t)32w1); }
        } else if (i.loopedback) {
            h.ethernet.tag = i.direction == PNA_Direction_t.HOST_TO_NET ? 8w0x81 : 8w0x80;
        } else {
            send_to_port((PortId_t)32w1);
        }
    }
}
control Emit(packet_out p, in headers h, in meta m, in pna_main_output_metadata_t o) {
    apply { p.emit(h.ethernet); }
}
PNA_NIC(MainParser(), Pre(), Main(), Emit()) main;
";

#[test]
fn a_nic_on_interfaces_learns_mirrors_and_lets_packets_come_back() {
    if !allowed() {
        return;
    }
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nic_types.p4");
    std::fs::write(&program, TYPES).expect("a file");
    let space = hosts(["s0", "s1", "s2"]);
    space
        .enter(|| {
            let environment = environment(&program);
            let control = Control::new(environment.clone());
            let interfaces = ["s0", "s1", "s2"].map(as_generic);
            let mut switch = Switch::new(&environment, &interfaces).expect("it runs in the kernel");
            let now = || Time::from_ns(now_ns());
            let say = |switch: &mut Switch, words: &str| {
                switch.tick(now()).expect("the kernel shows its tables");
                let answer = control.say(words).expect(words);
                switch.bring().expect("the maps have room");
                answer
            };
            let said = |answer: &Answer| format!("{:?}", answer.rows);
            let [mut h0, mut h1, mut h2] = ["h0", "h1", "h2"]
                .map(|name| port::open(&name.parse().unwrap(), &Options::default()).expect(name));
            let of = |kind: u8| {
                let mut bytes = datagram(53);
                bytes[13] = kind;
                bytes
            };
            let with = |kind: u8, tag: u8| {
                let mut bytes = of(kind);
                bytes[11] = tag;
                bytes
            };
            // The first packet of a flow teaches the kernel where the next ones go; nobody has told it.
            say(&mut switch, "expiry set 0 2s");
            h0.tx.send(&[&of(0), &of(0), &of(0)]).expect("sent");
            assert_eq!(arrivals(&mut h1), [of(0), of(0)]);
            let entries = said(&say(&mut switch, "table dump"));
            assert!(entries.contains("known"), "{entries}");
            let id = TableId(0);
            let learned = environment.tables.entries(id);
            assert_eq!(
                (learned.len(), learned[0].entry.idle_timeout),
                (1, Some(Time::from_secs(2)))
            );
            assert_eq!(counts(&control)[0][..2], [2, 120]);
            // The entry expires: first in the program, then in the process.
            let over = now() + Time::from_ms(2100);
            while now() < over {
                std::thread::park_timeout(Duration::from_millis(20));
            }
            h0.tx.send(&[&of(0)]).expect("sent");
            assert!(arrivals(&mut h1).is_empty());
            // A controller deletes what packets have learned.
            say(&mut switch, "expiry set 0 never");
            h0.tx.send(&[&with(0, 7), &with(0, 7)]).expect("sent");
            assert_eq!(arrivals(&mut h1).len(), 1);
            say(&mut switch, "table rm flows 7");
            h0.tx.send(&[&with(0, 7)]).expect("sent");
            assert!(arrivals(&mut h1).is_empty());
            // No more are learned than there is room: seven others.
            switch.tick(now()).expect("the kernel shows its tables");
            for tag in 10..30 {
                h0.tx.send(&[&with(0, tag)]).expect("sent");
            }
            assert!(arrivals(&mut h1).is_empty());
            switch.tick(now()).expect("the kernel shows its tables");
            assert_eq!(environment.tables.len(id), 8);
            // Mirrored with the packet, and without it; not at all while there is no session.
            h0.tx.send(&[&of(1), &of(2)]).expect("sent");
            assert_eq!(
                (arrivals(&mut h1), arrivals(&mut h2).len()),
                (vec![of(1)], 0)
            );
            say(&mut switch, "mirror add 5 2");
            h0.tx.send(&[&of(1), &of(2)]).expect("sent");
            assert_eq!(arrivals(&mut h1), [of(1)]);
            assert_eq!(arrivals(&mut h2), [of(1), of(2)]);
            // A shorter copy is not like the packet.
            say(&mut switch, "mirror set 5 2 truncate 20");
            let left = switch.counts().expect("counts").left;
            h0.tx.send(&[&of(1)]).expect("sent");
            assert!(arrivals(&mut h1).is_empty() && arrivals(&mut h2).is_empty());
            assert_eq!(switch.counts().expect("counts").left, left + 1);
            // Recirculated.
            h0.tx.send(&[&of(3)]).expect("sent");
            assert_eq!(arrivals(&mut h1), [with(3, 3)]);
            // Sent to a port of its own side it comes back in the other direction.
            say(&mut switch, "port set 0 net");
            h0.tx.send(&[&of(4)]).expect("sent");
            assert_eq!(arrivals(&mut h1), [of(4)]);
            say(&mut switch, "port set 1 net");
            h0.tx.send(&[&of(4)]).expect("sent");
            assert_eq!(arrivals(&mut h1), [with(4, 0x81)]);
            say(&mut switch, "port set 1 host");
            h0.tx.send(&[&of(4)]).expect("sent");
            assert_eq!(arrivals(&mut h1), [of(4)]);
        })
        .expect("the namespace");
}

#[test]
fn tables_that_the_kernel_cannot_learn_in_are_refused_with_the_reason() {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nic_refused.p4");
    let twice = "flows.apply();\n            if (h.ethernet.tag == 3) { flows.apply(); }";
    let metered = "DirectMeter(PNA_MeterType_t.PACKETS) rate;\n    action known(PortId_t port) {";
    for (from, to, why) in [
        ("flows.apply();", twice, "is applied in more than one place"),
        (
            "size = 8;",
            "size = 8; pna_direct_meter = rate;",
            "the direct meter `Main.rate`",
        ),
    ] {
        let text = TYPES.replace("action known(PortId_t port) {", metered);
        std::fs::write(&program, text.replace(from, to)).expect("a file");
        match xdp::program(&environment(&program)) {
            Ok(_) => panic!("{to} is not refused"),
            Err(error) => assert!(error.to_string().contains(why), "{error}"),
        }
    }
}
