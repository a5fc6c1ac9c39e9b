//! The contracts as data. Every claim has a case, and every case runs twice: scripted, with the
//! engine as a library and scripted hooks; and real, with scripts on disk and the built binary. A
//! case with a `run` step runs only for real.

mod case;
mod check;
mod claims;
mod real;
mod receiver;
mod run;
mod scripted;
mod tools;

use std::path::PathBuf;

use case::Case;

const DIALECTS: [&str; 6] = ["claude", "omp", "teams", "iteratr", "unified", "crossing"];

fn contracts_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../contracts")
}

/// Runs every case of every dialect with one runner, two at a time, and reports all failures.
fn run_all_cases(run: fn(&Case) -> Vec<String>) {
    let cases: Vec<Case> = DIALECTS.iter().flat_map(|dialect| case::load(dialect)).collect();
    assert!(!cases.is_empty(), "there are no cases");
    let only = std::env::var("GAMBREL_CASE").unwrap_or_default();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let failures = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(case) =
                    cases.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    if !format!("{}/{}", case.file, case.name).contains(&only) {
                        continue;
                    }
                    let wrong = std::panic::catch_unwind(|| run(case))
                        .unwrap_or_else(|_| vec!["the runner panicked".into()]);
                    let wrong =
                        wrong.into_iter().map(|w| format!("{}: {}: {w}", case.file, case.name));
                    failures.lock().unwrap().extend(wrong);
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn every_case_holds_scripted() {
    run_all_cases(scripted::run);
}

#[test]
fn every_case_holds_for_real() {
    run_all_cases(real::run);
}

#[test]
fn every_fire_holds_when_clap_reads_its_words() {
    run_all_cases(real::run_with_clap);
}

#[test]
fn every_claim_has_a_case_and_every_case_a_claim() {
    let wrong: Vec<String> = DIALECTS.iter().flat_map(|dialect| claims::check(dialect)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_claim_cites_sections_that_exist() {
    let wrong = DIALECTS.iter().flat_map(|dialect| claims::check_sections(dialect));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
