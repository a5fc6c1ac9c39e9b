//! All attempts of one request: which failures are worth a retry, how long to wait before it, and
//! the outcome of the last.

use std::time::{Duration, Instant, SystemTime};

use gambrel_model::call::Limits;
use gambrel_model::outcome::{CutShort, End, Outcome};
use reqwest::StatusCode;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use serde_json::{Map, Value, json};

use super::client::HttpClients;
use super::error::ExchangeError;
use super::exchange::{HttpResponse, send_once};
use super::prepared_request::PreparedRequest;
use gambrel_process::deadlines::add_duration;

/// The time limit of one exchange without a configured one.
const DEFAULT_EXCHANGE_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest delay between two attempts.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

/// How long and how often a request is tried.
pub(crate) struct RetryBudget<'a> {
    pub limits: &'a Limits,
    /// The request's own limit for one exchange.
    pub exchange: Option<Duration>,
    /// The deadline over all attempts.
    pub deadline: Option<Instant>,
}

/// Sends a request until it is answered, refused for good, or out of attempts or time.
pub(crate) async fn send_with_retries(
    clients: &HttpClients,
    prepared: &PreparedRequest,
    budget: &RetryBudget<'_>,
) -> Outcome {
    let mut attempts = 0;
    let mut remarks = Vec::new();
    loop {
        attempts += 1;
        let (begun, limit) = (Instant::now(), budget.remaining_limit());
        let result = send_once(clients, prepared, limit).await;
        let delay = delay_after(&result).map(|asked| asked.max(budget.retry_delay(attempts)));

        let mut outcome = to_outcome(result);
        if outcome.end == End::TimedOut && limit < budget.exchange_limit() {
            outcome.cut_short_by = Some(CutShort::Budget(begun.elapsed()));
        }

        match delay.filter(|_| attempts <= budget.limits.retries) {
            Some(pause) if budget.has_time_for(pause) => tokio::time::sleep(pause).await,
            missed => {
                if missed.is_some() {
                    remarks.push("budget: no time for another attempt".to_owned());
                }
                outcome.remarks.append(&mut remarks);
                return Outcome { attempts, command: prepared.recorded_command(), ..outcome };
            }
        }
    }
}

impl RetryBudget<'_> {
    /// The time limit of one exchange, without the deadline.
    fn exchange_limit(&self) -> Duration {
        self.exchange.unwrap_or(DEFAULT_EXCHANGE_TIMEOUT).min(self.limits.timeout)
    }

    fn remaining_limit(&self) -> Duration {
        let own = self.exchange_limit();
        let left = self.deadline.map(|until| until.saturating_duration_since(Instant::now()));
        left.map_or(own, |left| left.min(own))
    }

    /// Doubles with each attempt, with random jitter.
    fn retry_delay(&self, made: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(made.saturating_sub(1));
        let base = self.limits.retry_delay.saturating_mul(doubled).min(MAX_RETRY_DELAY);
        let mut random = [0; 1];
        // Without random numbers there is no jitter.
        let share = getrandom::fill(&mut random).map_or(100, |()| 80 + u32::from(random[0]) % 41);
        (base * share / 100).min(MAX_RETRY_DELAY)
    }

    fn has_time_for(&self, pause: Duration) -> bool {
        self.deadline.is_none_or(|until| add_duration(Instant::now(), pause) < until)
    }
}

/// The shortest delay before another attempt, if one may help.
fn delay_after(result: &Result<HttpResponse, ExchangeError>) -> Option<Duration> {
    match result {
        Ok(response) if is_transient(response.status) => Some(retry_after(&response.headers)),
        Ok(_) | Err(ExchangeError::Refused(_)) => None,
        Err(_) => Some(Duration::ZERO),
    }
}

fn is_transient(status: StatusCode) -> bool {
    status.is_server_error()
        || status == StatusCode::REQUEST_TIMEOUT
        || status == StatusCode::TOO_MANY_REQUESTS
}

/// The delay that the receiver asks for: seconds or a date.
fn retry_after(headers: &HeaderMap) -> Duration {
    let text = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let seconds = text.trim().parse().ok().map(Duration::from_secs);
    let date = || httpdate::parse_http_date(text.trim()).ok();
    let until_date = || date()?.duration_since(SystemTime::now()).ok();
    seconds.or_else(until_date).unwrap_or_default().min(MAX_RETRY_DELAY)
}

fn to_outcome(result: Result<HttpResponse, ExchangeError>) -> Outcome {
    match result {
        Ok(response) => {
            let mut outcome = Outcome::from_end(End::Answered);
            outcome.answer = Some(json!({
                "status": response.status.as_u16(),
                "headers": recorded_headers(&response.headers),
            }));
            outcome.failure = status_failure(response.status);
            if response.body.is_truncated() {
                outcome.remarks.push("answer: cut after 1 MiB".to_owned());
            }
            outcome.stdout = response.body;
            outcome
        }
        Err(ExchangeError::TimedOut(_)) => Outcome::from_end(End::TimedOut),
        Err(why) => Outcome::failed_to_start(why),
    }
}

fn status_failure(status: StatusCode) -> Option<String> {
    let words = || format!("HTTP {status}").trim_end().to_owned();
    match status {
        status if status.is_redirection() => {
            Some(format!("{}: redirects are not followed", words()))
        }
        status if status.as_u16() >= 400 => Some(words()),
        _ => None,
    }
}

/// Headers that hold no secret.
fn recorded_headers(headers: &HeaderMap) -> Map<String, Value> {
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

    use super::{RetryBudget, retry_after};

    #[test]
    fn doubles_delays_with_jitter_up_to_a_minute() {
        let limits = Limits { retry_delay: Duration::from_secs(1), ..Limits::default() };
        let budget = RetryBudget { limits: &limits, exchange: None, deadline: None };
        for (made, low, high) in [(1, 0.8, 1.2), (2, 1.6, 2.4), (5, 12.8, 19.2), (40, 48.0, 60.0)] {
            for _ in 0..50 {
                let pause = budget.retry_delay(made).as_secs_f64();
                assert!((low..=high).contains(&pause), "{made}: {pause}");
            }
        }
    }

    #[test]
    fn reads_retry_after_seconds_and_dates_up_to_a_minute() {
        let parse_header = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_str(text).unwrap());
            retry_after(&headers)
        };
        assert_eq!(parse_header("7"), Duration::from_secs(7));
        assert_eq!(parse_header("999999999999"), Duration::from_secs(60));
        let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(30));
        assert!(
            parse_header(&soon) > Duration::from_secs(20)
                && parse_header(&soon) <= Duration::from_secs(30)
        );
        assert_eq!(parse_header("Thu, 01 Jan 1970 00:00:00 GMT"), Duration::ZERO);
        assert_eq!(parse_header("soon"), Duration::ZERO);
    }
}
