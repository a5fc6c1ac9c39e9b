//! The command line of `gambrel fire` without clap. Agents call it at every step, and building
//! clap's tables costs more than the rest of the arguments. Only the usual forms are read here;
//! anything else, and every mistake, is left to clap.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{FireArgs, Sources, TrustArg};

/// Reads the words after `fire`. `None` if clap must read them: an unknown or repeated option, a
/// value that is missing, empty or looks like an option, or a text that is not UTF-8.
pub(super) fn read_fire_words(
    words: impl Iterator<Item = OsString>,
) -> Option<(Option<PathBuf>, FireArgs)> {
    let mut read = FireWords::default();
    let mut words = words.map(OsString::into_string);
    while let Some(word) = words.next() {
        let word = word.ok()?;
        let (name, value) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, value.to_owned()),
            _ if read.set_flag(&word)? => continue,
            _ => (word.as_str(), words.next()?.ok()?),
        };
        if value.is_empty() || value.starts_with('-') {
            return None;
        }
        read.set_value(name, value)?;
    }
    read.args.from = read.from?;
    Some((read.folder, read.args))
}

/// The options read so far.
struct FireWords {
    folder: Option<PathBuf>,
    from: Option<String>,
    args: FireArgs,
}

impl Default for FireWords {
    fn default() -> Self {
        let sources = Sources {
            plugin: Vec::new(),
            settings: Vec::new(),
            hook: Vec::new(),
            pipeline: Vec::new(),
            stage: Vec::new(),
            trust: None,
        };
        let args = FireArgs {
            from: String::new(),
            hosted: false,
            only: Vec::new(),
            event: None,
            budget: None,
            strict: false,
            verified_exec: false,
            json: false,
            verbose: false,
            sources,
        };
        Self { folder: None, from: None, args }
    }
}

impl FireWords {
    /// Sets an option without a value; false if the word is none. `None` if it is repeated.
    fn set_flag(&mut self, word: &str) -> Option<bool> {
        let flag = match word {
            "--hosted" => &mut self.args.hosted,
            "--strict" => &mut self.args.strict,
            "--verified-exec" => &mut self.args.verified_exec,
            "--json" => &mut self.args.json,
            "--verbose" | "-v" => &mut self.args.verbose,
            _ => return Some(false),
        };
        (!std::mem::replace(flag, true)).then_some(true)
    }

    /// Sets an option with a value. `None` if it is unknown or repeated.
    fn set_value(&mut self, word: &str, value: String) -> Option<()> {
        let args = &mut self.args;
        let sources = &mut args.sources;
        match word {
            "--from" => set_once(&mut self.from, value),
            "--event" => set_once(&mut args.event, value),
            "--budget" => set_once(&mut args.budget, value.parse().ok()?),
            "-C" => set_once(&mut self.folder, value.into()),
            "--trust" => set_once(&mut sources.trust, trust_of(&value)?),
            "--only" => push_value(&mut args.only, value),
            "--plugin" => push_value(&mut sources.plugin, value.into()),
            "--settings" => push_value(&mut sources.settings, value.into()),
            "--hook" => push_value(&mut sources.hook, value.into()),
            "--pipeline" => push_value(&mut sources.pipeline, value.into()),
            "--stage" => push_value(&mut sources.stage, value.into()),
            _ => None,
        }
    }
}

fn set_once<T>(slot: &mut Option<T>, value: T) -> Option<()> {
    slot.replace(value).is_none().then_some(())
}

fn push_value<T>(list: &mut Vec<T>, value: T) -> Option<()> {
    list.push(value);
    Some(())
}

fn trust_of(word: &str) -> Option<TrustArg> {
    match word {
        "store" => Some(TrustArg::Store),
        "all" => Some(TrustArg::All),
        "none" => Some(TrustArg::None),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::{Cli, CliCommand};
    use super::read_fire_words;

    fn read_plainly(line: &str) -> Option<String> {
        let words = line.split(' ').map(Into::into);
        read_fire_words(words).map(|read| format!("{read:?}"))
    }

    fn read_with_clap(line: &str) -> Option<String> {
        let words = ["gambrel", "fire"].into_iter().chain(line.split(' '));
        let Cli { folder, command: CliCommand::Fire(args), .. } =
            Cli::try_parse_from(words).ok()?
        else {
            return None;
        };
        Some(format!("{:?}", (folder, args)))
    }

    #[test]
    fn reads_the_usual_lines_as_clap_does() {
        for line in [
            "--from claude",
            "--from claude --hosted --event PreToolUse",
            "--hosted --event PreToolUse --from omp --budget 2.5 --strict --verified-exec",
            "--from claude --json --verbose -C some/folder",
            "--from claude -v --only omp --only unified --trust all",
            "--from claude --trust store --plugin a --plugin b --settings c --hook d",
            "--trust none --pipeline e --stage f --stage g --from run",
            "--from claude --budget 1e3",
            "--from claude --budget inf",
            "--from=claude --event=a=b --only=omp",
        ] {
            assert!(read_plainly(line).is_some(), "{line}");
            assert_eq!(read_plainly(line), read_with_clap(line), "{line}");
        }
    }

    #[test]
    fn leaves_every_other_line_to_clap() {
        for line in [
            "",
            "--json",
            "--from",
            "--from claude --from omp",
            "--from claude --hosted --hosted",
            "--from claude --event A --event B",
            "--from --hosted",
            "--from claude --event --json",
            "--from claude --event ",
            "--from=",
            "--from=-x",
            "--from claude --hosted=true",
            "--from claude -Cfolder",
            "--from claude -C=folder",
            "--from claude --budget soon",
            "--from claude --budget -1",
            "--from claude --trust some",
            "--from claude --color always",
            "--from claude --help",
            "--from claude -vv",
            "--from claude extra",
            "--from claude --",
            "--from claude -- extra",
            "--from claude --hos",
        ] {
            assert_eq!(read_plainly(line), None, "{line}");
        }
    }

    /// Tries every option with every value, alone and repeated. What is read here must be what clap
    /// reads.
    #[test]
    fn never_differs_from_clap() {
        let options = [
            "--from",
            "--event",
            "--budget",
            "-C",
            "--trust",
            "--only",
            "--plugin",
            "--settings",
            "--hook",
            "--pipeline",
            "--stage",
            "--color",
            "--version",
            "-h",
            "--hosted",
            "--json",
            "-v",
        ];
        let values = ["", "claude", "-1", "all", "ALL", "NaN", "+1", "--", "-v"];
        let mut read_count = 0;
        for option in options {
            for (value, by) in values.into_iter().flat_map(|v| [(v, "="), (v, "\u{1}")]) {
                let part = format!("{option}{by}{value}");
                for more in [String::new(), format!("\u{1}{part}"), format!("\u{1}{option}")] {
                    let line = format!("--from\u{1}omp\u{1}{part}{more}");
                    read_count += usize::from(is_read_like_clap(line.split('\u{1}')));
                }
            }
        }
        assert!(read_count > 100, "{read_count}");
    }

    /// Whether the words are read here; then clap must read the same.
    fn is_read_like_clap<'w>(words: impl Iterator<Item = &'w str> + Clone) -> bool {
        let Some(read) = read_fire_words(words.clone().map(Into::into)) else { return false };
        let line: Vec<&str> = words.collect();
        let cli = Cli::try_parse_from(["gambrel", "fire"].iter().chain(&line));
        let Ok(Cli { folder, command: CliCommand::Fire(args), .. }) = cli else {
            panic!("clap refuses {line:?}");
        };
        assert_eq!(format!("{read:?}"), format!("{:?}", (folder, args)), "{line:?}");
        true
    }
}
