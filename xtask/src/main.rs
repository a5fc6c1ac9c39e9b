//! Development commands of this repository: `cargo xtask test | faults | tidy | schemas | bench |
//! dist | ci`.

mod bench;
mod dist;
mod faults;
mod machine;
mod schemas;
mod shell;
mod test;
mod tidy;
mod tools;

use std::process::ExitCode;

const HELP: &str = "cargo xtask COMMAND

  test [ARGS…]   install what the tests need, then run all of them (ARGS go to cargo test);
                 --claude VERSION (such as latest) also runs the tests inside that Claude Code
  faults         attack the built program with kills, faults and hostile input, and print
                 results; --full for the full counts, --only ROW, --seed N, --count N,
                 --binary FILE for another build
  tidy           check names, sizes, file headers and dependencies between crates, and that
                 generated files are fresh
  schemas        write the JSON Schemas of hook events
  bench [ARGS…]  measure against floors of the same run; --quick for a short one; --peers installs
                 other hook runners first; --counters counts what a cold fire of the published
                 build does, and fails if a count has grown (--save commits new counts)
  dist           build the published program: static, stripped, tested and attacked as in CI,
                 packed into target/dist as archive, npm package, wheel, Debian package and Claude
                 Code plugin; --pie for random code addresses (archive only), --no-test to leave
                 out tests and attacks
  ci             run everything that a merge needs; --skip-test leaves out `test`
";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    let done = match command.as_str() {
        "test" => test::run(&rest),
        "faults" => faults::run(&rest),
        "tidy" => tidy::run(),
        "schemas" => schemas::run(),
        "bench" => bench::run(&rest),
        "dist" => dist::run(&rest),
        "ci" => test::run_ci(&rest),
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(64);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {command}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
