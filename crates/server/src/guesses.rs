//! How many wrong tokens came lately, from anywhere. Right ones are never held up by it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

const ALLOWED: usize = 10;
const WINDOW: Duration = Duration::from_secs(60);

/// The wrong ones of the last minute.
#[derive(Debug, Default)]
pub(crate) struct Guesses {
    at: VecDeque<Instant>,
}

impl Guesses {
    /// Counts a wrong one; false when there were too many already.
    pub(crate) fn one_more(&mut self, now: Instant) -> bool {
        self.at.retain(|then| now.duration_since(*then) < WINDOW);
        let allowed = self.at.len() < ALLOWED;
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
    fn ten_a_minute_and_again_after_it() {
        let mut guesses = Guesses::default();
        let start = Instant::now();
        for number in 0..10 {
            assert!(guesses.one_more(start + Duration::from_secs(number)));
        }
        assert!(!guesses.one_more(start + Duration::from_secs(30)));
        assert!(guesses.one_more(start + Duration::from_secs(60)));
        assert!(!guesses.one_more(start + Duration::from_millis(60_500)));
    }
}
