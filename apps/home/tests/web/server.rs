//! A server on loopback, and a client that sends what it is given.

use home::clock::Clock;
use home::plan::Plan;
use home::store::Store;
use home::tables::Tables;
use home::web::{Options, Running, Web, sessions};
use home::{Home, Shared};
use node::Time;
use packet::ethernet::Mac;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub const PASSWORD: &str = "correct horse battery";

/// A server with its home. Its clock stands still until a test moves it.
pub struct Server {
    pub home: Shared,
    pub store: Store,
    pub http: SocketAddr,
    pub https: SocketAddr,
    pub code: Option<String>,
    pub seconds: Arc<AtomicU64>,
    pub tables: Tables,
    pub running: Running,
}

impl Server {
    /// A server whose password is set.
    pub fn new() -> Server {
        let server = Server::without_password(|store| {
            sessions::set_password(store, PASSWORD).expect("a password");
        });
        assert_eq!(server.code, None);
        server
    }

    pub fn without_password(prepare: impl FnOnce(&Store)) -> Server {
        Server::with(prepare, |_| {})
    }

    /// A server with other options.
    pub fn with(prepare: impl FnOnce(&Store), adapt: impl FnOnce(&mut Options)) -> Server {
        let seconds = Arc::new(AtomicU64::new(1000));
        let (router, unix) = (Arc::clone(&seconds), Arc::clone(&seconds));
        let clock = Clock::new(
            move || Time::from_secs(router.load(Ordering::Relaxed)),
            move || 1_800_000_000 + unix.load(Ordering::Relaxed),
        );
        let store = Store::in_memory(clock.clone()).expect("a store");
        prepare(&store);
        let home = Home::new(Plan::default(), store.journal()).shared();
        let tables = Tables::new(&clock).expect("tables");
        let mut options = Options::new(clock);
        options
            .http
            .push("127.0.0.1:0".parse().expect("an address"));
        options
            .https
            .push("127.0.0.1:0".parse().expect("an address"));
        options.names.push("router.home.arpa".into());
        options.database = Some(tables.database().clone());
        adapt(&mut options);
        let web = Web::open(Arc::clone(&home), store.clone(), options).expect("a server");
        let of = |secure| {
            let mut all = web.addresses().iter();
            all.find(|(_, is_secure)| *is_secure == secure)
                .expect("bound")
                .0
        };
        let (http, https, code) = (of(false), of(true), web.setup_code());
        Server {
            home,
            store,
            http,
            https,
            code,
            seconds,
            tables,
            running: web.start().expect("a thread"),
        }
    }

    pub fn seen(&self, mac: &str) {
        let now = Time::from_secs(self.seconds.load(Ordering::Relaxed));
        self.home
            .lock()
            .seen(now, mac.parse().expect("a MAC"))
            .expect("a slot");
    }

    pub fn device(&self, mac: &str) -> home::Device {
        let mac: Mac = mac.parse().expect("a MAC");
        self.home.lock().device(mac).expect("there").clone()
    }

    /// Signs in. Returns a token.
    pub fn token(&self) -> String {
        let body = format!(r#"{{"password": "{PASSWORD}", "bearer": true}}"#);
        let answer = self.call("POST", "/ws.v1/session", &[], &body);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["token"].as_str().expect("a token").into()
    }

    /// A call with a JSON body unless it is empty.
    pub fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
            text += &format!("Host: {}\r\n", self.http);
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() {
            text += &format!(
                "Content-Type: application/json\r\nContent-Length: {}\r\n",
                body.len()
            );
        }
        self.send(format!("{text}\r\n{body}").as_bytes())
    }

    /// A request with a session.
    pub fn ask(&self, token: &str, method: &str, path: &str, body: &str) -> Answer {
        let bearer = format!("Bearer {token}");
        self.call(method, path, &[("Authorization", &bearer)], body)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.http).expect("connected");
        let timeout = Some(Duration::from_secs(20));
        stream.set_read_timeout(timeout).expect("set");
        stream
    }

    /// Sends bytes and reads to the end of the connection.
    pub fn send(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // The server may respond and close before it has read the whole request.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        Answer::new(&String::from_utf8_lossy(&answer))
    }
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    fn new(text: &str) -> Answer {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        Answer {
            status: status.unwrap_or_default(),
            head: head.to_ascii_lowercase(),
            body: body.into(),
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The cookie that it sets, as a browser sends it back.
    pub fn cookie(&self) -> String {
        let line = self
            .head
            .lines()
            .find_map(|line| line.strip_prefix("set-cookie: "));
        line.and_then(|line| line.split(';').next())
            .expect("a cookie")
            .into()
    }
}
