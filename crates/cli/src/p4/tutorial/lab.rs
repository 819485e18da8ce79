//! The lab file of an exercise.

use super::network::{Network, Station};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// How every such file begins, so that no other one is replaced.
pub const HEAD: &str = "# Made by `wire p4 tutorial`";

/// What the file says.
pub struct Lab<'a> {
    pub name: String,
    /// Where the network came from.
    pub topology: &'a Path,
    pub switches: Vec<Switch>,
    pub network: &'a Network,
}

pub struct Switch {
    pub name: String,
    /// From the exercise's folder.
    pub program: PathBuf,
    pub ports: u16,
    pub cpu_port: Option<u32>,
    pub p4runtime: u16,
    pub device_id: usize,
    /// Where its entries came from.
    pub runtime: Option<PathBuf>,
    /// Words of the control plane.
    pub control: Vec<String>,
}

impl Lab<'_> {
    /// The file's text; `prefix` leads from its folder to the exercise's.
    pub fn text(&self, prefix: &Path) -> String {
        let mut text = String::new();
        // Writing into a text cannot fail.
        let _ = self.put(&mut text, prefix);
        text
    }

    fn put(&self, text: &mut String, prefix: &Path) -> std::fmt::Result {
        let topology = self.topology.display().to_string();
        writeln!(
            text,
            "{HEAD} from {}; made anew, it loses what is changed here.",
            one_line(&topology)
        )?;
        writeln!(
            text,
            "[lab]\nname = {}\nworlds = \"live\"",
            quoted(&self.name)
        )?;
        writeln!(text, "\n[default.link]\nrate = \"unlimited\"")?;
        for switch in &self.switches {
            self.put_switch(text, switch, prefix)?;
        }
        for (name, station) in &self.network.hosts {
            put_host(text, name, station)?;
        }
        for link in &self.network.links {
            let [first, second] = link.ends.each_ref().map(|end| quoted(end));
            writeln!(text, "\n[[link]]\nends = [{first}, {second}]")?;
            if let Some(rate) = &link.rate {
                writeln!(text, "rate = {}", quoted(rate))?;
            }
            if let Some(delay) = &link.delay {
                writeln!(text, "delay = {}", quoted(delay))?;
            }
        }
        Ok(())
    }

    fn put_switch(&self, text: &mut String, switch: &Switch, prefix: &Path) -> std::fmt::Result {
        let program = prefix.join(&switch.program).display().to_string();
        writeln!(text, "\n[node.{}]\nkind = \"p4\"", key(&switch.name))?;
        writeln!(text, "program = {}", quoted(&program))?;
        writeln!(text, "ports = {}", switch.ports)?;
        writeln!(text, "p4runtime = \"127.0.0.1:{}\"", switch.p4runtime)?;
        writeln!(text, "device_id = {}", switch.device_id)?;
        if let Some(port) = switch.cpu_port {
            writeln!(text, "cpu_port = {port}")?;
        }
        if let Some(file) = &switch.runtime {
            let file = file.display().to_string();
            writeln!(text, "control = [  # {}", one_line(&file))?;
            for words in &switch.control {
                writeln!(text, "    {},", quoted(words))?;
            }
            writeln!(text, "]")?;
        }
        Ok(())
    }
}

fn put_host(text: &mut String, name: &str, station: &Station) -> std::fmt::Result {
    writeln!(text, "\n[node.{}]\nkind = \"process\"", key(name))?;
    writeln!(text, "address = {}", quoted(&station.address))?;
    writeln!(text, "mac = {}", quoted(&station.mac))?;
    if let Some(gateway) = station.gateway {
        writeln!(text, "gateway = \"{gateway}\"")?;
    }
    if !station.routes.is_empty() {
        let routes: Vec<String> = station.routes.iter().map(|route| quoted(route)).collect();
        writeln!(text, "routes = [{}]", routes.join(", "))?;
    }
    if !station.commands.is_empty() {
        writeln!(text, "run = [")?;
        for command in &station.commands {
            writeln!(
                text,
                "    {{ command = {}, ahead = true }},",
                quoted(command)
            )?;
        }
        writeln!(text, "]")?;
    }
    Ok(())
}

/// As TOML writes a key.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !name.is_empty() && name.chars().all(bare) {
        true => name.into(),
        false => quoted(name),
    }
}

/// As TOML writes a text.
fn quoted(text: &str) -> String {
    let mut all = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => all.extend(['\\', c]),
            c if c.is_control() => all += &format!("\\u{:04X}", u32::from(c)),
            c => all.push(c),
        }
    }
    all + "\""
}

/// For a comment.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}
