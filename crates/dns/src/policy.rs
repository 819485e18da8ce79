//! Policies: decisions about the questions of clients, and a view of the answers they get.

use crate::message::Question;
use crate::reply::Client;
use core::net::IpAddr;
use node::Time;

/// Decision about a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is answered.
    Permit,
    /// The name does not exist (NXDOMAIN).
    NoSuchName,
    /// The response is REFUSED.
    Refuse,
    /// The name has this address, and no other records.
    Address(IpAddr),
    /// There is no response.
    Ignore,
}

/// A policy of a forwarder or resolver.
pub trait Policy: core::fmt::Debug + Send {
    /// Decides about a question, before the cache is looked up.
    fn decide(&mut self, now: Time, client: &Client, question: &Question<'_>) -> Decision {
        let _ = (now, client, question);
        Decision::Permit
    }

    /// Sees the response that a client gets to a permitted question, from a server or from the cache; its
    /// [addresses](crate::message::addresses) are those that the client will use for the question's name.
    fn answered(&mut self, now: Time, client: &Client, question: &Question<'_>, response: &[u8]) {
        let _ = (now, client, question, response);
    }
}

/// The policy that permits all.
#[derive(Clone, Copy, Debug, Default)]
pub struct PermitAll;

impl Policy for PermitAll {}

impl<P: Policy + ?Sized> Policy for alloc::boxed::Box<P> {
    fn decide(&mut self, now: Time, client: &Client, question: &Question<'_>) -> Decision {
        (**self).decide(now, client, question)
    }

    fn answered(&mut self, now: Time, client: &Client, question: &Question<'_>, response: &[u8]) {
        (**self).answered(now, client, question, response);
    }
}
