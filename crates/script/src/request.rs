//! The request of a `module` call, borrowed from the call's body.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

/// One request to one module.
#[derive(Debug)]
pub struct ModuleRequest<'a> {
    /// The module's file.
    pub path: &'a Path,
    /// The operation.
    pub operation: HostOperation<'a>,
    /// Passed to handlers as `ctx`.
    pub ctx: &'a Value,
    reachable: &'a Value,
    /// Result keys that the caller reads.
    keys: &'a Value,
}

/// An operation on a module.
#[derive(Debug)]
pub enum HostOperation<'a> {
    /// Reads the module and its imports, and runs nothing.
    Read,
    /// Loads the module and reports what it registered.
    Load,
    /// Runs a command: name and arguments.
    Command(&'a str, &'a str),
    /// Calls the handlers of an event.
    Emit(&'a Value, ModulePolicy<'a>),
}

/// The result keys that the caller reads.
#[derive(Debug)]
pub struct KnownKeys<'a> {
    /// The names.
    pub names: Vec<&'a str>,
    /// Whether other keys are passed on. Then only a misspelt key is a mistake.
    pub open: bool,
}

/// How handlers are called.
#[derive(Debug, Serialize)]
pub struct ModulePolicy<'a> {
    /// Passed to handlers as `ctx`.
    ctx: &'a Value,
    /// Which result ends the round: `true` for any truthy one, a truthy field, or values.
    stop: &'a Value,
    /// By result field: how it enters the next handler's event (`true`, `given`, `list`).
    chain: &'a Value,
    /// Whether each handler gets its own event: `true`, or `"shell"` for a shallow copy.
    fresh: &'a Value,
    /// Whether the next handler runs after one failed.
    catch: bool,
    /// Whether changes to the event itself are reported.
    changes: bool,
    /// Whether handlers run concurrently.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    together: bool,
    /// Whether a result that ends the round also cancels the events that follow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    closes: bool,
    /// Events that follow in the same call, each with its own policy.
    #[serde(skip_serializing_if = "Value::is_null")]
    then: &'a Value,
}

/// Why the body of a call is no request to a module.
#[derive(Debug, thiserror::Error)]
pub enum ModuleRequestError {
    /// It names no file.
    #[error("the module call has no path")]
    NoPath,
    /// Its file depends on the working directory.
    #[error("the module path `{}` is not absolute", .0.display())]
    RelativePath(PathBuf),
    /// It names no command to run.
    #[error("the module call has no command name")]
    NoCommand,
    /// Its event has no name.
    #[error("the event of the module call has no type")]
    NoEventType,
    /// No such operation.
    #[error("unknown module operation `{0}`")]
    UnknownOperation(String),
}

impl<'a> ModuleRequest<'a> {
    /// Parses a call's body.
    pub fn parse(body: &'a Value) -> Result<Self, ModuleRequestError> {
        // The body has few short keys: a linear search costs less than hashing.
        let field = |name: &str| body.as_object()?.iter().find(|(key, _)| *key == name);
        let field = |name: &str| field(name).map_or(&Value::Null, |(_, value)| value);
        let text = |name: &str| field(name).as_str();

        let path = Path::new(text("path").ok_or(ModuleRequestError::NoPath)?);
        if !path.is_absolute() {
            return Err(ModuleRequestError::RelativePath(path.to_path_buf()));
        }

        let ctx = field("ctx");
        let operation = match text("op") {
            Some("read") => HostOperation::Read,
            Some("load" | "commands") => HostOperation::Load,
            Some("command") => {
                let name = text("name").ok_or(ModuleRequestError::NoCommand)?;
                HostOperation::Command(name, text("args").unwrap_or_default())
            }
            Some("emit") => {
                let event = field("event");
                if !event["type"].is_string() {
                    return Err(ModuleRequestError::NoEventType);
                }
                HostOperation::Emit(event, build_policy(field, ctx))
            }
            other => {
                let word = other.unwrap_or_default().to_owned();
                return Err(ModuleRequestError::UnknownOperation(word));
            }
        };

        Ok(Self { path, operation, ctx, reachable: field("reachable"), keys: field("keys") })
    }

    /// Whether the other handlers run after one failed.
    pub fn catches_errors(&self) -> bool {
        matches!(&self.operation, HostOperation::Emit(_, terms) if terms.catch)
    }

    /// Private hosts and addresses that the module's requests may reach.
    pub fn reachable(&self) -> Vec<String> {
        let list = self.reachable.as_array().into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// The event's name, if there is one.
    pub fn event(&self) -> Option<&'a str> {
        match &self.operation {
            HostOperation::Emit(event, _) => event["type"].as_str(),
            _ => None,
        }
    }

    /// The names of all events of the call.
    pub fn events(&self) -> impl Iterator<Item = &'a str> {
        let then = self.later_rounds().filter_map(|next| next["event"]["type"].as_str());
        self.event().into_iter().chain(then)
    }

    /// For each event of the call, in order: the result keys that the caller reads, if it lists
    /// them.
    pub fn known_keys(&self) -> impl Iterator<Item = Option<KnownKeys<'a>>> {
        let then = self.later_rounds().map(|next| &next["keys"]);
        std::iter::once(self.keys).chain(then).map(KnownKeys::parse)
    }

    /// The rounds that follow the first one.
    fn later_rounds(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        let then = match &self.operation {
            HostOperation::Emit(_, terms) => terms.then.as_array(),
            _ => None,
        };
        then.into_iter().flatten()
    }

    /// The policy of the call as JSON, for the engine's script.
    pub fn policy_json(&self) -> String {
        let default_policy;
        let policy = match &self.operation {
            HostOperation::Emit(_, terms) => terms,
            _ => {
                default_policy = build_policy(|_| &Value::Null, self.ctx);
                &default_policy
            }
        };
        // Serialization cannot fail; an empty object would be the safe default.
        serde_json::to_string(policy).unwrap_or_else(|_| "{}".into())
    }
}

impl<'a> KnownKeys<'a> {
    fn parse(keys: &'a Value) -> Option<Self> {
        let names = keys["names"].as_array()?.iter().filter_map(Value::as_str).collect();
        Some(Self { names, open: keys["open"] == true })
    }
}

fn build_policy<'a>(field: impl Fn(&str) -> &'a Value, ctx: &'a Value) -> ModulePolicy<'a> {
    ModulePolicy {
        ctx,
        stop: field("stop"),
        chain: field("chain"),
        fresh: field("fresh"),
        catch: field("catch") == true,
        changes: field("changes") == true,
        together: field("together") == true,
        closes: field("closes") == true,
        then: field("then"),
    }
}
