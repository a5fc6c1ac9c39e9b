//! The types of gambrel, their algebra, the condition and template languages, and the traits
//! `Dialect`, `Action` and `Ledger`. No I/O, no async, and no native name of any dialect.

#[cfg(not(target_os = "linux"))]
compile_error!("gambrel is for Linux: it supervises hooks with Linux system calls");

pub mod action;
pub mod call;
pub mod carry;
pub mod complaint;
pub mod condition;
pub mod decision;
pub mod dialect;
pub mod event;
pub mod glob;
pub mod hook;
pub mod ledger;
pub mod matcher;
pub mod moment;
pub mod outcome;
pub mod parting;
pub mod pattern;
pub mod place;
pub mod request;
pub mod said;
pub mod shell_bound;
pub mod spec;
pub mod template;
pub mod ticket;
pub mod tool;
pub mod verdict;
pub mod watched;
pub mod wellformed;

pub use action::{Action, Job};
pub use call::{Call, Pace, Program, Seal, Shell, SideFile};
pub use carry::{Carry, Last};
pub use complaint::{Complaint, Quoted, Severity, Spot};
pub use decision::{Decision, Reply, Step};
pub use dialect::Dialect;
pub use event::{Arrival, Event, Facts, Task, Team};
pub use hook::{Draft, Hook, Scope, Source, Terms};
pub use ledger::{Claim, Debt, Ledger, LedgerError, Record, SessionState, Stage, TrustEntry};
pub use matcher::{Matcher, MatcherText};
pub use moment::{Kind, Moment};
pub use outcome::{Captured, End, Outcome};
pub use parting::{Parted, Parting};
pub use pattern::Pattern;
pub use place::{Entry, Found, Holding, Place, Roots};
pub use request::{Ask, Fetch, Fetched, Look, Request, Spawn, ToolRequest};
pub use said::{Loss, Said};
pub use spec::{EventSpec, Order, PatchRule, Powers, Subject};
pub use ticket::{Answer, Opened, Standing, Taken, Ticket};
pub use tool::{Tool, ToolKind, ToolResult, ToolWord};
pub use verdict::{Duty, Ear, Patch, Reason, Ruling, Say, Slot, Verdict, put_on};
pub use watched::{FileIdentity, VerifiedCopies, VerifiedCopy, WatchedFile, WatchedFiles};
