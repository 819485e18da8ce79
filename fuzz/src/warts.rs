//! Archives of scamper: each record is read or named with its place, the places grow, and what was read writes back the same.

use trace::warts::{self, Bad, Record};

pub fn target(data: &[u8]) {
    let mut records = warts::records(data);
    let mut before = 0;
    while let Some(record) = records.next() {
        match record {
            Ok(Record::Other { length, .. }) => assert!(length <= data.len()),
            Ok(record) => assert_writes_back(&record),
            Err(Bad { offset, .. }) => assert!((before..data.len()).contains(&offset)),
        }
        assert!(records.offset() > before);
        before = records.offset();
    }
    assert_eq!(records.offset(), data.len());
}

fn assert_writes_back(record: &Record) {
    let mut file = Vec::new();
    // A record may grow beyond what the format holds, as addresses take the place of references.
    if warts::write(record, &mut file).is_err() {
        assert!(file.is_empty());
        return;
    }
    let mut record = record.clone();
    if let Record::Trace(trace) = &mut record {
        trace.skipped = 0;
    }
    let again: Vec<_> = warts::records(&file).collect();
    assert_eq!(again, [Ok(record)]);
}
