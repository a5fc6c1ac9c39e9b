//! Reads files with cases for hooks: the public part of the format of `contracts/`. An unknown key
//! is an error, because a check that is not made must not look like one that holds.

use std::collections::BTreeMap;
use std::path::Path;

use gambrel_document::{Document, DocumentFields, DocumentLanguage, DocumentNode};
use gambrel_model::{Complaint, Severity};
use serde_json::Value;

const FILE_KEYS: &[&str] = &["project", "copy", "pass_env", "cases"];
const CASE_KEYS: &[&str] =
    &["name", "env", "pass_env", "copy", "files", "hooks", "fire", "expect", "steps"];
const STEP_KEYS: &[&str] = &["fire", "expect"];
const FIRE_KEYS: &[&str] = &["from", "event", "with", "args"];
const STUB_KEYS: &[&str] =
    &["exit", "stdout", "stderr", "signal", "missing", "fails_first", "plain_file"];
const EXPECT_KEYS: &[&str] = &[
    "ran",
    "skipped",
    "ruling",
    "said",
    "reasons",
    "context",
    "notices",
    "losses",
    "decision",
    "reply",
    "complaints",
    "files",
    "absent",
];
const REPLY_KEYS: &[&str] = &["json", "like", "without", "text", "stderr", "exit"];
/// Keys that only the tests of gambrel itself use. A case with one of them is not run.
const INTERNAL_KEYS: &[&str] =
    &["proves", "only", "run", "given", "hangs", "output", "status", "answers"];

/// A file with cases.
#[derive(Debug, Default)]
pub struct CaseFile {
    /// The folder whose hooks are tested, relative to the file.
    pub project: Option<String>,
    /// The cases, in order.
    pub cases: Vec<HookCase>,
}

/// One case: files, stubs and events, with what is expected.
#[derive(Debug, Default)]
pub struct HookCase {
    /// What it shows.
    pub name: String,
    /// Why it is not run, if it is not.
    pub skip: Option<String>,
    /// Variables for the firings.
    pub env: BTreeMap<String, String>,
    /// Names of variables that are passed on.
    pub pass_env: Vec<String>,
    /// Files and folders of the project that are copied.
    pub copy: Vec<String>,
    /// Files by path, with their text. `None` tests the hooks of the project.
    pub files: Option<BTreeMap<String, String>>,
    /// Scripts that stand in for those of the project.
    pub stubs: BTreeMap<String, StubScript>,
    /// The events, in order. They share a session.
    pub steps: Vec<CaseStep>,
}

/// How a script behaves that stands in for another.
#[derive(Debug, Default)]
pub struct StubScript {
    /// Its exit code.
    pub exit: i64,
    /// What it prints.
    pub stdout: String,
    /// What it prints on stderr.
    pub stderr: String,
    /// The signal that ends it, instead of an exit.
    pub signal: Option<i64>,
    /// There is no such file.
    pub missing: bool,
    /// How often it fails before it behaves like this.
    pub fails_first: u64,
    /// The file is not executable.
    pub plain_file: bool,
}

/// One event and what is expected.
#[derive(Debug, Default)]
pub struct CaseStep {
    /// The caller's dialect.
    pub from: String,
    /// The event, or the name of an event whose sample is taken.
    pub event: Value,
    /// Fields that replace those of the sample.
    pub with: Value,
    /// More arguments of `fire`.
    pub args: Vec<String>,
    /// What is expected.
    pub expect: CaseExpect,
}

/// Expectations. What is not named is not checked.
#[derive(Debug, Default)]
pub struct CaseExpect {
    /// Hooks that ran, in order, and no other.
    pub ran: Option<Vec<String>>,
    /// Hooks that did not run, and a part of the reason.
    pub skipped: BTreeMap<String, String>,
    /// The merged ruling.
    pub ruling: Option<String>,
    /// The ruling that the caller receives.
    pub for_caller: Option<String>,
    /// Lists of the decision, by key, as parts of texts in order: `reasons`, `context`, `notices`,
    /// `complaints`.
    pub texts: BTreeMap<&'static str, Vec<String>>,
    /// What was lost.
    pub losses: Vec<String>,
    /// A pattern of the decision.
    pub decision: Option<Value>,
    /// The native reply.
    pub reply: Option<ReplyExpect>,
    /// Files that are there afterwards, and a part of their text.
    pub files: BTreeMap<String, String>,
    /// Files that are not there.
    pub absent: Vec<String>,
}

/// What is expected of the native reply.
#[derive(Debug, Default)]
pub struct ReplyExpect {
    /// Exactly this JSON.
    pub json: Option<Value>,
    /// A pattern of the JSON.
    pub like: Option<Value>,
    /// Dotted keys that are absent.
    pub without: Vec<String>,
    /// Exactly this text.
    pub text: Option<String>,
    /// A part of stderr.
    pub stderr: Option<String>,
    /// The exit code.
    pub exit: Option<i64>,
}

/// Reads a file. Complaints that make a case wrong are errors.
pub fn read_case_file(path: &Path, text: &str) -> Result<CaseFile, Vec<Complaint>> {
    let document = match Document::parse(path, text, DocumentLanguage::Yaml) {
        Ok(document) => document,
        Err(complaint) => return Err(vec![complaint]),
    };
    let mut reader = CaseReader { document: &document, complaints: document.complaints.clone() };
    let file = reader.read_file(&document.root);
    let is_wrong = |complaint: &Complaint| complaint.severity > Severity::Note;
    match reader.complaints.iter().any(is_wrong) {
        true => Err(reader.complaints),
        false => Ok(file),
    }
}

struct CaseReader<'d> {
    document: &'d Document<'d>,
    complaints: Vec<Complaint>,
}

impl<'d> CaseReader<'d> {
    fn read_file(&mut self, root: &'d DocumentNode<'d>) -> CaseFile {
        let mut fields = DocumentFields::new(self.document, root);
        fields.warn_unknown_keys(FILE_KEYS);
        let project = fields.read_text("project");
        let copy = fields.read_texts("copy").unwrap_or_default();
        let pass_env = fields.read_texts("pass_env").unwrap_or_default();
        let list = fields.node("cases");
        if list.and_then(DocumentNode::items).is_none() {
            fields.add_error(
                "cases",
                "`cases` should be a list",
                "begin with `cases:` and `- name:`",
            );
        }
        self.complaints.append(&mut fields.complaints);
        let nodes = list.and_then(DocumentNode::items).unwrap_or_default();
        let mut cases: Vec<HookCase> = nodes.iter().map(|node| self.read_case(node)).collect();
        for case in &mut cases {
            case.copy.extend(copy.iter().cloned());
            case.pass_env.extend(pass_env.iter().cloned());
        }
        CaseFile { project, cases }
    }

    fn read_case(&mut self, node: &'d DocumentNode<'d>) -> HookCase {
        let mut fields = DocumentFields::new(self.document, node);
        fields.warn_unknown_keys(&[CASE_KEYS, INTERNAL_KEYS].concat());
        if !fields.has_key("name") {
            fields.add_error("name", "this case has no `name`", "say what it shows");
        }
        let name = fields.read_text("name").unwrap_or_default();
        let (pass_env, copy) = (fields.read_texts("pass_env"), fields.read_texts("copy"));
        let (files, hooks) = (fields.node("files"), fields.node("hooks"));
        let (env, steps) = (fields.node("env"), fields.node("steps"));
        let is_internal = internal_key(node);
        if fields.node("fire").is_none() && steps.is_none() && is_internal.is_none() {
            fields.add_error("fire", "this case has no `fire` and no `steps`", "name the event");
        }
        self.complaints.append(&mut fields.complaints);

        let mut case = HookCase {
            name,
            skip: is_internal.map(|key| format!("only gambrel's own tests use `{key}`")),
            env: env.map(read_texts_by_name).unwrap_or_default(),
            pass_env: pass_env.unwrap_or_default(),
            copy: copy.unwrap_or_default(),
            files: files.map(read_texts_by_name),
            ..HookCase::default()
        };
        for (key, stub) in hooks.map(DocumentNode::entries).unwrap_or_default() {
            let path = key.text().unwrap_or_default().to_owned();
            if path.starts_with('/') || path.starts_with("mcp:") {
                case.skip = Some("only gambrel's own tests have servers".to_owned());
            }
            let stub = self.read_stub(stub, &mut case.skip);
            case.stubs.insert(path, stub);
        }
        let has_single = node.get("fire").is_some();
        let listed = steps.and_then(DocumentNode::items).unwrap_or_default();
        let nodes = has_single.then_some(node).into_iter().chain(listed);
        for (index, step) in nodes.enumerate() {
            let is_single = has_single && index == 0;
            let step = self.read_step(step, is_single, &mut case.skip);
            case.steps.push(step);
        }
        case
    }

    fn read_stub(&mut self, node: &'d DocumentNode<'d>, skip: &mut Option<String>) -> StubScript {
        let mut fields = DocumentFields::new(self.document, node);
        fields.warn_unknown_keys(&[STUB_KEYS, INTERNAL_KEYS].concat());
        note_internal(node, skip);
        let stub = StubScript {
            exit: fields.read_integer("exit").unwrap_or_default(),
            stdout: fields.read_text("stdout").unwrap_or_default(),
            stderr: fields.read_text("stderr").unwrap_or_default(),
            signal: fields.read_integer("signal"),
            missing: fields.read_flag("missing").unwrap_or_default(),
            fails_first: fields.read_count("fails_first").unwrap_or_default(),
            plain_file: fields.read_flag("plain_file").unwrap_or_default(),
        };
        self.complaints.append(&mut fields.complaints);
        stub
    }

    fn read_step(
        &mut self,
        node: &'d DocumentNode<'d>,
        is_single: bool,
        skip: &mut Option<String>,
    ) -> CaseStep {
        let mut fields = DocumentFields::new(self.document, node);
        if !is_single {
            fields.warn_unknown_keys(&[STEP_KEYS, INTERNAL_KEYS].concat());
            note_internal(node, skip);
        }
        let (fire, expect) = (fields.node("fire"), fields.node("expect"));
        self.complaints.append(&mut fields.complaints);
        let expect = expect.map(|node| self.read_expect(node, skip)).unwrap_or_default();
        let Some(fire) = fire else { return CaseStep { expect, ..CaseStep::default() } };

        let mut fields = DocumentFields::new(self.document, fire);
        fields.warn_unknown_keys(FIRE_KEYS);
        for key in ["from", "event"] {
            if !fields.has_key(key) {
                fields.add_error(key, format!("`fire` has no `{key}`"), "write `from` and `event`");
            }
        }
        let event = fields.node("event").map(DocumentNode::to_value).unwrap_or_default();
        let with = fields.node("with").map(DocumentNode::to_value).unwrap_or_default();
        if !with.is_null() && !event.is_string() {
            let help = "write the name of an event, or put the fields into `event`";
            fields.add_error("with", "`with` changes a sample: `event` is a whole event", help);
        }
        let from = fields.read_text("from").unwrap_or_default();
        let args = fields.read_texts("args").unwrap_or_default();
        self.complaints.append(&mut fields.complaints);
        CaseStep { from, event, with, args, expect }
    }

    fn read_expect(&mut self, node: &'d DocumentNode<'d>, skip: &mut Option<String>) -> CaseExpect {
        let mut fields = DocumentFields::new(self.document, node);
        fields.warn_unknown_keys(&[EXPECT_KEYS, INTERNAL_KEYS].concat());
        note_internal(node, skip);
        let mut texts = BTreeMap::new();
        for key in ["reasons", "context", "notices", "complaints"] {
            texts.extend(fields.read_texts(key).map(|list| (key, list)));
        }
        let by_name = |key: &str| node.get(key).map(read_texts_by_name).unwrap_or_default();
        let expect = CaseExpect {
            ran: fields.read_texts("ran"),
            skipped: by_name("skipped"),
            ruling: fields.read_text("ruling"),
            for_caller: fields.read_text("said"),
            texts,
            losses: fields.read_texts("losses").unwrap_or_default(),
            decision: fields.node("decision").map(DocumentNode::to_value),
            reply: None,
            files: by_name("files"),
            absent: fields.read_texts("absent").unwrap_or_default(),
        };
        if expect.files.keys().chain(&expect.absent).any(|path| path.starts_with("../")) {
            *skip = Some("only gambrel's own tests look outside of the project".to_owned());
        }
        let reply = fields.node("reply");
        self.complaints.append(&mut fields.complaints);
        CaseExpect { reply: reply.map(|node| self.read_reply(node)), ..expect }
    }

    fn read_reply(&mut self, node: &'d DocumentNode<'d>) -> ReplyExpect {
        let mut fields = DocumentFields::new(self.document, node);
        fields.warn_unknown_keys(REPLY_KEYS);
        let reply = ReplyExpect {
            json: fields.node("json").map(DocumentNode::to_value),
            like: fields.node("like").map(DocumentNode::to_value),
            without: fields.read_texts("without").unwrap_or_default(),
            text: fields.read_text("text"),
            stderr: fields.read_text("stderr"),
            exit: fields.read_integer("exit"),
        };
        self.complaints.append(&mut fields.complaints);
        reply
    }
}

/// The key of a map that only gambrel's own tests use, if it makes a difference here.
fn internal_key(node: &DocumentNode) -> Option<&'static str> {
    let is_real =
        |node: &DocumentNode| node.get("way").and_then(DocumentNode::text) == Some("real");
    INTERNAL_KEYS.iter().copied().filter(|key| *key != "proves").find(|key| match node.get(key) {
        None => false,
        Some(only) if *key == "only" => !is_real(only),
        Some(_) => true,
    })
}

fn note_internal(node: &DocumentNode, skip: &mut Option<String>) {
    if let Some(key) = internal_key(node) {
        skip.get_or_insert_with(|| format!("only gambrel's own tests use `{key}`"));
    }
}

/// A map of texts. Other scalars are read as they are written.
fn read_texts_by_name(node: &DocumentNode) -> BTreeMap<String, String> {
    let text = |value: &DocumentNode| match value.to_value() {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let pairs = node.entries().iter();
    pairs.filter_map(|(key, value)| Some((key.text()?.to_owned(), text(value)))).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::read_case_file;

    fn errors(text: &str) -> String {
        let complaints = read_case_file(Path::new("a.case.yaml"), text).unwrap_err();
        complaints.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn reads_cases_with_one_event_and_with_several() {
        let text = "cases:
  - name: one
    fire: {from: claude, event: PreToolUse, with: {tool_input: {command: ls}}}
    expect: {ruling: deny, reasons: [no]}
  - name: several
    hooks: {guard.sh: {exit: 2}}
    steps:
      - fire: {from: omp, event: {type: tool_call}}
      - fire: {from: omp, event: {type: tool_call}}
        expect: {ran: [guard.sh]}
  - {name: internal, run: {args: [run]}}
";
        let file = read_case_file(Path::new("a.case.yaml"), text).unwrap();
        assert_eq!(file.cases[0].steps.len(), 1);
        assert_eq!(file.cases[0].steps[0].with["tool_input"]["command"], "ls");
        assert_eq!(file.cases[1].steps.len(), 2);
        assert_eq!(file.cases[1].stubs["guard.sh"].exit, 2);
        assert!(file.cases[2].skip.as_ref().unwrap().contains("`run`"));
    }

    #[test]
    fn names_mistakes_with_their_place() {
        let wrong = "cases:\n  - name: x\n    fire: {from: claude, event: Stop}\n    expect: {rulling: deny}\n";
        let found = errors(wrong);
        assert!(found.contains("4:14: unknown field `rulling`"), "{found}");
        assert!(found.contains("did you mean `ruling`?"), "{found}");
        assert!(errors("cases:\n  - {name: x}\n").contains("no `fire`"));
        assert!(errors("cases: {}\n").contains("`cases` should be a list"));
        assert!(errors("cases:\n  - {fire: {from: a, event: b}}\n").contains("no `name`"));
        let mixed = "cases:\n  - {name: x, fire: {from: a, event: {b: 1}, with: {c: 1}}}\n";
        assert!(errors(mixed).contains("`with` changes a sample"));
    }
}
