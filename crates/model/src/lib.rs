//! The hall: the nouns of gambrel, their algebra, the condition and template languages, and the
//! three borders (`Dialect`, `Action`, `Ledger`). No I/O, no async, and no word of any dialect.

pub mod action;
pub mod call;
pub mod carry;
pub mod complaint;
pub mod condition;
pub mod decision;
pub mod dialect;
pub mod event;
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
pub mod spec;
pub mod template;
pub mod ticket;
pub mod tool;
pub mod verdict;
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
