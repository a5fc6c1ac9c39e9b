//! Runs attempts that mostly wait several at once, and prints how far they are.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::anyhow;

/// What is done how often, and by how many at once.
pub struct Workload {
    /// The row, for the progress.
    pub name: &'static str,
    pub count: usize,
    pub workers: usize,
    /// The progress is printed after so many.
    pub report_every: usize,
}

impl Workload {
    /// Runs every attempt by its number; the results are in no order. An error ends all workers.
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
    fn every_number_is_tried_once_and_an_error_is_returned() -> anyhow::Result<()> {
        let work = Workload { name: "test", count: 50, workers: 4, report_every: 1_000 };
        let mut numbers = work.run(Ok)?;
        numbers.sort_unstable();
        assert_eq!(numbers, (0..50).collect::<Vec<_>>());
        let fails = |n| if n == 7 { anyhow::bail!("seven") } else { Ok(n) };
        assert!(work.run(fails).is_err());
        Ok(())
    }
}
