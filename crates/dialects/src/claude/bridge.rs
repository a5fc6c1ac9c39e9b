//! Knows our own entries in a settings file: running them from here would be a circle.

/// Whether a handler is nothing but a call of `gambrel fire`. A command that does anything else
/// beside it is somebody's hook, and runs.
pub fn is_ours(command: &str, args: Option<&[String]>) -> bool {
    let words = match args {
        Some(args) => std::iter::once(command.to_owned()).chain(args.iter().cloned()).collect(),
        None => match words(command) {
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
    matches!(program, Some("gambrel" | "gambrel.exe")) && words.any(|word| word == "fire")
}

/// The words of a simple command; `None` when the shell would do more than start it.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut previous = ' ';
    for c in command.trim().chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some('\''), _) => word.get_or_insert_default().push(c),
            (_, '`') => return None,
            (_, '(') if previous == '$' => return None,
            (Some(_), _) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ';' | '&' | '|' | '\n' | '<' | '>' | '(' | ')') => return None,
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(c),
        }
        previous = c;
    }
    words.extend(word);
    quote.is_none().then_some(words)
}
