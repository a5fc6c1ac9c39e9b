//! Where a module sits: in the embedded engine, or in a sidecar. The rest of the room does not
//! need to know which.

use std::path::Path;
use std::sync::Arc;

use gambrel_model::lossy_json;
use serde_json::Value;

use crate::clock::Clock;
use crate::desk::{Desk, Surround};
use crate::engine::{Engine, Said, Told};
use crate::graph::{Graph, LoadError};
use crate::settings::ScriptSettings;
use crate::sidecar::{self, Sidecar};
use crate::transpile::Point;
use crate::turn::Halt;

/// A loaded module.
pub enum Seat {
    /// In this process.
    Engine(Engine),
    /// In one of its own.
    Sidecar(Sidecar),
}

/// Why a module did not get a seat.
pub enum Refused {
    /// The module is at fault; what it wanted done until then.
    Bad(LoadError, Vec<Value>),
    /// It did not finish in time; what it wanted done until then.
    Late(String, Vec<Value>),
    /// It waits for what cannot happen; what it wanted done until then.
    Stuck(Vec<Value>),
}

impl Seat {
    /// Gives a module a seat and runs its factory; also starts the clock of the call.
    pub fn take(
        root: &Path,
        graph: &Arc<Graph>,
        settings: &ScriptSettings,
        surround: Surround,
        pace: &gambrel_model::Limits,
    ) -> Result<(Self, Clock), Refused> {
        let refuse = |why: String| Refused::Bad(failed(&why, root, None), Vec::new());
        let seat = Self::make(root, graph, settings, surround).map_err(refuse)?;
        let mut clock = seat.clock(pace);
        let told = match &seat {
            Self::Engine(engine) => engine.load(root, &mut clock),
            Self::Sidecar(sidecar) => sidecar.settle(&mut clock),
        };
        match told {
            Ok(text) => match judge(&text, root, graph) {
                Ok(()) => Ok((seat, clock)),
                Err(error) => Err(Refused::Bad(error, seat.desk().take_effects())),
            },
            Err(Halt::Late(why)) => Err(Refused::Late(why, seat.desk().take_effects())),
            Err(Halt::Stuck) => Err(Refused::Stuck(seat.desk().take_effects())),
            Err(Halt::Broken { message, stack }) => {
                let error = failed(&message, root, graph.place(&stack));
                Err(Refused::Bad(error, seat.desk().take_effects()))
            }
        }
    }

    fn make(
        root: &Path,
        graph: &Arc<Graph>,
        settings: &ScriptSettings,
        surround: Surround,
    ) -> Result<Self, String> {
        let program = sidecar::program(&settings.full_host);
        let sidecar = |program: &Path, surround: Surround| {
            Sidecar::start(program, root, graph, settings, surround)
                .map(Self::Sidecar)
                .map_err(|e| format!("{} does not start: {e}", program.display()))
        };
        match (graph.lacks.as_ref(), graph.may_lack.as_ref(), program) {
            (Some(lack), _, None) => {
                Err(format!("{lack} needs bun or node, and there is none to give it to"))
            }
            (Some(_), _, Some(program)) | (None, Some(_), Some(program)) => {
                sidecar(&program, surround)
            }
            (None, _, program) => {
                let engine = Engine::new(root, graph, settings)
                    .map_err(|error| format!("no engine: {error}"))?;
                match (engine.lacks(graph), program) {
                    (Some(lack), None) => return Err(lack),
                    (Some(_), Some(program)) => return sidecar(&program, surround),
                    (None, Some(program)) if engine.may_lack(graph) => {
                        return sidecar(&program, surround);
                    }
                    (None, _) => engine.desk.place(surround),
                }
                Ok(Self::Engine(engine))
            }
        }
    }

    /// What the module's natives share with us.
    pub fn desk(&self) -> &Desk {
        match self {
            Self::Engine(engine) => &engine.desk,
            Self::Sidecar(sidecar) => &sidecar.desk,
        }
    }

    /// Starts the clock of a call.
    pub fn clock(&self, pace: &gambrel_model::Limits) -> Clock {
        match self {
            Self::Engine(engine) => engine.clock(pace),
            Self::Sidecar(sidecar) => sidecar.clock(pace),
        }
    }

    /// Calls the module and waits for what its handlers say.
    pub fn call(&self, said: &Said<'_>, clock: &mut Clock) -> Result<Told, Halt> {
        match self {
            Self::Engine(engine) => engine.call(said, clock),
            Self::Sidecar(sidecar) => sidecar.call(said, clock),
        }
    }

    /// What the module has registered.
    pub fn listed(&self, clock: &mut Clock) -> Option<Value> {
        match self {
            Self::Engine(engine) => engine.listed(),
            Self::Sidecar(sidecar) => sidecar.listed(clock),
        }
    }
}

/// Reads the report of a load.
fn judge(text: &str, root: &Path, graph: &Graph) -> Result<(), LoadError> {
    let told: Value = lossy_json::from_text(text).unwrap_or_default();
    match told["failed"].as_str() {
        None => Ok(()),
        Some(_) if told["bare"] == true => {
            let first = Point { line: 1, column: 1 };
            Err(LoadError::new("Hook must export a default function", root, Some(first)))
        }
        Some(message) => {
            let stack = told["stack"].as_str().unwrap_or_default();
            Err(failed(message, root, graph.place(stack)))
        }
    }
}

fn failed(message: &str, root: &Path, at: Option<String>) -> LoadError {
    let at = at.unwrap_or_else(|| root.display().to_string());
    LoadError { message: format!("Failed to load hook: {message}"), at: Some(at) }
}
