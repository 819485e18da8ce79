//! Filter expressions at work on packets of any link type.
//!
//! An expression means something else for each link type, and some mean nothing for some: `ether
//! host` for packets that begin with their IP header. So libpcap compiles it for each link type
//! that comes up, and what it refuses for one is an error at the first packet of that.
//!
//! By then the process may have given up system calls that a resolver needs. An expression with
//! names of hosts, services or protocols is therefore compiled at once for the link types that are
//! in most captures.

mod names;

use crate::kernel::bpf::{self, BpfError, Target};
use ::capture::file::Item;
use packet::MAX_FRAME_LEN;
use packet::bpf::{Observed, Program, ProgramError};
use packet::capture::{Direction, ETHERNET, LINUX_SLL, LINUX_SLL2, LOOP, NULL, RAW};
use std::net::Ipv4Addr;

/// Link types for which an expression is tried before packets come: between them they have all that
/// an expression can ask for. The refusal for Ethernet, the first, is reported; then Linux's cooked
/// packets (`ifindex`), 802.11 with radiotap (`type`, `dir`), pf's log (`ifname`, `action`), MTP2
/// (`fisu`, `opc`), SunATM (`vpi`, `lane`).
const TRIED: [u16; 6] = [ETHERNET, LINUX_SLL2, 127, 117, 140, 123];
/// Link types for which an expression with names is compiled at once: those of IP without and with
/// its version, and 802.11.
const USUAL: [u16; 10] = [
    ETHERNET, LINUX_SLL2, LINUX_SLL, NULL, LOOP, RAW, 228, 229, 105, 127,
];
/// Programs that are kept. A capture has few link types; a hostile one may give each of its
/// interfaces another mask.
const MAX_PROGRAMS: usize = 64;

/// Why a packet cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// libpcap is not there, or refuses the expression.
    #[error(transparent)]
    Expression(#[from] BpfError),
    /// libpcap refuses the expression for this link type.
    #[error("filter `{expression}`: {reason}; these packets have link type {link_type}")]
    LinkType {
        expression: String,
        /// In the words of libpcap.
        reason: String,
        /// A LINKTYPE number.
        link_type: u16,
    },
    /// The program that libpcap made is not valid.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The expression asks for the direction of a packet that has none.
    #[error(
        "filter `{0}`: the direction of these packets is not known, which `inbound` and `outbound` need; leave them out"
    )]
    Direction(String),
    /// The expression asks for the interface of a packet that has none.
    #[error(
        "filter `{0}`: the interface numbers of these packets are not known, which `ifindex` needs; leave it out"
    )]
    Interface(String),
    /// A link type has come up for which names would have to be looked up.
    #[error(
        "filter `{expression}`: names are looked up before packets are read, and not for link type {link_type}; \
         write addresses and numbers in place of names"
    )]
    Names { expression: String, link_type: u16 },
}

/// An expression, compiled for each link type that has come up.
#[derive(Clone, Debug)]
pub struct Filter {
    expression: String,
    netmask: Option<Ipv4Addr>,
    /// Whether the program depends on the mask.
    needs_netmask: bool,
    has_names: bool,
    programs: Vec<(Target, Program)>,
    /// Link types for which the expression was refused before packets came, with the reason.
    refused: Vec<(u16, String)>,
    /// The program that the packet before needed.
    last: usize,
}

impl Filter {
    /// A filter by an expression as tcpdump has it. `netmask` is the mask of the network, which `ip
    /// broadcast` needs where the capture or the interface does not have it.
    ///
    /// # Errors
    /// When libpcap is missing, or refuses the expression for all link types.
    pub fn new(expression: &str, netmask: Option<Ipv4Addr>) -> Result<Filter, FilterError> {
        let mut filter = Filter {
            expression: expression.into(),
            netmask,
            needs_netmask: needs_netmask(expression)?,
            has_names: false,
            programs: Vec::new(),
            refused: Vec::new(),
            last: 0,
        };
        if names::may_have(expression) {
            for link_type in USUAL {
                let target = Target {
                    netmask: netmask.filter(|_| filter.needs_netmask),
                    ..Target::of(link_type)
                };
                match bpf::compile(expression, &target, MAX_FRAME_LEN as u32) {
                    Ok(instructions) => {
                        filter.programs.push((target, Program::new(instructions)?));
                    }
                    // An error when that link type comes up.
                    Err(BpfError::Expression { reason, .. }) => {
                        filter.refused.push((link_type, reason));
                    }
                    Err(BpfError::Netmask { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            filter.has_names = true;
        }
        Ok(filter)
    }

    /// The expression.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// Whether the filter takes a packet.
    ///
    /// # Errors
    /// When libpcap refuses the expression for the packet's link type, or when the expression asks
    /// for a direction or an interface that is not known of the packet.
    #[inline]
    pub fn takes(&mut self, item: &Item<'_>) -> Result<bool, FilterError> {
        let described = item.described();
        let target = Target {
            link_type: described.map_or(ETHERNET, |of| of.link_type),
            big_endian: described.is_some_and(|of| of.big_endian && of.link_type == NULL),
            netmask: match self.needs_netmask {
                true => self.netmask.or(described.and_then(|of| of.netmask)),
                false => None,
            },
        };
        if !matches!(self.programs.get(self.last), Some((known, _)) if *known == target) {
            self.last = self.compiled(target)?;
        }
        let (_, program) = &self.programs[self.last];
        let packet = Observed {
            bytes: item.raw.bytes,
            length: item.raw.original_len,
            packet_type: item.direction().map(|direction| match direction {
                Direction::In => Observed::RECEIVED,
                Direction::Out => Observed::SENT,
            }),
            interface: described.and_then(|of| of.index),
        };
        if packet.packet_type.is_none() && program.reads_direction() {
            return Err(FilterError::Direction(self.expression.clone()));
        }
        if packet.interface.is_none() && program.reads_interface() {
            return Err(FilterError::Interface(self.expression.clone()));
        }
        Ok(program.run_on(&packet) > 0)
    }

    /// The place of the program for these packets.
    #[cold]
    fn compiled(&mut self, target: Target) -> Result<usize, FilterError> {
        if let Some(known) = self.programs.iter().position(|(of, _)| *of == target) {
            return Ok(known);
        }
        let (link_type, expression) = (target.link_type, self.expression.clone());
        if self.has_names {
            let mut refused = self.refused.iter();
            return Err(match refused.find(|(of, _)| *of == link_type) {
                Some((_, reason)) => FilterError::LinkType {
                    expression,
                    reason: reason.clone(),
                    link_type,
                },
                None if self.needs_netmask && target.netmask.is_none() => {
                    BpfError::Netmask { expression }.into()
                }
                None => FilterError::Names {
                    expression,
                    link_type,
                },
            });
        }
        let instructions = match bpf::compile(&expression, &target, MAX_FRAME_LEN as u32) {
            Ok(instructions) => instructions,
            Err(BpfError::Expression { expression, reason }) => {
                return Err(FilterError::LinkType {
                    expression,
                    reason,
                    link_type,
                });
            }
            Err(error) => return Err(error.into()),
        };
        if self.programs.len() >= MAX_PROGRAMS {
            self.programs.clear();
        }
        self.programs.push((target, Program::new(instructions)?));
        Ok(self.programs.len() - 1)
    }
}

/// Whether an expression that is sound for some link type needs a mask.
fn needs_netmask(expression: &str) -> Result<bool, FilterError> {
    let mut refused = None;
    for link_type in TRIED {
        match bpf::compile(expression, &Target::of(link_type), MAX_FRAME_LEN as u32) {
            Ok(_) => return Ok(false),
            Err(BpfError::Netmask { .. }) => return Ok(true),
            Err(error) if error.is_of_the_text() => return Err(error.into()),
            Err(error @ BpfError::Expression { .. }) if !error.is_of_a_name() => {
                refused = refused.or(Some(error));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(refused.unwrap_or(BpfError::Memory).into())
}
