//! Where stages and pipelines are found by name. The error of a name that is not found lists every
//! path that was tried.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::pipeline::parse_pipeline;

/// The folders in which names are looked up.
#[derive(Debug, Clone, Default)]
pub struct PlanRoots {
    /// The project's folder.
    pub project: PathBuf,
    /// The folder to which paths on the command line are relative.
    pub cwd: PathBuf,
    /// The caller's environment.
    pub env: BTreeMap<String, String>,
}

/// A file that was found, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// The file.
    pub path: PathBuf,
    /// Whether it was found by name and not by a path on the command line.
    pub by_name: bool,
}

const STAGE_FILES: [&str; 2] = ["stage.yaml", "loop.yaml"];
const PIPELINE_ENDINGS: [&str; 3] = ["", ".yaml", ".yml"];

impl PlanRoots {
    fn env_folder(&self, name: &str) -> Option<PathBuf> {
        let value = self.env.get(name).filter(|value| !value.is_empty())?;
        Some(self.cwd.join(value))
    }

    fn installed_folder(&self, name: &str) -> Option<PathBuf> {
        Some(self.env_folder("AGENT_PIPELINES_ROOT")?.join("scripts").join(name))
    }

    /// Folders with pipelines that are found by name.
    pub fn pipeline_folders(&self) -> Vec<PathBuf> {
        let own = [".gambrel/pipelines", ".claude/pipelines"].map(|dir| self.project.join(dir));
        own.into_iter().chain(self.installed_folder("pipelines")).collect()
    }

    /// Folders with stages that are found by name.
    pub fn stage_folders(&self, pipeline_file: Option<&Path>) -> Vec<PathBuf> {
        let own = [".gambrel/stages", ".claude/stages"].map(|dir| self.project.join(dir));
        let beside = pipeline_file.and_then(Path::parent).into_iter();
        let beside = beside.flat_map(|dir| [dir.join("../stages"), dir.join("stages")]);
        own.into_iter()
            .chain(self.env_folder("STAGES_DIR"))
            .chain(beside)
            .chain(self.installed_folder("stages"))
            .collect()
    }
}

/// The stage files and the pipeline files that names in this project lead to.
pub fn list_plan_files(roots: &PlanRoots) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let entries = |folders: Vec<PathBuf>| -> Vec<PathBuf> {
        let entries = folders.into_iter().filter_map(|folder| std::fs::read_dir(folder).ok());
        let mut paths: Vec<PathBuf> = entries.flatten().flatten().map(|e| e.path()).collect();
        paths.sort();
        paths
    };
    let stages = entries(roots.stage_folders(None));
    let mut stages: Vec<PathBuf> =
        stages.iter().filter_map(|folder| stage_at(folder, &mut Vec::new())).collect();
    let is_yaml = |path: &PathBuf| {
        PIPELINE_ENDINGS[1..].iter().any(|ending| path.to_string_lossy().ends_with(ending))
    };
    let pipelines: Vec<PathBuf> =
        entries(roots.pipeline_folders()).into_iter().filter(is_yaml).collect();
    for pipeline in &pipelines {
        let text = std::fs::read_to_string(pipeline).unwrap_or_default();
        let names = parse_pipeline(pipeline, &text).0.nodes.into_iter().filter_map(|n| n.stage);
        let found = names.filter_map(|name| find_stage(roots, &name, Some(pipeline)).ok());
        for FoundFile { path, .. } in found {
            if !stages.contains(&path) {
                stages.push(path);
            }
        }
    }
    (stages, pipelines)
}

/// Whether a text is written as a path and not as a name.
fn is_typed_path(text: &str) -> bool {
    text.contains('/') || PIPELINE_ENDINGS[1..].iter().any(|ending| text.ends_with(ending))
}

/// Whether a name stays inside the folder in which it is looked up.
fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && Path::new(name).components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

/// Finds the stage file of a name that a pipeline or a user wrote. The error is the list of paths
/// that were tried.
pub fn find_stage(
    roots: &PlanRoots,
    name: &str,
    pipeline_file: Option<&Path>,
) -> Result<FoundFile, Vec<PathBuf>> {
    let base = pipeline_file.and_then(Path::parent).unwrap_or(&roots.cwd);
    let mut tried = Vec::new();
    if let Some(path) = stage_at(&base.join(name), &mut tried) {
        return Ok(FoundFile { path, by_name: pipeline_file.is_some() || !is_typed_path(name) });
    }

    let folders = roots.stage_folders(pipeline_file);
    for folder in folders.iter().filter(|_| is_plain_name(name)) {
        if let Some(path) = stage_at(&folder.join(name), &mut tried) {
            return Ok(FoundFile { path, by_name: true });
        }
    }
    Err(tried)
}

/// The stage file at a path: the file itself, or the one in that folder.
fn stage_at(path: &Path, tried: &mut Vec<PathBuf>) -> Option<PathBuf> {
    let is_yaml = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    if is_yaml {
        tried.push(path.to_owned());
        return path.is_file().then(|| path.to_owned());
    }
    STAGE_FILES.iter().map(|file| path.join(file)).find(|file| {
        tried.push(file.clone());
        file.is_file()
    })
}

/// Finds the pipeline file of a name or a path on the command line. The error is the list of paths
/// that were tried.
pub fn find_pipeline(roots: &PlanRoots, name: &str) -> Result<FoundFile, Vec<PathBuf>> {
    let mut tried = Vec::new();
    let mut is_there = |path: &PathBuf| {
        tried.push(path.clone());
        path.is_file()
    };
    let typed = roots.cwd.join(name);
    if is_there(&typed) {
        return Ok(FoundFile { path: typed, by_name: !is_typed_path(name) });
    }

    for folder in roots.pipeline_folders().iter().filter(|_| is_plain_name(name)) {
        let paths = PIPELINE_ENDINGS.map(|ending| folder.join(format!("{name}{ending}")));
        if let Some(path) = paths.into_iter().find(&mut is_there) {
            return Ok(FoundFile { path, by_name: true });
        }
    }
    Err(tried)
}
