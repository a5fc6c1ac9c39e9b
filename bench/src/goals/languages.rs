//! What a user's hook costs in the languages that people write them in, and what firing adds to
//! it: the same interpreter with the same script, started bare. Only told; there is no goal.

use std::fs;

use super::Ground;
use super::one_hook::against_bare;
use crate::programs::present;
use crate::report::Row;

/// Interpreter, ending, and a guard that reads its event and refuses.
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

/// Every language whose interpreter is there.
pub fn measure(ground: &Ground<'_>) -> anyhow::Result<Vec<Row>> {
    let there = HOOKS.iter().filter(|(interpreter, _, _)| present(interpreter));
    there.map(|(interpreter, ending, text)| one(ground, interpreter, ending, text)).collect()
}

fn one(ground: &Ground<'_>, interpreter: &str, ending: &str, text: &str) -> anyhow::Result<Row> {
    let folder = ground.folder.join(interpreter);
    fs::create_dir(&folder)?;
    let script = folder.join(format!("guard.{ending}"));
    fs::write(&script, text)?;
    let text = format!("{interpreter} {}", script.display());
    let (_, measured) = against_bare(&folder, &text, ground.asked.effort(20, 4))?;
    let what = format!("a guard in {interpreter}, fired / started bare");
    Ok(Row::of("–", &what, &measured[0], &measured[1]))
}
