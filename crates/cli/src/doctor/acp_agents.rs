//! The checks of `gambrel doctor` for agents of the Agent Client Protocol: which are installed, and
//! whether they answer.

use std::path::PathBuf;
use std::time::Duration;

use gambrel::Gambrel;
use gambrel_runner::{ACP_AGENTS, AcpAgent};

use super::Finding;

/// How long an agent may take to say hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(30);

/// One finding per agent that has a name. Installed agents are started, all at once.
pub fn check_acp_agents(gambrel: &Gambrel, path: &str) -> Vec<Finding> {
    std::thread::scope(|scope| {
        let checks: Vec<_> = ACP_AGENTS
            .iter()
            .map(|agent| scope.spawn(move || check_agent(gambrel, agent, path)))
            .collect();
        checks.into_iter().filter_map(|check| check.join().ok()).collect()
    })
}

fn check_agent(gambrel: &Gambrel, agent: &AcpAgent, path: &str) -> Finding {
    let name = agent.name;
    let program = agent.command.split_whitespace().next().unwrap_or_default();
    let Some(file) = find_program(program, path) else {
        let what = format!("not found: `--agent {name}` does not run");
        return Finding { name, ok: false, what };
    };
    match gambrel.probe_agent(agent.command, HELLO_TIMEOUT) {
        Ok(hello) => {
            let hello = if hello.is_empty() { program.to_owned() } else { hello };
            let what = format!("speaks the Agent Client Protocol: {hello}, {}", file.display());
            Finding { name, ok: true, what }
        }
        Err(why) => Finding { name, ok: false, what: format!("{}: {why}", file.display()) },
    }
}

fn find_program(program: &str, path: &str) -> Option<PathBuf> {
    std::env::split_paths(path).map(|dir| dir.join(program)).find(|file| file.is_file())
}
