// Types for hook modules of oh-my-pi, as gambrel runs them. Written by `gambrel init omp`,
// which also writes them anew (`--force`). Imports of these modules are types only: nothing has
// to be installed for a module to run.

// Node's modules, where their own types are not installed.
declare module "node:*";

declare module "gambrel/hooks" {
  // ── what messages are made of ──

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
    /** Text, thinking and tool calls, as the model's API spells them. */
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

  /** What `sendMessage` and `before_agent_start` take. */
  export interface CustomMessagePayload<T = unknown> {
    /** Whose message it is: your module finds it again by this. */
    customType?: string;
    content?: string | Content[];
    /** Whether a person sees it. */
    display?: boolean;
    /** For you; the model does not see it. */
    details?: T;
  }

  // ── the session, to look at ──

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

  /** The session as the caller told it; without a caller that tells it, empty. */
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

  /** The session that `newSession` is about to begin: what is called here is done there. */
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

  /** The models that the caller knows: none, where nothing tells them. */
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

  // ── what a handler has beside its event ──

  /** How a dialog ends without an answer. */
  export interface DialogOptions {
    signal?: Signal;
    /** Milliseconds. */
    timeout?: number;
  }

  /** An `AbortSignal`, or whatever looks like one. */
  export interface Signal {
    readonly aborted: boolean;
    addEventListener(type: "abort", listener: () => void): void;
  }

  /** The host's own `AbortSignal`, where its types are known. */
  export type EventSignal = typeof globalThis extends { AbortSignal: { prototype: infer Own } } ? Own : Signal;

  export interface Theme {
    fg(color: string, text: string): string;
    bg(color: string, text: string): string;
    bold(text: string): string;
    italic(text: string): string;
    underline(text: string): string;
  }

  /** Dialogs reach a person if there is one: see `hasUI`. The handler's clock stands still meanwhile. */
  export interface HookUIContext {
    /** The option that was chosen; `undefined` without a person or a choice. */
    select(title: string, options: string[], how?: DialogOptions): Promise<string | undefined>;
    /** `false` without a person. */
    confirm(title: string, message: string, how?: DialogOptions): Promise<boolean>;
    input(title: string, placeholder?: string, how?: DialogOptions): Promise<string | undefined>;
    editor(title: string, prefill?: string, how?: DialogOptions): Promise<string | undefined>;
    notify(message: string, type?: "info" | "warning" | "error"): void;
    /** Text for the status line, kept by key; `undefined` takes it away. */
    setStatus(key: string, text: string | undefined): void;
    setEditorText(text: string): void;
    getEditorText(): string;
    /** A component of a terminal's own: always `undefined` in gambrel. */
    custom<T>(factory: (...args: never[]) => unknown, options?: unknown): Promise<T | undefined>;
    readonly theme: Theme;
  }

  export interface HookContext {
    readonly ui: HookUIContext;
    /** Whether a person can be asked. */
    readonly hasUI: boolean;
    readonly cwd: string;
    readonly sessionManager: ReadonlySessionManager;
    /** The model as it was when the event happened. */
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

  /** Only in commands: in a handler these would wait for the handler itself. */
  export interface HookCommandContext extends HookContext {
    waitForIdle(): Promise<void>;
    newSession(options?: NewSessionOptions): Promise<{ cancelled: boolean }>;
    branch(entryId: string): Promise<{ cancelled: boolean }>;
    navigateTree(targetId: string, options?: { summarize?: boolean }): Promise<{ cancelled: boolean }>;
  }

  // ── events and results: from gambrel's own table ──
@EVENTS@
  export type HookEventName = keyof HookEvents;
  export type HookEvent = HookEvents[HookEventName][0];

  // ── the API ──

  export type HookHandler<E, R = undefined> = (
    event: E,
    ctx: HookContext,
  ) => Promise<R | void> | R | void;

  export interface ExecOptions {
    signal?: Signal;
    /** Milliseconds; none or 0 is for ever. */
    timeout?: number;
    cwd?: string;
  }

  export interface ExecResult {
    stdout: string;
    stderr: string;
    /** 0 too when a signal ended it: see `killed`. */
    code: number;
    killed: boolean;
  }

  export interface SendMessageOptions {
    /** Begin a turn if the agent is idle. */
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

  /** What a module's factory is given. */
  export interface HookAPI {
    /** Handlers of one event run one after another, in the order in which they were registered. */
    on<N extends HookEventName>(
      event: N,
      handler: HookHandler<HookEvents[N][0], HookEvents[N][1]>,
    ): void;
    /** A message for the model, kept in the session. Not in the factory, only later. */
    sendMessage<T = unknown>(
      message: CustomMessagePayload<T>,
      options?: SendMessageOptions | boolean,
    ): void;
    /** State of yours, kept in the session, unseen by the model. Not in the factory, only later. */
    appendEntry<T = unknown>(customType: string, data?: T): void;
    registerCommand(name: string, options: CommandOptions): void;
    registerMessageRenderer<T = unknown>(customType: string, renderer: HookMessageRenderer<T>): void;
    /** Runs a program: no shell, nothing on stdin. Rejects if there is no such program. */
    exec(command: string, args: string[], options?: ExecOptions): Promise<ExecResult>;
    readonly logger: Logger;
    /** A small builder of JSON Schemas. */
    readonly typebox: any;
  }

  export type HookFactory = (pi: HookAPI) => void | Promise<void>;

  export interface HookError {
    hookPath: string;
    event: string;
    error: string;
  }
}
