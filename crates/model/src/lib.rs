//! The types of gambrel, their algebra, the condition and template languages, and the traits
//! `Caller`, `HookFormat`, `Action`, `Ledger` and `TrustStore`. No I/O, no async, and no native name
//! of any dialect.

#[cfg(not(target_os = "linux"))]
compile_error!("gambrel is for Linux: it supervises hooks with Linux system calls");

pub mod action;
pub mod async_marker;
pub mod call;
pub mod carry;
pub mod complaint;
pub mod condition;
pub mod config_path;
pub mod decision;
pub mod degrade;
pub mod description;
pub mod dialect;
pub mod digest;
pub mod event;
pub mod failure_verdict;
pub mod glob;
pub mod hook;
pub mod json_texts;
pub mod ledger;
pub mod lossy_json;
pub mod matcher;
pub mod moment;
pub mod outcome;
pub mod pass;
pub mod pattern;
pub mod public_url;
pub mod quality_gate;
pub mod question_context;
pub mod request;
mod row_setters;
pub mod shell_bound;
pub mod shell_quotes;
pub mod spec;
pub mod template;
pub mod text;
pub mod ticket;
pub mod timeline;
pub mod tool;
pub mod utc_time;
pub mod verdict;
pub mod watched;

pub use action::{Action, Job};
pub use async_marker::{AsyncMarker, AsyncRequest};
pub use call::{Call, Limits, Program, Shell, SideFile, TrustedFiles, WatchdogStart};
pub use carry::{Carry, CarryUpdate, HookAnswer, PreviousHook};
pub use complaint::{Complaint, Severity, SourceSpan, SpannedText};
pub use config_path::{ConfigPath, DirEntry, Expect, LoadedFile, SearchRoots};
pub use decision::{Decision, Reply, Step};
pub use degrade::{Degraded, Loss};
pub use description::Description;
pub use dialect::{Caller, Dialect, DialectProperties, HookFormat, SessionMemory};
pub use digest::{sha256, to_hex};
pub use event::{CallerContext, Event, Facts, ParsedEvent, ReceivedEvent, TaskFacts, TeamFacts};
pub use failure_verdict::FailureVerdict;
pub use hook::{Disabled, DisabledKind, Draft, Hook, HookPolicy, LoadedDrafts, Scope, Source};
pub use ledger::{
    Claim, FiringPhase, JournalRecord, Ledger, LedgerError, LedgerErrorKind, ProcessOrigin,
    SessionState, TrustEntries, TrustEntry, TrustStore, Undelivered,
};
pub use matcher::{Matcher, MatcherText};
pub use moment::{Moment, MomentKind};
pub use outcome::{Captured, CutShort, End, Outcome};
pub use pass::Pass;
pub use pattern::{Pattern, PatternError};
pub use public_url::{PublicUrl, PublicUrlError};
pub use quality_gate::{FailureAction, FollowupOwner, QualityGatePolicy, QualityGateResult};
pub use question_context::{
    AnswerEffects, FileChange, INPUT_FIELD_PREFIX, MAX_SHOWN_CHARS, QuestionContext,
    TextReplacement,
};
pub use request::{
    ApprovalRequest, FetchRequest, FetchResponse, RegexCheck, SpawnRequestBody, ToolRequest,
    WebhookRequest,
};
pub use spec::{EventSpec, Order, PatchRule, Powers, Subject};
pub use ticket::{Answer, AnswerResult, OpenedTicket, Ticket, TicketState};
pub use timeline::{
    IterationTimeline, RunSummary, RunTimeline, StageTimeline, TimelineHook, TimelineNote,
};
pub use tool::{Tool, ToolKind, ToolResult, ToolWord};
pub use utc_time::{iso_time, parse_iso_time};
pub use verdict::{
    Audience, Message, Patch, Reason, Ruling, SideEffect, Slot, Verdict, merge_patch,
};
pub use watched::{FileIdentity, VerifiedCopies, VerifiedCopy, WatchedFile, WatchedFiles};
