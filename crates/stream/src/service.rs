//! Text requests of calls, and their replies.
//!
//! | request | reply |
//! |---|---|
//! | `SELECT ...`, `WITH ...` | the rows of a question |
//! | `INSERT INTO Flows VALUES (1000, 'printer', 1500)` | `at` first; no rows. Where the server allows it |
//! | `SUBSCRIBE` and a [pattern](crate::Database::subscribe) | its number, from 1 in each connection |
//! | `NEXT` | the next event of the connection's subscriptions, when there is one: its number, `at` and values |
//!
//! A reply's first line is `OK` or `ERROR` and the cause. The lines after it are rows, the first with
//! the names of columns; tabs separate values, `\t`, `\n` and `\\` are escapes within them, and
//! `\N` is null.

use crate::database::{Database, Subscription};
use crate::syntax::{Reader, SyntaxError, Word};
use crate::value::{Owned, Value};
use std::fmt::Display;
use std::task::{Context, Poll, Waker};

/// Maximum subscriptions of a connection.
pub const MAX_SUBSCRIPTIONS: usize = 8;

/// State of a connection.
#[derive(Default)]
pub(crate) struct Session {
    subscriptions: Vec<Subscription>,
}

/// Result of a request.
pub(crate) enum Outcome {
    /// The reply.
    Reply(String),
    /// The request is a question, which may take a while: [`answer`] returns its reply.
    Question(String),
    /// The reply is the next event: [`Session::next`].
    Next,
}

/// The reply to a question.
pub(crate) fn answer(database: &Database, sql: &str) -> String {
    match database.query(sql) {
        Ok(answer) => table(&answer.columns, &answer.rows),
        Err(error) => fault(&error),
    }
}

impl Session {
    /// Handles a request.
    pub fn request(&mut self, database: &Database, message: &[u8], may_insert: bool) -> Outcome {
        let Ok(text) = std::str::from_utf8(message) else {
            return Outcome::Reply(fault(&"the request is not UTF-8"));
        };
        let text = text.trim();
        let word = text.split_whitespace().next().unwrap_or("");
        let reply = match word.to_ascii_uppercase().as_str() {
            "NEXT" if self.subscriptions.is_empty() => fault(&"SUBSCRIBE to a pattern first"),
            "NEXT" => return Outcome::Next,
            "SUBSCRIBE" if self.subscriptions.len() == MAX_SUBSCRIPTIONS => fault(&format!(
                "a connection has at most {MAX_SUBSCRIPTIONS} subscriptions: open another one"
            )),
            "SUBSCRIBE" => match database.subscribe(&text[word.len()..]) {
                Ok(subscription) => {
                    self.subscriptions.push(subscription);
                    let number = self.subscriptions.len() as i64;
                    table(&["subscription".into()], &[vec![Owned::Integer(number)]])
                }
                Err(error) => fault(&error),
            },
            "INSERT" if !may_insert => fault(&"this server takes no rows"),
            "INSERT" => match insert(database, text) {
                Ok(()) => "OK\n".into(),
                Err(error) => error,
            },
            _ => return Outcome::Question(text.into()),
        };
        Outcome::Reply(reply)
    }

    /// The reply with the next event. Without one, `waker` is woken at the next event.
    pub fn next(&mut self, waker: &Waker) -> Option<String> {
        let mut context = Context::from_waker(waker);
        let mut subscriptions = self.subscriptions.iter_mut().enumerate();
        subscriptions.find_map(|(number, subscription)| {
            let Poll::Ready(event) = subscription.poll_next(&mut context) else {
                return None;
            };
            let mut columns = vec!["subscription".into(), "at".into()];
            columns.extend(subscription.columns());
            let mut row = vec![Owned::Integer(number as i64 + 1), Owned::Integer(event.at)];
            row.extend(event.values);
            Some(table(&columns, &[row]))
        })
    }
}

/// Appends a row, given as SQL.
fn insert(database: &Database, text: &str) -> Result<(), String> {
    let (name, row) = read_insert(text).map_err(|error| fault(&error))?;
    let no_table = || fault(&format!("no such table: {name}"));
    let table = database.table(&name).ok_or_else(no_table)?;
    let (at, values) = match row.split_first() {
        Some((Owned::Integer(at), values)) => (*at, values),
        _ => return Err(fault(&"the first value is at, an integer")),
    };
    let values: Vec<Value<'_>> = values.iter().map(Owned::as_value).collect();
    table.insert(at, &values).map_err(|error| fault(&error))
}

fn read_insert(text: &str) -> Result<(String, Vec<Owned>), SyntaxError> {
    let mut reader = Reader::new(text)?;
    reader.expect("INSERT")?;
    reader.expect("INTO")?;
    let name = reader.name("table")?;
    reader.expect("VALUES")?;
    reader.expect_mark("(")?;
    let mut row = Vec::new();
    loop {
        let negative = reader.mark("-");
        let value = match reader.peek() {
            Some(Word::Number(number)) => {
                let signed = if negative {
                    format!("-{number}")
                } else {
                    (*number).into()
                };
                let integer = signed.parse().map(Owned::Integer);
                integer.or_else(|_| signed.parse().map(Owned::Real)).ok()
            }
            Some(Word::Text(text)) if !negative => Some(Owned::Text(text.clone())),
            Some(Word::Name(word)) if !negative && word.eq_ignore_ascii_case("NULL") => {
                Some(Owned::Null)
            }
            _ => None,
        };
        let Some(value) = value else {
            return Err(reader.fault("expected a number, a text or NULL"));
        };
        row.push(value);
        reader.next();
        if !reader.mark(",") {
            break;
        }
    }
    reader.expect_mark(")")?;
    reader.end()?;
    Ok((name, row))
}

fn fault(cause: &impl Display) -> String {
    format!("ERROR {}\n", cause.to_string().replace('\n', " "))
}

/// Rows as lines.
fn table(columns: &[String], rows: &[Vec<Owned>]) -> String {
    let escape = |text: &str| {
        let text = text.replace('\\', "\\\\").replace('\t', "\\t");
        text.replace('\n', "\\n")
    };
    let names: Vec<String> = columns.iter().map(|name| escape(name)).collect();
    let mut lines = format!("OK\n{}\n", names.join("\t"));
    for row in rows {
        for (index, value) in row.iter().enumerate() {
            if index > 0 {
                lines.push('\t');
            }
            match value {
                Owned::Null => lines.push_str("\\N"),
                value => lines.push_str(&escape(&value.to_string())),
            }
        }
        lines.push('\n');
    }
    lines
}
