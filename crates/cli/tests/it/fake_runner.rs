//! A command that replaces `gambrel run`. It is found by name, so that folders may have spaces.

use crate::test_project::TestProject;

/// The same project, in which this script runs child pipelines. Its arguments are the pipeline,
/// `--session-dir`, the folder, `--inputs` and the file.
pub fn with_fake_runner(project: TestProject, script: &str) -> TestProject {
    project.script("../bin/fake-runner", script);
    let bin = project.base.join("bin");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    project.with("PATH", &path).with("GAMBREL_RUNNER", "fake-runner")
}
