//! What a kind of node is, for people: its ports, keys, counters, and an example. The text is a part of a lab file:
//!
//! ```toml
//! # drops every n-th frame
//! # ports: 2
//! # counters: dropped
//!
//! [node.x]
//! kind = "every-nth"
//! n = 3        # at least 1
//! #seed = 1    # a key that the example does without
//! ```

/// What a kind of node is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// What it does, in a line.
    pub what: String,
    /// Its ports, counters and reasons for drops, by these names, as far as they are known.
    pub facts: Vec<(String, String)>,
    /// Its keys, in order, each once; a key of a table within has the table's before it, as `rule.path`.
    pub keys: Vec<Key>,
    /// A part of a lab file.
    pub example: String,
}

/// A key of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub name: String,
    /// A value as the example has it: the default, unless the meaning says otherwise.
    pub value: String,
    /// What it means, with its unit and what else it may be.
    pub meaning: String,
}

impl Description {
    /// Reads a text as above.
    pub fn read(text: &str) -> Description {
        let mut description = Description::default();
        let (head, example) = text.split_once("\n\n").unwrap_or((text, ""));
        for line in head.lines().map(|line| line.trim_start_matches('#')) {
            match line.trim().split_once(": ") {
                _ if line.starts_with("   ") => {
                    let last = description.facts.last_mut().map(|fact| &mut fact.1);
                    let last = last.unwrap_or(&mut description.what);
                    *last += &format!(" {}", line.trim());
                }
                Some((name, rest)) if matches!(name, "ports" | "counters" | "drops") => {
                    description.facts.push((name.into(), rest.into()));
                }
                _ => description.what = line.trim().into(),
            }
        }
        description.example = example.trim_end().into();
        description.keys(example);
        description
    }

    fn keys(&mut self, example: &str) {
        let mut table = String::new();
        let mut lines = example.lines();
        let mut known = true;
        while let Some(line) = lines.next() {
            let line = line.strip_prefix('#').unwrap_or(line);
            if let Some(head) = line.strip_prefix('[') {
                let name = head
                    .trim_start_matches('[')
                    .split(']')
                    .next()
                    .unwrap_or_default();
                // `node.x`, or `node.x.rule`.
                table = name
                    .split('.')
                    .skip(2)
                    .map(|part| format!("{part}."))
                    .collect();
                continue;
            }
            if line.starts_with(' ') {
                let more = line.trim().trim_start_matches('#').trim();
                if let Some(last) = self.keys.last_mut().filter(|_| !known && !more.is_empty()) {
                    last.meaning += &format!(" {more}");
                }
                continue;
            }
            let Some((name, rest)) = line.split_once(" = ") else {
                continue;
            };
            let (value, meaning) = divide(rest);
            let mut value = value.to_owned();
            if value == "\"\"\"" {
                // A text of several lines.
                lines.by_ref().find(|line| line.starts_with("\"\"\""));
                value = "\"\"\"...\"\"\"".into();
            }
            let name = format!("{table}{name}");
            known = name == "kind" || self.keys.iter().any(|key| key.name == name);
            if !known {
                let meaning = meaning.into();
                self.keys.push(Key {
                    name,
                    value,
                    meaning,
                });
            }
        }
    }
}

/// A value and the comment behind it.
fn divide(text: &str) -> (&str, &str) {
    let mut quote = None;
    let end = text.char_indices().find(|&(_, c)| {
        match quote {
            Some(open) if open == c => quote = None,
            None if matches!(c, '"' | '\'') => quote = Some(c),
            _ => {}
        }
        c == '#' && quote.is_none()
    });
    let end = end.map_or(text.len(), |(at, _)| at);
    let (value, comment) = text.split_at(end);
    (value.trim(), comment.trim_start_matches('#').trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_lab_file_tells_what_a_kind_is() {
        let description = Description::read(
            "# drops every n-th frame\n# ports: 2\n# counters: dropped,\n#   passed\n\n[node.x]\nkind = \"every-nth\"\n\
             n = 3   # at least 1\nsay = \"a # b\"\n#seed = 1 # left out:\n          # the lab's\n\n[[node.x.rule]]\npath = 2\n\n\
             [node.y]\nkind = \"every-nth\"\nn = 4 # again\n",
        );
        assert_eq!(description.what, "drops every n-th frame");
        let fact = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let facts = [fact("ports", "2"), fact("counters", "dropped, passed")];
        assert_eq!(description.facts, facts);
        let key = |name: &str, value: &str, meaning: &str| Key {
            name: name.into(),
            value: value.into(),
            meaning: meaning.into(),
        };
        let keys = [
            key("n", "3", "at least 1"),
            key("say", "\"a # b\"", ""),
            key("seed", "1", "left out: the lab's"),
            key("rule.path", "2", ""),
        ];
        assert_eq!(description.keys, keys);
        assert!(description.example.starts_with("[node.x]"));
    }
}
