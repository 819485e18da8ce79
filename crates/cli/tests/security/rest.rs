//! REST of a controller: no web page, and nobody without the token.

use super::Running;
use crate::shell::Place;
use std::io::{Read, Write};
use std::net::TcpStream;

pub(super) const HERE: &str = "Host: 127.0.0.1";
const JSON: &str = "Content-Type: application/json";

/// A controller with REST: its process, its address and its token.
pub(super) fn start(place: &Place) -> (Running, String, String) {
    let script =
        "exec wire of controller learning --listen ptcp:0 --rest 127.0.0.1:0 --token-file token";
    let mut running = Running::start(place, script);
    let address = running.told("metrics on http://");
    running.told("the token is in token");
    let token = String::from_utf8(place.read("token")).unwrap();
    (running, address, token.trim().to_string())
}

/// Sends a request as it stands; the status and the whole answer.
pub(super) fn ask(address: &str, line: &str, headers: &[&str], body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = format!("Content-Length: {}", body.len());
    let all = [&["Connection: close", &length], headers]
        .concat()
        .join("\r\n");
    write!(stream, "{line} HTTP/1.1\r\n{all}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    (status.expect(&answer), answer)
}

#[test]
fn what_a_web_page_can_send_is_refused_and_who_has_the_token_is_answered() {
    let place = Place::new("rest");
    let (_running, address, token) = start(&place);
    let token = format!("Authorization: Bearer {token}");
    let (token, flows) = (token.as_str(), "POST /switches/1/flows");
    let flow = r#"{"actions": ["flood"]}"#;
    for (status, line, headers, body) in [
        (200, "GET /switches", &[HERE, token][..], ""),
        // The controller has no such switch: the request itself was taken.
        (404, flows, &[HERE, token, JSON], flow),
        (401, "GET /switches", &[HERE], ""),
        (401, "GET /metrics", &[HERE], ""),
        (401, flows, &[HERE, "Authorization: Bearer 0", JSON], flow),
        (403, "GET /switches", &["Host: rebound.example", token], ""),
        (
            403,
            flows,
            &[HERE, "Origin: http://evil.example", token, JSON],
            flow,
        ),
        (415, flows, &[HERE, token, "Content-Type: text/plain"], flow),
        // What a browser asks before it sends what a form cannot.
        (401, "OPTIONS /switches/1/flows", &[HERE], ""),
    ] {
        let (told, answer) = ask(&address, line, headers, body);
        assert_eq!(told, status, "{line} {headers:?}: {answer}");
        assert!(
            !answer.to_lowercase().contains("access-control"),
            "{answer}"
        );
    }
    let (_, metrics) = ask(&address, "GET /metrics", &[HERE, token], "");
    for line in [
        r#"wire_rest_refused_total{why="host"} 1"#,
        r#"wire_rest_refused_total{why="origin"} 1"#,
        r#"wire_rest_refused_total{why="token"} 4"#,
        r#"wire_rest_refused_total{why="content_type"} 1"#,
        r#"wire_rest_connections_total{result="accepted"} 10"#,
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
}

#[test]
fn without_a_token_the_other_checks_stand_and_it_is_told() {
    let place = Place::new("rest-open");
    let script = "exec wire of controller learning --listen ptcp:0 --rest 127.0.0.1:0 --no-token --rest-name lab.example";
    let mut running = Running::start(&place, script);
    let address = running.told("metrics on http://");
    running.told("without a token every user of this machine may change");
    let asked = |host: &str| ask(&address, "GET /switches", &[host], "").0;
    assert_eq!(asked(HERE), 200);
    assert_eq!(asked("Host: lab.example:80"), 200);
    assert_eq!(asked("Host: rebound.example"), 403);
}

#[test]
fn a_token_is_new_each_time_and_told_once() {
    let place = Place::new("rest-token");
    let script = "exec wire of controller learning --listen ptcp:0 --rest 127.0.0.1:0";
    let tokens = [0, 1].map(|_| {
        let mut running = Running::start(&place, script);
        let address = running.told("metrics on http://");
        let token = running.told("Bearer ");
        let token = token.trim_end_matches('\'').to_owned();
        let header = format!("Authorization: Bearer {token}");
        assert_eq!(ask(&address, "GET /switches", &[HERE, &header], "").0, 200);
        token
    });
    assert_ne!(tokens[0], tokens[1]);
}
