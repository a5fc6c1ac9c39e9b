//! Whether a command-line agent started this program, as far as `/proc` tells. Editors are not in
//! the table: people type into their terminals.

use std::fs;

/// An agent: what its programs are called, and the packages that its scripts are in.
struct Agent {
    programs: &'static [&'static str],
    packages: &'static [&'static str],
}

const AGENTS: &[Agent] = &[
    Agent { programs: &["claude"], packages: &["claude-code"] },
    Agent { programs: &["codex"], packages: &["@openai/codex"] },
    Agent { programs: &["gemini"], packages: &["gemini-cli"] },
    Agent { programs: &["opencode"], packages: &["opencode-ai"] },
    Agent { programs: &["omp"], packages: &["@oh-my-pi"] },
    Agent { programs: &["pi"], packages: &["pi-coding-agent"] },
    Agent { programs: &["cursor-agent"], packages: &["cursor-agent"] },
    Agent { programs: &["copilot"], packages: &["@github/copilot"] },
    Agent { programs: &["aider"], packages: &["aider"] },
    Agent { programs: &["goose"], packages: &[] },
    Agent { programs: &["amp"], packages: &["@sourcegraph/amp", "@ampcode"] },
    Agent { programs: &["crush"], packages: &["@charmland/crush"] },
    Agent { programs: &["qwen"], packages: &["qwen-code"] },
    Agent { programs: &["iteratr"], packages: &[] },
    Agent { programs: &["droid"], packages: &[] },
    Agent { programs: &["auggie"], packages: &["@augmentcode/auggie"] },
    Agent { programs: &["plandex"], packages: &[] },
    Agent { programs: &["openhands"], packages: &["openhands"] },
    Agent { programs: &["kimi"], packages: &["kimi_cli", "kimi-cli"] },
    Agent { programs: &["agent-pipelines"], packages: &[] },
];

/// Programs that run scripts: what they run says what they are.
const INTERPRETERS: [&str; 14] = [
    "node", "nodejs", "bun", "deno", "tsx", "npx", "bunx", "uv", "uvx", "env", "sh", "bash",
    "dash", "zsh",
];

/// So many processes are looked at on the way up.
const MAX_ANCESTORS: usize = 64;
/// So many words of a command line.
const MAX_WORDS: usize = 16;

/// The nearest agent above this process, by its name, with its number.
pub fn agent_above() -> Option<(String, u32)> {
    let mut pid = std::os::unix::process::parent_id();
    for _ in 0..MAX_ANCESTORS {
        let (name, parent) = process(pid)?;
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        let words: Vec<&str> = line.split('\0').take(MAX_WORDS).collect();
        if let Some(agent) = agent_of(&name, &words) {
            return Some((agent.to_owned(), pid));
        }
        pid = parent;
    }
    None
}

/// The name that the kernel has for a process, and its parent.
fn process(pid: u32) -> Option<(String, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold some itself.
    let (before, after) = stat.rsplit_once(") ")?;
    let name = before.split_once(" (")?.1.to_owned();
    let parent = after.split(' ').nth(1)?.parse().ok()?;
    Some((name, parent))
}

/// The agent that a process is, by its name and its command line.
fn agent_of(name: &str, words: &[&str]) -> Option<&'static str> {
    let program = words.first().copied().unwrap_or_default();
    // Some programs write their own title there, with words behind it.
    let title = program.split(' ').next().unwrap_or_default();
    let named = by_program(name).or_else(|| by_program(title));
    named.or_else(|| {
        let base = base_name(program);
        let runs_scripts = INTERPRETERS.contains(&base) || base.starts_with("python");
        let script = words.iter().skip(1).find(|word| !word.starts_with('-') && !word.is_empty());
        let script = script.filter(|_| runs_scripts)?;
        by_program(script).or_else(|| by_package(script))
    })
}

fn by_program(path: &str) -> Option<&'static str> {
    let base = base_name(path);
    let stem = [".js", ".mjs", ".cjs", ".ts", ".py", ".sh"].iter();
    let stem = stem.fold(base, |name, ending| name.strip_suffix(ending).unwrap_or(name));
    let programs = AGENTS.iter().flat_map(|agent| agent.programs);
    programs.copied().find(|program| *program == stem)
}

fn by_package(path: &str) -> Option<&'static str> {
    let path = format!("/{path}/");
    let holds = |package: &&'static str| path.contains(&format!("/{package}/"));
    let agent = AGENTS.iter().find(|agent| agent.packages.iter().any(holds))?;
    agent.programs.first().copied()
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::agent_of;

    #[test]
    fn agents_are_known_by_program_title_and_script() {
        let known: [(&str, &[&str], &str); 9] = [
            ("claude", &["claude"], "claude"),
            ("node", &["claude", "", ""], "claude"),
            ("node-MainThread", &["node", "/usr/bin/codex", "exec"], "codex"),
            (
                "node",
                &["node", "--no-warnings", "/x/node_modules/@google/gemini-cli/dist/index.js"],
                "gemini",
            ),
            ("bun", &["/opt/bun", "/x/@oh-my-pi/cli/src/main.ts"], "omp"),
            ("python3.12", &["/usr/bin/python3.12", "/home/a/.local/bin/aider"], "aider"),
            ("claude", &["/bin/sh", "/tmp/bin/claude"], "claude"),
            ("x", &["/usr/local/bin/opencode", "run"], "opencode"),
            ("pi", &["pi"], "pi"),
        ];
        for (name, words, agent) in known {
            assert_eq!(agent_of(name, words), Some(agent), "{name} {words:?}");
        }
    }

    #[test]
    fn shells_editors_and_files_of_such_a_name_are_none() {
        let others: [(&str, &[&str]); 8] = [
            ("bash", &["-bash"]),
            ("code", &["/usr/share/code/code", "--type=ptyHost"]),
            ("cursor", &["/opt/cursor/cursor"]),
            ("nvim", &["nvim", "claude"]),
            ("vim", &["vim", "/x/claude-code/readme"]),
            ("node", &["node", "server.js", "claude"]),
            ("pip", &["/usr/bin/python3", "/usr/bin/pip", "install", "aider"]),
            ("cargo", &["cargo", "test"]),
        ];
        for (name, words) in others {
            assert_eq!(agent_of(name, words), None, "{name} {words:?}");
        }
    }
}
