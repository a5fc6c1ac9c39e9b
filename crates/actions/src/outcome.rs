//! Turns the result of a process into the terms of the model.

use gambrel_model::call::{Call, Limits};
use gambrel_model::outcome::{Captured, CutShort, End};
use gambrel_process::capture::CapturedOutput;
use gambrel_process::deadlines::TimeLimits;
use gambrel_process::process::{CutReason, ProcessEnd};
use gambrel_process::tee::TeeFile;

/// The time limits of a call.
pub(crate) fn time_limits(limits: &Limits) -> TimeLimits {
    let Limits { timeout, leftover_timeout, kill_grace, .. } = *limits;
    TimeLimits { timeout, leftover_timeout, kill_grace }
}

/// The end of a process as the end of a call.
pub(crate) fn end_of(end: ProcessEnd) -> End {
    match end {
        ProcessEnd::Exited(code) => End::Exited(code),
        ProcessEnd::Signalled(number) => End::Signalled(number),
        ProcessEnd::TimedOut => End::TimedOut,
        ProcessEnd::Unobserved => End::EndedUnobserved,
        ProcessEnd::CodeLost(why) => End::FailedToStart(why.to_owned()),
    }
}

/// An output stream.
pub(crate) fn captured(output: CapturedOutput) -> Captured {
    let CapturedOutput { bytes, tail, total, spill, partial } = output;
    Captured { bytes, tail, total, spill, partial }
}

/// Why a process ended before its own timeout.
pub(crate) fn cut_short(reason: CutReason) -> CutShort {
    match reason {
        CutReason::Budget(after) => CutShort::Budget(after),
        CutReason::Interrupted => CutShort::Interrupted,
    }
}

/// Where a call's stdout is copied to.
pub(crate) fn tee_file(call: &Call) -> Option<TeeFile<'_>> {
    let target = call.tee_stdout.as_ref()?;
    Some(TeeFile { path: &target.path, if_taken: target.if_taken.as_deref() })
}
