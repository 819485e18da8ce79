//! Help that fits a screen: `-h` and `--help` are the same, an option a line, with the whole
//! description above and the examples below. Where there are many options, those that are seldom wanted are shown by `--help-all`;
//! the manual pages have all, too.

use clap::{Arg, ArgAction, Command};
use std::ffi::OsString;

/// Columns of help text.
const WIDTH: usize = 90;

/// The subcommands in groups, as `wire --help` shows them.
const GROUPS: [(&str, &[&str]); 7] = [
    (
        "Packets",
        &[
            "cat", "send", "gen", "craft", "dump", "undump", "cut", "match", "tap", "mount",
        ],
    ),
    (
        "Measuring",
        &[
            "ping",
            "trace",
            "probe",
            "middlebox",
            "sync",
            "clock",
            "flows",
            "profile",
            "plot",
        ],
    ),
    (
        "Nodes and labs",
        &["run", "delay", "lab", "nodes", "ports", "paxos"],
    ),
    ("P4 and OpenFlow", &["p4", "of"]),
    ("The kernel's path", &["relay"]),
    ("The line", &["phy", "covert"]),
    ("Papers and shells", &["papers", "completions"]),
];

/// Options that `--help` leaves to `--help-all` where a command has more than [`MAX_HELP_OPTIONS`].
const SELDOM: &[&str] = &[
    "line_buffered",
    "strict",
    "lenient",
    "tick",
    "since",
    "until",
    "skip",
    "epoch",
    "seed",
    "hash",
    "no_time",
    "ahead",
    "ip_src",
    "ip_dst",
    "sport",
    "dport",
    "payload",
    "stream",
    "threads",
    "private_key",
    "certificate",
    "ca_cert",
    "queue",
    "queue_length",
    "priority",
    "metadata",
    "io",
    "wake",
    "line",
    "idles",
    "pattern",
    "waves",
    "allow_paths",
    "progress",
    "percentiles",
    "warmup",
    "first_datapath",
    "src",
    "dst",
    "flows",
    "vlan",
    "imix",
    "realtime",
    "real_time",
    "netmask",
    "allow_commands",
    "fix_lengths",
    "dry",
    "master_on",
    "udp",
    "within",
    "start_rate",
    "packet_size",
    "samples",
    "latency",
    "trial",
    "low",
    "high",
    "losses",
    "count_reordered",
    "one_way",
    "full_packets",
    "max_duration",
    "max_rate",
    "public",
    "any_client",
    "user",
    "algorithm",
];
/// Maximum number of options that `--help` lists completely; this many fit on a screen.
const MAX_HELP_OPTIONS: usize = 13;

/// The definition that a command line needs, with compact help: of one subcommand if it names one. To define all takes longer than
/// a short command runs.
pub fn command(arguments: &[OsString]) -> Command {
    let options = arguments.iter().take_while(|word| *word != "--");
    let all = options.into_iter().any(|word| word == "--help-all");
    let first = arguments.get(1).and_then(|word| word.to_str());
    match first.and_then(crate::Command::definition) {
        Some(subcommand) => crate::root().subcommand(every(subcommand, all)),
        None if matches!(first, Some("--version" | "-V")) => crate::root(),
        None => whole(all),
    }
}

/// The command line's definition, with compact help; with all options in it if that is asked for.
fn whole(all: bool) -> Command {
    let command = crate::definition();
    let groups = groups(&command);
    let command = every(command, all);
    command.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{groups}\nOptions:\n{{options}}\n\n\
         `wire help COMMAND` tells more of one, man wire-COMMAND all of it. The manual is the book in docs/book,\n\
         which begins with a tutorial; `wire nodes` lists the kinds of nodes.\n"
    ))
}

/// What each subcommand does, a line each.
fn groups(command: &Command) -> String {
    let mut text = String::new();
    for (title, names) in GROUPS {
        text.push_str(&format!("{title}:\n"));
        for name in names {
            let found = command.find_subcommand(name);
            let about = found.and_then(Command::get_about).map(ToString::to_string);
            text.push_str(&format!("  {name:<12} {}\n", about.unwrap_or_default()));
        }
    }
    let programs = crate::external::installed();
    if !programs.is_empty() {
        text.push_str("Installed programs:\n");
    }
    for (name, place) in programs {
        text.push_str(&format!("  {name:<12} {}\n", place.display()));
    }
    text
}

/// A command and those below it.
fn every(command: Command, all: bool) -> Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|command| command.get_name().to_string())
        .collect();
    names
        .into_iter()
        .fold(compact(command, all), |command, name| {
            command.mut_subcommand(name, |command| every(command, all))
        })
}

fn compact(command: Command, all: bool) -> Command {
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let template = format!(
        "{}\n\n{{usage-heading}} {{usage}}\n\n{{all-args}}{{after-help}}\n",
        wrap(&about)
    );
    let shown = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set())
        .count();
    let command = match !all && shown > MAX_HELP_OPTIONS {
        true => command.mut_args(|arg| match SELDOM.contains(&arg.get_id().as_str()) {
            true => arg.hide_short_help(true),
            false => arg,
        }),
        false => command,
    };
    let hides = command.get_arguments().any(Arg::is_hide_short_help_set);
    let more = Arg::new("help-all")
        .long("help-all")
        .action(ArgAction::HelpShort)
        .hide(!hides)
        .help("Print help with all options, also those that are seldom wanted");
    command
        .help_template(template)
        .term_width(WIDTH)
        .disable_help_flag(true)
        .arg(
            Arg::new("help")
                .short('h')
                .long("help")
                .action(ArgAction::HelpShort)
                .help("Print help"),
        )
        // Behind the other, which messages advise.
        .arg(more)
}

/// Breaks paragraphs into lines of at most [`WIDTH`] characters.
fn wrap(text: &str) -> String {
    let mut wrapped = String::new();
    let mut column = 0;
    for (index, paragraph) in text.split("\n\n").enumerate() {
        if index > 0 {
            wrapped.push_str("\n\n");
            column = 0;
        }
        for word in paragraph.split_whitespace() {
            let length = word.chars().count();
            if column > 0 && column + 1 + length > WIDTH {
                wrapped.push('\n');
                column = 0;
            } else if column > 0 {
                wrapped.push(' ');
                column += 1;
            }
            wrapped.push_str(word);
            column += length;
        }
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_sound() {
        whole(false).debug_assert();
    }

    #[test]
    fn a_subcommand_is_defined_alone_as_among_all() {
        let alone = |line: &[&str]| command(&line.iter().map(OsString::from).collect::<Vec<_>>());
        for mut among in whole(false).get_subcommands().cloned() {
            let name = among.get_name().to_owned();
            let mut alone = alone(&["wire", &name]);
            let alone = alone.find_subcommand_mut(&name).expect(&name);
            let help = alone.render_help().to_string();
            assert_eq!(help, among.render_help().to_string());
        }
        let all = crate::definition().get_subcommands().count();
        for line in [&["wire"][..], &["wire", "--help"], &["wire", "nothing"]] {
            assert_eq!(alone(line).get_subcommands().count(), all, "{line:?}");
        }
    }

    #[test]
    fn help_of_every_command_fits_a_screen_and_has_an_example() {
        let mut command = whole(false);
        command.build();
        let parts = |command: &mut Command| -> Vec<Command> {
            command.get_subcommands().cloned().collect()
        };
        let mut commands = parts(&mut command);
        commands.extend(command.get_subcommands_mut().flat_map(parts));
        for mut command in commands {
            let name = command.get_name().to_string();
            let help = command.render_help().to_string();
            let lines = help.lines().count();
            // What ovs-ofctl can be asked is as much as that.
            let most = if name == "ctl" { 62 } else { 46 };
            assert!(lines <= most, "help of {name} has {lines} lines");
            assert!(help.contains("Example"), "help of {name} has no example");
            assert!(help.lines().all(|line| line.len() <= WIDTH + 4), "{help}");
        }
    }

    #[test]
    fn every_subcommand_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|group| group.1.iter().copied())
            .collect();
        let command = crate::definition();
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
        let mut all: Vec<&str> = shown.map(Command::get_name).collect();
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    /// Short flags that mean something else than everywhere, as the field demands: command, flag, and its long name.
    const OTHERS: &[(&str, char, &str)] = &[
        // tcpdump's.
        ("cat", 's', "snap-length"),
        ("dump", 's', "snap-length"),
        // grep's.
        ("match", 'c', "count (a flag)"),
        ("match", 'v', "invert"),
        // As it always was; --filter of it has no short flag.
        ("match", 'f', "file"),
    ];

    fn shorts(command: &Command, found: &mut Vec<(String, char, String)>) {
        for arg in command.get_arguments() {
            if let (Some(short), Some(long)) = (
                arg.get_short(),
                arg.get_long().or(Some(arg.get_id().as_str())),
            ) {
                let flag = !arg.get_action().takes_values() && long == "count";
                let long = format!("{long}{}", if flag { " (a flag)" } else { "" });
                found.push((command.get_name().into(), short, long));
            }
        }
        command.get_subcommands().for_each(|one| shorts(one, found));
    }

    #[test]
    fn a_short_flag_has_one_meaning_in_all_commands() {
        let mut found = Vec::new();
        shorts(&crate::definition(), &mut found);
        assert!(found.len() > 30, "{found:?}");
        let mut meanings = std::collections::BTreeMap::new();
        let other = |(command, short, long): &&(String, char, String)| {
            OTHERS.contains(&(command.as_str(), *short, long.as_str()))
        };
        assert_eq!(found.iter().filter(other).count(), OTHERS.len());
        for (command, short, long) in found.iter().filter(|flag| !other(flag)) {
            let (first, meaning) = meanings.entry(short).or_insert((command, long));
            assert_eq!(meaning, &long, "-{short} of {command} and of {first}");
        }
    }

    #[test]
    fn all_options_are_shown_where_all_are_asked_for() {
        let help = |all| {
            let mut command = whole(all);
            command.build();
            let generate = command.find_subcommand_mut("gen").unwrap();
            generate.render_help().to_string()
        };
        assert!(help(true).contains("--line-buffered") && !help(true).contains("--help-all"));
        assert!(!help(false).contains("--line-buffered") && help(false).contains("--help-all"));
    }

    #[test]
    fn words_are_kept_when_text_is_wrapped() {
        let text = "word ".repeat(60) + "\n\nend";
        let wrapped = wrap(&text);
        assert!(wrapped.lines().all(|line| line.len() <= WIDTH));
        assert_eq!(wrapped.split_whitespace().count(), 61);
        assert!(wrapped.ends_with("word\n\nend"));
    }
}
