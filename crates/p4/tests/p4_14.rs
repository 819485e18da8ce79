//! P4_14 programs: what is read, and what is refused.

use p4::ast::{DeclarationKind, Program};
use p4::diagnostic::{Diagnostics, Severity};
use p4::source::{IncludeError, Includes, Sources};

struct Nothing;

impl Includes for Nothing {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        Err(format!("no file {name}").into())
    }
}

fn read(text: &str) -> (Program, Sources, Diagnostics) {
    let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
    let options = p4::preprocess::Options::default();
    let tokens = p4::preprocess::preprocess(
        "test.p4",
        text,
        &mut Nothing,
        &options,
        &mut sources,
        &mut diagnostics,
    );
    assert!(p4::p4_14::is_p4_14(&tokens), "not told as P4_14: {text}");
    let program = p4::p4_14::parse(&tokens, &mut sources, &mut diagnostics);
    (program, sources, diagnostics)
}

fn rendered(sources: &Sources, diagnostics: &Diagnostics, severity: Severity) -> Vec<String> {
    let of = |d: &&&p4::diagnostic::Diagnostic| d.severity == severity;
    let list = diagnostics.sorted();
    let list = list.iter().filter(of);
    list.map(|d| d.render(sources)).collect()
}

/// Reads and checks; panics on errors.
fn accepted(text: &str) -> Program {
    let (program, sources, mut diagnostics) = read(text);
    if !diagnostics.failed() {
        let _ = p4::check::check(program.clone(), &mut diagnostics);
    }
    let errors = rendered(&sources, &diagnostics, Severity::Error);
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    program
}

/// The codes of the errors, with `line:column` before each.
fn refused(text: &str) -> Vec<String> {
    let (program, sources, mut diagnostics) = read(text);
    if !diagnostics.failed() {
        let _ = p4::check::check(program, &mut diagnostics);
    }
    diagnostics
        .sorted()
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .map(|d| {
            let place = sources.location(d.span.start).expect("errors have a place");
            assert_eq!(&*place.file, "test.p4", "{}", d.message);
            format!("{}:{} {}", place.line, place.column, d.code)
        })
        .collect()
}

/// A program with one header and the rest given.
fn with(rest: &str) -> String {
    format!(
        "header_type h_t {{ fields {{ a : 8; b : 16; c : 32; }} }}\nheader h_t h;\nheader h_t s[3];\n\
         header_type m_t {{ fields {{ x : 16; y : 9; }} }}\nmetadata m_t m;\n{rest}\n"
    )
}

const FRAME: &str = "parser start { extract(h); return ingress; }\n\
                     table t { reads { h.a : exact; } actions { go; } }\n\
                     control ingress { apply(t); }\n";

/// The names of the parameters of the action `go`, with their widths.
fn widths(action: &str) -> String {
    let program = accepted(&with(&format!("{action}\n{FRAME}")));
    let mut out = Vec::new();
    for declaration in &program.declarations {
        let DeclarationKind::Control(control) = &declaration.kind else {
            continue;
        };
        for local in &control.locals {
            let DeclarationKind::Action {
                name, parameters, ..
            } = &local.kind
            else {
                continue;
            };
            if &*name.text != "go" {
                continue;
            }
            for parameter in parameters {
                let p4::ast::TypeExpressionKind::Bit(Some(width)) = &parameter.ty.kind else {
                    panic!("no bits: {:?}", parameter.ty);
                };
                let p4::ast::ExpressionKind::Integer { value, .. } = &width.kind else {
                    panic!("no number");
                };
                out.push(format!("{}:{value}", parameter.name.text));
            }
        }
    }
    out.join(" ")
}

#[test]
fn parameters_get_their_widths_from_their_uses() {
    let action = "action go(p, q, r) { modify_field(h.a, p); add(m.x, h.a, q); \
                  modify_field(standard_metadata.egress_spec, r); }";
    assert_eq!(widths(action), "p:8 q:16 r:9");
    // The widest use counts, in expressions and through other actions too.
    let action = "action sub(v) { modify_field(h.c, v); }\n\
                  action go(p, q) { modify_field(h.a, p); modify_field(h.b, p + 1); sub(q); }";
    assert_eq!(widths(action), "p:16 q:32");
}

#[test]
fn a_parameter_without_any_use_is_eight_bits_and_told() {
    let (_, sources, diagnostics) = read(&with(&format!("action go(p) {{ }}\n{FRAME}")));
    let warnings = rendered(&sources, &diagnostics, Severity::Warning);
    assert!(warnings[0].contains("the width of `p`"), "{warnings:?}");
}

#[test]
fn every_primitive_is_known() {
    accepted(&with(
        "field_list fl { h.a; m.x; 8'1; }\n\
         field_list all { fl; h.c; payload; }\n\
         field_list_calculation calc { input { fl; } algorithm : crc16; output_width : 16; }\n\
         field_list_calculation sum { input { all; } algorithm : csum16; output_width : 16; }\n\
         calculated_field h.b { verify sum if (valid(h)); update sum; }\n\
         counter ctr { type : packets_and_bytes; instance_count : 10; }\n\
         counter dctr { type : packets; direct : t; }\n\
         meter mtr { type : bytes; instance_count : 8; }\n\
         meter dmtr { type : packets; direct : t; result : m.x; }\n\
         register reg { width : 32; instance_count : 4; }\n\
         register cells { layout : m_t; instance_count : 4; }\n\
         action go(p) {\n\
           add(h.a, h.b, 1); subtract(h.a, 1, h.b); add_to_field(h.a, -1); subtract_from_field(h.b, 2);\n\
           bit_and(h.a, h.a, 1); bit_or(h.a, h.a, 1); bit_xor(h.a, h.a, 1); bit_not(h.a, h.b);\n\
           bit_nand(h.a, h.a, 1); bit_nor(h.a, h.a, 1); bit_xnor(h.a, h.a, 1);\n\
           bit_andca(h.a, h.a, 1); bit_andcb(h.a, h.a, 1); bit_orca(h.a, h.a, 1); bit_orcb(h.a, h.a, 1);\n\
           min(h.a, h.b, 3); max(h.c, h.b, h.a); shift_left(h.c, h.a, 4); shift_right(h.a, h.c, h.b);\n\
           modify_field(h.b, h.a, 0x0f0); modify_field(h.b, h.a, 0x505); modify_field(h.c, p);\n\
           modify_field_with_hash_based_offset(m.x, 0, calc, 100);\n\
           modify_field_rng_uniform(m.x, 1, 6); modify_field_from_rng(m.x, 4);\n\
           add_header(s[0]); copy_header(s[1], h); remove_header(h); push(s, 2); pop(s, 1);\n\
           count(ctr, h.a); execute_meter(mtr, h.a, m.y);\n\
           register_read(h.a, reg, 1); register_write(reg, 1, h.a);\n\
           register_read(m, cells, h.a); register_write(cells, 0, m);\n\
           generate_digest(1, fl); resubmit(fl); clone_ingress_pkt_to_egress(7, fl); clone_i2e(7);\n\
           truncate(64); drop(); no_op(); exit();\n\
         }\n\
         action out() { recirculate(fl); clone_egress_pkt_to_egress(7); modify_field_conditionally(h.a, valid(h), 1); }\n\
         table e { actions { out; } default_action : out(); }\n\
         table t { reads { h.a : exact; h.b mask 0xff0 : ternary; h.c : lpm; m.x : range; s[0] : valid; }\n\
                   actions { go; } default_action : go(3); size : 100; support_timeout : true; }\n\
         parser start { extract(h); set_metadata(m.x, latest.b + 1);\n\
           return select(h.a, current(0, 8)) { 0x0102, 0x0300 mask 0xff00 : more; default : ingress; } }\n\
         parser more { extract(s[next]); return select(latest.a) { 1 : more; default : ingress; } }\n\
         control sub { apply(t) { go { } default { } } }\n\
         control ingress { if (valid(h) and not (h.a == 1 or m.x & 3 == 2)) { sub(); } }\n\
         control egress { apply(e) { hit { } miss { } } }",
    ));
}

#[test]
fn one_name_may_stand_for_many_things() {
    accepted(
        "header_type A { fields { A : 32; key : 8; transition : 8; } }\nheader A A;\n\
         metadata A B;\nparser start { return A; }\nparser A { extract(A); return ingress; }\n\
         counter A { type : bytes; instance_count : 2; }\n\
         action A(A) { modify_field(B.transition, A); }\n\
         table A { reads { A.key : exact; A.transition : exact; } actions { A; } }\n\
         control A { apply(A); }\ncontrol ingress { A(); }\n",
    );
}

#[test]
fn a_header_of_variable_length_is_extracted_by_its_length() {
    accepted(
        "header_type o_t { fields { kind : 4; len : 4; data : *; } length : len * 4 + 1; max_length : 64; }\n\
         header o_t o;\nparser start { extract(o); return ingress; }\ncontrol ingress { }\n",
    );
}

#[test]
fn parser_exceptions_become_errors_that_ingress_handles() {
    accepted(&with(
        "parser_exception wrong { set_metadata(m.x, 1); return ingress; }\n\
         parser_exception p4_pe_out_of_packet { parser_drop; }\n\
         parser_exception p4_pe_default { return ingress; }\n\
         parser start { extract(h); return select(h.a) { 1 : parse_error wrong; default : ingress; } }\n\
         control ingress { }",
    ));
}

#[test]
fn metadata_may_begin_with_values_and_packets_at_other_parsers() {
    accepted(
        "header_type m_t { fields { x : 16; } }\nmetadata m_t m { x : 7; }\n\
         parser start { return ingress; }\n@pragma packet_entry\nparser mirrored { return start; }\n\
         control ingress { }\n",
    );
}

#[test]
fn what_is_wrong_is_told_at_its_place() {
    let action = |text: &str| refused(&with(&format!("action go() {{ {text} }}\n{FRAME}")));
    assert_eq!(action("modify_field(h.z, 1);"), ["6:30 unknown-name"]);
    assert_eq!(action("modify_field(s[last].a, 1);"), ["6:28 stack-index"]);
    assert_eq!(action("modify_field(s[h.a].a, 1);"), ["6:30 stack-index"]);
    assert_eq!(action("add(h.a, h.b);"), ["6:15 operands"]);
    assert_eq!(action("resubmit(h);"), ["6:24 field-list"]);
    assert_eq!(action("jump(1);"), ["6:15 unknown-name"]);
    assert_eq!(action("go();"), ["6:15 recursion"]);
    assert_eq!(
        action("modify_field(h.a, current(0, 8));"),
        ["6:33 current"]
    );
}

#[test]
fn several_mistakes_are_told_in_one_run() {
    let errors = refused(&with(
        "parser start { extract(m); return nowhere; }\ntable t { actions { a; } }\n\
         control ingress { apply(t); apply(u); }",
    ));
    assert_eq!(
        errors,
        [
            "6:16 extract",
            "6:35 unknown-name",
            "7:21 unknown-name",
            "8:35 unknown-name"
        ]
    );
    let errors = refused("header_type h_t { fields { a 8; b : 16; } lenght : 3; }\nparser { }\n");
    assert_eq!(errors.len(), 3, "{errors:?}");
}

#[test]
fn controls_and_field_lists_must_not_contain_themselves() {
    let errors = refused(&with(
        "parser start { return ingress; }\ncontrol ingress { a(); }\ncontrol a { ingress(); }",
    ));
    assert_eq!(errors, ["8:13 recursion"]);
    let errors = refused(&with(&format!(
        "field_list l {{ l; }}
action go() {{ resubmit(l); }}
{FRAME}"
    )));
    assert_eq!(errors, ["6:1 field-list"]);
}

/// Warnings and errors of a program, as they are shown.
fn told(text: &str) -> (Vec<String>, Vec<String>) {
    let (program, sources, mut diagnostics) = read(text);
    if !diagnostics.failed() {
        let _ = p4::check::check(program, &mut diagnostics);
    }
    let of = |severity| rendered(&sources, &diagnostics, severity);
    (of(Severity::Warning), of(Severity::Error))
}

/// The parts that paper 002 leaves out of its listings 3.1, 3.14 and 3.15.
const LEFT_OUT: &str = "header_type eth_t { fields { dst : 48; src : 48; ty : 16; } }
header eth_t eth;
header_type ipv4_t { fields { a : 160; } }
header ipv4_t ipv4;
header_type paxos_t { fields { msgtype : 16; inst : INST_SIZE; rnd : 8; vrnd : 8; swid : 64; value : VALUE_SIZE; } }
header paxos_t paxos;
action _drop() { drop(); }
action _nop() { no_op(); }
";

fn listing(text: &str) -> String {
    let text = format!("{LEFT_OUT}{text}");
    let sizes = [
        ("INST_SIZE", "32"),
        ("VALUE_SIZE", "256"),
        ("NUM_INST", "1024"),
        ("PAXOS_2A", "3"),
        ("PAXOS_1B", "2"),
        ("PAXOS_2B", "4"),
    ];
    let named = |text: String, (name, value): (&str, &str)| text.replace(name, value);
    sizes.into_iter().fold(text, named)
}

#[test]
fn listing_3_1_is_read_with_the_words_of_its_draft() {
    let (warnings, errors) = told(&listing(
        "header_type udp_t { fields { srcPort : 16; dstPort : 16; length : 16; checksum : 16; } }
header udp_t udp;
parser start { extract(eth); extract(ipv4); return parse_udp; }
parser parse_udp { extract(udp); return ingress; }
counter c1 {
    type: packet;
    numPackets : 32;
}
action count_c1() { count(c1, 1); }
table table_count {
    reads { udp.dstPort : exact; }
    actions { count_c1; _drop; } }
control ingress {
    if (valid(eth)) { if (valid(ipv4)) { if (valid(udp)) { apply(table_count); } } }
}",
    ));
    assert!(errors.is_empty(), "{errors:?}");
    for words in [
        "`packet` is a word of a draft of P4_14: it is read as `packets`",
        "`numPackets` is a word of a draft of P4_14: it is read as `instance_count`; if the width of each cell is meant, the word is `min_width`",
    ] {
        let is = |warning: &String| warning.contains(words);
        assert!(warnings.iter().any(is), "{words}: {warnings:?}");
    }
}

#[test]
fn listing_3_14_is_read_with_the_words_of_its_draft() {
    let (warnings, errors) = told(&listing(
        "parser start { extract(paxos); return ingress; }
register reg_inst { width : INST_SIZE; inst_count : 1; }
action handle_request() {
    modify_field(paxos.msgtype, PAXOS_2A);
    modify_field(paxos.rnd, 0);
    register_read(paxos.inst, reg_inst, 0);
    add_to_field(paxos.inst, 1);
    register_write(reg_inst, 0, paxos.inst);
}
table tbl_sequence {
    reads { paxos.msgtype : exact; }
    actions { handle_request; _nop; }
    size : 1;
}
control ingress { if (valid(paxos)) { apply(tbl_sequence); } }",
    ));
    assert!(errors.is_empty(), "{errors:?}");
    let words = "`inst_count` is a word of a draft of P4_14: it is read as `instance_count`";
    let is = |warning: &String| warning.contains(words);
    assert_eq!(warnings.iter().filter(|w| is(w)).count(), 1, "{warnings:?}");
}

/// The listing declares the register `swid` and reads `switch_id`.
#[test]
fn listing_3_15_names_a_register_that_it_does_not_declare() {
    let text = listing(
        "parser start { extract(paxos); return ingress; }
header_type paxos_metadata_t { fields { rnd : 8; } }
metadata paxos_metadata_t meta_paxos;
register swid { width : 64; inst_count : 1; }
register rnds { width : 8; inst_count : NUM_INST; }
register vrnds { width : 8; inst_count : NUM_INST; }
register values { width : VALUE_SIZE; inst_count : NUM_INST; }
action read_rnd() { register_read(meta_paxos.rnd, rnds, paxos.inst); }
action handle_1a() {
    modify_field(paxos.msgtype, PAXOS_1B);
    register_read(paxos.vrnd, vrnds, paxos.inst);
    register_read(paxos.value, values, paxos.inst);
    register_read(paxos.swid, switch_id, 0);
    register_write(rnds, paxos.inst, paxos.rnd);
}
action handle_2a() {
    modify_field(paxos.msgtype, PAXOS_2B);
    register_read(paxos.swid, switch_id, 0);
    register_write(rnds, paxos.inst, paxos.rnd);
    register_write(vrnds, paxos.inst, paxos.rnd);
    register_write(values, paxos.inst, paxos.value);
}
table tbl_rnd { actions { read_rnd; } }
table tbl_acceptor {
    reads { paxos.msgtype : exact; }
    actions { handle_1a; handle_2a; _drop; }
}
table tbl_drop { actions { _drop; } }
control ingress {
    if (valid(paxos)) {
        apply(tbl_rnd);
        if (paxos.rnd > meta_paxos.rnd) { apply(tbl_acceptor); } else apply(tbl_drop);
    }
}",
    );
    let (warnings, errors) = told(&text);
    assert_eq!(errors.len(), 2, "{errors:?}");
    for error in &errors {
        assert!(
            error.contains("there is no register `switch_id`"),
            "{error}"
        );
        let others = "the program has registers `swid`, `rnds`, `vrnds`, `values`";
        assert!(error.contains(others), "{error}");
    }
    let draft = |warning: &&String| warning.contains("`inst_count`");
    assert_eq!(warnings.iter().filter(draft).count(), 4, "{warnings:?}");
    let (_, errors) = told(&text.replace("switch_id", "swid"));
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn deep_and_long_input_is_refused_and_not_followed() {
    let deep = format!(
        "parser start {{ return select({}1{}) {{ }} }}",
        "(".repeat(5000),
        ")".repeat(5000)
    );
    assert!(refused(&deep).iter().any(|e| e.ends_with("too-deep")));
    let long = format!(
        "parser start {{ m.x = 1{}; return ingress; }}",
        "+1".repeat(5000)
    );
    assert!(refused(&long).iter().any(|e| e.ends_with("too-deep")));
    let nested = format!(
        "control ingress {{ {}{} }}",
        "if (1 == 1) { ".repeat(5000),
        "}".repeat(5000)
    );
    assert!(refused(&nested).iter().any(|e| e.ends_with("too-deep")));
}
