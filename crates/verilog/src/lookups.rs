//! Tables: as the control side sees them, and their modules in the pipeline.

use crate::build::Build;
use crate::map::{BANK, CHOICE, ResultForm, SESSION, Source, TableKind, TableMap, bits_for};
use crate::schedule::Stage;
use crate::text::{bus, literal};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use pipeline::environment::Object;

/// So many multicast groups there may be.
const GROUPS: u32 = 64;

impl Build<'_> {
    /// A table as the control side sees it.
    pub(crate) fn table(&self, source: Source) -> TableMap {
        match source {
            Source::Table(table) => {
                let form = &self.environment.tables.forms()[table.index()];
                let actions = form.actions.iter().map(|action| {
                    let parameters = action
                        .parameters
                        .iter()
                        .map(|(name, ty)| (name.clone(), ty.width()));
                    (action.name.clone(), parameters.collect())
                });
                TableMap {
                    source,
                    name: form.name.clone(),
                    kind: crate::tables::kind(form, table.0, self.walk.options.cam),
                    keys: form
                        .keys
                        .iter()
                        .map(|key| (key.name.clone(), key.ty.width()))
                        .collect(),
                    result: crate::tables::form_of(self.environment, table),
                    actions: actions.collect(),
                }
            }
            Source::ValueSet(set) => {
                let form = &self.environment.program.value_sets[set.index()];
                TableMap {
                    source,
                    name: form.name.clone(),
                    kind: crate::tables::ternary(form.size),
                    keys: form
                        .fields
                        .iter()
                        .map(|(name, ty, _)| (name.clone(), ty.width()))
                        .collect(),
                    result: crate::tables::MEMBER,
                    actions: Vec::new(),
                }
            }
            Source::Groups => TableMap {
                source,
                name: "multicast groups".into(),
                kind: crate::tables::exact(16, GROUPS, u32::MAX),
                keys: alloc::vec![("group".into(), 16)],
                result: ResultForm {
                    entry: 8,
                    action: 1,
                    arguments: 8,
                },
                actions: Vec::new(),
            },
            Source::Choices(table) => {
                let of = self.table(Source::Table(table));
                let profile = self
                    .environment
                    .selector(table)
                    .map(|selector| &self.environment.objects[selector.profile.index()]);
                let size = match profile {
                    Some(Object::Profile(profile)) => profile.size,
                    _ => 0,
                };
                TableMap {
                    source,
                    name: format!("{} choices", of.name).into(),
                    kind: crate::tables::exact(
                        CHOICE,
                        size.clamp(1, 1 << CHOICE),
                        u32::MAX / 2 - table.0,
                    ),
                    keys: alloc::vec![("choice".into(), CHOICE)],
                    ..of
                }
            }
            Source::Sessions => TableMap {
                source,
                name: "clone sessions".into(),
                kind: crate::tables::exact(16, GROUPS, u32::MAX - 1),
                keys: alloc::vec![("session".into(), 16)],
                result: SESSION,
                actions: Vec::new(),
            },
        }
    }

    /// The tables' instances.
    pub(crate) fn tables(&mut self) -> String {
        let mut text = String::new();
        for number in 0..self.walk.lookups.len() {
            let lookup = &self.walk.lookups[number];
            if !self.writer.is_used(lookup.result) {
                continue;
            }
            let source = lookup.table();
            let tables = &mut self.map.tables.iter();
            let Some(object) = tables.position(|table| Some(table.source) == source) else {
                continue;
            };
            let table = self.map.tables[object].clone();
            let stage = self.writer.stage(lookup.result);
            let result = self.writer.at(lookup.result, stage);
            let asked = Stage(stage.0.saturating_sub(lookup.latency));
            let keys: Vec<String> = lookup
                .keys
                .iter()
                .map(|key| self.writer.at(*key, asked))
                .collect();
            let data = table.result.data();
            let (entry, instance) = (
                table.entry(),
                self.writer.reserve(&format!("table_{}", table.name)),
            );
            let _ = writeln!(
                text,
                "\n    // ---- table {}: asked in cycle {}, answers in cycle {} ----",
                table.name, asked.0, stage.0
            );
            let ports = format!(
                ".clk(clk), .rst(rst), .key({{{}}}), .hit({result}[{data}]), .data({result}[{}:0]),\n        .write(commit && ctl_object == 8'd{object}), .write_row(ctl_row), .write_entry(entry[{}:0])",
                keys.join(", "),
                data - 1,
                entry - 1
            );
            match &table.kind {
                TableKind::Default => {
                    let default = self.writer.reserve(&format!("{}_default", table.name));
                    let _ = write!(
                        text,
                        "    reg {}{default};\n    always @(posedge clk)\n        if (rst) {default} <= {data}'d0;\n        else if (commit && ctl_object == 8'd{object} && ctl_row == 24'hFFFFFF) {default} <= entry[{}:0];\n    assign {result} = {{1'b0, {default}}};\n",
                        bus(data),
                        data - 1
                    );
                }
                TableKind::Exact {
                    index,
                    hashes,
                    spare,
                } => {
                    let key = table.key();
                    let mut masks: Vec<String> = Vec::new();
                    for mask in hashes.iter().flatten().rev() {
                        let mask = p4::value::Bits::from_limbs(key, mask);
                        masks.push(literal(key, &mask.unsigned().to_str_radix(16)));
                    }
                    let _ = writeln!(
                        text,
                        "    p4_exact_table #(.KEY_W({key}), .DATA_W({data}), .INDEX_W({index}), .SPARE({spare}), .HASHES({{\n        {}}})) {instance} (\n        {ports}\n    );",
                        masks.join(",\n        ")
                    );
                }
                TableKind::Cam { rows } => {
                    let _ = writeln!(
                        text,
                        "    p4_cam_table #(.KEY_W({}), .DATA_W({data}), .ROWS({rows}), .ROW_W({})) {instance} (\n        {ports}\n    );",
                        table.key(),
                        bits_for(rows - 1)
                    );
                }
                TableKind::Prefix { levels } => {
                    let _ = writeln!(
                        text,
                        "    p4_prefix_table #(.KEY_W({}), .DATA_W({data}), .LEVELS({levels})) {instance} (\n        {ports}\n    );",
                        table.key(),
                    );
                }
                TableKind::Ternary { rows } => {
                    let _ = writeln!(
                        text,
                        "    p4_ternary_table #(.KEY_W({}), .DATA_W({data}), .ROWS({rows}), .ROW_W({}), .BANK_W({BANK})) {instance} (\n        {ports}\n    );",
                        table.key(),
                        bits_for(rows - 1)
                    );
                }
            }
        }
        text
    }
}
