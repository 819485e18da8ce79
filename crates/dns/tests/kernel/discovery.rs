//! Relays between links: Avahi on both, and a control point and a device of UPnP made of sockets.

use super::*;
use dns::service::{mdns, ssdp};
use std::net::{Ipv4Addr, UdpSocket};

const SERVICES: &str = "\
<?xml version=\"1.0\"?><!DOCTYPE service-group SYSTEM \"avahi-service.dtd\">
<service-group><name>Office printer</name>
<service><type>_ipp._tcp</type><port>631</port><txt-record>rp=queue</txt-record></service>
<service><type>_ssh._tcp</type><port>22</port></service>
</service-group>
";
const BUS: &str = "\
<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\"
 \"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">
<busconfig><type>system</type><listen>unix:path=BUS</listen><auth>EXTERNAL</auth>
<policy context=\"default\"><allow user=\"*\"/><allow own=\"*\"/><allow send_type=\"method_call\"/><allow send_type=\"signal\"/>
<allow send_type=\"method_return\"/><allow send_type=\"error\"/><allow receive_type=\"method_call\"/><allow receive_type=\"signal\"/>
<allow receive_type=\"method_return\"/><allow receive_type=\"error\"/></policy></busconfig>
";

/// Starts Avahi in a namespace, with its own folders of state and services.
fn avahi(net: &mut Net, in_clients: bool, host: &str, interface: &str) {
    let folder = net.folder.to_str().unwrap().to_owned();
    let services = format!("{folder}/services-{host}");
    fs::create_dir_all(&services).unwrap();
    if !in_clients {
        fs::write(format!("{services}/office.service"), SERVICES).unwrap();
    }
    let dbus = if in_clients { "yes" } else { "no" };
    let config = net.write(
        &format!("avahi-{host}.conf"),
        &format!(
            "[server]\nhost-name={host}\nuse-ipv4=yes\nuse-ipv6=no\nallow-interfaces={interface}\nenable-dbus={dbus}\n\
             [publish]\npublish-workstation=no\n[rlimits]\n"
        ),
    );
    let script = format!(
        "mkdir -p /run/avahi-daemon && mount -t tmpfs none /run/avahi-daemon && mount --bind {services} /etc/avahi/services \
         && exec avahi-daemon --no-drop-root --no-chroot --no-rlimits --no-proc-title -f {config}"
    );
    let arguments = ["-m", "sh", "-c", &script];
    let bus = format!("DBUS_SYSTEM_BUS_ADDRESS=unix:path={folder}/bus");
    let arguments: Vec<&str> = [bus.as_str(), "unshare"]
        .into_iter()
        .chain(arguments)
        .collect();
    net.start_in(in_clients, "env", &arguments);
}

#[test]
fn avahi_finds_a_printer_on_another_link() {
    if !has(&["avahi-daemon", "avahi-browse", "dbus-daemon", "unshare"]) {
        return;
    }
    let config = mdns::Config {
        services: vec!["_ipp._tcp".into()],
        ..mdns::Config::default()
    };
    let result = with_router(
        "avahi",
        |_| vec![mdns::make(&config).unwrap()],
        |net| {
            let bus = net.folder.join("bus");
            let bus_config = net.write("bus.conf", &BUS.replace("BUS", bus.to_str().unwrap()));
            net.start_in(
                true,
                "dbus-daemon",
                &["--nofork", "--nopidfile", "--config-file", &bus_config],
            );
            avahi(net, false, "printserver", "s0");
            let begin = Instant::now();
            while !bus.exists() && begin.elapsed() < Duration::from_secs(10) {
                std::thread::sleep(Duration::from_millis(20));
            }
            avahi(net, true, "laptop", "c0");
            let mut said = String::new();
            while begin.elapsed() < Duration::from_secs(40) {
                let bus = format!("DBUS_SYSTEM_BUS_ADDRESS=unix:path={}", bus.display());
                said = net.run(
                    "timeout",
                    &["8", "env", &bus, "avahi-browse", "-rptk", "_ipp._tcp"],
                );
                if said.contains("printserver.local") {
                    let other = net.run(
                        "timeout",
                        &["8", "env", &bus, "avahi-browse", "-rptk", "_ssh._tcp"],
                    );
                    return (said, other);
                }
                std::thread::sleep(Duration::from_millis(300));
            }
            panic!("{said}\n{}", net.logs());
        },
    );
    let Some(((printer, ssh), outcome)) = result else {
        return;
    };
    assert!(
        printer.contains("10.1.0.") && printer.contains(";631;") && printer.contains("rp=queue"),
        "{printer}"
    );
    // A service type that does not pass.
    assert!(!ssh.contains("printserver"), "{ssh}");
    println!("{:?} {:?}", outcome.counters, outcome.drops);
}

fn multicast(namespace: &Namespace, own: Ipv4Addr, port: u16) -> UdpSocket {
    let open = || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).unwrap();
        socket.join_multicast_v4(&dns::ssdp::GROUP, &own).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        socket
    };
    namespace.enter(open).unwrap()
}

#[test]
fn a_control_point_finds_a_media_server_on_another_link() {
    let service = || vec![ssdp::make(&ssdp::Config::default(), 5).unwrap()];
    let result = with_router(
        "ssdp",
        |_| service(),
        |net| {
            // Multicast leaves by the default route.
            let device = multicast(&net.servers, [10, 1, 0, 2].into(), 1900);
            let point = multicast(&net.clients, [10, 0, 0, 2].into(), 0);
            let search = "M-SEARCH * HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\nMAN: \"ssdp:discover\"\r\nMX: 1\r\nST: ssdp:all\r\n\r\n";
            let mut bytes = [0; 2000];
            point
                .send_to(search.as_bytes(), (dns::ssdp::GROUP, 1900))
                .unwrap();
            let (len, from) = device.recv_from(&mut bytes).expect("a search");
            assert_eq!(&bytes[..len], search.as_bytes());
            assert_eq!(from.ip().to_string(), "10.1.0.1");
            let response = "HTTP/1.1 200 OK\r\nCACHE-CONTROL: max-age=100\r\nLOCATION: http://10.1.0.2/d.xml\r\n\
                            ST: urn:schemas-upnp-org:device:MediaServer:1\r\nUSN: uuid:1\r\n\r\n";
            device.send_to(response.as_bytes(), from).unwrap();
            let (len, _) = point.recv_from(&mut bytes).expect("a response");
            assert_eq!(&bytes[..len], response.as_bytes());
            // Announcements come to those that listen on the group's port.
            let listener = multicast(&net.clients, [10, 0, 0, 2].into(), 1900);
            let notify = "NOTIFY * HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\nNT: upnp:rootdevice\r\nNTS: ssdp:alive\r\n\
                          USN: uuid:1\r\nLOCATION: http://10.1.0.2/d.xml\r\n\r\n";
            device
                .send_to(notify.as_bytes(), (dns::ssdp::GROUP, 1900))
                .unwrap();
            let (len, _) = listener.recv_from(&mut bytes).expect("an announcement");
            assert_eq!(&bytes[..len], notify.as_bytes());
        },
    );
    let Some(((), outcome)) = result else { return };
    println!("{:?} {:?}", outcome.counters, outcome.drops);
}
