//! Messages: a webhook with TLS and signatures, MQTT with mosquitto, secrets.

use super::server::{PASSWORD, Server};
use home::Change;
use home::device::Admission;
use home::messages::Options;
use home::web::sessions;
use node::Time;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

const MAC: &str = "02:00:00:00:00:01";
const KEY: &[u8; 32] = b"a key of thirty-two bytes, shown";
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

fn server(loopback: bool) -> Server {
    let prepare = |store: &_| sessions::set_password(store, PASSWORD).expect("a password");
    Server::with(prepare, |options| {
        options.messages = Options {
            loopback,
            retry: Duration::from_millis(20),
            ..Options::default()
        };
    })
}

fn secret() -> String {
    use base64::Engine;
    let text = base64::engine::general_purpose::STANDARD.encode(KEY);
    format!("whsec_{text}")
}

/// A request: its headers and its body.
type Request = (BTreeMap<String, String>, String);

/// An HTTPS server that answers with these statuses, one connection each. Returns its address, certificate and requests.
fn receiver(statuses: &'static [u16]) -> (SocketAddr, String, mpsc::Receiver<Request>) {
    let (certificate, key) = identity();
    let key = PrivatePkcs8KeyDer::from(key);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone().into()], PrivateKeyDer::from(key))
        .expect("a configuration");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let (sender, requests) = mpsc::channel();
    std::thread::spawn(move || {
        let config = Arc::new(config);
        for status in statuses {
            let (stream, _) = listener.accept().expect("a connection");
            let connection = ServerConnection::new(Arc::clone(&config)).expect("a session");
            let mut stream = BufReader::new(StreamOwned::new(connection, stream));
            let mut headers = BTreeMap::new();
            loop {
                let mut line = String::new();
                if stream.read_line(&mut line).unwrap_or(0) < 3 {
                    break;
                }
                let (name, value) = line.trim().split_once(": ").unwrap_or((line.trim(), ""));
                headers.insert(name.to_ascii_lowercase(), value.to_string());
            }
            let length = headers
                .get("content-length")
                .and_then(|text| text.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            let _ = stream.read_exact(&mut body);
            let answer = format!(
                "HTTP/1.1 {status} X\r\nLocation: https://192.0.2.1/\r\nContent-Length: 0\r\n\r\n"
            );
            let _ = stream.get_mut().write_all(answer.as_bytes());
            stream.get_mut().conn.send_close_notify();
            let _ = stream.get_mut().flush();
            let _ = sender.send((headers, String::from_utf8_lossy(&body).into_owned()));
        }
    });
    (address, pem(&certificate), requests)
}

/// A certificate for 127.0.0.1 and its key, of another router.
fn identity() -> (Vec<u8>, Vec<u8>) {
    let other = Server::new();
    let of = |name| other.store.setting(name).expect("read").expect("kept");
    (of("certificate"), of("certificate-key"))
}

fn pem(der: &[u8]) -> String {
    use base64::Engine;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
}

/// Waits until the state of a destination fits.
fn until(server: &Server, token: &str, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let mut state = Value::Null;
    for _ in 0..400 {
        state = server.ask(token, "GET", "/ws.v1/messages", "").json();
        if fits(&state[format!("{what}_state")]) {
            return state;
        }
        #[expect(clippy::disallowed_methods, reason = "another thread sends")]
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{state}");
}

fn change(server: &Server, mac: &str, change: Change) {
    let mac = mac.parse().expect("a MAC");
    let mut home = server.home.lock();
    home.change(Time::from_secs(1000), mac, change)
        .expect("kept");
}

#[test]
fn a_webhook_gets_signed_messages_and_failed_ones_again() {
    let server = server(true);
    let token = server.token();
    let (address, certificate, requests) = receiver(&[503, 302, 200, 200, 400]);
    let url = format!("https://{address}/hook?home=1");
    let body = json!({ "webhook": { "url": url, "secret": secret(), "certificate": certificate } });
    let answer = server.ask(&token, "POST", "/ws.v1/messages", &body.to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
    server.seen(MAC);
    let mut ids = Vec::new();
    for attempt in 0..3 {
        let (headers, body) = requests.recv_timeout(ANSWER_TIMEOUT).expect("a request");
        assert_eq!(
            headers["post /hook?home=1 http/1.1"], "",
            "attempt {attempt}"
        );
        assert_eq!(headers["host"], address.to_string());
        // An independent check of the signature.
        let (id, at) = (&headers["webhook-id"], &headers["webhook-timestamp"]);
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, KEY);
        let signature = headers["webhook-signature"]
            .strip_prefix("v1,")
            .expect("version 1");
        use base64::Engine;
        let tag = base64::engine::general_purpose::STANDARD
            .decode(signature)
            .expect("Base64");
        ring::hmac::verify(&key, format!("{id}.{at}.{body}").as_bytes(), &tag).expect("signed");
        ids.push(id.clone());
        let message: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(
            (&message["kind"], &message["device"]["mac"]),
            (&"asks".into(), &MAC.into())
        );
    }
    assert!(
        ids.iter().all(|id| *id == ids[0]),
        "a receiver knows a message again"
    );
    change(&server, MAC, Change::Person(Some("<b>Anna</b>".into())));
    change(&server, MAC, Change::Name(Some("a\"},{\"b".into())));
    change(&server, MAC, Change::Admission(Admission::Permitted));
    let (_, body) = requests.recv_timeout(ANSWER_TIMEOUT).expect("a request");
    let message: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(message["text"], "a\"},{\"b is permitted");
    assert_eq!(message["device"]["person"], "<b>Anna</b>");
    // A request that is refused is not sent again.
    change(&server, MAC, Change::Admission(Admission::Denied));
    requests.recv_timeout(ANSWER_TIMEOUT).expect("a request");
    let state = until(&server, &token, "webhook", |state| {
        state["counts"]["refused"] == 1
    });
    assert_eq!(state["webhook_state"]["counts"]["sent"], 2);
    assert_eq!(state["webhook_state"]["counts"]["failed_attempts"], 3);
    assert_eq!(state["webhook_state"]["error"], "the server answered 400");
}

#[test]
fn a_webhook_trusts_only_its_certificate_and_gives_up_after_some_attempts() {
    let server = server(true);
    let token = server.token();
    let (address, ..) = receiver(&[200; 20]);
    let (other, _) = identity();
    let url = format!("https://{address}/");
    let body = json!({ "webhook": { "url": url, "certificate": pem(&other) } });
    let answer = server
        .ask(&token, "POST", "/ws.v1/messages", &body.to_string())
        .json();
    assert!(
        answer["new_secret"]
            .as_str()
            .is_some_and(|secret| secret.starts_with("whsec_"))
    );
    assert_eq!(
        server
            .ask(&token, "POST", "/ws.v1/messages/test", "")
            .status,
        202
    );
    let state = until(&server, &token, "webhook", |state| {
        state["counts"]["given_up"] == 1
    });
    assert_eq!(state["webhook_state"]["counts"]["failed_attempts"], 8);
    let error = state["webhook_state"]["error"].as_str().expect("an error");
    assert!(error.starts_with("TLS: "), "{error}");
}

#[test]
fn a_webhook_does_not_reach_this_machine_nor_a_metadata_service() {
    let server = server(false);
    let token = server.token();
    let target = TcpListener::bind("127.0.0.1:0").expect("a port");
    target.set_nonblocking(true).expect("set");
    let port = target.local_addr().expect("bound").port();
    for host in [
        "127.0.0.1",
        "[::ffff:127.0.0.1]",
        "[::1]",
        "169.254.169.254",
        "0.0.0.0",
    ] {
        let body = json!({ "webhook": { "url": format!("https://{host}:{port}/") } });
        assert_eq!(
            server
                .ask(&token, "POST", "/ws.v1/messages", &body.to_string())
                .status,
            200
        );
        server.ask(&token, "POST", "/ws.v1/messages/test", "");
        let state = until(&server, &token, "webhook", |state| {
            state["error"].is_string()
        });
        let error = state["webhook_state"]["error"].as_str().expect("an error");
        assert!(
            error.contains("is an address of this machine")
                || error.contains("is a link-local")
                || error.contains("is not the address"),
            "{host}: {error}"
        );
    }
    assert!(target.accept().is_err(), "no connection");
}

#[test]
fn secrets_are_never_shown_and_do_not_go_to_another_address() {
    let server = server(false);
    let token = server.token();
    let post = |body: Value| server.ask(&token, "POST", "/ws.v1/messages", &body.to_string());
    let url = "https://192.0.2.1/hook";
    let mqtt = json!({ "url": "mqtts://192.0.2.2", "user": "home", "password": "swordfish-1" });
    let answer = post(json!({ "webhook": { "url": url, "secret": secret() }, "mqtt": mqtt }));
    assert_eq!(answer.status, 200, "{answer:?}");
    let shown = |text: &str| text.contains("whsec_") || text.contains("swordfish");
    assert!(!shown(&answer.body), "{}", answer.body);
    let view = server.ask(&token, "GET", "/ws.v1/messages", "");
    assert!(!shown(&view.body), "{}", view.body);
    assert_eq!(view.json()["mqtt"]["has_password"], true);
    // The same URL keeps a secret, another one does not.
    let kept =
        post(json!({ "webhook": { "url": url }, "mqtt": { "url": "mqtts://192.0.2.2" } })).json();
    assert_eq!(
        (&kept["new_secret"], &kept["mqtt"]["has_password"]),
        (&Value::Null, &true.into())
    );
    let moved = post(json!({ "webhook": { "url": "https://192.0.2.66/" }, "mqtt": { "url": "mqtts://192.0.2.66" } })).json();
    assert!(moved["new_secret"].is_string());
    assert_eq!(
        (&moved["mqtt"]["has_password"], &moved["mqtt"]["user"]),
        (&false.into(), &Value::Null)
    );
    for (body, reason) in [
        (
            json!({ "webhook": { "url": "http://192.0.2.1/" } }),
            "not a URL such as https://",
        ),
        (
            json!({ "webhook": { "url": "https://a@192.0.2.1/" } }),
            "not a URL such as https://",
        ),
        (
            json!({ "webhook": { "url": "https://192.0.2.1/\r\nX: y" } }),
            "without control characters",
        ),
        (
            json!({ "webhook": { "url": url, "secret": "short" } }),
            "whsec_",
        ),
        (
            json!({ "webhook": { "url": url, "certificate": "none" } }),
            "a certificate in PEM",
        ),
        (
            json!({ "mqtt": { "url": "https://192.0.2.1" } }),
            "not a URL such as mqtts://",
        ),
        (
            json!({ "mqtt": { "url": "mqtt://192.0.2.1", "user": "a", "password": "b" } }),
            "need mqtts://",
        ),
        (
            json!({ "mqtt": { "url": "mqtt://192.0.2.1", "topic": "a/#" } }),
            "without # + $",
        ),
    ] {
        let answer = post(body.clone());
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.body.contains(reason), "{body}: {}", answer.body);
    }
    let gone = post(json!({ "webhook": null, "mqtt": null })).json();
    assert_eq!(
        (&gone["webhook"], &gone["mqtt"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(server.call("GET", "/ws.v1/messages", &[], "").status, 401);
}

/// A broker on loopback, ended when dropped.
struct Broker {
    child: Child,
    folder: std::path::PathBuf,
    port: u16,
}

impl Broker {
    fn start(name: &str, port: u16) -> Option<Broker> {
        let folder =
            std::env::temp_dir().join(format!("home-broker-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let passwords = folder.join("passwords");
        let made = Command::new("mosquitto_passwd")
            .args(["-c", "-b"])
            .arg(&passwords)
            .args(["home", "swordfish"])
            .status();
        if !made.is_ok_and(|status| status.success()) {
            return None;
        }
        let config = folder.join("mosquitto.conf");
        let text = format!(
            "listener {port} 127.0.0.1\npassword_file {}\nallow_anonymous false\nuser root\n",
            passwords.display()
        );
        std::fs::write(&config, text).expect("a file");
        let path = format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default());
        let child = Command::new("mosquitto")
            .arg("-c")
            .arg(config)
            .env("PATH", path)
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        Some(Broker {
            child: child.ok()?,
            folder,
            port,
        })
    }

    /// Subscribes to all topics: lines of topic and payload.
    fn subscribe(&self) -> (Child, mpsc::Receiver<String>) {
        let mut child = Command::new("mosquitto_sub")
            .args([
                "-h",
                "127.0.0.1",
                "-p",
                &self.port.to_string(),
                "-u",
                "home",
                "-P",
                "swordfish",
                "-v",
                "-t",
                "#",
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("mosquitto_sub");
        let (sender, lines) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().expect("piped"));
        std::thread::spawn(move || {
            output
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        (child, lines)
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The payload of the next message of a topic.
fn next(lines: &mpsc::Receiver<String>, topic: &str) -> String {
    loop {
        let line = lines
            .recv_timeout(ANSWER_TIMEOUT)
            .unwrap_or_else(|_| panic!("nothing on {topic}"));
        if let Some((_, payload)) = line.split_once(' ').filter(|(found, _)| *found == topic) {
            return payload.into();
        }
    }
}

#[test]
fn a_broker_gets_events_the_number_of_guests_and_a_will() {
    let port = TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("bound")
        .port();
    let Some(broker) = Broker::start("a", port) else {
        println!("skipped: no mosquitto");
        return;
    };
    let server = server(false);
    let token = server.token();
    let post = |password: &str| {
        let mqtt = json!({ "url": format!("mqtt://127.0.0.1:{port}"), "user": "home", "password": password, "topic": "my/home" });
        server.ask(
            &token,
            "POST",
            "/ws.v1/messages",
            &json!({ "mqtt": mqtt }).to_string(),
        )
    };
    assert_eq!(post("wrong").status, 200);
    until(&server, &token, "mqtt", |state| {
        state["error"]
            .as_str()
            .is_some_and(|error| error.contains("refuses the user"))
    });
    post("swordfish");
    // A first message shows that the connection stands.
    server.ask(&token, "POST", "/ws.v1/messages/test", "");
    until(&server, &token, "mqtt", |state| {
        state["counts"]["sent"] == 1
    });
    let (mut subscriber, lines) = broker.subscribe();
    // Retained: the descriptions, the status and the number.
    let mut retained: BTreeMap<String, String> = BTreeMap::new();
    while retained.len() < 4 {
        let line = lines
            .recv_timeout(ANSWER_TIMEOUT)
            .unwrap_or_else(|_| panic!("{retained:?}"));
        let (topic, payload) = line.split_once(' ').expect("a topic");
        retained.insert(topic.into(), payload.into());
    }
    assert_eq!(
        (&*retained["my/home/status"], &*retained["my/home/asking"]),
        ("online", "0")
    );
    let event: Value =
        serde_json::from_str(&retained["homeassistant/event/wire_home_my_home/board/config"])
            .expect("JSON");
    assert_eq!(event["state_topic"], "my/home/event");
    assert!(
        event["event_types"]
            .as_array()
            .is_some_and(|kinds| kinds.contains(&"asks".into()))
    );
    let sensor: Value =
        serde_json::from_str(&retained["homeassistant/sensor/wire_home_my_home/asking/config"])
            .expect("JSON");
    assert_eq!(
        (&sensor["state_topic"], &sensor["device"]["name"]),
        (&"my/home/asking".into(), &"Home router".into())
    );
    // A guest.
    server.seen(MAC);
    let event: Value = serde_json::from_str(&next(&lines, "my/home/event")).expect("JSON");
    assert_eq!(
        (&event["event_type"], &event["device"]["mac"]),
        (&"asks".into(), &MAC.into())
    );
    assert_eq!(next(&lines, "my/home/asking"), "1");
    change(&server, MAC, Change::Admission(Admission::Permitted));
    assert_eq!(next(&lines, "my/home/asking"), "0");
    // The end of the program without a goodbye.
    drop(server);
    assert_eq!(next(&lines, "my/home/status"), "offline");
    let _ = subscriber.kill();
    let _ = subscriber.wait();
}

#[test]
fn messages_wait_for_a_broker_that_is_away() {
    let port = TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("bound")
        .port();
    let server = server(false);
    let token = server.token();
    let mqtt = json!({ "url": format!("mqtt://127.0.0.1:{port}"), "user": "home", "password": "swordfish" });
    server.ask(
        &token,
        "POST",
        "/ws.v1/messages",
        &json!({ "mqtt": mqtt }).to_string(),
    );
    server.seen(MAC);
    until(&server, &token, "mqtt", |state| {
        state["waiting"] == 1 && state["error"].is_string()
    });
    let Some(_broker) = Broker::start("b", port) else {
        println!("skipped: no mosquitto");
        return;
    };
    let state = until(&server, &token, "mqtt", |state| {
        state["counts"]["sent"] == 1
    });
    assert_eq!(state["mqtt_state"]["waiting"], 0);
}
