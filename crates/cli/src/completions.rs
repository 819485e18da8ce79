//! `wire completions`: what a shell needs to complete `wire`'s arguments.

use crate::{Verdict, output};
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use lab::Registry;

/// Print completions for a shell
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  wire completions bash > ~/.local/share/bash-completion/completions/wire"
)]
pub struct Completions {
    /// The shell to print them for
    shell: Shell,
}

/// Where a kind of node is wanted.
const KINDS: [(&[&str], &str); 4] = [
    (&["run"], "node"),
    (&["nodes"], "kind"),
    (&["relay", "run"], "node"),
    (&["relay", "bench"], "node"),
];

/// The command line with the kinds that there are as values of an argument, for completion alone: a wrong one has a better message
/// from the registry.
fn with_kinds(
    command: clap::Command,
    path: &[&str],
    argument: &str,
    registry: &Registry,
) -> clap::Command {
    match path {
        [] => command.mut_arg(argument, |arg| {
            // The command line wants names that last; this command ends with them.
            let kinds = registry
                .descriptions()
                .map(|(name, _)| &*name.to_owned().leak());
            arg.value_parser(PossibleValuesParser::new(
                kinds.collect::<Vec<&'static str>>(),
            ))
        }),
        [first, rest @ ..] => command.mut_subcommand(*first, |command| {
            with_kinds(command, rest, argument, registry)
        }),
    }
}

/// The script for a shell.
fn script(shell: Shell, registry: &Registry) -> String {
    let mut command = crate::definition();
    for (path, argument) in KINDS {
        command = with_kinds(command, path, argument, registry);
    }
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "wire", &mut text);
    let mut ports = Vec::new();
    with_ports(&command, "wire", &mut ports);
    let mut text = with_interfaces(shell, &String::from_utf8_lossy(&text), &ports);
    if shell == Shell::Fish {
        // Its generator leaves out the values of arguments that are no options.
        let kinds: Vec<&str> = registry.descriptions().map(|(name, _)| name).collect();
        for (path, _) in KINDS {
            let mut condition = format!("__fish_wire_using_subcommand {}", path[0]);
            for below in &path[1..] {
                condition.push_str(&format!("; and __fish_seen_subcommand_from {below}"));
            }
            let kinds = kinds.join(" ");
            text.push_str(&format!(
                "complete -c wire -n \"{condition}\" -f -a \"{kinds}\"\n"
            ));
        }
    }
    text
}

/// What lists this machine's interfaces, as they are when the script runs.
const LIST: &str = "command ls /sys/class/net 2>/dev/null";

/// The commands below one whose arguments are ports, each with its path, and those arguments.
fn with_ports<'a>(command: &'a clap::Command, path: &str, found: &mut Vec<(String, &'a str)>) {
    for below in command.get_subcommands() {
        let path = format!("{path}__subcmd__{}", below.get_name().replace('-', "__"));
        for argument in below.get_positionals() {
            let names = argument.get_value_names().unwrap_or_default();
            if names.iter().any(|name| name.contains("PORT")) {
                found.push((path.clone(), argument.get_id().as_str()));
            }
        }
        with_ports(below, &path, found);
    }
}

/// The script with interfaces where ports are wanted: as arguments of commands, and of options such as `--on`.
fn with_interfaces(shell: Shell, script: &str, ports: &[(String, &str)]) -> String {
    let mut text = String::new();
    let (mut on, mut within) = (false, false);
    for line in script.lines() {
        let trimmed = line.trim();
        let line = match shell {
            Shell::Bash if trimmed == "--on)" || trimmed == "--calibrate)" => {
                on = true;
                line.to_owned()
            }
            Shell::Bash if on && trimmed.starts_with("COMPREPLY=") => {
                on = false;
                let indent = &line[..line.len() - line.trim_start().len()];
                format!("{indent}COMPREPLY=($(compgen -W \"$({LIST})\" -f -- \"${{cur}}\"))")
            }
            Shell::Bash if trimmed.starts_with("wire__subcmd__") => {
                let command = trimmed.trim_end_matches(')');
                within = ports.iter().any(|(path, _)| path == command);
                line.to_owned()
            }
            Shell::Bash if within && trimmed.starts_with("opts=") => {
                within = false;
                format!("{} $({LIST})\"", line.trim_end_matches('"'))
            }
            Shell::Fish if trimmed.contains(" -l on ") => format!("{line} -a \"({LIST})\""),
            Shell::Zsh => {
                let of_port = |(_, argument): &(String, &str)| {
                    let named = trimmed.split_once(" -- ").map_or("", |(named, _)| named);
                    named.trim_start_matches(['\'', '*', ':']) == *argument
                };
                let ports = ports.iter().any(of_port);
                let action = if ports {
                    ":{_net_interfaces; _files}"
                } else {
                    ":_default"
                };
                let line = line.replace(":_default", action);
                match line.contains("UDP") {
                    true => line,
                    false => line.replace(":PORT:_default", ":PORT:_net_interfaces"),
                }
            }
            _ => line.to_owned(),
        };
        text.push_str(&line);
        text.push('\n');
    }
    if shell == Shell::Fish {
        for (path, _) in ports {
            let mut words = path.split("__subcmd__").skip(1);
            let mut condition = format!(
                "__fish_wire_using_subcommand {}",
                words.next().unwrap_or("")
            );
            for below in words {
                condition.push_str(&format!("; and __fish_seen_subcommand_from {below}"));
            }
            text.push_str(&format!(
                "complete -c wire -n \"{condition}\" -a \"({LIST})\"\n"
            ));
        }
    }
    text
}

impl Completions {
    /// Prints them on standard output.
    pub fn run(self, registry: &Registry) -> anyhow::Result<Verdict> {
        let mut out = output::Output::open(&output::Buffering::default())?;
        out.write(script(self.shell, registry).as_bytes())?;
        out.finish()?;
        Ok(Verdict::Good)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_know_kinds_and_interfaces() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell, &Registry::standard());
            assert!(script.contains("early-discard"), "{shell}");
            let list = match shell {
                Shell::Zsh => "_net_interfaces",
                _ => "/sys/class/net",
            };
            assert!(script.contains(list), "{shell}");
            // As an argument of `wire cat`.
            let argument = match shell {
                Shell::Bash => "--help $(command ls /sys/class/net",
                Shell::Zsh => "{_net_interfaces; _files}",
                _ => "using_subcommand cat\" -a \"(command ls /sys/class/net",
            };
            assert!(script.contains(argument), "{shell}: {script}");
        }
    }
}
