//! The embedded JavaScript engine behind the `module` action. It takes calls, returns outcomes, and
//! offers modules the API of oh-my-pi. It knows no dialect and no verdict. It does not carry out
//! the effects that a module requests: it reports them.

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
