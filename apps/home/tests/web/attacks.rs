//! Requests of pages of other origins, requests without a session, and malformed requests.

use super::server::{PASSWORD, Server};
use home::Change;
use std::io::{Read, Write};

const MAC: &str = "02:00:00:00:00:01";

fn cookie(server: &Server) -> String {
    let body = format!(r#"{{"password": "{PASSWORD}"}}"#);
    server.call("POST", "/ws.v1/session", &[], &body).cookie()
}

#[test]
fn nothing_but_signing_in_is_answered_without_a_session() {
    let server = Server::new();
    server.seen(MAC);
    let document = server.call("GET", "/openapi.json", &[], "").json();
    let mut tried = 0;
    for (path, calls) in document["paths"].as_object().expect("paths") {
        let concrete = path
            .replace("{eaddr}", MAC)
            .replace("{domain}", "a.example");
        for (method, call) in calls.as_object().expect("calls") {
            if method == "parameters" || call["security"].as_array().is_some_and(Vec::is_empty) {
                continue;
            }
            for (name, value) in [
                ("X-Nothing", "1"),
                ("Authorization", "Bearer 00"),
                ("Authorization", "Basic YTpi"),
                ("Cookie", "session="),
                ("Cookie", "session=00; __Host-session=00"),
            ] {
                let origin = ("Origin", format!("http://{}", server.http));
                let headers = [(name, value), (origin.0, origin.1.as_str())];
                let answer = server.call(&method.to_uppercase(), &concrete, &headers, "");
                assert_eq!(answer.status, 401, "{method} {path} {name}: {value}");
                tried += 1;
            }
        }
    }
    assert!(tried > 90, "{tried}");
    assert_eq!(server.home.lock().last_notice(), 1, "nothing has changed");
}

#[test]
fn pages_of_other_origins_change_nothing() {
    let server = Server::new();
    let cookie = cookie(&server);
    server.seen(MAC);
    let path = format!("/ws.v1/permit/{MAC}");
    let post = |headers: &[(&str, &str)]| {
        let headers = [&[("Cookie", cookie.as_str())], headers].concat();
        server.call("POST", &path, &headers, "").status
    };
    // Browsers send no SameSite cookie with these requests; with one they are refused all the same.
    let foreign: [&[(&str, &str)]; 7] = [
        &[],
        &[("Origin", "http://evil.example")],
        &[("Origin", "null")],
        &[("Origin", "http://127.0.0.1:1")],
        &[("Sec-Fetch-Site", "cross-site")],
        &[("Sec-Fetch-Site", "same-site")],
        &[("Sec-Fetch-Site", "none")],
    ];
    for headers in foreign {
        assert_eq!(post(headers), 403, "{headers:?}");
    }
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    assert_eq!(post(&[form, ("Origin", "http://evil.example")]), 403);
    // GET changes nothing, not even from our own page: an image on another page could send it.
    let own = format!("http://{}", server.http);
    for headers in [vec![], vec![("Sec-Fetch-Site", "same-origin")]] {
        let headers = [vec![("Cookie", cookie.as_str())], headers].concat();
        let answer = server.call("GET", &path, &headers, "");
        assert_eq!(answer.status, 405);
        assert!(answer.head.contains("allow: post"), "{}", answer.head);
        assert!(answer.body.contains("POST"), "{}", answer.body);
    }
    assert!(!server.device(MAC).is_admitted());
    // Its answers are for no other page.
    let read = [
        ("Cookie", cookie.as_str()),
        ("Sec-Fetch-Site", "cross-site"),
    ];
    assert_eq!(server.call("GET", "/ws.v1/devices", &read, "").status, 403);
    let preflight = [
        ("Origin", "http://evil.example"),
        ("Access-Control-Request-Method", "POST"),
    ];
    let answer = server.call("OPTIONS", &path, &preflight, "");
    assert!(
        !answer.head.contains("access-control-allow"),
        "{}",
        answer.head
    );
    assert_eq!(post(&[("Origin", &own)]), 200);
    assert_eq!(post(&[("Sec-Fetch-Site", "same-origin")]), 200);
    assert!(server.device(MAC).is_admitted());
}

#[test]
fn a_name_of_another_host_is_refused_on_every_path() {
    let server = Server::new();
    let token = format!("Bearer {}", server.token());
    for path in [
        "/",
        "/board.js",
        "/ws.v1/devices",
        "/ws.v1/session",
        "/nothing",
    ] {
        let rebound = [("Host", "evil.example"), ("Authorization", token.as_str())];
        let answer = server.call("GET", path, &rebound, "");
        assert_eq!(answer.status, 421, "{path}");
    }
    let named = [
        ("Host", "router.home.arpa"),
        ("Authorization", token.as_str()),
    ];
    assert_eq!(server.call("GET", "/ws.v1/devices", &named, "").status, 200);
    let absolute = format!(
        "GET http://evil.example/ HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        server.http
    );
    assert_eq!(server.send(absolute.as_bytes()).status, 421);
    let counters = server.ask(&token[7..], "GET", "/ws.v1/counters", "").json();
    assert_eq!(counters["requests_refused"]["host"], 6);
}

#[test]
fn every_answer_has_the_headers_that_keep_a_page_safe() {
    let server = Server::new();
    for path in [
        "/",
        "/board.js",
        "/board.css",
        "/ws.v1/session",
        "/ws.v1/devices",
        "/nothing",
    ] {
        let answer = server.call("GET", path, &[], "");
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';",
            "x-content-type-options: nosniff",
            "x-frame-options: deny",
            "cache-control: no-store",
            "referrer-policy: no-referrer",
        ] {
            assert!(answer.head.contains(header), "{path}: {header}");
        }
        assert!(!answer.head.contains("unsafe"), "{path}");
    }
}

#[test]
fn odd_paths_and_names_are_errors_and_change_nothing() {
    let server = Server::new();
    let token = server.token();
    let post = |path: &str| server.ask(&token, "POST", path, "").status;
    for path in [
        "/ws.v1/permit/",
        "/ws.v1/permit/..%2f..%2fetc%2fpasswd",
        "/ws.v1/permit/%00",
        "/ws.v1/permit/%ff%fe",
        "/ws.v1/permit/02:00:00:00:00:01/",
        "/ws.v1//permit/02:00:00:00:00:01",
        "/ws.v1/permit/../deny/02:00:00:00:00:01",
        "/WS.V1/permit/02:00:00:00:00:01",
        "/ws.v1/permit/<script>",
        "/ws.v1/permit/ff:ff:ff:ff:ff:ff",
        "/ws.v1/permit/00:00:00:00:00:00",
        "/ws.v1/deny-dns/02:00:00:00:00:01/%3Cscript%3E",
        "/ws.v1/deny-dns/02:00:00:00:00:01/a..b",
        "/../../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/board.js/../../Cargo.toml",
    ] {
        let status = post(path);
        assert!([400, 404, 405].contains(&status), "{path}: {status}");
        let read = server.ask(&token, "GET", path, "").status;
        assert!([400, 404, 405].contains(&read), "{path}: {read}");
    }
    let home = server.home.lock();
    assert!(
        home.devices()
            .all(|device| !device.is_admitted() && !device.domains.restrict())
    );
}

#[test]
fn names_of_devices_come_as_json_texts_whatever_is_in_them() {
    let server = Server::new();
    let token = server.token();
    server.seen(MAC);
    let names = [
        "<script>alert(1)</script>",
        "\"},{\"admission\":\"permitted\"",
        "data: x",
        "\u{202E}\u{2028}\\",
    ];
    for name in names {
        let change = Change::HostName(name.into());
        server
            .home
            .lock()
            .change(node::Time::ZERO, MAC.parse().expect("a MAC"), change)
            .expect("kept");
        let answer = server.ask(&token, "GET", &format!("/ws.v1/status/{MAC}"), "");
        assert!(
            answer.head.contains("content-type: application/json"),
            "{}",
            answer.head
        );
        assert_eq!(answer.json()["host_name"], name);
        assert_eq!(answer.json()["admission"], "waiting");
    }
}

#[test]
fn bodies_and_heads_that_are_too_long_are_refused() {
    let server = Server::new();
    let token = server.token();
    server.seen(MAC);
    let long = format!(r#"{{"name": "{}"}}"#, "x".repeat(8000));
    let path = format!("/ws.v1/devices/{MAC}");
    assert_eq!(server.ask(&token, "POST", &path, &long).status, 413);
    let sign_in = format!(r#"{{"password": "{}"}}"#, "x".repeat(8000));
    assert_eq!(
        server.call("POST", "/ws.v1/session", &[], &sign_in).status,
        413
    );
    let head = "x".repeat(40_000);
    let answer = server.call("GET", "/", &[("X-Long", &head)], "");
    assert!([0, 431].contains(&answer.status), "{}", answer.status);
    let nonsense: [&[u8]; 4] = [
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
    ];
    for bytes in nonsense {
        let mut stream = server.connect();
        stream.write_all(bytes).expect("sent");
        stream.shutdown(std::net::Shutdown::Write).expect("open");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer);
        assert!(text.is_empty() || text.starts_with("HTTP/1.1 4"), "{text}");
    }
    // Content-Length and chunked encoding together, as in request smuggling.
    let both = format!(
        "POST /ws.v1/session HTTP/1.1\r\nHost: {}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
        server.http
    );
    assert!((400..500).contains(&server.send(both.as_bytes()).status));
}

#[test]
fn silent_connections_do_not_keep_others_out() {
    let server = Server::new();
    let token = server.token();
    let silent: Vec<_> = (0..200)
        .map(|number| {
            let mut stream = server.connect();
            if number % 2 == 0 {
                let _ = stream.write_all(b"POST /ws.v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4000\r\n\r\n{");
            }
            stream
        })
        .collect();
    assert_eq!(server.ask(&token, "GET", "/ws.v1/devices", "").status, 200);
    let counters = server.ask(&token, "GET", "/ws.v1/counters", "").json();
    let count = |name: &str| counters["connections"][name].as_u64().expect("a count");
    assert!(count("gave_way") + count("too_many") > 100, "{counters}");
    drop(silent);
}
