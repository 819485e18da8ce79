//! Calls about invitations.

use super::{Context, Failed};
use crate::invitations::{Invitation, InvitationError, Use, Wanted};
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use qrcodegen::{QrCode, QrCodeEcc};
use serde::Serialize;
use std::fmt::Write;

impl From<InvitationError> for Failed {
    fn from(error: InvitationError) -> Failed {
        let code = match error {
            InvitationError::Store(error) => return error.into(),
            InvitationError::Refused(refused) => return refused.into(),
            InvitationError::None => StatusCode::NOT_FOUND,
            InvitationError::Many | InvitationError::NoPage => StatusCode::CONFLICT,
            InvitationError::Random => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        };
        Failed(code, error.to_string())
    }
}

/// An invitation without its code.
#[derive(Serialize)]
pub struct InvitationView {
    id: String,
    is_valid: bool,
    expires: u64,
    devices: u16,
    person: Option<String>,
    used: Vec<Use>,
}

impl InvitationView {
    fn new(invitation: Invitation, now: u64) -> InvitationView {
        InvitationView {
            is_valid: invitation.is_valid(now),
            id: invitation.id,
            expires: invitation.expires,
            devices: invitation.devices,
            person: invitation.person,
            used: invitation.used,
        }
    }
}

/// An invitation with its link, which is shown once.
#[derive(Serialize)]
pub struct Made {
    invitation: InvitationView,
    url: String,
    qr: Picture,
}

/// A QR code: modules on a side with the quiet zone of four, and the dark modules as a path of SVG.
#[derive(Serialize)]
struct Picture {
    size: i32,
    path: String,
}

pub async fn all(State(context): State<Context>) -> Json<Vec<InvitationView>> {
    let now = context.app.clock.unix();
    let list = context.app.invitations.list().into_iter();
    Json(list.map(|each| InvitationView::new(each, now)).collect())
}

pub async fn make(
    State(context): State<Context>,
    body: Result<Json<Wanted>, JsonRejection>,
) -> Result<Json<Made>, Failed> {
    let Json(wanted) = body?;
    let page = context.app.join.ok_or(InvitationError::NoPage)?;
    let (invitation, code) = context.app.invitations.make(wanted)?;
    // A fragment stays in the browser: it is in no log and no Referer.
    let url = format!("http://{page}/#{code}");
    let qr = picture(&url).ok_or(Failed(
        StatusCode::INTERNAL_SERVER_ERROR,
        "the link does not fit into a QR code".into(),
    ))?;
    let invitation = InvitationView::new(invitation, context.app.clock.unix());
    Ok(Json(Made {
        invitation,
        url,
        qr,
    }))
}

pub async fn revoke(
    State(context): State<Context>,
    path: Result<Path<String>, PathRejection>,
) -> Result<StatusCode, Failed> {
    let Path(id) = path?;
    context.app.invitations.revoke(&id)?;
    Ok(StatusCode::NO_CONTENT)
}

/// The QR code of a text (ISO/IEC 18004), with runs of dark modules as rectangles.
fn picture(text: &str) -> Option<Picture> {
    const QUIET: i32 = 4;
    let code = QrCode::encode_text(text, QrCodeEcc::Medium).ok()?;
    let mut path = String::new();
    for y in 0..code.size() {
        let mut x = 0;
        while x < code.size() {
            let length = (x..code.size())
                .take_while(|x| code.get_module(*x, y))
                .count();
            let length = i32::try_from(length).ok()?;
            if length > 0 {
                write!(path, "M{} {}h{length}v1h-{length}z", x + QUIET, y + QUIET).ok()?;
            }
            x += length.max(1);
        }
    }
    Some(Picture {
        size: code.size() + 2 * QUIET,
        path,
    })
}
