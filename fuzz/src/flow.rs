//! Five-tuples: the hash of a frame is that of its tuple, and zero where there is none; content of any kind is told or refused.

use packet::flow;
use packet::sniff::{HEAD, sniff};

pub fn target(data: &[u8]) {
    let tuple = flow::five_tuple(data);
    assert_eq!(flow::hash(data), tuple.map_or(0, |tuple| tuple.hash()));
    if let Some(tuple) = tuple {
        assert_eq!(tuple.source.is_ipv4(), tuple.destination.is_ipv4());
        // Padding that follows a whole packet changes nothing.
        if tuple.source_port != 0 {
            let padded = [data, &[0; 4]].concat();
            assert_eq!(flow::five_tuple(&padded), Some(tuple));
        }
    }
    assert_eq!(sniff(data), sniff(&data[..data.len().min(HEAD)]));
}
