//! Options of a request (RFC 6887 sections 7.3 and 13, RFC 7225 section 4).

use super::{ANNOUNCE, Client, Code, Failure, MAP, PEER, address_at, u16_at};
use crate::nat::RemoteFilter;
use crate::prefix::Prefix;
use alloc::vec::Vec;
use core::net::Ipv6Addr;
use ip::embedding;

const THIRD_PARTY: u8 = 1;
const PREFER_FAILURE: u8 = 2;
const FILTER: u8 = 3;
const PREFIX64: u8 = 129;
/// Bytes of PREFIX64 with its header, without a list of IPv4 prefixes: length, prefix and suffix, number of IPv4 prefixes.
const PREFIX64_LEN: usize = 20;
/// Bytes of prefix and suffix.
const PREFIX_AND_SUFFIX: usize = 12;
/// Options from this code on may be ignored.
const OPTIONAL: u8 = 128;
/// Bytes of an option's header.
const HEADER: usize = 4;
/// Bits of an IPv4-mapped address before the IPv4 address.
const MAPPED_BITS: u8 = 96;

/// The options of a request.
#[derive(Debug)]
pub(in crate::port_mapping) struct Options<'a> {
    pub third_party: Option<Ipv6Addr>,
    pub prefers_failure: bool,
    filters: Vec<RemoteFilter>,
    /// Whether the filters that were there before are removed.
    clears_filters: bool,
    /// Those that are answered as they are.
    all: Vec<&'a [u8]>,
    /// The answer to PREFIX64.
    prefix: Option<[u8; PREFIX64_LEN]>,
}

/// The option PREFIX64 of a response.
fn prefix64(prefix: embedding::Prefix) -> [u8; PREFIX64_LEN] {
    let mut bytes = [0; PREFIX64_LEN];
    bytes[0] = PREFIX64;
    bytes[3] = (PREFIX64_LEN - HEADER) as u8;
    bytes[5] = prefix.length() / 8;
    // After a shorter prefix the suffix, which is zero.
    let octets = prefix.address().octets();
    bytes[6..6 + PREFIX_AND_SUFFIX].copy_from_slice(&octets[..PREFIX_AND_SUFFIX]);
    bytes
}

impl<'a> Options<'a> {
    pub fn read(
        opcode: u8,
        mut rest: &'a [u8],
        allows_others: bool,
        client: &Client,
    ) -> Result<Options<'a>, Failure> {
        let mut options = Options {
            third_party: None,
            prefers_failure: false,
            filters: Vec::new(),
            clears_filters: false,
            all: Vec::new(),
            prefix: None,
        };
        while !rest.is_empty() {
            let header: &[u8; HEADER] = rest.first_chunk().ok_or(Code::MalformedOption)?;
            let length = usize::from(u16_at(header, 2));
            let whole = HEADER + length.next_multiple_of(4);
            let (option, after) = rest.split_at_checked(whole).ok_or(Code::MalformedOption)?;
            rest = after;
            let data = &option[HEADER..HEADER + length];
            match (header[0], opcode) {
                (THIRD_PARTY, MAP | PEER) if allows_others => {
                    if length != 16 || options.third_party.is_some() {
                        return Err(Code::MalformedOption.into());
                    }
                    options.third_party = Some(address_at(data, 0));
                }
                (PREFER_FAILURE, MAP) => {
                    if length != 0 || options.prefers_failure {
                        return Err(Code::MalformedOption.into());
                    }
                    options.prefers_failure = true;
                }
                (FILTER, MAP) => options.filter(data, client)?,
                (PREFIX64, ANNOUNCE | MAP) if client.prefix.is_some() => {
                    // No shorter than its answer, so that a forged request brings no more than it costs.
                    if option.len() < PREFIX64_LEN || options.prefix.is_some() {
                        return Err(Code::MalformedOption.into());
                    }
                    options.prefix = client.prefix.map(prefix64);
                    continue;
                }
                (OPTIONAL.., _) => continue,
                _ => return Err(Code::UnsuppOption.into()),
            }
            options.all.push(option);
        }
        Ok(options)
    }

    /// A filter (section 13.3).
    fn filter(&mut self, data: &[u8], client: &Client) -> Result<(), Failure> {
        if data.len() != 20 {
            return Err(Code::MalformedOption.into());
        }
        let (length, port) = (data[1], u16_at(data, 2));
        if length == 0 {
            // Those before it in the request go, too.
            self.clears_filters = true;
            self.filters.clear();
            return Ok(());
        }
        let address = address_at(data, 4);
        let mapped = address
            .to_ipv4_mapped()
            .zip(length.checked_sub(MAPPED_BITS));
        // A client of a NAT64 sees its peers in the prefix.
        let embedded = client
            .prefix
            .and_then(|prefix| prefix.extract(address).zip(prefix.embedded_bits(length)));
        let v4 = embedded.or(mapped).filter(|(_, length)| *length <= 32);
        let prefix = match v4 {
            _ if client.has_v6_peers && length <= 128 => Prefix::new(address.into(), length),
            Some((remote, length)) if !client.has_v6_peers => Prefix::new(remote.into(), length),
            _ => return Err(Code::MalformedOption.into()),
        };
        self.filters.push(RemoteFilter { prefix, port });
        Ok(())
    }

    /// The filters of a mapping that had those of `before`.
    pub fn filters(&self, before: Vec<RemoteFilter>) -> Vec<RemoteFilter> {
        let mut all = if self.clears_filters {
            Vec::new()
        } else {
            before
        };
        for filter in &self.filters {
            if !all.contains(filter) {
                all.push(*filter);
            }
        }
        all
    }

    /// Bytes of the options that were taken into account, for the response.
    pub fn taken(&self) -> impl Iterator<Item = &u8> {
        self.all
            .iter()
            .copied()
            .flatten()
            .chain(self.prefix.iter().flatten())
    }
}
