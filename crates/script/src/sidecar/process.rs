//! Runs a module that needs a full host in its own bun or node process, which exchanges lines of
//! JSON with gambrel. The process leads its own group and ends with this value or with gambrel.
//! After a successful call it may first finish its work.

use std::collections::HashMap;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use gambrel_model::lossy_json;
use gambrel_process::environ::EnvironRequest;
use gambrel_process::error::StartError;
use gambrel_process::group::ProcessGroup;
use gambrel_process::owner::{ParentEnds, StreamEnd};
use serde_json::{Value, json};

use super::payload;
use crate::frontend::Graph;
use crate::node::host::program::{ProgramRequest, pipe_file, start_program};
use crate::node::host::{self, OpError, Sink, fetch};
use crate::runtime::{CallEnv, CallResult, Clock, Completion, HostState, Interrupted, Invocation};
use crate::settings::{FullHost, Question, ScriptSettings};

const API_JS: &str = include_str!("../../js/api.js");
const CONTEXT_JS: &str = include_str!("../../js/context.js");
const SIDECAR_JS: &str = include_str!("../../js/sidecar.js");
const MAX_LINE_BYTES: u64 = 16 << 20;
const MAX_STDERR_BYTES: u64 = 4 << 10;
/// Between two checks whether a sidecar that was left running has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The same for its leftover processes. Each check reads every process.
const SLOW_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The longest single wait if there is no deadline.
const MAX_WAIT_TIMEOUT: Duration = Duration::from_secs(3600);

/// A module in its own process.
pub struct Sidecar {
    process: Option<ProcessGroup>,
    input: Option<Sender<String>>,
    completions: Receiver<Completion>,
    output_id: u32,
    graph: Arc<Graph>,
    /// State shared with the host functions.
    pub state: Arc<HostState>,
}

/// The program for sidecars, if there is one.
pub fn find_program(wanted: &FullHost) -> Option<PathBuf> {
    match wanted {
        FullHost::FromPath => {}
        FullHost::At(path) => return Some(path.clone()),
        FullHost::Disabled => return None,
    }

    let paths = std::env::var_os("PATH")?;

    let find =
        |name: &str| std::env::split_paths(&paths).map(|p| p.join(name)).find(|p| p.is_file());
    find("bun").or_else(|| find("node"))
}

impl Sidecar {
    /// Starts the process and sends it the module to load.
    pub fn start(
        program: &Path,
        root: &Path,
        graph: &Arc<Graph>,
        settings: &ScriptSettings,
        call_env: CallEnv,
    ) -> Result<Self, StartError> {
        let (state, completions) = HostState::new(root.to_path_buf(), settings.clone());
        let (group, [stdin, stdout, stderr]) = start_host(&state, program, &call_env)?;

        let sink = state.open_operation();
        let output_id = sink.id();
        let input = Some(spawn_writer(pipe_file(stdin)));
        let marker = format!("{:016x}:", RandomState::new().hash_one(root));
        spawn_reader(pipe_file(stdout), pipe_file(stderr), marker.clone(), sink);

        let cwd = call_env.cwd.display().to_string();
        state.set_call_env(call_env);
        let mut load = payload::load_payload(root, graph, settings.ask.is_some(), &marker, &cwd);
        // A full host could open connections itself. Without permission its `fetch` throws this
        // text.
        load["offline"] = json!(settings.fetch.is_none().then_some(fetch::FETCH_DISABLED));

        let process = Some(group);
        let (graph, state) = (Arc::clone(graph), Arc::new(state));
        let sidecar = Self { process, input, completions, output_id, graph, state };
        sidecar.send_line(&load);
        Ok(sidecar)
    }

    /// Calls the module and waits for its handlers.
    pub fn invoke_module(
        &self,
        invocation: &Invocation<'_>,
        clock: &mut Clock,
    ) -> Result<CallResult, Interrupted> {
        // While it works, it must not outlive gambrel.
        if let Some(group) = &self.process {
            group.revoke_leftovers();
        }
        self.send_line(&match invocation {
            Invocation::Emit(event, rest, _) => json!({"op": "emit", "event": event, "rest": rest}),
            Invocation::Command(name, args, rest) => {
                json!({"op": "command", "name": name, "args": args, "rest": rest})
            }
        });

        let result = self.wait_for_result(clock).map(CallResult::Report);
        // Results from before the timeout count. The remaining handlers do not run, because a
        // process that loops reads no messages.
        match result {
            Err(Interrupted::TimedOut(_)) if matches!(invocation, Invocation::Emit(_, _, true)) => {
                self.collect_partial_report(result, clock)
            }
            result => result,
        }
    }

    fn collect_partial_report(
        &self,
        timed_out: Result<CallResult, Interrupted>,
        clock: &mut Clock,
    ) -> Result<CallResult, Interrupted> {
        let message = clock.timeout_message();
        clock.start_grace();
        self.state.abandon_call();
        self.send_line(&json!({"op": "giveUp", "message": message}));
        match self.wait_for_result(clock) {
            Ok(text) if !text.is_empty() => Ok(CallResult::PartialReport(text)),
            _ => timed_out,
        }
    }

    /// The commands and renderers that the module registered, as JSON.
    pub fn list_registrations(&self, clock: &mut Clock) -> Option<Value> {
        self.send_line(&json!({"op": "listed"}));
        lossy_json::from_text(&self.wait_for_result(clock).ok()?).ok()
    }

    /// Exchanges messages with the process until the current call has a result.
    pub fn wait_for_result(&self, clock: &mut Clock) -> Result<String, Interrupted> {
        let mut request_ids = HashMap::new();
        loop {
            let asking = self.state.is_asking();
            if clock.is_over(asking) {
                return Err(Interrupted::TimedOut(
                    "the deadline passed while the module worked".into(),
                ));
            }

            let began = Instant::now();
            let timeout = clock
                .wait_deadline(asking)
                .map_or(MAX_WAIT_TIMEOUT, |at| at.saturating_duration_since(began));
            let heartbeat = &self.state.settings.heartbeat;
            let completion =
                heartbeat.while_waiting(|| self.completions.recv_timeout(timeout).ok());
            if !asking {
                clock.charge_time(began.elapsed());
            }

            let Some(completion) = completion else { continue };
            if completion.id != self.output_id {
                self.send_answer(completion, &mut request_ids);
            } else if completion.last {
                return Err(process_ended(&completion.result));
            } else if let Some(text) = self.handle_line(&completion.result["ok"], &mut request_ids)
            {
                return Ok(text);
            } else if self.state.take_handler_start() {
                clock.renew_active_time();
            }
        }
    }

    /// Sends the result of an operation back to the module.
    fn send_answer(&self, completion: Completion, request_ids: &mut HashMap<u32, u64>) {
        self.state.close_operation(completion.id);
        if let Some(their_id) = request_ids.remove(&completion.id) {
            self.send_line(&json!({"answer": their_id, "said": completion.result}));
        }
    }

    /// Handles one line of the process. Returns the result of the call if the line has it.
    fn handle_line(&self, message: &Value, request_ids: &mut HashMap<u32, u64>) -> Option<String> {
        if let Some(text) = message["settled"].as_str() {
            return Some(text.to_owned());
        }

        let their_id = message["id"].as_u64().unwrap_or_default();
        if message["lap"] == true {
            self.state.mark_handler_start();
        } else if let Some(text) = message["effect"].as_str() {
            self.state.add_effect(text);
        } else if let Some(text) = message["ask"].as_str() {
            let question: Question = lossy_json::from_text(text).unwrap_or_default();
            request_ids.insert(self.state.ask_user(question), their_id);
        } else if let Some(file) = message["read"].as_str() {
            let read = payload::payload_part(Path::new(file), &self.graph);
            let read = read.map_err(|error| OpError::new(error.to_string()));
            self.send_line(&json!({"answer": their_id, "said": host::result_to_json(read)}));
        } else if message["start"] == "exec" {
            request_ids.insert(
                host::start_function(&self.state, "exec", message["args"].clone()),
                their_id,
            );
        } else if let Some(wanted) = message["send"].as_u64() {
            // An operation that has just ended takes no messages.
            let _ = find_operation(request_ids, wanted)
                .map(|id| self.state.send_message(id, message["value"].clone()));
        } else if let Some(id) =
            message["drop"].as_u64().and_then(|wanted| find_operation(request_ids, wanted))
        {
            request_ids.remove(&id);
            self.state.close_operation(id);
        }
        None
    }

    fn send_line(&self, message: &Value) {
        // The reader notices if the process has ended.
        let _ = self.input.as_ref().map(|input| input.send(format!("{message}\n")));
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        // The process exits at the end of its input.
        drop(self.input.take());
        let Some(group) = self.process.take() else { return };
        match group.leftover_deadline() {
            None => kill_and_reap(&group),
            Some(until) => {
                let named = std::thread::Builder::new().name("gambrel-sidecar-end".into());
                let _ = named.spawn(move || {
                    wait_for_exit(&group, until);
                    kill_and_reap(&group);
                });
            }
        }
    }
}

/// The id of the operation to which the module refers by its own number.
fn find_operation(request_ids: &HashMap<u32, u64>, wanted: u64) -> Option<u32> {
    request_ids.iter().find(|(_, their_id)| **their_id == wanted).map(|(id, _)| *id)
}

/// Kills all its processes and reaps their leader.
fn kill_and_reap(group: &ProcessGroup) {
    group.kill_tree();
    group.reap();
}

/// Waits without reaping until the process and its descendants have ended, or until the deadline.
fn wait_for_exit(group: &ProcessGroup, until: Instant) {
    while !group.has_exited() && Instant::now() < until {
        std::thread::sleep(POLL_INTERVAL);
    }
    while group.has_members() && Instant::now() < until {
        std::thread::sleep(SLOW_POLL_INTERVAL);
    }
}

fn process_ended(report: &Value) -> Interrupted {
    let why = report["err"]["message"].as_str().unwrap_or("no error output");
    Interrupted::EngineError {
        message: format!("the module's process has ended: {why}"),
        stack: String::new(),
    }
}

fn start_host(
    state: &HostState,
    program: &Path,
    call_env: &CallEnv,
) -> Result<(ProcessGroup, ParentEnds), StartError> {
    let script =
        format!("const api = ({API_JS}\n);\nconst contexts = ({CONTEXT_JS}\n);\n{SIDECAR_JS}");
    // Not as an ES module: node would then read the texts of the module's workers as ES modules.
    let wrapped = format!("(async () => {{ \"use strict\";\n{script}\n}})();");
    let args = match program.file_stem().is_some_and(|name| name == "bun") {
        // Without this option bun would download missing packages.
        true => vec!["--no-install", "-e", &script],
        false => vec!["--no-warnings", "-e", &wrapped],
    };
    let file = program.to_string_lossy();
    let (set, remove) = (call_env.env.as_slice(), call_env.unset.as_slice());
    let request = ProgramRequest {
        file: &file,
        argv0: &file,
        args,
        cwd: Path::new(""),
        environ: EnvironRequest { set, remove, ..EnvironRequest::default() },
    };
    let streams = [StreamEnd::Pipe, StreamEnd::Pipe, StreamEnd::Pipe];
    start_program(state, &request, streams, None)
}

/// Starts the writer thread. A module that does not read its input must not block gambrel.
fn spawn_writer(stdin: Option<File>) -> Sender<String> {
    let (sender, receiver) = channel::<String>();
    let named = std::thread::Builder::new().name("gambrel-sidecar-write".into());
    let _ = named.spawn(move || {
        let Some(mut stdin) = stdin else { return };
        while let Ok(line) = receiver.recv() {
            if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err() {
                return;
            }
        }
    });
    sender
}

fn spawn_reader(stdout: Option<File>, stderr: Option<File>, marker: String, sink: Sink) {
    let (error_sender, error_output) = channel();
    let _ = std::thread::Builder::new().name("gambrel-sidecar-err".into()).spawn(move || {
        let Some(stderr) = stderr else { return };
        let mut text = Vec::new();
        let mut stderr = BufReader::new(stderr);
        let _ = stderr.by_ref().take(MAX_STDERR_BYTES).read_to_end(&mut text);
        let _ = error_sender.send(String::from_utf8_lossy(&text).into_owned());
        let _ = std::io::copy(&mut stderr, &mut std::io::sink());
    });

    sink.run_with_events(move |sink| {
        let mut stdout = BufReader::new(stdout?);
        loop {
            let mut line = Vec::new();
            let read = stdout.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line).ok()?;
            if read == 0 || !line.ends_with(b"\n") {
                break;
            }
            if !sink.send_event(parse_line(&line, &marker)) {
                return None;
            }
        }
        error_output.recv_timeout(Duration::from_millis(200)).ok()
    });
}

/// Parses a message. A line without the marker is output of the module and becomes a log entry.
fn parse_line(line: &[u8], marker: &str) -> Value {
    let text = String::from_utf8_lossy(line);
    let message = text.strip_prefix(marker).and_then(|text| lossy_json::from_text(text).ok());
    message.unwrap_or_else(|| {
        let log = json!({"type": "log", "level": "info", "message": text.trim_end()});
        json!({ "effect": log.to_string() })
    })
}
