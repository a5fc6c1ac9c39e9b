//! The host functions that the engine's script receives from Rust. Values cross as JSON text, so
//! that no engine value outlives the engine's lock.

use std::sync::Arc;
use std::time::Duration;

use gambrel_model::lossy_json;
use rquickjs::prelude::Func;
use rquickjs::{ArrayBuffer, Ctx, Exception, Function, Object, Promise, Result};
use serde::de::DeserializeOwned;

use super::builtin_lookup::{self, BuiltinKind};
use super::host::{self, bytes};
use crate::runtime::{HostState, compiled};

/// The host functions as one object.
pub fn create_functions<'js>(ctx: &Ctx<'js>, state: &Arc<HostState>) -> Result<Object<'js>> {
    let functions = Object::new(ctx.clone())?;
    let shared = Arc::clone(state);
    let call = move |name: String, args: String| {
        host::result_to_json(host::call_function(&shared, &name, parse_json(&args))).to_string()
    };
    functions.set("op", Func::from(call))?;
    let shared = Arc::clone(state);
    let start =
        move |name: String, args: String| host::start_function(&shared, &name, parse_json(&args));
    functions.set("start", Func::from(start))?;
    let shared = Arc::clone(state);
    let send = move |id: u32, value: String| {
        host::result_to_json(shared.send_message(id, parse_json(&value))).to_string()
    };
    functions.set("send", Func::from(send))?;
    let shared = Arc::clone(state);
    functions.set("close", Func::from(move |id: u32| shared.close_operation(id)))?;
    let shared = Arc::clone(state);
    let start_timer = move |pause: f64| {
        shared.start_timer(Duration::try_from_secs_f64(pause / 1000.0).unwrap_or_default())
    };
    functions.set("timer", Func::from(start_timer))?;
    let shared = Arc::clone(state);
    functions.set("lap", Func::from(move || shared.mark_handler_start()))?;
    let shared = Arc::clone(state);
    functions.set("effect", Func::from(move |text: String| shared.add_effect(&text)))?;
    let shared = Arc::clone(state);
    functions.set("settle", Func::from(move |text: String| shared.finish_call(text)))?;
    let shared = Arc::clone(state);
    functions.set("ask", Func::from(move |text: String| shared.ask_user(parse_json(&text))))?;
    functions.set("shim", Func::from(load_shim))?;
    functions.set("shimFor", Func::from(shim_for))?;
    functions.set("bytesOf", Func::from(bytes_of))?;
    functions.set("recode", Func::from(recode_text))?;
    functions.set("peek", Func::from(peek_promise))?;
    Ok(functions)
}

fn parse_json<T: DeserializeOwned + Default>(text: &str) -> T {
    lossy_json::from_text(text).unwrap_or_default()
}

/// The value of a promise; throws if it was rejected. Returns a pending promise itself.
fn peek_promise(promise: Promise<'_>) -> Result<rquickjs::Value<'_>> {
    promise.result().unwrap_or_else(|| Ok(promise.clone().into_value()))
}

/// The bytes of a text. The buffer counts against the engine's memory limit.
fn bytes_of<'js>(ctx: Ctx<'js>, text: String, encoding: String) -> Result<ArrayBuffer<'js>> {
    match bytes::decode_text(&text, &encoding) {
        Some(made) => ArrayBuffer::new_copy(ctx, made),
        None => Err(Exception::throw_type(&ctx, &format!("Unknown encoding: {encoding}"))),
    }
}

fn recode_text(ctx: Ctx<'_>, text: String, from: String, to: String) -> Result<String> {
    let wrong = || Exception::throw_type(&ctx, &format!("The bytes are not valid {to}"));
    bytes::recode_text(&text, &from, &to).ok_or_else(wrong)
}

/// The shim for a name passed to `require`.
fn shim_for(name: String) -> Option<&'static str> {
    match builtin_lookup::classify_specifier(&name) {
        BuiltinKind::Builtin(shim) => Some(shim),
        BuiltinKind::Host => Some("host"),
        BuiltinKind::Foreign => None,
    }
}

/// A shim's body as a function; `None` if there is no such shim.
fn load_shim<'js>(ctx: Ctx<'js>, name: String) -> Result<Option<Function<'js>>> {
    compiled::load_function(&ctx, &name)
}
