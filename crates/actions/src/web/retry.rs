//! All tries of one letter: which failures pass by themselves, how long to wait before the next
//! one, and what is said of the last. It knows no connection.

use std::time::{Duration, Instant, SystemTime};

use gambrel_model::call::Limits;
use gambrel_model::outcome::{End, Outcome};
use reqwest::StatusCode;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use serde_json::{Map, Value, json};

use super::client::Net;
use super::exchange::{Reply, Trouble, exchange};
use super::letter::Letter;
use crate::limits::later;

/// How long one exchange takes at most when nobody says otherwise.
const EXCHANGE: Duration = Duration::from_secs(10);
/// The longest pause between two tries, whoever asks for it.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How long and how often a letter is tried.
pub(crate) struct Patience<'a> {
    pub pace: &'a Limits,
    /// What the request says about one exchange, if it does.
    pub exchange: Option<Duration>,
    /// The end of everything.
    pub until: Option<Instant>,
}

/// Sends a letter until it is answered, refused for good, or nobody has patience.
pub(crate) async fn send(net: &Net, letter: &Letter, patience: &Patience<'_>) -> Outcome {
    let mut made = 0;
    let mut remarks = Vec::new();
    loop {
        made += 1;
        let (begun, limit) = (Instant::now(), patience.limit());
        let result = exchange(net, letter, limit).await;
        let pause = pause_after(&result).map(|asked| asked.max(patience.pause(made)));
        let mut outcome = outcome_of(result);
        if outcome.end == End::TimedOut && limit < patience.own_limit() {
            outcome.cut_short_by = Some(Outcome::budget_reason(begun.elapsed()));
        }
        match pause.filter(|_| made <= patience.pace.retries) {
            Some(pause) if patience.has_time_for(pause) => tokio::time::sleep(pause).await,
            missed => {
                if missed.is_some() {
                    remarks.push("budget: no time for another attempt".to_owned());
                }
                outcome.remarks.append(&mut remarks);
                return Outcome { attempts: made, command: letter.shown(), ..outcome };
            }
        }
    }
}

impl Patience<'_> {
    /// What one exchange may take, whoever waits for it.
    fn own_limit(&self) -> Duration {
        self.exchange.unwrap_or(EXCHANGE).min(self.pace.timeout)
    }

    fn limit(&self) -> Duration {
        let own = self.own_limit();
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        left.map_or(own, |left| left.min(own))
    }

    /// Doubles from try to try, and never is the same for all who wait.
    fn pause(&self, made: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(made.saturating_sub(1));
        let plain = self.pace.retry_delay.saturating_mul(doubled).min(LONGEST_PAUSE);
        let mut random = [0; 1];
        // Without random numbers the pause is the plain one.
        let share = getrandom::fill(&mut random).map_or(100, |()| 80 + u32::from(random[0]) % 41);
        (plain * share / 100).min(LONGEST_PAUSE)
    }

    fn has_time_for(&self, pause: Duration) -> bool {
        self.until.is_none_or(|until| later(Instant::now(), pause) < until)
    }
}

/// The least pause before another try, if another try may help.
fn pause_after(result: &Result<Reply, Trouble>) -> Option<Duration> {
    match result {
        Ok(reply) if may_pass(reply.status) => Some(asked_pause(&reply.headers)),
        Ok(_) | Err(Trouble::Refused(_)) => None,
        Err(Trouble::Failed(_) | Trouble::Late) => Some(Duration::ZERO),
    }
}

fn may_pass(status: StatusCode) -> bool {
    status.is_server_error()
        || status == StatusCode::REQUEST_TIMEOUT
        || status == StatusCode::TOO_MANY_REQUESTS
}

/// What the receiver asks for: seconds or a date.
fn asked_pause(headers: &HeaderMap) -> Duration {
    let text = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let seconds = text.trim().parse().ok().map(Duration::from_secs);
    let date = || httpdate::parse_http_date(text.trim()).ok();
    let until_date = || date()?.duration_since(SystemTime::now()).ok();
    seconds.or_else(until_date).unwrap_or_default().min(LONGEST_PAUSE)
}

fn outcome_of(result: Result<Reply, Trouble>) -> Outcome {
    match result {
        Ok(reply) => {
            let mut outcome = Outcome::from_end(End::Answered);
            outcome.answer = Some(json!({
                "status": reply.status.as_u16(),
                "headers": shown(&reply.headers),
            }));
            outcome.failure = fault(reply.status);
            if reply.body.is_truncated() {
                outcome.remarks.push("answer: cut after 1 MiB".to_owned());
            }
            outcome.stdout = reply.body;
            outcome
        }
        Err(Trouble::Refused(why) | Trouble::Failed(why)) => {
            Outcome::from_end(End::FailedToStart(why))
        }
        Err(Trouble::Late) => Outcome::from_end(End::TimedOut),
    }
}

fn fault(status: StatusCode) -> Option<String> {
    let words = || format!("HTTP {status}").trim_end().to_owned();
    match status {
        status if status.is_redirection() => {
            Some(format!("{}: redirects are not followed", words()))
        }
        status if status.as_u16() >= 400 => Some(words()),
        _ => None,
    }
}

/// Headers that no secret travels in.
fn shown(headers: &HeaderMap) -> Map<String, Value> {
    let names = [CONTENT_TYPE, CONTENT_LENGTH, RETRY_AFTER];
    let text = |name: &reqwest::header::HeaderName| headers.get(name)?.to_str().ok();
    let shown = names.iter().filter_map(|name| Some((name.to_string(), text(name)?.into())));
    shown.collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use gambrel_model::call::Limits;
    use reqwest::header::{HeaderMap, HeaderValue, RETRY_AFTER};

    use super::{Patience, asked_pause};

    #[test]
    fn pauses_double_within_a_fifth_and_end_at_a_minute() {
        let pace = Limits { retry_delay: Duration::from_secs(1), ..Limits::default() };
        let patience = Patience { pace: &pace, exchange: None, until: None };
        for (made, low, high) in [(1, 0.8, 1.2), (2, 1.6, 2.4), (5, 12.8, 19.2), (40, 48.0, 60.0)] {
            for _ in 0..50 {
                let pause = patience.pause(made).as_secs_f64();
                assert!((low..=high).contains(&pause), "{made}: {pause}");
            }
        }
    }

    #[test]
    fn a_receiver_asks_in_seconds_or_by_date_for_a_minute_at_most() {
        let asked = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_str(text).unwrap());
            asked_pause(&headers)
        };
        assert_eq!(asked("7"), Duration::from_secs(7));
        assert_eq!(asked("999999999999"), Duration::from_secs(60));
        let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(30));
        assert!(asked(&soon) > Duration::from_secs(20) && asked(&soon) <= Duration::from_secs(30));
        assert_eq!(asked("Thu, 01 Jan 1970 00:00:00 GMT"), Duration::ZERO);
        assert_eq!(asked("soon"), Duration::ZERO);
    }
}
