//! A project folder with files, and the request to compile one of them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gambrel_runner::{Plan, PlanError, PlanRequest, PlanRoots, compile_plan};
use tempfile::TempDir;

/// 2026-11-18T08:30:00Z.
const NOW_MS: u64 = 1_794_990_600_000;

pub(crate) struct ProjectFixture {
    root: TempDir,
    pub(crate) request: PlanRequest,
}

impl ProjectFixture {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().canonicalize().unwrap();
        let roots = PlanRoots { project: folder.clone(), cwd: folder, env: BTreeMap::new() };
        let request = PlanRequest {
            extra: None,
            roots,
            target: None,
            prompt: None,
            session: None,
            agent: None,
            model: None,
            max: None,
            inputs: Vec::new(),
            context: None,
            from_parent: None,
            project_agent: None,
            now_ms: NOW_MS,
        };
        let fixture = Self { root, request };
        for (path, text) in files {
            fixture.write(path, text);
        }
        fixture
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn compile(&mut self, target: &str) -> Result<Plan, PlanError> {
        self.request.target = Some(target.to_owned());
        compile_plan(&self.request).map(|compiled| compiled.plan)
    }

    /// The messages of a plan that is refused, with line and column.
    pub(crate) fn errors(&mut self, target: &str) -> Vec<String> {
        match self.compile(target) {
            Err(PlanError::Invalid(complaints)) => complaints
                .iter()
                .map(|c| format!("{}:{} {}", c.spot.line, c.spot.column, c.message))
                .collect(),
            other => panic!("not refused: {other:?}"),
        }
    }
}

/// A stage folder with a prompt.
pub(crate) fn stage_files(name: &str, termination: &str) -> [(String, String); 2] {
    let folder = format!(".gambrel/stages/{name}");
    [
        (format!("{folder}/stage.yaml"), format!("name: {name}\n{termination}\n")),
        (format!("{folder}/prompt.md"), format!("Do {name} in ${{SESSION}}.\n")),
    ]
}
