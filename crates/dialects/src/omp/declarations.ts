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
