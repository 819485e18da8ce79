//! Common parts of web pages: server-sent events, response headers and scripts.
//!
//! | part | content |
//! |---|---|
//! | [`feed`], [`FEED`] | server-sent events: the server's side and the browser's |
//! | [`ELEMENTS`] | script: elements of a page, formatted numbers |
//! | [`secure`] | headers of all responses |
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod feed;

use axum::http::header::{self, HeaderName, HeaderValue};
use axum::response::Response;

/// Path, media type and content of a file of a page.
pub type File = (&'static str, &'static str, &'static [u8]);

/// Media type of scripts.
pub const SCRIPT: &str = "text/javascript; charset=utf-8";
/// Media type of style sheets.
pub const STYLE: &str = "text/css; charset=utf-8";
/// Media type of pages.
pub const HTML: &str = "text/html; charset=utf-8";

/// Script that reads the events of a [`feed`].
pub const FEED: File = ("/feed.js", SCRIPT, include_bytes!("../web/feed.js"));
/// Script that makes elements and formats bytes and rates.
pub const ELEMENTS: File = ("/elements.js", SCRIPT, include_bytes!("../web/elements.js"));

/// Sets the headers of a response: the page runs scripts from its own files only, is not shown in frames, and is not cached.
pub fn secure(answer: &mut Response) {
    const HEADERS: [(HeaderName, &str); 8] = [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; \
             base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("permissions-policy"),
            "camera=(), geolocation=(), microphone=()",
        ),
    ];
    for (name, value) in HEADERS {
        answer
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
}
