//! The embedded JavaScript engine behind the `module` action. It takes calls, returns outcomes, and
//! offers modules the API of oh-my-pi. It knows no dialect and no verdict. It does not carry out
//! the effects that a module requests: it reports them.
//!
//! `frontend/` reads sources before they run: oxc compiles TypeScript, and its source map restores
//! positions. `runtime/` is the engine and the calls: one QuickJS runtime per module; handlers run
//! in numbered rounds, and one that hangs is abandoned while the others still run. `node/` has the
//! host functions and Node's builtins, compiled to bytecode by `build.rs`. `sidecar/` runs modules
//! that need npm packages in bun or node, over lines of JSON, with the same API text.

mod action;
mod frontend;
mod node;
mod request;
mod runtime;
mod settings;
mod sidecar;

pub use action::ModuleAction;
pub use frontend::module_imports;
pub use runtime::TimeBoundModules;
pub use settings::{
    AskFn, FetchFn, FullHost, Heartbeat, Question, QuestionHandle, QuestionKind, ScriptSettings,
};
