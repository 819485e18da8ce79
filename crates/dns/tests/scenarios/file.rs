//! Reading a scenario.

use super::play::Stop;
use dns::message::OwnedRecord;
use dns::name::OwnedName;
use domain::base::iana::{Rcode, Rtype};
use domain::base::name::FlattenInto;
use domain::zonefile::inplace::{Entry as ZoneEntry, Zonefile};
use std::net::IpAddr;

#[derive(Debug, Default)]
pub struct Scenario {
    /// Lines of the configuration: keys and values.
    pub config: Vec<(String, String)>,
    pub ranges: Vec<Range>,
    pub steps: Vec<Step>,
}

#[derive(Debug)]
pub struct Range {
    pub from: u32,
    pub to: u32,
    pub addresses: Vec<IpAddr>,
    pub entries: Vec<Entry>,
}

#[derive(Debug)]
pub struct Step {
    pub number: u32,
    pub action: String,
    pub argument: String,
    pub entry: Option<Entry>,
}

#[derive(Clone, Debug, Default)]
pub struct Entry {
    pub matches: Vec<String>,
    pub adjust: Vec<String>,
    pub flags: Vec<String>,
    pub question: Option<(OwnedName, Rtype)>,
    /// Answer, authority, additional.
    pub sections: [Vec<OwnedRecord>; 3],
}

impl Entry {
    pub fn has(&self, word: &str) -> bool {
        self.matches.iter().any(|other| other == word)
    }

    pub fn flag(&self, word: &str) -> bool {
        self.flags.iter().any(|other| other == word)
    }

    pub fn code(&self) -> Rcode {
        let codes = [
            ("FORMERR", Rcode::FORMERR),
            ("SERVFAIL", Rcode::SERVFAIL),
            ("NXDOMAIN", Rcode::NXDOMAIN),
            ("NOTIMP", Rcode::NOTIMP),
            ("NOTIMPL", Rcode::NOTIMP),
            ("REFUSED", Rcode::REFUSED),
            ("YXDOMAIN", Rcode::YXDOMAIN),
        ];
        let mut found = codes.into_iter().filter(|(word, _)| self.flag(word));
        found.next().map_or(Rcode::NOERROR, |(_, code)| code)
    }
}

fn unsupported(what: &str) -> Stop {
    Stop::Unsupported(what.into())
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(Into::into).collect()
}

/// Reads a record; as in Unbound a TTL may be missing.
fn record(line: &str) -> Result<OwnedRecord, Stop> {
    let text = format!("$TTL 3600\n{line}\n");
    let mut file = Zonefile::from(text.as_str()).allow_invalid();
    file.set_origin(domain::base::Name::root_bytes());
    file.set_default_class(domain::base::iana::Class::IN);
    match file.next_entry() {
        Ok(Some(ZoneEntry::Record(record))) => {
            let record: OwnedRecord = record.flatten_into();
            let (class, ttl) = (record.class(), record.ttl());
            let (owner, data) = record.into_owner_and_data();
            Ok(OwnedRecord::new(owner, class, ttl, data))
        }
        _ => Err(unsupported("a record that the zone parser does not read")),
    }
}

fn question(line: &str) -> Result<(OwnedName, Rtype), Stop> {
    let words = words(line);
    let [name, .., rtype] = words.as_slice() else {
        return Err(unsupported("a question without a type"));
    };
    let name = OwnedName::vec_from_str(name)
        .map_err(|_| unsupported("a name that the parser does not read"))?;
    let rtype = rtype
        .parse()
        .map_err(|_| unsupported("a type that the parser does not know"))?;
    Ok((name, rtype))
}

pub fn parse(text: &str) -> Result<Scenario, Stop> {
    let mut scenario = Scenario::default();
    let (config, body) = text
        .split_once("CONFIG_END")
        .ok_or_else(|| unsupported("no configuration"))?;
    for line in config.lines() {
        // Deckard's are comments in part.
        let line = line
            .trim()
            .trim_start_matches(';')
            .split('#')
            .next()
            .unwrap_or_default();
        if let Some((key, value)) = line.split_once(':') {
            scenario
                .config
                .push((key.trim().into(), value.trim().trim_matches('"').into()));
        }
    }
    let mut entry: Option<Entry> = None;
    let mut section = None;
    let mut range: Option<Range> = None;
    for line in body.lines() {
        let line = line.split(';').next().unwrap_or_default().trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match word {
            "" | "SCENARIO_BEGIN" | "SCENARIO_END" => {}
            "RANGE_BEGIN" => {
                let mut ends = rest.split_whitespace().map(|end| end.parse().unwrap_or(0));
                range = Some(Range {
                    from: ends.next().unwrap_or(0),
                    to: ends.next().unwrap_or(u32::MAX),
                    addresses: Vec::new(),
                    entries: Vec::new(),
                });
            }
            "ADDRESS" => {
                if let (Some(range), Ok(address)) = (&mut range, rest.parse()) {
                    range.addresses.push(address);
                }
            }
            "RANGE_END" => scenario.ranges.extend(range.take()),
            "ENTRY_BEGIN" => (entry, section) = (Some(Entry::default()), None),
            "ENTRY_END" => {
                let done = entry
                    .take()
                    .ok_or_else(|| unsupported("an entry that ends twice"))?;
                match (&mut range, scenario.steps.last_mut()) {
                    (Some(range), _) => range.entries.push(done),
                    (None, Some(step)) => step.entry = Some(done),
                    (None, None) => return Err(unsupported("an entry outside ranges and steps")),
                }
            }
            "STEP" => {
                let mut words = rest.splitn(3, char::is_whitespace);
                scenario.steps.push(Step {
                    number: words
                        .next()
                        .and_then(|number| number.parse().ok())
                        .unwrap_or(0),
                    action: words.next().unwrap_or_default().into(),
                    argument: words.next().unwrap_or_default().trim().into(),
                    entry: None,
                });
            }
            "MATCH" if entry.is_some() => entry
                .as_mut()
                .expect("an entry")
                .matches
                .extend(words(rest)),
            "ADJUST" if entry.is_some() => {
                entry.as_mut().expect("an entry").adjust.extend(words(rest))
            }
            "REPLY" if entry.is_some() && section.is_none() => {
                entry.as_mut().expect("an entry").flags.extend(words(rest));
            }
            "SECTION" => {
                section = ["QUESTION", "ANSWER", "AUTHORITY", "ADDITIONAL"]
                    .iter()
                    .position(|name| *name == rest)
            }
            "HEX_ANSWER_BEGIN" | "HEX_EDNSDATA_BEGIN" => {
                return Err(unsupported("messages in hexadecimal"));
            }
            _ => match (&mut entry, section) {
                (Some(entry), Some(0)) => entry.question = Some(question(line)?),
                (Some(entry), Some(index)) => entry.sections[index - 1].push(record(line)?),
                _ if line.starts_with("ADDRESS") || range.is_some() => {}
                _ => {}
            },
        }
    }
    Ok(scenario)
}
