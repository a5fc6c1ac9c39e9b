//! Row `fuzz`, HTTP part: mutated requests to callback links of `gambrel serve`. No seed has the
//! token of the open ticket, so no request may answer it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use gambrel_ledger::open_state_dir;
use gambrel_model::ticket::Ticket;

use super::fuzz_targets::mutate;
use super::program::RunningProgram;
use super::project::TestProject;
use super::random::Random;
use super::workers::Workload;
use super::{Measured, Options};

/// Longer than the server waits for the rest of a request.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// Larger than any page.
const MAX_ANSWER_BYTES: u64 = 4 << 20;
const MAX_KIB: u64 = 256 * 1024;
const WORKERS: usize = 8;

const SEEDS: &[&str] = &[
    "GET /callback/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA HTTP/1.1\r\nHost: localhost:8765\r\n\
     Accept: text/html\r\n\r\n",
    "POST /callback/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA?action=approve HTTP/1.1\r\n\
     Host: localhost:8765\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n\
     {\"action\":\"approve\"}",
    "POST /callback?token=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA&action=approve HTTP/1.1\r\n\
     Host: 127.0.0.1:8765\r\nOrigin: http://127.0.0.1:8765\r\n\
     Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 14\r\n\r\naction=approve",
    "POST /callback/AAAA HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n\
     5\r\nhello\r\n0\r\n\r\n",
    "GET /?key=0000 HTTP/1.1\r\nHost: localhost\r\nCookie: key=0000\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, upgrade\r\n\
     Upgrade: websocket\r\n\r\n",
    "HEAD /callback/%41%00 HTTP/1.0\r\n\r\n",
];

pub fn attack(options: &Options) -> anyhow::Result<Measured> {
    let count = options.row_count(400, 50_000).min(50_000);
    let project = TestProject::new(options)?;
    let ledger = open_state_dir(project.state_dir());
    let opened = ledger.open_ticket(&fuzz_ticket()?)?;
    let command = project.gambrel_command(&["serve", "--json"]);
    let mut server = RunningProgram::start(command, b"", &project.base)?;
    let port = wait_for_port(&project, &mut server)?;

    let work = Workload { name: "fuzz: requests", count, workers: WORKERS, report_every: 5_000 };
    let took = work.run(|n| {
        let n = u64::try_from(n).unwrap_or_default();
        let mut random = Random::new(options.seed ^ n.wrapping_mul(0x5851_f42d_4c95_7f2d));
        send_request(port, &mutate(SEEDS, &mut random))
    })?;

    let ended_early = server.poll()?.is_some();
    let ended = server.kill()?;
    let panics = ended.stderr.matches("panicked").count();
    let unanswered = took.iter().filter(|took| took.is_none()).count();
    let slowest = took.iter().flatten().max().copied().unwrap_or_default();
    let is_answered = |ticket: Option<Ticket>| ticket.is_none_or(|ticket| ticket.answer.is_some());
    let answered = usize::from(is_answered(ledger.find_ticket(&opened.ticket.id)?));
    let clean = !ended_early && panics + unanswered + answered == 0;
    Ok(Measured {
        what: "mutated requests to callback links".into(),
        goal: "0 panics, each answered or closed within 20 s, no ticket answered, under 256 MiB",
        count,
        measured: format!(
            "{panics} panics, server {}; {unanswered} open after 20 s, at most {} ms; {answered} \
             tickets answered; {} MiB",
            if ended_early { "ended" } else { "runs" },
            slowest.as_millis(),
            ended.peak_kib / 1024
        ),
        held: (clean && ended.peak_kib < MAX_KIB).into(),
    })
}

fn fuzz_ticket() -> anyhow::Result<Ticket> {
    let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
    let expires = now + 24 * 60 * 60 * 1_000;
    Ok(Ticket {
        key: "fuzz".into(),
        at: now,
        expires,
        title: "May it?".into(),
        ..Ticket::default()
    })
}

/// Waits for the server and returns its port.
fn wait_for_port(project: &TestProject, server: &mut RunningProgram) -> anyhow::Result<u16> {
    let until = Instant::now() + START_TIMEOUT;
    loop {
        ensure!(server.poll()?.is_none(), "`gambrel serve` ended: {}", server.output_so_far()?.1);
        let (printed, _) = server.output_so_far()?;
        if let Ok(value) = serde_json::from_str::<serde_json::Value>(&printed) {
            let base = value["base"].as_str().unwrap_or_default();
            let port = base.rsplit(':').next().context("no port in the address")?;
            return Ok(port.trim_end_matches('/').parse()?);
        }
        ensure!(Instant::now() < until, "no server in {}", project.base.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends one request. Returns the time until the answer or the end of the connection; `None` after
/// the limit.
fn send_request(port: u16, request: &[u8]) -> anyhow::Result<Option<Duration>> {
    let began = Instant::now();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, ANSWER_TIMEOUT)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
    // A closed connection counts as an answer.
    let _closed = stream.write_all(request);
    let _closed = stream.shutdown(std::net::Shutdown::Write);

    let mut answer = Vec::new();
    let read = stream.take(MAX_ANSWER_BYTES).read_to_end(&mut answer);
    let waits = read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
    Ok((!waits && began.elapsed() <= ANSWER_TIMEOUT).then(|| began.elapsed()))
}
