//! Destinations of messages, and their secrets.
//!
//! Secrets are kept in the store, are never shown, and have no `Debug`. With another URL a stored secret is not used: a stolen
//! session cannot have it sent elsewhere.

use super::reach::Endpoint;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// Maximum length of a text, bytes.
const MAX_TEXT: usize = 512;
/// Maximum length of a certificate, bytes.
const MAX_CERTIFICATE: usize = 3072;
/// Start of a secret in the form of Standard Webhooks.
const SECRET: &str = "whsec_";
/// Length of a secret, bytes.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// A setting that is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSettings {
    /// Not a URL of this kind.
    #[error("not a URL such as {0}")]
    Url(&'static str),
    /// Too long, or with control characters.
    #[error("{0}: 1 to {MAX_TEXT} bytes without control characters")]
    Text(&'static str),
    /// Not a secret.
    #[error("secret: `whsec_` and 24 to 64 bytes in Base64, or nothing for a new one")]
    Secret,
    /// Not a certificate.
    #[error("certificate: a certificate in PEM of at most {MAX_CERTIFICATE} bytes")]
    Certificate,
    /// A password without TLS.
    #[error("a user and a password need mqtts://, unless the broker is on this machine")]
    Plain,
    /// The system has no random numbers.
    #[error("the system has no random numbers")]
    Random,
}

/// All destinations.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Settings {
    /// HTTPS requests.
    pub webhook: Option<Webhook>,
    /// A broker of MQTT.
    pub mqtt: Option<Mqtt>,
}

/// A webhook.
#[derive(Clone, Serialize, Deserialize)]
pub struct Webhook {
    /// `https://HOST/PATH`.
    pub url: String,
    /// `whsec_` and a key in Base64.
    pub secret: String,
    /// Certificate in PEM that is trusted instead of those of the machine.
    pub certificate: Option<String>,
}

/// A broker of MQTT.
#[derive(Clone, Serialize, Deserialize)]
pub struct Mqtt {
    /// `mqtts://HOST` or `mqtt://HOST`.
    pub url: String,
    /// User name.
    pub user: Option<String>,
    /// Password.
    pub password: Option<String>,
    /// Start of all topics.
    pub topic: String,
    /// Certificate in PEM that is trusted instead of those of the machine.
    pub certificate: Option<String>,
}

/// A change: an absent field keeps its value, and null removes a destination.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    #[serde(default, deserialize_with = "given")]
    webhook: Option<Option<WantedWebhook>>,
    #[serde(default, deserialize_with = "given")]
    mqtt: Option<Option<WantedMqtt>>,
}

/// A field that may be null: absent is `None`, null is `Some(None)`.
pub(crate) fn given<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    value: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WantedWebhook {
    url: String,
    secret: Option<String>,
    certificate: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WantedMqtt {
    url: String,
    user: Option<String>,
    password: Option<String>,
    topic: Option<String>,
    certificate: Option<String>,
}

impl Wanted {
    /// Whether a webhook is given without a secret.
    pub fn lacks_secret(&self) -> bool {
        let webhook = self.webhook.as_ref().and_then(Option::as_ref);
        webhook.is_some_and(|webhook| webhook.secret.is_none())
    }

    /// The settings after the change, and a new secret for the webhook if one was made.
    ///
    /// # Errors
    /// When one is invalid.
    pub fn applied(self, old: &Settings) -> Result<(Settings, Option<String>), BadSettings> {
        let mut new = old.clone();
        let mut made = None;
        match self.webhook {
            None => {}
            Some(None) => new.webhook = None,
            Some(Some(wanted)) => {
                let (webhook, secret) = wanted.applied(old.webhook.as_ref())?;
                (new.webhook, made) = (Some(webhook), secret);
            }
        }
        match self.mqtt {
            None => {}
            Some(None) => new.mqtt = None,
            Some(Some(wanted)) => new.mqtt = Some(wanted.applied(old.mqtt.as_ref())?),
        }
        Ok((new, made))
    }
}

impl WantedWebhook {
    fn applied(self, old: Option<&Webhook>) -> Result<(Webhook, Option<String>), BadSettings> {
        const FORM: BadSettings = BadSettings::Url("https://hooks.example/home");
        let url = text("URL", self.url)?;
        if !url.starts_with("https://") || Endpoint::read(&url).is_none() {
            return Err(FORM);
        }
        let old = old.filter(|old| old.url == url);
        let given = self.secret.filter(|secret| !secret.is_empty());
        let (secret, made) = match (given, old) {
            (Some(secret), _) => (secret, None),
            (None, Some(old)) => (old.secret.clone(), None),
            (None, None) => {
                let secret = new_secret()?;
                (secret.clone(), Some(secret))
            }
        };
        key(&secret).ok_or(BadSettings::Secret)?;
        let certificate = certificate(
            self.certificate,
            old.and_then(|old| old.certificate.as_ref()),
        )?;
        Ok((
            Webhook {
                url,
                secret,
                certificate,
            },
            made,
        ))
    }
}

impl WantedMqtt {
    fn applied(self, old: Option<&Mqtt>) -> Result<Mqtt, BadSettings> {
        const FORM: BadSettings = BadSettings::Url("mqtts://broker.example");
        let url = text("URL", self.url)?;
        let endpoint = Endpoint::read(&url).filter(|_| url.starts_with("mqtt"));
        let endpoint = endpoint.ok_or(FORM)?;
        let old = old.filter(|old| old.url == url);
        let user = kept(self.user, old.and_then(|old| old.user.as_ref()));
        let password = kept(self.password, old.and_then(|old| old.password.as_ref()));
        let is_here = endpoint
            .address()
            .is_some_and(|address| address.is_loopback());
        if (user.is_some() || password.is_some()) && !endpoint.is_secure && !is_here {
            return Err(BadSettings::Plain);
        }
        let topic = kept(self.topic, old.map(|old| &old.topic));
        let topic = text("topic", topic.unwrap_or_else(|| "wireline".into()))?;
        if topic.contains(['#', '+']) || topic.starts_with('$') {
            return Err(BadSettings::Text("topic without # + $"));
        }
        Ok(Mqtt {
            user: user.map(|user| text("user", user)).transpose()?,
            password: password
                .map(|password| text("password", password))
                .transpose()?,
            certificate: certificate(
                self.certificate,
                old.and_then(|old| old.certificate.as_ref()),
            )?,
            topic,
            url,
        })
    }
}

impl Webhook {
    /// For the API: without the secret.
    pub fn view(&self) -> serde_json::Value {
        serde_json::json!({ "url": self.url, "has_certificate": self.certificate.is_some() })
    }
}

impl Mqtt {
    /// For the API: without the password.
    pub fn view(&self) -> serde_json::Value {
        serde_json::json!({
            "url": self.url, "user": self.user, "has_password": self.password.is_some(),
            "topic": self.topic, "has_certificate": self.certificate.is_some(),
        })
    }
}

/// The key of a secret.
pub fn key(secret: &str) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(secret.strip_prefix(SECRET)?).ok()?;
    SECRET_BYTES.contains(&bytes.len()).then_some(bytes)
}

fn new_secret() -> Result<String, BadSettings> {
    use ring::rand::{SecureRandom, SystemRandom};
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| BadSettings::Random)?;
    Ok(format!("{SECRET}{}", STANDARD.encode(bytes)))
}

/// A given text, or else the old one; an empty text removes it.
fn kept(given: Option<String>, old: Option<&String>) -> Option<String> {
    given
        .or_else(|| old.cloned())
        .filter(|text| !text.is_empty())
}

fn text(name: &'static str, text: String) -> Result<String, BadSettings> {
    let is_good = (1..=MAX_TEXT).contains(&text.len()) && !text.chars().any(char::is_control);
    is_good.then_some(text).ok_or(BadSettings::Text(name))
}

fn certificate(given: Option<String>, old: Option<&String>) -> Result<Option<String>, BadSettings> {
    let Some(pem) = kept(given, old) else {
        return Ok(None);
    };
    let is_good =
        pem.len() <= MAX_CERTIFICATE && super::reach::authorities(pem.as_bytes()).is_some();
    is_good.then_some(Some(pem)).ok_or(BadSettings::Certificate)
}
