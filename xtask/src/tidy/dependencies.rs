//! Which crates may depend on which.

use serde_json::Value;

/// The workspace crates that each crate may depend on. A crate that is not named here may depend on
/// every crate but the command line.
const ALLOWED: &[(&str, &[&str])] = &[
    ("gambrel-model", &[]),
    ("gambrel-document", &["gambrel-model"]),
    ("gambrel-dialects", &["gambrel-model", "gambrel-document"]),
    ("gambrel-process", &[]),
    ("gambrel-actions", &["gambrel-model", "gambrel-process"]),
    ("gambrel-ledger", &["gambrel-model"]),
    ("gambrel-engine", &["gambrel-model"]),
    ("gambrel-script", &["gambrel-model", "gambrel-process"]),
    ("gambrel-server", &["gambrel-model"]),
    ("gambrel-runner", &["gambrel-model", "gambrel-document", "gambrel-engine", "gambrel-process"]),
];
/// Crates that compute and do no I/O, and what they may therefore not use.
const PURE: &[&str] = &["gambrel-model", "gambrel-document", "gambrel-dialects"];
const IMPURE: &[&str] = &["tokio", "reqwest", "hyper", "axum", "rusqlite", "rustix", "libc"];

pub fn check(metadata: &Value) -> Vec<String> {
    let mut violations = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let normal = dependencies.filter(|dependency| dependency["kind"].is_null());
        let names = normal.filter_map(|dependency| dependency["name"].as_str());
        let wrong = names.filter(|dependency| !may_depend(name, dependency));
        violations.extend(wrong.map(|dependency| format!("{name} may not depend on {dependency}")));
    }
    violations
}

fn may_depend(name: &str, dependency: &str) -> bool {
    let is_own = dependency == "gambrel" || dependency.starts_with("gambrel-");
    let allowed = ALLOWED.iter().find(|(package, _)| *package == name);
    let is_allowed = allowed.is_none_or(|(_, names)| !is_own || names.contains(&dependency));
    let keeps_pure = !PURE.contains(&name) || !IMPURE.contains(&dependency);
    is_allowed && keeps_pure && dependency != "gambrel-cli"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check;

    #[test]
    fn finds_forbidden_dependencies() {
        let package = |name: &str, dependency: &str| json!({"name": name, "dependencies": [{"name": dependency, "kind": null}]});
        let metadata = json!({"packages": [
            package("gambrel-model", "gambrel-engine"),
            package("gambrel-dialects", "tokio"),
            package("xtask", "gambrel-cli"),
            package("gambrel-engine", "gambrel-model"),
        ]});
        let found = check(&metadata);
        assert_eq!(
            found,
            [
                "gambrel-model may not depend on gambrel-engine",
                "gambrel-dialects may not depend on tokio",
                "xtask may not depend on gambrel-cli",
            ]
        );
    }
}
