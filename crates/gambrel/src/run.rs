//! Runs plans with the hooks of the project: the runner is a caller like any other.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gambrel_actions::start_agent;
use gambrel_dialects::DIALECTS;
use gambrel_dialects::unified::project_agent;
use gambrel_engine::{Options, now_ms};
use gambrel_model::{
    Call, Complaint, Decision, Dialect, End, Outcome, ProcessOrigin, SourceSpan, sha256, to_hex,
};
use gambrel_runner::{
    AcpError, FiringRequest, Plan, PlanError, PlanFile, PlanRequest, PlanRoots, RunContext,
    RunError, RunFolder, RunResult, RunUpdate, TaskServer, compile_plan, list_plan_files,
    probe_agent, run_plan,
};

use gambrel_engine::FireResult;
use serde_json::Value;

use crate::app::Gambrel;
use crate::question_facts::add_question_facts;

/// Variables by which `gambrel mcp` finds the same state and settings.
const SERVER_VARIABLES: [&str; 9] = [
    "GAMBREL_CLAUDE_MANAGED",
    "GAMBREL_ISOLATE",
    "GAMBREL_STATE_DIR",
    "GAMBREL_STRICT",
    "GAMBREL_TRUST",
    "HOME",
    "PATH",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
];

// For the command line of the workspace, in inner types that may change.
#[doc(hidden)]
impl Gambrel {
    /// Runs a plan in its folder, or resumes it. `interrupted` is asked between steps.
    pub fn run_plan(
        &self,
        plan: &Plan,
        folder: &RunFolder,
        interrupted: &dyn Fn() -> Option<i32>,
        on_update: &mut dyn FnMut(RunUpdate<'_>),
    ) -> Result<RunResult, RunError> {
        self.record_plan(plan, folder)?;
        self.with_run_context(interrupted, |context| {
            run_plan(context, plan, folder, &ProcessOrigin::of_this_process(), on_update)
        })
    }

    /// Starts an agent of the Agent Client Protocol, says hello, and ends it. Returns what it calls
    /// itself.
    pub fn probe_agent(&self, command: &str, timeout: Duration) -> Result<String, AcpError> {
        self.with_run_context(&|| None, |context| probe_agent(context, command, timeout))
    }

    fn with_run_context<T>(
        &self,
        interrupted: &dyn Fn() -> Option<i32>,
        work: impl FnOnce(&RunContext<'_>) -> T,
    ) -> T {
        let settings = self.build_settings();
        work(&RunContext {
            ledger: self.ledger(),
            project: self.project_folder(),
            state_dir: self.setup().state_dir(),
            fire: &|request| self.fire_for_run(request),
            run_call: &|call: &Call| -> Outcome { self.run_call("shell", call) },
            start_agent: &|call: &Call| start_agent(call, &settings).map_err(Arc::from),
            task_server: self.build_task_server(),
            redact: settings.redact.as_ref(),
            is_strict: self.setup().options.strict,
            can_ask: self.setup().can_ask(),
            add_facts: &add_question_facts,
            interrupted,
            now_ms: &now_ms,
        })
    }

    /// `gambrel mcp`, as an agent of a run starts it: with this program's state and settings.
    fn build_task_server(&self) -> Option<TaskServer> {
        let setup = self.setup();
        let program = setup.supervisor.as_ref().filter(|_| cfg!(feature = "mcp"))?;
        // An agent may pass its servers only a part of its environment.
        let is_needed = |name: &str| SERVER_VARIABLES.contains(&name);
        let mut env: Vec<(String, String)> = setup
            .env
            .iter()
            .filter(|(name, _)| is_needed(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if setup.options.strict {
            env.retain(|(name, _)| name != "GAMBREL_STRICT");
            env.push(("GAMBREL_STRICT".to_owned(), "1".to_owned()));
        }
        Some(TaskServer::for_project(program, &self.project_folder(), env))
    }

    /// Records that this user wrote a plan, so that a resumed run may execute it.
    pub fn record_plan(&self, plan: &Plan, folder: &RunFolder) -> Result<(), RunError> {
        let written = Outcome::from_end(End::Exited(0));
        Ok(self.ledger().record_outcome(&plan_key(folder), &plan_hash(plan), &written)?)
    }

    /// Whether this user wrote a plan. A stored plan may come with a repository.
    pub fn wrote_plan(&self, plan: &Plan, folder: &RunFolder) -> Result<bool, RunError> {
        Ok(self.ledger().recorded_outcomes(&plan_key(folder))?.contains_key(&plan_hash(plan)))
    }

    /// The agent of the project's `config.yaml`.
    pub fn project_agent(&self) -> Option<String> {
        let path = self.project_config();
        project_agent(&path, &std::fs::read_to_string(&path).ok()?)
    }

    /// The project's `config.yaml`, which may name an agent.
    pub fn project_config(&self) -> PathBuf {
        self.project_folder().join(".gambrel/config.yaml")
    }

    /// The folder in which agents of a run work.
    pub fn project_folder(&self) -> PathBuf {
        let setup = self.setup();
        match setup.folder {
            Some(_) => setup.project_root(None),
            None => setup.search_roots(None).project,
        }
    }

    /// The plans of the project that a name leads to, as sources of hooks, for lists of what needs
    /// trust.
    pub fn named_plan_sources(&self) -> Vec<(String, PathBuf)> {
        let (stages, pipelines) = list_plan_files(&self.plan_roots());
        let named = |word: &str, paths: Vec<PathBuf>| -> Vec<(String, PathBuf)> {
            paths.into_iter().map(|path| (word.to_owned(), path)).collect()
        };
        let config = named("project-config", vec![self.project_config()]);
        [named("project-stage", stages), named("project-pipeline", pipelines), config].concat()
    }

    /// Where names of plans are looked up.
    pub fn plan_roots(&self) -> PlanRoots {
        let setup = self.setup();
        PlanRoots {
            project: self.project_folder(),
            cwd: setup.working_dir(),
            env: (*setup.env).clone(),
        }
    }

    /// What is wrong with the plans of the project that a name leads to.
    pub fn check_named_plans(&self) -> Vec<Complaint> {
        let (stages, pipelines) = list_plan_files(&self.plan_roots());
        stages.iter().chain(&pipelines).flat_map(|path| self.check_plan(path)).collect()
    }

    /// What is wrong with a stage or a pipeline.
    pub fn check_plan(&self, path: &Path) -> Vec<Complaint> {
        let request = PlanRequest {
            roots: self.plan_roots(),
            target: Some(path.display().to_string()),
            ..PlanRequest::default()
        };
        match compile_plan(&request) {
            Ok(compiled) => compiled.complaints,
            Err(PlanError::Invalid(complaints)) => complaints,
            Err(error) => {
                vec![Complaint::error(SourceSpan::of_file(path), error.to_string())]
            }
        }
    }

    fn fire_for_run(&self, request: &FiringRequest<'_>) -> Result<Decision, Complaint> {
        let sources = plan_sources(request.stage_file, request.pipeline_file);
        self.fire_run_event(&request.event, &sources, native_dialects(request.agent))
    }

    /// Fires an event of the dialect `run`.
    pub(crate) fn fire_run_event(
        &self,
        event: &Value,
        sources: &[(String, PathBuf)],
        left_to_agent: Vec<&'static str>,
    ) -> Result<Decision, Complaint> {
        let event = self.receive("run", event.to_string().as_bytes())?;
        let loaded = self.load_hooks_with(Some(&event), sources);
        let options = Options { left_to_agent, ..self.setup().options.clone() };
        let FireResult { decision, .. } = self.fire_with_options(event, &loaded, options);
        Ok(decision)
    }
}

/// The dialects whose hooks an agent runs itself.
pub fn native_dialects(agent: &str) -> Vec<&'static str> {
    let command = agent.split_once(':').map_or(agent, |(_, command)| command);
    let program = command.split_whitespace().find(|word| !word.contains('='));
    let program = program.and_then(|word| Path::new(word).file_name()?.to_str());
    let runs_it =
        |dialect: &&Dialect| program.is_some_and(|p| dialect.properties.agents.contains(&p));
    DIALECTS.iter().copied().filter(runs_it).map(|dialect| dialect.name).collect()
}

fn plan_key(folder: &RunFolder) -> String {
    format!("plan:{}", folder.path.display())
}

/// The hash of a plan as it is read again.
fn plan_hash(plan: &Plan) -> String {
    let text = serde_json::to_string(plan).unwrap_or_default();
    let read: Option<Plan> = serde_json::from_str(&text).ok();
    let text = read.and_then(|plan| serde_json::to_string(&plan).ok()).unwrap_or(text);
    to_hex(&sha256(text))
}

/// The files of a plan as sources of hooks. What was found by name is the project's.
pub fn plan_sources(
    stage: Option<&PlanFile>,
    pipeline: Option<&PlanFile>,
) -> Vec<(String, PathBuf)> {
    let word = |kind: &str, file: &PlanFile| match file.by_name {
        true => format!("project-{kind}"),
        false => kind.to_owned(),
    };
    let stage = stage.map(|file| (word("stage", file), file.path.clone()));
    let pipeline = pipeline.map(|file| (word("pipeline", file), file.path.clone()));
    stage.into_iter().chain(pipeline).collect()
}
