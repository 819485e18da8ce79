//! Requests from pages of other sites, malformed requests, and addresses that are not loopback.

use super::server::{LAB, Served};

#[test]
fn pages_of_other_sites_neither_read_nor_steer() {
    let served = Served::new(LAB);
    let order = r#"{"run": false}"#;
    for header in [
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
        // DNS rebinding.
        ("Host", "evil.example"),
    ] {
        for (method, path, body) in [
            ("POST", "/api/order", order),
            ("GET", "/api/lab", ""),
            ("GET", "/api/events", ""),
            ("POST", "/api/stream/query", r#"{"sql": "SELECT 1"}"#),
        ] {
            let answer = served.call(method, path, &[header], body);
            assert_eq!(answer.status, 403, "{header:?} {path}: {}", answer.body);
        }
    }
    let same = format!("http://{}", served.address);
    let answer = served.call("POST", "/api/order", &[("Origin", &same)], order);
    assert_eq!(answer.status, 200);
    // A form of a page cannot send JSON.
    let plain = "POST /api/order with a form";
    let answer = served.call("POST", "/api/order", &[("Content-Length", "14")], "");
    assert_ne!(answer.status, 200, "{plain}");
}

#[test]
fn wrong_requests_have_an_answer() {
    let served = Served::new(LAB);
    let long = format!(r#"{{"show": "{}"}}"#, "x".repeat(5000));
    for (method, path, body, status) in [
        ("GET", "/nothing", "", 404),
        ("GET", "/api/order", "", 405),
        ("POST", "/api/order", "{", 400),
        ("POST", "/api/order", r#"{"halt": 1}"#, 422),
        ("POST", "/api/order", &long, 413),
        (
            "POST",
            "/api/stream/query",
            r#"{"sql": "DROP TABLE Links"}"#,
            400,
        ),
    ] {
        let answer = served.call(method, path, &[], body);
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.body);
    }
}

#[test]
fn an_address_that_others_can_reach_is_refused() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        let error = watch::open(address.parse().unwrap())
            .unwrap_err()
            .to_string();
        assert!(error.contains("not a loopback address"), "{error}");
    }
    let first = watch::open("127.0.0.1:0".parse().unwrap()).unwrap();
    let error = watch::open(first.address()).unwrap_err().to_string();
    assert!(error.contains("in use"), "{error}");
}
