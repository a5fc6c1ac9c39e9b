//! Tool calls of an agent in neutral words. The protocol has a kind and a title, and agents name
//! their arguments differently.

use gambrel_model::text::truncate_bytes;
use gambrel_model::tool::mcp_tool_name;
use serde_json::{Map, Value, json};

use crate::agent::ToolUse;
use crate::board_tools::BOARD_SERVER;

/// The most bytes of a result that hooks see.
const MAX_RESULT_BYTES: usize = 256 << 10;
/// The most bytes of a title, a name or a kind.
const MAX_WORD_BYTES: usize = 1000;
/// The most files of one call.
const MAX_PATHS: usize = 100;

/// Arguments by their neutral name, and the names that agents use for them.
const ARGUMENT_NAMES: [(&str, &[&str]); 8] = [
    ("command", &["command", "cmd", "script"]),
    ("cwd", &["cwd", "workdir", "working_directory", "workingDirectory", "dir_path"]),
    (
        "path",
        &["path", "filePath", "file_path", "filepath", "absolute_path", "absolutePath", "abs_path"],
    ),
    ("content", &["content", "contents", "file_text"]),
    ("pattern", &["pattern", "query", "regex"]),
    ("glob", &["glob", "include"]),
    ("url", &["url", "uri"]),
    ("edits", &["edits"]),
];
/// Names of the parts of an edit in agents.
const EDIT_NAMES: [(&str, &[&str]); 3] = [
    ("old", &["oldString", "old_string", "oldText", "old"]),
    ("new", &["newString", "new_string", "newText", "new"]),
    ("all", &["replaceAll", "replace_all", "all"]),
];
/// Names of tools that write a whole file.
const WRITE_NAMES: [&str; 2] = ["write", "write_file"];
/// The name of the board's server, and how some agents begin the names of its tools.
const BOARD_PREFIX: &str = "gambrel_";

/// The state of a tool call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallStatus {
    /// It has not ended.
    #[default]
    Open,
    /// It has ended well.
    Completed,
    /// It has failed, or was refused.
    Failed,
}

/// A tool call as the agent has described it so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AcpToolCall {
    /// The agent's id of the call.
    pub id: String,
    /// How far it is.
    pub status: CallStatus,
    kind: String,
    name: String,
    title: String,
    input: Option<Value>,
    /// The bytes of the input as text.
    input_bytes: usize,
    /// What it gave so far, as text.
    result: String,
    /// The files that the agent names beside the input.
    paths: Vec<String>,
    /// The changes that the agent shows beside the input, each as its old and new text.
    diffs: Vec<(String, String)>,
}

impl AcpToolCall {
    /// A call that is not described yet.
    pub fn new(id: &str) -> Self {
        Self { id: id.to_owned(), ..Self::default() }
    }

    /// Takes over what an update or a request says. The newest word counts.
    pub fn merge(&mut self, fields: &Value) {
        let text = |key: &str| {
            let text = fields[key].as_str().filter(|text| !text.is_empty())?;
            Some(truncate_bytes(text, MAX_WORD_BYTES, "…"))
        };
        let title = text("title");
        if self.name.is_empty() {
            let named = text("name").or_else(|| title.clone().filter(|title| is_word(title)));
            self.name = named.unwrap_or_default();
        }
        self.title = title.unwrap_or_else(|| std::mem::take(&mut self.title));
        // A request about another permission of the same call has no kind of its own.
        if let Some(kind) = text("kind").filter(|kind| kind != "other" || self.kind.is_empty()) {
            self.kind = kind;
        }
        match fields["status"].as_str() {
            Some("completed") => self.status = CallStatus::Completed,
            Some("failed") => self.status = CallStatus::Failed,
            _ => {}
        }
        if let Some(input) = fields.get("rawInput").filter(|input| self.is_newer(input)) {
            self.input_bytes = input.to_string().len();
            self.input = Some(input.clone());
        }
        if let Some(result) = read_result(fields) {
            self.result = truncate_bytes(&result, MAX_RESULT_BYTES, "…");
        }
        let paths = find_paths(fields);
        if !paths.is_empty() {
            self.paths = paths;
        }
        let diffs = read_diffs(fields);
        if !diffs.is_empty() {
            self.diffs = diffs;
        }
    }

    /// Whether an input says more than the known one. An empty input says nothing.
    fn is_newer(&self, input: &Value) -> bool {
        !input.is_null() && (self.input.is_none() || !is_empty_object(input))
    }

    /// How many bytes it holds.
    pub fn weight(&self) -> usize {
        let diffs: usize = self.diffs.iter().map(|(old, new)| old.len() + new.len()).sum();
        self.input_bytes + self.result.len() + diffs
    }

    /// Forgets the input and the result of a call that has ended.
    pub fn forget(&mut self) {
        (self.input, self.input_bytes) = (None, 0);
        (self.result, self.diffs) = (String::new(), Vec::new());
    }

    /// The input as the agent wrote it.
    pub fn input(&self) -> Option<&Value> {
        self.input.as_ref()
    }

    /// The same call with the input of one request.
    pub fn with_input(&self, input: Option<Value>) -> Self {
        Self { input, ..self.clone() }
    }

    /// Whether the agent has not said what the call does, or not in a way that hooks can judge: a call
    /// that needs arguments and has none is not described yet, and hooks expect one file per call.
    pub fn is_blind(&self) -> bool {
        let is_about_files = matches!(self.kind.as_str(), "read" | "edit" | "delete" | "move");
        if is_about_files && self.paths.len() > 1 {
            return true;
        }
        let needs_arguments =
            matches!(self.kind.as_str(), "execute" | "read" | "edit" | "search" | "fetch");
        match &self.input {
            None => true,
            Some(input) => is_empty_object(input) && needs_arguments,
        }
    }

    /// The call in neutral words.
    pub fn to_tool_use(&self) -> ToolUse {
        let args = self.build_args();
        let is_write = args.contains_key("content") && !args.contains_key("edits");
        let tool = match self.kind.as_str() {
            "execute" => "shell",
            "edit" if is_write => "write",
            "edit" | "delete" | "move" => "edit",
            kind @ ("read" | "search" | "fetch") => kind,
            _ => "",
        };
        let result = self.result.clone();
        let is_failed = self.status == CallStatus::Failed;
        ToolUse {
            tool: tool.to_owned(),
            name: self.build_name(),
            args: Value::Object(args),
            id: self.id.clone(),
            error: is_failed.then(|| result.clone()),
            output: (!is_failed).then_some(result),
            ..ToolUse::default()
        }
    }

    /// The tool's name: as the agent says, else its kind, else its title.
    fn build_name(&self) -> String {
        if let Some(tool) = self.name.strip_prefix(BOARD_PREFIX) {
            return mcp_tool_name(BOARD_SERVER, tool);
        }
        if let Some((tool, server)) = parse_server_title(&self.title) {
            return mcp_tool_name(server, tool);
        }
        let kind = Some(&self.kind).filter(|kind| !kind.is_empty() && *kind != "other");
        let words = [Some(&self.name), kind, Some(&self.title)];
        words.into_iter().flatten().find(|word| !word.is_empty()).cloned().unwrap_or_default()
    }

    fn build_args(&self) -> Map<String, Value> {
        let mut args = match &self.input {
            Some(Value::Object(fields)) => fields.clone(),
            Some(Value::String(text)) if self.kind == "execute" => {
                Map::from_iter([("command".to_owned(), json!(text))])
            }
            Some(other) => Map::from_iter([("input".to_owned(), other.clone())]),
            None => Map::from_iter([("title".to_owned(), json!(self.title))]),
        };
        // Only kinds whose arguments have neutral names.
        if matches!(self.kind.as_str(), "" | "other" | "think" | "switch_mode") {
            return args;
        }
        for (neutral, names) in ARGUMENT_NAMES {
            rename(&mut args, neutral, names);
        }
        if let Some(command) = args.get_mut("command") {
            *command = join_command(command);
        }
        Self::add_edits(&mut args);
        self.add_diffs(&mut args);
        if !args.contains_key("path")
            && let Some(path) = self.paths.first()
        {
            args.insert("path".to_owned(), json!(path));
        }
        if self.paths.len() > 1 {
            args.entry("paths").or_insert_with(|| json!(self.paths));
        }
        args
    }

    /// The edits of an edit: a list, or one pair of texts.
    fn add_edits(args: &mut Map<String, Value>) {
        if let Some(Value::Array(edits)) = args.get_mut("edits") {
            for edit in edits.iter_mut().filter_map(Value::as_object_mut) {
                EDIT_NAMES.iter().for_each(|(neutral, names)| rename(edit, neutral, names));
            }
            return;
        }
        let mut edit = Map::new();
        for (neutral, names) in EDIT_NAMES {
            if let Some(value) = names.iter().find_map(|name| args.remove(*name)) {
                edit.insert(neutral.to_owned(), value);
            }
        }
        if !edit.is_empty() {
            args.insert("edits".to_owned(), json!([edit]));
        }
    }

    /// The changes that the agent shows, where the input has none. Some agents ask about a file with
    /// a path alone.
    fn add_diffs(&self, args: &mut Map<String, Value>) {
        if self.kind != "edit" || args.contains_key("content") || args.contains_key("edits") {
            return;
        }
        let is_write = WRITE_NAMES.contains(&self.name.as_str());
        match self.diffs.as_slice() {
            [] => {}
            [(old, new)] if is_write || old.is_empty() => {
                args.insert("content".to_owned(), json!(new));
            }
            diffs => {
                let edit = |(old, new): &(String, String)| json!({"old": old, "new": new});
                args.insert("edits".to_owned(), diffs.iter().map(edit).collect());
            }
        }
    }
}

/// The changes of files that an update shows.
fn read_diffs(fields: &Value) -> Vec<(String, String)> {
    let parts = fields["content"].as_array().into_iter().flatten();
    let diffs = parts.filter(|part| part["type"] == "diff");
    let text = |diff: &Value, key: &str| diff[key].as_str().unwrap_or_default().to_owned();
    diffs.map(|diff| (text(diff, "oldText"), text(diff, "newText"))).collect()
}

/// Whether an input has no fields.
pub fn is_empty_object(input: &Value) -> bool {
    input.as_object().is_some_and(Map::is_empty)
}

/// The different files that an update names beside the input.
fn find_paths(fields: &Value) -> Vec<String> {
    let parts = ["content", "locations"].iter().filter_map(|key| fields[*key].as_array()).flatten();
    let mut paths: Vec<String> = Vec::new();
    for path in parts.filter_map(|part| part["path"].as_str()) {
        let path = truncate_bytes(path, MAX_WORD_BYTES, "…");
        if paths.len() < MAX_PATHS && !paths.iter().any(|known| is_same_file(known, &path)) {
            paths.push(path);
        }
    }
    paths
}

/// Whether two paths are equal, or one is the other from a folder.
fn is_same_file(one: &str, other: &str) -> bool {
    let is_end = |whole: &str, end: &str| {
        whole.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    is_end(one, other) || is_end(other, one)
}

/// What a call gave, as text, if an update says it.
fn read_result(fields: &Value) -> Option<String> {
    let parts = fields["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = parts.filter_map(|part| part["content"]["text"].as_str()).collect();
    if !texts.is_empty() {
        return Some(texts.join("\n"));
    }
    let output = fields.get("rawOutput").filter(|output| !output.is_null())?;
    let inner = ["output", "error"].iter().find_map(|key| output[*key].as_str());
    let text = output.as_str().or(inner);
    Some(text.map_or_else(|| output.to_string(), str::to_owned))
}

/// Whether a title is the name of a tool.
fn is_word(title: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !title.is_empty() && title.chars().all(is_part)
}

/// Reads `TOOL (SERVER MCP Server)`, with more text behind it or not.
fn parse_server_title(title: &str) -> Option<(&str, &str)> {
    let (tool, rest) = title.split_once(" (")?;
    let (server, _) = rest.split_once(" MCP Server)")?;
    (is_word(tool) && is_word(server)).then_some((tool, server))
}

fn rename(args: &mut Map<String, Value>, neutral: &str, names: &[&str]) {
    if args.contains_key(neutral) {
        return;
    }
    if let Some(value) = names.iter().find_map(|name| args.remove(*name)) {
        args.insert(neutral.to_owned(), value);
    }
}

/// A command as text. Some agents send its words; a shell's own text is taken out of them.
fn join_command(command: &Value) -> Value {
    let Some(words) = command.as_array() else { return command.clone() };
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    match words.as_slice() {
        [_, "-c" | "-lc", text] => json!(text),
        _ => json!(words.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{AcpToolCall, CallStatus};
    use crate::agent::ToolUse;

    fn translate(fields: &Value) -> ToolUse {
        let mut call = AcpToolCall::new("1");
        call.merge(fields);
        call.to_tool_use()
    }

    #[test]
    fn a_call_about_several_files_cannot_be_judged_by_one() {
        let patch = |paths: &[&str]| {
            let diff = |path: &&str| json!({"type": "diff", "path": path, "newText": "x"});
            let content: Vec<Value> = paths.iter().map(diff).collect();
            let mut call = AcpToolCall::new("1");
            call.merge(&json!({"kind": "edit", "rawInput": {"patch": "x"}, "content": content,
                "locations": [{"path": "/w/a"}]}));
            call
        };
        assert!(!patch(&["/w/a"]).is_blind());
        assert!(!patch(&["a"]).is_blind());
        let call = patch(&["/w/a", "/w/.env"]);
        assert!(call.is_blind());
        assert_eq!(call.to_tool_use().args["paths"], json!(["/w/a", "/w/.env"]));
    }

    #[test]
    fn translates_kinds_and_arguments() {
        let cases = [
            (
                json!({"kind": "execute", "title": "bash", "rawInput": {"command": "ls", "workdir": "/w"}}),
                ("shell", "bash", json!({"command": "ls", "cwd": "/w"})),
            ),
            (
                json!({"kind": "execute", "title": "List files", "rawInput": {"command": ["bash", "-lc", "ls -l"]}}),
                ("shell", "execute", json!({"command": "ls -l"})),
            ),
            (
                json!({"kind": "edit", "title": "write", "rawInput": {"filePath": "/a", "content": "x"}}),
                ("write", "write", json!({"path": "/a", "content": "x"})),
            ),
            (
                json!({"kind": "edit", "title": "edit", "rawInput": {"filePath": "/a", "oldString": "x", "newString": "y"}}),
                ("edit", "edit", json!({"path": "/a", "edits": [{"old": "x", "new": "y"}]})),
            ),
            (
                json!({"kind": "edit", "rawInput": {"file_path": "/a", "edits": [{"old_string": "x", "new_string": "y", "replace_all": true}]}}),
                (
                    "edit",
                    "edit",
                    json!({"path": "/a", "edits": [{"old": "x", "new": "y", "all": true}]}),
                ),
            ),
            (
                json!({"kind": "delete", "title": "Delete a", "rawInput": {"path": "/a"}}),
                ("edit", "delete", json!({"path": "/a"})),
            ),
            (
                json!({"kind": "fetch", "title": "webfetch", "rawInput": {"url": "https://a"}}),
                ("fetch", "webfetch", json!({"url": "https://a"})),
            ),
            (
                json!({"kind": "other", "title": "gambrel_task-add", "rawInput": {"tasks": []}}),
                ("", "mcp__gambrel__task-add", json!({"tasks": []})),
            ),
            (
                json!({"kind": "other", "title": "task-add (gambrel MCP Server): {}", "rawInput": {}}),
                ("", "mcp__gambrel__task-add", json!({})),
            ),
        ];
        for (fields, (tool, name, args)) in cases {
            let found = translate(&fields);
            let found = (found.tool.as_str(), found.name.as_str(), found.args);
            assert_eq!(found, (tool, name, args.clone()), "{fields}");
        }
    }

    #[test]
    fn the_newest_word_counts_and_the_first_name_stays() {
        let mut call = AcpToolCall::new("1");
        call.merge(&json!({"kind": "execute", "title": "bash", "rawInput": {}}));
        assert!(call.is_blind());
        call.merge(&json!({"title": "Removes all", "rawInput": {"command": "rm -r ."}}));
        assert!(!call.is_blind());
        call.merge(&json!({"status": "completed", "rawInput": null}));
        let tool = call.to_tool_use();
        assert_eq!((tool.name.as_str(), &tool.args["command"]), ("bash", &json!("rm -r .")));
        assert_eq!(call.status, CallStatus::Completed);
    }

    #[test]
    fn a_request_about_a_file_shows_its_change() {
        // As opencode asks.
        let ask = |title: &str, input: Value| {
            let mut call = AcpToolCall::new("1");
            call.merge(&json!({"kind": "edit", "title": title, "rawInput": {}}));
            let diff = json!({"type": "diff", "path": "/a", "oldText": "x", "newText": "y"});
            let fields =
                json!({"kind": "edit", "title": "/a", "rawInput": input, "content": [diff]});
            call.merge(&fields);
            call.to_tool_use()
        };
        let written = ask("write", json!({"filepath": "/a", "diff": "-x+y"}));
        let args = json!({"path": "/a", "diff": "-x+y", "content": "y"});
        assert_eq!((written.tool.as_str(), written.args), ("write", args));
        let edited = ask("edit", json!({"filepath": "/a", "diff": "-x+y"}));
        let args = json!({"path": "/a", "diff": "-x+y", "edits": [{"old": "x", "new": "y"}]});
        assert_eq!((edited.tool.as_str(), edited.args), ("edit", args));
        let whole = ask("edit", json!({"filePath": "/a", "oldString": "x", "newString": "z"}));
        assert_eq!(whole.args["edits"], json!([{"old": "x", "new": "z"}]));
    }

    #[test]
    fn an_empty_input_and_an_unknown_kind_say_nothing_new() {
        let mut call = AcpToolCall::new("1");
        call.merge(&json!({"kind": "read", "title": "read", "rawInput": {"filePath": "/a"}}));
        call.merge(&json!({"kind": "other", "title": "read", "rawInput": {}}));
        assert!(!call.is_blind());
        let tool = call.to_tool_use();
        assert_eq!((tool.tool.as_str(), &tool.args), ("read", &json!({"path": "/a"})));
    }

    #[test]
    fn a_call_without_input_is_blind() {
        let mut call = AcpToolCall::new("1");
        let shown = json!([{"type": "diff", "path": "/a", "newText": "y"}]);
        call.merge(&json!({"kind": "edit", "title": "Writing to a", "content": shown}));
        assert!(call.is_blind());
        let args = call.to_tool_use().args;
        assert_eq!(args, json!({"title": "Writing to a", "path": "/a", "content": "y"}));
        let mut list = AcpToolCall::new("2");
        list.merge(&json!({"kind": "other", "title": "gambrel_task-list", "rawInput": {}}));
        assert!(!list.is_blind());
    }

    #[test]
    fn reads_results() {
        let text = json!([{"type": "content", "content": {"type": "text", "text": "done"}}]);
        let done = translate(&json!({"status": "completed", "content": text}));
        assert_eq!((done.output.as_deref(), done.error), (Some("done"), None));
        let failed = translate(&json!({"status": "failed", "rawOutput": {"error": "no"}}));
        assert_eq!((failed.output, failed.error.as_deref()), (None, Some("no")));
    }
}
