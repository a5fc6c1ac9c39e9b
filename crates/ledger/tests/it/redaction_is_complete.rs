//! Redaction removes known secrets and known formats of secrets, and leaves prose unchanged.

use std::borrow::Cow;

use gambrel_ledger::Redactor;
use proptest::prelude::*;

proptest! {
    #[test]
    fn removes_every_known_secret(
        secrets in prop::collection::vec("[a-c\\]\\[:%\\\\\" é]{4,8}", 1..5),
        text in "[a-c\\]\\[:%\\\\\" é]{0,80}",
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
    ) {
        let mut text: Vec<char> = text.chars().collect();
        for (place, secret) in places.iter().zip(secrets.iter().cycle()) {
            let at = place.index(text.len() + 1);
            text.splice(at..at, secret.chars());
        }
        let text: String = text.into_iter().collect();
        let named = secrets.iter().map(|secret| ("redacted".to_owned(), secret.clone()));
        let redactor = Redactor::new(std::iter::empty::<(String, String)>(), named);
        let clean = redactor.redact_text(&text).into_owned();
        for secret in &secrets {
            prop_assert!(!clean.contains(secret.as_str()), "{secret:?} in {clean:?}");
        }
    }

    #[test]
    fn redacts_all_strings_of_a_value(secret in "[ -~]{6,12}", around in "\\PC{0,20}") {
        let named = [("N".to_owned(), secret.clone())].into_iter();
        let redactor = Redactor::new(std::iter::empty::<(String, String)>(), named);
        let text = format!("{around}{secret}{around}");
        let inner = serde_json::json!({ "k": text }).to_string();
        let mut value = serde_json::json!([{ text.clone(): [text, inner] }]);
        redactor.redact_value(&mut value);
        let mut left = Vec::new();
        collect_strings(&value, &mut left);
        for string in left {
            prop_assert!(!string.contains(&secret), "{secret:?} in {string:?}");
        }
    }

    #[test]
    fn never_panics_on_any_text(text in "\\PC*") {
        Redactor::default().redact_text(&text);
    }
}

#[test]
fn redacts_known_formats_of_secrets() {
    let long = "a1B2c3D4e5F6g7H8i9J0k1L2";
    for text in [
        format!("sk-ant-api03-{long}"),
        format!("\\nghp_{long}"),
        format!("github_pat_{long}"),
        format!("xoxb-123-{long}"),
        "AKIAABCDEFGHIJKLMNOP".to_owned(),
        format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{long}"),
        format!("Authorization: Bearer {long}"),
        format!("whsec_{long}"),
        format!("https://me:{long}@example.org/x"),
        format!("https://hooks.slack.com/services/T0/B0/{long}"),
        format!("-----BEGIN RSA PRIVATE KEY-----\n{long}\n-----END RSA PRIVATE KEY-----"),
        format!("-----BEGIN PRIVATE KEY-----\\n{long}"),
    ] {
        let redactor = Redactor::default();
        let framed = format!("before {text} after");
        let clean = redactor.redact_text(&framed);
        assert!(clean.contains("[redacted:"), "{clean}");
        assert!(!clean.contains(long) && !clean.contains("ABCDEFGHIJKLMNOP"), "{clean}");
        assert!(clean.starts_with("before "), "{clean}");
        assert_eq!(redactor.redact_text(&clean), clean, "a second time changes nothing");
    }
}

#[test]
fn drops_the_text_if_the_replacement_contains_a_secret() {
    let named = [("N".to_owned(), "redacted".to_owned())].into_iter();
    let redactor = Redactor::new(std::iter::empty::<(String, String)>(), named);
    assert!(!redactor.redact_text("it was redacted").contains("redacted"));
}

#[test]
fn debug_output_has_no_secrets() {
    let named = [("NAME".to_owned(), "hunter2hunter2".to_owned())].into_iter();
    let redactor = Redactor::new(std::iter::empty::<(String, String)>(), named);
    redactor.redact_text("x");
    assert_eq!(format!("{redactor:?}"), "[\"NAME\"]");
}

#[test]
fn leaves_prose_and_paths_unchanged() {
    for text in [
        "the task-force-of-2024-was-disbanded",
        "a bearer of good news, Basic understanding",
        "git clone ssh://git@example.org/repo and https://example.org:8080/@scope",
        "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
    ] {
        assert!(matches!(Redactor::default().redact_text(text), Cow::Borrowed(_)), "{text}");
    }
}

#[test]
fn recognises_secrets_by_variable_names() {
    let known = |name: &str, value: &str| {
        let env = [(name.to_owned(), value.to_owned())].into_iter();
        let redactor = Redactor::new(env, std::iter::empty::<(String, String)>());
        redactor.redact_text(value) != value
    };
    for name in ["OPENAI_API_KEY", "gh_token", "AWS_SECRET_ACCESS_KEY", "DB_PWD", "GITHUB_PAT"] {
        assert!(known(name, "abc+/def"), "{name}");
    }
    for (name, value) in [
        ("SSH_AUTH_SOCK", "/tmp/ssh-x/agent.1"),
        ("GPG_TTY", "/dev/pts/0"),
        ("XAUTHORITY", "/home/me/.Xauthority"),
        ("PWD", "/home/me/project"),
        ("GIT_AUTHOR_NAME", "Somebody"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json"),
        ("MAX_OUTPUT_TOKENS", "128000"),
        ("KEYBOARD", "german"),
        ("API_KEY", "short"),
    ] {
        assert!(!known(name, value), "{name}");
    }
}

fn collect_strings(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => found.push(text.clone()),
        serde_json::Value::Array(items) => {
            items.iter().for_each(|item| collect_strings(item, found))
        }
        serde_json::Value::Object(fields) => fields.iter().for_each(|(key, field)| {
            found.push(key.clone());
            collect_strings(field, found);
        }),
        _ => {}
    }
}
