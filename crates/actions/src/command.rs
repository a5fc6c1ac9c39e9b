//! Turns a call into the program and arguments to execute, with or without a shell.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gambrel_model::call::{Call, Program, Shell};
use gambrel_process::command::{ExecMode, ProcessCommand};
use gambrel_process::environ::{Environ, EnvironRequest};
use gambrel_process::error::StartError;
use gambrel_process::path_lookup;
use gambrel_process::private_view::{PrivateView, ViewFile};

use crate::error::{ActionError, ActionResult};
use crate::shell_bypass;

/// Prepares a call, or returns why it cannot start.
pub(crate) fn prepare_command(call: &Call, allow_direct: bool) -> ActionResult<ProcessCommand<'_>> {
    let environ = Environ::build(&EnvironRequest {
        set: &call.env,
        inherit: call.inherit.as_deref(),
        remove: &call.remove_env,
        pwd: Some(&call.cwd),
    })
    .map_err(StartError::from)?;
    let cwd = call.cwd.as_path();
    let modes = match &call.program {
        Program::None => return Err(ActionError::NothingToStart),
        Program::Exec(argv) => vec![exec_mode(argv, &environ, cwd)?],
        Program::Shell { shell, text } => {
            let direct = (allow_direct && *shell != Shell::PowerShell)
                .then(|| shell_bypass::bypass_shell(text, &environ, cwd))
                .flatten();
            let mut modes: Vec<ExecMode> = direct.into_iter().collect();
            match shell_mode(*shell, text, &environ, cwd) {
                Ok(mode) => modes.push(mode),
                Err(reason) if modes.is_empty() || *shell == Shell::Bash => return Err(reason),
                Err(_) => {}
            }
            modes
        }
    };
    let view = plan_view(call)?;
    let command = ProcessCommand::new(environ, cwd, modes);
    Ok(ProcessCommand { view, scripts_through_sh: true, ..command })
}

/// The view in which hashed copies replace the trusted files.
fn plan_view(call: &Call) -> Result<Option<PrivateView>, StartError> {
    let copies = call.watched.as_ref().and_then(|watched| watched.copies.as_ref());
    let Some(copies) = copies else { return Ok(None) };
    let files = copies.files.iter();
    let files =
        files.map(|copy| ViewFile { path: &copy.path, mode: copy.mode, bytes: &copy.bytes });
    let files: Vec<ViewFile<'_>> = files.collect();
    PrivateView::plan(&copies.root, &files).map(Some).map_err(StartError::View)
}

fn exec_mode(argv: &[String], environ: &Environ, cwd: &Path) -> ActionResult<ExecMode> {
    let name = argv.first().filter(|name| !name.is_empty()).ok_or(ActionError::NoProgram)?;
    let words = argv.iter().map(|word| word.clone().into_bytes()).collect();
    Ok(ExecMode::find(name, words, environ, cwd)?)
}

fn shell_mode(shell: Shell, text: &str, environ: &Environ, cwd: &Path) -> ActionResult<ExecMode> {
    let find_program =
        |name: &str| path_lookup::find_on_path(name.as_bytes(), environ.value_of(b"PATH"), cwd);
    let need_program = |name: &'static str| find_program(name).ok_or(ActionError::NoShell(name));
    let sh = || PathBuf::from("/bin/sh");
    let (path, options) = match shell {
        Shell::Sh => (sh(), vec!["-c"]),
        Shell::Bash => (need_program("bash")?, vec!["-c"]),
        Shell::BashOrSh => (find_program("bash").unwrap_or_else(sh), vec!["-c"]),
        Shell::PowerShell => (need_program("pwsh")?, vec!["-NoProfile", "-Command"]),
    };

    let mut argv = vec![path.as_os_str().as_bytes().to_vec()];
    argv.extend(options.into_iter().map(|option| option.as_bytes().to_vec()));
    // The shell would read text that begins like an option as one.
    let space = if text.starts_with(['-', '+']) { " " } else { "" };
    argv.push(format!("{space}{text}").into_bytes());
    Ok(ExecMode { path, argv })
}
