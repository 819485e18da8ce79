//! Echo requests of a lab's shell, `ping` and `traceroute`: one at a time.

use hosts::pinger::{Question as Echo, Questions};
use node::Time;
use parking_lot::Mutex;
use std::net::IpAddr;
use std::sync::Arc;

/// What is asked, and what is known of that.
#[derive(Clone, Default)]
pub(crate) struct Pings(Arc<Mutex<Question>>);

#[derive(Default)]
struct Question {
    /// The node that is to send the next request, its destination and its hop limit.
    due: Option<(usize, IpAddr, u8)>,
    number: u16,
    answer: Option<Answer>,
}

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The first bit of an echo reply, or of an ICMP error of this type and code, arrived at this time from this address.
    Arrived(Time, IpAddr, Option<[u8; 2]>),
    /// There is no way.
    NoRoute,
}

impl Pings {
    /// Those of the node of this number.
    pub fn of(&self, node: usize) -> Box<dyn Questions> {
        Box::new(Asked(node, self.clone()))
    }

    /// Lets a node send a request when it is woken. The one before is not waited for any more.
    pub fn ask(&self, node: usize, whom: IpAddr, hops: u8) {
        let mut question = self.0.lock();
        *question = Question {
            due: Some((node, whom, hops)),
            number: question.number.wrapping_add(1),
            answer: None,
        };
    }

    /// What has come of it.
    pub fn answer(&self) -> Option<Answer> {
        self.0.lock().answer
    }

    fn note(&self, number: u16, answer: Answer) {
        let mut question = self.0.lock();
        if question.number == number && question.answer.is_none() {
            question.answer = Some(answer);
        }
    }
}

/// The questions that a host is asked.
struct Asked(usize, Pings);

impl Questions for Asked {
    fn is_due(&self) -> bool {
        let due = self.1.0.lock().due;
        due.is_some_and(|(node, ..)| node == self.0)
    }

    fn next(&mut self) -> Option<Echo> {
        let Asked(node, pings) = self;
        let mut question = pings.0.lock();
        let (_, to, hops) = question.due.take_if(|(wanted, ..)| wanted == node)?;
        Some(Echo {
            to,
            number: question.number,
            hops,
        })
    }

    fn no_route(&mut self, number: u16) {
        self.1.note(number, Answer::NoRoute);
    }

    fn answered(&mut self, arrived: Time, number: u16, from: IpAddr, error: Option<[u8; 2]>) {
        self.1.note(number, Answer::Arrived(arrived, from, error));
    }
}
