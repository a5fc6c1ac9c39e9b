//! The entries by which Claude Code calls gambrel: how gambrel writes them, and how it recognises
//! them in a settings file. gambrel never runs them, because they would call gambrel again.

use std::path::Path;
use std::time::Duration;

use gambrel_document::{Document, DocumentLanguage, DocumentNode};
use gambrel_model::shell_quotes::{QuoteReader, ShellChar, ShellSign};

/// The text after the command at a tool gate. Old versions of Claude Code let a tool run when its
/// hook is missing, crashes or hangs; only exit code 2 blocks on every version. A refusal with exit
/// code 2 keeps its own text.
const FALLBACK_TEXT: (&str, &str) = (" || { [ $? = 2 ] || echo '", "' >&2; exit 2; }");
/// The message for the user if gambrel gives no answer.
const NO_ANSWER_MESSAGE: &str = "gambrel did not answer, so this call is blocked: run gambrel doctor, or \
     remove the gambrel entries from the settings";

/// The name of the program, or its beginning.
const PROGRAM: &str = "gambrel";

/// The command of a plain entry. `program` is quoted for the shell.
pub fn plain_command(program: &str) -> String {
    format!("{program} fire --from claude --hosted")
}

/// The command of a gate's entry: exit code 2 if gambrel does not answer.
pub fn fail_closed_command(program: &str, event: &str) -> String {
    let (start, end) = FALLBACK_TEXT;
    format!("{} --event {event}{start}{NO_ANSWER_MESSAGE}{end}", plain_command(program))
}

/// Whether a handler only calls `gambrel fire`. A command that does more is a hook of the user.
pub fn is_gambrel_entry(command: &str, args: Option<&[String]>) -> bool {
    let words = match args {
        Some(args) => std::iter::once(command.to_owned()).chain(args.iter().cloned()).collect(),
        // Without quotes the words stand in the text as they are.
        None if !may_name_gambrel(command) => return false,
        None => match split_words(without_fallback(command)) {
            Some(words) => words,
            None => return false,
        },
    };
    let assignment = |word: &&String| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    let mut words = words.iter().skip_while(|word| assignment(word) || word.as_str() == "exec");
    let program = words.next().map(|word| word.rsplit('/').next().unwrap_or(word));
    let program = program.and_then(|name| name.strip_prefix(PROGRAM));
    let named = program.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.', '_']));
    named && words.any(|word| word == "fire")
}

/// Whether a command contains the name of the program, or quotes that may hide it.
fn may_name_gambrel(command: &str) -> bool {
    let bytes = command.as_bytes();
    let mut places = bytes.iter().enumerate();
    places.any(|(at, byte)| match byte {
        b'"' | b'\'' | b'\\' => true,
        b'g' => bytes[at..].starts_with(PROGRAM.as_bytes()),
        _ => false,
    })
}

/// The shortest `timeout` of gambrel's own entries for an event in a settings file.
pub fn entry_timeout(settings: &str, event: &str) -> Option<Duration> {
    if !settings.contains("gambrel") {
        return None;
    }
    let settings = settings.trim_start_matches('\u{feff}');
    let document = Document::parse(Path::new(""), settings, DocumentLanguage::Jsonc).ok()?;
    let groups = document.root.get("hooks")?.get(event)?.items()?;
    let handlers = groups.iter().filter_map(|group| group.get("hooks")?.items()).flatten();
    let own = handlers.filter(|handler| {
        let command = handler.get("command").and_then(DocumentNode::text);
        command.is_some_and(|command| is_gambrel_entry(command, None))
    });
    let seconds = own.filter_map(|handler| handler.get("timeout")?.to_value().as_f64());
    let timeouts = seconds.filter_map(|seconds| Duration::try_from_secs_f64(seconds).ok());
    timeouts.filter(|timeout| !timeout.is_zero()).min()
}

/// The command without the fallback. Any text between the quotes is accepted, so that entries of
/// other versions are recognised.
fn without_fallback(command: &str) -> &str {
    let command = command.trim();
    let Some((call, rest)) = command.split_once(FALLBACK_TEXT.0) else { return command };
    match rest.strip_suffix(FALLBACK_TEXT.1) {
        Some(text) if !text.contains('\'') => call,
        _ => command,
    }
}

/// The words of a simple command; `None` if the shell would do more than start it.
fn split_words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut reader = QuoteReader::new(command.trim());
    while let Some(ShellChar { quote, sign, .. }) = reader.next() {
        match (quote, sign) {
            (_, ShellSign::Close) => {}
            (_, ShellSign::Open) => drop(word.get_or_insert_default()),
            (_, ShellSign::Escaped(c) | ShellSign::Backslashed(c))
            | (Some('\''), ShellSign::Plain(c)) => word.get_or_insert_default().push(c),
            (_, ShellSign::Plain('`')) => return None,
            (_, ShellSign::Plain('$')) if reader.rest().starts_with('(') => return None,
            (Some(_), ShellSign::Plain(c)) => word.get_or_insert_default().push(c),
            (None, ShellSign::Plain(c)) if ";&|\n<>()".contains(c) => return None,
            (None, ShellSign::Plain(c)) if c.is_whitespace() => words.extend(word.take()),
            (None, ShellSign::Plain(c)) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    reader.quote().is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_entries_of_every_version() {
        let plain = plain_command("'/opt/a b/gambrel'");
        let closed = fail_closed_command("gambrel", "PreToolUse");
        let older = "gambrel fire --from claude --hosted || { [ $? = 2 ] || echo 'other words' >&2; exit 2; }";
        let quoted = r#"gam"bre"l fire --from claude"#;
        let escaped = r"ga\mbrel fire --from claude";
        let exec = "exec gambrel fire --from claude --hosted";
        for command in [plain.as_str(), &closed, older, exec, quoted, escaped] {
            assert!(is_gambrel_entry(command, None), "{command}");
        }
        for command in [
            "gambrel list",
            "gambrel fire --from claude; rm x",
            "gambrel fire --from claude || { [ $? = 2 ] || echo 'a' >&2; exit 2; }; rm x",
            "gambrel fire --from claude || { [ $? = 2 ] || echo 'a'; rm x; echo 'b' >&2; exit 2; }",
            "rm x; gambrel fire --from claude || { [ $? = 2 ] || echo 'a' >&2; exit 2; }",
        ] {
            assert!(!is_gambrel_entry(command, None), "{command}");
        }
    }

    #[test]
    fn finds_the_shortest_timeout_of_gambrel_entries() {
        let entry = fail_closed_command("gambrel", "PreToolUse");
        let settings = serde_json::json!({"hooks": {"PreToolUse": [
            {"hooks": [{"type": "command", "command": "./other.sh", "timeout": 1}]},
            {"hooks": [{"type": "command", "command": entry, "timeout": 30}]},
            {"hooks": [{"type": "command", "command": entry, "timeout": 10.5}]},
            {"hooks": [{"type": "command", "command": entry}]},
        ]}});
        let found = entry_timeout(&settings.to_string(), "PreToolUse");
        assert_eq!(found, Some(Duration::from_millis(10_500)));
        assert_eq!(entry_timeout(&settings.to_string(), "Stop"), None);
        assert_eq!(entry_timeout("{ not json: gambrel", "PreToolUse"), None);
    }
}
