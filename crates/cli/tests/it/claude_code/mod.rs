//! The real Claude Code, from end to end: its released versions run with a scripted model, a fresh
//! home and gambrel installed as a newcomer would, and what reached the model is looked at.

mod model;
mod offline;
mod session;
mod versions;

mod approvals_decide;
mod gates_stay_closed;
mod hooks_reach_the_model;
mod plugin_loads_everywhere;
mod untrusted_hooks_are_reported;
