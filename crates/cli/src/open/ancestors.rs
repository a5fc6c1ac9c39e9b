//! Detects through `/proc` whether a command-line agent started this program. Editors are not in
//! the table, because users type into their terminals.

use std::fs;

/// An agent: names of its programs and of the packages with its scripts.
struct KnownAgent {
    programs: &'static [&'static str],
    packages: &'static [&'static str],
}

const AGENTS: &[KnownAgent] = &[
    KnownAgent { programs: &["claude"], packages: &["claude-code"] },
    KnownAgent { programs: &["codex"], packages: &["@openai/codex"] },
    KnownAgent { programs: &["gemini"], packages: &["gemini-cli"] },
    KnownAgent { programs: &["opencode"], packages: &["opencode-ai"] },
    KnownAgent { programs: &["omp"], packages: &["@oh-my-pi"] },
    KnownAgent { programs: &["pi"], packages: &["pi-coding-agent"] },
    KnownAgent { programs: &["cursor-agent"], packages: &["cursor-agent"] },
    KnownAgent { programs: &["copilot"], packages: &["@github/copilot"] },
    KnownAgent { programs: &["aider"], packages: &["aider"] },
    KnownAgent { programs: &["goose"], packages: &[] },
    KnownAgent { programs: &["amp"], packages: &["@sourcegraph/amp", "@ampcode"] },
    KnownAgent { programs: &["crush"], packages: &["@charmland/crush"] },
    KnownAgent { programs: &["qwen"], packages: &["qwen-code"] },
    KnownAgent { programs: &["iteratr"], packages: &[] },
    KnownAgent { programs: &["droid"], packages: &[] },
    KnownAgent { programs: &["auggie"], packages: &["@augmentcode/auggie"] },
    KnownAgent { programs: &["plandex"], packages: &[] },
    KnownAgent { programs: &["openhands"], packages: &["openhands"] },
    KnownAgent { programs: &["kimi"], packages: &["kimi_cli", "kimi-cli"] },
    KnownAgent { programs: &["agent-pipelines"], packages: &[] },
];

/// Programs that run scripts. The script decides which agent it is.
const INTERPRETERS: [&str; 14] = [
    "node", "nodejs", "bun", "deno", "tsx", "npx", "bunx", "uv", "uvx", "env", "sh", "bash",
    "dash", "zsh",
];

/// How many parent processes are checked.
const MAX_ANCESTORS: usize = 64;
/// How many words of a command line are read.
const MAX_WORDS: usize = 16;

/// The nearest agent among the parent processes: its name and process id.
pub fn find_agent_above() -> Option<(String, u32)> {
    let mut pid = std::os::unix::process::parent_id();
    for _ in 0..MAX_ANCESTORS {
        let (name, parent) = process_name_and_parent(pid)?;
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        let words: Vec<&str> = line.split('\0').take(MAX_WORDS).collect();
        if let Some(agent) = identify_agent(&name, &words) {
            return Some((agent.to_owned(), pid));
        }
        pid = parent;
    }
    None
}

/// The kernel's name of a process, and its parent.
fn process_name_and_parent(pid: u32) -> Option<(String, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may contain parentheses itself.
    let (before, after) = stat.rsplit_once(") ")?;
    let name = before.split_once(" (")?.1.to_owned();
    let parent = after.split(' ').nth(1)?.parse().ok()?;
    Some((name, parent))
}

/// Identifies an agent by process name and command line.
fn identify_agent(name: &str, words: &[&str]) -> Option<&'static str> {
    let program = words.first().copied().unwrap_or_default();
    // Some programs replace their command line by a title with several words.
    let title = program.split(' ').next().unwrap_or_default();

    let named = find_by_program(name).or_else(|| find_by_program(title));
    named.or_else(|| {
        let base = base_name(program);
        let runs_scripts = INTERPRETERS.contains(&base) || base.starts_with("python");
        let script = words.iter().skip(1).find(|word| !word.starts_with('-') && !word.is_empty());
        let script = script.filter(|_| runs_scripts)?;
        find_by_program(script).or_else(|| find_by_package(script))
    })
}

fn find_by_program(path: &str) -> Option<&'static str> {
    let base = base_name(path);
    let stem = [".js", ".mjs", ".cjs", ".ts", ".py", ".sh"].iter();
    let stem = stem.fold(base, |name, ending| name.strip_suffix(ending).unwrap_or(name));
    let programs = AGENTS.iter().flat_map(|agent| agent.programs);
    programs.copied().find(|program| *program == stem)
}

fn find_by_package(path: &str) -> Option<&'static str> {
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
    use super::identify_agent;

    #[test]
    fn identifies_agents_by_program_title_and_script() {
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
            assert_eq!(identify_agent(name, words), Some(agent), "{name} {words:?}");
        }
    }

    #[test]
    fn ignores_shells_editors_and_files_with_agent_names() {
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
            assert_eq!(identify_agent(name, words), None, "{name} {words:?}");
        }
    }
}
