//! Wraps tools of a Rust host with hooks, as oh-my-pi does: hooks run before and after a tool, and
//! may rewrite its result. Hooks receive an error, which stays an error.

use gambrel_model::{Complaint, Dialect, Moment};
use serde_json::{Value, json};

use crate::Gambrel;

/// The dialect whose events a wrapped tool fires: it names a tool's call and its result.
static TOOL_DIALECT: &Dialect = &gambrel_dialects::omp::OMP;

/// One call of a tool by an agent.
#[derive(Debug, Clone, Default)]
pub struct ToolCall {
    /// The session that the agent works in.
    pub session: String,
    /// The tool's name: one of oh-my-pi (`bash`, `read`, `edit` …) or its own.
    pub name: String,
    /// Names this call.
    pub id: String,
    /// The tool's arguments.
    pub input: Value,
}

/// What a tool gave back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOutput {
    /// Blocks for the model, such as `{"type": "text", "text": "…"}`.
    pub content: Vec<Value>,
    /// Whatever else the host keeps of it.
    pub details: Value,
}

/// Why a wrapped tool gave nothing back.
#[derive(Debug)]
pub enum ToolError<E> {
    /// Hooks refused the call; the tool did not run.
    Blocked(String),
    /// The tool itself failed, with its own error.
    Failed(E),
    /// The call could not be understood as an event.
    Unclear(Box<Complaint>),
}

impl Gambrel {
    /// Runs a tool under the hooks of the folder: `tool_call`, the tool, `tool_result`.
    ///
    /// ```
    /// use gambrel::{Gambrel, Setup, ToolCall, ToolOutput};
    /// use serde_json::json;
    ///
    /// let gambrel = Gambrel::new(Setup::in_memory(std::env::temp_dir()));
    /// let call = ToolCall { name: "read".into(), input: json!({"path": "a"}), ..ToolCall::default() };
    /// let output = gambrel.wrap(&call, |_| {
    ///     Ok::<_, String>(ToolOutput { content: vec![json!({"type": "text", "text": "hi"})], ..ToolOutput::default() })
    /// });
    /// assert_eq!(output.unwrap().content[0]["text"], "hi");
    /// ```
    pub fn wrap<E: std::fmt::Display>(
        &self,
        call: &ToolCall,
        tool: impl FnOnce(&Value) -> Result<ToolOutput, E>,
    ) -> Result<ToolOutput, ToolError<E>> {
        let event = |moment: &Moment| {
            json!({
                "type": native_event_name(moment), "sessionId": call.session, "toolName": call.name,
                "toolCallId": call.id, "input": call.input,
            })
        };
        let result =
            self.fire_and_parse(&event(&Moment::ToolBefore)).map_err(ToolError::Unclear)?;
        if result["block"] == true {
            let reason = result["reason"].as_str().unwrap_or_default().to_owned();
            return Err(ToolError::Blocked(reason));
        }
        let mut after = event(&Moment::ToolAfter);
        match tool(&call.input) {
            Ok(mut output) => {
                after["content"] = json!(output.content);
                after["details"] = output.details.clone();
                after["isError"] = json!(false);
                let result = self.fire_and_parse(&after).map_err(ToolError::Unclear)?;
                if let Some(content) = result["content"].as_array() {
                    output.content.clone_from(content);
                }
                if let Some(details) = result.get("details").filter(|details| !details.is_null()) {
                    output.details = details.clone();
                }
                Ok(output)
            }
            Err(error) => {
                after["content"] = json!([{"type": "text", "text": error.to_string()}]);
                after["isError"] = json!(true);
                // The error is returned whatever the hooks answer; the log has their output.
                let _result = self.fire_and_parse(&after);
                Err(ToolError::Failed(error))
            }
        }
    }

    /// Fires an event of oh-my-pi and reads the merged result.
    fn fire_and_parse(&self, event: &Value) -> Result<Value, Box<Complaint>> {
        let event =
            self.receive(TOOL_DIALECT.name, event.to_string().as_bytes()).map_err(Box::new)?;
        let fired = self.fire(event);
        // A message that cannot be removed is delivered once more.
        let _kept = self.mark_delivered(&fired.decision);
        Ok(serde_json::from_slice(&fired.reply.stdout).unwrap_or_default())
    }
}

fn native_event_name(moment: &Moment) -> &'static str {
    let mut specs = TOOL_DIALECT.events().iter();
    specs.find(|spec| spec.moment == *moment).map_or("", |spec| spec.name)
}
