//! Keys and certificates of nodes whose control channels are `ssl:` or `pssl:` ports of the machine: `private_key`, `certificate` and
//! `ca_cert`, files by their names from the lab file's folder.

use crate::fault::Fault;
use crate::output_paths;
use crate::plan::{Lab, NodePlan};
use crate::tree::Value;
use live::port::PortSpec;
use live::port::channel::Tls;
use std::path::{Path, PathBuf};

const KEYS: [&str; 3] = ["private_key", "certificate", "ca_cert"];

/// A node's keys without those that are for its channels.
///
/// # Errors
/// When one is no text.
pub(crate) fn without(config: &Value) -> Result<Value, Fault> {
    let mut rest = config.clone();
    for key in KEYS {
        if let Some(entry) = rest.take(key) {
            entry.value.read::<String>()?;
        }
    }
    Ok(rest)
}

/// A file that a node names, and where.
struct Named<'a> {
    value: &'a Value,
    file: PathBuf,
}

fn named<'a>(node: &'a NodePlan, key: &str) -> Option<Named<'a>> {
    let value = node.kind.speaks_tls.then(|| node.config.get(key))??;
    let file = PathBuf::from(value.read::<String>().ok()?);
    Some(Named { value, file })
}

/// The files of all nodes, but `none` in place of an authority, by their names from the lab file's folder.
pub(crate) fn files(lab: &Lab) -> Vec<PathBuf> {
    let each = lab
        .nodes
        .iter()
        .flat_map(|node| KEYS.map(|key| named(node, key)));
    let files = each.flatten().map(|named| named.file);
    files.filter(|file| file.as_os_str() != "none").collect()
}

/// The files for a channel of a node.
///
/// # Errors
/// When there are none, or not all.
pub(super) fn of(node: &NodePlan, folder: &Path) -> Result<Tls, Fault> {
    let [private_key, certificate, ca_cert] = KEYS.map(|key| named(node, key));
    let missing = match (&private_key, &certificate, &ca_cert) {
        (Some(_), Some(_), Some(_)) => None,
        (None, None, None) if node.kind.speaks_tls => Some("private_key"),
        (None, None, None) => {
            let message = format!(
                "`{}` is of kind `{}`, which does not support TLS: `ssl:` and `pssl:` ports are for switches and controllers of OpenFlow",
                node.name, node.kind.name
            );
            return Err(Fault::new(node.span.clone(), message));
        }
        (None, ..) => Some("private_key"),
        (_, None, _) => Some("certificate"),
        _ => Some("ca_cert"),
    };
    if let Some(missing) = missing {
        let there = [&private_key, &certificate, &ca_cert]
            .into_iter()
            .flatten()
            .next();
        let span = there.map_or(node.span.clone(), |named| named.value.span.clone());
        let message = format!("`{}` uses TLS, but has no `{missing}`", node.name);
        return Err(Fault::new(span, message).help(
            "name its files: `private_key`, `certificate`, and `ca_cert`, the authority that both sides trust, or \"none\"",
        ));
    }
    let path = |named: Option<Named<'_>>| {
        named.map(|named| match named.file.as_os_str() == "none" {
            true => named.file,
            false => folder.join(named.file),
        })
    };
    Ok(Tls {
        private_key: path(private_key),
        certificate: path(certificate),
        ca_cert: path(ca_cert),
    })
}

/// Refuses files of keys that no channel has a use for.
///
/// # Errors
/// The first.
pub(super) fn check(lab: &Lab) -> Result<(), Fault> {
    for (member, node) in lab.nodes.iter().enumerate() {
        let Some(named) = KEYS.iter().find_map(|key| named(node, key)) else {
            continue;
        };
        let speaks = lab.links.iter().any(|plan| {
            let ends = plan.link.ends.map(|end| end.node.0);
            let far = ends
                .iter()
                .position(|end| *end == member)
                .map(|own| ends[1 - own]);
            far.is_some_and(|far| is_tls(&lab.nodes[far]))
        });
        if !speaks {
            let message = format!(
                "`{}` has files for TLS, but none of its channels uses TLS",
                node.name
            );
            return Err(Fault::new(named.value.span.clone(), message).help(
                "a link leads to one: `ends = [\"s1.4\", \"port:ssl:127.0.0.1:6653\"]`; or take the keys out",
            ));
        }
    }
    Ok(())
}

/// Whether a node stands for a port that speaks TLS.
fn is_tls(node: &NodePlan) -> bool {
    let text = node
        .config
        .get("port")
        .and_then(|port| port.read::<String>().ok());
    let text = text
        .filter(|_| node.kind.real == Some(crate::kind::Real::Port))
        .unwrap_or_default();
    text.starts_with("ssl:") || text.starts_with("pssl:")
}

/// Whether a port speaks TLS.
pub(super) fn wanted(port: &PortSpec) -> bool {
    matches!(port, PortSpec::Channel(channel) if channel.tls)
}

/// Refuses files that lead out of the lab file's folder: somebody else's lab would sign in one's name, wherever it connects.
///
/// # Errors
/// The first.
pub(crate) fn stay(lab: &Lab, folder: &Path) -> Result<(), crate::LabError> {
    let leads_out = |file: &PathBuf| !output_paths::is_inside(folder, &folder.join(file));
    match files(lab).into_iter().find(leads_out) {
        None => Ok(()),
        Some(file) => Err(crate::LabError::KeyOutside {
            file,
            folder: folder.into(),
        }),
    }
}
