import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import { Readable, Writable } from 'node:stream';
import {
  agent,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
  type AgentContext,
  type McpServer,
} from '@agentclientprotocol/sdk';
import { SystemClock } from '#platform/kernel';
import { dropPrivileges } from './drop-privileges.js';
import { SessionFile } from './session-file.js';
import { killRunningCommands } from './shell.js';
import { Turn } from './turn.js';
import { VERSION } from '../version.js';

interface OpenSession {
  readonly cwd: string;
  readonly servers: readonly McpServer[];
  readonly file: SessionFile;
  turn: AbortController | null;
}

const clock = new SystemClock();
const now = (): Date => clock.now();

/** Returns the exit code when its input has ended. */
export async function runBuiltinAgent(): Promise<number> {
  dropPrivileges();
  const terminate = (): void => {
    killRunningCommands();
    process.exit(143);
  };
  process.on('SIGTERM', terminate);
  process.on('SIGINT', terminate);
  const sessions = new Map<string, OpenSession>();
  const stream = ndJsonStream(
    Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
    Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
  );
  const connection = createAgent(sessions).connect(stream);
  await connection.closed;
  killRunningCommands();
  return 0;
}

function createAgent(sessions: Map<string, OpenSession>): ReturnType<typeof agent> {
  return agent({ name: 'oz' })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: 'oz', title: 'Headrace built-in agent', version: VERSION },
      agentCapabilities: { loadSession: true, sessionCapabilities: { close: {} } },
      authMethods: [],
    }))
    .onRequest(methods.agent.session.new, ({ params: { cwd, mcpServers: servers } }) => {
      const sessionId = randomUUID();
      sessions.set(sessionId, { cwd, servers, file: SessionFile.create(homedir(), sessionId, cwd, now), turn: null });
      return { sessionId };
    })
    .onRequest(methods.agent.session.load, async ({ params: { sessionId, cwd, mcpServers: servers }, client }) => {
      const file = SessionFile.open(homedir(), sessionId, now);
      if (!file) throw RequestError.resourceNotFound(sessionId);
      sessions.set(sessionId, { cwd, servers, file, turn: null });
      await replay(file, sessionId, client);
    })
    .onRequest(methods.agent.session.prompt, async ({ params: { sessionId, prompt }, client }) => {
      const session = sessions.get(sessionId);
      if (!session) throw RequestError.resourceNotFound(sessionId);
      if (session.turn) throw RequestError.invalidRequest(undefined, 'A turn of this session is running.');
      const controller = new AbortController();
      session.turn = controller;
      const text = prompt.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n\n');
      try {
        const { cwd, servers, file } = session;
        return {
          stopReason: await new Turn({
            sessionId,
            cwd,
            servers,
            prompt: text,
            file,
            client,
            signal: controller.signal,
          }).run(),
        };
      } finally {
        session.turn = null;
      }
    })
    .onRequest(methods.agent.session.close, ({ params: { sessionId } }) => {
      sessions.get(sessionId)?.turn?.abort();
      sessions.delete(sessionId);
      return {};
    })
    .onNotification(methods.agent.session.cancel, ({ params: { sessionId } }) =>
      sessions.get(sessionId)?.turn?.abort(),
    );
}

/** Replays the history, as `session/load` requires. */
async function replay(file: SessionFile, sessionId: string, client: AgentContext): Promise<void> {
  for (const record of file.records) {
    if (record.type === 'prompt') {
      const content = { type: 'text', text: record.text } as const;
      await client.notify(methods.client.session.update, {
        sessionId,
        update: { sessionUpdate: 'user_message_chunk', content },
      });
    } else if (record.type === 'update') {
      await client.notify(methods.client.session.update, { sessionId, update: record.update });
    }
  }
}
