//! Answers of SNMP.

use openflow::snmp::{Oid, PduType, request, response};

/// What is read has values and names; names are written as they were read.
pub fn target(data: &[u8]) {
    let Ok(answer) = response(data) else {
        return;
    };
    let names: Vec<_> = answer.variables.into_iter().map(|(name, _)| name).collect();
    for name in &names {
        assert_eq!(name.to_string().parse::<Oid>(), Ok(name.clone()));
    }
    let mut out = Vec::new();
    request(PduType::GetNext, "public", answer.id, &names, &mut out);
    assert!(response(&out).is_err(), "a request is no answer");
}
