//! What tables can do.

use super::Reported;
use openflow::list::List;
use openflow::message::{FeatureId, OxmId, TableFeatures, TableProperty};

/// A line for each table and each of its properties. What is as of the table before is said once.
pub fn features(tables: List<'_, TableFeatures<'_>>) -> Vec<Reported> {
    let mut before = Vec::new();
    tables
        .iter()
        .map(|table| {
            let properties: Vec<_> = table.properties.iter().map(|one| property(&one)).collect();
            let mut text = format!(
                "  table {} (\"{}\"): metadata match={:#x} write={:#x}, max_entries={}",
                table.table,
                table.name,
                table.metadata_match,
                table.metadata_write,
                table.max_entries,
            );
            let mut same = 0;
            for new in &properties {
                match before.contains(new) {
                    true => same += 1,
                    false => text += &format!("\n    {}: {}", new.0, new.1.join(" ")),
                }
            }
            if same > 0 {
                text += &format!("\n    {same} as of the table before");
            }
            let object = json_line!("of", "table-features", {
                "table": table.table, "name": table.name.to_string(),
                "metadata_match": format!("{:#x}", table.metadata_match),
                "metadata_write": format!("{:#x}", table.metadata_write),
                "max_entries": table.max_entries,
                "properties": properties.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            });
            before = properties;
            (text, object)
        })
        .collect()
}

const INSTRUCTIONS: [&str; 7] = [
    "",
    "goto_table",
    "write_metadata",
    "write_actions",
    "apply_actions",
    "clear_actions",
    "meter",
];

/// From number 11 on; 13 and 14 are none.
const ACTIONS: [&str; 17] = [
    "copy_ttl_out",
    "copy_ttl_in",
    "",
    "",
    "set_mpls_ttl",
    "dec_mpls_ttl",
    "push_vlan",
    "pop_vlan",
    "push_mpls",
    "pop_mpls",
    "set_queue",
    "group",
    "set_nw_ttl",
    "dec_nw_ttl",
    "set_field",
    "push_pbb",
    "pop_pbb",
];

fn named(ids: List<'_, FeatureId>, name: impl Fn(usize) -> Option<&'static str>) -> Vec<String> {
    let each = ids.iter().map(|id| match id {
        FeatureId::Kind(kind) => match name(kind.into()) {
            Some(name) if !name.is_empty() => name.into(),
            _ => kind.to_string(),
        },
        FeatureId::Experimenter(whose) => format!("experimenter:{whose:#x}"),
    });
    each.collect()
}

fn fields(ids: List<'_, OxmId>) -> Vec<String> {
    let each = ids.iter().map(|id| match (id.field(), id.is_masked()) {
        (Some(field), false) => field.name().into(),
        (Some(field), true) => format!("{}/mask", field.name()),
        (None, _) => format!("{:#x}", id.header),
    });
    each.collect()
}

/// Tables as ranges.
fn ranges(tables: &[u8]) -> Vec<String> {
    let runs = tables.chunk_by(|one, next| one.checked_add(1) == Some(*next));
    let each = runs.map(|run| match run {
        [one] => one.to_string(),
        _ => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    each.collect()
}

/// A property's name, and what is in it.
fn property(property: &TableProperty<'_>) -> (String, Vec<String>) {
    let action = |kind: usize| match kind {
        0 => Some("output"),
        _ => ACTIONS.get(kind.checked_sub(11)?).copied(),
    };
    let (name, values) = match *property {
        TableProperty::Instructions { ids, .. } => (
            "instructions",
            named(ids, |kind| INSTRUCTIONS.get(kind).copied()),
        ),
        TableProperty::NextTables { tables, .. } => ("next_tables", ranges(tables)),
        TableProperty::WriteActions { ids, .. } => ("write_actions", named(ids, action)),
        TableProperty::ApplyActions { ids, .. } => ("apply_actions", named(ids, action)),
        TableProperty::Match(ids) => ("match", fields(ids)),
        TableProperty::Wildcards(ids) => ("wildcards", fields(ids)),
        TableProperty::WriteSetField { ids, .. } => ("write_set_field", fields(ids)),
        TableProperty::ApplySetField { ids, .. } => ("apply_set_field", fields(ids)),
        TableProperty::Experimenter {
            experimenter, kind, ..
        } => (
            "experimenter",
            vec![format!("{experimenter:#x}"), kind.to_string()],
        ),
    };
    match property.is_of_miss() {
        true => (format!("{name}_miss"), values),
        false => (name.into(), values),
    }
}
