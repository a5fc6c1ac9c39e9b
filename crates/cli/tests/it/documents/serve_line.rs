//! Lines of documents that serve until they are interrupted. The walk starts the server, opens the
//! page behind the printed address as a browser does, and then presses Ctrl-C.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::fresh_root::FreshRoot;
use crate::http_server::send_request;
use crate::test_project::wait_until;

/// The exit code of a program that ended at SIGINT.
const INTERRUPTED: Option<i32> = Some(130);

/// Whether a line starts a server.
pub fn is_server(line: &str) -> bool {
    line == "gambrel serve"
}

/// Runs the line in a shell of the root. Returns the exit code, 0 if it served until Ctrl-C, and what
/// it printed.
pub fn run(root: &FreshRoot, line: &str) -> (Option<i32>, String) {
    let mut command = root.session_shell(&format!("exec {line}"));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut printed = String::new();
    for line in lines.map_while(Result::ok) {
        printed += &format!("{line}\n");
        if line.starts_with("http://") {
            printed += &open_page(&line);
            let _sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
            wait_until("the end of the server", || child.try_wait().unwrap().is_some());
        }
    }
    match child.wait().unwrap().code() {
        INTERRUPTED if printed.contains("<title>") => (Some(0), printed),
        code => (code, printed),
    }
}

/// The page behind an address: it answers with a cookie, which opens the page.
fn open_page(address: &str) -> String {
    let first = send_request("GET", address, &[], "");
    let cookie = first.head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = format!("cookie: {}", cookie.and_then(|it| it.split(';').next()).unwrap_or(""));
    let page = address.split("?key=").next().unwrap();
    send_request("GET", page, &[&cookie], "").body
}
