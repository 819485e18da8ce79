//! Connections to destinations: addresses that may be reached, names, TCP and TLS.
//!
//! A person who is signed in chooses the destination, and a stolen session must not make the router a way into other networks.
//! So the address is checked after the name is resolved, and the connection goes to the checked address. Redirects are not
//! followed, and of a response only its status is shown.

use axum::http::Uri;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use domain::base::Message;
use domain::rdata::{A, Aaaa};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// Time to wait for a DNS server.
const DNS_TIMEOUT: Duration = Duration::from_secs(3);
/// Time to connect, with TLS.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Certificates of the machine: Debian's, and Red Hat's.
const BUNDLES: [&str; 2] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
];

/// Bytes to and from a destination.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// The parts of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Name or address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Whether it speaks TLS.
    pub is_secure: bool,
    /// Path and query.
    pub path: String,
}

impl Endpoint {
    /// Reads a URL of HTTPS or MQTT without a user name.
    pub fn read(url: &str) -> Option<Endpoint> {
        let uri: Uri = url.parse().ok()?;
        let (is_secure, usual) = match uri.scheme_str()? {
            "https" => (true, 443),
            "mqtts" => (true, 8883),
            "mqtt" => (false, 1883),
            _ => return None,
        };
        let authority = uri.authority()?;
        if authority.as_str().contains('@') {
            return None;
        }
        let host = authority
            .host()
            .trim_start_matches('[')
            .trim_end_matches(']');
        let port = match authority.port_u16() {
            Some(port) => port,
            None if authority.as_str().ends_with(authority.host()) => usual,
            None => return None,
        };
        (!host.is_empty() && port != 0).then(|| Endpoint {
            host: host.into(),
            port,
            is_secure,
            path: uri
                .path_and_query()
                .map_or("/".into(), |path| path.as_str().into()),
        })
    }

    /// Its address, if the host is one.
    pub fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    /// Value of the header Host.
    pub fn authority(&self) -> String {
        let host = match self.address() {
            Some(IpAddr::V6(address)) => format!("[{address}]"),
            _ => self.host.clone(),
        };
        match self.port {
            443 => host,
            port => format!("{host}:{port}"),
        }
    }
}

/// Checks an address.
///
/// # Errors
/// The reason why it may not be reached.
pub fn check(address: IpAddr, may_loop: bool) -> Result<(), &'static str> {
    // The metadata service of Amazon's cloud; that of other clouds is a link-local address.
    const METADATA: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    let address = address.to_canonical();
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local() || address == METADATA,
    };
    let is_nobody = match address {
        IpAddr::V4(address) => address.is_broadcast() || address.octets()[0] == 0,
        IpAddr::V6(address) => address.to_ipv4().is_some_and(|_| !address.is_loopback()),
    };
    match () {
        () if address.is_loopback() && !may_loop => Err("an address of this machine"),
        () if is_link_local => Err("a link-local address, or a cloud's metadata service"),
        () if is_nobody || address.is_unspecified() || address.is_multicast() => {
            Err("not the address of one host")
        }
        () => Ok(()),
    }
}

/// Trusted certificates of a text in PEM; `None` if it has none.
pub fn authorities(pem: &[u8]) -> Option<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let found: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .filter_map(Result::ok)
        .collect();
    let (added, _) = roots.add_parsable_certificates(found);
    (added > 0).then_some(roots)
}

/// Opens connections.
pub struct Reach {
    dns: Vec<SocketAddr>,
    /// Authorities of the machine. They are read once: a confined program could not read them later.
    roots: Arc<RootCertStore>,
}

impl Reach {
    /// With these DNS servers.
    pub fn new(dns: Vec<SocketAddr>) -> Reach {
        let bundles = BUNDLES.iter().filter_map(|path| std::fs::read(path).ok());
        let roots = bundles.filter_map(|pem| authorities(&pem)).next();
        Reach {
            dns,
            roots: Arc::new(roots.unwrap_or_else(RootCertStore::empty)),
        }
    }

    /// Connects to an endpoint.
    ///
    /// # Errors
    /// The reason, without secrets.
    pub async fn connect(
        &self,
        endpoint: &Endpoint,
        certificate: Option<&str>,
        may_loop: bool,
    ) -> Result<Box<dyn Stream>, String> {
        let connected = timeout(CONNECT_TIMEOUT, self.open(endpoint, certificate, may_loop)).await;
        connected.unwrap_or_else(|_| Err("no connection within 10 s".into()))
    }

    async fn open(
        &self,
        endpoint: &Endpoint,
        certificate: Option<&str>,
        may_loop: bool,
    ) -> Result<Box<dyn Stream>, String> {
        let addresses = match endpoint.address() {
            Some(address) => vec![address],
            None => self.resolve(&endpoint.host).await?,
        };
        for address in &addresses {
            check(*address, may_loop).map_err(|why| format!("{address} is {why}"))?;
        }
        let mut failure = String::new();
        for address in addresses {
            match TcpStream::connect((address, endpoint.port)).await {
                Ok(stream) if endpoint.is_secure => {
                    return self.secure(stream, endpoint, certificate).await;
                }
                Ok(stream) => return Ok(Box::new(stream)),
                Err(error) => failure = format!("{address}: {error}"),
            }
        }
        Err(failure)
    }

    async fn secure(
        &self,
        stream: TcpStream,
        endpoint: &Endpoint,
        certificate: Option<&str>,
    ) -> Result<Box<dyn Stream>, String> {
        let own = certificate.and_then(|pem| authorities(pem.as_bytes()));
        let roots = own.map_or_else(|| Arc::clone(&self.roots), Arc::new);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(endpoint.host.clone());
        let name = name.map_err(|error| error.to_string())?;
        let shaken = TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await;
        let stream = shaken.map_err(|error| format!("TLS: {error}"))?;
        Ok(Box::new(stream))
    }

    /// Addresses of a name, at most four of each version.
    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, String> {
        if self.dns.is_empty() {
            return Err("no DNS server is known: use an address".into());
        }
        let mut failure = "no address".to_string();
        for server in &self.dns {
            let (a, aaaa) = tokio::join!(ask(*server, name, 1), ask(*server, name, 28));
            let mut found = Vec::new();
            for answer in [a, aaaa] {
                match answer {
                    Ok(addresses) => found.extend(addresses),
                    Err(error) => failure = error,
                }
            }
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Err(format!("{name}: {failure}"))
    }
}

/// Sends a question to a DNS server.
async fn ask(server: SocketAddr, name: &str, rtype: u16) -> Result<Vec<IpAddr>, String> {
    let text = |error: std::io::Error| format!("DNS server {server}: {error}");
    let query = query(name, rtype).ok_or("not a name")?;
    let unspecified: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((unspecified, 0)).await.map_err(text)?;
    socket.connect(server).await.map_err(text)?;
    socket.send(&query).await.map_err(text)?;
    let mut answer = vec![0; 1500];
    let received = timeout(DNS_TIMEOUT, async {
        loop {
            let length = socket.recv(&mut answer).await.map_err(text)?;
            // The identifier and the question are those of the query.
            let is_ours =
                length >= query.len() && answer[..2] == query[..2] && answer[2] & 0x80 != 0;
            if is_ours && answer[12..query.len()].eq_ignore_ascii_case(&query[12..]) {
                return Ok(length);
            }
        }
    });
    let length = received
        .await
        .unwrap_or_else(|_| Err(format!("DNS server {server}: no answer")))?;
    Ok(addresses(&answer[..length]).unwrap_or_default())
}

fn query(name: &str, rtype: u16) -> Option<Vec<u8>> {
    use ring::rand::{SecureRandom, SystemRandom};
    let mut id = [0; 2];
    SystemRandom::new().fill(&mut id).ok()?;
    let mut query = vec![id[0], id[1], 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.trim_end_matches('.').split('.') {
        let length = u8::try_from(label.len())
            .ok()
            .filter(|length| (1..64).contains(length));
        query.push(length?);
        query.extend(label.as_bytes());
    }
    query.push(0);
    query.extend(rtype.to_be_bytes());
    query.extend([0, 1]);
    (query.len() < 12 + 255 + 5).then_some(query)
}

fn addresses(answer: &[u8]) -> Option<Vec<IpAddr>> {
    let message = Message::from_octets(answer).ok()?;
    let section = message.answer().ok()?;
    let four = section.limit_to_in::<A>().filter_map(Result::ok);
    let six = section.limit_to_in::<Aaaa>().filter_map(Result::ok);
    let four = four
        .map(|record| IpAddr::from(record.data().addr()))
        .take(4);
    let six = six.map(|record| IpAddr::from(record.data().addr())).take(4);
    Some(four.chain(six).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_links_and_metadata_services_are_refused() {
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "::1",
            "::ffff:127.0.0.1",
            "169.254.169.254",
            "::ffff:169.254.169.254",
            "fe80::1",
            "fd00:ec2::254",
            "0.0.0.0",
            "0.1.2.3",
            "::",
            "::7f00:1",
            "224.0.0.1",
            "ff02::1",
            "255.255.255.255",
        ] {
            let parsed = address.parse().expect("an address");
            assert!(check(parsed, false).is_err(), "{address}");
            let is_loopback =
                ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"].contains(&address);
            assert_eq!(check(parsed, true).is_ok(), is_loopback, "{address}");
        }
        for address in [
            "192.168.1.5",
            "10.2.0.6",
            "203.0.113.1",
            "2001:db8::1",
            "fd12::1",
        ] {
            assert_eq!(
                check(address.parse().expect("an address"), false),
                Ok(()),
                "{address}"
            );
        }
    }

    #[test]
    fn urls_have_a_host_and_no_user() {
        let read = |url: &str| Endpoint::read(url).map(|each| (each.host, each.port, each.path));
        let some = |host: &str, port, path: &str| Some((host.to_string(), port, path.to_string()));
        assert_eq!(read("https://a.example"), some("a.example", 443, "/"));
        assert_eq!(
            read("https://a.example:8443/b?c=d"),
            some("a.example", 8443, "/b?c=d")
        );
        assert_eq!(
            read("mqtts://[2001:db8::1]"),
            some("2001:db8::1", 8883, "/")
        );
        assert_eq!(read("mqtt://192.0.2.1:1884"), some("192.0.2.1", 1884, "/"));
        for url in [
            "",
            "a.example",
            "http://a.example",
            "file:///etc/passwd",
            "https://",
            "https://user@a.example",
            "https://u:p@a.example",
            "https://a.example:0",
            "https://a.example:70000",
            "https://a.example:x",
            "https://a b",
            "https://a\r\nb",
            "gopher://a",
            "mqtt:a",
        ] {
            assert_eq!(read(url), None, "{url}");
        }
    }

    #[test]
    fn answers_of_dns_have_addresses_and_damaged_ones_none() {
        let mut answer = query("a.example", 1).expect("a query");
        answer[2] |= 0x80;
        answer[7] = 1;
        answer.extend([0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7]);
        assert_eq!(addresses(&answer), Some(vec![[192, 0, 2, 7].into()]));
        for end in 0..answer.len() {
            assert_eq!(
                addresses(&answer[..end]).unwrap_or_default(),
                [] as [IpAddr; 0]
            );
        }
        assert!(
            query(&"a".repeat(64), 1).is_none()
                && query("a..b", 1).is_none()
                && query(&"a.".repeat(140), 1).is_none()
        );
    }
}
