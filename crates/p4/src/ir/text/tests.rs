use super::print;
use crate::compile::{Options, compile};
use crate::source::{IncludeError, Includes};
use alloc::format;
use alloc::string::String;

struct Library;

impl Includes for Library {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = crate::library::file(name).ok_or_else(|| format!("no {name}"))?;
        Ok((name.into(), text.into()))
    }
}

/// Most of what the text has, at least once.
const PROGRAM: &str = r#"
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
enum bit<8> Kind { a = 5, any = 6 }
header e_t { bit<16> type; Kind kind; int<8> s; }
header o_t { bit<8> size; varbit<320> data; }
header m_t { bit<20> label; bit<4> rest; }
struct headers { e_t e; o_t o; m_t[2] m; }
struct pair { bit<8> a; int<9> b; }
struct metadata { @field_list(1, 2) bit<8> kept; bit<1> f; }
parser Parse(packet_in p, out headers hdr, inout metadata m, inout standard_metadata_t s) {
    value_set<bit<16>>(4) types;
    state start {
        p.extract(hdr.e);
        m.kept = p.lookahead<bit<8>>();
        transition select(hdr.e.type, m.kept) {
            (0x800, _): options;
            (1 &&& 0xff, 1 .. 2): labels;
            (types, _): labels;
            default: reject;
        }
    }
    state options { p.extract(hdr.o, (bit<32>) m.kept); p.advance(8); transition accept; }
    state labels { p.extract(hdr.m.next); transition accept; }
}
control Verify(inout headers hdr, inout metadata m) { apply { } }
control ingress(inout headers hdr, inout metadata m, inout standard_metadata_t s) {
    register<pair, bit<32>>(16) r;
    direct_counter(CounterType.bytes) hits;
    action_selector(HashAlgorithm.crc16, 16, 8) ecmp;
    action forward(@id(3) bit<9> port) { s.egress_spec = port; }
    action stop() { exit; }
    @name(".t") table t {
        key = {
            hdr.e.type[7:0]: ternary @name("low");
            hdr.e.type: range;
        }
        actions = { @tableonly forward; @defaultonly stop; NoAction; }
        const default_action = stop();
        const entries = {
            (1 &&& 0xf, 3 .. 4) : forward(2) @a("b");
            (_, _) : NoAction();
        }
        counters = hits;
        size = 64;
    }
    table u {
        key = { hdr.e.type: lpm; hdr.e.s: selector; }
        actions = { forward; NoAction; }
        implementation = ecmp;
        support_timeout = true;
    }
    apply {
        if (t.apply().hit) {
            hdr.e.s = m.f == 1 ? -hdr.e.s : hdr.e.s |+| 3;
            hdr.m[m.kept].label[3:0] = hdr.m[0].rest;
        }
        switch (u.apply().action_run) { forward: { log_msg("kind {}", { hdr.e.kind }); } }
        hash(m.kept, HashAlgorithm.crc16, 8w0, { hdr.e, hdr.o.data, (bit<8>) hdr.e.s }, 8w9);
        pair both;
        r.read(both, 3);
        hdr.e.kind = Kind.any;
        m.kept = both.a ++ hdr.e.type[15:8] == 0x1234 ? 8w1 : ~both.a;
    }
}
control egress(inout headers hdr, inout metadata m, inout standard_metadata_t s) { apply { } }
control Compute(inout headers hdr, inout metadata m) { apply { } }
control Emit(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
V1Switch(Parse(), Verify(), ingress(), egress(), Compute(), Emit()) main;
"#;

/// What it becomes, without the parameters whose fields are many.
const TEXT: &str = r#"program V1Switch
enum error: 32 { NoError = 32w0x0, PacketTooShort = 32w0x1, NoMatch = 32w0x2, StackOutOfBounds = 32w0x3, HeaderTooShort = 32w0x4, ParserTimeout = 32w0x5, ParserInvalidArgument = 32w0x6 }
enum CounterType: 32 { packets = 32w0x0, bytes = 32w0x1, packets_and_bytes = 32w0x2 }
enum HashAlgorithm: 32 { crc32 = 32w0x0, crc32_custom = 32w0x1, crc16 = 32w0x2, crc16_custom = 32w0x3, random = 32w0x4, identity = 32w0x5, csum16 = 32w0x6, xor16 = 32w0x7 }
enum Kind: 8 { a = 8w0x5, any = 8w0x6 }
slot hdr.e.$valid: bool
slot hdr.e.type: b16
slot hdr.e.kind: b8 is Kind
slot hdr.e.s: i8
slot hdr.o.$valid: bool
slot hdr.o.size: b8
slot hdr.o.data: v320
slot hdr.m.$next: b32
slot hdr.m[0].$valid: bool
slot hdr.m[0].label: b20
slot hdr.m[0].rest: b4
slot hdr.m[1].$valid: bool
slot hdr.m[1].label: b20
slot hdr.m[1].rest: b4
slot m.kept: b8 @field_list("1, 2")
slot m.f: b1
slot Parse.lookahead: b8
slot ingress.forward.port: b9
slot t.$hit: bool
slot ingress.u.$action_run: b32
slot ingress.both.a: b8
slot ingress.both.b: i9
header hdr.e: e_t valid hdr.e.$valid { hdr.e.type, hdr.e.kind, hdr.e.s }
header hdr.o: o_t valid hdr.o.$valid { hdr.o.size, hdr.o.data }
header hdr.m[0]: m_t valid hdr.m[0].$valid { hdr.m[0].label, hdr.m[0].rest }
header hdr.m[1]: m_t valid hdr.m[1].$valid { hdr.m[1].label, hdr.m[1].rest }
stack hdr.m: next hdr.m.$next { hdr.m[0], hdr.m[1] }
value_set Parse.types: size 4 { "": b16 exact }
object ingress.r: register types ({ a: b8, b: i9 }, { "": b32 }) (size = 32w0x10)
object ingress.hits: direct_counter types () (type = member CounterType 1)
object ingress.ecmp: action_selector types () (algorithm = member HashAlgorithm 2, size = 32w0x10, outputWidth = 32w0x8)
action ingress.forward(port: ingress.forward.port @id("3")) {
b0:
  s.egress_spec = ingress.forward.port
  return
}
action ingress.stop() {
b0:
  exit
}
action NoAction() @noWarn("\"unused\"") {
b0:
  return
}
table t @name("\".t\"") {
  key low: b8 ternary = hdr.e.type[7:0] @name("\"low\"")
  key hdr.e.type: b16 range = hdr.e.type
  action ingress.forward table_only @tableonly("")
  action ingress.stop default_only @defaultonly("")
  action NoAction
  default const 1()
  entry 2 const (8w0x1 &&& 8w0xf, 16w0x3 .. 16w0x4) -> 0(9w0x2) @a("\"b\"")
  entry 1 const (any, any) -> 2()
  const_entries
  size 64
  direct ingress.hits
  hit t.$hit
}
table ingress.u {
  key hdr.e.type: b16 lpm = hdr.e.type
  key hdr.e.s: i8 selector = hdr.e.s
  action ingress.forward
  action NoAction
  default 1()
  implementation ingress.ecmp
  idle_timeout
  property support_timeout = 1w0x1
  action_run ingress.u.$action_run
}
parser Parse role p error_in s.parser_error {
  parameter m: metadata inout { kept = m.kept, f = m.f }
  fail b5
b0:
  hdr.e.$valid = false
  hdr.o.$valid = false
  hdr.m[0].$valid = false
  hdr.m[1].$valid = false
  hdr.m.$next = 32w0x0
  jump b1
b1 (start):
  extract hdr.e
  lookahead Parse.lookahead
  m.kept = Parse.lookahead
  select (hdr.e.type, m.kept) { (16w0x800, any) -> b2, (16w0x1 &&& 16w0xff, 8w0x1 .. 8w0x2) -> b3, (value_set Parse.types, any) -> b3 } b5
b2 (options):
  extract hdr.o size cast(b32, m.kept)
  advance 32w0x8
  jump b4
b3 (labels):
  extract_next hdr.m
  jump b4
b4 (accept):
  return
b5 (reject):
  reject
}
control Verify role vr {
  parameter m: metadata inout { kept = m.kept, f = m.f }
b0:
  return
}
control ingress role ig {
  parameter m: metadata inout { kept = m.kept, f = m.f }
b0:
  apply t b1 exit b7
b1:
  branch t.$hit b2 b3
b2:
  hdr.e.s = if((m.f == 1w0x1), -hdr.e.s, (hdr.e.s |+| 8s0x3))
  at(m.kept, hdr.m[0].label, hdr.m[1].label)[3:0] = hdr.m[0].rest
  jump b3
b3:
  apply ingress.u b4 exit b4
b4:
  select (ingress.u.$action_run) { (32w0x0) -> b5 } b6
b5:
  call log_msg (text "kind {}", { "" = hdr.e.kind })
  jump b6
b6:
  call hash (member HashAlgorithm 2, 8w0x0, { type = hdr.e.type valid hdr.e.$valid, kind = hdr.e.kind valid hdr.e.$valid, s = hdr.e.s valid hdr.e.$valid, "" = hdr.o.data, "" = cast(b8, hdr.e.s) }, 8w0x9) -> (m.kept)
  call read of ingress.r (32w0x3) -> (ingress.both.a, ingress.both.b)
  hdr.e.kind = 8w0x6
  m.kept = if(((ingress.both.a ++ hdr.e.type[15:8]) == 16w0x1234), 8w0x1, ~ingress.both.a)
  return
b7:
  return
}
control egress role eg {
  parameter m: metadata inout { kept = m.kept, f = m.f }
b0:
  return
}
control Compute role ck {
  parameter m: metadata inout { kept = m.kept, f = m.f }
b0:
  return
}
control Emit role dep {
b0:
  emit hdr.e
  emit hdr.o
  emit hdr.m[0]
  emit hdr.m[1]
  return
}
"#;

#[test]
fn a_program_as_people_read_it() {
    let options = Options {
        unoptimized: true,
        ..Options::default()
    };
    let compiled = compile("t.p4", PROGRAM, &mut Library, &options);
    assert!(!compiled.diagnostics.failed(), "{:?}", compiled.diagnostics);
    let text = print(&compiled.program.expect("it has a main"));
    let many = ["slot s.", "  parameter hdr:", "  parameter s:"];
    let lines = text.lines();
    let lines = lines.filter(|line| !many.iter().any(|begin| line.starts_with(begin)));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    assert_eq!(text, TEXT, "{text}");
}
