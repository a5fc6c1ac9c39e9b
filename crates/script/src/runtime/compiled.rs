//! gambrel's own JavaScript as bytecode. `build.rs` compiled it, so no engine parses it.

use rquickjs::{Ctx, Error, Function, Module, Result};

/// Name and bytecode of each text, as `build.rs` wrote them.
const COMPILED: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/compiled.in"));

/// Loads the function with this name; `None` if there is no such text.
pub fn load_function<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Option<Function<'js>>> {
    let Some((_, code)) = COMPILED.iter().find(|(known, _)| *known == name) else {
        return Ok(None);
    };

    #[expect(unsafe_code, reason = "the engine loads bytecode unchecked")]
    // SAFETY: `build.rs` wrote the bytecode with the same engine version, and it is constant.
    let module = unsafe { Module::load(ctx.clone(), code) }?;

    module.eval()?.0.get("default").map(Some)
}

/// Loads a function that must exist.
pub fn require_function<'js>(ctx: &Ctx<'js>, name: &'static str) -> Result<Function<'js>> {
    load_function(ctx, name)?.ok_or(Error::Unknown)
}
