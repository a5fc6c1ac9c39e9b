//! Files with hooks of agents that run these hooks themselves: Cursor, Gemini CLI and Copilot CLI.
//! `check` names them and does not judge them by the rules of Claude Code.

use std::path::{Path, PathBuf};

use gambrel_model::{Complaint, SourceSpan};
use serde_json::Value;

/// An agent with hooks in files of its own.
struct ForeignAgent {
    product: &'static str,
    /// Its file in a project, or the folder of its files.
    place: &'static str,
    /// Events that only its files have.
    events: &'static [&'static str],
}

const FOREIGN_AGENTS: [ForeignAgent; 3] = [
    ForeignAgent {
        product: "Cursor",
        place: ".cursor/hooks.json",
        events: &[
            "beforeShellExecution",
            "afterShellExecution",
            "beforeMCPExecution",
            "afterMCPExecution",
            "beforeReadFile",
            "afterFileEdit",
            "beforeSubmitPrompt",
        ],
    },
    ForeignAgent {
        product: "Gemini CLI",
        place: ".gemini/settings.json",
        events: &[
            "BeforeTool",
            "AfterTool",
            "BeforeAgent",
            "AfterAgent",
            "BeforeModel",
            "AfterModel",
            "BeforeToolSelection",
        ],
    },
    ForeignAgent {
        product: "Copilot CLI",
        place: ".github/hooks",
        events: &[
            "preToolUse",
            "postToolUse",
            "userPromptSubmitted",
            "sessionStart",
            "sessionEnd",
            "agentStop",
            "errorOccurred",
        ],
    },
];

/// Notes about the files of a project.
pub fn note_foreign_files(project: &Path) -> Vec<Complaint> {
    let files = FOREIGN_AGENTS.iter().flat_map(|agent| find_files(agent, project));
    files.filter_map(|path| note_foreign_file(&path)).collect()
}

fn find_files(agent: &ForeignAgent, project: &Path) -> Vec<PathBuf> {
    let place = project.join(agent.place);
    match place.is_dir() {
        true => {
            let entries = std::fs::read_dir(&place).into_iter().flatten().filter_map(Result::ok);
            let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
            files.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
            files.sort();
            files
        }
        false if place.is_file() => vec![place],
        false => Vec::new(),
    }
}

/// The note about a file, if it is one with hooks of another agent: by its place, or by its events.
pub fn note_foreign_file(path: &Path) -> Option<Complaint> {
    let text = std::fs::read_to_string(path).ok()?;
    let hooks = serde_json::from_str::<Value>(&text).ok().map(|mut json| json["hooks"].take());
    let events = hooks.as_ref().and_then(Value::as_object);
    let has = |agent: &&ForeignAgent| {
        events.is_some_and(|events| agent.events.iter().any(|event| events.contains_key(*event)))
    };
    let is_at_place = |agent: &&ForeignAgent| {
        let place = Path::new(agent.place);
        // Settings without hooks are no concern of gambrel.
        events.is_some()
            && (path.ends_with(place) || path.parent().is_some_and(|p| p.ends_with(place)))
    };
    let agent =
        FOREIGN_AGENTS.iter().find(is_at_place).or_else(|| FOREIGN_AGENTS.iter().find(has))?;
    let product = agent.product;
    let message = format!("hooks of {product}, which runs them itself: gambrel does not read them");
    let help = "put hooks for every agent into .gambrel/hooks.yaml";
    Some(Complaint::note(SourceSpan::of_file(path), message).with_help(help))
}

#[cfg(test)]
mod tests {
    use super::note_foreign_file;

    fn product(name: &str, text: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        note_foreign_file(&path).map(|note| note.message)
    }

    #[test]
    fn tells_agents_apart() {
        let cursor = r#"{"version": 1, "hooks": {"beforeShellExecution": [{"command": "x"}]}}"#;
        assert!(product("any.json", cursor).unwrap().contains("Cursor"));
        let gemini = r#"{"hooks": {"BeforeTool": [{"hooks": []}]}}"#;
        assert!(product("any.json", gemini).unwrap().contains("Gemini CLI"));
        let copilot = r#"{"version": 1, "hooks": {"preToolUse": [{"bash": "x"}]}}"#;
        assert!(product("any.json", copilot).unwrap().contains("Copilot CLI"));
        assert!(product(".cursor/hooks.json", r#"{"hooks": {"new": []}}"#).is_some());
        let claude = r#"{"hooks": {"PreToolUse": [], "PreToolCall": []}}"#;
        assert_eq!(product("any.json", claude), None);
        assert_eq!(product(".gemini/settings.json", r#"{"theme": "dark"}"#), None);
    }
}
