//! Clients of port mapping protocols ask the router, and a host outside reaches the host inside by the mapping.

use super::{counter, have, kernels, run};
use router::router::{Config, PortConfig};
use router::{nat, port_mapping};
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::Duration;

const INSIDE: &str = "ip addr add 10.0.0.2/24 dev k; ip route add default via 10.0.0.1";
const OUTSIDE: &str = "ip addr add 198.51.100.7/24 dev k";

pub fn config(nat: nat::Config) -> Config {
    let port = |address: &str, outside| PortConfig {
        address: vec![address.parse().unwrap()],
        outside,
        ..PortConfig::default()
    };
    Config {
        port: vec![port("10.0.0.1/24", false), port("198.51.100.1/24", true)],
        nat: Some(nat),
        port_mapping: Some(port_mapping::Config {
            upnp: true,
            ..port_mapping::Config::default()
        }),
        ..Config::default()
    }
}

/// Whether a datagram from outside to an external port reaches the inside host at `port`.
pub fn reaches(kernels: &super::Kernels, external: u16, port: u16) -> bool {
    let inside = kernels.0[0].enter(move || UdpSocket::bind(("10.0.0.2", port)).unwrap());
    let inside = inside.unwrap();
    let timeout = Duration::from_millis(500);
    inside.set_read_timeout(Some(timeout)).unwrap();
    let sent = kernels.0[1].enter(move || {
        let socket = UdpSocket::bind("198.51.100.7:0").unwrap();
        socket
            .send_to(b"hello", ("198.51.100.1", external))
            .unwrap();
    });
    sent.unwrap();
    inside.recv(&mut [0; 16]).is_ok()
}

#[test]
fn natpmpc_gets_the_address_and_a_mapping_and_ends_it() {
    if !have(&["natpmpc"]) {
        return;
    }
    let Some((kernels, ports)) = kernels(&[INSIDE, OUTSIDE]) else {
        return;
    };
    let router = run(config(nat::Config::default()), ports);
    let text = kernels.output(0, "natpmpc -g 10.0.0.1");
    assert!(text.contains("Public IP address : 198.51.100.1"), "{text}");
    assert!(!reaches(&kernels, 40_000, 4_000));
    let text = kernels.output(0, "natpmpc -g 10.0.0.1 -a 40000 4000 udp 600");
    let granted = "Mapped public port 40000 protocol UDP to local port 4000 liftime 600";
    assert!(text.contains(granted), "{text}");
    assert!(reaches(&kernels, 40_000, 4_000));
    kernels.output(0, "natpmpc -g 10.0.0.1 -a 0 4000 udp 0");
    assert!(!reaches(&kernels, 40_000, 4_000));
    kernels.end();
    let outcome = router.join().unwrap();
    assert_eq!(counter(&outcome, "port_mapping_granted"), 2);
}

/// Path of `pcpnatpmpc`, the client of libpcpnatpmp. Debian has no package of it; build it from its sources.
#[test]
fn pcpnatpmpc_gets_mappings_with_filters_and_peers_by_pcp() {
    if !have(&["pcpnatpmpc"]) {
        return;
    }
    let Some((kernels, ports)) = kernels(&[INSIDE, OUTSIDE]) else {
        return;
    };
    let router = run(config(nat::Config::default()), ports);
    let client = |arguments: &str| {
        let command = format!("pcpnatpmpc -d -v 2 -s 10.0.0.1 -i 10.0.0.2:{arguments}");
        kernels.try_output(0, &command)
    };
    let (_, text) = client("4000 -u -e 0.0.0.0:40000 -l 600 -f");
    assert!(text.contains("Flow signaling succeeded"), "{text}");
    assert!(
        text.contains("198.51.100.1") && text.contains("40000"),
        "{text}"
    );
    assert!(reaches(&kernels, 40_000, 4_000));
    // The same port for another endpoint: another one, or none with PREFER_FAILURE (RFC 6887 section 13.2).
    let (_, text) = client("4001 -u -e 198.51.100.1:40000 -l 600 -f");
    assert!(text.contains("Flow signaling succeeded"), "{text}");
    let (_, text) = client("4002 -u -e 198.51.100.1:40000 -l 600 -f -P");
    assert!(!text.contains("Flow signaling succeeded"), "{text}");
    // Only another remote host may send to it.
    let (_, text) = client("4003 -u -e 0.0.0.0:40003 -l 600 -f -F [::ffff:198.51.100.9/128]:0");
    assert!(text.contains("Flow signaling succeeded"), "{text}");
    assert!(!reaches(&kernels, 40_003, 4_003));
    let (_, text) = client("4004 -u -e 0.0.0.0:40004 -l 600 -f -F [::ffff:198.51.100.7/128]:0");
    assert!(text.contains("Flow signaling succeeded"), "{text}");
    assert!(reaches(&kernels, 40_004, 4_004));
    // The client's IPv4 prefix length omits the 96 bits before the address (RFC 6887 section 13.3).
    let (_, text) = client("4007 -u -l 600 -f -F [198.51.100.0/24]:0");
    assert!(text.contains("result_code 6"), "{text}");
    let (_, text) = client("4005 -u -p 198.51.100.7:9 -l 600 -f");
    assert!(text.contains("Flow signaling succeeded"), "{text}");
    // Another host's.
    let (_, text) = client("4006 -u -3 10.0.0.3 -l 600 -f");
    assert!(!text.contains("Flow signaling succeeded"), "{text}");
    kernels.end();
    let outcome = router.join().unwrap();
    assert_eq!(counter(&outcome, "port_mapping_granted"), 5);
}

/// Response to a request over TCP from the inside host, or from the outside one.
fn http(kernels: &super::Kernels, number: usize, to: &'static str, request: String) -> String {
    let done = kernels.0[number].enter(move || {
        let Ok(mut stream) = TcpStream::connect(to) else {
            return String::from("refused");
        };
        let timeout = Duration::from_secs(15);
        stream.set_read_timeout(Some(timeout)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        String::from_utf8(text).unwrap()
    });
    done.unwrap()
}

fn soap(host: &str, action: &str, arguments: &str) -> String {
    let service = "urn:schemas-upnp-org:service:WANIPConnection:2";
    let body = format!(
        "<?xml version=\"1.0\"?><s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body>\
         <u:{action} xmlns:u=\"{service}\">{arguments}</u:{action}></s:Body></s:Envelope>"
    );
    format!(
        "POST /ctl/wanipc HTTP/1.1\r\nHost: {host}\r\nSOAPAction: \"{service}#{action}\"\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn add(client: &str, external: u16, internal: u16) -> String {
    format!(
        "<NewRemoteHost></NewRemoteHost><NewExternalPort>{external}</NewExternalPort><NewProtocol>UDP</NewProtocol>\
         <NewInternalPort>{internal}</NewInternalPort><NewInternalClient>{client}</NewInternalClient>\
         <NewEnabled>1</NewEnabled><NewPortMappingDescription>a &lt;b&gt;</NewPortMappingDescription>\
         <NewLeaseDuration>600</NewLeaseDuration>"
    )
}

#[test]
fn upnpc_finds_the_gateway_and_adds_lists_and_deletes_mappings() {
    if !have(&["upnpc"]) {
        return;
    }
    let Some((kernels, ports)) = kernels(&[INSIDE, OUTSIDE]) else {
        return;
    };
    let router = run(config(nat::Config::default()), ports);
    let upnpc = |arguments: &str| kernels.output(0, &format!("upnpc -i -m k {arguments}"));
    let text = upnpc("-s");
    assert!(text.contains("ExternalIPAddress = 198.51.100.1"), "{text}");
    assert!(text.contains("Status : Connected"), "{text}");
    let text = upnpc("-e test -a 10.0.0.2 4000 40000 UDP 600");
    assert!(
        text.contains("external 198.51.100.1:40000 UDP is redirected to internal 10.0.0.2:4000"),
        "{text}"
    );
    assert!(reaches(&kernels, 40_000, 4_000));
    let text = upnpc("-l");
    assert!(text.contains("UDP 40000->10.0.0.2:4000"), "{text}");
    assert!(text.contains("'test'"), "{text}");
    let text = upnpc("-n 10.0.0.2 5000 40000 TCP 600");
    assert!(
        text.contains("is redirected to internal 10.0.0.2:5000"),
        "{text}"
    );
    upnpc("-d 40000 UDP");
    assert!(!reaches(&kernels, 40_000, 4_000));
    kernels.end();
    assert_eq!(counter(&router.join().unwrap(), "port_mapping_granted"), 2);
}

#[test]
fn the_gateway_serves_a_host_for_itself_alone_and_strictly() {
    let Some((kernels, ports)) = kernels(&[INSIDE, OUTSIDE]) else {
        return;
    };
    let router = run(config(nat::Config::default()), ports);
    let own = "10.0.0.1:49152";
    let ask = |request: String| http(&kernels, 0, "10.0.0.1:49152", request);
    let page = ask(format!("GET /igd.xml HTTP/1.1\r\nHost: {own}\r\n\r\n"));
    assert!(
        page.starts_with("HTTP/1.1 200 OK") && page.contains("WANIPConnection:2"),
        "{page}"
    );
    let page = ask(format!("GET /wanipc.xml HTTP/1.1\r\nHost: {own}\r\n\r\n"));
    assert!(page.contains("<name>AddAnyPortMapping</name>"));
    // Another host's address, a name instead of the address, unknown actions, arguments that are not there.
    let text = ask(soap(own, "AddPortMapping", &add("10.0.0.3", 40_000, 4_000)));
    assert!(text.contains("<errorCode>606"), "{text}");
    let text = ask(soap("router.example", "GetStatusInfo", ""));
    assert!(text.starts_with("HTTP/1.1 400"), "{text}");
    assert!(ask(soap(own, "ForceTermination", "")).contains("<errorCode>401"));
    assert!(ask(soap(own, "AddPortMapping", "")).contains("<errorCode>402"));
    assert!(
        ask(soap(own, "AddPortMapping", &add("10.0.0.2", 0, 4_000))).contains("<errorCode>716")
    );
    assert!(
        ask(soap(own, "AddPortMapping", &add("10.0.0.2", 80, 4_000))).contains("<errorCode>718")
    );
    assert!(
        ask(soap(own, "AddPortMapping", &add("10.0.0.2", 40_000, 4_000)))
            .starts_with("HTTP/1.1 200")
    );
    let place = |port: u16| {
        format!(
            "<NewRemoteHost/><NewExternalPort>{port}</NewExternalPort><NewProtocol>UDP</NewProtocol>"
        )
    };
    let text = ask(soap(own, "GetSpecificPortMappingEntry", &place(40_000)));
    assert!(
        text.contains("<NewPortMappingDescription>a &lt;b&gt;</New"),
        "{text}"
    );
    let range = "<NewStartPort>1</NewStartPort><NewEndPort>65535</NewEndPort><NewProtocol>UDP</NewProtocol>\
                 <NewManage>0</NewManage><NewNumberOfPorts>0</NewNumberOfPorts>";
    let text = ask(soap(own, "GetListOfPortMappings", range));
    assert!(
        text.contains("&lt;p:NewExternalPort&gt;40000&lt;"),
        "{text}"
    );
    assert!(ask(soap(own, "DeletePortMappingRange", range)).starts_with("HTTP/1.1 200"));
    assert!(ask(soap(own, "DeletePortMapping", &place(40_000))).contains("<errorCode>714"));
    assert!(
        ask(soap(
            own,
            "GetGenericPortMappingEntry",
            "<NewPortMappingIndex>0</NewPortMappingIndex>"
        ))
        .contains("<errorCode>713")
    );
    // A request that does not go on is reset in the end.
    let text = ask(String::from("POST /ctl/wanipc HTTP/1.1\r\nContent-Le"));
    assert_eq!(text, "");
    // The outside finds nothing.
    let outside = kernels.0[1].enter(|| {
        let socket = UdpSocket::bind("198.51.100.7:0").unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(500)))
            .unwrap();
        for port in [1_900, 5_351] {
            socket.send_to(&[0, 0], ("198.51.100.1", port)).unwrap();
        }
        socket.recv(&mut [0; 64]).is_err()
    });
    assert!(outside.unwrap());
    kernels.end();
    assert_eq!(counter(&router.join().unwrap(), "nat_sessions_made"), 0);
}
