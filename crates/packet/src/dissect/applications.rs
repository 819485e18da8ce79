//! The fields of DNS, DHCP, HTTP/1 and TLS.

use super::headers::{hex16, hex32};
use super::{Field, Layer, Values};
use crate::dhcp::{DhcpView, option};
use crate::dns::{Data, DnsView, Name, Record, Section, kind};
use crate::ethernet::Mac;
use crate::http::{First, HttpView};
use crate::tls::{self, Hello};
use alloc::string::String;
use core::fmt::{self, Display, Write};
use core::net::Ipv4Addr;

pub const FIELDS: &[Field] = &[
    field!("dns.id", [], "DNS: what question and answer share", |out| Layer::Dns(dns) => hex16(out, dns.id())),
    field!("dns.flags.response", ["dns.qr"], "DNS: 1 of a response", |out| Layer::Dns(dns) => out.flag(dns.is_response())),
    field!("dns.flags.opcode", ["dns.opcode"], "DNS kind of question, 0 the usual one", |out| Layer::Dns(dns) => out.put(dns.opcode())),
    field!("dns.flags.rcode", ["dns.rcode"], "DNS response code: 0 good, 2 failure, 3 no such name", |out| Layer::Dns(dns) if dns.is_response() => out.put(dns.rcode())),
    field!("dns.flags.truncated", ["dns.tc"], "DNS: it did not fit", |out| Layer::Dns(dns) => out.flag(dns.flags() & 0x0200 != 0)),
    field!("dns.flags.recdesired", ["dns.rd"], "DNS: recursion desired", |out| Layer::Dns(dns) => out.flag(dns.flags() & 0x0100 != 0)),
    field!("dns.count.queries", [], "DNS: how many questions", |out| Layer::Dns(dns) => out.put(dns.counts()[0])),
    field!("dns.count.answers", [], "DNS: how many answers", |out| Layer::Dns(dns) => out.put(dns.counts()[1])),
    field!("dns.qry.name", ["dns.qname"], "DNS: the name that is asked about", |out| Layer::Dns(dns) => dns.questions().for_each(|question| out.put(Shown(question.name)))),
    field!("dns.qry.type", ["dns.qtype"], "DNS: the type of records asked for: 1 A, 28 AAAA", |out| Layer::Dns(dns) => dns.questions().for_each(|question| out.put(question.kind))),
    field!("dns.qry.class", ["dns.qclass"], "DNS: the class asked for", |out| Layer::Dns(dns) => dns.questions().for_each(|question| hex16(out, question.class))),
    field!("dns.resp.name", [], "DNS: the names of records; as in Wireshark, of SRV none", |out| Layer::Dns(dns) => records(dns, |record| if record.kind != kind::SRV { out.put(Shown(record.name)); })),
    field!("dns.resp.type", [], "DNS: the types of all records", |out| Layer::Dns(dns) => dns.records().for_each(|record| out.put(record.kind))),
    field!("dns.resp.ttl", [], "DNS: for how many seconds records hold", |out| Layer::Dns(dns) => records(dns, |record| if record.kind != kind::OPT { out.put(record.ttl); })),
    field!("dns.answers", [], "DNS: what the answers say: addresses, names, text", |out| Layer::Dns(dns) => answers(out, dns)),
    field!("dns.a", [], "DNS: IPv4 addresses", |out| Layer::Dns(dns) => records(dns, |record| if let Data::A(address) = record.data { out.put(address); })),
    field!("dns.aaaa", [], "DNS: IPv6 addresses", |out| Layer::Dns(dns) => records(dns, |record| if let Data::Aaaa(address) = record.data { out.put(address); })),
    field!("dns.cname", [], "DNS: the name that another name stands for", |out| Layer::Dns(dns) => names(out, dns, kind::CNAME)),
    field!("dns.ns", [], "DNS: name servers", |out| Layer::Dns(dns) => names(out, dns, kind::NS)),
    field!("dns.ptr.domain_name", ["dns.ptr"], "DNS: the name of an address", |out| Layer::Dns(dns) => names(out, dns, kind::PTR)),
    field!("dns.mx.mail_exchange", ["dns.mx"], "DNS: mail exchanges", |out| Layer::Dns(dns) => records(dns, |record| if let Data::Mx(_, name) = record.data { out.put(Shown(name)); })),
    field!("dns.srv.target", ["dns.srv"], "DNS: where a service is", |out| Layer::Dns(dns) => records(dns, |record| if let Data::Srv(_, name) = record.data { out.put(Shown(name)); })),
    field!("dns.srv.port", [], "DNS: the port of a service", |out| Layer::Dns(dns) => records(dns, |record| if let Data::Srv([_, _, port], _) = record.data { out.put(port); })),
    field!("dns.txt", [], "DNS: text", |out| Layer::Dns(dns) => records(dns, |record| if let Data::Txt(strings) = record.data { strings.for_each(|string| out.text(string)); })),
    field!("dhcp.type", ["dhcp.op"], "DHCP: 1 from a client, 2 from a server", |out| Layer::Dhcp(dhcp) => out.put(dhcp.operation())),
    field!("dhcp.id", ["dhcp.xid"], "DHCP: what request and reply share", |out| Layer::Dhcp(dhcp) => hex32(out, dhcp.transaction())),
    field!("dhcp.hw.mac_addr", ["dhcp.chaddr"], "DHCP: the client's MAC address, and that of its identifier", |out| Layer::Dhcp(dhcp) => {
        out.put_if(dhcp.hardware());
        for value in dhcp.option(option::CLIENT_ID) {
            // Kind 1 of hardware is Ethernet.
            if let [1, mac @ ..] = value && let Ok(mac) = mac.try_into() { out.put(Mac(mac)); }
        }
    }),
    field!("dhcp.ip.client", ["dhcp.ciaddr"], "DHCP: the address that the client has", |out| Layer::Dhcp(dhcp) => out.put(dhcp.client())),
    field!("dhcp.ip.your", ["dhcp.yiaddr"], "DHCP: the address that the client gets", |out| Layer::Dhcp(dhcp) => out.put(dhcp.yours())),
    field!("dhcp.ip.server", ["dhcp.siaddr"], "DHCP: the next server", |out| Layer::Dhcp(dhcp) => out.put(dhcp.server())),
    field!("dhcp.ip.relay", ["dhcp.giaddr"], "DHCP: the relay", |out| Layer::Dhcp(dhcp) => out.put(dhcp.relay())),
    field!("dhcp.option.dhcp", ["dhcp.message"], "DHCP: 1 discover, 2 offer, 3 request, 5 acknowledge, 6 refuse, 7 release", |out| Layer::Dhcp(dhcp) => numbers(out, dhcp, option::MESSAGE_TYPE)),
    field!("dhcp.option.requested_ip_address", ["dhcp.requested"], "DHCP: the address that the client would like", |out| Layer::Dhcp(dhcp) => addresses(out, dhcp, option::REQUESTED)),
    field!("dhcp.option.hostname", ["dhcp.hostname"], "DHCP: the client's name", |out| Layer::Dhcp(dhcp) => texts(out, dhcp, option::HOST_NAME)),
    field!("dhcp.option.dhcp_server_id", ["dhcp.server_id"], "DHCP: the server", |out| Layer::Dhcp(dhcp) => addresses(out, dhcp, option::SERVER)),
    field!("dhcp.option.subnet_mask", [], "DHCP: the network's mask", |out| Layer::Dhcp(dhcp) => addresses(out, dhcp, option::SUBNET_MASK)),
    field!("dhcp.option.router", [], "DHCP: routers", |out| Layer::Dhcp(dhcp) => addresses(out, dhcp, option::ROUTER)),
    field!("dhcp.option.domain_name_server", [], "DHCP: name servers", |out| Layer::Dhcp(dhcp) => addresses(out, dhcp, option::NAME_SERVER)),
    field!("dhcp.option.domain_name", [], "DHCP: the domain", |out| Layer::Dhcp(dhcp) => texts(out, dhcp, option::DOMAIN_NAME)),
    field!("dhcp.option.ip_address_lease_time", ["dhcp.lease"], "DHCP: for how many seconds the address is lent", |out| Layer::Dhcp(dhcp) => numbers(out, dhcp, option::LEASE_TIME)),
    field!("dhcp.option.vendor_class_id", [], "DHCP: what the client is", |out| Layer::Dhcp(dhcp) => texts(out, dhcp, option::VENDOR_CLASS)),
    field!("http.request.method", ["http.method"], "HTTP/1 method", |out| Layer::Http(http) => if let First::Request { method, .. } = http.first { out.text(method); }),
    field!("http.request.uri", ["http.path", "http.uri"], "HTTP/1: what is asked for", |out| Layer::Http(http) => if let First::Request { target, .. } = http.first { out.text(target); }),
    field!("http.request.version", [], "HTTP version of a request", |out| Layer::Http(http) => if let First::Request { version, .. } = http.first { out.text(version); }),
    field!("http.host", [], "HTTP/1: the host that is meant", |out| Layer::Http(http) => header(out, http, "Host")),
    field!("http.user_agent", [], "HTTP/1: the client's program", |out| Layer::Http(http) => header(out, http, "User-Agent")),
    field!("http.response.code", ["http.status"], "HTTP/1 status: 200 good, 404 not found", |out| Layer::Http(http) => if let First::Response { status, .. } = http.first { out.put(status); }),
    field!("http.response.phrase", [], "HTTP/1 status in words", |out| Layer::Http(http) => if let First::Response { reason, .. } = http.first { out.text(reason); }),
    field!("http.response.version", [], "HTTP version of a response", |out| Layer::Http(http) => if let First::Response { version, .. } = http.first { out.text(version); }),
    field!("http.server", [], "HTTP/1: the server's program", |out| Layer::Http(http) => header(out, http, "Server")),
    field!("http.content_type", [], "HTTP/1: what the body is", |out| Layer::Http(http) => header(out, http, "Content-Type")),
    field!("http.content_length_header", ["http.content_length"], "HTTP/1: the body's length", |out| Layer::Http(http) => header(out, http, "Content-Length")),
    field!("http.location", [], "HTTP/1: where it is instead", |out| Layer::Http(http) => header(out, http, "Location")),
    field!("tls.records", [], "TLS records: 22 handshake, 23 data, 21 alert", |out| Layer::Tls(payload) => tls::records(payload).for_each(|record| out.put(record.kind))),
    field!("tls.record.version", [], "TLS version of records", |out| Layer::Tls(payload) => tls::records(payload).for_each(|record| hex16(out, record.version))),
    field!("tls.handshake.type", [], "TLS handshake: 1 client hello, 2 server hello, 11 certificate", |out| Layer::Tls(payload) => tls::messages(payload).for_each(|(kind, _)| out.put(kind))),
    field!("tls.handshake.version", ["tls.version"], "TLS version of a hello; 1.3 says 1.2 here", |out| Layer::Tls(payload) => hellos(payload, |hello| hex16(out, hello.version))),
    field!("tls.handshake.ciphersuite", ["tls.cipher"], "TLS cipher suites of a hello", |out| Layer::Tls(payload) => hellos(payload, |hello| hello.ciphers.iter().for_each(|cipher| hex16(out, u16::from_be_bytes(*cipher))))),
    field!("tls.handshake.extensions_server_name", ["tls.sni"], "TLS: the server that a client looks for", |out| Layer::Tls(payload) => hellos(payload, |hello| hello.server_names().for_each(|name| out.text(name)))),
    field!("tls.handshake.extensions_alpn_str", ["tls.alpn"], "TLS: protocols above, such as h2", |out| Layer::Tls(payload) => hellos(payload, |hello| hello.protocols().for_each(|name| out.text(name)))),
    field!("tls.handshake.extensions.supported_version", ["tls.versions"], "TLS versions offered, or the one chosen: 0x0304 is 1.3", |out| Layer::Tls(payload) => hellos(payload, |hello| hello.versions().for_each(|version| hex16(out, version)))),
];

/// A name as Wireshark has it: labels as UTF-8, without escapes, and the root is `<Root>`.
struct Shown<'a>(Name<'a>);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut labels = self.0.labels();
        match labels.next() {
            None => f.write_str("<Root>")?,
            Some(first) => f.write_str(&String::from_utf8_lossy(first))?,
        }
        for label in labels {
            f.write_char('.')?;
            f.write_str(&String::from_utf8_lossy(label))?;
        }
        Ok(())
    }
}

fn records<'a>(dns: &DnsView<'a>, see: impl FnMut(Record<'a>)) {
    dns.records().for_each(see);
}

fn names(out: &mut Values<'_>, dns: &DnsView<'_>, kind: u16) {
    records(dns, |record| match record.data {
        Data::Name(name) if record.kind == kind => out.put(Shown(name)),
        _ => {}
    });
}

fn answers(out: &mut Values<'_>, dns: &DnsView<'_>) {
    let answers = dns.records();
    for record in answers.take_while(|record| record.section == Section::Answer) {
        match record.data {
            Data::A(address) => out.put(address),
            Data::Aaaa(address) => out.put(address),
            Data::Name(name) | Data::Mx(_, name) | Data::Srv(_, name) => out.put(Shown(name)),
            Data::Txt(strings) => strings.for_each(|string| out.text(string)),
            Data::Other(bytes) => out.put(format_args!("TYPE{}:{}", record.kind, bytes.len())),
        }
    }
}

fn addresses(out: &mut Values<'_>, dhcp: &DhcpView<'_>, number: u8) {
    for value in dhcp.option(number) {
        let addresses = value.as_chunks::<4>().0.iter();
        addresses.for_each(|address| out.put(Ipv4Addr::from(*address)));
    }
}

fn texts(out: &mut Values<'_>, dhcp: &DhcpView<'_>, number: u8) {
    dhcp.option(number).for_each(|value| out.text(value));
}

fn numbers(out: &mut Values<'_>, dhcp: &DhcpView<'_>, number: u8) {
    for value in dhcp.option(number).filter(|value| value.len() <= 4) {
        out.put(
            value
                .iter()
                .fold(0u32, |sum, byte| sum << 8 | u32::from(*byte)),
        );
    }
}

fn header(out: &mut Values<'_>, http: &HttpView<'_>, name: &str) {
    http.header(name).for_each(|value| out.text(value));
}

fn hellos<'a>(payload: &'a [u8], see: impl FnMut(Hello<'a>)) {
    let hellos = tls::messages(payload).filter_map(|(kind, message)| Hello::new(kind, message));
    hellos.for_each(see);
}
