//! A lab that is served on loopback while it runs on another thread, and a client.

use lab::{Options, Session};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Two hosts at a switch, links of 1 Mb/s and 10 ms. One host sends datagrams for 60 s.
pub const LAB: &str = r#"
[lab]
name = "pair"
duration = "60 s"

[node.h1]
kind = "host"
address = "10.0.0.1/24"
program = [{ run = "udp", to = "10.0.0.2", rate = "400 kb/s", size = 500 }]

[node.h2]
kind = "host"
address = "10.0.0.2/24"
program = [{ run = "sink" }]

[node.sw]
kind = "switch"
ports = 2

[[link]]
ends = ["h1.0", "sw.0"]
rate = "1 Mb/s"
delay = "10 ms"

[[link]]
ends = ["h2.0", "sw.1"]
rate = "1 Mb/s"
delay = "10 ms"
"#;

pub struct Served {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    run: Option<JoinHandle<String>>,
}

/// Status and body of a response.
pub struct Answer {
    pub status: u16,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{}", self.body))
    }
}

impl Served {
    pub fn new(text: &'static str) -> Served {
        let opened = watch::open("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = opened.address();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let run = std::thread::spawn(move || {
            let lab = lab::parse(text).unwrap_or_else(|faults| panic!("{faults}"));
            let mut session = Session::open(&lab, &Options::default()).unwrap();
            let mut watch = opened.start(&lab).unwrap();
            let stop = || stopped.load(Ordering::Relaxed);
            watch.run(&mut session, &lab, &stop).unwrap();
            session.end().text(false)
        });
        Served {
            address,
            stop,
            run: Some(run),
        }
    }

    /// Ends the run. Returns its report.
    pub fn end(mut self) -> String {
        self.stop.store(true, Ordering::Relaxed);
        self.run.take().unwrap().join().unwrap()
    }

    pub fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        let has_host = headers.iter().any(|(name, _)| *name == "Host");
        if !has_host {
            text += &format!("Host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() {
            let length = body.len();
            text += &format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
        }
        let mut stream = self.connect();
        // The server may respond before it has read the whole request.
        let _ = stream.write_all(format!("{text}\r\n{body}").as_bytes());
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer {
            status,
            body: body.into(),
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        let timeout = Some(Duration::from_secs(20));
        stream.set_read_timeout(timeout).unwrap();
        stream
    }

    pub fn order(&self, body: &str) -> Answer {
        self.call("POST", "/api/order", &[], body)
    }

    pub fn query(&self, sql: &str) -> Value {
        let body = serde_json::json!({"sql": sql}).to_string();
        let answer = self.call("POST", "/api/stream/query", &[], &body);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }

    /// The first sample for which a condition holds.
    pub fn sample(&self, holds: impl Fn(&Value) -> bool) -> Value {
        let mut stream = self.connect();
        let request = format!("GET /api/events HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream).lines();
        for _ in 0..10_000 {
            let line = lines.next().expect("an event").expect("in time");
            if let Some(data) = line.strip_prefix("data: ") {
                let sample: Value = serde_json::from_str(data).unwrap();
                if sample["links"].is_array() && holds(&sample) {
                    return sample;
                }
            }
        }
        panic!("no such sample");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(run) = self.run.take() {
            let _ = run.join();
        }
    }
}
