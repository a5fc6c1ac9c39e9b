//! MCP servers of a case in the real run: one Python script per server that records the input of
//! its tools. Hooks named `mcp:server/tool` are its tools.

use std::collections::BTreeMap;

use serde_json::json;

use super::case::Behaviour;
use super::real::{CaseProject, record_name};

/// Whether a hook's name is a tool of a server.
pub fn is_tool(name: &str) -> bool {
    name.starts_with("mcp:")
}

/// Server and tool of a hook's name.
pub fn split_name(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("mcp:")?.split_once('/')
}

/// Writes `mcp-SERVER.py` into the project for every server of the case.
pub fn write_servers(project: &CaseProject, hooks: &BTreeMap<String, Behaviour>) {
    let mut servers: BTreeMap<&str, serde_json::Map<String, serde_json::Value>> = BTreeMap::new();
    for (name, behaviour) in hooks {
        let Some((server, tool)) = split_name(name) else { continue };
        let given = project.base.join("given").join(record_name(name));
        let described = json!({
            "text": project.substitute(&behaviour.stdout), "error": behaviour.exit != 0,
            "hangs": behaviour.hangs, "given": given,
        });
        servers.entry(server).or_default().insert(tool.to_owned(), described);
    }
    for (server, tools) in servers {
        let text =
            SERVER.replace("@TOOLS@", &serde_json::to_string(&json!(tools).to_string()).unwrap());
        std::fs::write(project.root.join(format!("mcp-{server}.py")), text).unwrap();
    }
}

const SERVER: &str = r#"
import json, os, sys, time
TOOLS = json.loads(@TOOLS@)
def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
for line in sys.stdin:
    asked = json.loads(line)
    method, ident, params = asked.get("method"), asked.get("id"), asked.get("params") or {}
    if ident is None:
        continue
    if method == "initialize":
        say({"jsonrpc": "2.0", "id": ident, "result": {
            "protocolVersion": params.get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {}}, "serverInfo": {"name": "case", "version": "1"}}})
    elif method == "tools/call" and params.get("name") in TOOLS:
        tool = TOOLS[params["name"]]
        n = 1
        while True:
            try:
                os.mkdir("%s.%d" % (tool["given"], n))
                break
            except FileExistsError:
                n += 1
        folder = "%s.%d" % (tool["given"], n)
        open(folder + "/env", "w").write("\0".join(k + "=" + v for k, v in os.environ.items()))
        open(folder + "/args", "w").write("\0".join(sys.argv[1:]))
        open(folder + "/stdin", "w").write(json.dumps(params.get("arguments")))
        if tool["hangs"]:
            time.sleep(600)
        say({"jsonrpc": "2.0", "id": ident, "result": {
            "content": [{"type": "text", "text": tool["text"]}], "isError": tool["error"]}})
    else:
        say({"jsonrpc": "2.0", "id": ident, "error": {"code": -32602, "message": "unknown tool"}})
"#;
