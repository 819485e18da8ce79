use super::*;
use crate::control::{Count, Entity, Member};
use crate::state::meter::Rates;
use crate::table::{Call, Entry};
use alloc::string::ToString;
use alloc::vec;
use node::Time;
use p4::compile::{Options, compile};
use p4::ir::{ActionCall, Program};
use p4::source::{IncludeError, Includes};
use p4::value::Bits;

/// A program with one of everything.
const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
header tag_t { bit<16> type; bit<3> class; bit<13> number; }
header ipv4_t { bit<32> src; bit<32> dst; }
header tcp_t { bit<16> port; }
struct headers { tag_t tag; ipv4_t ipv4; tcp_t tcp; }
struct flow_t { bit<32> seen; bit<9> port; }
struct metadata { bit<48> last; flow_t flow; }
struct tpid_t { bit<16> type; @match(ternary) bit<3> class; }
parser Parse(packet_in p, out headers hdr, inout metadata m, inout standard_metadata_t s) {
    @name(".parser.tpids") value_set<tpid_t>(4) tpids;
    state start {
        p.extract(hdr.tag);
        transition select(hdr.tag.type, hdr.tag.class) { tpids: ip; default: accept; }
    }
    state ip { p.extract(hdr.ipv4); p.extract(hdr.tcp); transition accept; }
}
control Verify(inout headers hdr, inout metadata m) { apply { } }
control ingress(inout headers hdr, inout metadata m, inout standard_metadata_t s) {
    counter(8, CounterType.packets_and_bytes) count;
    direct_counter(CounterType.packets_and_bytes) hits;
    meter(4, MeterType.packets) rate;
    register<bit<48>>(16) last;
    register<flow_t>(16) flow;
    action_selector(HashAlgorithm.crc32, 32, 16) ecmp;
    action forward(bit<9> port, bit<48> mac) { s.egress_spec = port; m.last = mac; }
    action drop() { mark_to_drop(s); }
    table route {
        key = { hdr.ipv4.dst: lpm; }
        actions = { forward; drop; @defaultonly NoAction; }
        default_action = NoAction;
        counters = hits;
        support_timeout = true;
    }
    table acl {
        key = { hdr.ipv4.src: ternary; hdr.tcp.isValid(): exact; hdr.tcp.port: range; }
        actions = { drop; NoAction; }
        default_action = NoAction;
    }
    table balance {
        key = { hdr.ipv4.dst: exact; hdr.ipv4.src: selector; }
        actions = { forward; NoAction; }
        default_action = NoAction;
        implementation = ecmp;
    }
    apply {
        route.apply();
        acl.apply();
        balance.apply();
        bit<2> colour;
        count.count(0);
        rate.execute_meter(0, colour);
        last.write(0, m.last);
        flow.write(0, m.flow);
    }
}
control egress(inout headers hdr, inout metadata m, inout standard_metadata_t s) { apply { } }
control Compute(inout headers hdr, inout metadata m) { apply { } }
control Emit(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
V1Switch(Parse(), Verify(), ingress(), egress(), Compute(), Emit()) main;
"#;

struct Library;

impl Includes for Library {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = p4::library::file(name).ok_or("no such file")?;
        Ok((name.into(), text.into()))
    }
}

pub(crate) fn program() -> Program {
    let compiled = compile("all.p4", PROGRAM, &mut Library, &Options::default());
    assert!(!compiled.diagnostics.failed(), "{:?}", compiled.diagnostics);
    compiled.program.expect("it has a main")
}

fn read(line: &str) -> Command {
    parse(&program(), line)
        .unwrap_or_else(|error| panic!("{line}: {error}"))
        .unwrap()
}

fn one(line: &str) -> Update {
    match read(line) {
        Command::Write(mut updates) if updates.len() == 1 => updates.remove(0),
        other => panic!("{line}: {other:?}"),
    }
}

fn bits(width: u32, value: u64) -> Bits {
    Bits::new(width, value)
}

fn forward() -> ActionCall {
    ActionCall {
        action: 0,
        arguments: vec![bits(9, 2), bits(48, 0x0011_2233_4455)],
    }
}

#[test]
fn an_entry_is_written_in_many_ways() {
    let wanted = Update {
        operation: Operation::Insert,
        entity: Entity::Entry(
            TableId(0),
            Entry::new(vec![KeyMatch::Prefix(bits(32, 0x0a00_0000), 8)], forward()),
        ),
    };
    for line in [
        "table add route 10.0.0.0/8 do forward 2 00:11:22:33:44:55",
        "table add ingress.route hdr.ipv4.dst=10.0.0.0/8 do ingress.forward port=2 mac=00:11:22:33:44:55",
        "table add .route dst = 10.0.0.0/8 => forward(2, 00:11:22:33:44:55)  # the uplink",
        "table add route 0x0a****** do forward mac=0x001122334455 port=0b10",
        "table add route 10.1.2.3 &&& 255.0.0.0 do forward 2 00-11-22-33-44-55",
    ] {
        assert_eq!(one(line), wanted, "{line}");
    }
}

#[test]
fn options_of_an_entry_stand_among_its_keys() {
    let Entity::Entry(_, entry) = one("table add route 10.0.0.0/8 timeout 5s do drop").entity
    else {
        panic!("an entry");
    };
    assert_eq!(entry.idle_timeout, Some(Time::from_secs(5)));
    let update = one("table set acl priority 7 tcp.isValid()=true port=20..25 do drop");
    assert_eq!(update.operation, Operation::Put);
    let Entity::Entry(TableId(1), entry) = update.entity else {
        panic!("an entry");
    };
    assert_eq!(entry.priority, 7);
    assert_eq!(
        entry.keys,
        [
            KeyMatch::Any,
            KeyMatch::Exact(bits(1, 1)),
            KeyMatch::Range(bits(16, 20), bits(16, 25)),
        ]
    );
}

#[test]
fn entries_go_by_their_keys_and_defaults_by_that_word() {
    let update = one("table rm route 10.0.0.0/8");
    assert_eq!(update.operation, Operation::Delete);
    assert_eq!(read("table rm route all"), Command::Clear(TableId(0)));
    assert_eq!(
        one("table set route default do drop").entity,
        Entity::Default(
            TableId(0),
            Some(Call::Action(ActionCall {
                action: 1,
                arguments: vec![],
            }))
        )
    );
    assert_eq!(
        one("table rm route default").entity,
        Entity::Default(TableId(0), None)
    );
}

#[test]
fn a_table_with_a_profile_takes_members_and_groups() {
    let call = |line| match one(line).entity {
        Entity::Entry(TableId(2), entry) => entry.call,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        call("table add balance 10.0.0.1 do member 3"),
        Call::Member(3)
    );
    assert_eq!(
        call("table add balance 10.0.0.1 do group 4"),
        Call::Group(4)
    );
    let Entity::OneShot(_, _, actions) =
        one("table add balance 10.0.0.1 do one forward 2 00:11:22:33:44:55 or 3* NoAction").entity
    else {
        panic!("a group of its own");
    };
    assert_eq!(actions.len(), 2);
    assert_eq!(actions[0], (forward(), 1));
    assert_eq!(actions[1].1, 3);
    let Entity::Member(Member { id: 3, call, .. }) =
        one("profile add ecmp member 3 do forward 2 00:11:22:33:44:55").entity
    else {
        panic!("a member");
    };
    assert_eq!(call, forward());
    let Entity::Group(group) = one("profile set ecmp group 1 3 4*2 most 8").entity else {
        panic!("a group");
    };
    assert_eq!((group.members.len(), group.most), (2, 8));
    assert_eq!((group.members[1].member, group.members[1].weight), (4, 2));
}

#[test]
fn arrays_are_read_and_written_by_index_range_or_all() {
    let register = |index| ObjectId(index);
    assert_eq!(
        read("register read last 3"),
        Command::ReadRegister(register(3), Cells::Range(3, 3))
    );
    assert_eq!(
        read("register read last 3..5"),
        Command::ReadRegister(register(3), Cells::Range(3, 5))
    );
    assert_eq!(
        read("register write last all 00:11:22:33:44:55"),
        Command::WriteRegister(register(3), Cells::All, vec![bits(48, 0x0011_2233_4455)])
    );
    assert_eq!(
        read("register write flow 2 port=5 seen=7"),
        Command::WriteRegister(
            register(4),
            Cells::Range(2, 2),
            vec![bits(32, 7), bits(9, 5)]
        )
    );
    assert_eq!(
        one("counter reset count").entity,
        Entity::Counter(ObjectId(0), None, Count::default())
    );
    assert_eq!(
        one("counter write count 3 packets=2 bytes=128").entity,
        Entity::Counter(
            ObjectId(0),
            Some(3),
            Count {
                packets: 2,
                bytes: 128,
            }
        )
    );
    assert_eq!(
        one("meter set rate 1 1000:100 2000:200").entity,
        Entity::Meter(
            ObjectId(2),
            Some(1),
            Some(Rates {
                committed: 1000,
                committed_burst: 100,
                peak: 2000,
                peak_burst: 200,
            })
        )
    );
    let Command::ReadDirectCounter(_, Some(key)) = read("counter read hits 10.0.0.0/8") else {
        panic!("a direct counter");
    };
    assert_eq!(key.keys.unwrap().len(), 1);
}

#[test]
fn groups_mirrors_and_value_sets_have_words() {
    assert!(matches!(
        one("group add 5 1 2:7").entity,
        Entity::Multicast(5, replicas, _) if replicas[1].port == 2 && replicas[1].instance == 7
    ));
    assert!(matches!(
        one("mirror set 5 1 truncate 64").entity,
        Entity::Clone(5, session) if session.truncate == Some(64) && session.replicas.len() == 1
    ));
    assert_eq!(
        read("value-set add tpids 0x88a8"),
        Command::ValueSetMember(
            Operation::Insert,
            ValueSetId(0),
            vec![KeyMatch::Exact(bits(16, 0x88a8)), KeyMatch::Any]
        )
    );
}

#[test]
fn blank_lines_and_comments_say_nothing() {
    for line in ["", "   ", "# table add", "\t# x"] {
        assert_eq!(parse(&program(), line), Ok(None), "{line}");
    }
}

#[test]
fn mistakes_are_told_with_their_place_and_the_mend() {
    for (line, says) in [
        ("tabel ls", "did you mean `table`?"),
        ("table lst", "did you mean `ls`?"),
        ("table add rout 1 do drop", "did you mean `ingress.route`?"),
        (
            "table add route 10.0.0.0/8 do forwrad 1 2",
            "did you mean `ingress.forward`?",
        ),
        (
            "table add route 10.0.0.0/33 do drop",
            "key `hdr.ipv4.dst` of table `ingress.route`",
        ),
        ("table add route 10.0.0.0/8 drop", "one key too many"),
        ("table add route 10.0.0.0/8", "`do ACTION` is missing"),
        ("table add route 10.0.0.0/8 do forward 2", "parameter `mac`"),
        (
            "table add route 10.0.0.0/8 do forward 512 1",
            "does not fit into bit<9>: the most is 511",
        ),
        (
            "table add route 10.0.0.0/8 do forward 1 2 3",
            "one argument too many",
        ),
        (
            "table add route 10.0.0.0/8 do forward prt=1 2",
            "did you mean `port`?",
        ),
        (
            "table add acl port=1 priority 1 do drop",
            "key `hdr.tcp.$valid$` of table `ingress.acl` is missing",
        ),
        (
            "table add balance 10.0.0.1 do forward 1 2",
            "write `do member N`",
        ),
        ("table add route default do drop", "table set"),
        ("register read nothing", "`ingress.last`, `ingress.flow`"),
        ("register write last 5..2 1", "ends before it begins"),
        ("counter write count 1", "packets=N"),
        ("meter set rate 1 5:1 4:1", "above the peak rate"),
        ("meter set rate 1 5:1", "RATE:BURST"),
        ("group add x", "a number from 0"),
        ("table ls now", "`now` is one word too many"),
        ("table add route \"", "double quote"),
    ] {
        let error = parse(&program(), line).unwrap_err().to_string();
        assert!(error.contains(says), "{line}: {error}");
    }
}

#[test]
fn a_file_tells_all_its_mistakes_with_their_lines() {
    let text = "# routes\ntable add route 10.0.0.0/8 do drop\n\ntable add nowhere 1 do drop\nx\n";
    let errors = parse_file(&program(), "routes.txt", text).unwrap_err();
    assert_eq!(errors.len(), 2);
    assert!(
        errors[0]
            .to_string()
            .starts_with("routes.txt:4: there is no table")
    );
    assert!(errors[1].to_string().starts_with("routes.txt:5: "));
    let commands = parse_file(&program(), "f", &text[..44]).unwrap();
    assert_eq!(commands.len(), 1);
    assert_eq!(commands[0].0, 2);
}

#[test]
fn custom_crcs_are_set_and_told_in_the_words_that_set_them() {
    let environment = crate::environment::Environment::new(
        alloc::sync::Arc::new(program()),
        crate::environment::Options::default(),
    );
    let environment = alloc::sync::Arc::new(environment.unwrap());
    let control = crate::control::Control::new(environment.clone());
    let rows = |answer: Answer| -> Vec<_> { answer.rows.into_iter().map(|row| row.0).collect() };
    let first = rows(control.say("crc ls").unwrap());
    let second = "crc set 32 0x4c11db7 0xffffffff 0xffffffff reflect-in reflect-out";
    assert_eq!(
        first,
        ["crc set 16 0x8005 0x0 0x0 reflect-in reflect-out", second]
    );
    // CRC-16/IBM-3740, of which the catalogue says this of "123456789".
    let set = "crc set 16 0x1021 0xffff 0x0";
    control.say(set).unwrap();
    assert_eq!(environment.crcs.get().crc16_custom.of(b"123456789"), 0x29B1);
    assert_eq!(environment.crcs.get().crc16.of(b"123456789"), 0xBB3D);
    assert_eq!(rows(control.say("crc ls").unwrap()), [set, second]);
    control.say("crc reset 16").unwrap();
    assert_eq!(rows(control.say("crc ls").unwrap()), first);
    let error = control.say("crc set 16 0x11021 0 0").unwrap_err();
    assert!(
        error.message.contains("does not fit into bit<16>"),
        "{error}"
    );
}
