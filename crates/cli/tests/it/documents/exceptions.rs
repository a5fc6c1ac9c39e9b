//! Lines and blocks of documents that no test runs, each with the reason. A test fails if an entry
//! is not needed.

pub struct Exception {
    pub document: &'static str,
    /// A line of a shell block without its comment, or the first line of another block.
    pub line: &'static str,
    pub because: &'static str,
}

const fn exception(document: &'static str, line: &'static str, because: &'static str) -> Exception {
    Exception { document, line, because }
}

const OTHER_PROGRAM: &str = "a program of somebody else, which leads to the internet";
const PICTURE: &str =
    "the form of a text that changes with time; tests of the live view compare it";

pub const EXCEPTIONS: &[Exception] = &[
    exception("README.md", "cargo xtask test", "it runs all tests, also this one"),
    exception("docs/approvals.md", "cloudflared tunnel --url http://localhost:8765", OTHER_PROGRAM),
    exception("docs/approvals.md", "tailscale funnel 8765", OTHER_PROGRAM),
    exception("docs/approvals.md", "ssh -R 80:localhost:8765 serveo.net", OTHER_PROGRAM),
    exception(
        "docs/approvals.md",
        "location /callback/ { proxy_pass http://localhost:8765; proxy_set_header Host $host; }",
        OTHER_PROGRAM,
    ),
    exception("docs/runs.md", "release  4:07  12 calls, 1 blocked", PICTURE),
];
