//! Programs, written by the benchmark.

use p4::compile::{Options, compile};
use p4::ir::Program;
use p4::library;
use p4::source::{IncludeError, Includes};
use std::fmt::Write;
use std::sync::Arc;

struct Library;

impl Includes for Library {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = library::file(name).ok_or_else(|| format!("no {name}"))?;
        Ok((name.into(), text.into()))
    }
}

/// A program from its text, through the passes.
pub fn compiled(text: &str) -> Arc<Program> {
    let compiled = compile("bench.p4", text, &mut Library, &Options::default());
    for diagnostic in compiled.diagnostics.sorted() {
        if diagnostic.severity == p4::diagnostic::Severity::Error {
            panic!("{}", diagnostic.render(&compiled.sources));
        }
    }
    Arc::new(compiled.program.expect("a program without errors"))
}

const HEAD: &str = "#include <core.p4>\n#include <v1model.p4>\n";

fn switch(parser: &str) -> String {
    format!("V1Switch({parser}(), Check(), Forward(), Leave(), Sum(), Emit()) main;\n")
}

/// A router: own MAC, longest prefix, next hop, TTL and checksum; with a filter before it, if `filter` says so.
pub fn router(filter: bool) -> String {
    let (acl, apply) = if filter {
        (
            "action deny() { mark_to_drop(sm); }
    table acl {
        key = { h.ipv4.src: ternary; h.ipv4.dst: ternary; h.ipv4.protocol: ternary; }
        actions = { deny; NoAction; } default_action = NoAction(); size = 1024;
    }",
            "acl.apply();",
        )
    } else {
        ("", "")
    };
    format!(
        "{HEAD}
header ethernet_t {{ bit<48> dst; bit<48> src; bit<16> type; }}
header ipv4_t {{ bit<4> version; bit<4> ihl; bit<8> tos; bit<16> length; bit<16> id; bit<3> flags; bit<13> offset;
    bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> src; bit<32> dst; }}
struct headers {{ ethernet_t ethernet; ipv4_t ipv4; }}
struct metadata {{ bit<16> hop; }}
parser Parse(packet_in p, out headers h, inout metadata m, inout standard_metadata_t sm) {{
    state start {{
        p.extract(h.ethernet);
        transition select(h.ethernet.type) {{ 0x800: ipv4; default: accept; }}
    }}
    state ipv4 {{ p.extract(h.ipv4); transition accept; }}
}}
control Check(inout headers h, inout metadata m) {{
    apply {{
        verify_checksum(h.ipv4.isValid(), {{ h.ipv4.version, h.ipv4.ihl, h.ipv4.tos, h.ipv4.length, h.ipv4.id, h.ipv4.flags,
            h.ipv4.offset, h.ipv4.ttl, h.ipv4.protocol, h.ipv4.src, h.ipv4.dst }}, h.ipv4.checksum, HashAlgorithm.csum16);
    }}
}}
control Forward(inout headers h, inout metadata m, inout standard_metadata_t sm) {{
    action drop() {{ mark_to_drop(sm); }}
    action bridge(bit<9> port) {{ sm.egress_spec = port; }}
    action route(bit<16> hop) {{ m.hop = hop; h.ipv4.ttl = h.ipv4.ttl - 1; }}
    action next_hop(bit<9> port, bit<48> dst, bit<48> src) {{
        sm.egress_spec = port; h.ethernet.dst = dst; h.ethernet.src = src;
    }}
    table own {{ key = {{ h.ethernet.dst: exact; }} actions = {{ NoAction; bridge; }} default_action = NoAction(); size = 1024; }}
    table routes {{ key = {{ h.ipv4.dst: lpm; }} actions = {{ route; drop; }} default_action = drop(); size = 200000; }}
    table hops {{ key = {{ m.hop: exact; }} actions = {{ next_hop; drop; }} default_action = drop(); size = 1024; }}
    {acl}
    apply {{
        {apply}
        if (own.apply().hit) {{
            if (h.ipv4.isValid() && h.ipv4.ttl > 1 && sm.checksum_error == 0) {{
                if (routes.apply().hit) {{ hops.apply(); }}
            }} else {{ drop(); }}
        }} else {{ drop(); }}
    }}
}}
control Leave(inout headers h, inout metadata m, inout standard_metadata_t sm) {{ apply {{ }} }}
control Sum(inout headers h, inout metadata m) {{
    apply {{
        update_checksum(h.ipv4.isValid(), {{ h.ipv4.version, h.ipv4.ihl, h.ipv4.tos, h.ipv4.length, h.ipv4.id, h.ipv4.flags,
            h.ipv4.offset, h.ipv4.ttl, h.ipv4.protocol, h.ipv4.src, h.ipv4.dst }}, h.ipv4.checksum, HashAlgorithm.csum16);
    }}
}}
control Emit(packet_out p, in headers h) {{ apply {{ p.emit(h.ethernet); p.emit(h.ipv4); }} }}
{}",
        switch("Parse")
    )
}

/// One table of IPv4 packets, whose keys are of this kind: addresses and, where there is more than one key, ports.
pub fn filled(kind: &str) -> String {
    let keys = match kind {
        "exact" | "lpm" => format!("h.ipv4.dst: {kind};"),
        "ternary" => "h.ipv4.src: ternary; h.ipv4.dst: ternary; h.udp.dst: ternary;".into(),
        _ => "h.ipv4.dst: ternary; h.udp.src: range; h.udp.dst: range;".into(),
    };
    format!(
        "{HEAD}
header ethernet_t {{ bit<48> dst; bit<48> src; bit<16> type; }}
header ipv4_t {{ bit<64> first; bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> src; bit<32> dst; }}
header udp_t {{ bit<16> src; bit<16> dst; bit<16> length; bit<16> checksum; }}
struct headers {{ ethernet_t ethernet; ipv4_t ipv4; udp_t udp; }}
struct metadata {{ }}
parser Parse(packet_in p, out headers h, inout metadata m, inout standard_metadata_t sm) {{
    state start {{ p.extract(h.ethernet); p.extract(h.ipv4); p.extract(h.udp); transition accept; }}
}}
control Check(inout headers h, inout metadata m) {{ apply {{ }} }}
control Forward(inout headers h, inout metadata m, inout standard_metadata_t sm) {{
    action forward(bit<9> port) {{ sm.egress_spec = port; }}
    table filled {{ key = {{ {keys} }} actions = {{ forward; }} default_action = forward(1); size = 1000000; }}
    apply {{ filled.apply(); }}
}}
control Leave(inout headers h, inout metadata m, inout standard_metadata_t sm) {{ apply {{ }} }}
control Sum(inout headers h, inout metadata m) {{ apply {{ }} }}
control Emit(packet_out p, in headers h) {{ apply {{ p.emit(h.ethernet); p.emit(h.ipv4); p.emit(h.udp); }} }}
{}",
        switch("Parse")
    )
}

/// The paper's microbenchmarks: so many headers of 16 bytes to parse, tables to apply, fields to write.
pub fn micro(headers: usize, tables: usize, writes: usize) -> String {
    let mut text = String::from(HEAD);
    text.push_str(
        "header part_t { bit<16> f0; bit<16> f1; bit<32> f2; bit<32> f3; bit<32> f4; }\n",
    );
    text.push_str("struct headers {");
    (0..headers).for_each(|i| write!(text, " part_t p{i};").unwrap());
    text.push_str(" }\nstruct metadata { bit<16> m; }\n");
    text.push_str("parser Parse(packet_in p, out headers h, inout metadata m, inout standard_metadata_t sm) {\n state start { transition s0; }\n");
    for i in 0..headers {
        let next = if i + 1 < headers {
            format!("select(h.p{i}.f0) {{ 0: s{}; default: accept; }}", i + 1)
        } else {
            "accept;".into()
        };
        writeln!(
            text,
            " state s{i} {{ p.extract(h.p{i}); transition {next} }}"
        )
        .unwrap();
    }
    text.push_str("}\ncontrol Check(inout headers h, inout metadata m) { apply { } }\n");
    text.push_str(
        "control Forward(inout headers h, inout metadata m, inout standard_metadata_t sm) {\n",
    );
    text.push_str(" action forward(bit<9> port) { sm.egress_spec = port; }\n");
    for t in 0..tables {
        writeln!(
            text,
            " table t{t} {{ key = {{ h.p0.f{}: exact; }} actions = {{ forward; NoAction; }} default_action = forward(1); size = 64; }}",
            2 + t % 3
        )
        .unwrap();
    }
    text.push_str(" apply {\n  sm.egress_spec = 1;\n");
    (0..tables).for_each(|t| writeln!(text, "  t{t}.apply();").unwrap());
    for w in 0..writes {
        let (header, field) = (w / 4 % headers, 1 + w % 4);
        let width = if field == 1 { 16 } else { 32 };
        writeln!(
            text,
            "  h.p{header}.f{field} = h.p{header}.f{field} + {width}w{};",
            w + 1
        )
        .unwrap();
    }
    text.push_str(" }\n}\ncontrol Leave(inout headers h, inout metadata m, inout standard_metadata_t sm) { apply { } }\n");
    text.push_str("control Sum(inout headers h, inout metadata m) { apply { } }\ncontrol Emit(packet_out p, in headers h) { apply {\n");
    (0..headers).for_each(|i| writeln!(text, "  p.emit(h.p{i});").unwrap());
    text.push_str(" } }\n");
    text.push_str(&switch("Parse"));
    text
}

/// A feed as MDP: a header with a count, entries of 32 bytes of which each is looked at by the parser's loop.
pub fn feed() -> String {
    format!(
        "{HEAD}
header ethernet_t {{ bit<48> dst; bit<48> src; bit<16> type; }}
header feed_t {{ bit<32> sequence; bit<16> count; }}
header entry_t {{ bit<64> price; bit<32> quantity; bit<32> security; bit<32> report; bit<64> time; bit<32> kind; }}
struct headers {{ ethernet_t ethernet; feed_t feed; entry_t[32] entries; }}
struct metadata {{ bit<16> left; bit<32> securities; }}
parser Parse(packet_in p, out headers h, inout metadata m, inout standard_metadata_t sm) {{
    state start {{ p.extract(h.ethernet); p.extract(h.feed); m.left = h.feed.count; transition more; }}
    state more {{ transition select(m.left) {{ 0: accept; default: entry; }} }}
    state entry {{
        p.extract(h.entries.next);
        m.left = m.left - 1;
        m.securities = m.securities ^ h.entries.last.security;
        transition more;
    }}
}}
control Check(inout headers h, inout metadata m) {{ apply {{ }} }}
control Forward(inout headers h, inout metadata m, inout standard_metadata_t sm) {{
    apply {{ sm.egress_spec = (bit<9>)(m.securities[2:0]); }}
}}
control Leave(inout headers h, inout metadata m, inout standard_metadata_t sm) {{ apply {{ }} }}
control Sum(inout headers h, inout metadata m) {{ apply {{ }} }}
control Emit(packet_out p, in headers h) {{ apply {{ p.emit(h.ethernet); p.emit(h.feed); p.emit(h.entries); }} }}
{}",
        switch("Parse")
    )
}

/// Some 5,000 lines: 16 headers, 250 tables with two actions each, and statements between them.
pub fn long() -> String {
    let mut text = String::from(HEAD);
    text.push_str("header part_t {\n bit<16> f0;\n bit<16> f1;\n bit<32> f2;\n bit<32> f3;\n bit<32> f4;\n}\nstruct headers {\n");
    (0..16).for_each(|i| writeln!(text, " part_t p{i};").unwrap());
    text.push_str("}\nstruct metadata {\n bit<32> a;\n bit<32> b;\n}\nparser Parse(packet_in p, out headers h, inout metadata m, inout standard_metadata_t sm) {\n state start {\n  transition s0;\n }\n");
    for i in 0..16 {
        let next = if i < 15 {
            format!(
                "select(h.p{i}.f0) {{\n   0: s{};\n   default: accept;\n  }}",
                i + 1
            )
        } else {
            "accept;".into()
        };
        writeln!(
            text,
            " state s{i} {{\n  p.extract(h.p{i});\n  transition {next}\n }}"
        )
        .unwrap();
    }
    text.push_str("}\ncontrol Check(inout headers h, inout metadata m) {\n apply { }\n}\ncontrol Forward(inout headers h, inout metadata m, inout standard_metadata_t sm) {\n");
    for t in 0..250 {
        let (header, field) = (t % 16, 2 + t % 3);
        writeln!(text, " action set{t}(bit<32> v, bit<9> port) {{\n  h.p{header}.f{field} = v;\n  m.a = m.a + v;\n  sm.egress_spec = port;\n }}").unwrap();
        writeln!(
            text,
            " action add{t}(bit<32> v) {{\n  m.b = m.b |+| v;\n }}"
        )
        .unwrap();
        writeln!(text, " table t{t} {{\n  key = {{\n   h.p{header}.f{field}: exact;\n   m.a: ternary;\n  }}\n  actions = {{\n   set{t};\n   add{t};\n   NoAction;\n  }}\n  default_action = add{t}(1);\n }}").unwrap();
    }
    text.push_str(" apply {\n");
    for t in 0..250 {
        writeln!(
            text,
            "  if (h.p{}.isValid()) {{\n   t{t}.apply();\n  }} else {{\n   m.b = m.b ^ {t};\n  }}",
            t % 16
        )
        .unwrap();
    }
    text.push_str(" }\n}\ncontrol Leave(inout headers h, inout metadata m, inout standard_metadata_t sm) {\n apply { }\n}\ncontrol Sum(inout headers h, inout metadata m) {\n apply { }\n}\ncontrol Emit(packet_out p, in headers h) {\n apply {\n");
    (0..16).for_each(|i| writeln!(text, "  p.emit(h.p{i});").unwrap());
    text.push_str(" }\n}\n");
    text.push_str(&switch("Parse"));
    text
}
