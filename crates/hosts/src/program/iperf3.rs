//! A server for real iperf3 clients, by TCP, from client to server: what `iperf3 -c HOST`, `-P`, `-n` and `-t` want.
//!
//! `port`, 5201; `buffer`, 6 MiB: of each connection; `congestion`, `cubic`; `ecn`, `passive`, see [`Ecn`]; `min_rto`, 200 ms. One test at a time, as iperf3 does it; another client is refused meanwhile. What it
//! does not do - UDP, the other direction (`-R`, `--bidir`) - it refuses as not implemented.
//!
//! The protocol is iperf 3's: a control connection and one for each stream, each of which begins with the client's cookie. On the control
//! connection a byte names the next state; parameters and results are JSON behind a length of four bytes.

use super::records::Records;
use super::{BUFFER, BUFFERS, Binding, Congestion, Context, Ecn, MIN_RTO, Net, Program, send};
use crate::connections::{Id, SocketOptions};
use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::vec::Vec;
use node::{Flow, Time};
use serde_json::{Value, json};

/// What a server is made from.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Where it listens.
    pub port: u16,
    /// Bytes of a connection's buffer in each direction.
    pub buffer: usize,
    /// Congestion control; with `dctcp` its acknowledgements are DCTCP's too.
    pub congestion: Congestion,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Minimum retransmission time-out, see [`SocketOptions::min_rto`]: 1 us to 60 s.
    pub min_rto: Time,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            port: 5201,
            buffer: BUFFER,
            congestion: Congestion::Cubic,
            ecn: Ecn::Passive,
            min_rto: MIN_RTO,
        }
    }
}

/// Bytes of a cookie.
const COOKIE: usize = 37;
/// Maximum length of the JSON that a client sends, bytes.
const MAX_JSON_LEN: usize = 64 << 10;
/// Maximum number of parallel streams of a test, the same as in iperf3.
const MAX_PARALLEL_STREAMS: u64 = 128;

/// States, as they are sent.
const TEST_START: u8 = 1;
const TEST_RUNNING: u8 = 2;
const TEST_END: u8 = 4;
const PARAM_EXCHANGE: u8 = 9;
const CREATE_STREAMS: u8 = 10;
const EXCHANGE_RESULTS: u8 = 13;
const DISPLAY_RESULTS: u8 = 14;
const ACCESS_DENIED: u8 = -1i8 as u8;
const SERVER_ERROR: u8 = -2i8 as u8;
/// iperf3's `IEUNIMP`: not implemented.
const UNIMPLEMENTED: u32 = 13;

/// What is expected next on the control connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Parameters,
    Streams,
    Running,
    Results,
    Done,
}

/// A test under way.
struct Test {
    control: Id,
    cookie: Vec<u8>,
    step: Step,
    /// How many streams there are to be, and those that there are.
    wanted: usize,
    streams: Vec<Id>,
}

/// A connection.
struct Open {
    flow: Flow,
    /// What has come and is not yet understood.
    came: Vec<u8>,
    /// What is to be sent.
    leaves: Vec<u8>,
    /// It carries data.
    stream: bool,
    /// It ends when all is sent.
    last: bool,
}

pub(crate) struct Server {
    config: Config,
    open: BTreeMap<Id, Open>,
    test: Option<Test>,
    over: Records,
}

impl Server {
    pub fn new(config: Config) -> Server {
        Server {
            config,
            open: BTreeMap::new(),
            test: None,
            over: Records::default(),
        }
    }

    /// Reads what has come on a connection.
    fn read(&mut self, id: Id, context: &mut Context<'_>) {
        let now = context.now;
        let (Some(open), Some(socket)) = (self.open.get_mut(&id), context.socket(id)) else {
            return;
        };
        let mut count = 0;
        while socket.can_recv() && open.came.len() <= MAX_JSON_LEN {
            let (stream, came) = (open.stream, &mut open.came);
            let read = socket.recv(|bytes| {
                if !stream {
                    came.extend_from_slice(bytes);
                }
                (bytes.len(), bytes.len())
            });
            count += read.unwrap_or(0);
        }
        if open.stream && count > 0 {
            open.flow.bytes += count as u64;
            open.flow.packets += 1;
            open.flow.ended = now;
        }
        // The far end has said all; before a connection is open, neither end may say anything.
        if !socket.may_recv() && socket.may_send() {
            open.flow.done = true;
            open.last = true;
        }
    }

    /// Acts on what has come, as far as it is whole.
    fn act(&mut self, id: Id) {
        let Some(open) = self.open.get_mut(&id).filter(|open| !open.stream) else {
            return;
        };
        let known = self.test.as_mut().filter(|test| test.control == id);
        let Some(test) = known else {
            if open.came.len() < COOKIE {
                return;
            }
            let cookie: Vec<u8> = open.came.drain(..COOKIE).collect();
            match &mut self.test {
                None => {
                    open.leaves.push(PARAM_EXCHANGE);
                    self.test = Some(Test {
                        control: id,
                        cookie,
                        step: Step::Parameters,
                        wanted: 1,
                        streams: Vec::new(),
                    });
                }
                Some(test) if test.step == Step::Streams && test.cookie == cookie => {
                    open.stream = true;
                    open.flow.bytes = core::mem::take(&mut open.came).len() as u64;
                    test.streams.push(id);
                    if test.streams.len() == test.wanted {
                        test.step = Step::Running;
                        let control = test.control;
                        self.say(control, &[TEST_START, TEST_RUNNING]);
                    }
                }
                Some(_) => {
                    open.leaves.push(ACCESS_DENIED);
                    open.last = true;
                }
            }
            return;
        };
        match test.step {
            Step::Parameters => {
                let Some(parameters) = taken(&mut open.came) else {
                    return;
                };
                let on = |key| parameters[key].as_bool() == Some(true);
                // What is no object is none of iperf3's.
                let parallel = match &parameters["parallel"] {
                    Value::Null if parameters.is_object() => 1,
                    number => number.as_u64().unwrap_or(0),
                };
                let foreign = ["udp", "sctp", "reverse", "bidirectional"];
                if foreign.into_iter().any(on) || !(1..=MAX_PARALLEL_STREAMS).contains(&parallel) {
                    open.leaves.push(SERVER_ERROR);
                    open.leaves.extend(UNIMPLEMENTED.to_be_bytes());
                    open.leaves.extend([0; 4]);
                    (open.last, test.step) = (true, Step::Done);
                    return;
                }
                (test.wanted, test.step) = (parallel as usize, Step::Streams);
                open.leaves.push(CREATE_STREAMS);
            }
            Step::Running if open.came.first() == Some(&TEST_END) => {
                open.came.remove(0);
                test.step = Step::Results;
                open.leaves.push(EXCHANGE_RESULTS);
            }
            Step::Results => {
                let Some(theirs) = taken(&mut open.came) else {
                    return;
                };
                test.step = Step::Done;
                let streams = test.streams.clone();
                let text = self.results(&streams, &theirs).to_string();
                let mut answer = (text.len() as u32).to_be_bytes().to_vec();
                answer.extend(text.into_bytes());
                answer.push(DISPLAY_RESULTS);
                self.say(id, &answer);
            }
            _ => {
                // The client is done, or gives up.
                if !open.came.is_empty() {
                    open.came.clear();
                    open.last = true;
                }
            }
        }
    }

    /// What was counted, with the numbers that the client has given its streams.
    fn results(&self, streams: &[Id], theirs: &Value) -> Value {
        let theirs = theirs["streams"].as_array().into_iter().flatten();
        let each = theirs.zip(streams).map(|(theirs, id)| {
            let flow = self.open.get(id).map(|open| &open.flow);
            let (bytes, seconds) = flow.map_or((0, 0.0), |flow| {
                (flow.bytes, (flow.ended - flow.begun).as_secs_f64())
            });
            json!({
                "id": theirs["id"], "bytes": bytes, "retransmits": -1, "jitter": 0, "errors": 0, "packets": 0,
                "start_time": 0, "end_time": seconds,
            })
        });
        let each: Vec<Value> = each.collect();
        json!({
            "cpu_util_total": 0, "cpu_util_user": 0, "cpu_util_system": 0, "sender_has_retransmits": -1,
            "streams": each,
        })
    }

    fn say(&mut self, id: Id, bytes: &[u8]) {
        if let Some(open) = self.open.get_mut(&id) {
            open.leaves.extend_from_slice(bytes);
        }
    }

    /// Sends what there is to be sent.
    fn write(&mut self, id: Id, context: &mut Context<'_>) {
        let (Some(open), Some(socket)) = (self.open.get_mut(&id), context.socket(id)) else {
            return;
        };
        send(socket, &mut open.leaves);
        if open.last && open.leaves.is_empty() && socket.may_send() {
            socket.close();
        }
    }
}

/// Takes JSON with its length before it, if it is whole; null for what is none. One that is too long leaves nothing to be read.
fn taken(came: &mut Vec<u8>) -> Option<Value> {
    let length = u32::from_be_bytes(*came.first_chunk::<4>()?) as usize;
    if length > MAX_JSON_LEN - 4 {
        came.clear();
        return Some(Value::Null);
    }
    let value = serde_json::from_slice(came.get(4..4 + length)?).unwrap_or_default();
    came.drain(..4 + length);
    Some(value)
}

impl Program for Server {
    fn bindings(&self) -> Vec<Binding> {
        let options = SocketOptions {
            buffer: self.config.buffer.clamp(*BUFFERS.start(), *BUFFERS.end()),
            congestion: self.config.congestion,
            ecn: self.config.ecn,
            min_rto: self.config.min_rto,
            ..SocketOptions::default()
        };
        [Binding::Tcp(self.config.port, options)].into()
    }

    fn ready(&mut self, id: Id, new: bool, context: &mut Context<'_>) {
        if new {
            let (own, remote) = context
                .ends(id)
                .map_or_else(Default::default, |(own, remote)| {
                    (own.to_string(), remote.to_string())
                });
            let flow = Flow {
                program: "iperf3-server",
                from: own,
                to: remote,
                begun: context.now,
                ended: context.now,
                ..Flow::default()
            };
            let open = Open {
                flow,
                came: Vec::new(),
                leaves: Vec::new(),
                stream: false,
                last: false,
            };
            self.open.insert(id, open);
        }
        self.read(id, context);
        self.act(id);
        self.write(id, context);
        // A stream that has come lets the test begin.
        if let Some(control) = self.test.as_ref().map(|test| test.control)
            && control != id
        {
            self.write(control, context);
            context.drive(control);
        }
    }

    fn over(&mut self, id: Id, context: &mut Context<'_>) {
        if let Some(open) = self.open.remove(&id).filter(|open| open.stream) {
            self.over.add(open.flow);
        }
        if let Some(test) = self.test.take_if(|test| test.control == id) {
            for stream in test.streams {
                if let Some(open) = self.open.get_mut(&stream) {
                    open.last = true;
                    self.write(stream, context);
                    context.drive(stream);
                }
            }
        }
    }

    fn flows(&self, _: &Net, visit: &mut dyn FnMut(Flow)) {
        self.over.show(visit);
        let streams = self.open.values().filter(|open| open.stream);
        streams.for_each(|open| visit(open.flow.clone()));
    }
}
