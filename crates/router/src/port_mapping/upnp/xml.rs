//! A strict reader for the XML of SOAP requests: elements, attributes that are skipped, texts with the five predefined entities and
//! numeric ones. No document types, processing instructions, comments in texts, or CDATA sections.

use alloc::string::String;
use alloc::vec::Vec;

/// Maximum number of arguments of an action.
const MAX_ARGUMENTS: usize = 16;

/// An action: its name, and its arguments by their names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Action<'a> {
    pub name: &'a str,
    arguments: Vec<(&'a str, String)>,
}

impl<'a> Action<'a> {
    /// Reads an envelope with a body with one element; `None` when it is none.
    pub fn read(text: &'a str) -> Option<Action<'a>> {
        let mut reader = Reader { rest: text.trim() };
        if let Some(rest) = reader.rest.strip_prefix("<?xml") {
            reader.rest = rest.split_once("?>")?.1;
        }
        reader.open("Envelope")?;
        reader.open("Body")?;
        let (name, is_empty) = reader.start()?;
        let mut arguments = Vec::new();
        while !is_empty && !reader.is_end() {
            let (key, is_empty) = reader.start()?;
            let value = if is_empty {
                String::new()
            } else {
                reader.text()?
            };
            if !is_empty {
                reader.end(key)?;
            }
            let is_new = arguments.iter().all(|(other, _)| *other != key);
            if arguments.len() >= MAX_ARGUMENTS || !is_new {
                return None;
            }
            arguments.push((key, value));
        }
        if !is_empty {
            reader.end(name)?;
        }
        reader.end("Body")?;
        reader.end("Envelope")?;
        reader
            .rest
            .trim()
            .is_empty()
            .then_some(Action { name, arguments })
    }

    /// The value of an argument.
    pub fn argument(&self, name: &str) -> Option<&str> {
        let found = self.arguments.iter().find(|(own, _)| *own == name);
        found.map(|(_, value)| value.trim())
    }
}

struct Reader<'a> {
    rest: &'a str,
}

fn local(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, local)| local)
}

fn is_name(name: &str) -> bool {
    let is_part =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':');
    !name.is_empty() && name.bytes().all(is_part) && name.matches(':').count() <= 1
}

impl<'a> Reader<'a> {
    fn is_end(&self) -> bool {
        self.rest.trim_start().starts_with("</")
    }

    /// An opening tag: its local name, and whether the element ends with it.
    fn start(&mut self) -> Option<(&'a str, bool)> {
        let inner = self.rest.trim_start().strip_prefix('<')?;
        let mut quote = None;
        let end = inner
            .char_indices()
            .find_map(|(at, letter)| match (quote, letter) {
                (None, '>') => Some(at),
                (None, '"' | '\'') => {
                    quote = Some(letter);
                    None
                }
                (Some(open), close) if open == close => {
                    quote = None;
                    None
                }
                _ => None,
            })?;
        let (tag, rest) = (&inner[..end], &inner[end + 1..]);
        let (tag, is_empty) = match tag.strip_suffix('/') {
            Some(tag) => (tag, true),
            None => (tag, false),
        };
        let name = tag.split_ascii_whitespace().next()?;
        if !is_name(name) || tag.contains('<') {
            return None;
        }
        self.rest = rest;
        Some((local(name), is_empty))
    }

    /// The opening tag of an element of this name that does not end with it.
    fn open(&mut self, name: &str) -> Option<()> {
        (self.start()? == (name, false)).then_some(())
    }

    fn end(&mut self, name: &str) -> Option<()> {
        let (tag, rest) = self.rest.trim_start().strip_prefix("</")?.split_once('>')?;
        let tag = tag.trim_end();
        let is_it = is_name(tag) && local(tag) == name;
        self.rest = rest;
        is_it.then_some(())
    }

    /// A text up to the next tag.
    fn text(&mut self) -> Option<String> {
        let end = self.rest.find('<')?;
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        decode(text)
    }
}

/// Replaces entities.
fn decode(text: &str) -> Option<String> {
    let mut decoded = String::new();
    let mut parts = text.split('&');
    decoded.push_str(parts.next()?);
    for part in parts {
        let (entity, rest) = part.split_once(';')?;
        decoded.push(match entity {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "apos" => '\'',
            _ => {
                let number = entity.strip_prefix('#')?;
                let code = match number.strip_prefix('x') {
                    Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                    None => number.parse().ok()?,
                };
                char::from_u32(code).filter(|letter| !letter.is_control())?
            }
        });
        decoded.push_str(rest);
    }
    Some(decoded)
}

/// Escapes the characters that XML reserves.
pub(super) fn encode(text: &str, into: &mut String) {
    for letter in text.chars() {
        match letter {
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '&' => into.push_str("&amp;"),
            '"' => into.push_str("&quot;"),
            letter if letter.is_control() => into.push(' '),
            letter => into.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    fn envelope(body: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?>\r\n<s:Envelope xmlns:s=\"http://x/\" s:encodingStyle='a>b'>\n <s:Body>{body}</s:Body></s:Envelope>\r\n"
        )
    }

    #[test]
    fn an_action_and_its_arguments_are_read() {
        let body =
            "<u:Add xmlns:u=\"urn:x\"><A>1</A> <B/>\n<C>a &lt;&amp;&#x41;&#66; b</C></u:Add>";
        let text = envelope(body);
        let action = Action::read(&text).unwrap();
        assert_eq!(action.name, "Add");
        assert_eq!(action.argument("A"), Some("1"));
        assert_eq!(action.argument("B"), Some(""));
        assert_eq!(action.argument("C"), Some("a <&AB b"));
        assert_eq!(action.argument("D"), None);
        let mut encoded = String::new();
        encode("a <&\"\n", &mut encoded);
        assert_eq!(encoded, "a &lt;&amp;&quot; ");
        assert_eq!(Action::read(&envelope("<u:Get/>")).unwrap().name, "Get");
    }

    #[test]
    fn anything_else_is_refused() {
        let many: String = (0..17).map(|number| format!("<a{number}/>")).collect();
        for body in [
            "",
            "<a>",
            "<a></b>",
            "<a><b>1</b>",
            "<a><b><c/></b></a>",
            "<a><b>1</b><b>2</b></a>",
            "<a>text</a>",
            "<a/><b/>",
            "<a><b>&unknown;</b></a>",
            "<a><b>&#0;</b></a>",
            "<a><b>&#xD800;</b></a>",
            "<a><b><![CDATA[x]]></b></a>",
            "<!-- --><a/>",
            "<a:b:c/>",
            &format!("<a>{many}</a>"),
        ] {
            assert_eq!(Action::read(&envelope(body)), None, "{body}");
        }
        let bomb = "<!DOCTYPE a [<!ENTITY b \"c\">]>";
        assert_eq!(Action::read(&format!("{bomb}{}", envelope("<a/>"))), None);
        assert_eq!(Action::read(&format!("{}x", envelope("<a/>"))), None);
    }
}
