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
}

/// What to do with a module.
#[derive(Debug)]
pub enum Wish<'a> {
    /// Load it, and tell what it has registered.
    Load,
    /// Run one of its commands: its name, and what was typed after it.
    Command(&'a str, &'a str),
    /// Call its handlers for an event.
    Emit(&'a Value, Terms<'a>),
}

/// How handlers are called.
#[derive(Debug, Serialize)]
pub struct Terms<'a> {
    /// What handlers see as `ctx`.
    ctx: &'a Value,
    /// The field of a result that ends the round.
    stop: Option<&'a str>,
    /// The field of a result that goes into the next handler's event.
    chain: Option<&'a str>,
    /// Whether each handler gets an event of its own.
    fresh: bool,
    /// Whether the next handler runs after one has failed.
    catch: bool,
    /// Whether what handlers did to the event itself is told.
    changes: bool,
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
        Ok(Self { path, wish, ctx })
    }

    /// The event's name, if there is one.
    pub fn event(&self) -> Option<&'a str> {
        match &self.wish {
            Wish::Emit(event, _) => event["type"].as_str(),
            _ => None,
        }
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

fn terms<'a>(field: impl Fn(&str) -> &'a Value, ctx: &'a Value) -> Terms<'a> {
    Terms {
        ctx,
        stop: field("stop").as_str(),
        chain: field("chain").as_str(),
        fresh: field("fresh") == true,
        catch: field("catch") == true,
        changes: field("changes") == true,
    }
}
