//! Runs attempts in parallel, because they mostly wait, and prints the progress.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::anyhow;

/// A number of attempts, and how many run in parallel.
pub struct Workload {
    /// The row's name in progress messages.
    pub name: &'static str,
    pub count: usize,
    pub workers: usize,
    /// Prints the progress after this many attempts.
    pub report_every: usize,
}

impl Workload {
    /// Runs all attempts by number. Results are in no order. An error stops all workers.
    pub fn run<T: Send>(
        &self,
        attempt: impl Fn(usize) -> anyhow::Result<T> + Sync,
    ) -> anyhow::Result<Vec<T>> {
        let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || -> anyhow::Result<()> {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= self.count {
                    return Ok(());
                }
                let result = attempt(n).inspect_err(|_| next.store(self.count, Ordering::Relaxed));
                let mut results = results.lock().map_err(|_| anyhow!("a worker panicked"))?;
                results.push(result?);
                if results.len().is_multiple_of(self.report_every) {
                    eprintln!("faults: {}: {} of {}", self.name, results.len(), self.count);
                }
            }
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..self.workers).map(|_| scope.spawn(work)).collect();
            workers
                .into_iter()
                .try_for_each(|worker| worker.join().map_err(|_| anyhow!("a worker panicked"))?)
        })?;
        results.into_inner().map_err(|_| anyhow!("a worker panicked"))
    }
}

#[cfg(test)]
mod tests {
    use super::Workload;

    #[test]
    fn runs_every_attempt_once_and_returns_errors() -> anyhow::Result<()> {
        let work = Workload { name: "test", count: 50, workers: 4, report_every: 1_000 };
        let mut numbers = work.run(Ok)?;
        numbers.sort_unstable();
        assert_eq!(numbers, (0..50).collect::<Vec<_>>());
        let fails = |n| if n == 7 { anyhow::bail!("seven") } else { Ok(n) };
        assert!(work.run(fails).is_err());
        Ok(())
    }
}
