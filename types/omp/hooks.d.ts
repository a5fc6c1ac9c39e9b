// Types for hook modules of oh-my-pi, as gambrel runs them. `gambrel init omp` writes this file,
// and `--force` replaces it. Imports of these modules are types only: a module runs without any
// installed package.

// Node's modules, for projects without Node's own types.
declare module "node:*";

declare module "gambrel/hooks" {
  // ── messages ──

  export interface TextContent {
    type: "text";
    text: string;
  }

  export interface ImageContent {
    type: "image";
    /** Base64. */
    data: string;
    mimeType: string;
  }

  export type Content = TextContent | ImageContent;

  export interface UserMessage {
    role: "user";
    content: string | Content[];
    timestamp?: number;
  }

  export interface AssistantMessage {
    role: "assistant";
    /** Text, thinking and tool calls, in the form of the model's API. */
    content: Array<TextContent | { type: string; [field: string]: unknown }>;
    timestamp?: number;
    [field: string]: unknown;
  }

  export interface ToolResultMessage {
    role: "toolResult";
    toolCallId: string;
    toolName: string;
    content: Content[];
    details?: unknown;
    isError: boolean;
    timestamp?: number;
  }

  /** A message that a hook has sent. */
  export interface CustomMessage<T = unknown> {
    role: "custom";
    customType: string;
    content: string | Content[];
    display: boolean;
    details?: T;
    timestamp?: number;
  }

  export interface BashExecutionMessage {
    role: "bashExecution";
    command: string;
    output: string;
    [field: string]: unknown;
  }

  export interface SummaryMessage {
    role: "compactionSummary" | "branchSummary";
    summary: string;
    [field: string]: unknown;
  }

  export type Message = UserMessage | AssistantMessage | ToolResultMessage;
  export type AgentMessage = Message | CustomMessage | BashExecutionMessage | SummaryMessage;
  export type HookMessage<T = unknown> = CustomMessage<T>;

  /** The argument of `sendMessage`, and a result of `before_agent_start`. */
  export interface CustomMessagePayload<T = unknown> {
    /** The type by which your module recognises its messages. */
    customType?: string;
    content?: string | Content[];
    /** Whether the user sees it. */
    display?: boolean;
    /** For your module; the model does not see it. */
    details?: T;
  }

  // ── the session, read-only ──

  export interface SessionEntry {
    id: string;
    parentId?: string | null;
    type: string;
    timestamp?: string | number;
    [field: string]: unknown;
  }

  export interface SessionTreeNode {
    entry: SessionEntry;
    children: SessionTreeNode[];
    label?: string;
  }

  /** The session as the caller sent it; empty if the caller sends none. */
  export interface ReadonlySessionManager {
    getEntries(): SessionEntry[];
    getBranch(from?: string): SessionEntry[];
    getEntry(id: string): SessionEntry | undefined;
    getLeafId(): string | null;
    getLeafEntry(): SessionEntry | undefined;
    getSessionFile(): string | undefined;
    getSessionId(): string;
    getSessionDir(): string;
    getSessionName(): string | undefined;
    getCwd(): string;
    getHeader(): Record<string, unknown> | null;
    getTree(): SessionTreeNode[];
  }

  /** The session that `newSession` is about to start. Calls apply to that session. */
  export interface SessionManager {
    appendMessage(message: AgentMessage): void;
    appendCustomEntry(customType: string, data?: unknown): void;
    [method: string]: (...args: never[]) => void;
  }

  export interface Model {
    id: string;
    provider: string;
    name?: string;
    [field: string]: unknown;
  }

  /** The models that the caller sent; empty if it sends none. */
  export interface ModelRegistry {
    find(provider: string, id: string): Model | undefined;
    getAll(): Model[];
    getAvailable(): Model[];
    getApiKey(model: Model): Promise<string | undefined>;
    getApiKeyForProvider(provider: string): Promise<string | undefined>;
  }

  export interface CompactionResult {
    summary: string;
    firstKeptEntryId: string;
    tokensBefore: number;
    details?: unknown;
  }

  export interface TreePreparation {
    targetId: string;
    oldLeafId: string | null;
    commonAncestorId: string | null;
    entriesToSummarize: SessionEntry[];
    userWantsSummary: boolean;
  }

  export interface TodoItem {
    content: string;
    status: string;
    [field: string]: unknown;
  }

  // ── the context of a handler ──

  /** When a dialog ends without an answer. */
  export interface DialogOptions {
    signal?: Signal;
    /** Milliseconds. */
    timeout?: number;
  }

  /** An `AbortSignal`, or an object with the same interface. */
  export interface Signal {
    readonly aborted: boolean;
    addEventListener(type: "abort", listener: () => void): void;
  }

  /** The host's own `AbortSignal`, if its types are installed. */
  export type EventSignal = typeof globalThis extends { AbortSignal: { prototype: infer Own } } ? Own : Signal;

  export interface Theme {
    fg(color: string, text: string): string;
    bg(color: string, text: string): string;
    bold(text: string): string;
    italic(text: string): string;
    underline(text: string): string;
  }

  /** Dialogs reach the user if `hasUI` is true. The handler's timeout is paused meanwhile. */
  export interface HookUIContext {
    /** The chosen option; `undefined` without a user or a choice. */
    select(title: string, options: string[], how?: DialogOptions): Promise<string | undefined>;
    /** `false` without a user. */
    confirm(title: string, message: string, how?: DialogOptions): Promise<boolean>;
    input(title: string, placeholder?: string, how?: DialogOptions): Promise<string | undefined>;
    editor(title: string, prefill?: string, how?: DialogOptions): Promise<string | undefined>;
    notify(message: string, type?: "info" | "warning" | "error"): void;
    /** Text for the status line, by key; `undefined` removes it. */
    setStatus(key: string, text: string | undefined): void;
    setEditorText(text: string): void;
    getEditorText(): string;
    /** A terminal component; always `undefined` in gambrel. */
    custom<T>(factory: (...args: never[]) => unknown, options?: unknown): Promise<T | undefined>;
    readonly theme: Theme;
  }

  export interface HookContext {
    readonly ui: HookUIContext;
    /** Whether dialogs can reach the user. */
    readonly hasUI: boolean;
    readonly cwd: string;
    readonly sessionManager: ReadonlySessionManager;
    /** The model at the time of the event. */
    readonly model: Model | undefined;
    readonly modelRegistry: ModelRegistry;
    isIdle(): boolean;
    abort(): void;
    hasQueuedMessages(): boolean;
  }

  export interface NewSessionOptions {
    parentSession?: string | undefined;
    setup?: (sessionManager: SessionManager) => Promise<void>;
  }

  /** Only for commands: in a handler, these would wait for the handler itself. */
  export interface HookCommandContext extends HookContext {
    waitForIdle(): Promise<void>;
    newSession(options?: NewSessionOptions): Promise<{ cancelled: boolean }>;
    branch(entryId: string): Promise<{ cancelled: boolean }>;
    navigateTree(targetId: string, options?: { summarize?: boolean }): Promise<{ cancelled: boolean }>;
  }

  // ── events and results, generated from gambrel's event table ──

  export interface SessionStartEvent {
    type: "session_start";
  }

  export interface SessionBeforeSwitchEvent {
    type: "session_before_switch";
    reason: "new" | "resume" | "fork";
    targetSessionFile?: string;
  }

  export interface SessionBeforeSwitchResult {
    cancel?: boolean;
  }

  export interface SessionSwitchEvent {
    type: "session_switch";
    reason: "new" | "resume" | "fork";
    previousSessionFile: string | undefined;
  }

  export interface SessionBeforeBranchEvent {
    type: "session_before_branch";
    entryId: string;
  }

  export interface SessionBeforeBranchResult {
    cancel?: boolean;
    skipConversationRestore?: boolean;
  }

  export interface SessionBranchEvent {
    type: "session_branch";
    previousSessionFile: string | undefined;
  }

  export interface SessionBeforeCompactEvent {
    type: "session_before_compact";
    preparation: Record<string, unknown>;
    branchEntries: SessionEntry[];
    customInstructions?: string;
    signal: EventSignal;
  }

  export interface SessionBeforeCompactResult {
    cancel?: boolean;
    compaction?: CompactionResult;
  }

  export interface SessionCompactingEvent {
    type: "session.compacting";
    sessionId: string;
    messages: AgentMessage[];
  }

  export interface SessionCompactingResult {
    context?: string[];
    prompt?: string;
    preserveData?: Record<string, unknown>;
  }

  export interface SessionCompactEvent {
    type: "session_compact";
    compactionEntry: SessionEntry;
    fromExtension?: boolean;
  }

  export interface SessionBeforeTreeEvent {
    type: "session_before_tree";
    preparation: TreePreparation;
    signal: EventSignal;
  }

  export interface SessionBeforeTreeResult {
    cancel?: boolean;
    summary?: { summary: string; details?: unknown };
  }

  export interface SessionTreeEvent {
    type: "session_tree";
    newLeafId: string | null;
    oldLeafId: string | null;
    summaryEntry?: SessionEntry;
    fromExtension?: boolean;
  }

  export interface SessionShutdownEvent {
    type: "session_shutdown";
  }

  export interface ContextEvent {
    type: "context";
    messages: AgentMessage[];
  }

  export interface ContextEventResult {
    messages?: AgentMessage[];
  }

  export interface InputEvent {
    type: "input";
    text: string;
    images?: ImageContent[];
    source: "interactive" | "rpc" | "extension";
  }

  export interface InputEventResult {
    handled?: boolean;
    text?: string;
    images?: ImageContent[];
  }

  export interface BeforeAgentStartEvent {
    type: "before_agent_start";
    prompt: string;
    images?: ImageContent[];
    systemPrompt?: string[];
  }

  export interface BeforeAgentStartEventResult {
    message?: CustomMessagePayload;
    systemPrompt?: string | string[];
  }

  export interface AgentStartEvent {
    type: "agent_start";
  }

  export interface SessionStopEvent {
    type: "session_stop";
    messages: AgentMessage[];
    turn_id: number;
    last_assistant_message?: AgentMessage;
    session_id: string;
    session_file?: string;
    stop_hook_active: boolean;
    signal: EventSignal;
  }

  export interface SessionStopResult {
    decision?: "block";
    continue?: boolean;
    reason?: string;
    additionalContext?: string;
  }

  export interface AgentEndEvent {
    type: "agent_end";
    messages: AgentMessage[];
    willContinue?: boolean;
  }

  export interface TurnStartEvent {
    type: "turn_start";
    turnIndex: number;
    timestamp: number;
  }

  export interface TurnEndEvent {
    type: "turn_end";
    turnIndex: number;
    message: AgentMessage;
    toolResults: ToolResultMessage[];
  }

  export interface AutoCompactionStartEvent {
    type: "auto_compaction_start";
    reason: string;
    action?: string;
  }

  export interface AutoCompactionEndEvent {
    type: "auto_compaction_end";
    result: CompactionResult | undefined;
    aborted: boolean;
    willRetry: boolean;
    errorMessage?: string;
  }

  export interface AutoRetryStartEvent {
    type: "auto_retry_start";
    attempt: number;
    maxAttempts: number;
    delayMs: number;
    errorMessage: string;
  }

  export interface AutoRetryEndEvent {
    type: "auto_retry_end";
    success: boolean;
    attempt: number;
    finalError?: string;
  }

  export interface TtsrTriggeredEvent {
    type: "ttsr_triggered";
    rules: Array<Record<string, unknown>>;
  }

  export interface TodoReminderEvent {
    type: "todo_reminder";
    todos: TodoItem[];
    attempt: number;
    maxAttempts: number;
  }

  export interface ToolCallEvent {
    type: "tool_call";
    toolName: string;
    toolCallId: string;
    input: Record<string, unknown>;
  }

  export interface ToolCallEventResult {
    block?: boolean;
    reason?: string;
    input?: Record<string, unknown>;
  }

  export interface ToolResultEvent {
    type: "tool_result";
    toolName: string;
    toolCallId: string;
    input: Record<string, unknown>;
    content: Content[];
    details: unknown;
    isError?: boolean;
  }

  export interface ToolResultEventResult {
    content?: Content[];
    details?: unknown;
    isError?: boolean;
  }

  export interface UserBashEvent {
    type: "user_bash";
    command: string;
    excludeFromContext: boolean;
    cwd: string;
  }

  export interface UserBashEventResult {
    result?: Record<string, unknown>;
  }

  export interface UserPythonEvent {
    type: "user_python";
    code: string;
    excludeFromContext: boolean;
    cwd: string;
  }

  export interface UserPythonEventResult {
    result?: Record<string, unknown>;
  }

  export interface MessageStartEvent {
    type: "message_start";
    message: AgentMessage;
  }

  export interface MessageUpdateEvent {
    type: "message_update";
    message: AgentMessage;
    assistantMessageEvent: Record<string, unknown>;
  }

  export interface MessageEndEvent {
    type: "message_end";
    message: AgentMessage;
  }

  export interface ToolExecutionStartEvent {
    type: "tool_execution_start";
    toolCallId: string;
    toolName: string;
    args: unknown;
    intent?: string;
  }

  export interface ToolExecutionUpdateEvent {
    type: "tool_execution_update";
    toolCallId: string;
    toolName: string;
    args: unknown;
    partialResult: unknown;
  }

  export interface ToolExecutionEndEvent {
    type: "tool_execution_end";
    toolCallId: string;
    toolName: string;
    result: unknown;
    isError: boolean;
  }

  export interface ToolApprovalRequestedEvent {
    type: "tool_approval_requested";
    sessionId: string;
    toolCallId: string;
    toolName: string;
    reason?: string;
    approvalMode: string;
  }

  export interface ToolApprovalResolvedEvent {
    type: "tool_approval_resolved";
    sessionId: string;
    toolCallId: string;
    toolName: string;
    approved: boolean;
    reason?: string;
  }

  export interface BeforeProviderRequestEvent {
    type: "before_provider_request";
    payload: unknown;
  }

  export interface AfterProviderResponseEvent {
    type: "after_provider_response";
    status: number;
    headers: Record<string, string>;
    requestId?: string | null;
    metadata?: unknown;
  }

  export interface RetryFallbackAppliedEvent {
    type: "retry_fallback_applied";
    from: string;
    to: string;
    role: string;
  }

  export interface RetryFallbackSucceededEvent {
    type: "retry_fallback_succeeded";
    model: string;
    role: string;
  }

  export interface ResourcesDiscoverEvent {
    type: "resources_discover";
    cwd: string;
    reason: "startup" | "reload";
  }

  export interface GoalUpdatedEvent {
    type: "goal_updated";
    goal: unknown;
    state?: unknown;
  }

  export interface CredentialDisabledEvent {
    type: "credential_disabled";
    provider: string;
    disabledCause: string;
  }

  export interface McpNotificationEvent {
    type: "mcp_notification";
    server: string;
    method: string;
    params: unknown;
  }

  export interface SessionBeforeForkEvent {
    type: "session_before_fork";
    entryId: string;
  }

  export interface SessionBeforeForkResult {
    cancel?: boolean;
  }

  export interface ModelSelectEvent {
    type: "model_select";
    [field: string]: unknown;
  }

  export interface ThinkingLevelSelectEvent {
    type: "thinking_level_select";
    [field: string]: unknown;
  }

  export interface SessionForkEvent {
    type: "session_fork";
    [field: string]: unknown;
  }

  export interface SessionInfoChangedEvent {
    type: "session_info_changed";
    [field: string]: unknown;
  }

  export interface AgentSettledEvent {
    type: "agent_settled";
    [field: string]: unknown;
  }

  export interface BeforeProviderHeadersEvent {
    type: "before_provider_headers";
    [field: string]: unknown;
  }

  export type BashToolResultEvent = ToolResultEvent & { toolName: "bash" };
  export type ReadToolResultEvent = ToolResultEvent & { toolName: "read" };
  export type WriteToolResultEvent = ToolResultEvent & { toolName: "write" };
  export type EditToolResultEvent = ToolResultEvent & { toolName: "edit" };
  export type GrepToolResultEvent = ToolResultEvent & { toolName: "grep" };
  export type FindToolResultEvent = ToolResultEvent & { toolName: "find" };
  export type GlobToolResultEvent = ToolResultEvent & { toolName: "glob" };
  export type WebFetchToolResultEvent = ToolResultEvent & { toolName: "web_fetch" };
  export type FetchToolResultEvent = ToolResultEvent & { toolName: "fetch" };
  export type TaskToolResultEvent = ToolResultEvent & { toolName: "task" };

  /** Every event with the argument and the result of its handlers. */
  export interface HookEvents {
    "session_start": [SessionStartEvent, undefined];
    "session_before_switch": [SessionBeforeSwitchEvent, SessionBeforeSwitchResult];
    "session_switch": [SessionSwitchEvent, undefined];
    "session_before_branch": [SessionBeforeBranchEvent, SessionBeforeBranchResult];
    "session_branch": [SessionBranchEvent, undefined];
    "session_before_compact": [SessionBeforeCompactEvent, SessionBeforeCompactResult];
    "session.compacting": [SessionCompactingEvent, SessionCompactingResult];
    "session_compact": [SessionCompactEvent, undefined];
    "session_before_tree": [SessionBeforeTreeEvent, SessionBeforeTreeResult];
    "session_tree": [SessionTreeEvent, undefined];
    "session_shutdown": [SessionShutdownEvent, undefined];
    "context": [ContextEvent, ContextEventResult];
    "input": [InputEvent, InputEventResult];
    "before_agent_start": [BeforeAgentStartEvent, BeforeAgentStartEventResult];
    "agent_start": [AgentStartEvent, undefined];
    "session_stop": [SessionStopEvent, SessionStopResult];
    "agent_end": [AgentEndEvent, undefined];
    "turn_start": [TurnStartEvent, undefined];
    "turn_end": [TurnEndEvent, undefined];
    "auto_compaction_start": [AutoCompactionStartEvent, undefined];
    "auto_compaction_end": [AutoCompactionEndEvent, undefined];
    "auto_retry_start": [AutoRetryStartEvent, undefined];
    "auto_retry_end": [AutoRetryEndEvent, undefined];
    "ttsr_triggered": [TtsrTriggeredEvent, undefined];
    "todo_reminder": [TodoReminderEvent, undefined];
    "tool_call": [ToolCallEvent, ToolCallEventResult];
    "tool_result": [ToolResultEvent, ToolResultEventResult];
    "user_bash": [UserBashEvent, UserBashEventResult];
    "user_python": [UserPythonEvent, UserPythonEventResult];
    "message_start": [MessageStartEvent, undefined];
    "message_update": [MessageUpdateEvent, undefined];
    "message_end": [MessageEndEvent, undefined];
    "tool_execution_start": [ToolExecutionStartEvent, undefined];
    "tool_execution_update": [ToolExecutionUpdateEvent, undefined];
    "tool_execution_end": [ToolExecutionEndEvent, undefined];
    "tool_approval_requested": [ToolApprovalRequestedEvent, undefined];
    "tool_approval_resolved": [ToolApprovalResolvedEvent, undefined];
    "before_provider_request": [BeforeProviderRequestEvent, undefined];
    "after_provider_response": [AfterProviderResponseEvent, undefined];
    "retry_fallback_applied": [RetryFallbackAppliedEvent, undefined];
    "retry_fallback_succeeded": [RetryFallbackSucceededEvent, undefined];
    "resources_discover": [ResourcesDiscoverEvent, undefined];
    "goal_updated": [GoalUpdatedEvent, undefined];
    "credential_disabled": [CredentialDisabledEvent, undefined];
    "mcp_notification": [McpNotificationEvent, undefined];
    "session_before_fork": [SessionBeforeForkEvent, SessionBeforeForkResult];
    "model_select": [ModelSelectEvent, undefined];
    "thinking_level_select": [ThinkingLevelSelectEvent, undefined];
    "session_fork": [SessionForkEvent, undefined];
    "session_info_changed": [SessionInfoChangedEvent, undefined];
    "agent_settled": [AgentSettledEvent, undefined];
    "before_provider_headers": [BeforeProviderHeadersEvent, undefined];
  }

  export type HookEventName = keyof HookEvents;
  export type HookEvent = HookEvents[HookEventName][0];

  // ── the API ──

  export type HookHandler<E, R = undefined> = (
    event: E,
    ctx: HookContext,
  ) => Promise<R | void> | R | void;

  export interface ExecOptions {
    signal?: Signal;
    /** Milliseconds; without it, or with 0, there is no limit. */
    timeout?: number;
    cwd?: string;
  }

  export interface ExecResult {
    stdout: string;
    stderr: string;
    /** Also 0 if a signal ended it; see `killed`. */
    code: number;
    killed: boolean;
  }

  export interface SendMessageOptions {
    /** Start a turn if the agent is idle. */
    triggerTurn?: boolean;
    deliverAs?: "steer" | "followUp";
  }

  export interface CommandOptions {
    description?: string;
    handler: (args: string, ctx: HookCommandContext) => Promise<void> | void;
  }

  export interface RegisteredCommand extends CommandOptions {
    name: string;
  }

  export type HookMessageRenderer<T = unknown> = (
    message: HookMessage<T>,
    options: { expanded: boolean },
    theme: Theme,
  ) => unknown;

  export interface Logger {
    debug(message: string, ...more: unknown[]): void;
    info(message: string, ...more: unknown[]): void;
    warn(message: string, ...more: unknown[]): void;
    error(message: string, ...more: unknown[]): void;
  }

  /** The argument of a module's factory. */
  export interface HookAPI {
    /** Handlers of one event run one after another, in the order of registration. */
    on<N extends HookEventName>(
      event: N,
      handler: HookHandler<HookEvents[N][0], HookEvents[N][1]>,
    ): void;
    /** Sends a message for the model, stored in the session. Not allowed in the factory. */
    sendMessage<T = unknown>(
      message: CustomMessagePayload<T>,
      options?: SendMessageOptions | boolean,
    ): void;
    /** Stores state in the session; the model does not see it. Not allowed in the factory. */
    appendEntry<T = unknown>(customType: string, data?: T): void;
    registerCommand(name: string, options: CommandOptions): void;
    registerMessageRenderer<T = unknown>(customType: string, renderer: HookMessageRenderer<T>): void;
    /** Runs a program without a shell and without stdin. Rejects if the program does not exist. */
    exec(command: string, args: string[], options?: ExecOptions): Promise<ExecResult>;
    readonly logger: Logger;
    /** A small builder for JSON Schemas. */
    readonly typebox: any;
  }

  export type HookFactory = (pi: HookAPI) => void | Promise<void>;

  export interface HookError {
    hookPath: string;
    event: string;
    error: string;
  }
}

declare module "@oh-my-pi/pi-coding-agent" {
  export * from "gambrel/hooks";
}

declare module "@oh-my-pi/pi-coding-agent/hooks" {
  export * from "gambrel/hooks";
}

declare module "@oh-my-pi/pi-coding-agent/extensibility/hooks" {
  export * from "gambrel/hooks";
}

declare module "@mariozechner/pi-coding-agent" {
  export * from "gambrel/hooks";
}

declare module "@mariozechner/pi-coding-agent/hooks" {
  export * from "gambrel/hooks";
}
