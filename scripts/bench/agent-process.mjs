// The floor of `npm run bench -- execution`: the agent, started by hand and spoken to over its standard streams.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { root } from './support.mjs';

/** The agent that comes with Headrace: an entry of a harnesses file. */
export const BUILT_IN_AGENT = { command: process.execPath, args: [join(root, 'dist/headrace.cjs'), 'builtin-agent'] };

/** Updates that become an event of the agent in the log of a run. Agents also announce their commands and modes. */
const EVENTS = ['agent_message_chunk', 'agent_thought_chunk', 'tool_call', 'plan'];

/** Starts an agent in a new directory, which is also its home, and gives it the prompt. */
export class AgentProcess {
  constructor(prompt, parent, { command, args = [], env = {} }) {
    this.startedAt = performance.now();
    const directory = mkdtempSync(join(parent, 'floor-'));
    this.child = spawn(command, args, {
      cwd: directory,
      env: { PATH: process.env.PATH, HOME: directory, NODE_ENV: 'production', ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.firstEvent = new Promise((resolve) => (this.resolveFirst = resolve));
    this.turnEnded = new Promise((resolve) => (this.resolveTurn = resolve));
    createInterface({ input: this.child.stdout }).on('line', (line) => this.receive(JSON.parse(line)));
    const clientCapabilities = { fs: { readTextFile: false, writeTextFile: false }, terminal: false };
    this.steps = [
      ['initialize', () => ({ protocolVersion: 1, clientCapabilities })],
      ['session/new', () => ({ cwd: directory, mcpServers: [] })],
      ['session/prompt', ({ sessionId }) => ({ sessionId, prompt: [{ type: 'text', text: prompt }] })],
    ];
    this.next({});
  }

  /** Milliseconds from the start of the process. */
  static async timeToFirstEvent(...options) {
    const agent = new AgentProcess(...options);
    const ms = await agent.firstEvent;
    await agent.turnEnded;
    await agent.stop();
    return ms;
  }

  async stop() {
    const exited = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await exited;
  }

  next(result) {
    const [method, params] = this.steps.shift() ?? [];
    if (method === undefined) return this.resolveTurn();
    const id = 3 - this.steps.length;
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params: params(result) })}\n`);
  }

  receive(message) {
    if (message.error) throw new Error(`The agent rejected a request: ${JSON.stringify(message.error)}`);
    if (message.method === 'session/update' && EVENTS.includes(message.params.update.sessionUpdate))
      this.resolveFirst(performance.now() - this.startedAt);
    else if (message.method === 'session/request_permission') {
      const { optionId } = message.params.options.find(({ kind }) => kind.startsWith('allow'));
      const result = { outcome: { outcome: 'selected', optionId } };
      this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, result })}\n`);
    } else if (message.id !== undefined && message.method === undefined) this.next(message.result);
  }
}
