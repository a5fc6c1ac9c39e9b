//! Our own JavaScript as the build compiled it: loaded into an engine without being parsed.

use rquickjs::{Ctx, Error, Function, Module, Result};

/// By name, as the build wrote them down.
const COMPILED: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/compiled.in"));

/// The function that a text of ours is, or nothing where there is no such text.
pub fn function<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Option<Function<'js>>> {
    let Some((_, code)) = COMPILED.iter().find(|(known, _)| *known == name) else {
        return Ok(None);
    };
    #[expect(unsafe_code, reason = "bytecode is taken as it is")]
    // SAFETY: written by our build, with the very engine that reads it, and constant since.
    let module = unsafe { Module::load(ctx.clone(), code) }?;
    module.eval()?.0.get("default").map(Some)
}

/// The same for a text that must be there.
pub fn own<'js>(ctx: &Ctx<'js>, name: &'static str) -> Result<Function<'js>> {
    function(ctx, name)?.ok_or(Error::Unknown)
}
