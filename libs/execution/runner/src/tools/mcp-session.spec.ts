import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { serveTools } from './mcp-session.js';

const LOG = { info: vi.fn(), warn: vi.fn(), error: vi.fn() };

describe('a tool that takes long', () => {
  const directory = mkdtempSync(join(tmpdir(), 'headrace-tools-'));
  const server = createServer();
  let agent: Socket;
  let finish: (text: string) => void;
  let aborted: Promise<unknown>;

  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const path = join(directory, 'tools.sock');
    server.listen(path);
    await once(server, 'listening');
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    agent = connect(path);
    const [connection] = await accepted;
    const execute = (_input: unknown, signal: AbortSignal): Promise<{ text: string }> => {
      aborted = once(signal, 'abort');
      return new Promise((resolve) => (finish = (text) => resolve({ text })));
    };
    const tool = { name: 'wait', title: 'Wait', description: 'Waits.', input: z.object({}), execute };
    serveTools(connection, [tool], LOG);
  });
  afterEach(async () => {
    vi.useRealTimers();
    agent.destroy();
    server.close();
    await once(server, 'close');
    rmSync(directory, { recursive: true, force: true });
  });

  const send = (message: object): void => void agent.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

  it('reports progress to a client that asks for it, and ends with the connection', async () => {
    const lines = createInterface({ input: agent })[Symbol.asyncIterator]();
    const read = async () => JSON.parse(String((await lines.next()).value));
    const clientInfo = { name: 'test', version: '1' };
    send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
    expect(await read()).toMatchObject({ id: 1 });
    send({ method: 'notifications/initialized' });
    send({ id: 2, method: 'tools/call', params: { name: 'wait', arguments: {}, _meta: { progressToken: 7 } } });
    await vi.waitFor(() => expect(finish).toBeDefined());
    for (const progress of [1, 2]) {
      vi.advanceTimersByTime(10_000);
      expect(await read()).toMatchObject({ method: 'notifications/progress', params: { progressToken: 7, progress } });
    }
    finish('Done.');
    expect(await read()).toMatchObject({ id: 2, result: { content: [{ type: 'text', text: 'Done.' }] } });
    expect(vi.getTimerCount()).toBe(0);
    send({ id: 3, method: 'tools/call', params: { name: 'wait', arguments: {} } });
    const before = aborted;
    await vi.waitFor(() => expect(aborted).not.toBe(before));
    agent.destroy();
    await aborted;
  });
});
