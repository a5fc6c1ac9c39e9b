//! Starts an agent that talks over its pipes for several prompts.

use gambrel_model::call::Call;
use gambrel_process::group::ProcessGroup;
use gambrel_process::owner::{ParentEnds, ProcessOwner, StreamEnd};
use gambrel_process::settings::Settings;

use crate::command::prepare_command;

/// Starts the program of a call with pipes. The watchdog knows it before it starts. The error is why
/// it does not start.
pub fn start_agent(
    call: &Call,
    settings: &Settings,
) -> Result<(ProcessGroup, ParentEnds), Box<dyn std::error::Error + Send + Sync>> {
    let mut command = prepare_command(call, !settings.always_uses_shell)?;
    command.isolate = settings.isolate;
    command.kill_with_parent = settings.isolate;
    let owner = ProcessOwner::new(settings.watchdog_client(), settings.subreaper);
    let pipes = [StreamEnd::Pipe, StreamEnd::Pipe, StreamEnd::Pipe];
    Ok(owner.start(command, pipes, None)?)
}
