//! Sign-in: one password for the household, and sessions with random tokens.
//!
//! A token has 256 random bits. The store has only its SHA-256, so that a copy of the file does not give access. A session ends by
//! signing out, by a change of the password, after [`MAX_IDLE`] without use, and after [`MAX_AGE`].

use super::limit::{Limiter, counted};
use crate::clock::Clock;
use crate::secret::{NoRandomNumbers, random};
use crate::store::{Kept, Store, StoreError};
use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use node::Time;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::net::IpAddr;
use tokio::sync::{Semaphore, watch};

/// Time without use after which a session ends, seconds: 30 days.
pub const MAX_IDLE: u64 = 30 * DAY;
/// Time after which a session ends, seconds: 180 days.
pub const MAX_AGE: u64 = 180 * DAY;
/// Maximum number of sessions; the least recently used one is evicted.
pub const MAX_SESSIONS: usize = 32;
/// Length of a password, bytes.
pub const PASSWORD: std::ops::RangeInclusive<usize> = 10..=256;
/// Maximum number of verifications that wait for the current one. Each takes 19 MiB and about 50 ms of a core.
const MAX_WAITING: usize = 4;
const DAY: u64 = 86_400;
const SETTING: &str = "password";

/// A password that is refused.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// It is wrong.
    #[error("wrong password")]
    Wrong,
    /// No password is set.
    #[error("no password is set yet: open the address that the router printed when it started")]
    NotSet,
    /// A password is set already.
    #[error("a password is set already: sign in and change it")]
    AlreadySet,
    /// The code is not the one that the router printed.
    #[error("wrong setup code: use the one that the router printed when it started")]
    Code,
    /// Too many wrong passwords.
    #[error("too many wrong passwords: try again in {0} s")]
    Limited(u64),
    /// Too many passwords are being verified.
    #[error("too many sign-ins at the same time: try again in 1 s")]
    Busy,
    /// Too short or too long.
    #[error("a password has {} to {} bytes", PASSWORD.start(), PASSWORD.end())]
    Length,
    /// The system has no random numbers.
    #[error(transparent)]
    Random(#[from] NoRandomNumbers),
    /// The system has no memory.
    #[error("the password could not be hashed: {0}")]
    Hash(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The sessions and the password.
pub struct Sessions {
    store: Store,
    clock: Clock,
    live: Mutex<BTreeMap<[u8; 32], Kept>>,
    limiter: Mutex<Limiter>,
    /// Setup code, until a password is set.
    setup: Mutex<Option<String>>,
    queue: Semaphore,
    one: Semaphore,
    /// Changes whenever a session ends.
    pub ended: watch::Sender<()>,
}

impl Sessions {
    /// Loads the sessions of the store. Without a password there is a setup code.
    ///
    /// # Errors
    /// When the store or the system's random numbers fail.
    pub fn open(store: Store, clock: Clock) -> Result<Sessions, SignInError> {
        let live = store.sessions()?.into_iter();
        let live = live.map(|kept| (kept.hash, kept)).collect();
        let setup = match store.setting(SETTING)? {
            Some(_) => None,
            None => Some(random::<12>()?),
        };
        Ok(Sessions {
            store,
            clock,
            live: Mutex::new(live),
            limiter: Mutex::default(),
            setup: Mutex::new(setup),
            queue: Semaphore::new(MAX_WAITING + 1),
            one: Semaphore::new(1),
            ended: watch::Sender::new(()),
        })
    }

    /// Setup code; `None` after a password is set.
    pub fn setup_code(&self) -> Option<String> {
        self.setup.lock().clone()
    }

    /// Hash of a session's token, if the session is valid.
    pub fn find(&self, token: &str) -> Option<[u8; 32]> {
        let hash = digest(token);
        let now = self.clock.unix();
        let mut live = self.live.lock();
        let kept = live.get_mut(&hash)?;
        if !is_alive(kept, now) {
            return None;
        }
        if now.abs_diff(kept.used) >= DAY {
            kept.used = now;
            // The stored time of use only delays expiry: after a failure here the session may end earlier.
            let _ = self.store.keep_session(kept);
        }
        Some(hash)
    }

    /// Whether a session is valid.
    pub fn is_alive(&self, hash: &[u8; 32]) -> bool {
        let now = self.clock.unix();
        self.live
            .lock()
            .get(hash)
            .is_some_and(|kept| is_alive(kept, now))
    }

    /// Signs in. Returns a token.
    ///
    /// # Errors
    /// When the password is wrong or not set, too many were wrong, or the store fails.
    pub async fn sign_in(&self, address: IpAddr, password: String) -> Result<String, SignInError> {
        self.verify(address, password).await?;
        self.begin(address)
    }

    /// Ends a session.
    ///
    /// # Errors
    /// When the store fails: the session has ended, and is valid again after a restart.
    pub fn sign_out(&self, hash: &[u8; 32]) -> Result<(), StoreError> {
        self.live.lock().remove(hash);
        self.ended.send_replace(());
        self.store.end_session(hash)
    }

    /// Sets the first password. Returns a token.
    ///
    /// # Errors
    /// When the code is wrong, a password is set already, or it is too short or too long.
    pub async fn set_up(
        &self,
        address: IpAddr,
        code: String,
        password: String,
    ) -> Result<String, SignInError> {
        check_length(&password)?;
        let Some(wanted) = self.setup_code() else {
            return Err(SignInError::AlreadySet);
        };
        // Comparing digests leaks nothing about the code through timing. The code has 96 random bits, so guesses need no limit; a
        // limit would let other devices block the household's first password.
        if digest(&code) != digest(&wanted) {
            return Err(SignInError::Code);
        }
        let hash = self.compute(move || hash(&password)).await??;
        let mut setup = self.setup.lock();
        if setup.is_none() {
            return Err(SignInError::AlreadySet);
        }
        self.replace(&hash)?;
        *setup = None;
        drop(setup);
        self.begin(address)
    }

    /// Changes the password and ends all sessions. Returns the token of a new one.
    ///
    /// # Errors
    /// As for signing in, and when the new one is too short or too long.
    pub async fn change(
        &self,
        address: IpAddr,
        old: String,
        new: String,
    ) -> Result<String, SignInError> {
        check_length(&new)?;
        self.verify(address, old).await?;
        let hash = self.compute(move || hash(&new)).await??;
        self.replace(&hash)?;
        self.begin(address)
    }

    fn replace(&self, hash: &str) -> Result<(), StoreError> {
        let mut live = self.live.lock();
        self.store.set_password(SETTING, hash)?;
        live.clear();
        drop(live);
        self.ended.send_replace(());
        Ok(())
    }

    async fn verify(&self, address: IpAddr, password: String) -> Result<(), SignInError> {
        let hash = self.store.setting(SETTING)?.ok_or(SignInError::NotSet)?;
        let has_session = self.has_session(address);
        self.count(address, has_session)?;
        // A longer password was never set: it is not hashed.
        let is_right = password.len() <= *PASSWORD.end()
            && self
                .compute(move || is_right(&password, &hash))
                .await
                .inspect_err(|_| {
                    self.limiter.lock().take_back(address, has_session);
                })?;
        if !is_right {
            return Err(SignInError::Wrong);
        }
        self.limiter.lock().take_back(address, has_session);
        Ok(())
    }

    fn count(&self, address: IpAddr, has_session: bool) -> Result<(), SignInError> {
        let counted = self
            .limiter
            .lock()
            .guess(self.clock.now(), address, has_session);
        counted.map_err(|wait: Time| SignInError::Limited(wait.as_ns().div_ceil(1_000_000_000)))
    }

    /// Runs a slow computation, one at a time.
    async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, SignInError> {
        let _place = self.queue.try_acquire().map_err(|_| SignInError::Busy)?;
        let _turn = self.one.acquire().await.map_err(|_| SignInError::Busy)?;
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|error| SignInError::Hash(error.to_string()))
    }

    fn has_session(&self, address: IpAddr) -> bool {
        let (address, now) = (counted(address).to_string(), self.clock.unix());
        let live = self.live.lock();
        live.values()
            .any(|kept| kept.address == address && is_alive(kept, now))
    }

    fn begin(&self, address: IpAddr) -> Result<String, SignInError> {
        let token = random::<32>()?;
        let now = self.clock.unix();
        let kept = Kept {
            hash: digest(&token),
            address: counted(address).to_string(),
            created: now,
            used: now,
        };
        let mut live = self.live.lock();
        let is_dead = |kept: &&Kept| !is_alive(kept, now);
        let mut over: Vec<_> = live
            .values()
            .filter(is_dead)
            .map(|kept| kept.hash)
            .collect();
        if live.len() - over.len() >= MAX_SESSIONS {
            let alive = live.values().filter(|kept| !is_dead(kept));
            let oldest = alive.min_by_key(|kept| kept.used);
            over.extend(oldest.map(|kept| kept.hash));
        }
        for hash in over {
            live.remove(&hash);
            self.ended.send_replace(());
            self.store.end_session(&hash)?;
        }
        self.store.keep_session(&kept)?;
        live.insert(kept.hash, kept);
        Ok(token)
    }
}

/// Sets the password of a store that no server uses, and ends all sessions: for a forgotten password.
///
/// # Errors
/// When it is too short or too long, or the store fails.
pub fn set_password(store: &Store, password: &str) -> Result<(), SignInError> {
    check_length(password)?;
    Ok(store.set_password(SETTING, &hash(password)?)?)
}

fn check_length(password: &str) -> Result<(), SignInError> {
    match PASSWORD.contains(&password.len()) {
        true => Ok(()),
        false => Err(SignInError::Length),
    }
}

fn is_alive(kept: &Kept, now: u64) -> bool {
    now.saturating_sub(kept.used) <= MAX_IDLE && now.saturating_sub(kept.created) <= MAX_AGE
}

/// Argon2id with 19 MiB and two passes, as OWASP asks.
fn hash(password: &str) -> Result<String, SignInError> {
    let hash = Argon2::default().hash_password(password.as_bytes());
    hash.map(|hash| hash.to_string())
        .map_err(|error| SignInError::Hash(error.to_string()))
}

fn is_right(password: &str, hash: &[u8]) -> bool {
    let hash = std::str::from_utf8(hash)
        .ok()
        .and_then(|hash| PasswordHash::new(hash).ok());
    hash.is_some_and(|hash| {
        Argon2::default()
            .verify_password(password.as_bytes(), &hash)
            .is_ok()
    })
}

fn digest(text: &str) -> [u8; 32] {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest.as_ref());
    bytes
}
