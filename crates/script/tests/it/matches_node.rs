//! Compares the builtins with Node, module by module.

use serde_json::json;

use crate::node_oracle::{probe, probe_embedded};

#[test]
fn paths_match() {
    let result = probe(include_str!("probes/paths.mjs"));
    assert_eq!(result["jj"], "a/b");
    assert_eq!(result["u"], json!(["/a b/c", "file:///a%20b/%23c%3Fd%25", "file:///x/"]));
    assert_eq!(result["e"][0][1], "ERR_INVALID_ARG_TYPE");
}

#[test]
fn urls_match() {
    let result = probe(include_str!("probes/addresses.mjs"));
    assert_eq!(result[0][5], "example.com:8080");
}

#[test]
fn legacy_urls_match() {
    let result = probe(include_str!("probes/legacy.mjs"));
    assert_eq!(result[0]["host"], "h:80");
}

#[test]
fn buffers_and_digests_match() {
    let result = probe(include_str!("probes/bytes.mjs"));
    assert_eq!(result[0], json!(["utf8", "héllo → 🎉 wörld", b"68656c6c6f", 22]));
}

#[test]
fn numbers_in_buffers_match() {
    let result = probe(include_str!("probes/numbers.mjs"));
    assert_eq!(result[0], json!([1, 1]));
}

#[test]
fn large_buffers_match() {
    let result = probe(include_str!("probes/large.mjs"));
    assert_eq!(result[0][1], 680_000);
}

#[test]
fn inspected_values_match() {
    let result = probe(include_str!("probes/values.mjs"));
    assert_eq!(result[0], "\"a'b\"");
}

#[test]
fn event_emitters_match() {
    let result = probe(include_str!("probes/emitters.mjs"));
    assert_eq!(result[0], json!(["heard 1", true, true]));
}

#[test]
fn files_match() {
    let result = probe(include_str!("probes/files.mjs"));
    assert_eq!(result[0], "héllo\nworld\n");
    assert!(result.to_string().contains("ENOENT: no such file or directory, open '<root>/none'"));
}

#[test]
fn aborted_operations_match() {
    let result = probe(include_str!("probes/aborted.mjs"));
    assert_eq!(result[0], json!(["AbortError", "ABORT_ERR", "The operation was aborted", "why"]));
}

#[test]
fn parsed_arguments_match() {
    let result = probe(include_str!("probes/words.mjs"));
    assert_eq!(result[0]["values"], json!({"foo": true, "bar": "b"}));
}

#[test]
fn memory_usage_matches() {
    let text = "export const probe = () => { const m = process.memoryUsage(); return [Object.keys(m), m.rss > 1e6 && m.rss < 1e11, m.heapUsed > 0 && m.heapUsed <= m.heapTotal, Math.abs(process.memoryUsage.rss() - m.rss) < 1e8]; };";
    let result = probe(text);
    let names = json!(["rss", "heapTotal", "heapUsed", "external", "arrayBuffers"]);
    assert_eq!(result, json!([names, true, true, true]));
}

#[test]
fn empty_paths_match() {
    let result = probe(include_str!("probes/nowhere.mjs"));
    assert_eq!((&result[0], &result[1]), (&json!(false), &json!(true)));
}

#[test]
fn child_processes_match() {
    let result = probe(include_str!("probes/programs.mjs"));
    assert_eq!(result[0], json!([0, null, "a b|$(id)|", "", null]));
}

#[test]
fn streams_match() {
    let result = probe(include_str!("probes/streams.mjs"));
    assert_eq!(result[0], json!([60, 60]));
}

#[test]
fn english_locale_matches() {
    let result = probe(include_str!("probes/english.mjs"));
    assert_eq!(result[0], "12,345");
}

#[test]
fn synchronous_sleep_matches() {
    let result = probe(include_str!("probes/sleep.mjs"));
    assert_eq!(result[0], "timed-out");
}

#[test]
fn digest_streams_match() {
    let result = probe(include_str!("probes/digests.mjs"));
    assert_eq!(result[0], "3c8791ad8b26ae7b00620ef95862fa7f");
}

#[test]
fn stacks_match() {
    let result = probe(include_str!("probes/stacks.mjs"));
    assert_eq!(result[0], json!(["Error: a", true, false]));
}

#[test]
fn corner_cases_match() {
    let result = probe(include_str!("probes/corners.mjs"));
    assert_eq!(result[0], "later");
}

#[test]
fn finds_every_module_under_both_names() {
    let names = [
        "assert",
        "assert/strict",
        "async_hooks",
        "buffer",
        "child_process",
        "crypto",
        "events",
        "fs",
        "fs/promises",
        "os",
        "path",
        "path/posix",
        "path/win32",
        "process",
        "readline",
        "string_decoder",
        "timers",
        "timers/promises",
        "url",
        "util",
        "util/types",
    ];
    let lines: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(n, name)| {
            format!("import * as a{n} from '{name}'; import * as b{n} from 'node:{name}';")
        })
        .collect();
    let same: Vec<String> = (0..names.len())
        .map(|n| format!("a{n} === b{n} && a{n}.default === b{n}.default"))
        .collect();
    let text = format!("{}\nexport const probe = () => [{}];", lines.join("\n"), same.join(", "));
    assert_eq!(probe_embedded(&text), json!(vec![true; names.len()]));
}
