//! Tells the program around a firing what happens while it runs: a live view cannot wait for the
//! journal. It changes nothing.

use std::fmt;
use std::sync::Arc;

use gambrel_model::{Decision, Event, Hook};

/// Something that happens in a firing.
#[non_exhaustive]
pub enum FiringProgress<'p> {
    /// These hooks are about to run, at once.
    HooksStarted(&'p Event, &'p [Arc<Hook>]),
    /// They have ended.
    HooksEnded(&'p Event, &'p [Arc<Hook>]),
    /// The firing has its decision.
    Decided(&'p Event, &'p Decision),
}

/// Called for everything that happens in firings, perhaps on several threads.
#[derive(Clone)]
pub struct FiringObserver(Arc<dyn Fn(&FiringProgress<'_>) + Send + Sync>);

impl FiringObserver {
    /// An observer that calls a function.
    pub fn new(observe: impl Fn(&FiringProgress<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    pub(crate) fn report(&self, progress: &FiringProgress<'_>) {
        (self.0)(progress);
    }
}

impl fmt::Debug for FiringObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FiringObserver")
    }
}
