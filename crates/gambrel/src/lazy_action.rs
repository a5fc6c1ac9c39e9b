//! An action that is built at its first run. Most firings use none of the large ones.

use std::sync::{Arc, OnceLock};

use gambrel_model::{Action, Job, Outcome};

/// An action, or what builds it.
pub struct LazyAction<P> {
    name: &'static str,
    parts: Arc<P>,
    build: fn(&P) -> Box<dyn Action>,
    built: OnceLock<Box<dyn Action>>,
}

impl<P> LazyAction<P> {
    /// The action of this name, which `build` makes of its parts.
    pub fn new(name: &'static str, parts: &Arc<P>, build: fn(&P) -> Box<dyn Action>) -> Self {
        Self { name, parts: Arc::clone(parts), build, built: OnceLock::new() }
    }
}

impl<P: Send + Sync> Action for LazyAction<P> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        self.built.get_or_init(|| (self.build)(&self.parts)).run(jobs)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use gambrel_model::{Action, End, Job, Outcome};

    use super::LazyAction;

    struct CountingAction;

    impl Action for CountingAction {
        fn name(&self) -> &'static str {
            "counting"
        }

        fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
            jobs.iter().map(|_| Outcome::from_end(End::Exited(0))).collect()
        }
    }

    #[test]
    fn is_built_once_and_only_when_it_runs() {
        let builds = Arc::new(AtomicUsize::new(0));
        let lazy = LazyAction::new("counting", &builds, |builds| {
            builds.fetch_add(1, Ordering::Relaxed);
            Box::new(CountingAction)
        });
        assert_eq!((lazy.name(), builds.load(Ordering::Relaxed)), ("counting", 0));
        lazy.run(&[]);
        lazy.run(&[]);
        assert_eq!(builds.load(Ordering::Relaxed), 1);
    }
}
