//! Keys of a configuration file: those of the kind, with those that are given.

use super::*;
use serde::{Deserialize, Deserializer};

/// Configuration that the keys of a file change.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    #[default]
    Rfc,
    Linux,
}

macro_rules! keys {
    ($($key:ident: $type:ty),+ $(,)?) => {
        #[derive(Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        struct Keys {
            kind: Kind,
            $($key: Option<$type>,)+
        }

        impl From<Keys> for Config {
            fn from(keys: Keys) -> Config {
                let mut config = match keys.kind {
                    Kind::Rfc => Config::default(),
                    Kind::Linux => Config::linux(),
                };
                $(if let Some(value) = keys.$key {
                    config.$key = value.into();
                })+
                config
            }
        }
    };
}

keys!(
    external: Vec<AddressRange>,
    mapping: Behaviour,
    filtering: Behaviour,
    ports: Ports,
    overload: bool,
    reuse: bool,
    port_range: PortRange,
    low_ports: LowPorts,
    parity: bool,
    contiguity: bool,
    pooling: Pooling,
    hairpin: bool,
    refresh: Refresh,
    unsolicited: Unsolicited,
    unsolicited_occupies: bool,
    pickup: bool,
    udp: Time,
    udp_well_known: Time,
    udp_unreplied: Time,
    tcp_established: Time,
    tcp_transitory: Time,
    icmp: Time,
    other: Time,
    short_timeouts: bool,
    port_blocks: PortBlocks,
    sessions: usize,
    sessions_per_host: usize,
    forward: Vec<Forward>,
);

/// The keys of [`Config`], and `kind`: `rfc`, the default, or `linux` for [`Config::linux`], whose
/// values those that are given replace.
impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Config, D::Error> {
        Keys::deserialize(input).map(Config::from)
    }
}
