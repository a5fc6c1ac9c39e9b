//! Filling a template takes time in proportion to its size, whatever its content.
#![expect(clippy::panic, reason = "a test fails by panicking")]

use std::sync::mpsc;
use std::time::Duration;

use gambrel_model::template::{
    Style, expand_json, expand_plain, expand_shell, expand_url, variable_names,
};
use serde_json::json;

const MEGABYTE: usize = 1 << 20;
/// Far more than a linear pass needs without optimisation, and far less than a quadratic one.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Fails instead of waiting for work that is not done in time.
fn in_time<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    match result.recv_timeout(TIMEOUT) {
        Ok(value) => value,
        Err(_) => panic!("{what}: not done after {TIMEOUT:?}"),
    }
}

fn value(name: &str) -> Option<String> {
    (!name.is_empty()).then(|| "a b".to_owned())
}

/// Text that ends with a newline, so that comments and here-documents end.
fn repeat(part: &str) -> String {
    let mut text = "echo ".to_owned();
    while text.len() < MEGABYTE {
        text.push_str(part);
    }
    text.push('\n');
    text
}

fn distinct(style: Style) -> String {
    let mark = |number: usize| match style {
        Style::Dollar => format!("${{V{number}}} "),
        Style::Braces => format!("{{{{V{number}}}}} "),
    };
    (0..MEGABYTE / 10).map(mark).collect()
}

#[test]
fn a_command_of_a_megabyte_is_filled_in_time() {
    let parts = [
        "${X}",
        "${X}[",
        "a${X}",
        "${X} ",
        "\"${X}\" ",
        "'${X}' ",
        "\"a\" ",
        "'a'<",
        "$(a \"b\") ",
        "\"$(a \"${X}\")\" ",
        "$((1+${X})) ",
        "`${X}` ",
        "${Y:-${X}} ",
        "\\${X}",
        "{${X},",
        "( ",
        ") ",
        "<<E\n${X}\nE\n",
        "<<'E'\n${X}\nE\n",
        "<<E ",
        "# ${X}",
        "$((",
        "[[ ${X} -gt 1 ]]; ",
        "case a in a) ${X};; esac; ",
        "bash -c '${X}' ",
        "eval \"${X}\" ",
        "é\u{3000}\"${X}\"",
    ];
    for part in parts {
        let text = repeat(part);
        let filled = in_time(part, move || expand_shell(&text, Style::Dollar, &value));
        assert!(filled.text.len() > MEGABYTE / 4, "{part}: {}", filled.text.len());
        let braces = repeat(&part.replace("${X}", "{{X}}"));
        in_time(part, move || expand_shell(&braces, Style::Braces, &value));
    }
}

#[test]
fn a_hundred_thousand_names_are_filled_in_time() {
    for style in [Style::Dollar, Style::Braces] {
        let text = distinct(style);
        let count = text.matches('V').count();
        let names = text.clone();
        assert_eq!(in_time("names", move || variable_names(&names, style)).len(), count);
        let odd = format!("{text} $[");
        let filled = in_time("references", move || expand_shell(&odd, style, &value));
        assert!(filled.env.len() <= count);
    }
}

#[test]
fn a_value_of_a_megabyte_is_filled_in_time() {
    for value in ["a", "'", "\"", "\n", "a[$(", "E\n", "\\", "$", "%", "é", "\0"] {
        let long = value.repeat(MEGABYTE / value.len());
        for text in ["${X}", "'${X}'", "\"${X}\"", "cat <<E\n${X}\nE\n", "cat <<'E'\n${X}\nE\n"] {
            let long = long.clone();
            in_time(text, move || expand_shell(text, Style::Dollar, &|_| Some(long.clone())));
        }
        in_time("others", move || {
            let lookup = |_: &str| Some(long.clone());
            expand_plain("a ${X}", Style::Dollar, &lookup);
            expand_url("https://a/?${X}", Style::Dollar, &lookup);
            expand_json(&json!({"a": ["${X}"]}), Style::Dollar, &lookup)
        });
    }
}
