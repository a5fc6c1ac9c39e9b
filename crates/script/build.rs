//! Compiles gambrel's own JavaScript to bytecode at build time. An engine of the same version loads
//! it without parsing. A syntax error fails the build.

#[path = "src/node/builtins.rs"]
mod builtins;

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use builtins::{BUILTINS, Role};
use rquickjs::module::{WriteOptions, WriteOptionsEndianness};
use rquickjs::{CatchResultExt, Context, Module, Runtime};

type BuildResult<T> = Result<T, Box<dyn Error>>;

fn main() -> BuildResult<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/node/builtins.rs");

    let out = env::var("OUT_DIR")?;
    let mut table = String::from("[\n");
    for (at, (name, file, role)) in BUILTINS.iter().enumerate() {
        println!("cargo::rerun-if-changed={file}");
        let text = wrap_source(&fs::read_to_string(file)?, *role);
        let code = compile_source(name, text).map_err(|why| format!("{file}: {why}"))?;

        let output = Path::new(&out).join(format!("{at}.bin"));
        fs::write(&output, code)?;
        writeln!(table, "    ({name:?}, include_bytes!({output:?}).as_slice()),")?;
    }

    table.push(']');
    fs::write(Path::new(&out).join("compiled.in"), table)?;
    Ok(())
}

/// A module whose default export is the function in `text`. Line numbers stay.
fn wrap_source(text: &str, role: Role) -> String {
    match role {
        Role::Own => format!("export default ({text}\n);"),
        Role::Node | Role::Inner => format!(
            "export default function (module, exports, need, __op, __start, __open, __bytes) {{ {text}\n}}"
        ),
    }
}

fn compile_source(name: &str, text: String) -> BuildResult<Vec<u8>> {
    let big = env::var("CARGO_CFG_TARGET_ENDIAN")? == "big";
    let options = || WriteOptions {
        endianness: if big { WriteOptionsEndianness::Big } else { WriteOptionsEndianness::Little },
        strip_source: true,
        ..WriteOptions::default()
    };

    Context::full(&Runtime::new()?)?.with(|ctx| {
        let made = Module::declare(ctx.clone(), format!("gambrel:{name}"), text);
        let made = made.and_then(|module| module.write(options()));
        made.catch(&ctx).map_err(|why| why.to_string().into())
    })
}
