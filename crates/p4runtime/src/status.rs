//! Errors as gRPC tells them.

use crate::messages::{self, Any, runtime};
use pipeline::control::{Error, ErrorKind};
use prost::Message;
use tonic::{Code, Status};

/// Maximum length of a percent-encoded message, bytes. Statuses travel in HTTP/2 headers, of which
/// clients accept 8 KiB in all.
const MAX_MESSAGE_LEN: usize = 2500;
/// Maximum length of the details, bytes; Base64 adds a third.
const MAX_DETAILS_LEN: usize = 3600;

/// A status whose message is short enough to arrive.
pub fn bounded(status: Status) -> Status {
    let mut room = MAX_MESSAGE_LEN;
    let cut = status.message().char_indices().find(|(_, c)| {
        let plain = matches!(c, ' '..='~') && *c != '%';
        let cost = if plain { 1 } else { 3 * c.len_utf8() };
        let fits = cost <= room;
        room = room.saturating_sub(cost);
        !fits
    });
    match cut {
        None => status,
        Some((at, _)) => {
            let message = format!("{} ...", &status.message()[..at]);
            Status::with_details(status.code(), message, status.details().to_vec().into())
        }
    }
}

/// Why the control plane refused something.
pub fn of(error: &Error) -> Status {
    let code = match error.kind {
        ErrorKind::Invalid => Code::InvalidArgument,
        ErrorKind::Unknown | ErrorKind::Absent => Code::NotFound,
        ErrorKind::Exists => Code::AlreadyExists,
        ErrorKind::Full => Code::ResourceExhausted,
        ErrorKind::Refused => Code::PermissionDenied,
        ErrorKind::InUse => Code::FailedPrecondition,
        ErrorKind::Unsupported => Code::Unimplemented,
        ErrorKind::TakenBack => Code::Aborted,
    };
    Status::new(code, error.message.clone())
}

/// The status of a write: all is well, or the details have an error for each update (specification, section 12.3).
pub fn of_updates(results: &[Result<(), Status>]) -> Result<(), Status> {
    let failed = results.iter().filter(|result| result.is_err()).count();
    let Some(first) = results.iter().find_map(|result| match result {
        Err(status) if status.code() != Code::Aborted => Some(status),
        _ => None,
    }) else {
        return Ok(());
    };
    let message = format!(
        "{failed} of {} updates were not made: {}",
        results.len(),
        first.message()
    );
    // Of many updates not all errors fit: then none is made.
    let too_many = || {
        let message = format!(
            "{message} (the errors of all updates do not fit into the answer: send fewer at once)"
        );
        Err(Status::new(Code::Unknown, message))
    };
    let mut details = Vec::new();
    let mut length = message.len();
    for result in results {
        let error = match result {
            Ok(()) => runtime::Error::default(),
            Err(status) => runtime::Error {
                canonical_code: status.code() as i32,
                message: status.message().to_owned(),
                space: "wireline".to_owned(),
                code: 0,
                details: None,
            },
        };
        let one = Any {
            type_url: "type.googleapis.com/p4.v1.Error".to_owned(),
            value: error.encode_to_vec(),
        };
        length += one.encoded_len();
        if length > MAX_DETAILS_LEN {
            return too_many();
        }
        details.push(one);
    }
    let whole = messages::Status {
        code: Code::Unknown as i32,
        message: message.clone(),
        details,
    };
    let details = whole.encode_to_vec();
    if details.len() > MAX_DETAILS_LEN {
        return too_many();
    }
    Err(Status::with_details(Code::Unknown, message, details.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_between_characters_and_a_short_one_stays() {
        let short = bounded(Status::not_found("no table ä%"));
        assert_eq!(
            (short.code(), short.message()),
            (Code::NotFound, "no table ä%")
        );
        for long in ["x".repeat(22_000), "ä\n%".repeat(9_000)] {
            let status = bounded(Status::with_details(
                Code::Unknown,
                long.clone(),
                vec![7].into(),
            ));
            let headers = status.clone().into_http::<tonic::body::Body>();
            let header = headers.headers()["grpc-message"].len();
            assert!(header < 3000, "{header}");
            let message = status.message().strip_suffix(" ...").unwrap();
            assert!(long.starts_with(message) && message.len() > 500);
            assert_eq!((status.code(), status.details()), (Code::Unknown, &[7][..]));
        }
    }

    #[test]
    fn the_errors_of_many_updates_are_told_as_far_as_they_arrive() {
        let refused = || {
            Err(Status::not_found(
                "there is no such entry in table `ingress.ipv4`",
            ))
        };
        let few = of_updates(&[Ok(()), refused()]).unwrap_err();
        assert!(!few.details().is_empty() && few.message().starts_with("1 of 2"));
        let many: Vec<_> = (0..1000).map(|_| refused()).collect();
        let many = of_updates(&many).unwrap_err();
        assert!(many.details().is_empty() && many.message().contains("send fewer"));
    }
}
