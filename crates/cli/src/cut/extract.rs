//! Fields by name: those of the line, and those of what the packet holds.

use crate::fields::{self, Field, Line};
use crate::layout;
use crate::time::{TimeForm, Times};
use anyhow::{bail, ensure};
use packet::Tick;
use packet::dissect::{self, Dissection};
use packet::json::Head;
use packet::line;
use std::io::Write;

/// The fields that are wanted, and what is used again for each packet.
pub struct Extract {
    wanted: Vec<Wanted>,
    json: bool,
    dissection: Option<Dissection>,
    /// What writes the times, where dates and words are not wanted as they are.
    times: Option<Times>,
    /// The line with its blanks as they are written.
    tidy: Vec<u8>,
    frame: Vec<u8>,
}

struct Wanted {
    /// As the user wrote it, in place of a key of JSON.
    name: String,
    from: From,
}

#[derive(Clone, Copy)]
enum From {
    /// Text of the line, or of its head.
    Line(Field),
    /// What was dissected, by its place there.
    Packet(usize),
}

impl Extract {
    /// From names with commas between them.
    ///
    /// # Errors
    /// When there is no field of a name.
    pub fn parse(names: &str, json: bool) -> anyhow::Result<Extract> {
        let mut inside = Vec::new();
        let mut wanted: Vec<Wanted> = Vec::new();
        for name in names.split(',') {
            let known = |before: &&Wanted| before.name == name;
            let from = match (wanted.iter().find(known), Field::named(name)) {
                // Once is enough: an object has each key once.
                (Some(_), _) if json => continue,
                (Some(before), _) => before.from,
                (None, Some(field)) => From::Line(field),
                (None, None) => match dissect::field(name) {
                    Some(field) => {
                        inside.push(field);
                        From::Packet(inside.len() - 1)
                    }
                    None => bail!(unknown(name)),
                },
            };
            let name = name.to_owned();
            wanted.push(Wanted { name, from });
        }
        Ok(Extract {
            wanted,
            json,
            dissection: (!inside.is_empty()).then(|| Dissection::new(inside)),
            times: None,
            tidy: Vec::new(),
            frame: Vec::new(),
        })
    }

    /// Writes `time` for people.
    ///
    /// # Errors
    /// When `time` is not among the fields.
    pub fn with_times(mut self, form: TimeForm) -> anyhow::Result<Extract> {
        let is_time = |wanted: &Wanted| matches!(wanted.from, From::Line(Field::Time));
        ensure!(
            self.wanted.iter().any(is_time),
            "--time says how the field `time` is written, which is not among the fields"
        );
        self.times = Some(Times::new(Some(form)));
        Ok(self)
    }

    /// Appends the fields of a line; false, and nothing is appended, if it is none. `length` is
    /// that of the packet before it was cut short, if it is known.
    ///
    /// # Errors
    /// When the packet has no time in the form that is asked for.
    pub fn append(
        &mut self,
        text: &[u8],
        length: Option<u32>,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<bool> {
        let mut line = match Line::new(text) {
            Some(line) => line,
            None => {
                layout::tidy(text, &mut self.tidy);
                match Line::new(&self.tidy) {
                    Some(line) => line,
                    None => return Ok(false),
                }
            }
        };
        if let Some(dissection) = &mut self.dissection {
            match line::decode(text, &mut self.frame) {
                Ok(Some(_)) => {
                    dissection.read(&self.frame, length.map(|length| length as usize));
                }
                Ok(None) | Err(_) => return Ok(false),
            }
        }
        let time = match &mut self.times {
            None => None,
            Some(times) => match line::decode(text, &mut self.frame) {
                Ok(Some(head)) => {
                    let time = times.next(head.stamp, Tick::EIGHT_NS)?;
                    Some(match self.json && !time.is_number() {
                        true => format!(r#""{time}""#),
                        false => time.to_string(),
                    })
                }
                Ok(None) | Err(_) => return Ok(false),
            },
        };
        if self.json {
            let (what, kind) = ("cut", "fields");
            // Writing to a Vec does not fail.
            let _ = write!(out, "{}", Head { what, kind });
        }
        for (index, wanted) in self.wanted.iter().enumerate() {
            match (self.json, index) {
                (true, _) => {
                    // `type` is what the object is.
                    let name = match &wanted.name[..] {
                        "type" => "ethertype",
                        name => name,
                    };
                    let _ = write!(out, r#","{name}":"#);
                }
                (false, 0) => {}
                (false, _) => out.push(b' '),
            }
            match wanted.from {
                From::Line(Field::Time) if time.is_some() => {
                    out.extend_from_slice(time.as_deref().unwrap_or_default().as_bytes());
                }
                // None of these needs an escape: they are digits, blanks, dots and colons.
                From::Line(field) if self.json => {
                    out.push(b'"');
                    line.append(field, out);
                    out.push(b'"');
                }
                From::Line(field) => line.append(field, out),
                From::Packet(at) => {
                    let value = self
                        .dissection
                        .as_ref()
                        .map_or("", |inside| inside.value(at));
                    match self.json {
                        true => append_json(value, out),
                        false => append_column(value, out),
                    }
                }
            }
        }
        if self.json {
            out.push(b'}');
        }
        Ok(true)
    }
}

fn append_json(value: &str, out: &mut Vec<u8>) {
    let value = if value.is_empty() { "-" } else { value };
    // Text as a value of JSON is exact, and writing to a Vec does not fail.
    let _ = serde_json::to_writer(out, value);
}

/// Appends a value as one column: what would be a blank, a line end or no character at all is escaped.
fn append_column(value: &str, out: &mut Vec<u8>) {
    if value.is_empty() {
        return out.extend_from_slice(fields::NONE);
    }
    for part in value.split_inclusive(char::is_whitespace) {
        let text = part.trim_end_matches(char::is_whitespace);
        out.extend_from_slice(packet::printable::word(text).as_bytes());
        for blank in part[text.len()..].chars() {
            let _ = write!(out, "\\u{:04x}", u32::from(blank));
        }
    }
}

/// What to say of a name that no field has: those that begin the same.
fn unknown(name: &str) -> String {
    let protocol = name.split('.').next().unwrap_or_default();
    let mut like = dissect::fields()
        .map(|field| field.name)
        .filter(|known| !protocol.is_empty() && known.starts_with(protocol))
        .peekable();
    let list = "`wire cut --fields` lists them all";
    match like.peek() {
        None => format!("there is no field `{name}`, and no range of columns such as 4-; {list}"),
        Some(_) => {
            let like: Vec<_> = like.collect();
            format!(
                "there is no field `{name}`; there are {}; {list}",
                like.join(" ")
            )
        }
    }
}

/// Writes all fields, a line each.
pub fn list() {
    for (name, about) in fields::ABOUT {
        println!("{name:<40} {about}");
    }
    for field in dissect::fields() {
        let names = [&[field.name], field.also].concat().join(", ");
        println!("{names:<40} {}", field.about);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUERY: &str = "0000000000000010 001122334455 66778899AABB 0800 \
        45 00 00 31 00 00 00 00 03 11 00 00 0A 00 00 01 0A 00 00 02 10 00 00 35 00 1D 00 00 \
        12 34 01 00 00 01 00 00 00 00 00 00 03 61 20 22 00 00 1C 00 01";

    fn cut(names: &str, json: bool) -> String {
        let mut out = Vec::new();
        let mut extract = Extract::parse(names, json).unwrap();
        assert!(extract.append(QUERY.as_bytes(), None, &mut out).unwrap());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn fields_of_the_line_and_of_the_packet_stand_side_by_side() {
        assert_eq!(
            cut("sport,ip.ttl,dns.qry.name,dns.qtype,tcp.seq,sport", false),
            r#"4096 3 a\u0020" 28 - 4096"#
        );
    }

    #[test]
    fn times_for_people_stand_in_the_field_time_and_need_it() {
        let relative = |names, json| {
            let extract = Extract::parse(names, json).unwrap();
            let mut extract = extract.with_times(TimeForm::Relative)?;
            let mut out = Vec::new();
            let later = QUERY.replacen("10", "11", 1);
            for line in [QUERY, &later] {
                assert!(extract.append(line.as_bytes(), None, &mut out)?);
                out.push(b'\n');
            }
            anyhow::Ok(String::from_utf8(out).unwrap())
        };
        let columns = relative("time,ip.ttl", false).unwrap();
        assert_eq!(columns, "0.000000000 3\n0.000000008 3\n");
        let objects = relative("time", true).unwrap();
        assert!(objects.contains(r#""time":0.000000008"#), "{objects}");
        let error = relative("ip.ttl", false).err().unwrap().to_string();
        assert!(error.contains("not among the fields"), "{error}");
    }

    #[test]
    fn an_object_has_each_name_once_as_it_was_asked_for() {
        let object: serde_json::Value =
            serde_json::from_str(&cut("dns.qname,type,dns.qname,dns.id,http.host", true)).unwrap();
        let object = object.as_object().unwrap();
        assert_eq!(object.len(), 6);
        assert_eq!(object["dns.qname"], "a \"");
        assert_eq!(
            (&object["ethertype"], &object["http.host"]),
            (&"0800".into(), &"-".into())
        );
    }

    #[test]
    fn a_blank_in_a_value_is_no_end_of_its_column() {
        let mut out = Vec::new();
        append_column("a b\n\u{1b}é", &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), r"a\u0020b\u000a\u001bé");
    }

    #[test]
    fn an_unknown_name_is_told_what_there_is() {
        let error = |names| Extract::parse(names, false).err().unwrap().to_string();
        assert!(
            error("dns.query").contains("dns.qry.name"),
            "{}",
            error("dns.query")
        );
        assert!(error("nonsense").contains("--fields"));
    }
}
