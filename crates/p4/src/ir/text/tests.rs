use super::*;
use crate::ir::*;
use crate::source::Span;
use crate::value::Bits;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

/// Everything that the language has, at least once.
const ALL: &str = r#"program V1Switch
enum error: 32 { NoError = 32w0x0, PacketTooShort = 32w0x1 }
enum Kind: 8 { a = 8w0x5, if = 8w0x6 }
slot hdr.e.$valid: bool
slot hdr.e.type: b16 @field_list("1, 2")
slot hdr.o.$valid: bool
slot hdr.o.data: v320
slot hdr.m[0].$valid: bool
slot hdr.m[0].label: b20
slot hdr.m[1].$valid: bool
slot hdr.m[1].label: b20
slot hdr.m.$next: b32
slot meta.kind: b8 is Kind
slot meta.s: i32
slot "a b\"\\\n": b128
slot twin: b8
slot twin: b8
slot p.error: b32 is error
header hdr.e: ethernet_t valid hdr.e.$valid { hdr.e.type }
header hdr.o: options_t valid hdr.o.$valid { hdr.o.data }
header hdr.m[0]: mpls_t valid hdr.m[0].$valid { hdr.m[0].label }
header hdr.m[1]: mpls_t valid hdr.m[1].$valid { hdr.m[1].label }
stack hdr.m: next hdr.m.$next { hdr.m[0], hdr.m[1] }
value_set p.vs: size 4 { "": b16 exact, x: b8 ternary } @name("vs")
object c1: counter types () (size = 32w0x10, type = member Kind 1)
object r: Register types ({ "": b32 }, { a: b8, b: i9 }) (list = { 1w0x1, text "x", object c1, {  } }) {
method apply(meta.kind) -> (meta.s) {
b0:
  meta.s = cast(i32, meta.kind)
  return
}
}
action NoAction() {
b0:
  return
}
action forward(port: meta.kind @id("3"), "": #12) @name(".f") {
b0:
  branch (meta.kind == 8w0x1) b1 b2
b1:
  exit
b2:
  return
}
table t @name("t") {
  key "hdr.e.type[7:0]": b8 ternary = hdr.e.type[7:0] @name("k")
  key m: b8 lpm = #13
  action NoAction default_only
  action forward table_only @x("")
  default const 0()
  entry 10 const (8w0x1 &&& 8w0xf, 8w0x80 / 3) -> 1(8w0x2, 8w0x3) @a("b")
  entry 9 (any, 8w0x7) -> 0()
  entry 8 (8w0x1 .. 8w0x2, any) -> 0()
  const_entries
  size 1024
  implementation c1
  direct r
  idle_timeout
  property support = 1w0x1
  hit hdr.e.$valid
  action_run p.error
}
parser P role p error_in p.error {
  parameter hdr: headers out { e.type = hdr.e.type, m.$next = hdr.m.$next }
  parameter "": M inout {  }
  parameter a: A in {  }
  parameter b: B none {  }
  fail b3
b0 (start):
  extract hdr.e
  extract hdr.o size (32w0x8 + cast(b32, meta.kind))
  extract_next hdr.m
  extract_next hdr.m size 32w0x8
  lookahead meta.s
  advance 32w0x8
  length p.error
  select (hdr.e.type, meta.kind) { (16w0x800, any) -> b1, (16w0x1 &&& 16w0xff, 8w0x1 .. 8w0x2) -> b1, (value_set p.vs, any) -> b2 } b3
b1:
  meta.s = if((meta.s < 32s0xfffffff0), -meta.s, (~meta.s)[3:0])
  meta.s = ~meta.s[3:0]
  at(hdr.m.$next, hdr.m[0].label, hdr.m[1].label) = at((hdr.m.$next - 32w0x1), hdr.m[0].label, hdr.m[1].label)
  at(hdr.m.$next, hdr.m[0].label, hdr.m[1].label)[3:0] = typed(v4, 5w0x1)
  hdr.e.type[15:8] = ((8w0x1 |+| 8w0x2) |-| #13)[7:0]
  hdr.e.$valid = !((true ++ false) == 2w0x1)
  #12 = cast(b8, varbit_length(hdr.o.data))
  jump b2
b2 (accept):
  call count of c1 (32w0x1)
  call hash ({ "" = hdr.e.type valid hdr.e.$valid, x = meta.s }, text "crc", object r, member Kind 1) -> (meta.s, hdr.e.type[3:0])
  return
b3 (other):
  reject
}
control C role ig {
b0:
  apply t b1 exit b1
b1:
  emit hdr.e
  emit_value (hdr.e.type << meta.kind)
  return
}
"#;

#[test]
fn text_and_program_are_each_others_image() {
    let program = parse(ALL).unwrap();
    assert_eq!(print(&program), ALL);
}

#[test]
fn places_in_the_source_survive_when_asked_for() {
    let mut program = parse(ALL).unwrap();
    program.sections[0].body.blocks[0].statements[0].span = Span { start: 3, end: 70 };
    assert_eq!(parse(&print_with_spans(&program)).unwrap(), program);
    assert!(print_with_spans(&program).contains("extract hdr.e !3..70\n"));
    assert!(!print(&program).contains(" !3"));
}

#[test]
fn a_fault_tells_its_place() {
    let fault = |text: &str| parse(text).unwrap_err().to_string();
    assert_eq!(
        fault("program A\nslot x: q7\n"),
        "2:9: expected a type: bool, b16, i16 or v16, found \"q7\""
    );
    assert_eq!(
        fault(""),
        "1:1: expected program, found the end of the text"
    );
    assert_eq!(
        fault("program A\nheader h: t valid y { }"),
        "2:19: there is no slot with this name"
    );
    assert_eq!(
        fault("program A\nslot x: b8\nslot x: b8\nheader h: t valid x { }"),
        "4:19: several have this name; use # and an index: slot"
    );
    assert_eq!(
        fault("program A control C role c {\nb0: jump b1 }"),
        "2:10: there is no block with this label"
    );
    assert_eq!(
        fault("program A ü"),
        "1:11: this is no part of the language"
    );
    assert_eq!(
        fault("program A slot x: b4 control C role c { a: x = 4w0x10 return }"),
        "1:48: needs more than 4 bits"
    );
    assert_eq!(fault("program \"A"), "1:9: the closing quote is missing");
}

#[test]
fn deep_nesting_is_a_fault_not_an_overflow() {
    for open in ["(", "~", "if(", "cast(b8, "] {
        let text = format!(
            "program A slot x: b8 control C role c {{ a: x = {}",
            open.repeat(100_000)
        );
        assert!(parse(&text).unwrap_err().message.contains("deep"));
    }
    let slices = "[0:0]".repeat(100_000);
    let text = format!("program A slot x: b8 control C role c {{ a: x = x{slices} return }}");
    assert!(parse(&text).unwrap_err().message.contains("deep"));
    let lists = format!(
        "program A object o: k types () (a = {}",
        "{".repeat(100_000)
    );
    assert!(parse(&lists).unwrap_err().message.contains("deep"));
}

#[test]
fn a_text_cut_anywhere_is_a_fault_or_a_program_that_survives() {
    let text = ALL;
    for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
        if let Ok(program) = parse(&text[..cut]) {
            assert_eq!(parse(&print(&program)).unwrap(), program);
        }
    }
}

#[test]
fn a_text_with_any_token_gone_or_twice_does_no_harm() {
    let text = ALL;
    let words: Vec<&str> = text.split_inclusive([' ', '\n', '(', ')']).collect();
    for index in 0..words.len() {
        let mut fewer = words.clone();
        fewer.remove(index);
        let mut more = words.clone();
        more.insert(index, words[(index * 7) % words.len()]);
        for changed in [fewer.concat(), more.concat()] {
            if let Ok(program) = parse(&changed) {
                assert_eq!(parse(&print_with_spans(&program)).unwrap(), program);
            }
        }
    }
}

#[test]
fn every_operator_survives() {
    let slot = |index| Box::new(Expr::Slot(SlotId(index)));
    let mut program = parse("program A slot x: b8 control C role c { a: return }").unwrap();
    for (operator, _) in print::OPERATORS {
        program.sections[0].body.blocks[0]
            .statements
            .push(Statement {
                kind: StatementKind::Assign {
                    target: Place::Slot(SlotId(0)),
                    value: Expr::Binary(
                        operator,
                        slot(0),
                        Box::new(Expr::Unary(
                            Unary::Negate,
                            Box::new(Expr::Unary(Unary::Not, slot(0))),
                        )),
                    ),
                },
                span: Span::default(),
            });
    }
    let wide = Expr::Constant(Bits::new(300, 1u8), Ty::Signed(300));
    program.sections[0].body.blocks[0]
        .statements
        .push(Statement {
            kind: StatementKind::EmitValue { value: wide },
            span: Span::default(),
        });
    program.sections[0].body.blocks[0].name = Some("x y".into());
    assert_eq!(parse(&print(&program)).unwrap(), program);
}
