//! The webhook: each message is an HTTPS POST with JSON, signed as Standard Webhooks 1.0.0 has it.

use super::reach::{Endpoint, Stream};
use super::settings::{Webhook, key};
use super::{Message, Messages};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

/// Maximum number of attempts for a message.
const MAX_ATTEMPTS: u32 = 8;
/// Maximum time between two attempts.
const MAX_WAIT: Duration = Duration::from_secs(300);
/// Time for a request and its response.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of a response that is read, bytes: its status is in the first line.
const MAX_RESPONSE: usize = 1024;

impl Messages {
    /// Sends messages to the webhook, one after the other.
    pub(super) async fn send_webhooks(&self) {
        let mut changed = self.changed.subscribe();
        loop {
            let webhook = self.settings.lock().webhook.clone();
            let Some(webhook) = webhook else {
                self.webhook.clear();
                // The sender lives as long as this.
                let _ = changed.changed().await;
                continue;
            };
            let message = tokio::select! {
                message = self.webhook.next() => message,
                _ = changed.changed() => continue,
            };
            let mut wait = self.options.retry;
            for attempt in 1..=MAX_ATTEMPTS {
                match self.post(&webhook, &message).await {
                    Ok(200..300) => {
                        self.webhook.done(&message, "sent");
                        break;
                    }
                    Ok(status) if is_final(status) => {
                        self.webhook.failed(format!("the server answered {status}"));
                        self.webhook.done(&message, "refused");
                        break;
                    }
                    Ok(status) => self.webhook.failed(format!("the server answered {status}")),
                    Err(error) => self.webhook.failed(error),
                }
                if attempt == MAX_ATTEMPTS {
                    self.webhook.done(&message, "given_up");
                    break;
                }
                let is_changed = tokio::select! {
                    () = sleep(wait) => false,
                    _ = changed.changed() => true,
                };
                if is_changed {
                    break;
                }
                wait = (wait * 2).min(MAX_WAIT);
            }
        }
    }

    /// Sends a request. Returns the status of the response.
    async fn post(&self, webhook: &Webhook, message: &Arc<Message>) -> Result<u16, String> {
        let endpoint = Endpoint::read(&webhook.url).ok_or("not a URL")?;
        let body = serde_json::to_string(&**message).map_err(|error| error.to_string())?;
        // The same in all attempts, so that a receiver knows a message again.
        let id = format!("msg_{:x}", number_of(&body));
        let at = self.clock.unix().to_string();
        let signature = sign(&webhook.secret, &id, &at, &body).ok_or("not a secret")?;
        let request = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             User-Agent: wire-home\r\nConnection: close\r\n\
             webhook-id: {id}\r\nwebhook-timestamp: {at}\r\nwebhook-signature: {signature}\r\n\r\n{body}",
            endpoint.path,
            endpoint.authority(),
            body.len(),
        );
        let certificate = webhook.certificate.as_deref();
        let may_loop = self.options.loopback;
        let mut stream = self.reach.connect(&endpoint, certificate, may_loop).await?;
        let answered = timeout(TIMEOUT, exchange(&mut *stream, request.as_bytes())).await;
        answered.unwrap_or_else(|_| Err("no response within 10 s".into()))
    }
}

/// Whether a request would be refused again: not after a timeout, too early, or too many requests.
fn is_final(status: u16) -> bool {
    (400..500).contains(&status) && ![408, 425, 429].contains(&status)
}

async fn exchange(stream: &mut dyn Stream, request: &[u8]) -> Result<u16, String> {
    let text = |error: std::io::Error| error.to_string();
    stream.write_all(request).await.map_err(text)?;
    stream.flush().await.map_err(text)?;
    let mut head = Vec::new();
    while head.len() < MAX_RESPONSE && !head.contains(&b'\n') {
        let mut part = [0; 256];
        match stream.read(&mut part).await.map_err(text)? {
            0 => break,
            length => head.extend(&part[..length]),
        }
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = std::str::from_utf8(line).unwrap_or_default();
    let status = line
        .strip_prefix("HTTP/1.")
        .and_then(|rest| rest.get(2..5)?.parse().ok());
    status.ok_or_else(|| "the server does not speak HTTP/1.1".into())
}

/// Number that identifies a message.
fn number_of(body: &str) -> u128 {
    let digest = ring::digest::digest(&ring::digest::SHA256, body.as_bytes());
    let first = digest.as_ref().first_chunk().copied().unwrap_or_default();
    u128::from_be_bytes(first)
}

/// Value of `webhook-signature`: HMAC-SHA256 over id, time and body.
fn sign(secret: &str, id: &str, at: &str, body: &str) -> Option<String> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key(secret)?);
    let tag = hmac::sign(&key, format!("{id}.{at}.{body}").as_bytes());
    Some(format!("v1,{}", STANDARD.encode(tag.as_ref())))
}
