//! Errors as gRPC tells them.

use crate::messages::{self, Any, runtime};
use pipeline::control::{Error, ErrorKind};
use prost::Message;
use tonic::{Code, Status};

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
    let details = results
        .iter()
        .map(|result| {
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
            Any {
                type_url: "type.googleapis.com/p4.v1.Error".to_owned(),
                value: error.encode_to_vec(),
            }
        })
        .collect();
    let whole = messages::Status {
        code: Code::Unknown as i32,
        message: message.clone(),
        details,
    };
    Err(Status::with_details(
        Code::Unknown,
        message,
        whole.encode_to_vec().into(),
    ))
}
