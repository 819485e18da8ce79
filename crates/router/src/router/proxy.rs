//! The SYN proxy on the path of packets.

use super::{Router, Transit, reason};
use crate::conntrack::{Direction, Headers, TcpState};
use crate::firewall::SynProxy;
use crate::firewall::synproxy;
use ip::header::ETHERNET;
use node::{Frame, Out, Time};
use packet::ipv4::protocol;
use packet::tcp::{TcpView, flag};

/// Reads the TCP header of a packet.
fn read(frame: &[u8]) -> Option<(Headers, TcpView<'_>)> {
    let headers = Headers::read(frame, ETHERNET, false)?;
    let is_tcp = headers.protocol == protocol::TCP;
    let segment = TcpView::new(headers.upper(frame).filter(|_| is_tcp)?).ok()?;
    Some((headers, segment))
}

impl Router {
    /// Answers a client's SYN, or opens the connection with the server after its ACK.
    pub(super) fn answer_by_proxy(
        &mut self,
        now: Time,
        proxy: SynProxy,
        transit: &Transit,
        frame: Frame,
        out: &mut Out,
    ) {
        let (Some(filter), Some((headers, segment))) = (&mut self.filter, read(&frame)) else {
            return out.drop(frame, reason::BAD_HEADER);
        };
        if segment.flags() & flag::SYN != 0 {
            let mut answer = out.frame();
            filter
                .proxy
                .answer(now, proxy, &headers, &segment, &mut answer);
            out.done(frame);
            let tracked = transit.flow.tracked.answer();
            return self.send_by_proxy(now, transit, answer, |own| own.flow.tracked = tracked, out);
        }
        let first = segment.sequence();
        self.open_by_proxy(now, Some(proxy), first, transit, frame, out);
    }

    /// Sends the SYN to a server; `first` is the client's sequence number after its SYN.
    fn open_by_proxy(
        &mut self,
        now: Time,
        proxy: Option<SynProxy>,
        first: u32,
        transit: &Transit,
        frame: Frame,
        out: &mut Out,
    ) {
        let (Some(filter), Some((headers, segment))) = (&mut self.filter, read(&frame)) else {
            return out.drop(frame, reason::BAD_HEADER);
        };
        let mut syn = out.frame();
        if !filter
            .proxy
            .open(now, proxy, &headers, &segment, first, &mut syn)
        {
            out.done(syn);
            return out.drop(frame, reason::COOKIE);
        }
        out.done(frame);
        self.send_by_proxy(now, transit, syn, |own| own.flow.opens_proxied = true, out);
    }

    fn send_by_proxy(
        &mut self,
        now: Time,
        transit: &Transit,
        frame: Frame,
        change: impl FnOnce(&mut Transit),
        out: &mut Out,
    ) {
        match Transit::own(&frame, transit.link, transit.vrf) {
            Some(mut own) => {
                change(&mut own);
                self.originate_as(now, own, frame, out);
            }
            None => out.done(frame),
        }
    }

    /// Takes a packet that leaves, if its connection is the SYN proxy's.
    pub(super) fn leave_by_proxy(
        &mut self,
        now: Time,
        transit: &Transit,
        mut frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let tracked = transit.flow.tracked;
        let tracker = self
            .filter
            .as_mut()
            .and_then(|filter| filter.tracker.as_mut());
        let Some(tracker) = tracker else {
            return Some(frame);
        };
        let (state, window) = (tracker.tcp_state(&tracked), tracker.client_window(&tracked));
        let Some(proxied) = tracker
            .proxied(&tracked)
            .filter(|_| !transit.flow.is_translated)
        else {
            return Some(frame);
        };
        let Some((headers, segment)) = read(&frame) else {
            return Some(frame);
        };
        let is = |wanted: u8, of: u8| segment.flags() & of == wanted;
        let is_original = tracked.direction == Direction::Original;
        match state {
            // The server has refused the connection.
            Some(TcpState::Close) if is(flag::RST, flag::RST) && !is_original => {
                let first = proxied.initial.wrapping_sub(segment.sequence());
                proxied.offset = Some(first.wrapping_add(1));
            }
            Some(TcpState::Close) if is(flag::SYN, flag::SYN | flag::ACK) && is_original => {
                (proxied.offset, proxied.timestamp_offset) = (Some(0), 0);
                synproxy::start(proxied, &segment);
            }
            Some(TcpState::SynSent) if is(flag::ACK, flag::SYN | flag::ACK) && is_original => {
                // A keep-alive segment has the number before the next.
                let first = segment.sequence().wrapping_add(1);
                self.open_by_proxy(now, None, first, transit, frame, out);
                return None;
            }
            Some(TcpState::SynSent) => synproxy::start(proxied, &segment),
            Some(TcpState::SynRecv) if is(flag::SYN | flag::ACK, flag::SYN | flag::ACK) => {
                let (mut to_server, mut to_client) = (out.frame(), out.frame());
                let ends = [&mut to_server, &mut to_client];
                let joined = synproxy::join(proxied, window, &headers, &segment, ends);
                out.done(frame);
                let translated = |own: &mut Transit| own.flow.is_translated = true;
                self.send_by_proxy(now, transit, to_server, translated, out);
                let tracker = self
                    .filter
                    .as_mut()
                    .and_then(|filter| filter.tracker.as_mut());
                if let Some(proxied) = tracker.and_then(|tracker| tracker.proxied(&tracked)) {
                    *proxied = joined;
                }
                let answer = |own: &mut Transit| own.flow.tracked = tracked;
                self.send_by_proxy(now, transit, to_client, answer, out);
                return None;
            }
            _ => {}
        }
        let direction = tracked.direction;
        let proxied = *proxied;
        synproxy::translate(
            &proxied,
            direction,
            &mut frame[headers.payload..headers.end],
        );
        Some(frame)
    }
}
