use super::*;
use crate::table::KeyForm;
use alloc::sync::Arc;
use alloc::vec;
use p4::ir::Ty;

fn form() -> Form {
    let kinds = [
        ("ether_type", 16, MatchKind::Ternary),
        ("ipv4.dst", 32, MatchKind::Ternary),
        ("route", 32, MatchKind::Lpm),
        ("port", 16, MatchKind::Range),
        ("in_port", 9, MatchKind::Optional),
        ("vrf", 10, MatchKind::Exact),
    ];
    let keys = kinds
        .iter()
        .enumerate()
        .map(|(index, (name, width, kind))| KeyForm {
            name: Arc::from(*name),
            ty: Ty::Bits(*width),
            kind: *kind,
            index,
            at: index,
        });
    Form {
        name: "acl".into(),
        keys: keys.collect(),
        actions: vec![],
        size: 8,
        const_entries: false,
        const_default: false,
        implementation: None,
        idle_timeout: false,
        deletes_idle: false,
    }
}

fn bits(width: u32, value: u64) -> Bits {
    Bits::new(width, value)
}

/// Matches nothing in particular, in VRF 3 with priority 7.
fn entry() -> Entry {
    let call = ActionCall {
        action: 0,
        arguments: vec![],
    };
    let any = core::iter::repeat_n(KeyMatch::Any, 5);
    let keys = any.chain([KeyMatch::Exact(bits(10, 3))]).collect();
    Entry::new(keys, call).priority(7)
}

fn holds(text: &str, entry: &Entry) -> bool {
    let found = parse::constraints(text, &Scope::Entry(&form()));
    let found = found.unwrap_or_else(|why| panic!("{text}: {why}"));
    found.iter().all(|one| one.holds.eval(&Given::Entry(entry)))
}

#[test]
fn keys_that_match_anything_have_no_mask_and_all_of_a_range() {
    let entry = entry();
    for (text, wanted) in [
        ("ether_type::mask == 0 && ether_type::value == 0", true),
        ("route::prefix_length == 0", true),
        ("port::low == 0; port::high == 0xffff;", true),
        ("in_port::mask == -1", false),
        ("vrf == 3", true),
        ("vrf != 3", false),
        ("vrf > 2 && vrf <= 3 && 2 < vrf", true),
        ("::priority == 7", true),
        ("::priority > -1", true),
        ("ether_type == 0x800", false),
        ("true -> false || vrf == 3", true),
        ("!(vrf == 3) -> false", true),
        ("(vrf == 3) == true", true),
        ("", true),
        ("vrf == 3 // a comment\n; /* and another */ true", true),
    ] {
        assert_eq!(holds(text, &entry), wanted, "{text}");
    }
}

#[test]
fn a_key_is_equal_to_a_number_if_it_matches_just_that() {
    let mut entry = entry();
    entry.keys[0] = KeyMatch::Mask(bits(16, 0x800), bits(16, 0xffff));
    entry.keys[1] = KeyMatch::Mask(bits(32, 0x0a00_0000), bits(32, 0xff00_0000));
    entry.keys[2] = KeyMatch::Prefix(bits(32, 0x0a01_0000), 16);
    entry.keys[3] = KeyMatch::Range(bits(16, 80), bits(16, 80));
    entry.keys[4] = KeyMatch::Exact(bits(9, 5));
    for (text, wanted) in [
        ("ether_type == 0x0800", true),
        ("ether_type == 0b100000000000", true),
        ("ether_type == 0x86dd", false),
        ("ipv4.dst == ipv4('10.0.0.0')", false),
        ("ipv4.dst::value == ipv4('10.0.0.0')", true),
        ("ipv4.dst::mask == 0xff000000", true),
        ("ipv4.dst::mask != 0 -> ether_type == 0x800", true),
        ("ipv4.dst::mask != 0 -> ether_type == 0x86dd", false),
        (
            "route::prefix_length >= 16 && route::prefix_length < 17",
            true,
        ),
        ("-route::prefix_length == -16", true),
        ("route == 0x0a010000", false),
        ("port == 80 && port::low == port::high", true),
        ("in_port == 5; in_port::mask == -1", true),
        ("in_port::mask == 511", true),
        ("vrf == 1027", true),
    ] {
        assert_eq!(holds(text, &entry), wanted, "{text}");
    }
}

#[test]
fn what_is_not_understood_says_where_and_why() {
    for (text, says) in [
        ("vrf", "a number is no constraint"),
        ("vrf ==", "wanted at the end"),
        ("\n\nvlan == 3", "line 3: the table has no key `vlan`"),
        ("vrf::mask == 0", "is exact and has no part `mask`"),
        ("ether_type < 4", "`ether_type::value`"),
        ("1 == 2 == 3", "comparisons have no order"),
        ("true -> true -> true", "`->` has no order"),
        ("vrf == ether_type::value", "one width"),
        ("vrf == true", "compares two numbers"),
        ("route::prefix_length == vrf", "without a width"),
        ("::size == 3", "`priority`"),
        ("vrf == 3 vrf == 4", "`;` is wanted"),
        ("vrf == 3 @", "`@` has no meaning"),
        ("(vrf == 3", "`)` is wanted"),
        ("mac('00:00') == vrf", "single quotes"),
        ("vrf == 0x", "a number"),
        ("/* open", "a comment has no end"),
    ] {
        let why = parse::constraints(text, &Scope::Entry(&form())).expect_err(text);
        assert!(why.contains(says), "{text}: {why}");
    }
    let deep = "!".repeat(1000) + "true";
    assert!(parse::constraints(&deep, &Scope::Entry(&form())).is_err());
}

#[test]
fn actions_are_held_to_their_parameters() {
    let form = ActionForm {
        name: "set".into(),
        parameters: vec![("dscp".into(), Ty::Bits(6)), ("queue".into(), Ty::Bits(8))],
        table_only: false,
        default_only: false,
    };
    let found = parse::constraints("dscp != 0 -> queue < 8", &Scope::Action(&form)).unwrap();
    let eval = |dscp, queue| {
        found[0]
            .holds
            .eval(&Given::Action(&[bits(6, dscp), bits(8, queue)]))
    };
    assert!(eval(0, 200) && eval(1, 7) && !eval(1, 8));
    assert_eq!(found[0].text, "dscp != 0 -> queue < 8");
    assert!(parse::constraints("::priority == 1", &Scope::Action(&form)).is_err());
    assert!(parse::constraints("dscp == queue", &Scope::Action(&form)).is_err());
}

#[test]
fn any_text_is_read_or_refused() {
    let words = [
        "vrf",
        "ether_type::mask",
        "route::prefix_length",
        "::",
        "priority",
        "==",
        "<",
        "(",
        ")",
        "!",
        "-",
        "->",
        "&&",
        "||",
        ";",
        "3",
        "-1",
        "true",
        "'x'",
        "ipv4",
        "0x",
        ".",
        "\n",
        "//",
        "/*",
        "*/",
        "é",
    ];
    let mut random = crate::context::Random::new(7);
    for _ in 0..20_000 {
        let count = random.between(0, 12);
        let text: Vec<&str> = (0..count)
            .map(|_| words[random.between(0, words.len() as u64 - 1) as usize])
            .collect();
        if let Ok(found) = parse::constraints(&text.join(" "), &Scope::Entry(&form())) {
            for one in found {
                one.holds.eval(&Given::Entry(&entry()));
            }
        }
    }
}
