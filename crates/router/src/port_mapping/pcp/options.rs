//! Options of a request (RFC 6887 sections 7.3 and 13).

use super::{Code, Failure, MAP, PEER, address_at, u16_at};
use crate::nat::RemoteFilter;
use crate::prefix::Prefix;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr};

const THIRD_PARTY: u8 = 1;
const PREFER_FAILURE: u8 = 2;
const FILTER: u8 = 3;
/// Options from this code on may be ignored.
const OPTIONAL: u8 = 128;
/// Bytes of an option's header.
const HEADER: usize = 4;
/// Bits of an IPv4-mapped address before the IPv4 address.
const MAPPED_BITS: u8 = 96;

/// The options of a request.
#[derive(Debug)]
pub(super) struct Options<'a> {
    pub third_party: Option<Ipv6Addr>,
    pub prefers_failure: bool,
    filters: Vec<RemoteFilter>,
    /// Whether the filters that were there before are removed.
    clears_filters: bool,
    /// Those that are answered.
    all: Vec<&'a [u8]>,
}

impl<'a> Options<'a> {
    pub fn read(
        opcode: u8,
        mut rest: &'a [u8],
        allows_others: bool,
    ) -> Result<Options<'a>, Failure> {
        let mut options = Options {
            third_party: None,
            prefers_failure: false,
            filters: Vec::new(),
            clears_filters: false,
            all: Vec::new(),
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
                (FILTER, MAP) => options.filter(data)?,
                (OPTIONAL.., _) => continue,
                _ => return Err(Code::UnsuppOption.into()),
            }
            options.all.push(option);
        }
        Ok(options)
    }

    /// A filter (section 13.3).
    fn filter(&mut self, data: &[u8]) -> Result<(), Failure> {
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
        let remote = address_at(data, 4).to_ipv4_mapped();
        let remote = remote.filter(|_| (MAPPED_BITS..=128).contains(&length));
        let remote = IpAddr::V4(remote.ok_or(Code::MalformedOption)?);
        self.filters.push(RemoteFilter {
            prefix: Prefix::new(remote, length - MAPPED_BITS),
            port,
        });
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
    pub fn taken(&self) -> impl Iterator<Item = &'a u8> {
        self.all.iter().copied().flatten()
    }
}
