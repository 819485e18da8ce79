//! Events for boards.

use super::server::Server;
use home::Change;
use home::device::Admission;
use node::Time;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;

const MAC: &str = "02:00:00:00:00:01";

/// A reader of events.
pub struct Reader(BufReader<TcpStream>);

pub struct Event {
    name: String,
    id: String,
    pub data: Value,
}

impl Reader {
    fn new(server: &Server, token: &str, after: &str, header: &str) -> Reader {
        Reader::at(server, token, &format!("/ws.v1/events{after}"), header)
    }

    /// A reader of the events at a path.
    pub fn at(server: &Server, token: &str, path: &str, header: &str) -> Reader {
        let mut stream = server.connect();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n{header}\r\n",
            server.http
        );
        stream.write_all(request.as_bytes()).expect("sent");
        let mut reader = Reader(BufReader::new(stream));
        let status = reader.line().expect("an answer");
        assert!(status.contains(" 200 "), "{status}");
        while reader.line().is_some_and(|line| !line.is_empty()) {}
        reader
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let length = self.0.read_line(&mut line).ok()?;
        (length > 0).then(|| line.trim_end_matches(['\r', '\n']).into())
    }

    /// The next event of a kind; `None` at the end.
    pub fn next(&mut self, wanted: &str) -> Option<Event> {
        let mut event = Event {
            name: String::new(),
            id: String::new(),
            data: Value::Null,
        };
        loop {
            let line = self.line()?;
            let (key, value) = line.split_once(": ").unwrap_or((&line, ""));
            match key {
                "event" => event.name = value.into(),
                "id" => event.id = value.into(),
                "data" => event.data = serde_json::from_str(value).expect("JSON"),
                // Lengths of chunks, and lines between events.
                _ => {}
            }
            if event.data != Value::Null {
                if event.name == wanted {
                    return Some(event);
                }
                event.data = Value::Null;
            }
        }
    }
}

fn change(server: &Server, change: Change) {
    let mac = MAC.parse().expect("a MAC");
    server
        .home
        .lock()
        .change(Time::from_secs(1000), mac, change)
        .expect("kept");
}

#[test]
fn a_board_hears_of_a_guest_and_of_decisions_elsewhere() {
    let server = Server::new();
    let token = server.token();
    let mut reader = Reader::new(&server, &token, "", "");
    server.seen(MAC);
    let event = reader.next("news").expect("an event");
    assert_eq!(event.data["devices"][0]["admission"], "waiting");
    assert_eq!(event.data["devices"][0]["mac"], MAC);
    server.ask(&token, "POST", &format!("/ws.v1/permit/{MAC}"), "");
    let event = reader.next("news").expect("an event");
    assert_eq!(event.data["devices"][0]["admission"], "permitted");
    assert_eq!(
        event.data["notices"][0]["news"]["changed"]["admission"],
        "permitted"
    );
    change(&server, Change::Forgotten);
    assert_eq!(reader.next("news").expect("an event").data["gone"][0], MAC);
}

#[test]
fn a_reader_that_comes_back_misses_nothing_or_is_asked_to_reload() {
    let server = Server::new();
    let token = server.token();
    server.seen(MAC);
    let after = server.ask(&token, "GET", "/ws.v1/devices", "").json()["after"]
        .as_str()
        .expect("an id")
        .to_owned();
    change(&server, Change::Name(Some("a".into())));
    let mut reader = Reader::new(&server, &token, &format!("?after={after}"), "");
    let event = reader.next("news").expect("an event");
    assert_eq!(event.data["devices"][0]["name"], "a");
    assert_eq!(event.data["notices"].as_array().map(Vec::len), Some(1));
    drop(reader);
    change(&server, Change::Name(Some("b".into())));
    // Last-Event-ID goes before the id at the start.
    let header = format!("Last-Event-ID: {}\r\n", event.id);
    let mut reader = Reader::new(&server, &token, &format!("?after={after}"), &header);
    let event = reader.next("news").expect("an event");
    assert_eq!(event.data["notices"].as_array().map(Vec::len), Some(1));
    assert_eq!(event.data["devices"][0]["name"], "b");
    // An earlier start, nonsense, an id that was never given, and one that is too old.
    let (epoch, number) = event.id.split_once('-').expect("two parts");
    let never = format!("{epoch}-{}", number.parse::<u64>().expect("a number") + 1);
    for _ in 0..5000 {
        let mac = MAC.parse().expect("a MAC");
        server
            .home
            .lock()
            .notify(Time::ZERO, mac, home::home::News::LeaseEnded);
    }
    for id in [
        "00000000-1",
        "x",
        "",
        &never,
        &event.id,
        &format!("{epoch}-18446744073709551615"),
    ] {
        let mut reader = Reader::new(&server, &token, "", &format!("Last-Event-ID: {id}\r\n"));
        let event = reader.next("reload").expect("an event");
        assert!(event.id.starts_with(epoch), "{id}");
        change(&server, Change::Name(Some("c".into())));
        assert!(reader.next("news").is_some(), "it goes on");
    }
}

#[test]
fn a_flood_of_news_comes_in_batches_of_bounded_length() {
    let server = Server::new();
    let token = server.token();
    let mut reader = Reader::new(&server, &token, "", "");
    {
        let mut home = server.home.lock();
        for each in 0..2000_u16 {
            let [a, b] = each.to_be_bytes();
            home.seen(
                Time::from_secs(1),
                packet::ethernet::Mac([2, 1, 0, 0, a, b]),
            )
            .expect("a slot");
        }
    }
    let event = reader.next("news").expect("an event");
    let count = |name: &str| event.data[name].as_array().map(Vec::len).expect("a list");
    assert_eq!(count("notices"), 100);
    assert!(
        event.data["skipped"]
            .as_u64()
            .is_some_and(|count| count > 1000)
    );
    assert_eq!(count("devices"), home::home::MAX_WAITING);
}

#[test]
fn figures_come_each_second_for_devices_with_traffic() {
    let server = Server::new();
    let token = server.token();
    server.seen(MAC);
    server.seen("02:00:00:00:00:02");
    change(&server, Change::Admission(Admission::Permitted));
    let mut reader = Reader::new(&server, &token, "", "");
    reader.next("figures").expect("a first sample");
    {
        let mut home = server.home.lock();
        let device = home.device_mut(MAC.parse().expect("a MAC")).expect("there");
        device.traffic.sent = (10, 4000);
        device.traffic.not_looked_up = 1000;
    }
    server.seconds.fetch_add(1, Ordering::Relaxed);
    let figures = loop {
        let event = reader.next("figures").expect("an event");
        if event.data[MAC]["sent"] == 4000 {
            break event.data;
        }
    };
    assert_eq!(
        figures[MAC]["rate"], 2000,
        "half of the new rate, half of the old"
    );
    assert_eq!(figures[MAC]["not_looked_up"], 1000);
}

#[test]
fn events_end_with_the_session() {
    let server = Server::new();
    let (mine, stolen) = (server.token(), server.token());
    let mut reader = Reader::new(&server, &stolen, "", "");
    let mut other = Reader::new(&server, &mine, "", "");
    assert_eq!(
        server.ask(&stolen, "DELETE", "/ws.v1/session", "").status,
        204
    );
    assert!(reader.next("signed-out").is_some());
    server.seen(MAC);
    assert!(reader.next("news").is_none(), "no news after it");
    assert!(other.next("news").is_some());
}

#[test]
fn there_is_a_limit_to_readers_and_one_that_leaves_makes_room() {
    let server = Server::new();
    let token = server.token();
    let mut readers: Vec<Reader> = (0..page::feed::MAX_READERS)
        .map(|_| Reader::new(&server, &token, "", ""))
        .collect();
    assert_eq!(server.ask(&token, "GET", "/ws.v1/events", "").status, 503);
    readers.clear();
    let free = (0..200).any(|_| {
        let mut stream = server.connect();
        let request = format!(
            "GET /ws.v1/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n",
            server.http
        );
        stream.write_all(request.as_bytes()).expect("sent");
        let mut line = String::new();
        BufReader::new(stream)
            .read_line(&mut line)
            .expect("an answer");
        line.contains(" 200 ")
    });
    assert!(free);
}

#[test]
fn the_server_stops_and_frees_its_address() {
    let server = Server::new();
    let token = server.token();
    let mut reader = Reader::new(&server, &token, "", "");
    let at = server.http;
    server.running.stop();
    assert!(reader.next("news").is_none());
    std::net::TcpListener::bind(at).expect("free");
}
