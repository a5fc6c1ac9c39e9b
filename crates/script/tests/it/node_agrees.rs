//! Long lists of calls whose answers are Node's own, module by module.

use serde_json::json;

use crate::twin::{embedded, probe};

#[test]
fn about_paths() {
    let told = probe(include_str!("probes/paths.mjs"));
    assert_eq!(told["jj"], "a/b");
    assert_eq!(told["u"], json!(["/a b/c", "file:///a%20b/%23c%3Fd%25", "file:///x/"]));
    assert_eq!(told["e"][0][1], "ERR_INVALID_ARG_TYPE");
}

#[test]
fn about_addresses() {
    let told = probe(include_str!("probes/addresses.mjs"));
    assert_eq!(told[0][5], "example.com:8080");
}

#[test]
fn about_addresses_as_they_were() {
    let told = probe(include_str!("probes/legacy.mjs"));
    assert_eq!(told[0]["host"], "h:80");
}

#[test]
fn about_bytes_and_digests() {
    let told = probe(include_str!("probes/bytes.mjs"));
    assert_eq!(told[0], json!(["utf8", "héllo → 🎉 wörld", b"68656c6c6f", 22]));
}

#[test]
fn about_numbers_in_bytes() {
    let told = probe(include_str!("probes/numbers.mjs"));
    assert_eq!(told[0], json!([1, 1]));
}

#[test]
fn about_bytes_by_the_megabyte() {
    let told = probe(include_str!("probes/large.mjs"));
    assert_eq!(told[0][1], 680_000);
}

#[test]
fn about_how_values_are_shown_and_events_heard() {
    let told = probe(include_str!("probes/values.mjs"));
    assert_eq!(told[0], "\"a'b\"");
}

#[test]
fn about_emitters_and_events() {
    let told = probe(include_str!("probes/emitters.mjs"));
    assert_eq!(told[0], json!(["heard 1", true, true]));
}

#[test]
fn about_files() {
    let told = probe(include_str!("probes/files.mjs"));
    assert_eq!(told[0], "héllo\nworld\n");
    assert!(told.to_string().contains("ENOENT: no such file or directory, open '<root>/none'"));
}

#[test]
fn about_what_is_called_off_before_it_begins() {
    let told = probe(include_str!("probes/aborted.mjs"));
    assert_eq!(told[0], json!(["AbortError", "ABORT_ERR", "The operation was aborted", "why"]));
}

#[test]
fn about_the_words_of_a_command() {
    let told = probe(include_str!("probes/words.mjs"));
    assert_eq!(told[0]["values"], json!({"foo": true, "bar": "b"}));
}

#[test]
fn about_the_memory_that_is_held() {
    let text = "export const probe = () => { const m = process.memoryUsage(); return [Object.keys(m), m.rss > 1e6 && m.rss < 1e11, m.heapUsed > 0 && m.heapUsed <= m.heapTotal, Math.abs(process.memoryUsage.rss() - m.rss) < 1e8]; };";
    let told = probe(text);
    let names = json!(["rss", "heapTotal", "heapUsed", "external", "arrayBuffers"]);
    assert_eq!(told, json!([names, true, true, true]));
}

#[test]
fn about_the_empty_path() {
    let told = probe(include_str!("probes/nowhere.mjs"));
    assert_eq!((&told[0], &told[1]), (&json!(false), &json!(true)));
}

#[test]
fn about_programs() {
    let told = probe(include_str!("probes/programs.mjs"));
    assert_eq!(told[0], json!([0, null, "a b|$(id)|", "", null]));
}

#[test]
fn about_streams() {
    let told = probe(include_str!("probes/streams.mjs"));
    assert_eq!(told[0], json!([60, 60]));
}

#[test]
fn about_what_english_writes() {
    let told = probe(include_str!("probes/english.mjs"));
    assert_eq!(told[0], "12,345");
}

#[test]
fn about_sleeping_on_the_spot() {
    let told = probe(include_str!("probes/sleep.mjs"));
    assert_eq!(told[0], "timed-out");
}

#[test]
fn about_digests_as_streams() {
    let told = probe(include_str!("probes/digests.mjs"));
    assert_eq!(told[0], "3c8791ad8b26ae7b00620ef95862fa7f");
}

#[test]
fn about_stacks() {
    let told = probe(include_str!("probes/stacks.mjs"));
    assert_eq!(told[0], json!(["Error: a", true, false]));
}

#[test]
fn about_corners() {
    let told = probe(include_str!("probes/corners.mjs"));
    assert_eq!(told[0], "later");
}

#[test]
fn every_module_is_found_under_both_names() {
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
    assert_eq!(embedded(&text), json!(vec![true; names.len()]));
}
