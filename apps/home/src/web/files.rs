//! The files of the board, compiled into the program.

use page::File;

/// Path, media type and content.
pub const FILES: [File; 14] = [
    page::FEED,
    page::ELEMENTS,
    (
        "/",
        "text/html; charset=utf-8",
        include_bytes!("../../web/index.html"),
    ),
    (
        "/board.css",
        "text/css; charset=utf-8",
        include_bytes!("../../web/board.css"),
    ),
    (
        "/board.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../web/board.js"),
    ),
    (
        "/details.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../web/details.js"),
    ),
    (
        "/invite.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../web/invite.js"),
    ),
    (
        "/limits.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../web/limits.js"),
    ),
    (
        "/people.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../web/people.js"),
    ),
    (
        "/rehearsal.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../web/rehearsal.js"),
    ),
    (
        "/messages.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../web/messages.js"),
    ),
    (
        "/page.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../web/page.js"),
    ),
    (
        "/icon.svg",
        "image/svg+xml",
        include_bytes!("../../web/icon.svg"),
    ),
    (
        "/openapi.json",
        "application/json",
        include_bytes!("../../web/openapi.json"),
    ),
];

/// The files of the page for guests.
pub const JOIN_FILES: [File; 3] = [
    (
        "/",
        "text/html; charset=utf-8",
        include_bytes!("../../web/join.html"),
    ),
    (
        "/join.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../web/join.js"),
    ),
    (
        "/board.css",
        "text/css; charset=utf-8",
        include_bytes!("../../web/board.css"),
    ),
];
