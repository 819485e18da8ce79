//! Every call.

use super::server::{PASSWORD, Server};
use home::Change;
use home::device::Admission;
use node::Time;
use std::process::Command;

const MAC: &str = "02:00:00:00:00:01";

#[test]
fn each_call_of_table_4_1_does_what_it_says() {
    let server = Server::new();
    let token = server.token();
    let post = |path: &str| server.ask(&token, "POST", &format!("/ws.v1/{path}"), "");
    let get = |path: &str| server.ask(&token, "GET", &format!("/ws.v1/{path}"), "");
    let macs = |path: &str| -> Vec<String> {
        let answer = get(path);
        assert_eq!(answer.status, 200, "{answer:?}");
        let list = answer.json();
        let list = list.as_array().expect("a list").iter();
        list.map(|device| device["mac"].as_str().expect("a MAC").into())
            .collect()
    };
    server.seen(MAC);
    server.seen("02:00:00:00:00:02");
    for path in [
        "status",
        "status/",
        "dhcp-status",
        "dhcp-status/",
        "blacklist-status",
        "blacklist-status/",
    ] {
        assert_eq!(macs(path), Vec::<String>::new(), "{path}");
    }
    assert_eq!(get(&format!("status/{MAC}")).json()["admission"], "waiting");

    let answer = post(&format!("permit/{MAC}"));
    assert_eq!(
        (answer.status, &answer.json()["admission"]),
        (200, &"permitted".into())
    );
    assert!(server.device(MAC).is_admitted());
    assert_eq!(macs("status"), [MAC]);

    assert_eq!(post("blacklist/020000000001").status, 200);
    assert!(!server.device(MAC).is_admitted());
    assert_eq!(macs("blacklist-status"), [MAC]);
    assert_eq!(post("whitelist/02-00-00-00-00-01").status, 200);
    assert!(server.device(MAC).is_admitted());

    assert_eq!(post(&format!("deny-dns/{MAC}/Example.COM")).status, 200);
    assert_eq!(
        post(&format!("permit-dns/{MAC}/good.example.com")).status,
        200
    );
    let domains = server.device(MAC).domains;
    assert!(!domains.permits("a.example.com") && domains.permits("good.example.com"));
    let shown = get(&format!("status/{MAC}")).json();
    assert_eq!(shown["domains"][0]["domain"], "example.com");
    assert_eq!(shown["domains"][0]["permitted"], false);

    let mac = MAC.parse().expect("a MAC");
    server.home.lock().device_mut(mac).expect("there").lease_end = Some(Time::from_secs(4600));
    let leases = get("dhcp-status").json();
    assert_eq!(leases[0]["address"], "10.2.0.6");
    assert_eq!(leases[0]["lease_end"], 1_800_004_600_u64);

    assert_eq!(post(&format!("deny/{MAC}")).status, 200);
    assert!(!server.device(MAC).is_admitted());
    assert_eq!(macs("status"), Vec::<String>::new());
    // A decision about a device that has not appeared yet.
    assert_eq!(post("permit/02:00:00:00:00:09").status, 200);
    assert!(server.device("02:00:00:00:00:09").is_admitted());
}

#[test]
fn the_calls_of_the_board_change_names_pauses_and_domains() {
    let server = Server::new();
    let token = server.token();
    let ask = |method: &str, path: &str, body: &str| server.ask(&token, method, path, body);
    server.seen(MAC);
    let device = format!("/ws.v1/devices/{MAC}");
    let body = r#"{"name": "Toms Laptop", "person": "Tom", "paused": true, "others_denied": true}"#;
    let answer = ask("POST", &device, body).json();
    assert_eq!(
        (&answer["label"], &answer["person"]),
        (&"Toms Laptop".into(), &"Tom".into())
    );
    assert_eq!(
        (&answer["paused"], &answer["others_denied"]),
        (&true.into(), &true.into())
    );
    assert!(server.device(MAC).paused);
    assert_eq!(
        ask("POST", &device, r#"{"name": ""}"#).json()["name"],
        serde_json::Value::Null
    );
    for (body, status) in [
        (r#"{"name": "a\u0007b"}"#, 400),
        (&*format!(r#"{{"name": "{}"}}"#, "x".repeat(65)), 400),
        (r#"{"nmae": "x"}"#, 422),
        ("[", 400),
    ] {
        let answer = ask("POST", &device, body);
        assert_eq!(answer.status, status, "{body}: {answer:?}");
        assert!(answer.json()["error"].is_string());
    }
    ask("POST", &format!("/ws.v1/deny-dns/{MAC}/a.example"), "");
    let answer = ask("DELETE", &format!("{device}/domains/a.example"), "");
    assert_eq!(answer.json()["domains"], serde_json::json!([]));
    let history = ask("GET", &format!("{device}/history"), "").json();
    assert_eq!(
        history[0]["change"]["domain"],
        serde_json::json!(["a.example", null])
    );
    assert_eq!(history[0]["at"], 1_800_001_000_u64);
    assert_eq!(history.as_array().map(Vec::len), Some(7));

    let all = ask("GET", "/ws.v1/devices", "").json();
    assert_eq!(all["devices"].as_array().map(Vec::len), Some(1));
    assert!(
        all["devices"][0].get("domains").is_none(),
        "rules are of one device alone"
    );
    assert_eq!(ask("DELETE", &device, "").status, 204);
    assert_eq!(ask("DELETE", &device, "").status, 404);
    assert_eq!(ask("POST", &device, "{}").status, 404);
    let counters = ask("GET", "/ws.v1/counters", "").json();
    assert!(
        counters["connections"]["accepted"]
            .as_u64()
            .is_some_and(|count| count > 5)
    );
}

#[test]
fn people_have_a_pause_a_bedtime_and_a_quota() {
    let server = Server::new();
    let token = server.token();
    let ask = |method: &str, path: &str, body: &str| server.ask(&token, method, path, body);
    server.seen(MAC);
    let device = format!("/ws.v1/devices/{MAC}");
    let anna = "/ws.v1/people/Anna%20%2F%20%3Cb%3E";
    assert_eq!(ask("GET", anna, "").status, 404, "owns no device");
    assert_eq!(ask("POST", anna, r#"{"paused": true}"#).status, 404);
    ask("POST", &format!("/ws.v1/permit/{MAC}"), "");
    assert_eq!(
        ask("POST", &device, r#"{"person": "Anna / <b>"}"#).status,
        200
    );
    let body = r#"{"paused": true, "bedtime": ["mon-sun 21:00-7:00"]}"#;
    let answer = ask("POST", anna, body);
    assert_eq!(answer.status, 422);
    assert!(
        answer.body.contains("`7:00` is not a time of the day"),
        "{answer:?}"
    );
    let body = r#"{"paused": true, "bedtime": ["mon-sun 21:00-07:00"], "quota": {"bytes": 5000, "reset": "04:00"}}"#;
    let answer = ask("POST", anna, body).json();
    assert_eq!(answer["bedtime"], serde_json::json!(["daily 21:00-07:00"]));
    assert_eq!(answer["quota"]["reset"], "04:00");
    assert_eq!(answer["devices"], serde_json::json!([MAC]));
    assert!(!server.device(MAC).is_admitted());
    assert_eq!(ask("GET", &device, "").json()["held"]["why"], "owner");
    let all = ask("GET", "/ws.v1/people", "").json();
    assert_eq!(all[0]["person"], "Anna / <b>");
    let answer = ask(
        "POST",
        anna,
        r#"{"paused": false, "bedtime": [], "quota": null}"#,
    )
    .json();
    assert_eq!(
        (&answer["quota"], &answer["paused"]),
        (&serde_json::Value::Null, &false.into())
    );
    assert!(server.device(MAC).is_admitted());
    // Limits of the device itself.
    let body = r#"{"bedtime": ["daily 00:00-24:00"], "quota": {"bytes": 1}}"#;
    let answer = ask("POST", &device, body).json();
    assert_eq!(answer["quota"]["reset"], "00:00");
    assert_eq!(answer["held"]["why"], "bedtime");
    assert!(!server.device(MAC).is_admitted());
    let answer = ask("POST", &device, r#"{"bedtime": [], "quota": null}"#).json();
    assert_eq!(answer["held"], serde_json::Value::Null);
}

#[test]
fn a_change_that_cannot_be_kept_is_an_error() {
    let server = Server::new();
    let token = server.token();
    server.seen(MAC);
    struct Full;
    impl home::Journal for Full {
        fn keep(&mut self, _: packet::ethernet::Mac, _: &Change) -> Result<(), String> {
            Err("database or disk is full".into())
        }

        fn keep_person(&mut self, _: &str, _: Option<&home::people::Person>) -> Result<(), String> {
            Err("database or disk is full".into())
        }

        fn keep_used(
            &mut self,
            _: &[(home::people::Owner, home::limits::Used)],
        ) -> Result<(), String> {
            Err("database or disk is full".into())
        }
    }
    let mut full = home::Home::new(home::plan::Plan::default(), Box::new(Full));
    let mut device = home::Device::new(MAC.parse().expect("a MAC"), 1);
    device.admission = Admission::Waiting;
    assert!(full.restore(device));
    *server.home.lock() = full;
    let answer = server.ask(&token, "POST", &format!("/ws.v1/permit/{MAC}"), "");
    assert_eq!(answer.status, 507);
    assert!(answer.body.contains("disk is full"), "{}", answer.body);
    assert!(!server.device(MAC).is_admitted());
}

#[test]
fn https_has_a_certificate_that_stays_and_its_fingerprint_is_known() {
    let server = Server::new();
    let at = format!("https://{}", server.https);
    let curl = |arguments: &[&str]| {
        let mut curl = Command::new("curl");
        curl.args(["-s", "-S", "--max-time", "20", "-w", "\n%{http_code}"])
            .args(arguments);
        let output = curl.output();
        output.map(|output| {
            format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            )
        })
    };
    let Ok(refused) = curl(&[&at]) else {
        println!("skipped: no curl");
        return;
    };
    assert!(
        refused.contains("self") && refused.ends_with('\n'),
        "{refused}"
    );
    let certificate = server
        .store
        .setting("certificate")
        .expect("read")
        .expect("kept");
    let pem = std::env::temp_dir().join(format!("home-certificate-{}.der", std::process::id()));
    std::fs::write(&pem, &certificate).expect("written");
    let pem_text = Command::new("openssl")
        .args(["x509", "-inform", "DER", "-in"])
        .arg(&pem)
        .output();
    std::fs::remove_file(&pem).expect("there");
    let Ok(pem_text) = pem_text else {
        println!("skipped: no openssl");
        return;
    };
    let authority = pem.with_extension("pem");
    std::fs::write(&authority, pem_text.stdout).expect("written");
    let trusted = authority.to_string_lossy().into_owned();
    // Trusted by its file, it fits the address and the name.
    let resolved = format!("router.home.arpa:{}:127.0.0.1", server.https.port());
    let named = format!("https://router.home.arpa:{}", server.https.port());
    for arguments in [
        vec![at.as_str()],
        vec!["--resolve", resolved.as_str(), named.as_str()],
    ] {
        let answer = curl(&[&["--cacert", &trusted], &arguments[..]].concat()).expect("curl");
        assert!(answer.ends_with("\n200"), "{answer}");
        assert!(answer.contains("<!doctype html>"), "{answer}");
    }
    // The cookie is for HTTPS and this host alone.
    let body = format!(r#"{{"password": "{PASSWORD}"}}"#);
    let session = format!("{at}/ws.v1/session");
    let answer = curl(&[
        "-k",
        "-i",
        "-H",
        "Content-Type: application/json",
        "-d",
        &body,
        &session,
    ])
    .expect("curl");
    let cookie = answer
        .lines()
        .find(|line| line.starts_with("set-cookie: __Host-session="))
        .expect("a cookie");
    for part in ["; Path=/", "; HttpOnly", "; SameSite=Strict", "; Secure"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    std::fs::remove_file(&authority).expect("there");
}
