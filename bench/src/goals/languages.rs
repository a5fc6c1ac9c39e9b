//! The cost of hooks in common languages, fired and started bare: the same interpreter with the
//! same script. Reported without a goal.

use std::fs;

use super::GoalContext;
use super::one_hook::measure_against_bare;
use crate::programs::{can_measure, is_installed};
use crate::report::Row;

/// Interpreter, file extension, and a guard that reads its event and denies.
const HOOKS: &[(&str, &str, &str)] = &[
    ("bash", "sh", "event=$(cat)\n[[ $event == *'\"tool_name\"'* ]] && exit 2\n"),
    (
        "python3",
        "py",
        "import json, sys\nevent = json.load(sys.stdin)\nsys.exit(2 if event['tool_name'] else 0)\n",
    ),
    (
        "node",
        "js",
        "const event = JSON.parse(require('fs').readFileSync(0, 'utf8'));\nprocess.exit(event.tool_name ? 2 : 0);\n",
    ),
];

/// Measures every language whose interpreter is installed, and names the others.
pub fn measure(context: &GoalContext<'_>) -> anyhow::Result<Vec<Row>> {
    let is_there = |(interpreter, _, _): &&(&str, _, _)| {
        can_measure(&format!("a guard in {interpreter}"), is_installed(interpreter))
    };
    HOOKS
        .iter()
        .filter(is_there)
        .map(|(interpreter, ending, text)| measure_language(context, interpreter, ending, text))
        .collect()
}

fn measure_language(
    context: &GoalContext<'_>,
    interpreter: &str,
    ending: &str,
    text: &str,
) -> anyhow::Result<Row> {
    let folder = context.folder.join(interpreter);
    fs::create_dir(&folder)?;
    let script = folder.join(format!("guard.{ending}"));
    fs::write(&script, text)?;
    let text = format!("{interpreter} {}", script.display());
    let (_, measured) = measure_against_bare(&folder, &text, context.options.effort(20, 4))?;
    let what = format!("a guard in {interpreter}, fired / started bare");
    Ok(Row::compare("–", &what, &measured[0], &measured[1]))
}
