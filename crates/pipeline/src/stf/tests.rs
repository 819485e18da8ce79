use super::*;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

fn one(line: &str) -> Kind {
    let mut script = parse(line).unwrap_or_else(|faults| panic!("{line}: {faults:?}"));
    assert_eq!(script.len(), 1, "{line}");
    script.remove(0).kind
}

fn wrong(text: &str) -> Vec<(u32, String)> {
    let faults = parse(text).expect_err(text);
    faults.into_iter().map(|f| (f.line, f.message)).collect()
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_string(), value.to_string())
}

#[test]
fn packets_are_read_with_blanks_between_their_digits() {
    assert_eq!(
        one("packet 4 0001 02ff  # three"),
        Kind::Packet {
            port: 4,
            bytes: vec![0, 1, 2, 255]
        }
    );
    assert_eq!(
        wrong("packet 4 123"),
        [(1, "3 hexadecimal digits: a packet is whole bytes".into())]
    );
}

#[test]
fn an_expected_packet_without_dollar_may_be_longer() {
    let Kind::Expect(Expected {
        port: 3,
        data: Some(pattern),
    }) = one("expect 3 a* **ff")
    else {
        panic!()
    };
    assert!(pattern.matches(&[0xa7, 0x12, 0xff]));
    assert!(pattern.matches(&[0xa7, 0x12, 0xff, 0]));
    assert!(!pattern.matches(&[0xa7, 0x12]));
    assert!(!pattern.matches(&[0xb7, 0x12, 0xff]));
    let Kind::Expect(Expected {
        data: Some(pattern),
        ..
    }) = one("expect 3 a0 $")
    else {
        panic!()
    };
    assert!(pattern.matches(&[0xa0]));
    assert!(!pattern.matches(&[0xa0, 0]));
    assert_eq!(
        one("expect 3"),
        Kind::Expect(Expected {
            port: 3,
            data: None
        })
    );
}

#[test]
fn entries_have_priorities_masks_prefixes_stacks_and_names() {
    let Kind::Add(entry) = one(
        "add ingress.t 100 extra$0.h:0x25** d.f[1].g:0b1*0 ip:0xa000000/8 r:1..7 act(val:0x27, port:3) = A",
    ) else {
        panic!()
    };
    assert_eq!(entry.priority, Some(100));
    assert_eq!(
        entry.keys,
        [
            pair("extra[0].h", "0x25**"),
            pair("d.f[1].g", "0b1*0"),
            pair("ip", "0xa000000/8"),
            pair("r", "1..7")
        ]
    );
    assert_eq!(
        entry.action,
        Call {
            name: "act".into(),
            arguments: vec![pair("val", "0x27"), pair("port", "3")]
        }
    );
    assert_eq!(entry.id.as_deref(), Some("A"));
    let Kind::Add(entry) = one("add t a()") else {
        panic!()
    };
    assert_eq!((entry.priority, entry.keys.len()), (None, 0));
}

#[test]
fn counters_are_asked_by_index_or_by_the_name_of_an_entry() {
    let Kind::Check(check) = one("check_counter cnt($A) packets == 3") else {
        panic!()
    };
    assert_eq!(check.index, Index::Entry("A".into()));
    assert_eq!(check.wanted, Some((Relation::Equal, 3)));
    let Kind::Check(check) = one("check_counter c(10) bytes >= 60") else {
        panic!()
    };
    assert_eq!(
        (check.what, check.index),
        (Checked::Bytes, Index::Number(10))
    );
}

#[test]
fn meter_rates_are_units_a_microsecond() {
    let Kind::MeterRates { index, rates, .. } = one("meter_set_rates m 2 0.000005:4 0.00002:5")
    else {
        panic!()
    };
    assert_eq!((index, rates), (Some(2), vec![(5, 4), (20, 5)]));
}

#[test]
fn alternatives_are_kept_together() {
    let script =
        parse("packet 1 00\neither\n expect 2 00\nor\n expect 3 00\n no_packet 2\nend\n").unwrap();
    let Kind::Either(branches) = &script[1].kind else {
        panic!()
    };
    assert_eq!(branches.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(
        wrong("either\npacket 1 00\nend"),
        [(
            2,
            "`packet` inside an `either`: only what is expected stands there".into()
        )]
    );
    assert_eq!(
        wrong("\neither\nexpect 1"),
        [(2, "an `either` without an `end`".into())]
    );
}

#[test]
fn faults_name_what_is_wanted_and_none_is_passed_over() {
    let faults = wrong("add t k:1 a(v:1\npacket x 00\nremove\nwait 3 parsecs");
    let expected = [
        (1, "`,` is wanted at the end of the line"),
        (2, "the number of a port is wanted, not `x`"),
        (
            3,
            "`all`, an entry's name or a table is wanted at the end of the line",
        ),
        (4, "a time such as 100ms is wanted, not `3 parsecs`"),
    ];
    assert_eq!(
        faults
            .iter()
            .map(|(l, m)| (*l, m.as_str()))
            .collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn a_register_is_checked_with_and_without_brackets() {
    let with = one("check_register seen(3) == 5");
    assert_eq!(with, one("check_register seen 3 == 5"));
    assert!(wrong("check_register seen(3 == 5")[0].1.contains("`)`"));
}
