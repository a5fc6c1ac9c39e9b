//! The functions that the engine's own script is given. Values cross as JSON text, so that
//! nothing of the engine outlives its lock.

use std::sync::Arc;
use std::time::Duration;

use gambrel_model::lossy_json;
use rquickjs::{ArrayBuffer, Ctx, Exception, Function, Object, Promise, Result};
use serde_json::Value;

use crate::compiled;
use crate::desk::Desk;
use crate::ops::{self, bytes};
use crate::shims::{self, Kind};

/// The natives as one object.
pub fn natives<'js>(ctx: &Ctx<'js>, desk: &Arc<Desk>) -> Result<Object<'js>> {
    let made = Object::new(ctx.clone())?;
    let at = Arc::clone(desk);
    made.set(
        "op",
        Function::new(ctx.clone(), move |name: String, args: String| {
            ops::said(ops::call(&at, &name, parse(&args))).to_string()
        })?,
    )?;
    let at = Arc::clone(desk);
    made.set(
        "start",
        Function::new(ctx.clone(), move |name: String, args: String| {
            ops::start(&at, &name, parse(&args))
        })?,
    )?;
    let at = Arc::clone(desk);
    made.set(
        "send",
        Function::new(ctx.clone(), move |id: u32, value: String| {
            ops::said(at.send(id, parse(&value))).to_string()
        })?,
    )?;
    let at = Arc::clone(desk);
    made.set("close", Function::new(ctx.clone(), move |id: u32| at.close(id))?)?;
    let at = Arc::clone(desk);
    made.set(
        "timer",
        Function::new(ctx.clone(), move |pause: f64| {
            at.timer(Duration::try_from_secs_f64(pause / 1000.0).unwrap_or_default())
        })?,
    )?;
    let at = Arc::clone(desk);
    made.set("lap", Function::new(ctx.clone(), move || at.lap())?)?;
    let at = Arc::clone(desk);
    made.set("effect", Function::new(ctx.clone(), move |text: String| at.effect(&text))?)?;
    let at = Arc::clone(desk);
    made.set("settle", Function::new(ctx.clone(), move |text: String| at.settle(text))?)?;
    let at = Arc::clone(desk);
    made.set(
        "ask",
        Function::new(ctx.clone(), move |text: String| {
            at.ask(lossy_json::from_text(&text).unwrap_or_default())
        })?,
    )?;
    made.set("shim", Function::new(ctx.clone(), shim)?)?;
    made.set("shimFor", Function::new(ctx.clone(), shim_for)?)?;
    made.set("bytesOf", Function::new(ctx.clone(), bytes_of)?)?;
    made.set("recode", Function::new(ctx.clone(), recode)?)?;
    made.set("peek", Function::new(ctx.clone(), peek)?)?;
    Ok(made)
}

fn parse(text: &str) -> Value {
    lossy_json::from_text(text).unwrap_or_default()
}

/// What a promise has come to, thrown if it was refused; the promise itself while it is open.
fn peek(promise: Promise<'_>) -> Result<rquickjs::Value<'_>> {
    promise.result().unwrap_or_else(|| Ok(promise.clone().into_value()))
}

/// The bytes of a text, in memory of the engine: what a module holds is counted.
fn bytes_of<'js>(ctx: Ctx<'js>, text: String, encoding: String) -> Result<ArrayBuffer<'js>> {
    match bytes::decoded(&text, &encoding) {
        Some(made) => ArrayBuffer::new_copy(ctx, made),
        None => Err(Exception::throw_type(&ctx, &format!("Unknown encoding: {encoding}"))),
    }
}

fn recode(ctx: Ctx<'_>, text: String, from: String, to: String) -> Result<String> {
    let wrong = || Exception::throw_type(&ctx, &format!("The bytes are no {to}"));
    bytes::recode(&text, &from, &to).ok_or_else(wrong)
}

/// The shim that a name given to `require` stands for.
fn shim_for(name: String) -> Option<&'static str> {
    match shims::kind(&name) {
        Kind::Builtin(shim) => Some(shim),
        Kind::Host => Some("host"),
        Kind::Foreign => None,
    }
}

/// A shim's body as a function, or nothing.
fn shim<'js>(ctx: Ctx<'js>, name: String) -> Result<Option<Function<'js>>> {
    compiled::function(&ctx, &name)
}
