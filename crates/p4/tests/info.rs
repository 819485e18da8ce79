//! Names and numbers in P4Info. The numbers are those that p4c gives the names.

use p4::compile::{Compiled, Options, compile};
use p4::info::{Info, describe};
use p4::source::{IncludeError, Includes};
use std::sync::Arc;

struct Library;

impl Includes for Library {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = p4::library::file(name).ok_or("not there")?;
        Ok((name.to_owned(), text.to_owned()))
    }
}

/// The P4Info of a v1model program with these declarations, in which `I` is the ingress control.
fn info(declarations: &str, package: &str) -> Info {
    let text = format!(
        "#include <v1model.p4>
header E {{ bit<8> a; bit<48> b; }}
struct inner {{ @name(\"outside\") bit<8> x; }} struct M {{ inner i; @name(\".whole\") bit<8> w; }}
struct H {{ E e; E[2] s; }}
const bit<8> KEY = 0x48;
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {{ state start {{ p.extract(h.e); transition accept; }} }}
control V(inout H h, inout M m) {{ apply {{ }} }}
control G(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ }} }}
control D(packet_out p, in H h) {{ apply {{ p.emit(h.e); }} }}
{declarations}
{package}"
    );
    let compiled: Compiled = compile("t.p4", &text, &mut Library, &Options::default());
    let faults = compiled.diagnostics.sorted().into_iter();
    let faults: String = faults.map(|one| one.render(&compiled.sources)).collect();
    let (Some(checked), Some(program)) = (&compiled.checked, &compiled.program) else {
        panic!("{faults}");
    };
    describe(checked, program)
}

const PACKAGE: &str = "V1Switch(P(), V(), I(), G(), V(), D()) main;";
const HEAD: &str = "control I(inout H h, inout M m, inout standard_metadata_t s)";

fn names<'a>(list: impl IntoIterator<Item = &'a Arc<str>>) -> Vec<&'a str> {
    list.into_iter().map(|name| &**name).collect()
}

fn actions(info: &Info) -> Vec<&str> {
    names(info.actions.iter().map(|action| &action.preamble.name))
}

fn tables(info: &Info) -> Vec<&str> {
    names(info.tables.iter().map(|table| &table.preamble.name))
}

#[test]
fn an_object_made_in_a_property_is_named_by_the_property() {
    let table = |name: &str, property: &str| {
        format!(
            "table {name} {{ key = {{ h.e.a: exact; }} actions = {{ NoAction; }}
            {property} = action_profile(32w16); }}"
        )
    };
    let body = format!(
        "{HEAD} {{ {} {} {} apply {{ t.apply(); u.apply(); v.apply(); }} }}",
        table("t", "@name(\"ap\") @brief(\"one\") implementation"),
        table("u", "implementation"),
        table("v", "implementation"),
    );
    let info = info(&body, PACKAGE);
    let profiles = &info.action_profiles;
    let found = names(profiles.iter().map(|profile| &profile.preamble.name));
    assert_eq!(found, ["ap", "implementation", "I.v.implementation"]);
    assert_eq!(profiles[0].preamble.id, 294_074_782);
    let notes = &profiles[0].preamble.notes;
    assert_eq!(notes.documentation.as_ref().map(|d| &*d.brief), Some("one"));
    for (table, profile) in info.tables.iter().zip(profiles) {
        assert_eq!(table.implementation, Some(profile.preamble.id));
        assert_eq!(profile.tables, [table.preamble.id]);
    }
}

#[test]
fn the_blocks_of_the_package_have_the_names_of_their_types() {
    let body = "@name(\"other\") control Sub(inout H h) { table t { actions = { NoAction; } } apply { t.apply(); } }
        @name(\"else\") control I(inout H h, inout M m, inout standard_metadata_t s) {
            @name(\"inst\") Sub() sub;
            table t { actions = { NoAction; } }
            apply { t.apply(); sub.apply(h); Sub.apply(h); }
        }";
    let info = info(body, PACKAGE);
    assert_eq!(tables(&info), ["I.t", "I.inst.t", "I.Sub.t"]);
}

#[test]
fn actions_called_by_controls_are_listed_and_those_called_by_actions_are_not() {
    let body = format!(
        "action top(inout H h) {{ h.e.a = 1; }}
        control Sub(inout H h) {{ action in_sub() {{ h.e.a = 2; }} apply {{ in_sub(); }} }}
        {HEAD} {{
            Sub() sub;
            action below() {{ h.e.a = h.e.a + 3; }}
            action called() {{ below(); }}
            action never() {{ h.e.a = 4; }}
            apply {{
                called(); top(h); sub.apply(h); Sub.apply(h);
                if (KEY == 1) {{ never(); }}
            }}
        }}"
    );
    let info = info(&body, PACKAGE);
    let mut found = actions(&info);
    found.sort_unstable();
    assert_eq!(found, ["I.Sub.in_sub", "I.called", "I.sub.in_sub", "top"]);
    // As much of a name's end as is its own.
    let aliases = info.actions.iter().map(|action| &action.preamble.alias);
    let mut aliases = names(aliases);
    aliases.sort_unstable();
    assert_eq!(aliases, ["Sub.in_sub", "called", "sub.in_sub", "top"]);
}

#[test]
fn keys_are_named_as_p4c_names_them() {
    let body = format!(
        "{HEAD} {{
            table t {{
                key = {{ m.i.x: exact; m.w: exact; h.e.b & 0x10101: ternary; h.e.b[0xf:8]: exact;
                    h.s[1].isValid(): exact; KEY: exact; 8w0b11: exact; KEY + 1: exact; 8w9: exact; }}
                actions = {{ NoAction; }}
            }}
            apply {{ t.apply(); }}
        }}"
    );
    let info = info(&body, PACKAGE);
    let found = names(info.tables[0].match_fields.iter().map(|field| &field.name));
    assert_eq!(
        found,
        [
            "m.i.outside",
            "whole",
            "h.e.b & 0x10101",
            "h.e.b[0xf:8]",
            "h.s[1].$valid$",
            "0x48",
            "0b11",
            "0x49",
            "9",
        ]
    );
}

#[test]
fn tables_of_one_name_have_their_own_annotations_and_keys() {
    let body = format!(
        "control Sub(inout H h) {{
            @id(7) @brief(\"inner\") table t {{ key = {{ h.e.b: exact @id(5); }} actions = {{ NoAction; }} }}
            apply {{ t.apply(); }} }}
        {HEAD} {{
            Sub() sub;
            @brief(\"outer\") table t {{ key = {{ h.e.a: exact; }} actions = {{ NoAction; }} }}
            apply {{ t.apply(); sub.apply(h); }}
        }}"
    );
    let info = info(&body, PACKAGE);
    let found: Vec<_> = info
        .tables
        .iter()
        .map(|table| {
            let brief = table.preamble.notes.documentation.as_ref();
            let brief = brief.map_or("", |d| &*d.brief);
            let key = &table.match_fields[0];
            (&*table.preamble.name, brief, key.id, key.width)
        })
        .collect();
    assert_eq!(found, [("I.t", "outer", 1, 8), ("I.sub.t", "inner", 5, 48)]);
    assert_eq!(info.tables[1].preamble.id, 0x0200_0007);
}

#[test]
fn an_annotation_with_empty_parentheses_is_shown_without_them() {
    let body = format!(
        "{HEAD} {{
            @oneshot() @marked @sized(2) table t {{ key = {{ h.e.a: exact; }} actions = {{ NoAction; }} }}
            apply {{ t.apply(); }}
        }}"
    );
    let notes = &info(&body, PACKAGE).tables[0].preamble.notes;
    assert_eq!(notes.annotations, ["@oneshot", "@marked", "@sized(2)"]);
}

#[test]
fn fields_of_structs_in_a_controller_header_are_fields_of_the_header() {
    let body = format!(
        "struct part {{ @id(9) @name(\"unseen\") bit<12> x; bit<4> y; }}
        @controller_header(\"packet_in\") header In {{ bit<8> first; part p; @hidden bit<8> pad; }}
        @controller_header(\"packet_out\") header Out {{ @name(\"port\") bit<9> egress; bit<7> rest; }}
        {HEAD} {{ apply {{ }} }}"
    );
    let info = info(&body, PACKAGE);
    let fields = |name: &str| {
        let mut all = info.controller_headers.iter();
        let header = all
            .find(|header| &*header.preamble.name == name)
            .expect("declared");
        let fields = header.fields.iter();
        let fields: Vec<_> = fields
            .map(|f| (f.id, f.name.to_string(), f.width))
            .collect();
        (fields, header.layout.clone())
    };
    let expected = [(1, "first", 8), (9, "p.x", 12), (2, "p.y", 4)];
    let expected = expected.map(|(id, name, width)| (id, String::from(name), width));
    let layout = vec![(Some(1), 8), (Some(9), 12), (Some(2), 4), (None, 8)];
    assert_eq!(fields("packet_in"), (expected.to_vec(), layout));
    let expected = [(1, "port", 9), (2, "rest", 7)];
    let expected = expected.map(|(id, name, width)| (id, String::from(name), width));
    let layout = vec![(Some(1), 9), (Some(2), 7)];
    assert_eq!(fields("packet_out"), (expected.to_vec(), layout));
}

#[test]
fn a_type_made_of_a_translated_one_is_not_translated() {
    let body = format!(
        "@p4runtime_translation(\"one\", 12) type bit<8> outer_t;
        type outer_t again_t;
        {HEAD} {{
            action a(outer_t x, again_t y) {{ h.e.a = (bit<8>) x; }}
            table t {{ actions = {{ a; NoAction; }} }}
            apply {{ t.apply(); }}
        }}"
    );
    let info = info(&body, PACKAGE);
    let widths: Vec<u32> = info.actions[0].parameters.iter().map(|p| p.width).collect();
    assert_eq!(widths, [12, 8]);
}

#[test]
fn a_generic_struct_is_named_with_its_arguments() {
    let body = format!(
        "struct one<A> {{ A a; }} struct pair<A, B> {{ A a; B b; }}
        @name(\"named\") struct other<A> {{ A a; }}
        {HEAD} {{ apply {{
            digest<pair<bit<8>, one<int<4>>>>(1, {{ h.e.a, {{ 1 }} }});
            digest<other<bit<8>>>(1, {{ h.e.a }});
        }} }}"
    );
    let info = info(&body, PACKAGE);
    let mut digests = names(info.digests.iter().map(|digest| &digest.preamble.name));
    digests.sort_unstable();
    assert_eq!(digests, ["named", "pair_bit8_oneint4"]);
    let structs = names(info.types.structs.keys());
    assert_eq!(structs, ["named", "one_int4", "pair_bit8_oneint4"]);
}
