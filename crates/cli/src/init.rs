//! `gambrel init omp`: what somebody needs who writes a hook module here. Only writes files; what
//! stands there already stays, unless it was asked otherwise.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};
use gambrel_dialects::omp::declarations::declarations;
use serde_json::json;

use crate::{look, printer};

/// A guard that does something and shows how little it takes.
const GUARD: &str = r#"import type { HookAPI } from "@oh-my-pi/pi-coding-agent/hooks";

export default function guard(pi: HookAPI): void {
  pi.on("tool_call", async (event, ctx) => {
    if (event.toolName !== "bash") return;
    const command = String(event.input.command ?? "");
    if (!/\bgit\s+push\b.*--force/.test(command)) return;
    if (!ctx.hasUI) return { block: true, reason: "a forced push needs a person's word" };
    const ok = await ctx.ui.confirm("Forced push", `Allow: ${command}`);
    if (!ok) return { block: true, reason: "the person said no" };
  });
}
"#;
const TSCONFIG: &str = r#"{
  "compilerOptions": {
    "target": "ES2023",
    "module": "ESNext",
    "moduleResolution": "bundler",
    "allowImportingTsExtensions": true,
    "strict": true,
    "noEmit": true
  },
  "include": ["hooks/**/*.ts"]
}
"#;

/// `init`.
#[derive(Debug, Args)]
#[command(
    after_help = "Writes .omp/hooks/hooks.d.ts (types), .omp/hooks/pre/guard.ts (an example) and .omp/tsconfig.json.
A project's hooks run once they are trusted: see `gambrel trust`."
)]
pub struct InitArgs {
    /// The dialect to write modules for.
    pub dialect: Begun,
    /// Replace types and tsconfig that are there; modules are yours and are never replaced.
    #[arg(long)]
    pub force: bool,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

/// The dialects that have something to begin with.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Begun {
    /// oh-my-pi and pi: TypeScript modules.
    Omp,
}

/// What became of a file.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Written,
    Replaced,
    Same,
    Kept,
}

impl Fate {
    fn word(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Replaced => "replaced",
            Self::Same => "same",
            Self::Kept => "kept",
        }
    }
}

/// Writes what is not there.
pub fn run(folder: Option<PathBuf>, args: &InitArgs) -> anyhow::Result<u8> {
    let setup = look::setup(folder, None)?;
    let root = look::project(&setup);
    // Below a project a name alone would be looked for in the wrong folder.
    let elsewhere = setup.folder.is_none() && root != setup.project_root(None);
    let Begun::Omp = args.dialect;
    let files = [
        (".omp/hooks/hooks.d.ts", declarations(), args.force),
        (".omp/hooks/pre/guard.ts", GUARD.to_owned(), false),
        (".omp/tsconfig.json", TSCONFIG.to_owned(), args.force),
    ];
    let mut told = Vec::new();
    for (name, text, force) in &files {
        let path = root.join(name);
        let fate = put(&path, text, *force).with_context(|| path.display().to_string())?;
        let shown = if elsewhere { path.display().to_string() } else { (*name).to_owned() };
        told.push((shown, path, fate));
    }
    tell(args, &told);
    Ok(0)
}

fn put(path: &Path, text: &str, force: bool) -> anyhow::Result<Fate> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match fs::File::create_new(path) {
        Ok(mut file) => {
            std::io::Write::write_all(&mut file, text.as_bytes())?;
            Ok(Fate::Written)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if fs::read(path).is_ok_and(|there| there == text.as_bytes()) {
                return Ok(Fate::Same);
            }
            if !force {
                return Ok(Fate::Kept);
            }
            fs::write(path, text)?;
            Ok(Fate::Replaced)
        }
        Err(error) => Err(error.into()),
    }
}

fn tell(args: &InitArgs, told: &[(String, PathBuf, Fate)]) {
    if args.json {
        let files = told.iter().map(|(_, path, fate)| json!({"file": path, "fate": fate.word()}));
        return printer::json(&json!({"files": files.collect::<Vec<_>>()}));
    }
    for (name, _, fate) in told {
        let more = match fate {
            Fate::Kept if !is_module(name) => "  (differs; --force replaces it)",
            _ => "",
        };
        printer::out(&format!("{:<9} {name}{more}\n", fate.word()));
    }
    if told.iter().any(|(name, _, fate)| is_module(name) && *fate == Fate::Written) {
        printer::out("\nThe example runs once you trust it: gambrel trust\n");
    }
}

fn is_module(name: &str) -> bool {
    name.ends_with("/pre/guard.ts")
}
