//! The server: who may do what, the program, and what goes to and fro on the streams.

mod messages;

use crate::arbitration::{Arbiter, Notice, StreamId};
use crate::device::Device;
use crate::digests::Digests;
use crate::messages::P4DeviceConfig;
use crate::messages::runtime::{
    self as pb, CapabilitiesRequest, CapabilitiesResponse, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, ReadRequest, ReadResponse,
    SetForwardingPipelineConfigRequest, SetForwardingPipelineConfigResponse, StreamMessageRequest,
    StreamMessageResponse, WriteRequest, WriteResponse, stream_message_request as from,
    stream_message_response as to,
};
use crate::metered::Charged;
use crate::packets;
use crate::pipeline_state::Pipeline;
use crate::read;
use crate::service::{Answers, Gone, P4Runtime, P4RuntimeServer};
use crate::status;
use crate::write;
use listen::Gate;
use listen::http::{ServerConfig, Version};
use messages::{News, hear};
use node::Time;
use node::budget::{Account, Budget, Exhausted, Held};
use p4::compile::{Cancel, Options, compile};
use p4::diagnostic::Severity;
use p4::source::{IncludeError, Includes};
use parking_lot::{Mutex, MutexGuard, RwLock};
use pipeline::control::{Atomicity, Control};
use pipeline::environment::{self, Environment};
use prost::Message;
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};

/// The version of P4Runtime that is spoken.
const VERSION: &str = "1.4.1";
/// Messages that wait for a controller; further ones are lost, as the specification allows.
const WAITING: usize = 1024;
/// Maximum number of entities in one message of an answer.
const MAX_ENTITIES: usize = 256;
/// Memory of a queued entity without its bytes: the structure and its fields.
const WAITING_ENTITY: usize = 3 * size_of::<pb::Entity>();
/// Timeout of the compilation of a program.
const COMPILE_TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout of a program that waits for the compilation of another one.
const COMPILE_QUEUE_TIMEOUT: Duration = Duration::from_secs(5);

/// How the server behaves.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The device's number; without one every number means this device.
    pub device_id: Option<u64>,
    /// Options of programs that a controller installs.
    pub options: environment::Options,
    /// With it TLS is spoken, and nothing else.
    pub tls: Option<Arc<ServerConfig>>,
}

/// A device's P4Runtime.
pub struct Server {
    settings: Settings,
    device: Box<dyn Device>,
    pipeline: RwLock<Option<Arc<Pipeline>>>,
    /// Verified, to be committed.
    saved: Mutex<Option<Arc<Pipeline>>>,
    arbiter: Mutex<Arbiter>,
    streams: Mutex<Streams>,
    digests: Mutex<Digests>,
    /// Held by who compiles.
    compiler: Mutex<()>,
    news: Arc<News>,
}

#[derive(Default)]
struct Streams {
    next: StreamId,
    /// The device's number as each stream's controller gave it.
    open: BTreeMap<StreamId, (mpsc::Sender<Result<StreamMessageResponse, Status>>, u64)>,
}

/// A server that runs; dropping it ends it.
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    server: Arc<Server>,
    gate: Arc<Gate>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// Says what controls the program that runs, if there is one.
pub type Current = Box<dyn Fn() -> Option<Control> + Send + Sync>;

impl Running {
    /// What came of controllers' connections; `None` when all who came were let in.
    #[must_use]
    pub fn summary(&self) -> Option<String> {
        self.gate.summary()
    }

    /// For other ways of control beside this one: which program runs now, whoever brought it.
    #[must_use]
    pub fn current(&self) -> Current {
        let server = Arc::clone(&self.server);
        Box::new(move || Some(server.pipeline().ok()?.control.clone()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Serves a device in a thread of its own, within the limits of [`listen::P4RUNTIME`].
///
/// # Errors
/// When no thread can start.
pub fn serve(
    listener: TcpListener,
    device: impl Device,
    pipeline: Option<Pipeline>,
    settings: Settings,
) -> std::io::Result<Running> {
    let tls = settings.tls.clone();
    let address = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let gate = Gate::new(format!("P4Runtime at {address}"), listen::P4RUNTIME);
    let let_in = Arc::clone(&gate);
    let server = Server::new(device, pipeline, settings);
    let kept = Arc::clone(&server);
    // One that starts no threads of its own here, as tokio panics where it cannot.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let listener = {
        let _within = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let thread = std::thread::Builder::new()
        .name("p4runtime".into())
        .spawn(move || {
            runtime.block_on(async move {
                let polling = tokio::spawn(Arc::clone(&server).poll());
                let service = P4RuntimeServer::new(server);
                let budget = Budget::new(listen::P4RUNTIME_MEMORY);
                let serving =
                    listen::http::serve(listener, let_in, budget, tls, Version::Two, service);
                // Streams stay open for as long as controllers like: nobody waits for them at the end.
                tokio::select! {
                    () = serving => {}
                    _ = stopped => {}
                }
                polling.abort();
            });
            runtime.shutdown_timeout(Duration::from_millis(100));
        })?;
    Ok(Running {
        address,
        server: kept,
        gate,
        stop: Some(stop),
        thread: Some(thread),
    })
}

impl Server {
    /// For a device, with the program that it runs, if it has one.
    #[must_use]
    pub fn new(device: impl Device, pipeline: Option<Pipeline>, settings: Settings) -> Arc<Self> {
        let news = Arc::new(News::default());
        if let Some(pipeline) = &pipeline {
            hear(pipeline, &news);
        }
        Arc::new(Server {
            settings,
            device: Box::new(device),
            pipeline: RwLock::new(pipeline.map(Arc::new)),
            saved: Mutex::default(),
            arbiter: Mutex::default(),
            streams: Mutex::default(),
            digests: Mutex::default(),
            compiler: Mutex::default(),
            news,
        })
    }

    fn refresh(&self) -> Result<(), Status> {
        let read = self.device.refresh();
        read.map_err(|error| Status::internal(error.to_string()))
    }

    fn check_device(&self, id: u64) -> Result<(), Status> {
        match self.settings.device_id {
            Some(own) if own != id => {
                Err(Status::not_found(format!("this is device {own}, not {id}")))
            }
            _ => Ok(()),
        }
    }

    fn pipeline(&self) -> Result<Arc<Pipeline>, Status> {
        let pipeline = self.pipeline.read();
        pipeline.clone().ok_or_else(|| {
            Status::failed_precondition(
                "the device has no program: call SetForwardingPipelineConfig first",
            )
        })
    }

    /// A program from what a controller brought.
    #[expect(
        clippy::disallowed_methods,
        reason = "controllers wait in real time, whatever time packets see"
    )]
    fn verify(
        &self,
        config: &pb::ForwardingPipelineConfig,
        gone: &Gone,
    ) -> Result<Pipeline, Status> {
        let wrapped = P4DeviceConfig::read(&config.p4_device_config);
        let brought = wrapped.as_deref().unwrap_or(&config.p4_device_config);
        let text = std::str::from_utf8(brought).ok().filter(|text| {
            // What p4c makes for bmv2 says nothing that could be run here.
            let begin = text.trim_start();
            !begin.is_empty() && !begin.starts_with('{')
        });
        let Some(text) = text else {
            let current = self.pipeline().map_err(|_| {
                Status::invalid_argument(
                    "p4_device_config is to be the text of a P4 program: this device compiles itself",
                )
            })?;
            let program = Arc::clone(&current.control.environment().program);
            let environment = Environment::new(program, self.settings.options.clone())
                .map_err(|error| Status::invalid_argument(error.to_string()))?;
            return self.named(current.again(&Arc::new(environment)), config);
        };
        let one_at_a_time = self.wait_for_compiler(gone)?;
        let (until, asked) = (Instant::now() + COMPILE_TIMEOUT, gone.clone());
        let options = Options {
            cancel: Some(Cancel::new(move || asked.is_so() || Instant::now() > until)),
            ..Options::default()
        };
        let compiled = compile("p4_device_config.p4", text, &mut NoFiles, &options);
        drop(one_at_a_time);
        if gone.is_so() {
            return Err(Status::cancelled("the client has gone"));
        }
        let (Some(checked), Some(program)) = (&compiled.checked, compiled.program) else {
            let errors = compiled.diagnostics.sorted();
            let errors = errors.iter().filter(|d| d.severity == Severity::Error);
            let text: String = errors
                .take(5)
                .map(|d| d.render(&compiled.sources))
                .collect();
            return Err(Status::invalid_argument(format!(
                "the program is not valid:\n{text}"
            )));
        };
        let environment = Environment::new(Arc::new(program), self.settings.options.clone())
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        let pipeline = Pipeline::new(checked, &Arc::new(environment), text.as_bytes().to_vec());
        self.named(pipeline, config)
    }

    /// Compiling takes a core and much memory: it is done for one controller at a time.
    #[expect(
        clippy::disallowed_methods,
        reason = "controllers wait in real time, whatever time packets see"
    )]
    fn wait_for_compiler(&self, gone: &Gone) -> Result<MutexGuard<'_, ()>, Status> {
        let until = Instant::now() + COMPILE_QUEUE_TIMEOUT;
        loop {
            if let Some(mine) = self.compiler.try_lock() {
                return Ok(mine);
            }
            if gone.is_so() {
                return Err(Status::cancelled("the client has gone"));
            }
            if Instant::now() > until {
                return Err(Status::unavailable(
                    "the device compiles another program: call again when that is done",
                ));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// With the controller's name for it, when both mean the same numbers.
    fn named(
        &self,
        mut pipeline: Pipeline,
        config: &pb::ForwardingPipelineConfig,
    ) -> Result<Pipeline, Status> {
        if let Some(given) = &config.p4info {
            same_numbers(given, &pipeline)?;
        }
        pipeline.cookie = config.cookie.as_ref().map(|cookie| cookie.cookie);
        Ok(pipeline)
    }

    fn commit(&self, pipeline: Arc<Pipeline>) -> Result<(), Status> {
        hear(&pipeline, &self.news);
        self.device
            .install(pipeline.control.environment())
            .map_err(|error| Status::failed_precondition(error.to_string()))?;
        *self.digests.lock() = Digests::default();
        *self.pipeline.write() = Some(pipeline);
        // Its packets may have called before it was here.
        self.news.call();
        Ok(())
    }

    fn notify(&self, notices: Vec<Notice>) {
        for (stream, notice) in notices {
            self.send(stream, to::Update::Arbitration(notice));
        }
    }

    /// A message of a controller. An error closes the stream.
    fn receive(&self, stream: StreamId, message: StreamMessageRequest) -> Result<(), Status> {
        let update = message
            .update
            .ok_or_else(|| Status::invalid_argument("the message is empty"))?;
        if let from::Update::Arbitration(offer) = &update {
            self.check_device(offer.device_id)?;
            if let Some((_, device)) = self.streams.lock().open.get_mut(&stream) {
                *device = offer.device_id;
            }
            let notices = self.arbiter.lock().offer(stream, offer)?;
            self.notify(notices);
            return Ok(());
        }
        let (knows, primary) = {
            let arbiter = self.arbiter.lock();
            (arbiter.knows(stream), arbiter.is_primary(stream))
        };
        if !knows {
            return Err(Status::failed_precondition(
                "the first message of a stream is an arbitration update",
            ));
        }
        let refused = match &update {
            _ if !primary => Some(Status::permission_denied(
                "only the primary controller may do this",
            )),
            from::Update::Packet(packet) => self.packet_out(packet).err(),
            from::Update::DigestAck(ack) => {
                self.digests.lock().acknowledge(ack.digest_id, ack.list_id);
                None
            }
            _ => Some(Status::unimplemented("the device knows no other messages")),
        };
        if let Some(status) = refused {
            let details = match update {
                from::Update::Packet(packet) => {
                    pb::stream_error::Details::PacketOut(pb::PacketOutError {
                        packet_out: Some(packet),
                    })
                }
                from::Update::DigestAck(ack) => {
                    pb::stream_error::Details::DigestListAck(pb::DigestListAckError {
                        digest_list_ack: Some(ack),
                    })
                }
                _ => pb::stream_error::Details::Other(pb::StreamOtherError { other: None }),
            };
            self.send(
                stream,
                to::Update::Error(pb::StreamError {
                    canonical_code: status.code() as i32,
                    message: status.message().to_owned(),
                    space: "wireline".to_owned(),
                    code: 0,
                    details: Some(details),
                }),
            );
        }
        Ok(())
    }

    fn packet_out(&self, packet: &pb::PacketOut) -> Result<(), Status> {
        let pipeline = self.pipeline()?;
        let environment = pipeline.control.environment();
        if environment.options.cpu_port.is_none() {
            return Err(Status::failed_precondition(
                "the device has no CPU port: give it one with --cpu-port",
            ));
        }
        let bytes = packets::packet_out(&pipeline.info, &pipeline.translations, packet)?;
        match environment.packet_outs.push(bytes) {
            true => Ok(()),
            false => Err(Status::resource_exhausted(
                "too many packets wait to be sent",
            )),
        }
    }
}

fn exhausted(exhausted: &Exhausted) -> Status {
    Status::resource_exhausted(format!("{exhausted}, or read one table at a time"))
}

/// Answers that hold memory of their connection until they are sent or given up.
struct Charging {
    answers: std::vec::IntoIter<Result<ReadResponse, Status>>,
    _held: Held,
}

impl tokio_stream::Stream for Charging {
    type Item = Result<ReadResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.answers.next())
    }
}

/// A program of a controller has no files beside it.
struct NoFiles;

impl Includes for NoFiles {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        match p4::library::file(name) {
            Some(text) => Ok((name.to_owned(), text.to_owned())),
            None => {
                Err(format!("the device has no file {name}: send the program preprocessed").into())
            }
        }
    }
}

/// Whether a controller's description has the numbers that the device will use.
fn same_numbers(
    given: &crate::messages::config::P4Info,
    pipeline: &Pipeline,
) -> Result<(), Status> {
    let own = &pipeline.message;
    fn id(preamble: &Option<crate::messages::config::Preamble>) -> (&str, u32) {
        preamble
            .as_ref()
            .map_or(("", 0), |preamble| (&preamble.name, preamble.id))
    }
    let mut differing = None;
    macro_rules! compare {
        ($what:literal, $field:ident) => {
            for object in &given.$field {
                let (name, number) = id(&object.preamble);
                if !own
                    .$field
                    .iter()
                    .any(|other| id(&other.preamble) == (name, number))
                {
                    differing = differing.or(Some(format!("{} `{name}` with id {number}", $what)));
                }
            }
        };
    }
    compare!("table", tables);
    compare!("counter", counters);
    compare!("direct counter", direct_counters);
    compare!("meter", meters);
    compare!("direct meter", direct_meters);
    compare!("register", registers);
    compare!("value set", value_sets);
    compare!("digest", digests);
    for table in &given.tables {
        for reference in &table.action_refs {
            let known = own
                .actions
                .iter()
                .any(|action| id(&action.preamble).1 == reference.id);
            if !known {
                differing = differing.or(Some(format!("an action with id {}", reference.id)));
            }
        }
    }
    match differing {
        None => Ok(()),
        Some(what) => Err(Status::invalid_argument(format!(
            "the P4Info has {what}, which the program does not have: make it with `wire p4 info`"
        ))),
    }
}

impl P4Runtime for Server {
    fn write(self: Arc<Self>, request: WriteRequest) -> Result<WriteResponse, Status> {
        self.check_device(request.device_id)?;
        self.arbiter
            .lock()
            .check(&request.role, request.role_id, request.election_id.as_ref())?;
        let pipeline = self.pipeline()?;
        self.refresh()?;
        let written = pipeline.write(&request);
        // Of what was refused some may have been made.
        let settled = self.device.settle();
        settled.map_err(|error| Status::resource_exhausted(error.to_string()))?;
        written?;
        Ok(WriteResponse {})
    }

    fn read(
        self: Arc<Self>,
        request: ReadRequest,
        account: &Account,
    ) -> Result<Answers<ReadResponse>, Status> {
        self.check_device(request.device_id)?;
        let pipeline = self.pipeline()?;
        self.refresh()?;
        let now = self.device.now();
        let mut held = account.hold(0).map_err(|all| exhausted(&all))?;
        let mut charge = |entities: &[pb::Entity]| {
            let sizes = entities
                .iter()
                .map(|one| WAITING_ENTITY + one.encoded_len());
            held.grow(sizes.sum()).map_err(|all| exhausted(&all))
        };
        let entities = pipeline.read_charged(&request, now, &mut charge)?;
        let mut answers: Vec<Result<ReadResponse, Status>> = Vec::new();
        let mut entities = entities.into_iter().peekable();
        while entities.peek().is_some() {
            answers.push(Ok(ReadResponse {
                entities: entities.by_ref().take(MAX_ENTITIES).collect(),
            }));
        }
        if answers.is_empty() {
            answers.push(Ok(ReadResponse::default()));
        }
        Ok(Box::pin(Charging {
            answers: answers.into_iter(),
            _held: held,
        }))
    }

    fn set_pipeline(
        self: Arc<Self>,
        request: SetForwardingPipelineConfigRequest,
        gone: Gone,
    ) -> Result<SetForwardingPipelineConfigResponse, Status> {
        use pb::set_forwarding_pipeline_config_request::Action;
        self.check_device(request.device_id)?;
        self.arbiter
            .lock()
            .check(&request.role, request.role_id, request.election_id.as_ref())?;
        let action = Action::try_from(request.action).unwrap_or(Action::Unspecified);
        let verified = |config: &Option<pb::ForwardingPipelineConfig>| {
            let config = config
                .as_ref()
                .ok_or_else(|| Status::invalid_argument("the config is missing"))?;
            self.verify(config, &gone)
        };
        match action {
            Action::Verify => {
                verified(&request.config)?;
            }
            Action::VerifyAndSave => {
                *self.saved.lock() = Some(Arc::new(verified(&request.config)?));
            }
            Action::VerifyAndCommit => {
                self.commit(Arc::new(verified(&request.config)?))?;
                *self.saved.lock() = None;
            }
            Action::Commit => {
                if request.config.is_some() {
                    return Err(Status::invalid_argument("COMMIT takes no config"));
                }
                let saved = self.saved.lock().take();
                self.commit(saved.ok_or_else(|| {
                    Status::failed_precondition("no config is saved: call VERIFY_AND_SAVE first")
                })?)?;
            }
            Action::ReconcileAndCommit => {
                // State is kept only where nothing changes, which the specification leaves to the device.
                let new = verified(&request.config)?;
                let current = self.pipeline()?;
                if new.device_config != current.device_config {
                    return Err(Status::unimplemented(
                        "the state of another program is not kept: use VERIFY_AND_COMMIT",
                    ));
                }
            }
            Action::Unspecified => return Err(Status::invalid_argument("the action is missing")),
        }
        Ok(SetForwardingPipelineConfigResponse {})
    }

    fn get_pipeline(
        self: Arc<Self>,
        request: GetForwardingPipelineConfigRequest,
    ) -> Result<GetForwardingPipelineConfigResponse, Status> {
        use pb::get_forwarding_pipeline_config_request::ResponseType;
        self.check_device(request.device_id)?;
        let pipeline = self.pipeline()?;
        let kind = ResponseType::try_from(request.response_type)
            .map_err(|_| Status::invalid_argument("there is no such response type"))?;
        let info = matches!(kind, ResponseType::All | ResponseType::P4infoAndCookie);
        let device = matches!(
            kind,
            ResponseType::All | ResponseType::DeviceConfigAndCookie
        );
        Ok(GetForwardingPipelineConfigResponse {
            config: Some(pb::ForwardingPipelineConfig {
                p4info: info.then(|| pipeline.message.clone()),
                p4_device_config: match device {
                    true => pipeline.device_config.clone(),
                    false => Vec::new(),
                },
                cookie: pipeline
                    .cookie
                    .map(|cookie| pb::forwarding_pipeline_config::Cookie { cookie }),
            }),
        })
    }

    fn stream(
        self: Arc<Self>,
        mut requests: Streaming<Charged<StreamMessageRequest>>,
    ) -> Result<Answers<StreamMessageResponse>, Status> {
        let (sender, receiver) = mpsc::channel(WAITING);
        let id = {
            let mut streams = self.streams.lock();
            streams.next += 1;
            let id = streams.next;
            streams.open.insert(id, (sender.clone(), 0));
            id
        };
        tokio::spawn(async move {
            loop {
                let message = tokio::select! {
                    message = requests.next() => message,
                    // The controller has gone without saying so.
                    () = sender.closed() => None,
                };
                let Some(Ok(message)) = message else { break };
                if let Err(status) = self.receive(id, message.request) {
                    let _ = sender.send(Err(status)).await;
                    break;
                }
            }
            let gone = self.streams.lock().open.remove(&id);
            let notices = self
                .arbiter
                .lock()
                .leave(id, gone.map_or(0, |(_, device)| device));
            self.notify(notices);
        });
        Ok(Box::pin(ReceiverStream::new(receiver)))
    }

    fn capabilities(
        self: Arc<Self>,
        _: CapabilitiesRequest,
    ) -> Result<CapabilitiesResponse, Status> {
        Ok(CapabilitiesResponse {
            p4runtime_api_version: VERSION.to_owned(),
        })
    }
}

impl Pipeline {
    /// Makes the updates of a request, whoever sent it.
    ///
    /// # Errors
    /// When one was refused; the details have an error for each update.
    pub fn write(&self, request: &WriteRequest) -> Result<(), Status> {
        let wanted = pb::write_request::Atomicity::try_from(request.atomicity)
            .map_err(|_| Status::invalid_argument("there is no such atomicity"))?;
        status::of_updates(&write_all(self, &request.updates, wanted)?)
    }

    /// Reads what a request asks for.
    ///
    /// # Errors
    /// When it asks for something that the program does not have.
    pub fn read(&self, request: &ReadRequest, now: Time) -> Result<Vec<pb::Entity>, Status> {
        self.read_charged(request, now, &mut |_| Ok(()))
    }

    /// The same; `charge` sees what each wanted entity adds, and may refuse it: a request may want all again and again.
    fn read_charged(
        &self,
        request: &ReadRequest,
        now: Time,
        charge: &mut dyn FnMut(&[pb::Entity]) -> Result<(), Status>,
    ) -> Result<Vec<pb::Entity>, Status> {
        let mut entities = Vec::new();
        for wanted in &request.entities {
            let found = read::entities(self, wanted, now)?;
            charge(&found)?;
            entities.extend(found);
        }
        Ok(entities)
    }
}

/// Makes updates, and says of each one what came of it.
fn write_all(
    pipeline: &Pipeline,
    updates: &[pb::Update],
    wanted: pb::write_request::Atomicity,
) -> Result<Vec<Result<(), Status>>, Status> {
    use pb::write_request::Atomicity as Wanted;
    if wanted == Wanted::ContinueOnError {
        return Ok(updates
            .iter()
            .map(|update| {
                let changes = write::changes(pipeline, update)?;
                pipeline
                    .control
                    .write_all(&changes)
                    .map_err(|(_, error)| status::of(&error))
            })
            .collect());
    }
    let (mut changes, mut owner) = (Vec::new(), Vec::new());
    for (number, update) in updates.iter().enumerate() {
        match write::changes(pipeline, update) {
            Ok(some) => {
                owner.extend(some.iter().map(|_| number));
                changes.extend(some);
            }
            Err(status) => return Ok(refused(updates.len(), number, status)),
        }
    }
    if wanted == Wanted::DataplaneAtomic && !pipeline.control.seen_at_once(&changes) {
        return Err(Status::unimplemented(
            "packets see at once only batches of table entries: use ROLLBACK_ON_ERROR",
        ));
    }
    let results = pipeline.control.write(&changes, Atomicity::Rollback);
    let first = results
        .into_iter()
        .zip(&owner)
        .find_map(|(result, number)| match result {
            Err(error) if error.kind != pipeline::control::ErrorKind::TakenBack => {
                Some((*number, status::of(&error)))
            }
            _ => None,
        });
    Ok(match first {
        None => updates.iter().map(|_| Ok(())).collect(),
        Some((number, status)) => refused(updates.len(), number, status),
    })
}

fn refused(count: usize, number: usize, status: Status) -> Vec<Result<(), Status>> {
    let mut results: Vec<_> = (0..count)
        .map(|_| {
            Err(Status::new(
                Code::Aborted,
                format!("not made, since update {number} was refused"),
            ))
        })
        .collect();
    results[number] = Err(status);
    results
}

#[cfg(test)]
mod tests;
