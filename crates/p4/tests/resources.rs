//! Objects of tables, `exit`, and PNA's functions: where each may stand.

use crate::rules::{FIRST, errors, ingress, warnings};

/// The errors of declarations in the ingress control, with lines counted from its first.
fn found(locals: &str) -> Vec<(&'static str, u32)> {
    let all = errors(&ingress(locals, "t.apply(); u.apply();"));
    let lines = all.into_iter();
    lines.map(|(code, line)| (code, line - FIRST)).collect()
}

const TWO: &str = "direct_counter(CounterType.packets) c;
    direct_meter<bit<8>>(MeterType.packets) d;
    action a() { d.read(m.x); }
    table t { key = { h.e.a: exact; } actions = { a; NoAction; } counters = c; meters = d; }";

/// [`TWO`], another action `b`, and a table `u` with it.
fn with_u(b: &str, properties: &str) -> String {
    format!(
        "{TWO}\n action b() {{ {b} }}
        table u {{ key = {{ h.e.a: exact; }} actions = {{ b; NoAction; }}\n {properties} }}"
    )
}

#[test]
fn a_direct_counter_or_meter_belongs_to_one_table() {
    assert_eq!(found(&with_u("", "")), []);
    for property in ["counters = c;", "meters = d;"] {
        assert_eq!(found(&with_u("", property)), [("direct-owner", 6)]);
    }
    // Each kind has its own property.
    let other = "direct_counter(CounterType.bytes) e; direct_meter<bit<8>>(MeterType.bytes) f;";
    for (property, wrong) in [
        ("counters = e; meters = f;", false),
        ("counters = f;", true),
        ("meters = e;", true),
        ("implementation = e;", true),
    ] {
        let text = format!("{other} {}", with_u("", property));
        let expected = [("table-property", 6)];
        assert_eq!(found(&text), expected[..usize::from(wrong)], "{property}");
    }
}

/// The lines of warnings about owners.
fn warned(locals: &str) -> Vec<u32> {
    let all = warnings(&ingress(locals, "t.apply(); u.apply();")).into_iter();
    all.filter(|(code, _)| *code == "direct-owner")
        .map(|(_, line)| line - FIRST)
        .collect()
}

#[test]
fn its_methods_are_called_in_the_actions_of_that_table() {
    // v1model's programs share actions between tables; that is a warning.
    assert_eq!(warned(&with_u("d.read(m.x);", "")), [4]);
    assert_eq!(warned(&with_u("c.count();", "")), [4]);
    // By another action, too.
    assert_eq!(warned(&with_u("a();", "")), [2]);
    let shared = with_u("", "").replace("{ b; NoAction; }", "{ a; NoAction; }");
    assert_eq!(warned(&shared), [2]);
    // One that no table has.
    let none = format!(
        "direct_meter<bit<8>>(MeterType.bytes) f; {}",
        with_u("f.read(m.x);", "")
    );
    assert_eq!(found(&none), [("direct-owner", 4)]);
    // No table has its count; SAI's border router contains such a counter.
    let none = format!(
        "direct_counter(CounterType.bytes) f; {}",
        with_u("f.count();", "")
    );
    assert_eq!(warned(&none), [4]);
    // In the apply of the control, by itself or by an action.
    for apply in ["d.read(m.x);", "a();"] {
        let text = ingress(&with_u("", ""), &format!("t.apply(); u.apply(); {apply}"));
        let codes: Vec<_> = errors(&text).into_iter().map(|(code, _)| code).collect();
        assert_eq!(codes, ["direct-owner"], "{apply}");
    }
}

/// A PSA program with two tables, each with a counter, and the actions of each.
fn psa(locals: &str, one: &str, two: &str, apply: &str) -> String {
    format!(
        "#include <psa.p4>
header E {{ bit<8> a; }} struct H {{ E e; }} struct N {{ }}
parser IP(packet_in p, out H h, inout N m, in psa_ingress_parser_input_metadata_t i, in N r, in N c) {{ state start {{ p.extract(h.e); transition accept; }} }}
control I(inout H h, inout N m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {{
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS) c; DirectCounter<bit<32>>(PSA_CounterType_t.BYTES) d;
    ActionProfile(16) p; ActionProfile(16) q;
    {locals}
    table t {{ key = {{ h.e.a: exact; }} actions = {{ {one} NoAction; }} psa_direct_counter = c; }}
    table u {{ key = {{ h.e.a: exact; }} actions = {{ {two} NoAction; }} psa_direct_counter = d; }}
    apply {{ t.apply(); u.apply(); {apply} }}
}}
control ID(packet_out b, out N c, out N r, out N n, inout H h, in N m, in psa_ingress_output_metadata_t o) {{ apply {{ b.emit(h.e); }} }}
parser EP(packet_in p, out H h, inout N m, in psa_egress_parser_input_metadata_t i, in N n, in N c, in N d) {{ state start {{ p.extract(h.e); transition accept; }} }}
control G(inout H h, inout N m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) {{ apply {{ }} }}
control ED(packet_out b, out N c, out N r, inout H h, in N m, in psa_egress_output_metadata_t o, in psa_egress_deparser_input_metadata_t i) {{ apply {{ b.emit(h.e); }} }}
IngressPipeline(IP(), I(), ID()) ip; EgressPipeline(EP(), G(), ED()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
"
    )
}

#[test]
fn psa_s_counters_count_for_their_own_table() {
    let actions =
        "action a() { c.count(); }\n action b() { d.count(); }\n action ab() { a(); b(); }";
    assert_eq!(errors(&psa(actions, "a;", "b;", "")), []);
    assert_eq!(errors(&psa(actions, "b;", "", "")), [("direct-owner", 8)]);
    assert_eq!(errors(&psa(actions, "a;", "a;", "")), [("direct-owner", 7)]);
    assert_eq!(errors(&psa(actions, "ab;", "", "")), [("direct-owner", 8)]);
    let in_apply = psa(actions, "a;", "b;", "c.count();");
    assert_eq!(errors(&in_apply), [("direct-owner", 12)]);
    // An action that only the control calls.
    let called = psa(actions, "", "", "b();");
    assert_eq!(errors(&called), [("direct-owner", 8)]);
    // Where the value is kept in a variable.
    let meter = "DirectMeter(PSA_MeterType_t.BYTES) e;
        action m() { PSA_MeterColor_t color = e.execute(); h.e.a = (bit<8>) (color == PSA_MeterColor_t.RED ? 8w1 : 2); }";
    assert_eq!(errors(&psa(meter, "m;", "", "")), [("direct-owner", 8)]);
    let two = psa("", "", "", "").replace(
        "psa_direct_counter = d;",
        "psa_direct_counter = d; psa_implementation = { p, q };",
    );
    assert_eq!(errors(&two), [("table-property", 9)]);
}

#[test]
fn a_table_has_one_implementation() {
    let table = |property: &str| {
        format!(
            "action_profile(16) p; action_profile(16) q;
            table t {{ key = {{ h.e.a: exact; }} actions = {{ NoAction; }}\n {property} }}
            table u {{ key = {{ h.e.a: exact; }} actions = {{ NoAction; }} implementation = p; }}"
        )
    };
    // Tables may share one.
    assert_eq!(found(&table("implementation = p;")), []);
    let wrong = [("table-property", 2)];
    assert_eq!(found(&table("implementation = { p, q };")), wrong);
}

#[test]
fn exit_stands_in_actions_and_controls() {
    let good = "action a() { exit; } table t { key = { h.e.a: exact; } actions = { a; NoAction; } }
        table u { actions = { NoAction; } }";
    assert_eq!(found(good), []);
    assert_eq!(errors(&ingress("", "if (h.e.a == 1) { exit; }")), []);
    let function = "bit<8> f(in bit<8> x) {\n if (x == 3) { exit; }\n return x; }";
    assert_eq!(errors(function), [("exit", 2)]);
}

/// A PNA program with a table that learns, and an idle timeout.
const LEARNING: &str = "#include <pna.p4>
header E { bit<8> a; } struct H { E e; } struct M { bit<8> x; }
parser P(packet_in p, out H h, inout M m, in pna_main_parser_input_metadata_t i) { state start { p.extract(h.e); transition accept; } }
control R(in H h, inout M m, in pna_pre_input_metadata_t i, inout pna_pre_output_metadata_t o) { apply { PRE } }
control C(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {
    action hit(PortId_t port) { send_to_port(port); restart_expire_timer(); }
    action other() { }
    action miss() { add_entry(action_name = \"hit\", action_params = (PortId_t) 1, expire_time_profile_id = (ExpireTimeProfileId_t) 0); }
    table t {
        key = { h.e.a: exact; }
        actions = { @tableonly hit; @defaultonly miss; other; }
        add_on_miss = true;
        pna_idle_timeout = PNA_IdleTimeout_t.NOTIFY_CONTROL;
        const default_action = miss;
    }
    apply { t.apply(); }
}
control D(packet_out p, in H h, in M m, in pna_main_output_metadata_t o) { apply { OUT p.emit(h.e); } }
PNA_NIC(P(), R(), C(), D()) main;
";

#[test]
fn pna_s_functions_run_where_they_mean_something() {
    let plain = LEARNING.replace("PRE", "").replace("OUT", "");
    assert_eq!(errors(&plain), []);
    for (from, to, expected) in [
        ("add_on_miss = true;", "", ("entry-call", 8)),
        (
            "add_on_miss = true;",
            "add_on_miss = false;",
            ("entry-call", 8),
        ),
        ("pna_idle_timeout", "// pna_idle_timeout", ("entry-call", 6)),
        ("NOTIFY_CONTROL", "NO_TIMEOUT", ("entry-call", 6)),
        ("\"hit\"", "\"away\"", ("entry-call", 8)),
        ("\"hit\"", "\"miss\"", ("entry-call", 8)),
        (
            "default_action = miss",
            "default_action = other",
            ("entry-call", 8),
        ),
        ("h.e.a: exact", "h.e.a: ternary", ("add-on-miss", 10)),
        (
            "apply { t.apply(); }",
            "apply { t.apply(); restart_expire_timer(); }",
            ("entry-call", 16),
        ),
    ] {
        let text = plain
            .replace(
                "@defaultonly miss",
                if to.contains("other") {
                    "miss"
                } else {
                    "@defaultonly miss"
                },
            )
            .replace(from, to);
        assert_eq!(errors(&text), [expected], "{from}: {to}");
    }
    let drops = LEARNING.replace("PRE", "drop_packet();").replace("OUT", "");
    assert_eq!(errors(&drops), [("forwarding", 4)]);
    let mirrors = "mirror_packet((MirrorSlotId_t) 1, (MirrorSessionId_t) 1);";
    let mirrors = LEARNING.replace("PRE", "").replace("OUT", mirrors);
    assert_eq!(errors(&mirrors), [("forwarding", 18)]);
}

#[test]
fn a_file_may_begin_with_a_byte_order_mark() {
    assert_eq!(
        errors("\u{feff}#include <core.p4>\nconst bit<8> x = 1;\n"),
        []
    );
    assert_eq!(errors("\u{feff}const bit<8> x = 1;\n"), []);
}

#[test]
fn a_chain_of_operators_has_a_limit_that_is_named() {
    let chain = |count: usize| format!("const bit<8> x = 1{};", " + 1".repeat(count));
    assert_eq!(errors(&chain(200)), []);
    let (mut sources, mut diagnostics) = Default::default();
    let tokens = p4::preprocess::preprocess(
        "t.p4",
        &chain(300),
        &mut crate::rules::Library,
        &Default::default(),
        &mut sources,
        &mut diagnostics,
    );
    let _ = p4::parse::parse(&tokens, &sources, &mut diagnostics);
    let found: Vec<_> = diagnostics
        .iter()
        .map(|d| (d.code, d.message.clone()))
        .collect();
    let [("too-deep", message)] = &found[..] else {
        panic!("{found:?}");
    };
    assert!(
        message.contains("a chain of more than 256 operators"),
        "{message}"
    );
}
