//! Compiles our own JavaScript once, when we are built, to what the engine of the same version
//! reads without parsing. A text that is no JavaScript fails the build.

#[path = "src/rows.rs"]
mod rows;

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use rows::{ROWS, Role};
use rquickjs::module::{WriteOptions, WriteOptionsEndianness};
use rquickjs::{CatchResultExt, Context, Module, Runtime};

type Done<T> = Result<T, Box<dyn Error>>;

fn main() -> Done<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/rows.rs");
    let out = env::var("OUT_DIR")?;
    let mut table = String::from("[\n");
    for (at, (name, file, role)) in ROWS.iter().enumerate() {
        println!("cargo::rerun-if-changed={file}");
        let text = wrapped(&fs::read_to_string(file)?, *role);
        let code = compiled(name, text).map_err(|why| format!("{file}: {why}"))?;
        let place = Path::new(&out).join(format!("{at}.bin"));
        fs::write(&place, code)?;
        writeln!(table, "    ({name:?}, include_bytes!({place:?}).as_slice()),")?;
    }
    table.push(']');
    fs::write(Path::new(&out).join("compiled.in"), table)?;
    Ok(())
}

/// A module whose default is the function that a text is. No line moves.
fn wrapped(text: &str, role: Role) -> String {
    match role {
        Role::Own => format!("export default ({text}\n);"),
        Role::Node | Role::Inner => format!(
            "export default function (module, exports, need, __op, __start, __open, __bytes) {{ {text}\n}}"
        ),
    }
}

fn compiled(name: &str, text: String) -> Done<Vec<u8>> {
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
