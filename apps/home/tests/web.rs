//! The API and the board on a real server on loopback.

#[path = "web/api.rs"]
mod api;
#[path = "web/attacks.rs"]
mod attacks;
#[path = "web/board.rs"]
mod board;
#[path = "web/events.rs"]
mod events;
#[path = "web/invitations.rs"]
mod invitations;
#[path = "web/messages.rs"]
mod messages;
#[path = "web/rows.rs"]
mod rows;
#[path = "web/server.rs"]
mod server;
#[path = "web/sessions.rs"]
mod sessions;
