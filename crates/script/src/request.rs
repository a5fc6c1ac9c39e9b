//! What a call of the `module` action asks for, read from its body without copying it.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

/// One thing to do with one module.
#[derive(Debug)]
pub struct Request<'a> {
    /// The module's file.
    pub path: &'a Path,
    /// What to do.
    pub wish: Wish<'a>,
    /// What handlers see as `ctx`.
    pub ctx: &'a Value,
    reachable: &'a Value,
    /// Keys of a result that somebody reads.
    keys: &'a Value,
}

/// What to do with a module.
#[derive(Debug)]
pub enum Wish<'a> {
    /// Read it with all that it pulls in, and run nothing of it.
    Read,
    /// Load it, and tell what it has registered.
    Load,
    /// Run one of its commands: its name, and what was typed after it.
    Command(&'a str, &'a str),
    /// Call its handlers for an event.
    Emit(&'a Value, Terms<'a>),
}

/// Which keys of a result somebody reads.
#[derive(Debug)]
pub struct KnownKeys<'a> {
    /// Their names.
    pub names: Vec<&'a str>,
    /// Whether others are handed on, so that only one that looks misspelt is a mistake.
    pub open: bool,
}

/// How handlers are called.
#[derive(Debug, Serialize)]
pub struct Terms<'a> {
    /// What handlers see as `ctx`.
    ctx: &'a Value,
    /// What result ends the round: `true` for any true one, a field that is true, or values.
    stop: &'a Value,
    /// By field of a result: how it goes into the next handler's event (`true`, `given`, `list`).
    chain: &'a Value,
    /// Whether each handler gets an event of its own: `true`, or `"shell"` for a new object around
    /// what is shared.
    fresh: &'a Value,
    /// Whether the next handler runs after one has failed.
    catch: bool,
    /// Whether what handlers did to the event itself is told.
    changes: bool,
    /// Whether handlers do not wait for one another.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    together: bool,
    /// Whether a result that ends the round also keeps the events away that follow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    closes: bool,
    /// Events that follow this one in the same call, each with terms of its own.
    #[serde(skip_serializing_if = "Value::is_null")]
    then: &'a Value,
}

impl<'a> Request<'a> {
    /// Reads a call's body.
    pub fn read(body: &'a Value) -> Result<Self, String> {
        // A few short keys: looking along them costs less than hashing each name.
        let field = |name: &str| body.as_object()?.iter().find(|(key, _)| *key == name);
        let field = |name: &str| field(name).map_or(&Value::Null, |(_, value)| value);
        let word = |name: &str| field(name).as_str();
        let path = Path::new(word("path").ok_or("the call of a module names no path")?);
        if !path.is_absolute() {
            return Err(format!("the module's path is not absolute: {}", path.display()));
        }
        let ctx = field("ctx");
        let wish = match word("op") {
            Some("read") => Wish::Read,
            Some("load" | "commands") => Wish::Load,
            Some("command") => {
                let name = word("name").ok_or("the call names no command")?;
                Wish::Command(name, word("args").unwrap_or_default())
            }
            Some("emit") => {
                let event = field("event");
                if !event["type"].is_string() {
                    return Err("the call's event has no type".into());
                }
                Wish::Emit(event, terms(field, ctx))
            }
            other => return Err(format!("no operation of modules is named {other:?}")),
        };
        Ok(Self { path, wish, ctx, reachable: field("reachable"), keys: field("keys") })
    }

    /// Whether a handler that fails costs the others nothing.
    pub fn forgives(&self) -> bool {
        matches!(&self.wish, Wish::Emit(_, terms) if terms.catch)
    }

    /// Hosts and addresses of the inside that its requests may reach.
    pub fn reachable(&self) -> Vec<String> {
        let list = self.reachable.as_array().into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// The event's name, if there is one.
    pub fn event(&self) -> Option<&'a str> {
        match &self.wish {
            Wish::Emit(event, _) => event["type"].as_str(),
            _ => None,
        }
    }

    /// The names of all its events; none for what is no event.
    pub fn events(&self) -> impl Iterator<Item = &'a str> {
        let then = match &self.wish {
            Wish::Emit(_, terms) => terms.then.as_array(),
            _ => None,
        };
        let then = then.into_iter().flatten().filter_map(|next| next["event"]["type"].as_str());
        self.event().into_iter().chain(then)
    }

    /// For each event of the call, in order: which keys of a result somebody reads, where that is
    /// said.
    pub fn known_keys(&self) -> impl Iterator<Item = Option<KnownKeys<'a>>> {
        let then = match &self.wish {
            Wish::Emit(_, terms) => terms.then.as_array(),
            _ => None,
        };
        let then = then.into_iter().flatten().map(|next| &next["keys"]);
        std::iter::once(self.keys).chain(then).map(KnownKeys::read)
    }

    /// The terms of the call as the engine's script reads them.
    pub fn terms(&self) -> String {
        let bare;
        let terms = match &self.wish {
            Wish::Emit(_, terms) => terms,
            _ => {
                bare = terms(|_| &Value::Null, self.ctx);
                &bare
            }
        };
        // Nothing in it can fail to be written; an empty object is the harmless reading.
        serde_json::to_string(terms).unwrap_or_else(|_| "{}".into())
    }
}

impl<'a> KnownKeys<'a> {
    fn read(keys: &'a Value) -> Option<Self> {
        let names = keys["names"].as_array()?.iter().filter_map(Value::as_str).collect();
        Some(Self { names, open: keys["open"] == true })
    }
}

fn terms<'a>(field: impl Fn(&str) -> &'a Value, ctx: &'a Value) -> Terms<'a> {
    Terms {
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
