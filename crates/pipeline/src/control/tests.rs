use super::*;
use crate::environment::Options;
use crate::table::{Call, Entry};
use alloc::vec;
use p4::ir::{ActionCall, KeyMatch, ObjectId, TableId};
use p4::value::Bits;

fn control() -> Control {
    let program = Arc::new(commands::tests::program());
    Control::new(Arc::new(
        Environment::new(program, Options::default()).unwrap(),
    ))
}

fn say(control: &Control, lines: &[&str]) {
    for line in lines {
        control
            .say(line)
            .unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

fn lines(control: &Control, line: &str) -> Vec<String> {
    let answer = control
        .say(line)
        .unwrap_or_else(|error| panic!("{line}: {error}"));
    answer.rows.into_iter().map(|(line, _)| line).collect()
}

fn refusal(control: &Control, line: &str) -> Error {
    control.say(line).expect_err(line)
}

#[test]
fn a_dump_is_made_of_the_commands_that_made_it() {
    let commands = [
        "table add ingress.route hdr.ipv4.dst=10.0.0.0/8 timeout 5s do ingress.forward port=2 mac=00:11:22:33:44:55",
        "table add ingress.route hdr.ipv4.dst=10.1.0.0/16 do ingress.drop",
        "table add ingress.acl hdr.ipv4.src=10.0.0.0&&&0xff0000ff hdr.tcp.$valid$=1 hdr.tcp.port=20..25 priority 7 do ingress.drop",
        "table set ingress.route default do ingress.drop",
        "profile add ingress.ecmp member 1 do ingress.forward port=1 mac=00:00:00:00:00:01",
        "profile add ingress.ecmp member 2 do NoAction",
        "profile add ingress.ecmp group 1 1 2*3 most 8",
        "table add ingress.balance hdr.ipv4.dst=10.0.0.1 do group 1",
        "table add ingress.balance hdr.ipv4.dst=10.0.0.2 do one 2* ingress.forward port=1 mac=00:00:00:00:00:02 or NoAction",
        "group add 1 1 2:5",
        "mirror add 9 3 truncate 64",
        "value-set add parser.tpids type=34984",
        "meter set ingress.rate 1 10:2 20:4",
    ];
    let control = control();
    say(&control, &commands);
    let mut dumped = Vec::new();
    for line in [
        "table dump",
        "profile dump",
        "group ls",
        "mirror ls",
        "value-set dump",
        "meter read rate 1",
    ] {
        dumped.extend(
            lines(&control, line)
                .into_iter()
                .filter(|line| !line.starts_with('#')),
        );
    }
    dumped.sort();
    let mut wanted: Vec<String> = commands.iter().map(|line| String::from(*line)).collect();
    wanted[11] += " class=*";
    wanted[12] += "  # packets a second : packets";
    wanted.sort();
    assert_eq!(dumped, wanted);
}

#[test]
fn the_program_s_default_comes_back_when_the_other_is_removed() {
    let control = control();
    say(
        &control,
        &["table set route default do drop", "table rm route default"],
    );
    assert_eq!(
        lines(&control, "table dump route"),
        ["# table set ingress.route default do NoAction"]
    );
}

fn route(prefix: u64, length: u32) -> Entity {
    let call = ActionCall {
        action: 1,
        arguments: vec![],
    };
    let keys = vec![KeyMatch::Prefix(Bits::new(32, prefix), length)];
    Entity::Entry(TableId(0), Entry::new(keys, call))
}

fn insert(entity: Entity) -> Update {
    Update {
        operation: Operation::Insert,
        entity,
    }
}

#[test]
fn a_batch_is_made_as_a_whole_or_not_at_all() {
    let control = control();
    let good = insert(route(0x0a00_0000, 8));
    let also = insert(route(0x0b00_0000, 8));
    let results = control.write(
        &[good.clone(), good.clone(), also.clone()],
        Atomicity::Rollback,
    );
    let kinds: Vec<_> = results
        .iter()
        .map(|result| result.as_ref().unwrap_err().kind)
        .collect();
    assert_eq!(
        kinds,
        [
            ErrorKind::TakenBack,
            ErrorKind::Exists,
            ErrorKind::TakenBack
        ]
    );
    assert!(control.entries(TableId(0)).is_empty());
    let results = control.write(&[good.clone(), good, also], Atomicity::Continue);
    assert!(results[0].is_ok() && results[1].is_err() && results[2].is_ok());
    assert_eq!(control.entries(TableId(0)).len(), 2);
}

#[test]
fn a_batch_of_many_kinds_is_taken_back_as_a_whole() {
    let control = control();
    say(
        &control,
        &[
            "table add route 10.0.0.0/8 do drop",
            "counter write count 1 packets=5 bytes=500",
            "group add 3 1",
            "register write last 2 7",
            "meter set rate 1 10:2 20:4",
            "table add balance 10.0.0.9 do one NoAction",
        ],
    );
    say(
        &control,
        &["counter write hits packets=8 bytes=80 10.0.0.0/8"],
    );
    let state = |control: &Control| {
        let mut state = Vec::new();
        for line in [
            "table dump",
            "counter read count 1",
            "counter read hits",
            "group ls",
            "register read last 2",
            "profile dump",
            "meter read rate 1",
            "digest ls",
            "value-set ls",
        ] {
            state.extend(lines(control, line));
        }
        state
    };
    let before = state(&control);
    let mut batch = Vec::new();
    for line in [
        "table rm route 10.0.0.0/8",
        "table add route 11.0.0.0/8 do drop",
        "table set route default do drop",
        "counter reset count all",
        "group set 3 2",
        "group add 4 2",
        "profile add ecmp member 1 do NoAction",
        "profile add ecmp group 1 1",
        "table add balance 10.0.0.1 do group 1",
        "table rm balance 10.0.0.9",
        "meter reset rate 1",
        "mirror add 1 1",
        // There is no such group.
        "table add balance 10.0.0.2 do group 77",
    ] {
        match commands::parse(control.program(), line).unwrap().unwrap() {
            commands::Command::Write(updates) => batch.extend(updates),
            other => panic!("{other:?}"),
        }
    }
    let (number, error) = control.write_all(&batch).unwrap_err();
    assert_eq!((number, error.kind), (12, ErrorKind::Absent));
    assert_eq!(state(&control), before);
}

#[test]
fn members_and_groups_that_are_used_stay() {
    let control = control();
    say(
        &control,
        &[
            "profile add ecmp member 1 do NoAction",
            "profile add ecmp group 1 1",
            "table add balance 10.0.0.1 do group 1",
        ],
    );
    assert_eq!(
        refusal(&control, "profile rm ecmp group 1").kind,
        ErrorKind::InUse
    );
    assert_eq!(
        refusal(&control, "profile rm ecmp member 1").kind,
        ErrorKind::InUse
    );
    assert_eq!(
        refusal(&control, "profile add ecmp member 1 do NoAction").kind,
        ErrorKind::Exists
    );
    assert_eq!(
        refusal(&control, "profile add ecmp group 2 5").kind,
        ErrorKind::Absent
    );
    say(
        &control,
        &[
            "table rm balance 10.0.0.1",
            "profile rm ecmp group 1",
            "profile rm ecmp member 1",
        ],
    );
}

#[test]
fn a_group_that_an_entry_has_for_itself_goes_with_it() {
    let control = control();
    let members = |control: &Control| {
        let profile = control.environment().profile(ObjectId(5)).unwrap();
        let contents = profile.contents.get();
        (contents.members.len(), contents.groups.len())
    };
    say(
        &control,
        &["table add balance 10.0.0.1 do one NoAction or NoAction"],
    );
    assert_eq!(members(&control), (2, 1));
    say(&control, &["table set balance 10.0.0.1 do one NoAction"]);
    assert_eq!(members(&control), (1, 1));
    assert!(lines(&control, "profile dump").is_empty());
    say(&control, &["table rm balance all"]);
    assert_eq!(members(&control), (0, 0));
}

#[test]
fn a_new_entry_s_counter_begins_at_nothing() {
    let control = control();
    let read = "counter read hits 10.0.0.0/8";
    say(&control, &["table add route 10.0.0.0/8 do drop"]);
    say(
        &control,
        &["counter write hits 10.0.0.0/8 packets=3 bytes=192"],
    );
    assert_eq!(
        lines(&control, read),
        ["ingress.route hdr.ipv4.dst=10.0.0.0/8 packets=3 bytes=192"]
    );
    say(
        &control,
        &["table set route 10.0.0.0/8 do NoAction"].map(|_| "table set route 10.0.0.0/8 do drop"),
    );
    assert_eq!(
        lines(&control, read)[0].split(' ').nth(2),
        Some("packets=3")
    );
    say(
        &control,
        &[
            "table rm route 10.0.0.0/8",
            "table add route 10.0.0.0/8 do drop",
        ],
    );
    assert_eq!(
        lines(&control, read)[0].split(' ').nth(2),
        Some("packets=0")
    );
}

#[test]
fn registers_are_written_in_ranges_and_read_back() {
    let control = control();
    say(
        &control,
        &[
            "register write flow 2..4 seen=7 port=5",
            "register write last all 1",
        ],
    );
    assert_eq!(
        lines(&control, "register read flow 4..5"),
        [
            "ingress.flow[4] seen=7 port=5",
            "ingress.flow[5] seen=0 port=0"
        ]
    );
    let answer = control.say("register read flow 4").unwrap();
    assert_eq!(
        answer.rows[0].1,
        r#"{"schema":"wireline.p4/1","type":"register","name":"ingress.flow","index":4,"values":[7,5]}"#
    );
    let error = refusal(&control, "register read flow 16");
    assert!(error.message.contains("has 16 cells"), "{error}");
    assert_eq!(lines(&control, "register read last").len(), 16);
}

#[test]
fn what_the_program_forbids_is_refused() {
    let control = control();
    for (line, kind) in [
        ("table add route 10.0.0.0/8 do NoAction", ErrorKind::Refused),
        ("table rm route 10.0.0.0/8", ErrorKind::Absent),
        ("table add acl tcp.isValid()=1 do drop", ErrorKind::Invalid),
        (
            "table add acl tcp.isValid()=1 timeout 1s priority 1 do drop",
            ErrorKind::Invalid,
        ),
        ("group add 0 1", ErrorKind::Invalid),
        ("group add 1 1 1", ErrorKind::Invalid),
        ("group rm 1", ErrorKind::Absent),
        ("mirror rm 1", ErrorKind::Absent),
        ("counter read hits 10.0.0.0/8", ErrorKind::Absent),
        ("counter read count 9", ErrorKind::Unknown),
        (
            "profile add ecmp member 0xff000000 do NoAction",
            ErrorKind::Invalid,
        ),
        (
            "profile add ecmp member 4278190080 do NoAction",
            ErrorKind::Invalid,
        ),
        ("table add balance 10.0.0.1 do member 1", ErrorKind::Absent),
        ("value-set rm tpids 1", ErrorKind::Absent),
    ] {
        assert_eq!(refusal(&control, line).kind, kind, "{line}");
    }
    for value in 0..4 {
        say(&control, &[&alloc::format!("value-set add tpids {value}")]);
    }
    assert_eq!(
        refusal(&control, "value-set add tpids 9").kind,
        ErrorKind::Full
    );
    assert_eq!(
        refusal(&control, "value-set add tpids 3").kind,
        ErrorKind::Full
    );
}

#[test]
fn a_call_with_arguments_of_another_width_is_refused() {
    let control = control();
    let member = |arguments| {
        insert(Entity::Member(Member {
            profile: ObjectId(5),
            id: 1,
            call: ActionCall {
                action: 0,
                arguments,
            },
        }))
    };
    for arguments in [
        vec![],
        vec![Bits::zero(9)],
        vec![Bits::zero(9), Bits::zero(47)],
    ] {
        let (_, error) = control.write_all(&[member(arguments)]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid);
    }
    let register = Update {
        operation: Operation::Modify,
        entity: Entity::Register(ObjectId(4), Some(0), vec![Bits::zero(32)]),
    };
    assert_eq!(
        control.write_all(&[register]).unwrap_err().1.kind,
        ErrorKind::Invalid
    );
    let call = Call::Action(ActionCall {
        action: 9,
        arguments: vec![],
    });
    let default = Update {
        operation: Operation::Put,
        entity: Entity::Default(TableId(0), Some(call)),
    };
    assert_eq!(
        control.write_all(&[default]).unwrap_err().1.kind,
        ErrorKind::Unknown
    );
}

#[test]
fn a_meter_says_its_unit_and_has_no_peak_rate_below_the_committed_one() {
    let control = control();
    let listed = "ingress.rate (meter) 4 cells, rates in packets a second";
    assert_eq!(lines(&control, "meter ls"), [listed]);
    say(&control, &["meter set rate 1 10:2 10:4"]);
    let shown = "meter set ingress.rate 1 10:2 10:4  # packets a second : packets";
    assert_eq!(lines(&control, "meter read rate 1"), [shown]);
    let words = refusal(&control, "meter set rate 1 11:2 10:4");
    assert!(words.message.contains("RFC 2698"), "{words}");
    // So it is for all who do not come by words.
    let rates = crate::state::meter::Rates {
        committed: 11,
        committed_burst: 2,
        peak: 10,
        peak_burst: 4,
    };
    let (meter, _) = program::object(control.program(), "meter", "rate", &[Class::Meter]).unwrap();
    for index in [Some(1), None] {
        let refused = control.write_all(&[Update {
            operation: Operation::Modify,
            entity: Entity::Meter(meter, index, Some(rates)),
        }]);
        let (_, error) = refused.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid);
    }
    assert_eq!(lines(&control, "meter read rate 1"), [shown]);
}
