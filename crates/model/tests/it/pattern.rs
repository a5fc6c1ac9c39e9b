//! Patterns: linear ones of any length, those with lookaround up to a limit.

use gambrel_model::Pattern;

#[test]
fn compiles_lookaround_in_short_patterns() {
    let pattern = Pattern::compile("^(?!Read$).*").unwrap();
    assert!(pattern.is_match("Write") && !pattern.is_match("Read"));
}

#[test]
fn refuses_long_patterns_that_need_lookaround() {
    let names: Vec<String> = (0..200).map(|at| format!("Tool{at}")).collect();
    let long = names.join("|");
    assert!(Pattern::compile(&long).unwrap().is_match("Tool199"));
    assert!(Pattern::compile(&format!("(?!x)({long})")).is_err());
}

/// The first form compiled hundreds of parts, each below the size limit.
#[test]
fn refuses_patterns_of_many_costly_parts() {
    let costly = "__\\w{1,9}+".repeat(400);
    assert!(Pattern::compile(&costly).is_err());
}
