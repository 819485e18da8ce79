//! Questions in SQL, answered by SQLite over the rings as virtual tables.
//!
//! A window in brackets after a table's name becomes two arguments of its virtual table, so that a
//! question reads only the rows of the window. All windows of a question end at the same time and
//! the same rows. An authorizer refuses all statements that do not only read. [`QueryLimits`]
//! bound its time, steps, memory and answer.

mod table;

use crate::answer::Answer;
use crate::extent::{Extent, Unit};
use crate::store::Store;
use crate::syntax::{MAX_SQL_LEN, SyntaxError, Word, tokens};
use crate::value::{Owned, Value};
use parking_lot::Mutex;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Limits of questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryLimits {
    /// Time of a question. Default 2 s.
    pub time: Duration,
    /// Steps of SQLite's virtual machine. Default 100 million.
    pub steps: u64,
    /// Rows of an answer. Default 100,000.
    pub rows: usize,
    /// Memory of an answer, bytes. Default 16 MiB.
    pub bytes: usize,
    /// Memory of SQLite while it answers, bytes. Default 64 MiB. All of the process's SQLite is
    /// counted, since SQLite counts no other way; it is checked every 100 steps, each of which adds
    /// at most 64 KiB. A table that is read in groups takes up to 64 MiB more.
    pub memory: usize,
    /// Questions that are answered at the same time. Default 4.
    pub questions: usize,
}

impl Default for QueryLimits {
    fn default() -> Self {
        QueryLimits {
            time: Duration::from_secs(2),
            steps: 100_000_000,
            rows: 100_000,
            bytes: 16 << 20,
            memory: 64 << 20,
            questions: 4,
        }
    }
}

/// A question without an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// Syntax error. Without a place from SQLite, the place is the start.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The question does more than read tables.
    #[error("a question only reads tables, with SELECT: {0}")]
    Refused(String),
    /// The question took more than its time.
    #[error("the question took more than {0:?}: use a smaller window")]
    Time(Duration),
    /// The question took more than its steps.
    #[error("the question took more than {0} steps: use a smaller window")]
    Steps(u64),
    /// The question took more than its memory, bytes.
    #[error("the question took more than {0} bytes of memory: use a smaller window")]
    Memory(usize),
    /// The answer has more rows than the limit.
    #[error("the answer has more than {0} rows: add LIMIT {0}")]
    Rows(usize),
    /// The answer has more bytes than the limit.
    #[error("the answer has more than {0} bytes: select fewer columns or add LIMIT")]
    Bytes(usize),
    /// Too many questions at the same time.
    #[error("{0} questions are being answered: ask again later")]
    Busy(usize),
    /// The number of parameters given is not that of the question.
    #[error("{given} parameters given, {wanted} in the question")]
    Parameters {
        /// Parameters in the call.
        given: usize,
        /// Parameters in the text.
        wanted: usize,
    },
    /// An error of SQLite while it answered.
    #[error("{0}")]
    Failed(String),
}

/// Maximum length of a text or blob in SQLite, bytes.
const MAX_CELL_LEN: i32 = 64 << 10;
/// Steps between checks of the limits.
const CHECK_INTERVAL: i32 = 100;

/// Connections of SQLite to a store.
pub(crate) struct Sessions {
    store: Arc<Mutex<Store>>,
    limits: QueryLimits,
    idle: Mutex<Vec<Session>>,
    busy: AtomicUsize,
}

/// A connection, with virtual tables for the first `tables` tables.
struct Session {
    connection: Connection,
    moment: Arc<Mutex<Moment>>,
    tables: usize,
}

/// The state of the store that a question sees.
#[derive(Default)]
pub(super) struct Moment {
    now: i64,
    /// The oldest row of each table.
    first: Vec<u64>,
    /// The end of each table.
    next: Vec<u64>,
    /// Rows that were overwritten before they were read.
    missing: u64,
    /// Whether a window reaches beyond its ring.
    is_cut: bool,
}

impl Sessions {
    pub(crate) fn new(store: Arc<Mutex<Store>>, limits: QueryLimits) -> Sessions {
        Sessions {
            store,
            limits,
            idle: Mutex::new(Vec::new()),
            busy: AtomicUsize::new(0),
        }
    }

    pub(crate) fn query(&self, sql: &str, parameters: &[Value<'_>]) -> Result<Answer, QueryError> {
        let _turn = Turn::take(&self.busy, self.limits.questions)?;
        let (now, (first, next), unit) = {
            let store = self.store.lock();
            let rings = store.tables().map(|table| store.ring(table));
            let rows: (Vec<u64>, Vec<u64>) = rings.map(|ring| (ring.first(), ring.next())).unzip();
            (store.now(), rows, store.unit())
        };
        let rewritten = Rewritten::new(sql, unit)?;
        let idle = self.idle.lock().pop();
        let mut session = match idle {
            Some(session) if session.tables == next.len() => session,
            _ => Session::open(&self.store).map_err(|error| rewritten.fault(&error))?,
        };
        *session.moment.lock() = Moment {
            now,
            first,
            next,
            ..Moment::default()
        };
        let answer = session.answer(&rewritten, parameters, &self.limits);
        self.idle.lock().push(session);
        answer
    }
}

/// A question that is being answered.
struct Turn<'a>(&'a AtomicUsize);

impl<'a> Turn<'a> {
    fn take(busy: &'a AtomicUsize, most: usize) -> Result<Turn<'a>, QueryError> {
        let turn = Turn(busy);
        match busy.fetch_add(1, Relaxed) {
            before if before >= most => Err(QueryError::Busy(most)),
            _ => Ok(turn),
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Session {
    fn open(store: &Arc<Mutex<Store>>) -> Result<Session, Error> {
        let mut connection = Connection::open_in_memory()?;
        connection.execute_batch("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -2000")?;
        for (limit, most) in [
            (Limit::SQLITE_LIMIT_LENGTH, MAX_CELL_LEN),
            (Limit::SQLITE_LIMIT_SQL_LENGTH, MAX_CELL_LEN),
            (Limit::SQLITE_LIMIT_COLUMN, 200),
            (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
            (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 50),
            (Limit::SQLITE_LIMIT_VDBE_OP, 25_000),
            (Limit::SQLITE_LIMIT_FUNCTION_ARG, 20),
            (Limit::SQLITE_LIMIT_ATTACHED, 0),
            (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100),
            (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 100),
            (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
            (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
        ] {
            connection.set_limit(limit, most)?;
        }
        let moment = Arc::new(Mutex::new(Moment::default()));
        let mut names = Vec::new();
        {
            let locked = store.lock();
            for id in locked.tables() {
                let schema = locked.schema(id);
                names.push(schema.name().to_ascii_lowercase());
                let source = table::Source::new(Arc::clone(store), id, schema, Arc::clone(&moment));
                let name = schema.name();
                connection.create_module(name, &table::MODULE, Some(source))?;
            }
        }
        let tables = names.len();
        connection.authorizer(Some(move |context: AuthContext<'_>| {
            judge(&names, &context)
        }))?;
        Ok(Session {
            connection,
            moment,
            tables,
        })
    }

    fn answer(
        &mut self,
        question: &Rewritten<'_>,
        parameters: &[Value<'_>],
        limits: &QueryLimits,
    ) -> Result<Answer, QueryError> {
        let meter = Arc::new(Meter::default());
        let guard = meter.start(limits);
        let fault = |error: &Error| match meter.exceeded(limits) {
            Some(exceeded) => exceeded,
            None => question.fault(error),
        };
        self.connection
            .progress_handler(CHECK_INTERVAL, Some(guard))
            .map_err(|error| fault(&error))?;
        let mut statement = self
            .connection
            .prepare(&question.sql)
            .map_err(|error| fault(&error))?;
        if statement.column_count() == 0 {
            return Err(QueryError::Refused("there is no SELECT".into()));
        }
        if statement.parameter_count() != parameters.len() {
            return Err(QueryError::Parameters {
                given: parameters.len(),
                wanted: statement.parameter_count(),
            });
        }
        for (index, parameter) in parameters.iter().enumerate() {
            let bound = statement.raw_bind_parameter(index + 1, to_sqlite(*parameter));
            bound.map_err(|error| fault(&error))?;
        }
        let mut answer = Answer {
            columns: statement.column_names().map(ToString::to_string).collect(),
            ..Answer::default()
        };
        let (width, mut bytes) = (answer.columns.len(), 0);
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(|error| fault(&error))? {
            if answer.rows.len() == limits.rows {
                return Err(QueryError::Rows(limits.rows));
            }
            let mut cells = Vec::with_capacity(width);
            for column in 0..width {
                let cell = row.get_ref(column).map_err(|error| fault(&error))?;
                let cell = from_sqlite(cell);
                bytes += cell.size();
                cells.push(cell);
            }
            if bytes > limits.bytes {
                return Err(QueryError::Bytes(limits.bytes));
            }
            answer.rows.push(cells);
        }
        let moment = self.moment.lock();
        answer.missing = moment.missing;
        answer.is_cut = moment.is_cut;
        Ok(answer)
    }
}

/// Counts of a question, and the limit that it exceeded.
#[derive(Default)]
struct Meter {
    steps: AtomicU64,
    exceeded: AtomicU8,
}

impl Meter {
    /// The check that SQLite calls after each [`CHECK_INTERVAL`] steps; true ends the question.
    #[expect(clippy::disallowed_methods, reason = "a question's time is limited")]
    fn start(self: &Arc<Self>, limits: &QueryLimits) -> impl FnMut() -> bool + Send + 'static {
        let (meter, limits) = (Arc::clone(self), *limits);
        let (start, before) = (Instant::now(), table::memory_used());
        move || {
            let steps = CHECK_INTERVAL.unsigned_abs().into();
            let steps = meter.steps.fetch_add(steps, Relaxed) + steps;
            let exceeded = if steps > limits.steps {
                1
            } else if start.elapsed() > limits.time {
                2
            } else if table::memory_used() - before > limits.memory.cast_signed() as i64 {
                3
            } else {
                return false;
            };
            meter.exceeded.store(exceeded, Relaxed);
            true
        }
    }

    fn exceeded(&self, limits: &QueryLimits) -> Option<QueryError> {
        match self.exceeded.load(Relaxed) {
            1 => Some(QueryError::Steps(limits.steps)),
            2 => Some(QueryError::Time(limits.time)),
            3 => Some(QueryError::Memory(limits.memory)),
            _ => None,
        }
    }
}

/// Whether an action is allowed: reading the tables and values computed from them.
fn judge(names: &[String], context: &AuthContext<'_>) -> Authorization {
    let allowed = match context.action {
        AuthAction::Select | AuthAction::Recursive => true,
        AuthAction::Read { table_name, .. } => {
            let name = table_name.to_ascii_lowercase();
            names.contains(&name) || name.is_empty() || name == "json_each" || name == "json_tree"
        }
        AuthAction::Function { function_name } => {
            !["load_extension", "fts3_tokenizer"].contains(&function_name)
        }
        _ => false,
    };
    match allowed {
        true => Authorization::Allow,
        false => Authorization::Deny,
    }
}

/// A question whose windows are arguments of virtual tables.
struct Rewritten<'a> {
    original: &'a str,
    sql: String,
    /// For each window: its end in `sql`, and in the original.
    ends: Vec<(usize, usize)>,
}

impl<'a> Rewritten<'a> {
    fn new(original: &'a str, unit: Unit) -> Result<Rewritten<'a>, SyntaxError> {
        if let Some(nul) = original.find('\0') {
            return Err(SyntaxError::new(original, nul, "a NUL character"));
        }
        let tokens = tokens(original)?;
        let mut sql = String::with_capacity(original.len());
        let (mut ends, mut copied) = (Vec::new(), 0);
        for pair in tokens.windows(2) {
            let (Word::Name(_) | Word::Quoted(_), Word::Bracket(inside)) =
                (&pair[0].word, &pair[1].word)
            else {
                continue;
            };
            if matches!(pair[0].word, Word::Name(name) if name.eq_ignore_ascii_case("AS")) {
                continue;
            }
            let Some(extent) = Extent::read(original, inside, pair[1].start, unit)? else {
                continue;
            };
            let (kind, amount) = extent.encode();
            sql.push_str(&original[copied..pair[1].start]);
            sql.push_str(&format!("({kind},{amount})"));
            copied = pair[1].end;
            ends.push((sql.len(), copied));
        }
        sql.push_str(&original[copied..]);
        match sql.len() > MAX_SQL_LEN {
            true => Err(SyntaxError::new(original, 0, "the question is too long")),
            false => Ok(Rewritten {
                original,
                sql,
                ends,
            }),
        }
    }

    /// The place in the original of a byte of the rewritten text.
    fn place(&self, offset: usize) -> usize {
        let window = self.ends.iter().rev().find(|(end, _)| *end <= offset);
        window.map_or(offset, |(end, original)| offset - end + original)
    }

    fn fault(&self, error: &Error) -> QueryError {
        match error {
            Error::SqlInputError { msg, offset, .. } => {
                let offset = usize::try_from(*offset).unwrap_or(0);
                let offset = self.place(offset).min(self.original.len());
                SyntaxError::new(self.original, offset, msg.as_str()).into()
            }
            Error::MultipleStatement => {
                QueryError::Refused("there are several statements: send them one by one".into())
            }
            Error::SqliteFailure(code, message) => {
                let message = message.clone().unwrap_or_else(|| code.to_string());
                // SQLite reports no place here, but the table.
                if let Some(table) = message.strip_prefix("no such table: ") {
                    let offset = self.original.find(table).unwrap_or(0);
                    return SyntaxError::new(self.original, offset, message.as_str()).into();
                }
                match code.code {
                    ErrorCode::AuthorizationForStatementDenied => QueryError::Refused(message),
                    _ => QueryError::Failed(message),
                }
            }
            other => QueryError::Failed(other.to_string()),
        }
    }
}

fn from_sqlite(value: ValueRef<'_>) -> Owned {
    match value {
        ValueRef::Null => Owned::Null,
        ValueRef::Integer(value) => Owned::Integer(value),
        ValueRef::Real(value) => Owned::Real(value),
        // Texts that SQL makes from bytes need not be UTF-8.
        ValueRef::Text(text) => Owned::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Owned::Blob(bytes.to_vec()),
    }
}

fn to_sqlite(value: Value<'_>) -> rusqlite::types::ToSqlOutput<'_> {
    rusqlite::types::ToSqlOutput::Borrowed(match value {
        Value::Null => ValueRef::Null,
        Value::Integer(value) => ValueRef::Integer(value),
        Value::Real(value) => ValueRef::Real(value),
        Value::Text(text) => ValueRef::Text(text.as_bytes()),
        Value::Blob(bytes) => ValueRef::Blob(bytes),
    })
}
