//! `gambrel init omp`: writes types, an example and a tsconfig for hook modules. Existing files
//! stay, unless `--force` is given.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};
use gambrel_dialects::omp::declarations::generate_declarations;
use serde_json::json;

use crate::{open, printer};

/// The example module.
const EXAMPLE_MODULE: &str = r#"import type { HookAPI } from "@oh-my-pi/pi-coding-agent/hooks";

export default function guard(pi: HookAPI): void {
  pi.on("tool_call", async (event, ctx) => {
    if (event.toolName !== "bash") return;
    const command = String(event.input.command ?? "");
    if (!/\bgit\s+push\b.*--force/.test(command)) return;
    if (!ctx.hasUI) return { block: true, reason: "a forced push needs your approval" };
    const ok = await ctx.ui.confirm("Forced push", `Allow: ${command}`);
    if (!ok) return { block: true, reason: "the user refused" };
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

/// Arguments of `init`.
#[derive(Debug, Args)]
#[command(
    after_help = "Writes .omp/hooks/hooks.d.ts (types), .omp/hooks/pre/guard.ts (an example) and .omp/tsconfig.json.
Project hooks run after you trust them: see `gambrel trust`."
)]
pub struct InitArgs {
    /// Write files for modules of this dialect.
    pub dialect: InitTarget,
    /// Replace existing types and tsconfig; modules are never replaced.
    #[arg(long)]
    pub force: bool,
    /// Print what happened to each file as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Dialects that have files to start with.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum InitTarget {
    /// oh-my-pi and pi: TypeScript modules.
    Omp,
}

/// What happened to a file.
#[derive(Clone, Copy, PartialEq)]
enum InitResult {
    Written,
    Replaced,
    Same,
    Kept,
}

impl InitResult {
    fn as_str(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Replaced => "replaced",
            Self::Same => "same",
            Self::Kept => "kept",
        }
    }
}

/// Writes the missing files.
pub fn run(folder: Option<PathBuf>, args: &InitArgs) -> anyhow::Result<u8> {
    let setup = open::build_setup(folder, None)?;
    let root = open::project_folder(&setup);
    // In a subfolder of the project a relative name would point to the wrong file.
    let elsewhere = setup.folder.is_none() && root != setup.project_root(None);

    let InitTarget::Omp = args.dialect;
    let files = [
        (".omp/hooks/hooks.d.ts", generate_declarations(), args.force),
        (".omp/hooks/pre/guard.ts", EXAMPLE_MODULE.to_owned(), false),
        (".omp/tsconfig.json", TSCONFIG.to_owned(), args.force),
    ];

    let mut results = Vec::new();
    for (name, text, force) in &files {
        let path = root.join(name);
        let result = write_file(&path, text, *force).with_context(|| path.display().to_string())?;
        let shown = if elsewhere { path.display().to_string() } else { (*name).to_owned() };
        results.push((shown, path, result));
    }

    print_results(args, &results);
    Ok(0)
}

fn write_file(path: &Path, text: &str, force: bool) -> anyhow::Result<InitResult> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match fs::File::create_new(path) {
        Ok(mut file) => {
            std::io::Write::write_all(&mut file, text.as_bytes())?;
            Ok(InitResult::Written)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if fs::read(path).is_ok_and(|there| there == text.as_bytes()) {
                return Ok(InitResult::Same);
            }
            if !force {
                return Ok(InitResult::Kept);
            }
            fs::write(path, text)?;
            Ok(InitResult::Replaced)
        }
        Err(error) => Err(error.into()),
    }
}

fn print_results(args: &InitArgs, results: &[(String, PathBuf, InitResult)]) {
    if args.json {
        let files =
            results.iter().map(|(_, path, result)| json!({"file": path, "fate": result.as_str()}));
        return printer::print_json(&json!({"files": files.collect::<Vec<_>>()}));
    }

    for (name, _, result) in results {
        let more = match result {
            InitResult::Kept if !is_module(name) => "  (differs; --force replaces it)",
            _ => "",
        };
        printer::print(&format!("{:<9} {name}{more}\n", result.as_str()));
    }
    if results.iter().any(|(name, _, result)| is_module(name) && *result == InitResult::Written) {
        printer::print("\nThe example runs after you trust it: gambrel trust\n");
    }
}

fn is_module(name: &str) -> bool {
    name.ends_with("/pre/guard.ts")
}
