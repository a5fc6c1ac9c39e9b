//! One module in one embedded engine. It runs on the thread of each call.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use gambrel_model::lossy_json;
use rquickjs::{Context, Ctx, Function, Module, Object, Promise, Runtime};
use serde_json::Value;

use super::clock::Clock;
use super::compiled;
use super::event_loop::{self, Interrupted};
use super::flat_json;
use super::host_state::{Completion, HostState};
use super::loader::ModuleCache;
use crate::frontend::Graph;
use crate::frontend::module_text::SCRIPT_GLOBAL;
use crate::node::{builtin_lookup, host_functions};
use crate::settings::ScriptSettings;

/// Memory for each byte of an event. The engine stores two bytes a character and holds several
/// copies at once.
const MEMORY_BYTES_PER_EVENT_BYTE: usize = 24;
/// Events below this size fit into the memory limit of every module.
const SMALL_EVENT_BYTES: usize = 256 << 10;

/// A loaded module.
pub struct ScriptEngine {
    context: Context,
    /// The current memory limit in bytes.
    memory_limit: Cell<usize>,
    completions: Receiver<Completion>,
    /// State shared with the host functions.
    pub state: Arc<HostState>,
}

/// The result of a call.
pub enum CallResult {
    /// The report of all handlers, as JSON.
    Report(String),
    /// A report without an abandoned handler. The engine must not be used again.
    PartialReport(String),
    /// The result of the only handler.
    SingleResult(Value),
}

/// One call of the engine's script.
pub enum Invocation<'a> {
    /// An event: the event and the policy as JSON, and whether the other handlers run after one
    /// failed.
    Emit(&'a str, &'a str, bool),
    /// A command: name, arguments, and the policy as JSON.
    Command(&'a str, &'a str, &'a str),
}

impl Invocation<'_> {
    fn input_bytes(&self) -> usize {
        match self {
            Self::Emit(event, terms, _) => event.len().saturating_add(terms.len()),
            Self::Command(_, args, terms) => args.len().saturating_add(terms.len()),
        }
    }
}

impl ScriptEngine {
    /// Creates an engine without a module.
    pub fn new(
        root: &Path,
        graph: &Arc<Graph>,
        settings: &ScriptSettings,
    ) -> rquickjs::Result<Self> {
        let runtime = Runtime::new()?;
        runtime.set_memory_limit(settings.memory_bytes);
        runtime.set_max_stack_size(settings.stack_bytes);

        let (state, completions) = HostState::new(root.to_path_buf(), settings.clone());
        let tripwire = state.tripwire.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || tripwire.check_deadline())));

        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            |ctx, promise, reason, handled| {
                let reported = script_object(&ctx)
                    .and_then(|script| script.get::<_, Function<'_>>("rejected"))
                    .and_then(|rejected| rejected.call::<_, ()>((promise, reason, handled)));
                if reported.is_err() {
                    ctx.catch();
                }
            },
        )));

        let modules = ModuleCache::new(Arc::clone(graph));
        runtime.set_loader(modules.clone(), modules);
        let context = Context::full(&runtime)?;
        let state = Arc::new(state);
        context.with(|ctx| install_script(&ctx, &state))?;
        Ok(Self { context, memory_limit: Cell::new(settings.memory_bytes), completions, state })
    }

    /// The error for an import that the builtins do not export, if there is one.
    pub fn missing_export(&self, graph: &Graph) -> Option<(String, String)> {
        self.first_missing(&graph.named_exports, |_, _| false).cloned()
    }

    /// Whether the module may use a member that the builtins do not have.
    pub fn may_need_full_host(&self, graph: &Graph) -> bool {
        let missing = |wanted| self.first_missing(wanted, builtin_lookup::is_stub_member).is_some();
        missing(&graph.members) || missing(&graph.named_exports)
    }

    /// The first of these exports that the builtins do not have. `is_stub` marks exports that count
    /// as missing.
    fn first_missing<'g>(
        &self,
        wanted: &'g BTreeSet<(String, String)>,
        is_stub: impl Fn(&str, &str) -> bool,
    ) -> Option<&'g (String, String)> {
        let offered = wanted.iter().filter_map(|one| {
            let bare = builtin_lookup::find_builtin(&one.0).filter(|_| one.1 != "default")?;
            Some((bare, one))
        });

        let mut offered = offered.peekable();
        offered.peek()?;

        let missing = self.context.with(|ctx| {
            let need: Function<'_> = script_object(&ctx)?.get("need")?;
            let has =
                |bare: &str, name: &str| need.call::<_, Object<'_>>((bare,))?.contains_key(name);
            for (bare, one) in offered {
                if is_stub(bare, &one.1) || !has(bare, &one.1)? {
                    return Ok(Some(one));
                }
            }
            Ok::<_, rquickjs::Error>(None)
        });
        // A failure here occurs again when the module loads, and is reported then.
        missing.ok()?
    }

    /// Imports the module and runs its factory. Returns the script's report.
    pub fn load_module(&self, root: &Path, clock: &mut Clock) -> Result<String, Interrupted> {
        let name = root.display().to_string();
        self.context.with(|ctx| {
            clock
                .run_code(|_| begin_load(&ctx, &name))
                .map_err(|e| self.to_interrupted(&ctx, e))?;
            event_loop::run_until_result(&ctx, &self.state, &self.completions, clock)
        })
    }

    /// Calls the module and waits for its handlers.
    pub fn invoke_module(
        &self,
        invocation: &Invocation<'_>,
        clock: &mut Clock,
    ) -> Result<CallResult, Interrupted> {
        self.adjust_memory_limit(invocation);
        self.context.with(|ctx| {
            event_loop::catch_up(&ctx, &self.state, &self.completions, clock)?;
            let result = clock.run_code(|wire| {
                let result =
                    begin_call(&ctx, invocation).map_err(|e| self.to_interrupted(&ctx, e))?;
                result
                    .map(|result| event_loop::run_remaining_jobs(&ctx, wire).map(|()| result))
                    .transpose()
            });

            let run_loop = |clock: &mut Clock| {
                event_loop::run_until_result(&ctx, &self.state, &self.completions, clock)
            };
            let mut result = match result {
                Ok(Some(result)) => return Ok(result),
                Ok(None) => run_loop(clock).map(CallResult::Report),
                Err(interrupted) => Err(interrupted),
            };

            let catches_errors = matches!(invocation, Invocation::Emit(_, _, true));
            while let Err(interrupted) = &result
                && catches_errors
                && let Some(continued) = self.abandon_handler(&ctx, interrupted, clock)
            {
                result = continued.and_then(|()| run_loop(clock)).map(CallResult::PartialReport);
            }
            result
        })
    }

    /// Continues a call without the handler that hangs, if possible. `None` if the call must fail.
    fn abandon_handler(
        &self,
        ctx: &Ctx<'_>,
        interrupted: &Interrupted,
        clock: &mut Clock,
    ) -> Option<Result<(), Interrupted>> {
        let message = match interrupted {
            Interrupted::TimedOut(_) => clock.timeout_message(),
            Interrupted::Stuck => event_loop::HANDLER_STUCK.to_owned(),
            Interrupted::EngineError { .. } => return None,
        };

        let ends_here = clock.extend_after_hang()?;
        ctx.catch();
        self.state.abandon_call();
        let continued = clock.run_code(|_| {
            script_object(ctx)?
                .get::<_, Function<'_>>("giveUp")?
                .call::<_, bool>((message, ends_here))
        });

        match continued {
            Ok(continues) => continues.then_some(Ok(())),
            Err(error) => Some(Err(self.to_interrupted(ctx, error))),
        }
    }

    /// Adapts the memory limit to the size of the event.
    fn adjust_memory_limit(&self, invocation: &Invocation<'_>) {
        let large_bytes = Some(invocation.input_bytes())
            .filter(|weight| *weight > SMALL_EVENT_BYTES)
            .unwrap_or_default();
        let memory_limit = self
            .state
            .settings
            .memory_bytes
            .saturating_add(large_bytes.saturating_mul(MEMORY_BYTES_PER_EVENT_BYTE));
        if self.memory_limit.replace(memory_limit) != memory_limit {
            self.context.runtime().set_memory_limit(memory_limit);
        }
    }

    /// The commands and renderers that the module registered, as JSON.
    pub fn list_registrations(&self) -> Option<Value> {
        let text: String = self
            .context
            .with(|ctx| script_object(&ctx)?.get::<_, Function<'_>>("listed")?.call(()))
            .ok()?;
        lossy_json::from_text(&text).ok()
    }

    fn to_interrupted(&self, ctx: &Ctx<'_>, error: rquickjs::Error) -> Interrupted {
        if self.state.tripwire.has_tripped() {
            return Interrupted::at_deadline();
        }
        Interrupted::from_error(ctx, &error)
    }
}

fn install_script(ctx: &Ctx<'_>, state: &Arc<HostState>) -> rquickjs::Result<()> {
    let functions = host_functions::create_functions(ctx, state)?;
    let create_script = compiled::require_function(ctx, "engine")?;

    let (api, context) =
        (compiled::require_function(ctx, "api")?, compiled::require_function(ctx, "context")?);
    let path = state.module.display().to_string();
    let script: Object<'_> =
        create_script.call((functions, path, state.settings.ask.is_some(), api, context))?;

    // Stored outside the globals, because it is called for every event.
    let _ = ctx.store_userdata(script.get::<_, Function<'_>>("emit")?);
    let property = rquickjs::object::Property::from(script);
    ctx.globals().prop(SCRIPT_GLOBAL, property)
}

fn script_object<'js>(ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
    ctx.globals().get(SCRIPT_GLOBAL)
}

fn begin_load(ctx: &Ctx<'_>, name: &str) -> rquickjs::Result<()> {
    let promise: Promise<'_> = Module::import(ctx, name)?;
    let script = script_object(ctx)?;
    let load: Function<'_> = script.get("load")?;
    script.get::<_, Function<'_>>("imported")?.call((promise, load))
}

/// Starts a call. Returns its result if the script has one at once.
fn begin_call(ctx: &Ctx<'_>, invocation: &Invocation<'_>) -> rquickjs::Result<Option<CallResult>> {
    match invocation {
        Invocation::Emit(event, terms, _) => {
            let kept = ctx.userdata::<Function<'_>>().map(|emit| emit.clone());
            let emit = kept.map_or_else(|| script_object(ctx)?.get("emit"), Ok)?;
            engine_result(ctx, emit.call((*event, *terms))?)
        }
        Invocation::Command(name, args, terms) => {
            let command: Function<'_> = script_object(ctx)?.get("command")?;
            command.call::<_, ()>((*name, *args, *terms)).map(|()| None)
        }
    }
}

fn engine_result<'js>(
    ctx: &Ctx<'js>,
    value: rquickjs::Value<'js>,
) -> rquickjs::Result<Option<CallResult>> {
    if let Some(report) = value.as_string() {
        return report.to_string().map(CallResult::Report).map(Some);
    }

    let Some(object) = value.as_object() else { return Ok(None) };
    if let Some(result) = flat_json::read_flat_object(object) {
        return Ok(Some(CallResult::SingleResult(result)));
    }

    let report_single: Function<'_> = script_object(ctx)?.get("lone")?;
    report_single.call((object.clone(),)).map(CallResult::Report).map(Some)
}
