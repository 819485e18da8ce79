//! Help that fits a screen: `-h` and `--help` are the same, an option a line, with the whole
//! description above and the examples below. The manual pages have the rest.

use crate::Wire;
use clap::{Arg, ArgAction, Command, CommandFactory};

/// Columns of help text.
const WIDTH: usize = 90;

/// The command line's definition, with compact help.
pub fn command() -> Command {
    every(Wire::command())
}

/// A command and those below it.
fn every(command: Command) -> Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|command| command.get_name().to_string())
        .collect();
    names.into_iter().fold(compact(command), |command, name| {
        command.mut_subcommand(name, every)
    })
}

fn compact(command: Command) -> Command {
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let template = format!(
        "{}\n\n{{usage-heading}} {{usage}}\n\n{{all-args}}{{after-help}}\n",
        wrap(&about)
    );
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
        command().debug_assert();
    }

    #[test]
    fn help_of_every_command_fits_a_screen_and_has_an_example() {
        let mut command = command();
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
            assert!(lines <= 60, "help of {name} has {lines} lines");
            assert!(help.contains("Example"), "help of {name} has no example");
            assert!(help.lines().all(|line| line.len() <= WIDTH + 4), "{help}");
        }
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
