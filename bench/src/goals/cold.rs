//! Goals 3, 5, 8 and 12: a cold start of `gambrel fire` against static programs that do nothing, and
//! against other ways to run a hook.

use std::path::Path;

use anyhow::ensure;

use super::{GoalContext, cold_peers};
use crate::cold_case::ColdCase;
use crate::counters;
use crate::fixture::{Fixture, hook_group};
use crate::floor::{BareProgram, BareResult};
use crate::meter::{Candidate, Measured, in_process, interleave};
use crate::report::Row;

const MAX_NOTHING_MET_RATIO: f64 = 4.0;
const MAX_RULE_RATIO: f64 = 6.0;
const MAX_HOOK_RATIO: f64 = 5.0;
const MAX_MODULE_MICROS: f64 = 2_000.0;
const MAX_RULE_TO_BASH_RATIO: f64 = 0.5;
const MAX_MANY_HOOKS_RATIO: f64 = 1.5;
/// The goal is 60 with those of the process that starts it and of the kernel: 25 for any program.
const MAX_PAGE_FAULTS: f64 = 35.0;
const MAX_SYSTEM_CALLS: f64 = 80.0;
/// Turns of every candidate, and fires in a turn.
const ROUND_COUNT: usize = 60;
const FIRE_COUNT: usize = 20;

/// Measures all cases and the other ways in turns.
pub fn measure(context: &GoalContext<'_>) -> anyhow::Result<Vec<Row>> {
    let programs = context.programs;
    let cases = ColdCase::build_all(&context.folder.join("cases"), &programs.hook)?;
    let event = cases[0].event.clone();
    let mut candidates = vec![
        program_candidate(&[path_text(&programs.noop)], &[], &[], |ended| ended.code == 0)?,
        program_candidate(&[path_text(&programs.noop_glibc)], &[], &[], |ended| ended.code == 0)?,
        program_candidate(&[path_text(&programs.hook)], &[], &event, |ended| ended.code == 2)?,
    ];
    for case in &cases {
        candidates.push(case_candidate(context, case)?);
    }
    let others = cold_peers::start_all(context, &event)?;
    let names: Vec<&str> = others.iter().map(|(name, _)| *name).collect();
    candidates.extend(others.into_iter().map(|(_, candidate)| candidate));
    let measured = interleave(context.options.effort(ROUND_COUNT, FIRE_COUNT), &mut candidates)?;

    let [musl, glibc, hook, nothing, rule, one, module, others @ ..] = measured.as_slice() else {
        return Ok(Vec::new());
    };
    let floor = "static musl C true";
    let mut rows = vec![
        compare_with_limit(&format!("nothing met / {floor}"), musl, nothing, MAX_NOTHING_MET_RATIO),
        compare_with_limit(&format!("a rule / {floor}"), musl, rule, MAX_RULE_RATIO),
        compare_with_limit(
            &format!("one hook, beside the hook itself / {floor}"),
            musl,
            &one.without(hook),
            MAX_HOOK_RATIO,
        ),
        Row::compare("8", "cold `fire`, nothing met / static glibc C true", glibc, nothing),
        Row::compare("8", "static glibc C true / static musl C true", musl, glibc),
        Row::compare_counts(
            "12",
            "cold `fire`, a module's first event, whole process / 2 ms",
            "µs CPU",
            MAX_MODULE_MICROS,
            module.median_cpu(),
        )
        .with_limit(1.0),
    ];
    rows.extend(compare_counts(context)?);
    rows.extend(compare_with_others(rule, one, &names, others));
    rows.push(measure_many_hooks(context)?);
    Ok(rows)
}

fn compare_with_limit(what: &str, floor: &Measured, ours: &Measured, limit: f64) -> Row {
    Row::compare("8", &format!("cold `fire`, {what}"), floor, ours).with_limit(limit)
}

/// The counters of a fire that meets no hook, in a folder as deep as that of `--counters`: each
/// folder above the project is searched.
fn compare_counts(context: &GoalContext<'_>) -> anyhow::Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let cases = ColdCase::build_all(folder.path(), &context.programs.hook)?;
    let counts = counters::count_case(&cases[0], &context.options.gambrel)?;
    let row = |what: &str, limit: f64, count: u64| {
        let what = format!("cold `fire`, nothing met: {what}");
        Row::compare_counts("8", &what, "", limit, count as f64).with_limit(1.0)
    };
    let cpuids = format!("{} cpuid (goal: 0); {} instructions", counts.cpuids, counts.instructions);
    Ok(vec![
        row("page faults since its start / 35", MAX_PAGE_FAULTS, counts.page_faults)
            .with_note(cpuids),
        row("system calls / 80", MAX_SYSTEM_CALLS, counts.system_calls),
    ])
}

/// A rule against guards in other languages, a hook against other hook runners.
fn compare_with_others(
    rule: &Measured,
    one_hook: &Measured,
    names: &[&str],
    others: &[Measured],
) -> Vec<Row> {
    let compare = |(name, other): (&&str, &Measured)| {
        if cold_peers::is_hook_runner(name) {
            let what = format!("cold `fire` with one hook / {name} with the same hook");
            return Row::compare("3", &what, other, one_hook);
        }
        let row = Row::compare("3", &format!("cold `fire` with a rule / {name}"), other, rule);
        if *name == cold_peers::BASH_CASE { row.with_limit(MAX_RULE_TO_BASH_RATIO) } else { row }
    };
    names.iter().zip(others).map(compare).collect()
}

/// A cold start with 1,000 hooks against one with 10; none is met.
fn measure_many_hooks(context: &GoalContext<'_>) -> anyhow::Result<Row> {
    let command = path_text(&context.programs.hook);
    let mut candidates = Vec::new();
    for count in [10, 1_000] {
        let hook = |at: usize| hook_group(&format!("Tool{at}"), &format!("{command} {at}"));
        let hooks: Vec<_> = (0..count).map(hook).collect();
        let fixture = Fixture::with_hooks(context.folder.join(format!("hooks-{count}")), &hooks)?;
        let event = fixture.tool_event("Other", "bench", 1_000);
        candidates.push(fire_candidate(context, &fixture.variables(), &event, "")?);
    }
    let measured =
        interleave(context.options.effort(ROUND_COUNT / 2, FIRE_COUNT), &mut candidates)?;
    let what = "cold `fire`, none met of 1,000 hooks / of 10";
    Ok(Row::compare("5", what, &measured[0], &measured[1]).with_limit(MAX_MANY_HOOKS_RATIO))
}

fn case_candidate(
    context: &GoalContext<'_>,
    case: &ColdCase,
) -> anyhow::Result<Candidate<'static>> {
    fire_candidate(context, &case.variables(), &case.event, case.expected_output())
}

/// `gambrel fire` for an event of Claude Code.
pub fn fire_candidate(
    context: &GoalContext<'_>,
    variables: &[(&str, String)],
    event: &[u8],
    expected_output: &'static str,
) -> anyhow::Result<Candidate<'static>> {
    let gambrel = path_text(&context.options.gambrel);
    let argv = [&gambrel, "fire", "--from", "claude"].map(str::to_owned);
    let set: Vec<(&str, &str)> = variables.iter().map(|(n, v)| (*n, v.as_str())).collect();
    program_candidate(&argv, &set, event, move |ended| {
        let output = String::from_utf8_lossy(&ended.stdout);
        let is_expected = match expected_output {
            "" => output.is_empty(),
            part => output.contains(part),
        };
        ended.code == 0 && is_expected
    })
}

/// A program that reads these bytes and must end as expected.
pub fn program_candidate(
    argv: &[String],
    set: &[(&str, &str)],
    stdin: &[u8],
    is_expected: impl Fn(&BareResult) -> bool + 'static,
) -> anyhow::Result<Candidate<'static>> {
    let bare = BareProgram::new(argv, set)?;
    let (stdin, name) = (stdin.to_vec(), argv.join(" "));
    Ok(in_process(move || {
        let ended = bare.run(&stdin)?;
        let output = String::from_utf8_lossy(&ended.stdout);
        ensure!(is_expected(&ended), "{name} exited {} and printed {output:?}", ended.code);
        Ok(())
    }))
}

fn path_text(path: &Path) -> String {
    path.display().to_string()
}
