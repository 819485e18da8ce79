//! Pings that somebody asks for while a lab runs: one at a time.

use hosts::pinger::Questions;
use node::Time;
use parking_lot::Mutex;
use std::net::IpAddr;
use std::sync::Arc;

/// What is asked, and what is known of that.
#[derive(Clone, Default)]
pub(crate) struct Pings(Arc<Mutex<Question>>);

#[derive(Default)]
struct Question {
    /// The node that is to ask next, and whom.
    due: Option<(usize, IpAddr)>,
    number: u16,
    answer: Option<Answer>,
}

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// When the first bit of the answer arrived.
    Arrived(Time),
    /// There is no way.
    NoRoute,
}

impl Pings {
    /// For the host of this number.
    pub fn of(&self, node: usize) -> Box<dyn Questions> {
        Box::new(Asked(node, self.clone()))
    }

    /// Has a host ask somebody, when it is woken. What was asked before is not waited for any more.
    pub fn ask(&self, node: usize, whom: IpAddr) {
        let mut question = self.0.lock();
        *question = Question {
            due: Some((node, whom)),
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
    fn next(&mut self) -> Option<(IpAddr, u16)> {
        let Asked(node, pings) = self;
        let mut question = pings.0.lock();
        let (_, whom) = question.due.take_if(|(wanted, _)| wanted == node)?;
        Some((whom, question.number))
    }

    fn no_route(&mut self, number: u16) {
        self.1.note(number, Answer::NoRoute);
    }

    fn answered(&mut self, arrived: Time, number: u16) {
        self.1.note(number, Answer::Arrived(arrived));
    }
}
