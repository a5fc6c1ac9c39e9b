//! What a simple command runs, by the name of its program.

use std::path::{Path, PathBuf};

use gambrel_model::text::{contains_word, is_variable_name};

use super::collector::Naming;
use super::shell::{Command, ShellReader};
use super::value::Text;
use super::{makefile, package, script, wrapper};

/// Print or test their arguments, or read none of them: no file of theirs counts.
const PLAIN: &str = "\
    echo printf test [ [[ true false : exit return break continue sleep kill wait umask ulimit \
    hash type which jobs date pwd basename dirname realpath readlink mktemp uname id";
/// Write, make or remove what they are given.
const WRITERS: &str = "tee touch rm rmdir mkdir unlink truncate chmod chown mkfifo shred logger";
/// Write the last thing that they are given, and read the others.
const COPIERS: &str = "cp mv ln install rsync";
/// Read what they are given and run none of it.
const READERS: &str = "\
    cat head tail grep egrep fgrep rg wc sort uniq cut tr ls stat file diff cmp md5sum sha256sum \
    shasum cksum jq yq sed git shellcheck du df less more od xxd base64 column";
/// Run files of the project by rules of their own.
const CONVENTION: &str = "\
    cargo go mvn gradle gradlew ant pytest py.test tox nox jest vitest mocha ava eslint webpack \
    vite rollup esbuild tsc turbo nx lerna docker docker-compose podman ansible-playbook \
    terraform rake invoke pre-commit lint-staged husky lefthook just task composer mix dotnet \
    prettier stylelint mypy pylint flake8 playwright cypress next gulp grunt rubocop rspec \
    phpunit bazel cmake ctest ninja meson scons nix nix-shell nix-build vagrant pulumi serverless \
    uvicorn gunicorn flask celery alembic sphinx-build mkdocs jekyll";

impl ShellReader<'_, '_> {
    /// Takes note of what a command runs.
    pub fn run(&mut self, command: &Command) {
        if !self.collector.may_step() {
            return;
        }
        let Some(first) = command.words.first() else { return };
        let Some(name) = first.as_known().map(str::to_owned) else {
            self.collector
                .cannot_see(&format!("`{}`: the program's name is computed", command.raw));
            self.add_named(first, Naming::Code);
            return self.add_arguments(command);
        };
        if name.is_empty() || self.call_function(&name, &command.words[1..]) {
            return;
        }
        if name.contains('/') {
            let files = self.add_named(first, Naming::Code);
            let plain = base_name(&name);
            if !self.by_name(plain, command) {
                self.follow_files(&files, &command.words[1..]);
                self.add_arguments(command);
            }
            return;
        }
        if !self.by_name(&name, command) {
            // `uv run x.py`
            if super::script::language_by_ending(Path::new(&name)).is_some() {
                let files = self.add_named(first, Naming::Guess);
                self.follow_files(&files, &command.words[1..]);
            }
            let files = self.find_in_path(&name);
            self.follow_files(&files, &command.words[1..]);
            self.follow_convention(&name, command);
            self.add_arguments(command);
        }
    }

    /// A program or builtin with rules of its own.
    fn by_name(&mut self, name: &str, command: &Command) -> bool {
        if contains_word(PLAIN, name) {
            // `echo x.sh | xargs sh`
            if command.is_piped {
                self.add_arguments(command);
            }
        } else if contains_word(WRITERS, name) {
            // Nothing that they are given is read.
        } else if contains_word(COPIERS, name) {
            let end = command.words.len().saturating_sub(1).max(1);
            for word in &command.words[1..end] {
                self.add_argument(word);
            }
        } else if contains_word(READERS, name) {
            self.look_up(name);
            for word in &command.words[1..] {
                self.add_argument(word);
            }
        } else {
            return self.follow_builtin(name, command)
                || wrapper::run(self, name, command)
                || self.run_interpreter(name, command)
                || package::run(self, name, command)
                || makefile::run(self, name, command);
        }
        if contains_word(PLAIN, name)
            || contains_word(WRITERS, name)
            || contains_word(COPIERS, name)
        {
            self.look_up(name);
        }
        true
    }

    /// A folder of the project in `PATH` may hold a program of any name.
    pub fn look_up(&mut self, name: &str) {
        let files = self.find_in_path(name);
        self.follow_files(&files, &[]);
    }

    fn follow_builtin(&mut self, name: &str, command: &Command) -> bool {
        let words = &command.words[1..];
        match name {
            "cd" | "pushd" => {
                if name == "pushd" {
                    self.state.left_folders.push(self.state.folders.clone());
                }
                let is_option = |word: &&Text| word.literal_head().starts_with('-');
                let targets: Vec<Text> = words.iter().filter(|w| !is_option(w)).cloned().collect();
                let home = self.collector.around.home.clone();
                match (targets.as_slice(), home) {
                    ([], _) if words.iter().any(|w| w.as_known() == Some("-")) => {
                        self.state.folder_known = false;
                    }
                    ([], Some(home)) => self.state.folders = vec![home],
                    _ => self.state.change_folder(&targets),
                }
            }
            "popd" => match self.state.left_folders.pop() {
                Some(folders) => self.state.folders = folders,
                None => self.state.folder_known = false,
            },
            "alias" => {
                let texts = words.iter().filter_map(|word| word.as_known()?.split_once('='));
                let texts: Vec<String> = texts.map(|(_, text)| text.to_owned()).collect();
                texts.iter().for_each(|text| self.read_text(text));
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                self.declare_variables(name, words)
            }
            "read" | "mapfile" | "readarray" | "getopts" | "unset" => {
                for word in words.iter().filter_map(Text::as_known).map(str::to_owned) {
                    self.state.set_unknown(&word);
                }
            }
            "set" => self.set_options(words),
            "shift" => match (&mut self.state.args, words.first().map(|w| w.as_known())) {
                (Some(args), None | Some(Some("1"))) if !args.is_empty() => drop(args.remove(0)),
                (args, _) => *args = None,
            },
            "." | "source" => self.follow_source(command),
            "eval" => self.follow_eval(command),
            "trap" => {
                if let Some(text) = words.iter().find(|w| !w.literal_head().starts_with('-')) {
                    self.evaluate_text(text, command);
                }
            }
            _ => return false,
        }
        true
    }

    /// `export X=value`. The words have been expanded, and are taken as they are.
    fn declare_variables(&mut self, name: &str, words: &[Text]) {
        let exports = name == "export" || words.iter().any(|w| w.literal_head().starts_with("-x"));
        for word in words {
            let head = word.literal_head();
            let (variable, has_value) = match head.split_once('=') {
                Some((variable, _)) => (variable.to_owned(), true),
                None => (head.to_owned(), false),
            };
            if !is_variable_name(&variable) {
                continue;
            }
            if has_value {
                self.state
                    .set_variable(&variable, vec![vec![word.without_head(variable.len() + 1)]]);
            }
            if exports {
                self.add_value(&variable);
                self.state.exported.insert(variable);
            }
        }
    }

    /// A value that programs see may name a file that they load, such as `LD_PRELOAD`.
    pub fn add_value(&mut self, variable: &str) {
        let values = self.state.vars.get(variable).cloned().into_iter().flatten().flatten();
        for value in values.collect::<Vec<_>>() {
            let words = value.as_known().unwrap_or_default().split([' ', ':']).map(str::to_owned);
            for word in words.filter(|word| word.contains('/')).collect::<Vec<_>>() {
                for file in self.add_argument(&Text::literal(&word)) {
                    script::follow_data(self, &file);
                }
            }
        }
    }

    fn set_options(&mut self, words: &[Text]) {
        let known: Vec<Option<&str>> = words.iter().map(Text::as_known).collect();
        self.state.exports_all |= known.contains(&Some("-a")) || known.contains(&Some("allexport"));
        if let Some(at) = known.iter().position(|word| *word == Some("--")) {
            self.state.args = Some(words[at + 1..].to_vec());
        } else if known.iter().flatten().any(|word| !word.starts_with(['-', '+'])) {
            self.state.args = None;
        }
    }

    fn follow_source(&mut self, command: &Command) {
        let Some(file) = command.words.get(1) else { return };
        if file.to_pattern().is_none() {
            self.collector.cannot_see(&format!("`{}`: the file's name is computed", command.raw));
        }
        let mut files = self.add_named(file, Naming::Code);
        // A bare name is looked for in PATH first.
        if let Some(name) = file.as_known().filter(|name| !name.contains('/')).map(str::to_owned) {
            files.extend(self.find_in_path(&name));
        }
        for file in files {
            script::follow_sourced(self, &file, &command.words[2..]);
        }
    }

    fn follow_eval(&mut self, command: &Command) {
        let mut text = Text::default();
        for word in &command.words[1..] {
            text.append(word);
            text.push_text(" ");
        }
        self.evaluate_text(&text, command);
    }

    pub fn evaluate_text(&mut self, text: &Text, command: &Command) {
        match text.as_known().map(str::to_owned) {
            Some(known) => self.read_text(&known),
            None => self.collector.cannot_see(&format!("`{}`: the text is computed", command.raw)),
        }
    }

    /// Programs of this name in the folders of `PATH` that belong to the project.
    pub fn find_in_path(&mut self, name: &str) -> Vec<PathBuf> {
        let (own, has_unknown) = self.state.path_folders("PATH");
        if has_unknown {
            self.collector.cannot_see("programs of a PATH that is computed");
        }
        for folder in own.into_iter().chain(self.collector.around.path.clone()) {
            // Absolute: only folders of the project count.
            let found = self.collector.add_file(&folder.join(name), false, Naming::Code);
            if let Some(found) = found {
                return vec![found];
            }
        }
        Vec::new()
    }

    fn follow_convention(&mut self, name: &str, command: &Command) {
        if contains_word(CONVENTION, base_name(name)) {
            let what = format!("`{}` runs files of the project by its own rules", command.raw);
            self.collector.cannot_see(&what);
        }
    }

    /// Follows scripts that are started as programs.
    pub fn follow_files(&mut self, files: &[PathBuf], args: &[Text]) {
        for file in files {
            script::run_program(self, file, args);
        }
    }

    /// The words after the program's name, as files that it may read or run.
    fn add_arguments(&mut self, command: &Command) {
        for word in &command.words[1..] {
            let files = self.add_argument(word);
            for file in files {
                script::follow_data(self, &file);
            }
        }
    }
}

pub(super) fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
