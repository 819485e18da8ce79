//! Fields of all layers of a packet by name, as text: `ip.ttl`, `tcp.flags.syn`, `dns.qry.name`.
//!
//! Names and values are those of Wireshark's display filters where it has them, so that `tshark -T fields` says the same.
//! Each packet is looked at by itself: nothing is put together from fragments or segments. A field that is there more
//! than once, as of IP in a tunnel or of answers, has its values in their order, with commas between them.

/// `field!("NAME", ["ALSO"], "ABOUT", |out| PATTERN => EXPRESSION)`: of layers that fit the pattern.
macro_rules! field {
    ($name:literal, [$($also:literal),*], $about:literal, |$out:ident| $($pattern:pat $(if $guard:expr)? => $take:expr),+) => {
        $crate::dissect::Field {
            name: $name,
            also: &[$($also),*],
            about: $about,
            take: |layer, $out| match layer {
                $($pattern $(if $guard)? => $take,)+
                _ => {}
            },
        }
    };
}
mod applications;
mod headers;

use crate::dhcp::{self, DhcpView};
use crate::dns::{self, DnsView};
use crate::http::HttpView;
use crate::ipv4::protocol;
use crate::layers::{Header, Next, layers, ports};
use crate::tcp::TcpView;
use crate::tls;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Display, Write};

/// A field by its name.
pub struct Field {
    /// Its name, Wireshark's where that has one.
    pub name: &'static str,
    /// Other names of it.
    pub also: &'static [&'static str],
    /// What it is, in a line.
    pub about: &'static str,
    take: fn(&Layer<'_>, &mut Values<'_>),
}

/// All fields, from the outermost layer to the innermost.
pub fn fields() -> impl Iterator<Item = &'static Field> {
    headers::FIELDS.iter().chain(applications::FIELDS)
}

/// The field of a name, or of another of its names.
pub fn field(name: &str) -> Option<&'static Field> {
    fields().find(|field| field.name == name || field.also.contains(&name))
}

/// Some fields, and their values in one packet after the other. Once its texts have grown, nothing is allocated.
pub struct Dissection {
    fields: Vec<(&'static Field, String)>,
}

impl Dissection {
    /// Of these fields, in this order.
    pub fn new(fields: impl IntoIterator<Item = &'static Field>) -> Dissection {
        let fields = fields.into_iter().map(|field| (field, String::new()));
        Dissection {
            fields: fields.collect(),
        }
    }

    /// Looks at a frame, which may be cut off anywhere. `length` is that of the frame before it was
    /// cut short, if it is known.
    pub fn read(&mut self, frame: &[u8], length: Option<usize>) {
        for (_, text) in &mut self.fields {
            text.clear();
        }
        walk(frame, length, &mut |layer| {
            for (field, text) in &mut self.fields {
                (field.take)(layer, &mut Values(text));
            }
        });
    }

    /// What the packet has for the field at `index`; empty for nothing.
    pub fn value(&self, index: usize) -> &str {
        self.fields.get(index).map_or("", |(_, text)| text)
    }
}

/// Where a field's values go.
struct Values<'a>(&'a mut String);

impl Values<'_> {
    fn put(&mut self, value: impl Display) {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        // Writing to a String does not fail.
        let _ = write!(self.0, "{value}");
    }

    fn put_if(&mut self, value: Option<impl Display>) {
        value.into_iter().for_each(|value| self.put(value));
    }

    fn flag(&mut self, value: bool) {
        self.put(u8::from(value));
    }

    /// Text from outside, as Wireshark takes it: ASCII up to a zero byte, with U+FFFD for each byte
    /// that is none.
    fn text(&mut self, value: &[u8]) {
        let text = value.split(|byte| *byte == 0).next().unwrap_or_default();
        self.put(fmt::from_fn(|f| {
            let shown = |byte: &u8| match byte.is_ascii() {
                true => char::from(*byte),
                false => char::REPLACEMENT_CHARACTER,
            };
            text.iter().map(shown).try_for_each(|c| f.write_char(c))
        }));
    }
}

/// A layer of a packet.
enum Layer<'a> {
    /// A frame, and how long it was before it was cut short.
    Frame(&'a [u8], usize),
    /// A header, and what follows it.
    Of(Header<'a>, Next),
    /// The length of an IPv4 packet, header included.
    Length(usize),
    /// A header of TCP whose length is below that of any: the first fields alone make sense.
    BadTcp(TcpView<'a>),
    /// The ports of a header of this protocol that is cut off behind them.
    Ports(u8, u16, u16),
    /// How many bytes of payload a TCP segment has by its IP header, or as many as are there if these are more.
    Segment(usize),
    Dns(DnsView<'a>),
    Dhcp(DhcpView<'a>),
    Http(HttpView<'a>),
    /// A payload that begins with a record.
    Tls(&'a [u8]),
}

fn walk(frame: &[u8], length: Option<usize>, see: &mut dyn FnMut(&Layer<'_>)) {
    see(&Layer::Frame(frame, length.unwrap_or(frame.len())));
    let mut walk = match length {
        Some(length) => layers(frame).of_length(length),
        None => layers(frame),
    };
    let mut last = None;
    while let Some(layer) = walk.next() {
        if let Header::Ipv4(ip) = layer.header {
            let there = ip.header_length() + ip.payload().len() + walk.beyond();
            let told = ip.total_length().into();
            see(&Layer::Length(if told == 0 { there } else { told }));
        }
        match layer.header {
            Header::Tcp(tcp) if tcp.header_length() < 20 => see(&Layer::BadTcp(tcp)),
            header => see(&Layer::Of(header, walk.next_header())),
        }
        last = Some(layer.header);
    }
    let payload = walk.rest();
    if let Some(Header::Tcp(tcp)) = last {
        let length = tcp.segment_length() + walk.beyond();
        if let Some(payload) = length.checked_sub(tcp.header_length()) {
            see(&Layer::Segment(payload));
        }
    }
    if let (Some(_), Next::Protocol(number @ (protocol::TCP | protocol::UDP))) =
        (walk.bad(), walk.next_header())
        && let Some((source, destination)) = ports(payload)
    {
        see(&Layer::Ports(number, source, destination));
    }
    let application = match last {
        Some(Header::Udp(udp)) => datagram([udp.source_port(), udp.destination_port()], payload),
        Some(Header::Tcp(tcp)) if tcp.bad_length().is_none() => {
            stream([tcp.source_port(), tcp.destination_port()], payload)
        }
        _ => None,
    };
    application.iter().for_each(see);
}

/// What a UDP datagram holds, by its ports.
fn datagram(ports: [u16; 2], payload: &[u8]) -> Option<Layer<'_>> {
    let is = |known: &[u16]| ports.iter().any(|port| known.contains(port));
    if is(&[dns::PORT, dns::MULTICAST_PORT, dns::LINK_LOCAL_PORT]) {
        return DnsView::new(payload).ok().map(Layer::Dns);
    }
    let dhcp = is(&dhcp::PORTS).then(|| DhcpView::new(payload).ok());
    dhcp.flatten().map(Layer::Dhcp)
}

/// What a TCP segment begins with, by its content; DNS by its port.
fn stream(ports: [u16; 2], payload: &[u8]) -> Option<Layer<'_>> {
    if ports.contains(&dns::PORT) {
        // Behind its length.
        return DnsView::new(payload.get(2..)?).ok().map(Layer::Dns);
    }
    if let Some(view) = HttpView::new(payload) {
        return Some(Layer::Http(view));
    }
    tls::records(payload).next()?;
    Some(Layer::Tls(payload))
}

#[cfg(test)]
mod tests;
