//! One module in one engine: made, limited, loaded, called. It runs on the thread of whoever
//! calls and belongs to nobody in between.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use gambrel_model::lossy_json;
use rquickjs::{Context, Ctx, Function, Module, Object, Promise, Runtime};
use serde_json::Value;

use crate::clock::Clock;
use crate::compiled;
use crate::desk::{Desk, Post};
use crate::graph::Graph;
use crate::loader::{HIDDEN, Shelf};
use crate::natives;
use crate::plain;
use crate::settings::ScriptSettings;
use crate::shims;
use crate::turn::{self, Halt};

/// What an event may take for each of its bytes: text of two bytes a letter, parsed, copied, worked
/// over and written again, some of it at once.
const PER_BYTE: usize = 24;
/// Events below this fit into what every module has.
const LIGHT: usize = 256 << 10;

/// A loaded module.
pub struct Engine {
    context: Context,
    /// What it may take of memory at the moment.
    memory: Cell<usize>,
    posts: Receiver<Post>,
    /// What the module's natives share with us.
    pub desk: Arc<Desk>,
}

/// What a call came to.
pub enum Told {
    /// The report of all handlers, as JSON.
    Report(String),
    /// The same without a handler that did not come back: the engine is not to be used again.
    Rest(String),
    /// The result of the only handler there was.
    Result(Value),
}

/// One call of the engine's own script.
pub enum Said<'a> {
    /// An event for its handlers: the event and the terms, as JSON, and whether one that fails
    /// costs the others nothing.
    Emit(&'a str, &'a str, bool),
    /// A command: name, arguments, and the terms as JSON.
    Command(&'a str, &'a str, &'a str),
}

impl Said<'_> {
    fn weight(&self) -> usize {
        match self {
            Self::Emit(event, terms, _) => event.len().saturating_add(terms.len()),
            Self::Command(_, args, terms) => args.len().saturating_add(terms.len()),
        }
    }
}

impl Engine {
    /// Makes an engine without a module in it.
    pub fn new(
        root: &Path,
        graph: &Arc<Graph>,
        settings: &ScriptSettings,
    ) -> rquickjs::Result<Self> {
        let runtime = Runtime::new()?;
        runtime.set_memory_limit(settings.memory);
        runtime.set_max_stack_size(settings.stack);
        let (desk, posts) = Desk::new(root.to_path_buf(), settings.clone());
        let watched = desk.wire.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || watched.reached())));
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            |ctx, promise, reason, handled| {
                let told = hidden(&ctx)
                    .and_then(|hidden| hidden.get::<_, Function<'_>>("rejected"))
                    .and_then(|rejected| rejected.call::<_, ()>((promise, reason, handled)));
                if told.is_err() {
                    ctx.catch();
                }
            },
        )));
        let shelf = Shelf::new(Arc::clone(graph));
        runtime.set_loader(shelf.clone(), shelf);
        let context = Context::full(&runtime)?;
        let desk = Arc::new(desk);
        context.with(|ctx| furnish(&ctx, &desk))?;
        Ok(Self { context, memory: Cell::new(settings.memory), posts, desk })
    }

    /// What the module must have of one of Node's modules and ours does not have, if anything.
    pub fn lacks(&self, graph: &Graph) -> Option<String> {
        let (specifier, name) = self.first_missing(&graph.named, |_, _| false)?;
        Some(format!(
            "The requested module '{specifier}' does not provide an export named '{name}'"
        ))
    }

    /// Whether the module may miss something of one of Node's modules when it gets that far.
    pub fn may_lack(&self, graph: &Graph) -> bool {
        let missing = |wanted| self.first_missing(wanted, shims::hollow).is_some();
        missing(&graph.members) || missing(&graph.named)
    }

    /// The first of these that ours do not have; `but` says which count as missing all the same.
    fn first_missing<'g>(
        &self,
        wanted: &'g BTreeSet<(String, String)>,
        but: impl Fn(&str, &str) -> bool,
    ) -> Option<&'g (String, String)> {
        let offered = wanted.iter().filter_map(|one| {
            let bare = shims::builtin(&one.0).filter(|_| one.1 != "default")?;
            Some((bare, one))
        });
        let mut offered = offered.peekable();
        offered.peek()?;
        let missing = self.context.with(|ctx| {
            let need: Function<'_> = hidden(&ctx)?.get("need")?;
            let has =
                |bare: &str, name: &str| need.call::<_, Object<'_>>((bare,))?.contains_key(name);
            for (bare, one) in offered {
                if but(bare, &one.1) || !has(bare, &one.1)? {
                    return Ok(Some(one));
                }
            }
            Ok::<_, rquickjs::Error>(None)
        });
        // What fails here fails again where the module is loaded, and is told there.
        missing.ok()?
    }

    /// Starts a clock that can interrupt this engine.
    pub fn clock(&self, pace: &gambrel_model::Limits) -> Clock {
        Clock::paced(pace, self.desk.wire.clone())
    }

    /// Imports the module and runs its factory; what the script reports of it.
    pub fn load(&self, root: &Path, clock: &mut Clock) -> Result<String, Halt> {
        let name = root.display().to_string();
        self.context.with(|ctx| {
            clock.run(|_| begin_load(&ctx, &name)).map_err(|e| self.halt(&ctx, e))?;
            turn::drive(&ctx, &self.desk, &self.posts, clock)
        })
    }

    /// Calls the module and waits for what its handlers say.
    pub fn call(&self, said: &Said<'_>, clock: &mut Clock) -> Result<Told, Halt> {
        self.make_room(said);
        self.context.with(|ctx| {
            turn::catch_up(&ctx, &self.desk, &self.posts, clock)?;
            let told = clock.run(|wire| {
                let told = begin_call(&ctx, said).map_err(|e| self.halt(&ctx, e))?;
                told.map(|told| turn::finish(&ctx, wire).map(|()| told)).transpose()
            });
            let driven = |clock: &mut Clock| turn::drive(&ctx, &self.desk, &self.posts, clock);
            let mut told = match told {
                Ok(Some(told)) => return Ok(told),
                Ok(None) => driven(clock).map(Told::Report),
                Err(halt) => Err(halt),
            };
            let forgives = matches!(said, Said::Emit(_, _, true));
            while let Err(halt) = &told
                && forgives
                && let Some(goes_on) = self.give_up(&ctx, halt, clock)
            {
                told = goes_on.and_then(|()| driven(clock)).map(Told::Rest);
            }
            told
        })
    }

    /// Lets a call go on without the handler that does not come back, if it can; the next one, whose
    /// turn it is then, may not come back either.
    fn give_up(&self, ctx: &Ctx<'_>, halt: &Halt, clock: &mut Clock) -> Option<Result<(), Halt>> {
        let message = match halt {
            Halt::Late(_) => clock.lateness(),
            Halt::Stuck => turn::STUCK.to_owned(),
            Halt::Broken { .. } => return None,
        };
        let here = clock.another()?;
        ctx.catch();
        self.desk.let_be();
        let goes_on = clock.run(|_| {
            hidden(ctx)?.get::<_, Function<'_>>("giveUp")?.call::<_, bool>((message, here))
        });
        match goes_on {
            Ok(goes_on) => goes_on.then_some(Ok(())),
            Err(error) => Some(Err(self.halt(ctx, error))),
        }
    }

    /// A large event must not be what a module fails of.
    fn make_room(&self, said: &Said<'_>) {
        let heavy = Some(said.weight()).filter(|weight| *weight > LIGHT).unwrap_or_default();
        let memory = self.desk.settings.memory.saturating_add(heavy.saturating_mul(PER_BYTE));
        if self.memory.replace(memory) != memory {
            self.context.runtime().set_memory_limit(memory);
        }
    }

    /// What the module has registered, as JSON.
    pub fn listed(&self) -> Option<Value> {
        let text: String = self
            .context
            .with(|ctx| hidden(&ctx)?.get::<_, Function<'_>>("listed")?.call(()))
            .ok()?;
        lossy_json::from_text(&text).ok()
    }

    fn halt(&self, ctx: &Ctx<'_>, error: rquickjs::Error) -> Halt {
        if self.desk.wire.tripped() {
            return Halt::interrupted();
        }
        Halt::from_error(ctx, &error)
    }
}

fn furnish(ctx: &Ctx<'_>, desk: &Arc<Desk>) -> rquickjs::Result<()> {
    let natives = natives::natives(ctx, desk)?;
    let made = compiled::own(ctx, "engine")?;
    let (api, contexts) = (compiled::own(ctx, "api")?, compiled::own(ctx, "context")?);
    let path = desk.module.display().to_string();
    let hidden: Object<'_> =
        made.call((natives, path, desk.settings.ask.is_some(), api, contexts))?;
    // Kept where no name has to be looked up: it is called for every event.
    let _ = ctx.store_userdata(hidden.get::<_, Function<'_>>("emit")?);
    let property = rquickjs::object::Property::from(hidden);
    ctx.globals().prop(HIDDEN, property)
}

fn hidden<'js>(ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
    ctx.globals().get(HIDDEN)
}

fn begin_load(ctx: &Ctx<'_>, name: &str) -> rquickjs::Result<()> {
    let promise: Promise<'_> = Module::import(ctx, name)?;
    let hidden = hidden(ctx)?;
    let load: Function<'_> = hidden.get("load")?;
    hidden.get::<_, Function<'_>>("imported")?.call((promise, load))
}

/// What the script told at once, if it did.
fn begin_call(ctx: &Ctx<'_>, said: &Said<'_>) -> rquickjs::Result<Option<Told>> {
    match said {
        Said::Emit(event, terms, _) => {
            let kept = ctx.userdata::<Function<'_>>().map(|emit| emit.clone());
            let emit = kept.map_or_else(|| hidden(ctx)?.get("emit"), Ok)?;
            told(ctx, emit.call((*event, *terms))?)
        }
        Said::Command(name, args, terms) => {
            let command: Function<'_> = hidden(ctx)?.get("command")?;
            command.call::<_, ()>((*name, *args, *terms)).map(|()| None)
        }
    }
}

fn told<'js>(ctx: &Ctx<'js>, value: rquickjs::Value<'js>) -> rquickjs::Result<Option<Told>> {
    if let Some(report) = value.as_string() {
        return report.to_string().map(Told::Report).map(Some);
    }
    let Some(object) = value.as_object() else { return Ok(None) };
    if let Some(result) = plain::read(object) {
        return Ok(Some(Told::Result(result)));
    }
    let lone: Function<'_> = hidden(ctx)?.get("lone")?;
    lone.call((object.clone(),)).map(Told::Report).map(Some)
}
