//! From the definition of a hook to the files that it is made of.

use std::fs;
use std::path::{Path, PathBuf};

use gambrel_model::Hook;
use gambrel_model::text::contains_word;
use serde_json::Value;

use super::collector::{Collector, Coverage, Naming};
use super::script::{self, Language};
use super::shell::{Command, Input, ShellReader};
use super::state::ShellState;
use super::value::Text;

/// What the look at a hook needs to know beside its definition.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The project's folder, links resolved.
    pub(super) root: PathBuf,
    /// The folder that the hook runs in.
    pub(super) here: PathBuf,
    /// The folder that hooks are told as the project's.
    pub(super) project: PathBuf,
    /// The folder of the plugin that it belongs to.
    pub(super) plugin: PathBuf,
    /// The dialect's variables that name the project, and those that name the plugin.
    pub(super) variables: (&'static [&'static str], &'static [&'static str]),
    /// The folders that an unknown beginning of a name may stand for.
    pub(super) unknown: Vec<PathBuf>,
    /// The user's home.
    pub(super) home: Option<PathBuf>,
    /// The folders of `PATH` that belong to the project.
    pub(super) path: Vec<PathBuf>,
    /// Patterns of the user's for files that belong to every hook of a project.
    pub(super) trust_files: Vec<String>,
    /// Whether `here` is the folder that the definition's own `cwd` leads to.
    pub(super) here_is_final: bool,
}

impl Surroundings {
    /// Of a hook that runs where it is defined. `path` is the `PATH` of its caller.
    pub fn from_hook(
        hook: &Hook,
        home: Option<PathBuf>,
        path: &str,
        trust_files: &[String],
    ) -> Self {
        let properties = &hook.dialect.properties;
        let base = &hook.draft.source.base;
        let root = fs::canonicalize(base).unwrap_or_else(|_| base.clone());
        let real = |path: &str| fs::canonicalize(path).unwrap_or_else(|_| path.into());
        let inside = |entry: &str| {
            let folder = super::collector::normalize_path(&root.join(entry));
            (!entry.is_empty() && folder.starts_with(&root)).then_some(folder)
        };
        let plugin = properties.plugin_dir_key.and_then(|key| hook.draft.config[key].as_str());
        Self {
            here: root.clone(),
            project: root.clone(),
            plugin: plugin.map_or_else(|| root.clone(), real),
            variables: (properties.project_dir_vars, properties.path_vars),
            unknown: vec![root.clone()],
            home,
            path: path.split(':').filter_map(inside).collect(),
            trust_files: trust_files.to_vec(),
            here_is_final: false,
            root,
        }
    }

    /// Of a hook that runs in another folder, or for another project. `None` where nothing of it
    /// can lead elsewhere.
    pub(crate) fn for_other_folder(hook: &Hook, here: &Path, project: &Path) -> Option<Self> {
        let around = Self::from_hook(hook, None, "", &[]);
        let real = |folder: &Path| fs::canonicalize(folder).ok();
        let (here, project) = (real(here)?, real(project).unwrap_or_else(|| around.root.clone()));
        if here == around.root && project == around.root {
            return None;
        }
        // An expansion may stand for any folder on the way up, such as that of another repository.
        let above = here.ancestors().skip(1).take_while(|f| !around.root.starts_with(f));
        let mut unknown: Vec<PathBuf> = above.map(Path::to_owned).collect();
        unknown.extend([here.clone(), project.clone()]);
        unknown.retain(|folder| *folder != around.root);
        Some(Self { here, project, unknown, here_is_final: true, ..around })
    }

    /// The same for a folder in which nothing is.
    pub(crate) fn in_empty_folder(&self) -> Self {
        let here = self.root.join("\u{1}");
        Self { unknown: vec![here.clone()], here, here_is_final: true, ..self.clone() }
    }

    /// Whether a path belongs to the project, by its text or where links lead.
    pub(super) fn is_inside(&self, path: &Path) -> bool {
        let roots = [&self.root, &self.here, &self.project];
        let inside = |path: &Path| roots.iter().any(|root| path.starts_with(root));
        inside(path) || fs::canonicalize(path).is_ok_and(|real| inside(&real))
    }

    /// A path as messages name it.
    pub(super) fn display_path<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }
}

/// Works out what a hook is made of.
pub(crate) fn work_out(hook: &Hook, around: &Surroundings) -> Coverage {
    let config = &hook.draft.config;
    let mut collector = Collector::new(around);
    let mut state = ShellState::in_folder(&around.here);
    if let Some(cwd) = config["cwd"].as_str().filter(|_| !around.here_is_final) {
        state.change_folder(&[Text::literal(cwd)]);
    }
    let mut shell = ShellReader::new(&mut collector, state);
    set_environment(&mut shell, &config["env"]);
    read_action(&mut shell, config);
    for text in other_texts(config) {
        shell.add_named(&Text::literal(text), Naming::Guess);
    }
    if hook.draft.action == "spawn" {
        let name = config["pipeline"].as_str().unwrap_or_default();
        collector.cannot_see(&format!("the pipeline `{name}` and its stages"));
    }
    let own = config["trust_files"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let patterns: Vec<&str> = own.chain(around.trust_files.iter().map(String::as_str)).collect();
    for pattern in patterns {
        collector.add_glob(pattern.trim_start_matches("./"), &around.root, false);
    }
    collector.into_coverage()
}

/// Fields that are looked at for themselves, or that name no files.
const READ_FIELDS: &str =
    "command args argv env cwd path serverDefinition trust_files type prompt modelCommand if";

fn read_action(shell: &mut ShellReader<'_, '_>, config: &Value) {
    let command = config["command"].as_str();
    match (command, config["args"].as_array(), config["argv"].as_array()) {
        (Some(command), Some(args), _) => {
            let words = std::iter::once(command).chain(args.iter().filter_map(Value::as_str));
            follow_program(shell, words.collect());
        }
        (Some(text), None, _) => read_shell_text(shell, config, text),
        (None, _, Some(argv)) => {
            follow_program(shell, argv.iter().filter_map(Value::as_str).collect())
        }
        _ => {}
    }
    let server = &config["serverDefinition"];
    if let Some(command) = server["command"].as_str() {
        set_environment(shell, &server["env"]);
        let args = server["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
        follow_program(shell, std::iter::once(command).chain(args).collect());
    }
    if let Some(path) = config["path"].as_str() {
        for file in shell.add_named(&Text::literal(path), Naming::Code) {
            script::run(shell, &file, Language::JavaScript, &[]);
        }
    }
}

fn read_shell_text(shell: &mut ShellReader<'_, '_>, config: &Value, text: &str) {
    let language = config["shell"].as_str().unwrap_or("bash");
    if !matches!(language, "bash" | "sh" | "zsh") {
        shell.collector.cannot_see(&format!("a text for `{language}`"));
        return script::read_text(shell, Language::Other, text, &[]);
    }
    shell.read_text(&without_templates(text));
}

/// `{{name}}` is filled in when the hook runs: to the reader it is a variable that nobody has set.
fn without_templates(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((_, behind)) = after.split_once("}}") else { break };
        made.push_str(before);
        made.push_str("${GAMBREL_UNKNOWN}");
        rest = behind;
    }
    made.push_str(rest);
    made
}

/// A program with its words, without a shell.
fn follow_program(shell: &mut ShellReader<'_, '_>, words: Vec<&str>) {
    let around = shell.collector.around;
    let fill = |word: &str| {
        let put = |word: String, name: &str, folder: &Path| {
            word.replace(&format!("${{{name}}}"), &folder.display().to_string())
        };
        let (project_vars, plugin_vars) = around.variables;
        let word = project_vars
            .iter()
            .fold(word.to_owned(), |word, name| put(word, name, &around.project));
        plugin_vars.iter().fold(word, |word, name| put(word, name, &around.plugin))
    };
    let filled: Vec<String> = words.iter().map(|word| fill(word)).collect();
    let made = |word: &String| match word.contains("${") || word.contains("{{") {
        true => Text::unknown(),
        false => Text::literal(word),
    };
    let words = filled.iter().map(made).collect();
    let raw = filled.join(" ");
    shell.run(&Command { words, input: Input::Inherited, raw, is_piped: false });
}

fn set_environment(shell: &mut ShellReader<'_, '_>, env: &Value) {
    for (name, value) in env.as_object().into_iter().flatten() {
        let Some(value) = value.as_str() else { continue };
        let values = shell.expand_word(&format!("\"{}\"", value.replace('"', "\\\"")));
        shell.state.set_variable(name, values);
        shell.state.exported.insert(name.clone());
    }
}

/// Every other text of a definition: it may name a file, too.
fn other_texts(config: &Value) -> Vec<&str> {
    let fields = config.as_object().into_iter().flatten();
    let others = fields.filter(|(key, _)| !contains_word(READ_FIELDS, key));
    others.flat_map(|(_, value)| collect_texts(value)).filter(|text| !text.contains('\n')).collect()
}

fn collect_texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(collect_texts).collect(),
        Value::Object(fields) => fields.values().flat_map(collect_texts).collect(),
        _ => Vec::new(),
    }
}
