//! Templates: values stay data in a shell, in JSON and in a URL, and nothing is filled twice.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use gambrel_model::template::{
    ShellText, Style, expand_json, expand_plain, expand_shell, expand_url, variable_names,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const STYLES: [Style; 2] = [Style::Dollar, Style::Braces];
const SHELL_TIMEOUT: Duration = Duration::from_secs(60);

#[rustfmt::skip]
const HOSTILE: &[&str] = &[
    "", "plain", "a b", " lead", "trail ", "two\nlines", "tail\n", "\n", "tab\there", "\r\n",
    "it's", "''", "'", "'\\''", "\"", "\"\"", "\"quoted\"", "\\", "\\\\", "\\'", "\\\"", "end\\",
    "$HOME", "${HOME}", "$(touch canary)", "`touch canary`", "$((1+1))", "$", "$$", "$'a'",
    "$\"a\"", "; touch canary", "&& touch canary", "|| touch canary", "| touch canary",
    "& touch canary", "\ntouch canary\n", "'; touch canary; '", "\"; touch canary; \"",
    "' \" ; touch canary # ", "> canary", ">canary", "2>canary", "<<EOF", "EOF",
    "EOF\ntouch canary", "\nEOF\ntouch canary\n", "*", "?", "[a-z]*", "~", "~root", "{a,b}",
    "{1..3}", "a,b", "!", "!!", "#", "# comment", "-n", "-rf", "--", "FOO=bar", "=", "%s%n",
    "a[$(touch canary)]", "x[`touch canary`]", "${A}", "{{a}}", "(", ")", "$(", "))", "}", "${",
    "{{", "if", "done", "2", "-3", "0", "é ü 漢字", "a\0b", "\u{1b}[31m", "\u{7f}", "'\"'\"'", "*/",
    "\\n", "\\\n", "$(touch canary", "a'\n'b", "end$", "end`",
];

fn placeholder(style: Style, name: &str) -> String {
    match style {
        Style::Dollar => format!("${{{name}}}"),
        Style::Braces => format!("{{{{{name}}}}}"),
    }
}

fn expand_one(text: &str, style: Style, value: &str) -> ShellText {
    expand_shell(text, style, &|name| (name == "X").then(|| value.to_owned()))
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("gambrel model {name} {}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn files(&self) -> usize {
        std::fs::read_dir(&self.0).unwrap().count()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(shell: &str, script: &ShellText, cwd: &Path) -> String {
    let child = Command::new(shell)
        .args(["-c", &script.text])
        .envs(script.env.iter().cloned())
        .current_dir(cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id().to_string();
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || send.send(child.wait_with_output()));
    let Ok(output) = receive.recv_timeout(SHELL_TIMEOUT) else {
        let _ = Command::new("kill").args(["-9", &pid]).status();
        panic!("the shell did not end: {}", script.text);
    };
    let output = output.unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(complaint.is_empty(), "{shell}: {complaint}\n{}", script.text);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn shells() -> Vec<&'static str> {
    let bash = Command::new("bash").args(["-c", ":"]).stdout(Stdio::null()).status();
    if bash.is_ok_and(|status| status.success()) { vec!["sh", "bash"] } else { vec!["sh"] }
}

/// One script with one command per value; `@` in the template is the variable.
fn batch(template: &str, style: Style, values: &[String]) -> ShellText {
    let mut all = ShellText::default();
    for (index, value) in values.iter().enumerate() {
        let name = format!("V{index}");
        let text = template.replace('@', &placeholder(style, &name));
        let one = expand_shell(&text, style, &|asked| (asked == name).then(|| value.clone()));
        all.text.push_str(&one.text);
        all.text.push('\n');
        all.env.extend(one.env);
    }
    all
}

fn check(template: &str, values: &[String], cwd: &Scratch, expected: &dyn Fn(&str) -> String) {
    for shell in shells() {
        for style in STYLES {
            let output = run(shell, &batch(template, style, values), &cwd.0);
            let got: Vec<&str> = output.split('\u{1e}').collect();
            assert_eq!(got.len(), values.len() + 1, "{shell} {style:?} {template}: {output}");
            for (got, value) in got.iter().zip(values) {
                let value = value.replace('\0', "");
                assert_eq!(*got, expected(&value), "{shell} {style:?} {template} {value:?}");
            }
            assert_eq!(cwd.files(), 0, "{shell} {style:?} {template}: a value was run");
        }
    }
}

fn as_is(value: &str) -> String {
    value.to_owned()
}

fn substituted(value: &str) -> String {
    value.trim_end_matches('\n').to_owned()
}

fn corpus() -> Vec<String> {
    HOSTILE.iter().map(|value| (*value).to_owned()).collect()
}

#[test]
fn a_real_shell_reads_back_every_hostile_value() {
    let cwd = Scratch::new("corpus");
    let values = corpus();
    check(r"printf '%s\036' @", &values, &cwd, &as_is);
    check(r#"printf '%s\036' "@""#, &values, &cwd, &as_is);
    check(r"printf '%s\036' '@'", &values, &cwd, &as_is);
    check(r"printf '%s\036' pre@post", &values, &cwd, &|v| format!("pre{v}post"));
    check(r#"printf '%s\036' "a @ 'b'"' c'"#, &values, &cwd, &|v| format!("a {v} 'b' c"));
    check(r#"F=f; printf '%s\036' "$F@""#, &values, &cwd, &|v| format!("f{v}"));
    check(r"F=f; printf '%s\036' $F@", &values, &cwd, &|v| format!("f{v}"));
    check(r#"case "@" in zz) : ;; *) printf '%s\036' @ ;; esac"#, &values, &cwd, &as_is);
    check(r"( F=@; printf '%s\036' ${F:+set}; )", &values, &cwd, &|v| {
        if v.is_empty() { String::new() } else { "set".into() }
    });
}

#[test]
fn a_real_shell_reads_back_nested_and_referenced_values() {
    let cwd = Scratch::new("nested");
    let values = corpus();
    check(r#"printf '%s\036' "$(printf %s @)""#, &values, &cwd, &substituted);
    check(r#"printf '%s\036' "$(printf %s "@")""#, &values, &cwd, &substituted);
    check(r#"printf '%s\036' "$(printf '%s' "$(printf %s '@')")""#, &values, &cwd, &substituted);
    check(r#"x=`printf %s "@"`; printf '%s\036' "$x""#, &values, &cwd, &substituted);
    check(r#"printf '%s\036' "${NOT_SET_HERE:-@}""#, &values, &cwd, &as_is);
    check(r#"sh -c 'printf "%s\036" "@"'"#, &values, &cwd, &as_is);
    check(r#"sh -c "printf '%s\036' \"@\"""#, &values, &cwd, &as_is);
    check(r#"eval 'printf "%s\036" "@"'"#, &values, &cwd, &as_is);
    check(r#"sh -c 'printf "%s\036" "$1"' name @"#, &values, &cwd, &as_is);
    check("cat <<EOF\n@\nEOF\nprintf '\\036'", &values, &cwd, &|v| format!("{v}\n"));
    check("cat <<-EOF\n\tx@\n\tEOF\nprintf '\\036'", &values, &cwd, &|v| format!("x{v}\n"));
    check("cat <<EOF\n$(printf %s '@')x\nEOF\nprintf '\\036'", &values, &cwd, &|v| {
        format!("{}x\n", substituted(v))
    });
    check("printf '\\036' # it's @", &values, &cwd, &|_| String::new());
}

#[test]
fn a_quoted_here_document_ends_at_its_own_delimiter() {
    let cwd = Scratch::new("verbatim");
    for shell in shells() {
        for style in STYLES {
            let script = batch("cat <<'EOF'\n@\nEOF\nprintf '\\036'", style, &corpus());
            let output = run(shell, &script, &cwd.0);
            for (index, (got, value)) in output.split('\u{1e}').zip(HOSTILE).enumerate() {
                let literal = format!("{}\n", value.replace('\0', ""));
                assert!(got == literal || got.contains(&format!("V{index}}}")), "{value:?}: {got}");
            }
            assert_eq!(cwd.files(), 0);
        }
    }
}

#[test]
fn arithmetic_takes_whole_numbers_and_runs_nothing_else() {
    let cwd = Scratch::new("arithmetic");
    for shell in shells() {
        for style in STYLES {
            for template in [
                "echo $((@ + 1))",
                "echo \"`echo $((@ + 1))`\"",
                "a=abc; echo ${a:@:1}",
                "((@ > 5)) && echo more",
                "[[ @ -gt 5 ]] && echo more",
                "[[ '@' -gt 5 ]] && echo more",
                "let 'y=@'",
                "b[@]=1",
                "echo $[@ + 1]",
            ] {
                let mut script = ShellText::default();
                let code = HOSTILE.iter().filter(|value| value.contains("canary"));
                for (index, value) in code.enumerate() {
                    let name = format!("V{index}");
                    let text = template.replace('@', &placeholder(style, &name));
                    let one = expand_shell(&text, style, &|_| Some((*value).to_owned()));
                    let quoted = one.text.replace('\'', r"'\''");
                    script.text.push_str(&format!("{shell} -c '{quoted}' 2>/dev/null\n"));
                    script.env.extend(one.env);
                }
                run(shell, &script, &cwd.0);
                assert!(!cwd.0.join("canary").exists(), "{shell} {style:?} {template}");
            }
            let sum = expand_one(&format!("echo $((2-{}))", placeholder(style, "X")), style, "-3");
            assert_eq!(run(shell, &sum, &cwd.0), "5\n");
        }
    }
}

#[test]
fn safe_words_stay_bare_and_the_rest_is_quoted() {
    for (text, value, expected) in [
        ("./v.sh {{X}}", "TAS-1", "./v.sh TAS-1"),
        ("./v.sh {{X}}", "", "./v.sh "),
        ("./v.sh {{X}} b", "a b", "./v.sh 'a b' b"),
        ("echo {{X}}", "~root", "echo '~root'"),
        ("{{X}} cmd", "FOO=bar", "'FOO=bar' cmd"),
        ("echo {{X}}>f", "2", "echo '2'>f"),
        ("echo {{X}}#f", "", "echo ''#f"),
        ("echo {{X}}", "it's", r"echo 'it'\''s'"),
        ("echo \"{{X}}\"", "a\"$b`\\", r#"echo "a\"\$b\`\\""#),
        ("echo '{{X}}'", "it's $x", r"echo 'it'\''s $x'"),
        ("echo {a,{{X}}}", "b,c", "echo {a,'b,c'}"),
        ("echo {{X}}", "b,c", "echo b,c"),
        ("echo {{x}} {{ X }} {{X", "v", "echo {{x}} {{ X }} {{X"),
        ("echo {{X}} # {{X}}", "a\nb", "echo 'a\nb' # "),
    ] {
        let got = expand_one(text, Style::Braces, value);
        assert_eq!(got, ShellText { text: expected.into(), env: vec![] }, "{text} {value}");
    }
}

#[test]
fn dollar_style_leaves_the_shells_own_forms_alone() {
    for text in [
        "echo $X",
        r"echo \${X}",
        r#"echo "\${X}""#,
        "echo ${X:-d} ${#X} ${X%.rs}",
        "echo $${X}",
        "echo ${OTHER}",
        "echo ${1X}",
    ] {
        assert_eq!(expand_one(text, Style::Dollar, "v w").text, text);
    }
}

#[test]
fn passes_values_that_cannot_be_quoted_through_the_environment() {
    for text in [
        "echo `echo @`",
        "cat <<EOF\n@\nEOF",
        "echo ${A:-@}",
        "echo $'@'",
        "echo 'open @",
        "echo \"open @",
        "echo $(open @",
        "echo ) @",
        "cat <<EOF\n@",
        "x=$(case a in a) echo @;; esac)",
        "echo \"${A:-\"@\"}\"",
    ] {
        let dollar = expand_one(&text.replace('@', "${X}"), Style::Dollar, "a'b");
        assert_eq!(dollar.text, text.replace('@', "${X}"));
        assert_eq!(dollar.env, [("X".to_owned(), "a'b".to_owned())], "{text}");
        let braces = expand_one(&text.replace('@', "{{X}}"), Style::Braces, "a'b");
        assert_eq!(braces.text, text.replace('@', "${GAMBREL_V_X}"));
        assert_eq!(braces.env, [("GAMBREL_V_X".to_owned(), "a'b".to_owned())], "{text}");
    }
}

#[test]
fn json_is_filled_in_strings_only() {
    let body = json!({"${X}": "n ${X}", "list": ["${X}", 1, null, true], "in": {"a": "${Y}"}});
    let filled = expand_json(&body, Style::Dollar, &|name| {
        (name == "X").then(|| "\",\"evil\":\"${Y}".to_owned())
    });
    let value = "\",\"evil\":\"${Y}";
    let expected = json!({
        "${X}": format!("n {value}"), "list": [value, 1, null, true], "in": {"a": "${Y}"}
    });
    assert_eq!(filled, expected);
}

#[test]
fn a_url_takes_an_address_as_it_is_and_encodes_the_rest() {
    for (text, value, expected) in [
        ("${X}", "https://h.example/a?b=c#d", "https://h.example/a?b=c#d"),
        (
            "${X}?action=approve",
            "http://localhost:1/cb/t",
            "http://localhost:1/cb/t?action=approve",
        ),
        ("${X}/a?b=${X}", "http://h", "http://h/a?b=http%3A%2F%2Fh"),
        ("https://h/${X}/b", "a/../b?c#d", "https://h/a%2F..%2Fb%3Fc%23d/b"),
        ("https://h/${X}/b", "..", "https://h/%252E%252E/b"),
        ("https://h/?q=${X}", "a b&c=d", "https://h/?q=a%20b%26c%3Dd"),
        ("https://h/?q=${X}", "..", "https://h/?q=.."),
        ("https://${X}/", "evil/@x", "https://evil%2F%40x/"),
        ("${X}://h/", "http://evil/?", "http%3A%2F%2Fevil%2F%3F://h/"),
        ("https://h/${Y}", "v", "https://h/${Y}"),
        ("https://h/?q=${X}", "ü", "https://h/?q=%C3%BC"),
    ] {
        let got = expand_url(text, Style::Dollar, &|name| (name == "X").then(|| value.to_owned()));
        assert_eq!(got, expected, "{text}");
    }
}

#[test]
fn names_are_listed_once_in_order() {
    assert_eq!(variable_names("${B} $C ${A} ${B} ${D:-x} {{e}}", Style::Dollar), ["B", "A"]);
    assert_eq!(variable_names("{{b}} ${A} {{a}} {{b}} {{ c }}", Style::Braces), ["b", "a"]);
}

fn shape(value: &Value) -> Value {
    match value {
        Value::String(_) => json!(""),
        Value::Array(list) => list.iter().map(shape).collect(),
        Value::Object(map) => map.iter().map(|(key, item)| (key.clone(), shape(item))).collect(),
        other => other.clone(),
    }
}

const ALPHABET: &str = "[ab2 '\"\\\\$`(){}\\[\\]<>&|;#~*!=,\n\t-]{0,12}";

proptest! {
    #[test]
    fn a_value_is_never_filled_again(value in "(\\$\\{[AB]\\}|\\{\\{[AB]\\}\\}|[a-z ])*") {
        let lookup = |name: &str| match name {
            "A" => Some(value.clone()),
            "B" => Some("TWICE".to_owned()),
            _ => None,
        };
        for style in STYLES {
            let text = format!("-{}-", placeholder(style, "A"));
            prop_assert_eq!(expand_plain(&text, style, &lookup), format!("-{value}-"));
            prop_assert!(!expand_url(&text, style, &lookup).contains("TWICE"));
            prop_assert!(!expand_shell(&text, style, &lookup).text.contains("TWICE"));
        }
    }

    #[test]
    fn any_text_and_value_expand_without_panic(text in "\\PC*", value in "\\PC*") {
        for style in STYLES {
            let lookup = |_: &str| Some(value.clone());
            expand_shell(&text, style, &lookup);
            expand_url(&text, style, &lookup);
            expand_plain(&text, style, &lookup);
        }
    }

    #[test]
    fn any_near_command_expands_without_panic(
        words in prop::collection::vec(prop::sample::select(vec![
            "${X}", "{{X}}", "'", "\"", "`", "$(", "$((", "))", ")", "(", "<<E\n", "<<'E'\n",
            "\nE\n", "\n", "#", "\\", "${", "}", "a", " ", "$'", "esac", "é", ";", "eval ", "[[ ",
        ]), 0..30),
        value in ALPHABET,
    ) {
        let text = words.concat();
        for style in STYLES {
            // The pieces can spell other names, like `${esac}`; only one is known.
            let known = expand_shell(&text, style, &|name| (name == "X").then(|| value.clone()));
            prop_assert!(known.env.len() <= 1);
            prop_assert_eq!(expand_shell(&text, style, &|_| None).text, text.clone());
        }
    }

    #[test]
    fn json_keeps_its_shape(value in "\\PC*", key in "[a-z${}]{0,5}") {
        let body = json!({key: ["${X}", {"b": "x{{X}}y${X}"}], "n": 1});
        for style in STYLES {
            let filled = expand_json(&body, style, &|_| Some(value.clone()));
            prop_assert_eq!(shape(&filled), shape(&body));
        }
    }

    #[test]
    fn a_url_keeps_its_separators(value in "\\PC*|[/?#&=.%]*") {
        for style in STYLES {
            let text = "https://h/@/b?c=@&d=@#@".replace('@', &placeholder(style, "X"));
            let filled = expand_url(&text, style, &|_| Some(value.clone()));
            for separator in ['/', '?', '#', '&', '=', ':'] {
                let count = |s: &str| s.matches(separator).count();
                prop_assert_eq!(count(&filled), count(&text), "{}", filled);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]
    #[test]
    fn a_real_shell_reads_back_random_hostile_values(
        values in prop::collection::vec(ALPHABET, 60)
    ) {
        let cwd = Scratch::new("random");
        for template in [
            r"printf '%s\036' @",
            r#"printf '%s\036' "@""#,
            r"printf '%s\036' '@'",
            r"printf '%s\036' a@b@c",
        ] {
            check(template, &values, &cwd, &|v| {
                if template.ends_with('c') { format!("a{v}b{v}c") } else { v.to_owned() }
            });
        }
        check(r#"printf '%s\036' "$(printf %s "@")""#, &values, &cwd, &substituted);
    }
}
