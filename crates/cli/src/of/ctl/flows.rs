//! Files of flows, what they differ in from a switch, and changes as a bundle.

use super::connection::Connection;
use anyhow::{Context, bail};
use openflow::matching::Match;
use openflow::message::{
    Answer, BundleAdd, BundleControl, BundleControlKind, FlowCommand, Message, Query, bundle_flags,
};
use openflow::text::Flow;
use openflow::version::Version;
use std::io::Read;
use std::path::Path;

/// Maximum length of a file of flows, bytes.
const MAX_FLOWS_FILE_LEN: u64 = 1 << 30;

/// The flows of a file, one a line; empty lines and what is behind # are passed over.
///
/// # Errors
/// When it cannot be read, or a line is no flow.
pub fn read(file: &Path, version: Version) -> anyhow::Result<Vec<Flow>> {
    let mut text = String::new();
    let name = file.display();
    if file == Path::new("-") {
        std::io::stdin()
            .take(MAX_FLOWS_FILE_LEN)
            .read_to_string(&mut text)?;
    } else {
        let file = std::fs::File::open(file).with_context(|| name.to_string())?;
        file.take(MAX_FLOWS_FILE_LEN)
            .read_to_string(&mut text)
            .with_context(|| name.to_string())?;
    }
    let lines = text.lines().enumerate();
    let lines = lines.map(|(index, line)| (index, line.split('#').next().unwrap_or("").trim()));
    lines
        .filter(|(_, line)| !line.is_empty())
        .map(|(index, line)| {
            Flow::parse(version, line)
                .map_err(|error| anyhow::anyhow!("{name}:{}: {error}", index + 1))
        })
        .collect()
}

/// Sends the changes, and waits until they are done: with `bundle` all or nothing.
///
/// # Errors
/// When the switch refuses one.
pub fn apply(
    connection: &mut Connection,
    changes: &[(FlowCommand, Flow)],
    bundle: bool,
) -> anyhow::Result<()> {
    if bundle {
        return apply_bundle(connection, changes);
    }
    for (command, flow) in changes {
        connection.send(&Message::FlowMod(flow.message(*command)))?;
    }
    connection.barrier()
}

fn apply_bundle(
    connection: &mut Connection,
    changes: &[(FlowCommand, Flow)],
) -> anyhow::Result<()> {
    if connection.version == Version::V10 {
        bail!("OpenFlow 1.0 has no bundles: add -O OpenFlow13");
    }
    let flags = bundle_flags::ATOMIC | bundle_flags::ORDERED;
    let control = |kind| {
        Message::BundleControl(BundleControl {
            bundle: 1,
            kind,
            flags,
            properties: &[],
        })
    };
    connection.ask(&control(BundleControlKind::OpenRequest))?;
    for (command, flow) in changes {
        let mut inner = Vec::new();
        let xid = connection.next_xid();
        Message::FlowMod(flow.message(*command)).encode(connection.version, xid, &mut inner)?;
        connection.send(&Message::BundleAdd(BundleAdd {
            bundle: 1,
            flags,
            message: &inner,
        }))?;
    }
    // What is wrong with a message is told before the barrier's reply.
    connection.barrier()?;
    connection.ask(&control(BundleControlKind::CommitRequest))?;
    Ok(())
}

/// Whether two flows are of the same table, priority and match.
pub fn same_place(one: &Flow, other: &Flow) -> bool {
    place(one) == place(other)
}

fn place(flow: &Flow) -> (u8, u16, Vec<(u8, u128, u128)>) {
    let fields = flow
        .fields
        .iter()
        .map(|oxm| (oxm.field as u8, oxm.value, oxm.significant()));
    (
        flow.table.unwrap_or(0),
        flow.priority.unwrap_or(0x8000),
        fields.collect(),
    )
}

/// The flows that the switch alone has, and those that are wanted alone.
///
/// # Errors
/// When the switch does not answer.
pub fn difference(
    connection: &mut Connection,
    wanted: Vec<Flow>,
) -> anyhow::Result<(Vec<Flow>, Vec<Flow>)> {
    let mut present = Vec::new();
    connection.multipart(
        Query::Flow(Flow::parse(connection.version, "")?.query()),
        |answer, version| {
            if let Answer::Flow(list) = answer {
                for stats in list {
                    let mut instructions = Vec::new();
                    stats.instructions.write(version, &mut instructions)?;
                    let mut fields: Vec<_> = Match::iter(&stats.matching).collect();
                    fields.sort_by_key(|oxm| oxm.field);
                    present.push(Flow {
                        table: Some(stats.table),
                        priority: Some(stats.priority),
                        cookie: stats.cookie,
                        idle_timeout: stats.idle_timeout,
                        hard_timeout: stats.hard_timeout,
                        flags: stats.flags,
                        fields,
                        instructions,
                        ..Flow::parse(version, "")?
                    });
                }
            }
            Ok(())
        },
    )?;
    // Flags are no part of a dump of 1.0; the actions compare as they are shown, without lengths for ports.
    let ten = connection.version == Version::V10;
    let key = |flow: &Flow| {
        let mut shown = String::new();
        let instructions = openflow::list::List::from_checked(flow.version, &flow.instructions);
        openflow::text::show_instructions(instructions, flow.version, &mut shown);
        let flags = if ten { 0 } else { flow.flags };
        (
            place(flow),
            flow.cookie,
            flow.idle_timeout,
            flow.hard_timeout,
            flags,
            shown,
        )
    };
    let here: std::collections::BTreeSet<_> = present.iter().map(key).collect();
    let there: std::collections::BTreeSet<_> = wanted.iter().map(key).collect();
    let gone = present
        .into_iter()
        .filter(|flow| !there.contains(&key(flow)))
        .collect();
    let new = wanted
        .into_iter()
        .filter(|flow| !here.contains(&key(flow)))
        .collect();
    Ok((gone, new))
}
