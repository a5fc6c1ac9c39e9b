//! Limits wrong tokens, from all clients together. Right tokens always pass.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

const MAX_FAILED_COUNT: usize = 10;
const FAILED_TOKEN_WINDOW: Duration = Duration::from_secs(60);

/// The wrong tokens of the last minute.
#[derive(Debug, Default)]
pub(crate) struct FailedTokens {
    at: VecDeque<Instant>,
}

impl FailedTokens {
    /// Counts a wrong token; false when there were too many already.
    pub(crate) fn record(&mut self, now: Instant) -> bool {
        self.at.retain(|then| now.duration_since(*then) < FAILED_TOKEN_WINDOW);
        let allowed = self.at.len() < MAX_FAILED_COUNT;
        if allowed {
            self.at.push_back(now);
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allows_ten_wrong_tokens_a_minute() {
        let mut tokens = FailedTokens::default();
        let start = Instant::now();
        for number in 0..10 {
            assert!(tokens.record(start + Duration::from_secs(number)));
        }
        assert!(!tokens.record(start + Duration::from_secs(30)));
        assert!(tokens.record(start + Duration::from_secs(60)));
        assert!(!tokens.record(start + Duration::from_millis(60_500)));
    }
}
