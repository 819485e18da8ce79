//! What a controller knows, as JSON over HTTP, and its counters for Prometheus.
//!
//! | request | what it does |
//! |---|---|
//! | `GET /switches` | the switches: number, version, name, ports |
//! | `GET /switches/ID/ports` | the ports of one, with counters if the program `collector` runs |
//! | `GET /switches/ID/flows` | its entries, as the collector saw them last |
//! | `POST /switches/ID/flows` | adds an entry: `{"priority": 5, "match": {"eth_type": 2048, "ipv4_dst": "10.0.0.1"}, "actions": ["output:2"]}` |
//! | `DELETE /switches/ID/flows` | deletes the entries within a match: the same without actions |
//! | `GET /links`, `GET /hosts` | what the program `topology` has found |
//! | `GET /metrics` | counters for Prometheus |
//!
//! ID is the switch's number, in decimal or with `0x` in hexadecimal. What cannot be is answered by 400 and a reason, what is not
//! there by 404. Who may ask is told in [`guard`], how many and for how long in [`listen`].

mod guard;

use crate::token;
use anyhow::Context;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use guard::Guard;
use listen::http::Version;
use listen::{Gate, REST, REST_MEMORY};
use node::Time;
use node::budget::Budget;
use openflow::action::Action;
use openflow::controller::{App, Handle};
use openflow::instruction::Instruction;
use openflow::matching::Match;
use openflow::message::{ALL_TABLES, FlowCommand, FlowMod};
use openflow::oxm::{Field, Oxm};
use openflow::port::PortNo;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::fmt::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Interval at which the controller polls for requests.
const POLL_INTERVAL: Time = Time::from_ms(10);
/// Maximum number of requests that wait for the controller.
const MAX_PENDING_REQUESTS: usize = 256;
/// Timeout of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// A request.
enum Question {
    Switches,
    Ports(u64),
    Flows(u64),
    Links,
    Hosts,
    Metrics,
    Change(u64, Box<Change>),
}

/// An entry to add, or a match to delete.
struct Change {
    command: FlowCommand,
    table: u8,
    priority: u16,
    cookie: u64,
    idle_timeout: u16,
    hard_timeout: u16,
    fields: Vec<Oxm>,
    actions: Vec<Action<'static>>,
}

enum Reply {
    Json(Value),
    Text(String),
    NoSuchSwitch,
    Refused(String),
}

type Questions = Arc<Mutex<VecDeque<(Question, oneshot::Sender<Reply>)>>>;

/// Where it is served, and to whom.
#[derive(clap::Args)]
pub struct Rest {
    /// Serve switches, links, hosts and flows as JSON there, and /metrics for Prometheus
    #[arg(long, value_name = "ADDRESS:PORT")]
    rest: Option<SocketAddr>,
    /// The token that requests must carry is in this file, which is made if it is not there; without it a new one is told at the start
    #[arg(long, value_name = "FILE", requires = "rest")]
    token_file: Option<PathBuf>,
    /// Answer every program that can connect, without a token
    #[arg(long, requires = "rest", conflicts_with = "token_file")]
    no_token: bool,
    /// A name by which this machine may be asked, beside its addresses; may be given more than once
    #[arg(long, value_name = "NAME", requires = "rest")]
    rest_name: Vec<String>,
}

/// The program that answers: it sees all, and does nothing about packets.
pub struct Answers {
    questions: Questions,
    due: Time,
    guard: Arc<Guard>,
    gate: Arc<Gate>,
}

/// A place where it will be served.
pub struct Opened {
    listener: TcpListener,
    guard: Arc<Guard>,
    gate: Arc<Gate>,
}

impl Rest {
    /// Listens if it was asked for, and says where.
    ///
    /// # Errors
    /// When nobody can listen at the address, or there is no token.
    pub fn open(self) -> anyhow::Result<Option<Opened>> {
        let Some(address) = self.rest else {
            return Ok(None);
        };
        let token = match (&self.token_file, self.no_token) {
            (Some(path), _) => Some(token::of_file(path)?),
            (None, false) => Some(token::random()?),
            (None, true) => None,
        };
        let listener = TcpListener::bind(address).with_context(|| format!("--rest {address}"))?;
        listener.set_nonblocking(true)?;
        let at = listener.local_addr()?;
        eprintln!("wire: REST and metrics on http://{at}");
        match (&token, self.token_file) {
            (_, Some(path)) => eprintln!("wire: REST: the token is in {}", path.display()),
            (Some(token), None) => {
                eprintln!(
                    "wire: REST: curl -H 'Authorization: Bearer {token}' http://{at}/switches"
                );
            }
            (None, None) if at.ip().is_loopback() => {
                eprintln!(
                    "wire: REST: without a token every user of this machine may change the switches"
                );
            }
            (None, None) => {
                eprintln!(
                    "wire: REST: without a token whoever reaches {at} may change the switches"
                );
            }
        }
        Ok(Some(Opened {
            listener,
            guard: Arc::new(Guard::new(token, self.rest_name)),
            gate: Gate::new(format!("REST at {at}"), REST),
        }))
    }
}

impl Opened {
    /// Serves, on a thread that ends with the process.
    ///
    /// # Errors
    /// When no thread can start.
    pub fn start(self) -> anyhow::Result<Answers> {
        let Opened {
            listener,
            guard,
            gate,
        } = self;
        let questions = Questions::default();
        let router = router(questions.clone(), guard.clone());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let let_in = gate.clone();
        let body = move || {
            runtime.block_on(async move {
                match tokio::net::TcpListener::from_std(listener) {
                    Ok(listener) => {
                        let budget = Budget::new(REST_MEMORY);
                        listen::http::serve(listener, let_in, budget, None, Version::One, router)
                            .await;
                    }
                    Err(error) => eprintln!("wire: REST: {error}"),
                }
            });
        };
        let thread = std::thread::Builder::new().name("rest".into());
        thread.spawn(body).context("making a thread for REST")?;
        Ok(Answers {
            questions,
            due: Time::ZERO,
            guard,
            gate,
        })
    }
}

fn router(questions: Questions, guard: Arc<Guard>) -> Router {
    Router::new()
        .route(
            "/switches",
            get(async |state| ask(state, Question::Switches).await),
        )
        .route("/switches/{id}/ports", get(ports))
        .route("/switches/{id}/flows", get(flows).post(add).delete(delete))
        .route(
            "/links",
            get(async |state| ask(state, Question::Links).await),
        )
        .route(
            "/hosts",
            get(async |state| ask(state, Question::Hosts).await),
        )
        .route(
            "/metrics",
            get(async |state| ask(state, Question::Metrics).await),
        )
        .with_state(questions)
        .layer(DefaultBodyLimit::max(guard::MAX_BODY))
        .layer(axum::middleware::from_fn_with_state(guard, guard::check))
}

async fn ask(State(questions): State<Questions>, question: Question) -> Response {
    let (answer, answered) = oneshot::channel();
    {
        let mut questions = questions.lock();
        if questions.len() >= MAX_PENDING_REQUESTS {
            return failed(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many questions at a time",
            );
        }
        questions.push_back((question, answer));
    }
    match tokio::time::timeout(REQUEST_TIMEOUT, answered).await {
        Ok(Ok(Reply::Json(value))) => Json(value).into_response(),
        Ok(Ok(Reply::Text(text))) => {
            ([("content-type", "text/plain; version=0.0.4")], text).into_response()
        }
        Ok(Ok(Reply::NoSuchSwitch)) => failed(StatusCode::NOT_FOUND, "there is no such switch"),
        Ok(Ok(Reply::Refused(why))) => failed(StatusCode::BAD_REQUEST, &why),
        _ => failed(
            StatusCode::SERVICE_UNAVAILABLE,
            "the controller does not answer",
        ),
    }
}

fn failed(code: StatusCode, why: &str) -> Response {
    (code, Json(json!({"error": why}))).into_response()
}

/// A switch's number, as a text.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

async fn about(
    state: State<Questions>,
    id: &str,
    question: impl FnOnce(u64) -> Question,
) -> Response {
    match number(id) {
        Some(id) => ask(state, question(id)).await,
        None => failed(
            StatusCode::BAD_REQUEST,
            "a switch is a number, such as 1 or 0x1",
        ),
    }
}

async fn ports(state: State<Questions>, Path(id): Path<String>) -> Response {
    about(state, &id, Question::Ports).await
}

async fn flows(state: State<Questions>, Path(id): Path<String>) -> Response {
    about(state, &id, Question::Flows).await
}

async fn add(state: State<Questions>, Path(id): Path<String>, body: String) -> Response {
    change(state, &id, &body, FlowCommand::Add).await
}

async fn delete(state: State<Questions>, Path(id): Path<String>, body: String) -> Response {
    change(state, &id, &body, FlowCommand::Delete).await
}

async fn change(state: State<Questions>, id: &str, body: &str, command: FlowCommand) -> Response {
    match Change::read(body, command) {
        Ok(change) => about(state, id, |id| Question::Change(id, Box::new(change))).await,
        Err(why) => failed(StatusCode::BAD_REQUEST, &why),
    }
}

impl Change {
    fn read(body: &str, command: FlowCommand) -> Result<Change, String> {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Body {
            table: Option<u8>,
            #[serde(default = "usual")]
            priority: u16,
            #[serde(default)]
            cookie: u64,
            #[serde(default)]
            idle_timeout: u16,
            #[serde(default)]
            hard_timeout: u16,
            #[serde(default, rename = "match")]
            matching: Map<String, Value>,
            #[serde(default)]
            actions: Vec<String>,
        }
        fn usual() -> u16 {
            0x8000
        }
        let body = if body.trim().is_empty() { "{}" } else { body };
        let body: Body = serde_json::from_str(body).map_err(|error| error.to_string())?;
        let mut fields = Vec::new();
        for (name, value) in &body.matching {
            let field = Field::ALL.into_iter().find(|field| field.name() == name);
            let field = field.ok_or_else(|| format!("there is no field `{name}`"))?;
            let oxm = oxm(field, value)?;
            oxm.check().map_err(|fault| format!("{name}: {fault}"))?;
            fields.push(oxm);
        }
        // What a field needs of others comes before it.
        fields.sort_by_key(|oxm| oxm.field);
        let actions = body.actions.iter().map(|text| action(text));
        Ok(Change {
            command,
            table: body.table.unwrap_or(match command {
                FlowCommand::Delete => ALL_TABLES,
                _ => 0,
            }),
            priority: body.priority,
            cookie: body.cookie,
            idle_timeout: body.idle_timeout,
            hard_timeout: body.hard_timeout,
            fields,
            actions: actions.collect::<Result<_, _>>()?,
        })
    }
}

/// A field's value: a number, or a text with a number, a MAC address or an IP address, and perhaps a mask behind `/`.
fn oxm(field: Field, value: &Value) -> Result<Oxm, String> {
    let wrong = || format!("`{value}` is no value of {}", field.name());
    if let Some(number) = value.as_u64() {
        return Ok(Oxm::new(field, number.into()));
    }
    let text = value.as_str().ok_or_else(wrong)?;
    let one = |text: &str| -> Option<u128> {
        if let Ok(address) = text.parse::<std::net::Ipv4Addr>() {
            return Some(u32::from(address).into());
        }
        if let Ok(address) = text.parse::<std::net::Ipv6Addr>()
            && field.bits() == 128
        {
            return Some(address.into());
        }
        if let Ok(mac) = text.parse::<packet::ethernet::Mac>()
            && field.bits() == 48
        {
            return Some(
                mac.0
                    .iter()
                    .fold(0, |all, &byte| all << 8 | u128::from(byte)),
            );
        }
        match text.strip_prefix("0x") {
            Some(digits) => u128::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    };
    let Some((text, mask)) = text.split_once('/') else {
        return one(text)
            .map(|value| Oxm::new(field, value))
            .ok_or_else(wrong);
    };
    let value = one(text).ok_or_else(wrong)?;
    let bits = u32::from(field.bits());
    let length = mask.parse::<u32>().ok().filter(|length| *length <= bits);
    let mask = match length {
        Some(0) => 0,
        Some(length) => field.max() & (u128::MAX << (bits - length)),
        None => one(mask).ok_or_else(wrong)?,
    };
    Ok(Oxm::masked(field, value & mask, mask))
}

fn action(text: &str) -> Result<Action<'static>, String> {
    let (name, value) = text.split_once(':').unwrap_or((text, ""));
    let output = |port| Ok(Action::output(port));
    match (name, value) {
        ("output", port) => match port.parse() {
            Ok(number) => output(PortNo(number)),
            Err(_) => Err(format!("`{text}`: output wants the number of a port")),
        },
        ("flood", "") => output(PortNo::FLOOD),
        ("all", "") => output(PortNo::ALL),
        ("normal", "") => output(PortNo::NORMAL),
        ("local", "") => output(PortNo::LOCAL),
        ("in_port", "") => output(PortNo::IN_PORT),
        ("controller", "") => output(PortNo::CONTROLLER),
        ("pop_vlan", "") => Ok(Action::PopVlan),
        ("dec_nw_ttl", "") => Ok(Action::DecNwTtl),
        ("group", number) => match number.parse() {
            Ok(number) => Ok(Action::Group(number)),
            Err(_) => Err(format!("`{text}`: group wants a number")),
        },
        ("set_field", rest) => {
            let (name, value) = rest
                .split_once('=')
                .ok_or_else(|| format!("`{text}`: set_field:FIELD=VALUE is wanted"))?;
            let field = Field::ALL.into_iter().find(|field| field.name() == name);
            let field = field.ok_or_else(|| format!("there is no field `{name}`"))?;
            Ok(Action::SetField(oxm(field, &Value::String(value.into()))?))
        }
        _ => Err(format!(
            "there is no action `{text}`: output:PORT, flood, all, normal, local, in_port, controller, pop_vlan, dec_nw_ttl, \
             group:ID, set_field:FIELD=VALUE"
        )),
    }
}

impl App for Answers {
    fn name(&self) -> &'static str {
        "rest"
    }

    fn next_wake(&self) -> Option<Time> {
        Some(self.due)
    }

    fn wake(&mut self, handle: &mut Handle<'_>) {
        self.due = handle.now() + POLL_INTERVAL;
        loop {
            let next = {
                let mut questions = self.questions.lock();
                questions.pop_front()
            };
            let Some((question, answer)) = next else {
                return;
            };
            // Who asked may have gone.
            let _ = answer.send(reply(question, self, handle));
        }
    }
}

impl Answers {
    /// What came of connections and requests.
    fn metrics(&self) -> String {
        let mut text = String::from("# TYPE wire_rest_connections_total counter\n");
        for (name, count) in self.gate.counts().named() {
            let _ = writeln!(
                text,
                "wire_rest_connections_total{{result=\"{name}\"}} {count}"
            );
        }
        text.push_str("# TYPE wire_rest_refused_total counter\n");
        for (name, count) in self.guard.refused() {
            let _ = writeln!(text, "wire_rest_refused_total{{why=\"{name}\"}} {count}");
        }
        text
    }
}

fn reply(question: Question, own: &Answers, handle: &mut Handle<'_>) -> Reply {
    let network = handle.network();
    match question {
        Question::Switches => Reply::Json(
            network
                .switches()
                .map(|info| {
                    json!({
                        "id": info.datapath,
                        "version": info.version.map(|version| version.wire()),
                        "name": info.name,
                        "tables": info.tables,
                        "buffers": info.buffers,
                        "since_ns": info.since.as_ns(),
                        "ports": info.ports.iter().map(|port| port.number.0).collect::<Vec<_>>(),
                    })
                })
                .collect(),
        ),
        Question::Ports(id) => {
            let info = network.find(id).and_then(|peer| network.switch(peer));
            let Some(info) = info else {
                return Reply::NoSuchSwitch;
            };
            let ports = info.ports.iter().map(|port| {
                let at = openflow::controller::network::Attachment {
                    datapath: id,
                    port: port.number,
                };
                let mut object = json!({
                    "port": port.number.0,
                    "name": port.name.to_string(),
                    "mac": port.hardware.to_string(),
                    "config": port.config,
                    "state": port.state,
                });
                if let Some(record) = network.port_counters.get(&at) {
                    object["counters"] = json!({
                        "rx_packets": record.packets[0], "tx_packets": record.packets[1],
                        "rx_bytes": record.bytes[0], "tx_bytes": record.bytes[1],
                        "rx_dropped": record.dropped[0], "tx_dropped": record.dropped[1],
                    });
                }
                object
            });
            Reply::Json(ports.collect())
        }
        Question::Flows(id) => {
            if network.find(id).is_none() {
                return Reply::NoSuchSwitch;
            }
            let flows = network.flows.get(&id).map_or(&[][..], Vec::as_slice);
            let flows = flows.iter().map(|flow| {
                json!({
                    "table": flow.table, "priority": flow.priority, "cookie": flow.cookie,
                    "match": flow.matching, "actions": flow.actions, "duration_s": flow.duration_s,
                    "packets": flow.packets, "bytes": flow.bytes, "packets_per_s": flow.packets_per_s,
                })
            });
            Reply::Json(flows.collect())
        }
        Question::Links => Reply::Json(
            network
                .links
                .iter()
                .map(|(from, link)| {
                    let age = handle.now() - link.last;
                    json!({
                        "from": {"switch": from.datapath, "port": from.port.0},
                        "to": {"switch": link.to.datapath, "port": link.to.port.0},
                        "age_ns": age.as_ns(),
                        "blocked": network.blocked.contains(from),
                    })
                })
                .collect(),
        ),
        Question::Hosts => Reply::Json(
            network
                .hosts
                .iter()
                .map(|(mac, host)| {
                    let address = host
                        .address
                        .map(|one| std::net::Ipv4Addr::from(one).to_string());
                    json!({
                        "mac": mac.to_string(), "ipv4": address,
                        "switch": host.at.datapath, "port": host.at.port.0,
                        "age_ns": (handle.now() - host.last).as_ns(),
                    })
                })
                .collect(),
        ),
        Question::Metrics => Reply::Text(metrics(handle) + &own.metrics()),
        Question::Change(id, change) => {
            let Some(peer) = network.find(id) else {
                return Reply::NoSuchSwitch;
            };
            let apply = [Instruction::ApplyActions((&change.actions[..]).into())];
            let flow = FlowMod {
                command: change.command,
                table: change.table,
                priority: change.priority,
                cookie: change.cookie,
                idle_timeout: change.idle_timeout,
                hard_timeout: change.hard_timeout,
                matching: Match::new(&change.fields[..]),
                instructions: match change.actions.is_empty() {
                    true => openflow::list::List::EMPTY,
                    false => (&apply[..]).into(),
                },
                ..FlowMod::default()
            };
            match handle.flow_mod(peer, &flow) {
                Ok(()) => Reply::Json(json!({"sent": true})),
                Err(error) => Reply::Refused(error.to_string()),
            }
        }
    }
}

/// In the format of Prometheus.
fn metrics(handle: &Handle<'_>) -> String {
    let mut text = String::new();
    let network = handle.network();
    // Writing to a String does not fail.
    let _ = writeln!(
        text,
        "# TYPE wire_switches gauge\nwire_switches {}",
        network.switches().count()
    );
    let _ = writeln!(
        text,
        "# TYPE wire_links gauge\nwire_links {}",
        network.links.len()
    );
    let _ = writeln!(
        text,
        "# TYPE wire_hosts gauge\nwire_hosts {}",
        network.hosts.len()
    );
    for (name, count) in handle.counted() {
        let _ = writeln!(
            text,
            "# TYPE wire_{name}_total counter\nwire_{name}_total {count}"
        );
    }
    text.push_str("# TYPE wire_backlog_bytes gauge\n");
    for info in network.switches() {
        let (id, backlog) = (info.datapath, handle.backlog(info.peer));
        let _ = writeln!(text, "wire_backlog_bytes{{switch=\"{id}\"}} {backlog}");
    }
    if !network.flows.is_empty() {
        text.push_str("# TYPE wire_flows gauge\n");
        for (id, flows) in &network.flows {
            let _ = writeln!(text, "wire_flows{{switch=\"{id}\"}} {}", flows.len());
        }
    }
    for (index, direction) in ["rx", "tx"].into_iter().enumerate() {
        if network.port_counters.is_empty() {
            break;
        }
        for unit in ["packets", "bytes", "dropped"] {
            let _ = writeln!(text, "# TYPE wire_port_{direction}_{unit}_total counter");
            for (at, record) in &network.port_counters {
                let counts = match unit {
                    "packets" => record.packets,
                    "bytes" => record.bytes,
                    _ => record.dropped,
                };
                let _ = writeln!(
                    text,
                    "wire_port_{direction}_{unit}_total{{switch=\"{}\",port=\"{}\"}} {}",
                    at.datapath, at.port, counts[index]
                );
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_from_json() {
        let body = r#"{"priority": 5, "match": {"ipv4_dst": "10.1.2.3/16", "eth_type": 2048,
            "eth_src": "02:00:00:00:00:01"}, "actions": ["output:2", "set_field:ipv4_src=10.0.0.9"]}"#;
        let change = Change::read(body, FlowCommand::Add).unwrap();
        assert_eq!((change.priority, change.table), (5, 0));
        assert_eq!(
            change.fields,
            [
                Oxm::new(Field::EthSrc, 0x0200_0000_0001),
                Oxm::new(Field::EthType, 2048),
                Oxm::masked(Field::Ipv4Dst, 0x0a01_0000, 0xffff_0000),
            ]
        );
        assert_eq!(change.actions[0], Action::output(PortNo(2)));
        let all = Change::read("", FlowCommand::Delete).unwrap();
        assert_eq!((all.table, all.fields.len()), (ALL_TABLES, 0));
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_reason() {
        for (body, said) in [
            ("{", "EOF"),
            (r#"{"match": {"ipv4_dts": 1}}"#, "ipv4_dts"),
            (r#"{"match": {"eth_type": "x"}}"#, "eth_type"),
            (r#"{"actions": ["fly"]}"#, "output:PORT"),
            (r#"{"prio": 5}"#, "prio"),
        ] {
            let error = Change::read(body, FlowCommand::Add).err().unwrap();
            assert!(error.contains(said), "{body}: {error}");
        }
    }
}
