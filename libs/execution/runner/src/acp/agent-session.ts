import { Readable, Writable } from 'node:stream';
import {
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type AgentCapabilities,
  type AnyMessage,
  type ClientConnection,
  type ContentBlock,
  type InitializeResponse,
  type McpServer,
  type NewSessionResponse,
  type PromptResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type Stream,
} from '@agentclientprotocol/sdk';
import type { Assignment, HarnessDefinition } from '#execution/runner-protocol';
import type { ManagedProcess } from '../process/managed-process.js';
import { fields, text } from './fields.js';
import { VERSION } from '../version.js';

export interface AgentSessionHandlers {
  /** A `session/update` of our session, in the order the agent sent it. */
  readonly onUpdate: (update: unknown) => void;
  readonly onExtension: (method: string, params: unknown) => void;
  readonly onReplay: (update: unknown) => void;
  readonly onPermission: (request: RequestPermissionRequest) => Promise<RequestPermissionResponse>;
}

/** The client side of one ACP session over a process' standard streams. Requests reject when the agent rejects or exits. */
export class AgentSession {
  private readonly connection: ClientConnection;
  private info: InitializeResponse | undefined;
  private sessionId: string | undefined;
  private modes: readonly string[] = [];
  currentMode: string | undefined;
  private options: readonly { id: string; category: string | undefined; current: string; values: string[] }[] = [];
  private isLoading = false;

  constructor(
    process: ManagedProcess,
    private readonly handlers: AgentSessionHandlers,
    private readonly harness: Pick<HarnessDefinition, 'client_meta' | 'session_meta'>,
  ) {
    const stream = this.interceptNotifications(
      ndJsonStream(
        Writable.toWeb(process.stdin) as WritableStream<Uint8Array>,
        Readable.toWeb(process.stdout) as ReadableStream<Uint8Array>,
      ),
    );
    // Requests without a handler (files, terminals, a vendor's own) are answered "method not found" by the SDK.
    this.connection = client({ name: 'headrace' })
      .onRequest(methods.client.session.requestPermission, ({ params }) => handlers.onPermission(params))
      .connect(stream);
  }

  get id(): string {
    if (this.sessionId === undefined) throw new Error('The session has not been opened yet.');
    return this.sessionId;
  }

  get agent(): { readonly name: string; readonly version: string } | null | undefined {
    return this.info?.agentInfo;
  }

  get canResume(): boolean {
    return this.canLoad || this.capabilities.sessionCapabilities?.resume != null;
  }

  private get canLoad(): boolean {
    return this.capabilities.loadSession === true;
  }

  get capabilities(): AgentCapabilities {
    return this.info?.agentCapabilities ?? {};
  }

  get closed(): Promise<void> {
    return this.connection.closed;
  }

  async initialize(): Promise<void> {
    this.info = await this.connection.agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: {
        fs: { readTextFile: false, writeTextFile: false },
        terminal: false,
        _meta: this.harness.client_meta,
      },
      clientInfo: { name: 'headrace', version: VERSION },
    });
  }

  /** Whether the agent offers this authentication method, even when it does not require one. */
  supportsAuthMethod(methodId: string): boolean {
    return this.info?.authMethods?.some(({ id }) => id === methodId) === true;
  }

  async authenticate(methodId: string): Promise<void> {
    await this.connection.agent.request(methods.agent.authenticate, { methodId });
  }

  async open(cwd: string, mcpServers: McpServer[]): Promise<void> {
    const response = await this.connection.agent.request(methods.agent.session.new, {
      cwd,
      mcpServers,
      _meta: this.harness.session_meta,
    });
    this.sessionId = response.sessionId;
    this.recordModes(response);
  }

  /** Continues an earlier session: loads it, or resumes it without a replay where the agent supports only that. */
  async resume(sessionId: string, cwd: string, mcpServers: McpServer[]): Promise<void> {
    this.isLoading = true;
    const request = { sessionId, cwd, mcpServers, _meta: this.harness.session_meta };
    try {
      const response = this.canLoad
        ? await this.connection.agent.request(methods.agent.session.load, request)
        : await this.connection.agent.request(methods.agent.session.resume, request);
      this.sessionId = sessionId;
      this.recordModes(response ?? {});
    } finally {
      this.isLoading = false;
    }
  }

  /** Selects model and reasoning level where the agent offers them; returns the categories that it does not offer. */
  async configure(settings: Readonly<Record<'model' | 'thought_level', string | undefined>>): Promise<string[]> {
    const missing: string[] = [];
    for (const [category, value] of Object.entries(settings)) {
      if (value === undefined) continue;
      const option = this.options.find(
        (candidate) => candidate.category === category && candidate.values.includes(value),
      );
      if (!option) missing.push(category);
      else if (option.current !== value)
        await this.connection.agent.request(methods.agent.session.setConfigOption, {
          sessionId: this.id,
          configId: option.id,
          value,
        });
    }
    return missing;
  }

  hasMode(modeId: string): boolean {
    return this.modes.includes(modeId);
  }

  async setMode(modeId: string): Promise<void> {
    if (this.currentMode === modeId) return;
    await this.connection.agent.request(methods.agent.session.setMode, { sessionId: this.id, modeId });
    this.currentMode = modeId;
  }

  /** `traceparent`: of the turn. ACP reserves this key of `_meta` for it. */
  async prompt(prompt: string, files: readonly ContentBlock[], traceparent: string | null): Promise<PromptResponse> {
    return this.connection.agent.request(methods.agent.session.prompt, {
      sessionId: this.id,
      ...(traceparent === null ? {} : { _meta: { traceparent } }),
      prompt: [{ type: 'text', text: prompt }, ...files],
    });
  }

  async cancel(): Promise<void> {
    await this.connection.agent.notify(methods.agent.session.cancel, { sessionId: this.id });
  }

  /** Requests the end of the session, where the agent supports it. */
  async close(): Promise<void> {
    if (this.sessionId === undefined || !this.capabilities.sessionCapabilities?.close) return;
    await this.connection.agent.request(methods.agent.session.close, { sessionId: this.sessionId });
  }

  private recordModes({ modes, configOptions }: Pick<NewSessionResponse, 'modes' | 'configOptions'>): void {
    this.modes = modes?.availableModes.map(({ id }) => id) ?? [];
    this.currentMode = modes?.currentModeId;
    this.options = (configOptions ?? []).flatMap((option) => {
      if (option.type !== 'select') return [];
      const choices: unknown[] = option.options.flatMap((entry) => ('options' in entry ? entry.options : [entry]));
      const values = choices.flatMap((choice) => text(fields(choice)['value']) ?? []);
      return [{ id: option.id, category: option.category ?? undefined, current: option.currentValue, values }];
    });
  }

  /**
   * Handles updates before the SDK reads the stream. The SDK starts handlers in order but does not await them, so the
   * response to a prompt could overtake the last update of its turn.
   */
  private interceptNotifications(stream: Stream): Stream {
    const { onUpdate, onReplay, onExtension } = this.handlers;
    const updates = new TransformStream<AnyMessage, AnyMessage>({
      transform: (message, controller) => {
        const { method, id, params } = fields(message);
        if (typeof method === 'string' && method.startsWith('_') && id === undefined) {
          onExtension(method, params);
          return;
        }
        if (method !== methods.client.session.update || id !== undefined) {
          controller.enqueue(message);
          return;
        }
        const { sessionId, update } = fields(params);
        const { sessionUpdate, currentModeId } = fields(update);
        // Agents switch by themselves, such as at the end of a plan.
        if (sessionUpdate === 'current_mode_update') this.currentMode = text(currentModeId);
        if (this.isLoading) onReplay(update);
        else if (this.sessionId === undefined || sessionId === this.sessionId) onUpdate(update);
      },
    });
    return { writable: stream.writable, readable: stream.readable.pipeThrough(updates) };
  }
}

/** The run's MCP servers in the shape of ACP; `unsupported` names those that the agent cannot use. */
export function mcpServersFor(
  servers: Assignment['mcp_servers'],
  supportsHttp: boolean,
): { servers: McpServer[]; unsupported: string[] } {
  const result: McpServer[] = [];
  const unsupported: string[] = [];
  const pairs = (record: Record<string, string> = {}) =>
    Object.entries(record).map(([name, value]) => ({ name, value }));
  for (const [name, { command, args, url, env, headers }] of Object.entries(servers)) {
    if (command !== undefined) result.push({ name, command, args: args ?? [], env: pairs(env) });
    else if (url !== undefined && supportsHttp) result.push({ type: 'http', name, url, headers: pairs(headers) });
    else unsupported.push(name);
  }
  return { servers: result, unsupported };
}
