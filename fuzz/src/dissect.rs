//! Fields by name: no frame makes dissection panic, and what it says is bounded by what is there; nor does any message of an
//! application, taken as one.

use packet::dissect::{self, Dissection};
use packet::{dhcp::DhcpView, dns::DnsView, http::HttpView, tls};
use std::hint::black_box as see;

/// Maximum ratio of a value's length to the frame's. Each record of twelve bytes may point to a
/// name of 255 bytes, each of which may take four characters.
const MAX_EXPANSION: usize = 128;

pub fn target(data: &[u8]) {
    let mut all = Dissection::new(dissect::fields());
    // As it is, and as the beginning of a longer one.
    all.read(data, None);
    all.read(data, Some(2 * data.len()));
    for index in 0..dissect::fields().count() {
        let length = all.value(index).len();
        assert!(
            length <= 64 + MAX_EXPANSION * data.len(),
            "{length} of {}",
            data.len()
        );
    }
    if let Ok(dns) = DnsView::new(data) {
        let names = dns.questions().map(|question| question.name);
        let names = names.chain(dns.records().map(|record| record.name));
        for name in names {
            assert!(name.to_string().len() <= 4 * 255);
        }
    }
    if let Ok(dhcp) = DhcpView::new(data) {
        for number in 0..=255 {
            see(dhcp.option(number).count());
        }
    }
    if let Some(http) = HttpView::new(data) {
        assert!(http.header("Host").count() <= data.len());
    }
    assert!(tls::records(data).count() <= data.len() / 5);
    for (kind, message) in tls::messages(data) {
        if let Some(hello) = tls::Hello::new(kind, message) {
            see((
                hello.server_names().count(),
                hello.protocols().count(),
                hello.versions().count(),
            ));
        }
    }
}
