//! What the kernel tells about an interface.
//!
//! By ioctl on a socket: /sys shows the namespace in which it was mounted, a socket the one in which
//! it was made.

use std::ffi::CStr;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GLINK: u32 = 0x0A;
const ETHTOOL_GCHANNELS: u32 = 0x3C;
const ETHTOOL_GET_TS_INFO: u32 = 0x41;
const ETHTOOL_GLINKSETTINGS: u32 = 0x4C;
/// SOF_TIMESTAMPING_RX_HARDWARE and SOF_TIMESTAMPING_RAW_HARDWARE: both are needed for use.
const RX_HARDWARE: u32 = 1 << 2 | 1 << 6;

/// An interface as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    pub name: String,
    /// Its number in its namespace.
    pub index: u32,
    /// The longest packet behind the link header, bytes.
    pub mtu: u32,
    /// Its address, if it has one of Ethernet's length.
    pub mac: Option<[u8; 6]>,
    /// The ARPHRD number: 1 for Ethernet, 772 for the loopback, which carries Ethernet frames too.
    pub kind: u16,
    /// Whether somebody has set it up.
    pub up: bool,
    /// Whether there is a link.
    pub link: bool,
    /// The driver's name; empty where there is none.
    pub driver: String,
    /// Whether the card offers its own stamps of received frames.
    pub hardware_stamps: bool,
}

impl Interface {
    /// Whether frames on it begin with an Ethernet header.
    pub fn is_ethernet(&self) -> bool {
        matches!(self.kind, libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK)
    }
}

/// A socket to ask by, in the namespace of this thread. Needs no rights.
pub(crate) fn socket() -> io::Result<OwnedFd> {
    // SAFETY: a plain system call; the result is checked before it is owned.
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// The names of all interfaces in this thread's namespace, by number.
///
/// # Errors
/// What the system says.
pub fn names() -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    // SAFETY: the list ends with a zero index, its names are C strings, and it is freed once.
    unsafe {
        let list = libc::if_nameindex();
        if list.is_null() {
            return Err(io::Error::last_os_error());
        }
        let mut entry = list;
        while (*entry).if_index != 0 {
            names.push(CStr::from_ptr((*entry).if_name).to_string_lossy().into());
            entry = entry.add(1);
        }
        libc::if_freenameindex(list);
    }
    Ok(names)
}

/// The IP addresses of an interface in this thread's namespace, and the lengths of their prefixes.
///
/// # Errors
/// What the system says.
pub fn addresses(name: &str) -> io::Result<Vec<(IpAddr, u8)>> {
    let mut addresses = Vec::new();
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the list is freed once; its names are C strings, and an address is as long as its family says.
    unsafe {
        if libc::getifaddrs(&mut list) != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut entry = list;
        while !entry.is_null() {
            let this = &*entry;
            entry = this.ifa_next;
            if CStr::from_ptr(this.ifa_name).to_bytes() != name.as_bytes() {
                continue;
            }
            let mask = address_of(this.ifa_netmask);
            let length = match mask {
                Some(IpAddr::V4(mask)) => mask.to_bits().leading_ones(),
                Some(IpAddr::V6(mask)) => mask.to_bits().leading_ones(),
                None => 0,
            };
            if let Some(address) = address_of(this.ifa_addr) {
                addresses.push((address, length as u8));
            }
        }
        libc::freeifaddrs(list);
    }
    Ok(addresses)
}

/// # Safety
/// The pointer is null, or leads to an address as long as its family says.
unsafe fn address_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: by the caller's word.
    unsafe {
        match i32::from(address.as_ref()?.sa_family) {
            libc::AF_INET => {
                let v4 = address.cast::<libc::sockaddr_in>().read_unaligned();
                Some(IpAddr::from(v4.sin_addr.s_addr.to_ne_bytes()))
            }
            libc::AF_INET6 => {
                let v6 = address.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(IpAddr::from(v6.sin6_addr.s6_addr))
            }
            _ => None,
        }
    }
}

/// The router by which the kernel of this thread's namespace sends what it knows no better way for, over
/// this interface; `None` when there is none.
pub fn gateway(name: &str, v6: bool) -> Option<IpAddr> {
    let file = if v6 { "ipv6_route" } else { "route" };
    let table = std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).ok()?;
    table.lines().find_map(|line| default_route(line, name, v6))
}

/// The router in a line of the kernel's table, if it is of a way to everywhere.
fn default_route(line: &str, name: &str, v6: bool) -> Option<IpAddr> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    if v6 {
        // Destination, its length, source, its length, next hop, ..., device.
        if fields.last() != Some(&name) || fields.get(1) != Some(&"00") {
            return None;
        }
        let hop = u128::from_str_radix(fields.get(4)?, 16).ok()?;
        return (hop != 0).then(|| IpAddr::from(hop.to_be_bytes()));
    }
    // Device, destination, gateway as the machine has words, ..., mask.
    if fields.first() != Some(&name)
        || fields.get(1) != Some(&"00000000")
        || fields.get(7) != Some(&"00000000")
    {
        return None;
    }
    let hop = u32::from_str_radix(fields.get(2)?, 16).ok()?;
    (hop != 0).then(|| IpAddr::from(hop.to_ne_bytes()))
}

/// Asks about an interface in this thread's namespace; `None` when there is none of that name.
///
/// # Errors
/// What the system says.
pub fn find(name: &str) -> io::Result<Option<Interface>> {
    let socket = socket()?;
    let ask = Ask::new(std::os::fd::AsFd::as_fd(&socket), name);
    let index = match ask.index() {
        Ok(index) => index,
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(None),
        Err(error) => return Err(error),
    };
    let (kind, mac) = ask.address()?;
    let flags = ask.flags()?;
    Ok(Some(Interface {
        name: name.into(),
        index,
        mtu: ask.mtu()?,
        mac,
        kind,
        up: flags & libc::IFF_UP != 0,
        link: flags & libc::IFF_RUNNING != 0,
        driver: ask.driver().unwrap_or_default(),
        hardware_stamps: ask.hardware_stamps().unwrap_or(false),
    }))
}

/// Sets an interface in this thread's namespace up.
///
/// # Errors
/// When there is none of that name, or the process lacks CAP_NET_ADMIN.
pub fn set_up(name: &str) -> io::Result<()> {
    let socket = socket()?;
    let mut ask = Ask::new(std::os::fd::AsFd::as_fd(&socket), name);
    ask.request.ifr_ifru.ifru_flags = (ask.flags()? | libc::IFF_UP) as i16;
    ask.call(libc::SIOCSIFFLAGS).map(|_| ())
}

/// Whether an interface in this thread's namespace has a link and takes frames. Asking makes the
/// kernel deal at once with a change of the link that it has put off.
///
/// # Errors
/// When there is none of that name.
pub fn is_ready(name: &str) -> io::Result<bool> {
    let socket = socket()?;
    let ask = Ask::new(std::os::fd::AsFd::as_fd(&socket), name);
    // struct ethtool_value: the command, and its answer. Not every driver has one.
    let mut words = [ETHTOOL_GLINK, 0];
    let _ = ask.ethtool(&mut words);
    Ok(ask.flags()? & libc::IFF_RUNNING != 0)
}

/// How many queues an interface in this thread's namespace receives by.
///
/// # Errors
/// When there is none of that name, or its driver does not say.
pub fn queues(name: &str) -> io::Result<u32> {
    let socket = socket()?;
    let ask = Ask::new(std::os::fd::AsFd::as_fd(&socket), name);
    // struct ethtool_channels: four limits, then those of receiving, sending, other, and both.
    let mut words = [0u32; 9];
    words[0] = ETHTOOL_GCHANNELS;
    ask.ethtool(&mut words)?;
    Ok(words[5] + words[8])
}

/// Questions about one interface, by a socket of its namespace.
pub(crate) struct Ask<'a> {
    socket: BorrowedFd<'a>,
    request: libc::ifreq,
}

impl Ask<'_> {
    pub(crate) fn new<'a>(socket: BorrowedFd<'a>, name: &str) -> Ask<'a> {
        // SAFETY: an all-zero ifreq is a valid one.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        // The last byte stays zero: a longer name cannot exist, and its front finds nothing else.
        let room = request.ifr_name.len() - 1;
        for (to, from) in request.ifr_name[..room].iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        Ask { socket, request }
    }

    /// About the interface that has this number, under the name that it has now.
    pub(crate) fn by_index(socket: BorrowedFd<'_>, index: u32) -> io::Result<Ask<'_>> {
        let mut ask = Ask::new(socket, "");
        ask.request.ifr_ifru.ifru_ifindex = index as libc::c_int;
        ask.request = ask.call(libc::SIOCGIFNAME)?;
        Ok(ask)
    }

    /// The interface's name, as it was asked about or found.
    pub(crate) fn name(&self) -> String {
        let name = self.request.ifr_name.iter().map(|&byte| byte as u8);
        let name: Vec<u8> = name.take_while(|&byte| byte != 0).collect();
        String::from_utf8_lossy(&name).into()
    }

    /// The interface's number.
    pub(crate) fn index(&self) -> io::Result<u32> {
        let request = self.call(libc::SIOCGIFINDEX)?;
        // SAFETY: the kernel has filled in the union's index.
        Ok(unsafe { request.ifr_ifru.ifru_ifindex } as u32)
    }

    fn call(&self, what: libc::Ioctl) -> io::Result<libc::ifreq> {
        let mut request = self.request;
        // SAFETY: each request used here reads and writes one ifreq.
        match unsafe { libc::ioctl(self.socket.as_raw_fd(), what, &mut request) } {
            0.. => Ok(request),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub(crate) fn flags(&self) -> io::Result<i32> {
        // SAFETY: the kernel has filled in the union's flags.
        Ok(i32::from(unsafe {
            self.call(libc::SIOCGIFFLAGS)?.ifr_ifru.ifru_flags
        }))
    }

    pub(crate) fn mtu(&self) -> io::Result<u32> {
        // SAFETY: the kernel has filled in the union's MTU.
        let mtu = unsafe { self.call(libc::SIOCGIFMTU)?.ifr_ifru.ifru_mtu };
        Ok(mtu as u32)
    }

    /// Attaches a descriptor of /dev/net/tun to the interface, making it if need be.
    pub(crate) fn attach(&self, flags: i16) -> io::Result<()> {
        let mut request = self.request;
        request.ifr_ifru.ifru_flags = flags;
        // SAFETY: TUNSETIFF reads and writes one ifreq.
        match unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::TUNSETIFF, &mut request) } {
            0.. => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Its kind as an ARPHRD number, and its address if that is Ethernet's.
    pub(crate) fn address(&self) -> io::Result<(u16, Option<[u8; 6]>)> {
        // SAFETY: the kernel has filled in the union's address.
        let address = unsafe { self.call(libc::SIOCGIFHWADDR)?.ifr_ifru.ifru_hwaddr };
        let kind = address.sa_family;
        let mac = std::array::from_fn(|i| address.sa_data[i] as u8);
        Ok((kind, (kind == libc::ARPHRD_ETHER).then_some(mac)))
    }

    /// Runs an ethtool command whose structure is `words`, the first of which is the command.
    fn ethtool(&self, words: &mut [u32]) -> io::Result<()> {
        let mut request = self.request;
        request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
        // SAFETY: `words` is at least as long as the command's structure, by the callers below.
        match unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL, &mut request) } {
            0.. => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn driver(&self) -> io::Result<String> {
        // struct ethtool_drvinfo: 196 bytes, the driver's name in bytes 4 to 35.
        let mut words = [0u32; 49];
        words[0] = ETHTOOL_GDRVINFO;
        self.ethtool(&mut words)?;
        let name = words[1..9].iter().flat_map(|word| word.to_ne_bytes());
        let name: Vec<u8> = name.take_while(|&byte| byte != 0).collect();
        Ok(String::from_utf8_lossy(&name).into())
    }

    /// What the driver calls its speed, bits a second; `None` where it does not say, or has no link.
    pub(crate) fn speed(&self) -> Option<u64> {
        // struct ethtool_link_settings: 48 bytes, the speed in the second word, the length of each of three masks behind it
        // in byte 15. Asked with no such length, the kernel answers with the negative of the one it wants.
        let mut words = [0u32; 12 + 3 * 127];
        words[0] = ETHTOOL_GLINKSETTINGS;
        self.ethtool(&mut words).ok()?;
        let len = (words[3].to_ne_bytes()[3] as i8).unsigned_abs().min(127);
        words = [0; 12 + 3 * 127];
        words[0] = ETHTOOL_GLINKSETTINGS;
        words[3] = u32::from_ne_bytes([0, 0, 0, len]);
        self.ethtool(&mut words).ok()?;
        // In Mb/s; SPEED_UNKNOWN is -1.
        match words[1] {
            0 | u32::MAX => None,
            megabits => Some(u64::from(megabits) * 1_000_000),
        }
    }

    fn hardware_stamps(&self) -> io::Result<bool> {
        // struct ethtool_ts_info: 44 bytes, the offered kinds in the second word.
        let mut words = [0u32; 11];
        words[0] = ETHTOOL_GET_TS_INFO;
        self.ethtool(&mut words)?;
        Ok(words[1] & RX_HARDWARE == RX_HARDWARE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_there_and_carries_ethernet() {
        assert!(names().unwrap().contains(&"lo".into()));
        let lo = find("lo").unwrap().unwrap();
        assert!(lo.is_ethernet() && lo.mac.is_none() && !lo.hardware_stamps);
        assert_eq!(find("no-such-if").unwrap(), None);
        assert_eq!(find("a name that is far too long").unwrap(), None);
    }

    #[test]
    fn the_loopback_has_its_address_and_no_router() {
        let addresses = addresses("lo").unwrap();
        assert!(addresses.iter().all(|(address, _)| address.is_loopback()));
        assert_eq!(gateway("lo", false), None);
    }

    #[test]
    fn a_way_to_everywhere_is_found_in_the_kernels_tables() {
        let line = "eth0\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0";
        let router = default_route(line, "eth0", false);
        let bytes = 0x0102_A8C0u32.to_ne_bytes();
        assert_eq!(router, Some(IpAddr::from(bytes)));
        assert_eq!(default_route(line, "eth1", false), None);
        let line = "00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth0";
        assert_eq!(
            default_route(line, "eth0", true),
            Some("fe80::1".parse().unwrap())
        );
    }
}
