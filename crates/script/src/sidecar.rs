//! A module that needs a full host: one bun or node process for it, spoken to in lines of JSON.
//! The process is in a group of its own and dies with this value, or with this process; after a
//! call that ended well it may first finish what it has begun.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use gambrel_model::lossy_json;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use serde_json::{Value, json};

use crate::clock::Clock;
use crate::desk::{Desk, Post, Surround};
use crate::engine::{Said, Told};
use crate::graph::Graph;
use crate::keeper::Held;
use crate::ops::{self, OpError, Sink, fetch};
use crate::parcel;
use crate::settings::{Ask, FullHost, ScriptSettings};
use crate::turn::Halt;

const API: &str = include_str!("../js/api.js");
const CONTEXT: &str = include_str!("../js/context.js");
const SIDECAR: &str = include_str!("../js/sidecar.js");
const MAX_LINE: u64 = 16 << 20;
const MAX_STDERR: u64 = 4 << 10;
/// Between two looks whether a host that was left has gone.
const LOOK: Duration = Duration::from_millis(50);
/// The same for what it has left itself, which takes a look at every process.
const LONG_LOOK: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(3600);

/// A module in a process of its own.
pub struct Sidecar {
    host: Option<(Child, Held)>,
    words: Option<Sender<String>>,
    posts: Receiver<Post>,
    lines: u32,
    graph: Arc<Graph>,
    /// What the module's natives share with us.
    pub desk: Arc<Desk>,
}

/// The program that modules are given to, if there is one.
pub fn program(wanted: &FullHost) -> Option<PathBuf> {
    match wanted {
        FullHost::Found => {}
        FullHost::At(path) => return Some(path.clone()),
        FullHost::Nobody => return None,
    }
    let paths = std::env::var_os("PATH")?;
    let find =
        |name: &str| std::env::split_paths(&paths).map(|p| p.join(name)).find(|p| p.is_file());
    find("bun").or_else(|| find("node"))
}

impl Sidecar {
    /// Starts the process and tells it which module to load.
    pub fn start(
        program: &Path,
        root: &Path,
        graph: &Arc<Graph>,
        settings: &ScriptSettings,
        surround: Surround,
    ) -> std::io::Result<Self> {
        let (desk, posts) = Desk::new(root.to_path_buf(), settings.clone());
        let (mut child, held) = desk.keeper.start(&mut command(program, &surround), None)?;
        let sink = desk.open();
        let lines = sink.id();
        let words = Some(writer(child.stdin.take()));
        let mark = format!("{:016x}:", RandomState::new().hash_one(root));
        reader(child.stdout.take(), child.stderr.take(), mark.clone(), sink);
        let cwd = surround.cwd.display().to_string();
        desk.place(surround);
        let mut load = parcel::load(root, graph, settings.ask.is_some(), &mark, &cwd);
        // A full host has a way out of its own; without leave it is told what ours would tell.
        load["offline"] = json!(settings.fetch.is_none().then_some(fetch::OFF));
        let host = Some((child, held));
        let (graph, desk) = (Arc::clone(graph), Arc::new(desk));
        let sidecar = Self { host, words, posts, lines, graph, desk };
        sidecar.say(&load);
        Ok(sidecar)
    }

    /// Starts a clock for a call.
    pub fn clock(&self, pace: &gambrel_model::Limits) -> Clock {
        Clock::paced(pace, self.desk.wire.clone())
    }

    /// Calls the module and waits for what its handlers say.
    pub fn call(&self, said: &Said<'_>, clock: &mut Clock) -> Result<Told, Halt> {
        // While it works it ends with us.
        if let Some((_, held)) = &self.host {
            held.recall();
        }
        self.say(&match said {
            Said::Emit(event, rest, _) => json!({"op": "emit", "event": event, "rest": rest}),
            Said::Command(name, args, rest) => {
                json!({"op": "command", "name": name, "args": args, "rest": rest})
            }
        });
        let told = self.settle(clock).map(Told::Report);
        // What was said before one of them was late counts. One that loops does not hear us: those
        // that are left are not asked.
        match told {
            Err(Halt::Late(_)) if matches!(said, Said::Emit(_, _, true)) => self.rest(told, clock),
            told => told,
        }
    }

    fn rest(&self, late: Result<Told, Halt>, clock: &mut Clock) -> Result<Told, Halt> {
        let message = clock.lateness();
        clock.last_words();
        self.desk.let_be();
        self.say(&json!({"op": "giveUp", "message": message}));
        match self.settle(clock) {
            Ok(text) if !text.is_empty() => Ok(Told::Rest(text)),
            _ => late,
        }
    }

    /// What the module has registered, as JSON.
    pub fn listed(&self, clock: &mut Clock) -> Option<Value> {
        self.say(&json!({"op": "listed"}));
        lossy_json::from_text(&self.settle(clock).ok()?).ok()
    }

    /// Carries words both ways until the call under way has settled.
    pub fn settle(&self, clock: &mut Clock) -> Result<String, Halt> {
        let mut names = HashMap::new();
        loop {
            let asking = self.desk.asking();
            if clock.over(asking) {
                return Err(Halt::Late("the deadline passed while the module worked".into()));
            }
            let began = Instant::now();
            let pause =
                clock.patience(asking).map_or(LONG, |at| at.saturating_duration_since(began));
            let pulse = &self.desk.settings.pulse;
            let post = pulse.waiting(|| self.posts.recv_timeout(pause).ok());
            if !asking {
                clock.spend(began.elapsed());
            }
            let Some(post) = post else { continue };
            if post.id != self.lines {
                self.answer(post, &mut names);
            } else if post.last {
                return Err(gone(&post.said));
            } else if let Some(text) = self.heard(&post.said["ok"], &mut names) {
                return Ok(text);
            } else if self.desk.take_lap() {
                clock.renew();
            }
        }
    }

    /// A report of the work that the module asked for goes back to it.
    fn answer(&self, post: Post, names: &mut HashMap<u32, u64>) {
        self.desk.close(post.id);
        if let Some(theirs) = names.remove(&post.id) {
            self.say(&json!({"answer": theirs, "said": post.said}));
        }
    }

    /// Does what a line asks; the text when it says that the call has settled.
    fn heard(&self, word: &Value, names: &mut HashMap<u32, u64>) -> Option<String> {
        if let Some(text) = word["settled"].as_str() {
            return Some(text.to_owned());
        }
        let theirs = word["id"].as_u64().unwrap_or_default();
        if word["lap"] == true {
            self.desk.lap();
        } else if let Some(text) = word["effect"].as_str() {
            self.desk.effect(text);
        } else if let Some(text) = word["ask"].as_str() {
            let ask: Ask = lossy_json::from_text(text).unwrap_or_default();
            names.insert(self.desk.ask(ask), theirs);
        } else if let Some(file) = word["read"].as_str() {
            let read = parcel::piece(Path::new(file), &self.graph);
            let read = read.map_err(|error| OpError::new(error.to_string()));
            self.say(&json!({"answer": theirs, "said": ops::said(read)}));
        } else if word["start"] == "exec" {
            names.insert(ops::start(&self.desk, "exec", word["args"].clone()), theirs);
        } else if let Some(wanted) = word["send"].as_u64() {
            // Work that has just ended takes no words any more.
            let _ = ours(names, wanted).map(|id| self.desk.send(id, word["value"].clone()));
        } else if let Some(id) = word["drop"].as_u64().and_then(|wanted| ours(names, wanted)) {
            names.remove(&id);
            self.desk.close(id);
        }
        None
    }

    fn say(&self, word: &Value) {
        // A process that has gone is noticed by the reader.
        let _ = self.words.as_ref().map(|words| words.send(format!("{word}\n")));
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        // The end of its input tells it to go.
        drop(self.words.take());
        let Some((child, held)) = self.host.take() else { return };
        match held.until() {
            None => end(child, held),
            Some(until) => {
                let named = std::thread::Builder::new().name("gambrel-sidecar-end".into());
                let _ = named.spawn(move || {
                    linger(&child, &held, until);
                    end(child, held);
                });
            }
        }
    }
}

/// Our number for work that the module knows by its own.
fn ours(names: &HashMap<u32, u64>, wanted: u64) -> Option<u32> {
    names.iter().find(|(_, theirs)| **theirs == wanted).map(|(id, _)| *id)
}

/// Kills what is left of the group and takes its leader's end.
fn end(mut child: Child, held: Held) {
    if let Some(pid) = pid_of(&child) {
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    }
    held.sweep();
    // Let go of the group while its number is still ours.
    drop(held);
    let _ = child.wait();
}

/// Waits without reaping until it has gone with all that it started, or its time is over.
fn linger(child: &Child, held: &Held, until: Instant) {
    let Some(pid) = pid_of(child) else { return };
    let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    let runs = || matches!(rustix::process::waitid(WaitId::Pid(pid), how), Ok(None));
    while runs() && Instant::now() < until {
        std::thread::sleep(LOOK);
    }
    while held.any_left() && Instant::now() < until {
        std::thread::sleep(LONG_LOOK);
    }
}

fn pid_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

fn gone(said: &Value) -> Halt {
    let why = said["err"]["message"].as_str().unwrap_or("it ended");
    Halt::Broken { message: format!("the module's process has gone: {why}"), stack: String::new() }
}

fn command(program: &Path, surround: &Surround) -> Command {
    let script = format!("const api = ({API}\n);\nconst contexts = ({CONTEXT}\n);\n{SIDECAR}");
    let mut command = Command::new(program);
    match program.file_stem().is_some_and(|name| name == "bun") {
        // A package that is not there is not fetched from anywhere.
        true => command.args(["--no-install", "-e"]).arg(script),
        // Not as a module: what the module's own workers are given as texts would be read as such.
        false => command
            .args(["--no-warnings", "-e"])
            .arg(format!("(async () => {{ \"use strict\";\n{script}\n}})();")),
    };
    for name in &surround.unset {
        command.env_remove(name);
    }
    command.envs(surround.env.iter().map(|(k, v)| (k, v)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0);
    command
}

/// A module that does not read must not hold up whoever speaks to it.
fn writer(stdin: Option<ChildStdin>) -> Sender<String> {
    let (words, said) = channel::<String>();
    let named = std::thread::Builder::new().name("gambrel-sidecar-write".into());
    let _ = named.spawn(move || {
        let Some(mut stdin) = stdin else { return };
        while let Ok(word) = said.recv() {
            if stdin.write_all(word.as_bytes()).and_then(|()| stdin.flush()).is_err() {
                return;
            }
        }
    });
    words
}

fn reader(
    stdout: Option<impl Read + Send + 'static>,
    stderr: Option<impl Read + Send + 'static>,
    mark: String,
    sink: Sink,
) {
    let (last_words, heard) = channel();
    let _ = std::thread::Builder::new().name("gambrel-sidecar-err".into()).spawn(move || {
        let Some(stderr) = stderr else { return };
        let mut text = Vec::new();
        let mut stderr = BufReader::new(stderr);
        let _ = stderr.by_ref().take(MAX_STDERR).read_to_end(&mut text);
        let _ = last_words.send(String::from_utf8_lossy(&text).into_owned());
        let _ = std::io::copy(&mut stderr, &mut std::io::sink());
    });
    sink.run_with(move |sink| {
        let mut stdout = BufReader::new(stdout?);
        loop {
            let mut line = Vec::new();
            let read = stdout.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).ok()?;
            if read == 0 || !line.ends_with(b"\n") {
                break;
            }
            if !sink.event(spoken(&line, &mark)) {
                return None;
            }
        }
        heard.recv_timeout(Duration::from_millis(200)).ok()
    });
}

/// A line of ours, or somebody else's words, which become a log.
fn spoken(line: &[u8], mark: &str) -> Value {
    let text = String::from_utf8_lossy(line);
    let ours = text.strip_prefix(mark).and_then(|text| lossy_json::from_text(text).ok());
    ours.unwrap_or_else(|| {
        let log = json!({"type": "log", "level": "info", "message": text.trim_end()});
        json!({ "effect": log.to_string() })
    })
}
