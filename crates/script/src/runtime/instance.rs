//! A loaded module, either in the embedded engine or in a sidecar.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gambrel_model::lossy_json;
use gambrel_process::error::StartError;
use serde_json::Value;

use super::clock::Clock;
use super::engine::{CallResult, Invocation, ScriptEngine};
use super::event_loop::Interrupted;
use super::host_state::{CallEnv, HostState};
use crate::frontend::{Graph, LoadError, SourcePoint};
use crate::settings::ScriptSettings;
use crate::sidecar::{self, Sidecar};

/// A loaded module.
pub enum Instance {
    /// In this process.
    Embedded(ScriptEngine),
    /// In its own bun or node process.
    Sidecar(Sidecar),
}

/// Why a module could not be loaded. Each variant has the effects requested so far.
pub enum LoadFailure {
    /// The module has an error.
    Failed(LoadError, Vec<Value>),
    /// It did not finish in time.
    TimedOut(String, Vec<Value>),
    /// It waits for something that can no longer happen.
    Stuck(Vec<Value>),
}

/// Why a module has nothing to run in.
#[derive(Debug, thiserror::Error)]
enum InstanceError {
    #[error("{0} needs bun or node, and neither is available")]
    NoFullHost(String),
    #[error("cannot start `{}`: {source}", program.display())]
    Sidecar { program: PathBuf, source: StartError },
    #[error("cannot create the JavaScript engine: {0}")]
    NoEngine(#[source] rquickjs::Error),
    #[error("The requested module '{specifier}' does not provide an export named '{name}'")]
    NoExport { specifier: String, name: String },
}

impl Instance {
    /// Loads a module and runs its factory. Also starts the clock of the call.
    pub fn load_module(
        root: &Path,
        graph: &Arc<Graph>,
        settings: &ScriptSettings,
        call_env: CallEnv,
        limits: &gambrel_model::Limits,
    ) -> Result<(Self, Clock), LoadFailure> {
        let to_failure =
            |why: InstanceError| LoadFailure::Failed(load_error(&why, root, None), Vec::new());
        let instance =
            Self::create_instance(root, graph, settings, call_env).map_err(to_failure)?;

        let mut clock = instance.start_clock(limits);
        let report = match &instance {
            Self::Embedded(engine) => engine.load_module(root, &mut clock),
            Self::Sidecar(sidecar) => sidecar.wait_for_result(&mut clock),
        };

        match report {
            Ok(text) => match check_load_report(&text, root, graph) {
                Ok(()) => Ok((instance, clock)),
                Err(error) => Err(LoadFailure::Failed(error, instance.state().take_effects())),
            },
            Err(Interrupted::TimedOut(why)) => {
                Err(LoadFailure::TimedOut(why, instance.state().take_effects()))
            }
            Err(Interrupted::Stuck) => Err(LoadFailure::Stuck(instance.state().take_effects())),
            Err(Interrupted::EngineError { message, stack }) => {
                let error = load_error(&message, root, graph.source_position(&stack));
                Err(LoadFailure::Failed(error, instance.state().take_effects()))
            }
        }
    }

    fn create_instance(
        root: &Path,
        graph: &Arc<Graph>,
        settings: &ScriptSettings,
        call_env: CallEnv,
    ) -> Result<Self, InstanceError> {
        let program = sidecar::find_program(&settings.full_host);
        let start_sidecar = |program: &Path, call_env: CallEnv| {
            Sidecar::start(program, root, graph, settings, call_env)
                .map(Self::Sidecar)
                .map_err(|source| InstanceError::Sidecar { program: program.to_path_buf(), source })
        };

        match (graph.missing.as_ref(), graph.may_miss.as_ref(), program) {
            (Some(lack), _, None) => Err(InstanceError::NoFullHost(lack.clone())),
            (Some(_), _, Some(program)) | (None, Some(_), Some(program)) => {
                start_sidecar(&program, call_env)
            }
            (None, _, program) => {
                let engine =
                    ScriptEngine::new(root, graph, settings).map_err(InstanceError::NoEngine)?;
                match (engine.missing_export(graph), program) {
                    (Some((specifier, name)), None) => {
                        return Err(InstanceError::NoExport { specifier, name });
                    }
                    (Some(_), Some(program)) => return start_sidecar(&program, call_env),
                    (None, Some(program)) if engine.may_need_full_host(graph) => {
                        return start_sidecar(&program, call_env);
                    }
                    (None, _) => engine.state.set_call_env(call_env),
                }
                Ok(Self::Embedded(engine))
            }
        }
    }

    /// State shared with the host functions.
    pub fn state(&self) -> &HostState {
        match self {
            Self::Embedded(engine) => &engine.state,
            Self::Sidecar(sidecar) => &sidecar.state,
        }
    }

    /// Starts the clock of a call.
    pub fn start_clock(&self, limits: &gambrel_model::Limits) -> Clock {
        Clock::with_limits(limits, self.state().tripwire.clone())
    }

    /// Calls the module and waits for its handlers.
    pub fn invoke_module(
        &self,
        invocation: &Invocation<'_>,
        clock: &mut Clock,
    ) -> Result<CallResult, Interrupted> {
        match self {
            Self::Embedded(engine) => engine.invoke_module(invocation, clock),
            Self::Sidecar(sidecar) => sidecar.invoke_module(invocation, clock),
        }
    }

    /// The commands and renderers that the module registered.
    pub fn list_registrations(&self, clock: &mut Clock) -> Option<Value> {
        match self {
            Self::Embedded(engine) => engine.list_registrations(),
            Self::Sidecar(sidecar) => sidecar.list_registrations(clock),
        }
    }
}

/// Checks the report of a load.
fn check_load_report(text: &str, root: &Path, graph: &Graph) -> Result<(), LoadError> {
    let report: Value = lossy_json::from_text(text).unwrap_or_default();
    match report["failed"].as_str() {
        None => Ok(()),
        Some(_) if report["bare"] == true => {
            let first = SourcePoint { line: 1, column: 1 };
            Err(LoadError::new("Hook must export a default function", root, Some(first)))
        }
        Some(message) => {
            let stack = report["stack"].as_str().unwrap_or_default();
            Err(load_error(message, root, graph.source_position(stack)))
        }
    }
}

fn load_error(message: impl Display, root: &Path, at: Option<String>) -> LoadError {
    let at = at.unwrap_or_else(|| root.display().to_string());
    LoadError { message: load_message(message), at: Some(at) }
}

/// Says why a module cannot be loaded.
pub(super) fn load_message(why: impl Display) -> String {
    match why.to_string() {
        why if why.trim().is_empty() => {
            "Failed to load hook: it threw an error without a message".to_owned()
        }
        why => format!("Failed to load hook: {why}"),
    }
}
