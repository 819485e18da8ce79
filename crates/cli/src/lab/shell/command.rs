//! The commands, and what they answer.

use ::report::text::{Table, number};
use lab::{Ping, Session};
use node::Time;
use std::fmt::Write;

/// What can be typed, and what it does.
const COMMANDS: [(&str, &str); 18] = [
    ("help", "this list"),
    ("nodes", "the nodes: kinds, ports, addresses"),
    (
        "links",
        "the links: whether they are up, and what they have carried; also net",
    ),
    ("flows", "the conversations of hosts so far"),
    (
        "drops",
        "the frames that did not get through, by place and reason",
    ),
    (
        "counters [NODE]",
        "what the nodes have counted, or one of them",
    ),
    (
        "tables NODE",
        "learned addresses, routes, NAT sessions, OpenFlow's flow tables, a P4 program's tables",
    ),
    (
        "show NODE TABLE",
        "one of them: ip route, neigh, nat, mpls; also NODE show TABLE",
    ),
    (
        "report",
        "all that was measured so far, as at the end of `wire lab`",
    ),
    (
        "ping A B",
        "an echo from a host or router to another, or to an address; also A ping B",
    ),
    (
        "traceroute A B",
        "the routers on the way; also A traceroute B",
    ),
    ("pingall", "an echo from each host to each other"),
    (
        "link A B down|up",
        "take the links between two nodes down, or bring them up",
    ),
    (
        "dtp NODE COMMAND",
        "ask or set DTP of a node: read_state 0, set_beacon_interval 0 1000; without COMMAND all of them",
    ),
    (
        "step [TIME|N events]",
        "go on for so long, or so many events; without either for one event",
    ),
    (
        "run [until TIME]",
        "go on to the end, or to a time since the beginning",
    ),
    ("time", "the time, and when something happens next"),
    (
        "quit",
        "end the run and write its captures and plots; also exit, Ctrl-D",
    ),
];

/// The first words of all commands.
pub(super) fn words() -> impl Iterator<Item = &'static str> {
    COMMANDS
        .iter()
        .filter_map(|(usage, _)| usage.split(' ').next())
}

/// What somebody wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command<'a> {
    /// A line without words, or a comment.
    Nothing,
    Help,
    Nodes,
    Links,
    Flows,
    Drops,
    Counters(Option<&'a str>),
    Tables(&'a str),
    /// A node, and the first word of the names of its tables.
    Show(&'a str, &'a str),
    Report,
    Ping(&'a str, &'a str),
    Traceroute(&'a str, &'a str),
    PingAll,
    Link(&'a str, &'a str, bool),
    /// The node, and the command for its DTP.
    Dtp(&'a str, &'a str),
    StepEvents(u64),
    StepTime(Time),
    /// To the end, or until a time.
    Run(Option<Time>),
    Time,
    Quit,
}

impl<'a> Command<'a> {
    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &'a str) -> Result<Command<'a>, String> {
        let line = line.split_once('#').map_or(line, |(before, _)| before);
        let words: Vec<&str> = line.split_whitespace().collect();
        Ok(match words[..] {
            [] => Command::Nothing,
            ["help" | "?"] => Command::Help,
            ["nodes"] => Command::Nodes,
            ["links" | "net"] => Command::Links,
            ["flows"] => Command::Flows,
            ["drops"] => Command::Drops,
            ["counters"] => Command::Counters(None),
            ["counters", node] => Command::Counters(Some(node)),
            ["tables", node] => Command::Tables(node),
            ["show", node, ref table @ ..] | [node, "show", ref table @ ..]
                if !table.is_empty() =>
            {
                Command::Show(node, table_name(table)?)
            }
            ["report"] => Command::Report,
            ["pingall"] => Command::PingAll,
            ["ping", from, to] | [from, "ping", to] => Command::Ping(from, to),
            ["traceroute", from, to] | [from, "traceroute", to] => Command::Traceroute(from, to),
            ["link", a, b, "down"] => Command::Link(a, b, false),
            ["link", a, b, "up"] => Command::Link(a, b, true),
            ["dtp", node, ..] => {
                let (_, rest) = line.split_once(node).unwrap_or_default();
                Command::Dtp(node, rest.trim())
            }
            ["step"] => Command::StepEvents(1),
            ["step", count, "events" | "event"] => Command::StepEvents(events(count)?),
            ["step", ref by @ ..] => Command::StepTime(step(&by.join(" "))?),
            ["run"] => Command::Run(None),
            ["run", "until", ref at @ ..] if !at.is_empty() => {
                let text = at.join(" ");
                let time = node::time::seconds(&text);
                Command::Run(Some(time.map_err(|error| format!("`{text}`: {error}"))?))
            }
            ["time"] => Command::Time,
            ["quit" | "exit"] => Command::Quit,
            [word, ..] => {
                let known = |(usage, _): &&(&str, &str)| usage.split(' ').next() == Some(word);
                return Err(match COMMANDS.iter().find(known) {
                    Some((usage, _)) => format!("`{}`: write {usage}", words.join(" ")),
                    None => format!("there is no command `{word}`; `help` lists all"),
                });
            }
        })
    }

    /// Does it; what there is to tell.
    ///
    /// # Errors
    /// Why it could not be done.
    pub fn run(self, session: &mut Session<'_>) -> Result<String, String> {
        let done = match self {
            Command::Nothing | Command::Quit => Ok(String::new()),
            Command::Help => Ok(help()),
            Command::Nodes => Ok(session.nodes().to_string()),
            Command::Links => Ok(session.links().to_string()),
            Command::Flows => Ok(or(session.flows(), "no conversations yet")),
            Command::Drops => Ok(or(session.drops(), "no drops")),
            Command::Counters(node) => session
                .counters(node)
                .map(|table| or(table, "nothing was counted")),
            Command::Tables(node) => session.tables(node).map(|tables| shown(node, &tables)),
            Command::Show(node, name) => session.tables(node).map(|mut tables| {
                tables.retain(|table| table.name.split(' ').next() == Some(name));
                match tables.is_empty() {
                    true => format!("{node} has no table `{name}`; `tables {node}` shows all\n"),
                    false => shown(node, &tables),
                }
            }),
            Command::Report => Ok(session.report().text(false)),
            Command::Ping(from, to) => session
                .ping(from, to)
                .map(|ping| format!("{from} -> {to}: {}\n", told(ping))),
            Command::Traceroute(from, to) => session
                .traceroute(from, to)
                .map(|hops| route(from, to, &hops)),
            Command::PingAll => ping_all(session),
            Command::Link(a, b, up) => session.set_link(a, b, up).map(|(links, lost)| {
                let what = match links {
                    1 => format!("link {a} - {b}"),
                    _ => format!("{links} links {a} - {b}"),
                };
                let lost = match lost {
                    0 => String::new(),
                    1 => ", and the frame on its way lost".into(),
                    _ => format!(", and {} frames on their way lost", number(lost)),
                };
                format!("{what} {}{lost}\n", if up { "up" } else { "down" })
            }),
            Command::Dtp(node, line) => {
                session
                    .command(node, line)
                    .map(|said| match said.is_empty() {
                        true => said,
                        false => said + "\n",
                    })
            }
            Command::StepEvents(count) => {
                moving(session, |session| session.step(count).map(|_| ()))
            }
            Command::StepTime(by) => moving(session, |session| session.advance(session.now() + by)),
            Command::Run(None) => moving(session, Session::finish),
            Command::Run(Some(until)) => moving(session, |session| session.advance(until)),
            Command::Time => Ok(format!("{}\n", time(session))),
        };
        done.map_err(|error| error.to_string())
    }
}

/// So many events.
fn events(text: &str) -> Result<u64, String> {
    let count = text.parse();
    count.map_err(|_| format!("`{text}` is not a number of events"))
}

/// For so long. A bare number could be either.
fn step(text: &str) -> Result<Time, String> {
    match text.parse::<u64>() {
        Ok(count) if count > 0 => Err(format!(
            "`step {text}`: of what? write step {text} events, or step {text} s"
        )),
        _ => text.parse().map_err(|error| format!("`{text}`: {error}")),
    }
}

fn help() -> String {
    let wide = COMMANDS.iter().map(|(usage, _)| usage.len()).max();
    let wide = wide.unwrap_or(0);
    let lines = COMMANDS
        .iter()
        .map(|(usage, what)| format!("{usage:wide$}  {what}\n"));
    lines.collect()
}

/// A table, or what to say if there is nothing but its head.
fn or(table: Table, nothing: &str) -> String {
    match table.lines.len() {
        0 | 1 => format!("{nothing}\n"),
        _ => table.to_string(),
    }
}

fn shown(node: &str, tables: &[node::outcome::Table]) -> String {
    if tables.is_empty() {
        return format!("{node} has no tables with entries\n");
    }
    let mut text = String::new();
    for table in tables {
        // Writing to a String does not fail.
        let entries = match table.entries.len() {
            0 => "empty".into(),
            1 => "1 entry".into(),
            count => format!("{} entries", number(count as u64)),
        };
        let _ = writeln!(text, "{}: {entries}", table.name);
        for entry in &table.entries {
            let _ = writeln!(text, "  {entry}");
        }
    }
    text
}

fn told(ping: Ping) -> String {
    match ping {
        Ping::Answered(after) => format!("answer after {after}"),
        Ping::Error { after, from, name } => format!("{name}, from {from} after {after}"),
        Ping::Silence => "no answer within 1 s".into(),
        Ping::NoRoute => "no route".into(),
    }
}

/// The hops of a traceroute, a line for each.
fn route(from: &str, to: &str, hops: &[Ping]) -> String {
    let mut text = format!("{from} -> {to}\n");
    for (number, hop) in (1..).zip(hops) {
        let line = match *hop {
            Ping::Answered(after) => format!("{to}  {after}"),
            Ping::Error {
                after,
                from,
                name: "time exceeded",
            } => format!("{from}  {after}"),
            Ping::Silence => "*".into(),
            other => told(other),
        };
        // Writing to a String does not fail.
        let _ = writeln!(text, "{number:2}  {line}");
    }
    text
}

/// The first word of the names of the tables that a user asks for.
fn table_name(words: &[&str]) -> Result<&'static str, String> {
    match words {
        ["ip", "route"] | ["ipv6", "route"] | ["route" | "routes"] => Ok("routes"),
        ["neigh" | "neighbours" | "arp"] | ["ip", "neigh" | "arp"] => Ok("neighbours"),
        ["nat"] => Ok("nat"),
        ["mpls" | "labels"] => Ok("labels"),
        _ => Err(format!(
            "`{}`: show has ip route, neigh, nat and mpls; `tables NODE` shows all",
            words.join(" ")
        )),
    }
}

fn ping_all(session: &mut Session<'_>) -> Result<String, lab::SessionError> {
    let hosts = session.hosts()?;
    let (mut text, mut asked, mut answered) = (String::new(), 0, 0);
    for from in &hosts {
        text += &format!("{from} ->");
        for to in hosts.iter().filter(|to| *to != from) {
            let good = matches!(session.ping(from, to)?, Ping::Answered(_));
            let word = if good { to } else { "X" };
            text += &format!(" {word}");
            asked += 1;
            answered += u64::from(good);
        }
        text.push('\n');
    }
    Ok(format!("{answered} of {asked} pings were answered\n{text}"))
}

/// Lets time pass, and tells what that has brought.
fn moving<'a>(
    session: &mut Session<'a>,
    go: impl FnOnce(&mut Session<'a>) -> Result<(), lab::SessionError>,
) -> Result<String, lab::SessionError> {
    let (from, (frames, events)) = (session.now(), session.progress());
    go(session)?;
    let (more_frames, more_events) = session.progress();
    Ok(format!(
        "{} delivered in {}, {} passed: it is {}\n",
        several(more_frames - frames, "frame"),
        several(more_events - events, "event"),
        session.now() - from,
        time(session)
    ))
}

/// `1 frame`, `2,000 frames`.
fn several(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {what}{s}", number(count))
}

/// The time, and when something happens next.
fn time(session: &Session<'_>) -> String {
    let now = session.now();
    match session.next() {
        Some(next) => format!("{now}, the next event is {} later", next - now.min(next)),
        None => format!("{now}, nothing is left to happen"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_commands() {
        for (line, command) in [
            ("", Command::Nothing),
            ("  # a comment", Command::Nothing),
            ("links # all of them", Command::Links),
            ("net", Command::Links),
            ("ping h1 h2", Command::Ping("h1", "h2")),
            ("h1 ping h2", Command::Ping("h1", "h2")),
            ("r1 traceroute h2", Command::Traceroute("r1", "h2")),
            ("r1 show ip route", Command::Show("r1", "routes")),
            ("show r1 nat", Command::Show("r1", "nat")),
            ("link s1 s2 down", Command::Link("s1", "s2", false)),
            ("step", Command::StepEvents(1)),
            ("step 3 events", Command::StepEvents(3)),
            ("step 10 ms", Command::StepTime(Time::from_ms(10))),
            ("step 10ms", Command::StepTime(Time::from_ms(10))),
            ("run", Command::Run(None)),
            ("run until 1.5 s", Command::Run(Some(Time::from_ms(1500)))),
            ("run until 2", Command::Run(Some(Time::from_secs(2)))),
            ("exit", Command::Quit),
        ] {
            assert_eq!(Command::parse(line), Ok(command), "{line}");
        }
    }

    #[test]
    fn what_is_no_command_says_how_to_write_one() {
        for (line, error) in [
            ("pnig h1 h2", "there is no command `pnig`; `help` lists all"),
            ("ping h1", "`ping h1`: write ping A B"),
            ("link s1 s2", "`link s1 s2`: write link A B down|up"),
            (
                "link s1 s2 sideways",
                "`link s1 s2 sideways`: write link A B down|up",
            ),
            (
                "step 10",
                "`step 10`: of what? write step 10 events, or step 10 s",
            ),
            ("step many events", "`many` is not a number of events"),
            ("run 2s", "`run 2s`: write run [until TIME]"),
            ("quit now", "`quit now`: write quit"),
            ("show r1", "`show r1`: write show NODE TABLE"),
            (
                "show r1 ip address",
                "`ip address`: show has ip route, neigh, nat and mpls; `tables NODE` shows all",
            ),
        ] {
            assert_eq!(Command::parse(line), Err(error.into()), "{line}");
        }
        assert!(Command::parse("step ten ms").is_err());
        assert!(Command::parse("run until noon").is_err());
    }

    #[test]
    fn each_command_of_the_list_is_one() {
        for (usage, _) in COMMANDS {
            let line = usage
                .replace("[NODE]", "h1")
                .replace("TABLE", "nat")
                .replace("NODE", "h1")
                .replace("down|up", "up")
                .replace("[TIME|N events]", "1 s")
                .replace("[until TIME]", "until 1 s");
            assert!(Command::parse(&line).is_ok(), "{line}");
        }
    }
}
