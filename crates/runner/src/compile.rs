//! Compiles a target of the command line to a plan. It reads files and runs nothing.

use std::path::{Path, PathBuf};

use gambrel_engine::read_text;
use gambrel_model::complaint::nearest_word;
use gambrel_model::{Complaint, Severity, SourceSpan, iso_time};
use serde_json::Value;

use crate::files::find::{FoundFile, PlanRoots, find_pipeline, find_stage};
use crate::files::kind::is_pipeline;
use crate::files::pipeline::{NodeFile, PipelineFile, parse_pipeline};
use crate::files::stage::{DEFAULT_DELAY_SECONDS, StageFile, parse_stage};
use crate::inputs::expand_input;
use crate::names::{MAX_SESSION_CHARS, clean_name, is_session_name, time_in_name};
use crate::plan::{
    NodeProvider, PLAN_VERSION, PipelineInfo, Plan, PlanFile, PlanNode, PlanSession, PlanSource,
    RunKind, SpecText, TerminationKind, hash_text,
};
use crate::provider::{AGENT_HELP, AgentSpec, choose_provider, provider_spec};
use crate::spec::read_spec_settings;

/// What the command line says about a run.
#[derive(Debug, Clone, Default)]
pub struct PlanRequest {
    /// Where names are looked up.
    pub roots: PlanRoots,
    /// A path or a name.
    pub target: Option<String>,
    /// A prompt instead of a target.
    pub prompt: Option<String>,
    /// The session's name.
    pub session: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The most iterations of a stage.
    pub max: Option<u32>,
    /// Files for every node.
    pub inputs: Vec<String>,
    /// The value of `${CONTEXT}`.
    pub context: Option<String>,
    /// What the user adds to the prompt of a spec.
    pub extra: Option<String>,
    /// The file of a parent's values, and the values.
    pub from_parent: Option<(PathBuf, Value)>,
    /// The agent of the project's `config.yaml`.
    pub project_agent: Option<String>,
    /// Milliseconds since the epoch.
    pub now_ms: u64,
}

/// A plan, and what is worth saying about its files.
#[derive(Debug, Clone)]
pub struct CompiledPlan {
    /// The plan.
    pub plan: Plan,
    /// Warnings and notes.
    pub complaints: Vec<Complaint>,
}

/// Why a target cannot be compiled. Nothing has run.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// No file has that name.
    #[error("no pipeline or stage `{name}`")]
    NotFound {
        /// The name.
        name: String,
        /// Every path that was looked at.
        tried: Vec<PathBuf>,
    },
    /// The files have errors.
    #[error("{}", .0.first().map(ToString::to_string).unwrap_or_default())]
    Invalid(Vec<Complaint>),
    /// A session's name cannot be used.
    #[error("`{0}` cannot be a session's name: use 1 to 64 letters, digits, `-` and `_`")]
    BadSession(String),
    /// Neither a target nor a prompt is given.
    #[error("name a pipeline, a stage or a file, or give a prompt with --prompt")]
    NothingToRun,
}

/// Compiles a target to a plan.
pub fn compile_plan(request: &PlanRequest) -> Result<CompiledPlan, PlanError> {
    let mut compiler = Compiler {
        request,
        complaints: Vec::new(),
        hashed: Vec::new(),
        pipeline_inputs: Vec::new(),
        pipeline_by_name: false,
    };
    let (info, permissions, nodes) = match &request.target {
        Some(target) => compiler.compile_target(target)?,
        None => compiler.compile_prompt()?,
    };
    let session = compiler.session_name(&info)?;
    let inputs = compiler.expand_inputs();
    if compiler.complaints.iter().any(|complaint| complaint.severity == Severity::Error) {
        let mut complaints = compiler.complaints;
        complaints.sort_by_key(|complaint| std::cmp::Reverse(complaint.severity));
        return Err(PlanError::Invalid(complaints));
    }

    let (path, sha256) = compiler.hashed.first().cloned().unwrap_or_default();
    let source = PlanSource { path, sha256, files: compiler.hashed.into_iter().collect() };
    let parent = request.from_parent.as_ref();
    let session = PlanSession {
        name: session,
        run_id: format!("{:x}", request.now_ms),
        created_at: iso_time(request.now_ms, false),
        inputs,
        from_parent: parent.map(|(_, values)| values.clone()).unwrap_or_default(),
    };
    let plan = Plan { version: PLAN_VERSION, source, session, pipeline: info, permissions, nodes };
    Ok(CompiledPlan { plan, complaints: compiler.complaints })
}

type Compiled = (PipelineInfo, crate::plan::PermissionDefault, Vec<PlanNode>);

struct Compiler<'r> {
    request: &'r PlanRequest,
    complaints: Vec<Complaint>,
    hashed: Vec<(PathBuf, String)>,
    pipeline_inputs: Vec<String>,
    /// Whether the pipeline was found by name.
    pipeline_by_name: bool,
}

impl Compiler<'_> {
    fn compile_target(&mut self, target: &str) -> Result<Compiled, PlanError> {
        let roots = &self.request.roots;
        let typed = roots.cwd.join(target);
        let pipeline = if typed.is_dir() { Err(Vec::new()) } else { find_pipeline(roots, target) };
        let mut tried = match pipeline {
            Ok(found) if is_spec(&found.path) => return self.compile_spec(&found.path),
            Ok(found) => {
                let text = self.read_file(&found.path)?;
                return match is_pipeline(&found.path, &text) {
                    true => self.compile_pipeline(&found, &text),
                    false => self.compile_stage(&found, &text),
                };
            }
            Err(tried) => tried,
        };
        match find_stage(roots, target, None) {
            Ok(found) => {
                let text = self.read_file(&found.path)?;
                self.compile_stage(&found, &text)
            }
            Err(more) => {
                tried.extend(more);
                Err(PlanError::NotFound { name: target.to_owned(), tried })
            }
        }
    }

    /// A stage that is run alone.
    fn compile_stage(&mut self, found: &FoundFile, text: &str) -> Result<Compiled, PlanError> {
        let (stage, mut complaints) = parse_stage(&found.path, text);
        self.complaints.append(&mut complaints);
        let node = NodeFile { stage: Some(stage.name.clone()), ..NodeFile::default() };
        let termination = stage.termination.clone().alone(self.request.max);
        let id = stage.name.clone();
        let built = self.build_node(0, &id, &node, Some((found, &stage)), &PipelineFile::default());
        let info = PipelineInfo {
            name: stage.name.clone(),
            description: stage.description.clone(),
            kind: RunKind::Loop,
            ..PipelineInfo::default()
        };
        Ok((info, stage.permissions.unwrap_or_default(), vec![PlanNode { termination, ..built }]))
    }

    /// A spec file: one stage that ends when the agent says so.
    fn compile_spec(&mut self, path: &Path) -> Result<Compiled, PlanError> {
        let text = self.read_file(path)?;
        let settings = read_spec_settings(&self.request.roots.project)
            .map_err(|complaint| PlanError::Invalid(vec![complaint]))?;
        let stem = path.file_stem().map(|stem| clean_name(&stem.to_string_lossy()));
        let name = stem.filter(|stem| !stem.is_empty()).unwrap_or_else(|| "spec".to_owned());
        let node = NodeFile { prompt: Some(settings.template), ..NodeFile::default() };
        let mut built = self.build_node(0, &name, &node, None, &PipelineFile::default());
        let limit = [settings.iterations, self.request.max.unwrap_or(0)];
        built.termination.kind = TerminationKind::Session;
        built.termination.max = limit.into_iter().filter(|max| *max > 0).min().unwrap_or(u32::MAX);
        built.prompt_path = settings.template_path;
        built.delay = 0.0;
        let extra = self.request.extra.clone().unwrap_or_default();
        built.spec = Some(SpecText { path: path.to_owned(), text, extra });
        let info = PipelineInfo { name, ..PipelineInfo::default() };
        Ok((info, crate::plan::PermissionDefault::default(), vec![built]))
    }

    /// A prompt of the command line.
    fn compile_prompt(&mut self) -> Result<Compiled, PlanError> {
        let prompt = self.request.prompt.clone().ok_or(PlanError::NothingToRun)?;
        let node = NodeFile { prompt: Some(prompt), ..NodeFile::default() };
        let mut built = self.build_node(0, "prompt", &node, None, &PipelineFile::default());
        built.termination.max = self.request.max.unwrap_or(1);
        let info = PipelineInfo { name: "prompt".into(), ..PipelineInfo::default() };
        Ok((info, crate::plan::PermissionDefault::default(), vec![built]))
    }

    fn compile_pipeline(&mut self, found: &FoundFile, text: &str) -> Result<Compiled, PlanError> {
        let (pipeline, mut complaints) = parse_pipeline(&found.path, text);
        self.complaints.append(&mut complaints);
        self.pipeline_by_name = found.by_name;
        let mut nodes: Vec<PlanNode> = Vec::with_capacity(pipeline.nodes.len());
        for (index, node) in pipeline.nodes.iter().enumerate() {
            let stage = self.load_stage(node, &found.path)?;
            let stage = stage.as_ref().map(|(found, stage)| (found, stage));
            let id = self.node_id(index, node, &nodes);
            self.check_inputs(node, &id, &nodes);
            nodes.push(self.build_node(index, &id, node, stage, &pipeline));
        }
        let info = PipelineInfo {
            name: pipeline.name.clone(),
            description: pipeline.description.clone(),
            kind: RunKind::Pipeline,
            commands: pipeline.commands.clone(),
            hook_file: Some(PlanFile { path: found.path.clone(), by_name: found.by_name }),
        };
        self.add_pipeline_inputs(&pipeline, &found.path);
        Ok((info, pipeline.permissions.unwrap_or_default(), nodes))
    }

    fn load_stage(
        &mut self,
        node: &NodeFile,
        pipeline_file: &Path,
    ) -> Result<Option<(FoundFile, StageFile)>, PlanError> {
        let Some(name) = &node.stage else { return Ok(None) };
        match find_stage(&self.request.roots, name, Some(pipeline_file)) {
            Ok(found) => {
                let text = self.read_file(&found.path)?;
                let (stage, mut complaints) = parse_stage(&found.path, &text);
                self.complaints.append(&mut complaints);
                Ok(Some((found, stage)))
            }
            Err(tried) => {
                let tried: Vec<String> = tried.iter().map(|p| p.display().to_string()).collect();
                let message = format!("no stage `{name}`");
                let complaint = Complaint::error(node.span.clone(), message);
                self.complaints
                    .push(complaint.with_help(format!("looked at {}", tried.join(", "))));
                Ok(None)
            }
        }
    }

    /// The id of a node: as written, else the name of its stage, made unique.
    fn node_id(&mut self, index: usize, node: &NodeFile, earlier: &[PlanNode]) -> String {
        let written = node.id.as_ref().or(node.stage.as_ref());
        let name = written.map_or_else(|| format!("node-{}", index + 1), |id| clean_name(id));
        let taken = |id: &str| earlier.iter().any(|node| node.id == id);
        if node.id.is_some() && taken(&name) {
            let message = format!("two nodes have the id `{name}`");
            let complaint = Complaint::error(node.span.clone(), message);
            self.complaints.push(complaint.with_help("give each node an `id` of its own"));
        }
        if !taken(&name) {
            return name;
        }
        (2..).map(|n| format!("{name}-{n}")).find(|id| !taken(id)).unwrap_or(name)
    }

    /// A node can read only nodes that ran before it.
    fn check_inputs(&mut self, node: &NodeFile, id: &str, earlier: &[PlanNode]) {
        for (name, span) in node.inputs.from.iter().zip(&node.input_spans) {
            if earlier.iter().any(|node| node.id == *name) {
                continue;
            }
            let message = if name == id {
                format!("the node `{id}` reads its own output")
            } else {
                format!("`{name}` is no node before `{id}`, so its output cannot be read")
            };
            let near = nearest_word(name, earlier.iter().map(|node| node.id.as_str()));
            let help = near.map_or_else(
                || "inputs lead from earlier nodes to later ones".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            self.complaints.push(Complaint::error(span.clone(), message).with_help(help));
        }
    }

    fn build_node(
        &mut self,
        index: usize,
        id: &str,
        node: &NodeFile,
        stage: Option<(&FoundFile, &StageFile)>,
        pipeline: &PipelineFile,
    ) -> PlanNode {
        let empty = StageFile::default();
        let (found, written) = stage.map_or((None, &empty), |(found, file)| (Some(found), file));
        let (prompt_path, prompt) = self.find_prompt(node, found, written);
        let termination = written.termination.clone().overridden_by(node.termination.clone());
        let mut termination = termination.in_pipeline(node.runs);
        if let Some(max) = self.request.max {
            termination.max = termination.max.min(max);
        }
        let context = self.request.context.as_ref().or(node.context.as_ref());
        let provider = self.choose_agent(node, stage, pipeline);
        let guardrails = written.guardrails.clone().overridden_by(node.guardrails.clone());
        self.complaints.extend(guardrails.warn_unreported(&provider));
        PlanNode {
            path: index.to_string(),
            id: clean_name(id),
            kind: "stage".to_owned(),
            stage: node.stage.clone().unwrap_or_default(),
            description: node.description.clone().unwrap_or_else(|| written.description.clone()),
            termination,
            inputs: node.inputs.clone(),
            provider,
            prompt_path,
            prompt,
            context: context.or(written.context.as_ref()).cloned().unwrap_or_default(),
            output_path: written.output_path.clone().unwrap_or_default(),
            delay: node.delay.or(written.delay).unwrap_or(DEFAULT_DELAY_SECONDS),
            commit: node.commit.or(written.commit).or(pipeline.commit).unwrap_or(false),
            max_runtime_seconds: guardrails.max_runtime_seconds,
            max_cost: guardrails.cost_limit(),
            max_tokens: guardrails.token_limit(),
            commands: written.commands.clone(),
            spec: None,
            hook_file: found
                .map(|found| PlanFile { path: found.path.clone(), by_name: found.by_name }),
        }
    }

    fn choose_agent(
        &mut self,
        node: &NodeFile,
        stage: Option<(&FoundFile, &StageFile)>,
        pipeline: &PipelineFile,
    ) -> NodeProvider {
        let request = self.request;
        let stage_by_name = stage.is_some_and(|(found, _)| found.by_name);
        let empty = StageFile::default();
        let stage = stage.map_or(&empty, |(_, stage)| stage);
        let parent = request.roots.env.get("GAMBREL_AGENT").map(String::as_str);
        let typed = request.agent.as_deref();
        let local = node.provider.as_ref().or(stage.provider.as_ref());
        let in_files = local.or(pipeline.provider.as_ref()).or(pipeline.default_provider.as_ref());
        let written = in_files.map(|provider| provider.text.as_str());
        let project = request.project_agent.as_deref();
        let name = choose_provider([typed, written, project, parent]).to_owned();

        let own_model = node.model.as_deref().or(stage.model.as_deref());
        let default = pipeline.model.as_deref().or(pipeline.default_model.as_deref());
        let inherited = if local.is_some() { None } else { default };
        let model = request.model.as_deref().or(own_model).or(inherited).unwrap_or_default();

        let place = in_files.filter(|_| typed.is_none()).map(|provider| provider.spot.clone());
        let spec = match provider_spec(&name, model) {
            Ok(spec) => spec,
            Err(error) => {
                let complaint =
                    Complaint::error(place.clone().unwrap_or_default(), error.to_string());
                self.complaints.push(complaint.with_help(AGENT_HELP));
                String::new()
            }
        };
        let is_acp = matches!(AgentSpec::parse(&spec), Ok(AgentSpec::Acp(_)));
        if is_acp && request.model.as_deref().or(own_model).is_some() {
            let message = format!("the agent `{name}` chooses its model itself");
            let complaint = Complaint::warning(place.unwrap_or_default(), message);
            let help = format!("`{model}` has no effect; set the model in the agent's settings");
            self.complaints.push(complaint.with_help(help));
        }
        let is_own_spec = spec == name;
        let is_project = match (&node.provider, &stage.provider) {
            (None, Some(_)) => stage_by_name,
            _ if written.is_some() => self.pipeline_by_name,
            _ => project.is_some(),
        };
        let from_project = is_own_spec && typed.is_none() && is_project;
        NodeProvider { name, model: model.to_owned(), spec, from_project }
    }

    /// The prompt of a node: inline, else the file that the stage names, else the usual files.
    fn find_prompt(
        &mut self,
        node: &NodeFile,
        found: Option<&FoundFile>,
        stage: &StageFile,
    ) -> (Option<PathBuf>, String) {
        if let Some(prompt) = &node.prompt {
            return (None, prompt.clone());
        }
        let Some(folder) = found.and_then(|found| found.path.parent()) else {
            return (None, String::new());
        };
        let named = stage.prompt.as_ref().map(|(name, _)| name.as_str());
        let paths = prompt_paths(folder, named);
        let Some(path) = paths.iter().find(|path| path.is_file()) else {
            self.report_missing_prompt(found, stage, &paths);
            return (None, String::new());
        };
        match self.read_file(path) {
            Ok(text) => (Some(path.clone()), text),
            Err(PlanError::Invalid(mut complaints)) => {
                self.complaints.append(&mut complaints);
                (Some(path.clone()), String::new())
            }
            Err(_) => (Some(path.clone()), String::new()),
        }
    }

    fn report_missing_prompt(
        &mut self,
        found: Option<&FoundFile>,
        stage: &StageFile,
        paths: &[PathBuf],
    ) {
        let file = found.map(|found| SourceSpan::of_file(&found.path)).unwrap_or_default();
        let span = stage.prompt.as_ref().map_or(file, |(_, span)| span.clone());
        let message = format!("the stage `{}` has no prompt", stage.name);
        let tried: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let help = format!("write one of {}", tried.join(", "));
        self.complaints.push(Complaint::error(span, message).with_help(help));
    }

    fn session_name(&self, info: &PipelineInfo) -> Result<String, PlanError> {
        if let Some(name) = &self.request.session {
            return match is_session_name(name) {
                true => Ok(name.clone()),
                false => Err(PlanError::BadSession(name.clone())),
            };
        }
        let name = clean_name(&info.name);
        let is_stage = info.kind == RunKind::Loop && self.request.target.is_some();
        let dated = format!("{name}-{}", time_in_name(self.request.now_ms));
        let name = if is_stage { name } else { dated };
        Ok(name.chars().take(MAX_SESSION_CHARS).collect())
    }

    fn add_pipeline_inputs(&mut self, pipeline: &PipelineFile, file: &Path) {
        for written in &pipeline.inputs {
            if expand_input(&self.request.roots.project, written).is_empty() {
                let message = format!("the input `{written}` names no file");
                self.complaints.push(Complaint::warning(SourceSpan::of_file(file), message));
            }
        }
        self.pipeline_inputs.extend(pipeline.inputs.iter().cloned());
    }

    fn expand_inputs(&mut self) -> Vec<PathBuf> {
        let project = &self.request.roots.project;
        let mut paths: Vec<PathBuf> = self
            .pipeline_inputs
            .iter()
            .flat_map(|written| expand_input(project, written))
            .collect();
        for written in &self.request.inputs {
            let found = expand_input(project, written);
            if found.is_empty() {
                let message = format!("the input `{written}` names no file");
                let complaint = Complaint::error(SourceSpan::default(), message);
                let help = format!("inputs are looked up from {}", project.display());
                self.complaints.push(complaint.with_help(help));
            }
            paths.extend(found);
        }
        paths.extend(self.request.from_parent.iter().map(|(file, _)| file.clone()));
        paths
    }

    fn read_file(&mut self, path: &Path) -> Result<String, PlanError> {
        let text = read_text(path).map_err(|complaint| PlanError::Invalid(vec![complaint]))?;
        let Some(text) = text else {
            let message = "the file is gone";
            let complaint = Complaint::error(SourceSpan::of_file(path), message);
            return Err(PlanError::Invalid(vec![complaint]));
        };
        self.hashed.push((path.to_owned(), hash_text(text.as_bytes())));
        Ok(text)
    }
}

fn prompt_paths(folder: &Path, named: Option<&str>) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    if let Some(name) = named {
        paths.push(folder.join(name));
        paths.push(folder.join("prompts").join(format!("{name}.md")));
    }
    paths.push(folder.join("prompts/prompt.md"));
    paths.push(folder.join("prompt.md"));
    paths
}

fn is_spec(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "md")
}
