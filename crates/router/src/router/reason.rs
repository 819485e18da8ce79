//! Reasons of dropped packets.

/// Shorter than an Ethernet header.
pub const SHORT: &str = "shorter than an Ethernet header";
/// A header that is cut off, or whose version or lengths make no sense.
pub const BAD_HEADER: &str = "bad IP header";
/// The checksum of an IPv4 header.
pub const CHECKSUM: &str = "wrong checksum of the IP header";
/// A source that no packet may have: the network 0, a loopback address, a group, an address of the router.
pub const SOURCE: &str = "impossible source address";
/// A destination that no packet on a link may have.
pub const DESTINATION: &str = "impossible destination address";
/// A packet for one host in a frame for many stations.
pub const GROUP_FRAME: &str = "IP packet for one host in a frame for a group";
/// An IPv4 packet that names its own route.
pub const SOURCE_ROUTE: &str = "source route";
/// Options that make no sense.
pub const OPTIONS: &str = "bad IP options";
/// No route.
pub const NO_ROUTE: &str = "no route";
/// A route or rule that drops packets.
pub const BLACKHOLE: &str = "blackhole route";
/// A route that says that hosts cannot be reached.
pub const UNREACHABLE: &str = "unreachable route";
/// A route or rule that prohibits communication.
pub const PROHIBITED: &str = "prohibited by a route";
/// A hop limit (TTL) that is used up.
pub const HOP_LIMIT: &str = "hop limit used up";
/// A packet longer than the MTU of the next link that must not be cut.
pub const TOO_BIG: &str = "longer than the next link's MTU";
/// A link-local address.
pub const SCOPE: &str = "link-local address on another link";
/// A connection from the outside that no host inside has opened, too.
pub const UNSOLICITED: &str = "connection from the outside";
/// A next hop that did not answer.
pub const NEIGHBOUR: &str = "next hop did not answer";
/// A frame with labels on a port without `mpls`.
pub const LABELS_REFUSED: &str = "labels on a port without `mpls`";
/// A label stack that is cut off, or has more than 16 entries.
pub const BAD_LABELS: &str = "bad label stack";
/// Labels above something else than an IP packet, or an explicit null above one of the other version.
pub const NOT_IP: &str = "no IP packet below the labels";
/// A label without a route.
pub const NO_LABEL: &str = "no route of the label";
/// The firewall, by the hook.
pub const RULES: [&str; 4] = [
    "a rule of the firewall on arrival",
    "a rule of the firewall for the router itself",
    "a rule of the firewall between ports",
    "a rule of the firewall for own packets",
];
/// The policy of a chain of the firewall, by the hook.
pub const POLICIES: [&str; 4] = [
    "the policy of a firewall's chain on arrival",
    "the policy of a firewall's chain for the router itself",
    "the policy of a firewall's chain between ports",
    "the policy of a firewall's chain for own packets",
];
/// Packets that a rule rejects.
pub const REJECTED: &str = "rejected by a rule of the firewall";
/// A new connection when the table has no room.
pub const CONNECTIONS: &str = "too many connections";
/// A new connection one of whose keys another has.
pub const CLASH: &str = "another connection has the same addresses and ports";
/// A packet that announces a connection to a helper, and is cut off or announces one that is announced already.
pub const ANNOUNCEMENT: &str = "announcement of a connection that cannot be followed";
/// A segment with broken options in a connection whose sequence numbers a helper has changed.
pub const SEQUENCE: &str = "broken options where sequence numbers change";
/// An acknowledgement without a good cookie of the SYN proxy.
pub const COOKIE: &str = "no good cookie of the SYN proxy";
/// An error that was not sent.
pub const LIMIT: &str = "rate limit of ICMP errors";
