//! The headers of a frame as [`layers`](crate::layers::layers) finds them, and on through PPPoE and Geneve.

use crate::field;
use crate::layers::{Header, Layer, Layers, Next, layers};

/// The EtherType of a PPPoE session (RFC 2516), and the bytes before its packet: the header, and the protocol of PPP.
const PPPOE: u16 = 0x8864;
const PPPOE_HEADER: usize = 8;
/// The port of Geneve (RFC 8926), and the bytes of its header without options.
const GENEVE: u16 = 6081;
const GENEVE_HEADER: usize = 8;
/// An Ethernet frame, as Geneve's protocol.
const BRIDGED: u16 = 0x6558;

/// A walk over all headers. Places count from the frame's beginning.
pub struct Walk<'a> {
    layers: Layers<'a>,
    /// Where what `layers` walks over begins.
    base: usize,
    /// The port that the datagram goes to whose header came last.
    port: Option<u16>,
}

impl<'a> Walk<'a> {
    pub fn new(frame: &'a [u8]) -> Walk<'a> {
        Walk {
            layers: layers(frame),
            base: 0,
            port: None,
        }
    }

    /// Payload after the last header, when the walk has ended, and its place.
    pub fn end(&self) -> (Next, usize) {
        (self.layers.next_header(), self.base + self.layers.at())
    }

    /// Header that the next part of the walk begins with, and how many bytes before it are another header's.
    fn inner(&self) -> Option<(Next, usize)> {
        let rest = self.layers.rest();
        match (self.layers.next_header(), self.port) {
            (Next::Ethertype(PPPOE), _) => {
                // A session's data has the code 0.
                let header = rest.first_chunk::<PPPOE_HEADER>()?;
                let ethertype = match (header[1], field::u16::<6, PPPOE_HEADER>(header)) {
                    (0, 0x0021) => 0x0800,
                    (0, 0x0057) => 0x86DD,
                    _ => return None,
                };
                Some((Next::Ethertype(ethertype), PPPOE_HEADER))
            }
            (Next::Data, Some(GENEVE)) => {
                let header = rest.first_chunk::<GENEVE_HEADER>()?;
                let options = 4 * usize::from(header[0] & 0x3F);
                let next = match field::u16::<2, GENEVE_HEADER>(header) {
                    BRIDGED => Next::Ethernet,
                    ethertype => Next::Ethertype(ethertype),
                };
                // Version 0 alone.
                (header[0] >> 6 == 0).then_some((next, GENEVE_HEADER + options))
            }
            _ => None,
        }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Layer<'a>;

    fn next(&mut self) -> Option<Layer<'a>> {
        loop {
            if let Some(Layer { at, header }) = self.layers.next() {
                self.port = match header {
                    Header::Udp(udp) => Some(udp.destination_port()),
                    _ => None,
                };
                let at = self.base + at;
                return Some(Layer { at, header });
            }
            let (next, skipped) = self.inner()?;
            let bytes = self.layers.rest().get(skipped..)?;
            self.base += self.layers.at() + skipped;
            self.layers = Layers::new(next, bytes);
            self.port = None;
        }
    }
}
