//! Invitations: the page for guests, from the addresses of devices, and attempts to get in without one.

use super::server::{PASSWORD, Server};
use home::Change;
use home::device::Admission;
use home::plan::Plan;
use home::web::sessions;
use node::Time;
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::atomic::Ordering;

const MACS: [&str; 4] = [
    "02:00:00:00:00:01",
    "02:00:00:00:00:02",
    "02:00:00:00:00:03",
    "02:00:00:00:00:04",
];

/// A home on loopback addresses, from which requests can come as from its devices, with four that wait.
fn server() -> Server {
    let prepare = |store: &_| sessions::set_password(store, PASSWORD).expect("a password");
    let server = Server::with(prepare, |options| {
        options.join = Some("127.0.0.1:0".parse().expect("an address"));
    });
    let journal = server.store.journal();
    let plan = Plan::new(Ipv4Addr::new(127, 2, 0, 0), 16).expect("a plan");
    *server.home.lock() = home::Home::new(plan, journal);
    MACS.iter().for_each(|mac| server.seen(mac));
    server
}

fn make(server: &Server, token: &str, devices: u16) -> Value {
    let body = json!({ "hours": 1, "devices": devices, "person": "Guests" });
    let answer = server.ask(token, "POST", "/ws.v1/invitations", &body.to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn code(made: &Value) -> String {
    let url = made["url"].as_str().expect("a link");
    url.split_once("/#").expect("a code").1.into()
}

/// Opens an invitation from the address of a device: status and reason.
fn join(server: &Server, made: &Value, index: usize, code: &str) -> (u16, String) {
    let address = {
        let home = server.home.lock();
        let device = home
            .device(MACS[index].parse().expect("a MAC"))
            .expect("there");
        home.plan.device(device.slot)
    };
    from(made, &address.to_string(), code)
}

fn from(made: &Value, address: &str, code: &str) -> (u16, String) {
    let url = made["url"].as_str().expect("a link");
    let page = url.split_once("/#").expect("a code").0;
    let body = json!({ "code": code }).to_string();
    let output = Command::new("curl")
        .args([
            "-s",
            "--max-time",
            "20",
            "--interface",
            address,
            "-w",
            "\n%{http_code}",
            "-H",
            "Content-Type: application/json",
            "-d",
            &body,
        ])
        .arg(format!("{page}/join"))
        .output()
        .expect("curl");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (body, status) = text.rsplit_once('\n').expect("a status");
    (status.parse().expect("a number"), body.into())
}

#[test]
fn a_guest_who_waits_is_permitted_by_the_link_and_the_board_shows_who_used_it() {
    let server = server();
    let token = server.token();
    let made = make(&server, &token, 2);
    let code = code(&made);
    assert_eq!(code.len(), 32, "128 bits");
    assert!(
        made["qr"]["size"]
            .as_u64()
            .is_some_and(|size| (29..60).contains(&size))
    );
    assert_eq!(join(&server, &made, 0, &code).0, 200);
    let device = server.device(MACS[0]);
    assert!(device.is_admitted());
    assert_eq!(device.person.as_deref(), Some("Guests"));
    // Once for each device, and for as many devices as stated.
    assert_eq!(join(&server, &made, 0, &code).0, 403, "it waits no longer");
    assert_eq!(join(&server, &made, 1, &code).0, 200);
    let (status, reason) = join(&server, &made, 2, &code);
    assert_eq!(status, 403);
    assert!(reason.contains("not valid, or no longer"), "{reason}");
    assert!(!server.device(MACS[2]).is_admitted());
    let list = server.ask(&token, "GET", "/ws.v1/invitations", "");
    assert!(!list.body.contains(&code) && !list.body.contains("hash"));
    let used: Vec<Value> = list.json()[0]["used"].as_array().expect("a list").clone();
    assert_eq!(
        used.iter().map(|each| &each["mac"]).collect::<Vec<_>>(),
        [MACS[0], MACS[1]]
    );
    assert_eq!(list.json()[0]["is_valid"], false);
    // The store has no code.
    let stored = server
        .store
        .setting("invitations")
        .expect("read")
        .expect("kept");
    assert!(!String::from_utf8_lossy(&stored).contains(&code));
}

#[test]
fn an_invitation_ends_by_its_expiry_and_when_it_is_revoked() {
    let server = server();
    let token = server.token();
    let (first, second) = (make(&server, &token, 5), make(&server, &token, 5));
    let id = second["invitation"]["id"].as_str().expect("an id");
    assert_eq!(
        server
            .ask(&token, "DELETE", &format!("/ws.v1/invitations/{id}"), "")
            .status,
        204
    );
    assert_eq!(
        server
            .ask(&token, "DELETE", "/ws.v1/invitations/none", "")
            .status,
        404
    );
    assert_eq!(join(&server, &second, 0, &code(&second)).0, 403);
    assert_eq!(join(&server, &first, 0, &code(&first)).0, 200);
    server.seconds.fetch_add(3600, Ordering::Relaxed);
    assert_eq!(join(&server, &first, 1, &code(&first)).0, 403);
    assert!(!server.device(MACS[1]).is_admitted());
}

#[test]
fn a_link_works_for_devices_that_wait_alone() {
    let server = server();
    let token = server.token();
    let made = make(&server, &token, 20);
    let code = code(&made);
    for change in [
        Change::Admission(Admission::Denied),
        Change::Blacklisted(true),
    ] {
        let mut home = server.home.lock();
        home.change(
            Time::from_secs(1000),
            MACS[0].parse().expect("a MAC"),
            change,
        )
        .expect("kept");
        drop(home);
        assert_eq!(join(&server, &made, 0, &code).0, 403);
    }
    // Addresses of no device: the machine's own, a gateway's, the router's, and a free one.
    for address in [
        "127.0.0.1",
        "127.2.0.9",
        "127.2.0.1",
        "127.2.9.2",
        "127.2.255.254",
    ] {
        assert_eq!(from(&made, address, &code).0, 403, "{address}");
    }
    assert_eq!(server.device(MACS[0]).admission, Admission::Denied);
    let list = server.ask(&token, "GET", "/ws.v1/invitations", "").json();
    assert_eq!(list[0]["used"], json!([]));
}

#[test]
fn guessed_codes_are_limited_and_the_page_has_nothing_else() {
    let server = server();
    let token = server.token();
    let made = make(&server, &token, 20);
    let right = code(&made);
    let statuses: Vec<u16> = (0..8)
        .map(|guess| join(&server, &made, 0, &format!("{guess:032x}")).0)
        .collect();
    assert_eq!(statuses, [403, 403, 403, 403, 403, 429, 429, 429]);
    assert_eq!(
        join(&server, &made, 0, &right).0,
        429,
        "also for the right code"
    );
    // A device that does not wait costs no guess, and another one that waits is not locked out.
    assert_eq!(join(&server, &made, 1, &right).0, 200);
    server.seconds.fetch_add(60, Ordering::Relaxed);
    assert_eq!(join(&server, &made, 0, &right).0, 200);
    for body in [
        "",
        "{}",
        "[",
        r#"{"code": 1}"#,
        &format!(r#"{{"code": "{}"}}"#, "a".repeat(5000)),
    ] {
        let output = Command::new("curl")
            .args([
                "-s",
                "-o",
                "/dev/null",
                "-w",
                "%{http_code}",
                "-H",
                "Content-Type: application/json",
                "-d",
                body,
            ])
            .arg(
                made["url"]
                    .as_str()
                    .expect("a link")
                    .split_once("/#")
                    .expect("a code")
                    .0
                    .to_string()
                    + "/join",
            )
            .output()
            .expect("curl");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "403", "{body:.20}");
    }
    let page = made["url"]
        .as_str()
        .expect("a link")
        .split_once("/#")
        .expect("a code")
        .0
        .to_string();
    for (path, status) in [
        ("/", "200"),
        ("/join.js", "200"),
        ("/board.css", "200"),
        ("/ws.v1/devices", "404"),
        ("/board.js", "404"),
        ("/join", "405"),
    ] {
        let output = Command::new("curl")
            .args(["-s", "-o", "/dev/null", "-w", "%{http_code}"])
            .arg(format!("{page}{path}"))
            .output()
            .expect("curl");
        assert_eq!(String::from_utf8_lossy(&output.stdout), status, "{path}");
    }
    let output = Command::new("curl")
        .args([
            "-s",
            "-o",
            "/dev/null",
            "-w",
            "%{http_code}",
            "-H",
            "Host: evil.example",
            &page,
        ])
        .output();
    assert_eq!(
        String::from_utf8_lossy(&output.expect("curl").stdout),
        "421"
    );
}

#[test]
fn numbers_of_invitations_are_bounded_and_making_one_needs_a_session() {
    let server = server();
    let token = server.token();
    let post = |body: Value| {
        server
            .ask(&token, "POST", "/ws.v1/invitations", &body.to_string())
            .status
    };
    for body in [
        json!({ "hours": 0, "devices": 1 }),
        json!({ "hours": 721, "devices": 1 }),
        json!({ "hours": 1, "devices": 0 }),
        json!({ "hours": 1, "devices": 21 }),
        json!({ "hours": 1, "devices": 1, "person": "a\u{7}" }),
    ] {
        assert_eq!(post(body.clone()), 400, "{body}");
    }
    let statuses: Vec<u16> = (0..17)
        .map(|_| post(json!({ "hours": 1, "devices": 1 })))
        .collect();
    assert_eq!(statuses[..16], [200; 16]);
    assert_eq!(statuses[16], 409);
    assert_eq!(
        server
            .call(
                "POST",
                "/ws.v1/invitations",
                &[],
                r#"{"hours": 1, "devices": 1}"#
            )
            .status,
        401
    );
    let without = Server::new();
    let token = without.token();
    let answer = without.ask(
        &token,
        "POST",
        "/ws.v1/invitations",
        r#"{"hours": 1, "devices": 1}"#,
    );
    assert_eq!(answer.status, 409);
    assert!(answer.body.contains("no page for guests"));
}
