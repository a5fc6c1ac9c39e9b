//! A scripted agent of the Agent Client Protocol. It is this test program, started again: a wrapper
//! runs the one test below, which plays the script in `acp.json` on the pipes that it is given.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp_client::McpClient;

/// Set for the started program. Its messages go to descriptor 3, because the test harness prints to
/// stdout.
pub const AGENT_VARIABLE: &str = "GAMBREL_TEST_ACP_AGENT";
pub const MESSAGE_FILE: &str = "/proc/self/fd/3";

#[test]
fn plays_its_script() {
    if std::env::var_os(AGENT_VARIABLE).is_none() {
        return;
    }
    let script: Value = serde_json::from_slice(&std::fs::read("acp.json").unwrap()).unwrap();
    let output = OpenOptions::new().write(true).open(MESSAGE_FILE).unwrap();
    let agent = ScriptedAgent {
        script,
        output,
        last_id: 0,
        servers: json!([]),
        cancelled: false,
        unused: Vec::new(),
    };
    agent.serve();
    std::process::exit(0);
}

struct ScriptedAgent {
    script: Value,
    output: File,
    last_id: u64,
    servers: Value,
    cancelled: bool,
    /// Messages that came before their turn.
    unused: Vec<Value>,
}

impl ScriptedAgent {
    fn serve(mut self) {
        let mut prompts = 0;
        while let Some(message) = self.read() {
            let id = &message["id"];
            match message["method"].as_str().unwrap_or_default() {
                "initialize" => {
                    let version = self.script.get("version").cloned().unwrap_or(json!(1));
                    let info = json!({"name": "scripted", "version": "7"});
                    self.answer(id, json!({"protocolVersion": version, "agentInfo": info}));
                }
                "session/new" if self.script["refuses"].is_string() => {
                    let error = json!({"code": -32000, "message": self.script["refuses"]});
                    self.write(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
                }
                "session/new" => {
                    self.servers = message["params"]["mcpServers"].clone();
                    self.answer(id, json!({"sessionId": "s1"}));
                }
                "session/prompt" => {
                    self.cancelled = false;
                    self.play(id, prompts);
                    prompts += 1;
                }
                _ => {}
            }
        }
    }

    /// Plays the steps of a prompt. The last prompt of a script repeats.
    fn play(&mut self, id: &Value, number: usize) {
        let iteration = std::env::var("ITERATION").unwrap_or_default();
        let iterations = &self.script["iterations"];
        let prompts = iterations.get(&iteration).unwrap_or(&self.script["prompts"]).clone();
        let prompts = prompts.as_array().unwrap();
        let steps = prompts.get(number).or(prompts.last()).cloned().unwrap_or_default();
        let mut stop = json!("end_turn");
        for step in steps.as_array().into_iter().flatten() {
            let (word, value) = step.as_object().unwrap().iter().next().unwrap();
            match word.as_str() {
                "stop" => stop = value.clone(),
                "fail" => {
                    let error = json!({"code": -32603, "message": value});
                    return self.write(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
                }
                _ => self.play_step(word, value, step),
            }
        }
        if self.cancelled {
            stop = json!("cancelled");
        }
        let status = std::env::var("STATUS").unwrap_or_default();
        if !status.is_empty() {
            std::fs::write(status, r#"{"decision":"continue"}"#).unwrap();
        }
        self.answer(id, json!({"stopReason": stop}));
    }

    fn play_step(&mut self, word: &str, value: &Value, step: &Value) {
        let text = value.as_str().unwrap_or_default();
        match word {
            "say" => self.say(text),
            "update" => self.update(value),
            "ask" => {
                let request = self.ask(value, &step["options"]);
                // An update that comes before the answer.
                if step["then"].is_object() {
                    self.update(&step["then"]);
                }
                self.await_answer(request);
            }
            // Two requests at once.
            "ask_both" => {
                let all: Vec<u64> = value
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|call| self.ask(call, &Value::Null))
                    .collect();
                all.into_iter().for_each(|request| self.await_answer(request));
            }
            "ask_for_ever" => loop {
                let mut call = value.clone();
                if call["toolCallId"].is_null() {
                    call["toolCallId"] = json!(format!("call {}", self.last_id));
                }
                let request = self.ask(&call, &Value::Null);
                self.await_answer(request);
            },
            "request" => {
                self.last_id += 1;
                let id = json!(format!("r{}", self.last_id));
                self.write(&json!({"jsonrpc": "2.0", "id": id, "method": text, "params": {}}));
                let answer = self.read_until(|message| message["id"] == id);
                append_line("answers", &answer["error"]["code"].to_string());
            }
            "print" => writeln!(self.output, "{text}").unwrap(),
            "stderr" => eprintln!("{text}"),
            "touch" => std::fs::write(text, "").unwrap(),
            "wait_for" => {
                while !std::path::Path::new(text).exists() {
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
            "until_cancelled" => {
                self.read_until(|message| message["method"] == "session/cancel");
            }
            "hang" => loop {
                std::thread::sleep(Duration::from_secs(1));
            },
            "flood_mebibytes" => {
                for _ in 0..value.as_u64().unwrap() * 16 {
                    self.say(&"flood ".repeat(10_923));
                }
            }
            "flood_of_calls" => loop {
                self.last_id += 1;
                let size = usize::try_from(value.as_u64().unwrap()).unwrap();
                self.update(&json!({
                    "sessionUpdate": "tool_call", "toolCallId": format!("c{}", self.last_id),
                    "status": "pending", "rawInput": {"command": "x".repeat(size)},
                }));
            },
            "exit" => std::process::exit(i32::try_from(value.as_i64().unwrap()).unwrap()),
            "tools" => self.call_tools(value),
            other => panic!("no step `{other}`"),
        }
    }

    fn say(&mut self, text: &str) {
        let content = json!({"type": "text", "text": text});
        self.update(&json!({"sessionUpdate": "agent_message_chunk", "content": content}));
    }

    fn update(&mut self, update: &Value) {
        let params = json!({"sessionId": "s1", "update": update});
        self.write(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    }

    /// Asks for permission. `always` comes first, as in some agents.
    fn ask(&mut self, call: &Value, kinds: &Value) -> u64 {
        self.last_id += 1;
        let usual = json!(["allow_always", "allow_once", "reject_always", "reject_once"]);
        let kinds = if kinds.is_array() { kinds } else { &usual };
        let options: Vec<Value> = kinds
            .as_array()
            .unwrap()
            .iter()
            .map(|kind| json!({"optionId": kind, "name": kind, "kind": kind}))
            .collect();
        let params = json!({"sessionId": "s1", "toolCall": call, "options": options});
        let method = "session/request_permission";
        let request =
            json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params});
        self.write(&request);
        self.last_id
    }

    /// Waits for the answer to a permission request, and keeps the option or the outcome.
    fn await_answer(&mut self, request: u64) {
        let answer =
            self.read_until(|message| message["id"] == request && message["method"].is_null());
        let outcome = &answer["result"]["outcome"];
        let word = outcome["optionId"].as_str().or(outcome["outcome"].as_str());
        append_line("answers", word.unwrap_or("an error"));
    }

    /// Calls tools of the server that the client named.
    fn call_tools(&mut self, calls: &Value) {
        let server = &self.servers[0];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mut command = Command::new(text(&server["command"]));
        command.args(server["args"].as_array().unwrap().iter().map(text));
        // Only what the client names, as some agents do.
        command.env_clear();
        for variable in server["env"].as_array().unwrap() {
            command.env(text(&variable["name"]), text(&variable["value"]));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).current_dir("/");
        let mut client = McpClient::greet(command.spawn().unwrap());
        for call in calls.as_array().unwrap() {
            let answer = client.request("tools/call", call);
            append_line("tool-answers", &text(&answer["result"]["content"][0]["text"]));
        }
        client.wait_for_end();
    }

    fn read_until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(known) = self.unused.iter().position(&wanted) {
            return self.unused.remove(known);
        }
        loop {
            let Some(message) = self.read() else { std::process::exit(0) };
            self.cancelled |= message["method"] == "session/cancel";
            if wanted(&message) {
                return message;
            }
            self.unused.push(message);
        }
    }

    fn read(&mut self) -> Option<Value> {
        let mut line = String::new();
        let count = std::io::stdin().lock().read_line(&mut line).unwrap();
        if count == 0 {
            return None;
        }
        append_line("received.jsonl", line.trim());
        Some(serde_json::from_str(&line).unwrap())
    }

    fn answer(&mut self, id: &Value, result: Value) {
        self.write(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    /// Writes a message. A client that is gone ends the agent.
    fn write(&mut self, message: &Value) {
        if writeln!(self.output, "{message}").is_err() {
            std::process::exit(0);
        }
    }
}

fn append_line(path: &str, line: &str) {
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    writeln!(file, "{line}").unwrap();
}
