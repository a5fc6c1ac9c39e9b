//! What every crate says about itself: description, licence and repository. None may be published:
//! the library without its inner crates could not be built.

use serde_json::Value;

/// Crates that are no part of the program.
const TOOLS: [&str; 2] = ["xtask", "gambrel-bench"];
const FIELDS: [&str; 3] = ["description", "license", "repository"];

pub fn check(metadata: &Value) -> Vec<String> {
    let mut violations = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let is_missing = |field: &&&str| package[**field].as_str().is_none_or(str::is_empty);
        let fields = FIELDS.iter().filter(|_| !TOOLS.contains(&name));
        violations
            .extend(fields.filter(is_missing).map(|field| format!("{name} has no `{field}`")));
        // `publish = false` is an empty list of registries.
        let is_internal = package["publish"].as_array().is_some_and(Vec::is_empty);
        if !is_internal {
            violations.push(format!("{name} needs `publish = false`"));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check;

    #[test]
    fn finds_missing_fields_and_wrong_publication() {
        let package = |name: &str, repository: &str, publish: serde_json::Value| {
            json!({"name": name, "description": "d", "license": "MIT", "repository": repository,
                "publish": publish})
        };
        let metadata = json!({"packages": [
            package("gambrel", "r", json!([])),
            package("gambrel-model", "", json!([])),
            package("gambrel-engine", "r", json!(null)),
            package("xtask", "", json!([])),
        ]});
        let expected =
            ["gambrel-model has no `repository`", "gambrel-engine needs `publish = false`"];
        assert_eq!(check(&metadata), expected);
    }
}
