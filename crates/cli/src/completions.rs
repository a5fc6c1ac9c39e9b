//! Shell completions and the manual page, generated from the parser's definitions.

use std::io::Write;

use clap::CommandFactory;
use serde_json::json;

use crate::args::Cli;
use crate::printer;

/// Prints completions for a shell.
pub fn print_completions(shell: clap_complete::Shell, as_json: bool) -> anyhow::Result<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "gambrel", &mut text);
    print_text(&text, as_json);
    Ok(0)
}

/// Prints one manual page with all commands.
pub fn print_manual(as_json: bool) -> anyhow::Result<u8> {
    let mut text = Vec::new();
    let command = Cli::command();
    clap_mangen::Man::new(command.clone()).render(&mut text)?;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let man = clap_mangen::Man::new(sub.clone());
        writeln!(text, ".SH {}", sub.get_name().to_uppercase())?;
        man.render_description_section(&mut text)?;
        man.render_options_section(&mut text)?;
    }
    print_text(&text, as_json);
    Ok(0)
}

fn print_text(text: &[u8], as_json: bool) {
    let text = String::from_utf8_lossy(text);
    if as_json { printer::print_json(&json!({"text": text})) } else { printer::print(&text) }
}
