import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { parseSettings, type Settings, withSettings } from '#platform/config';
import { AddressGuard, TargetRules } from './target-rules.js';
import { HostResolver, NotificationSender, type ResolvedAddress } from './notification-sender.js';

/** Returns one answer after the other, then repeats the last one. */
class ScriptedResolver extends HostResolver {
  asked = 0;

  constructor(private readonly answers: readonly (readonly string[])[]) {
    super();
  }

  override resolve(): Promise<readonly ResolvedAddress[]> {
    const answer = this.answers[Math.min(this.asked, this.answers.length - 1)] ?? [];
    this.asked += 1;
    return Promise.resolve(answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
  }
}

class SilentResolver extends HostResolver {
  override resolve(): Promise<readonly ResolvedAddress[]> {
    return new Promise(() => undefined);
  }
}

const open: Server[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** A server at this address of this machine that counts the connections it gets. */
async function listenAt(address: string, port = 0, answer: Parameters<typeof createServer>[1] = (_, r) => r.end('ok')) {
  const server = createServer(answer);
  let connections = 0;
  server.on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => server.listen(port, address, resolve));
  open.push(server);
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

function senderWith(resolver: HostResolver, changes: Partial<Settings> = {}): NotificationSender {
  const settings = withSettings(parseSettings({}), {
    notifyAllowHttp: true,
    notifyAllowPrivate: ['127.0.0.1'],
    ...changes,
  });
  const guard = new AddressGuard(settings);
  return new NotificationSender(settings, new TargetRules(settings, guard), guard, resolver);
}

const send = (sender: NotificationSender, url: string, signal = new AbortController().signal) =>
  sender.send({ url, headers: { 'x-test': 'yes' }, body: '{}' }, signal);

describe('NotificationSender', () => {
  it('connects to the address that was checked, even when the host name resolves to another one afterwards', async () => {
    const good = await listenAt('127.0.0.1');
    const bad = await listenAt('127.0.0.2', good.port);
    const resolver = new ScriptedResolver([['127.0.0.1'], ['127.0.0.2']]);
    const sender = senderWith(resolver);
    const url = `http://hooks.example.test:${good.port}/`;
    expect(await send(sender, url)).toEqual({ kind: 'answered', status: 200, body: 'ok', retryAfterMs: 0 });
    expect([resolver.asked, good.connections(), bad.connections()]).toEqual([1, 1, 0]);
    // The next message resolves the name again, and is rejected.
    expect(await send(sender, url)).toMatchObject({
      kind: 'unanswered',
      reason: expect.stringContaining('not public'),
    });
    expect([resolver.asked, good.connections(), bad.connections()]).toEqual([2, 1, 0]);
  });

  it('rejects a host name that has a private address beside a public one', async () => {
    const good = await listenAt('127.0.0.1');
    const resolver = new ScriptedResolver([['127.0.0.1', '10.0.0.1']]);
    expect(await send(senderWith(resolver), `http://hooks.example.test:${good.port}/`)).toEqual({
      kind: 'unanswered',
      reason: 'The host resolves to an address that is not public.',
    });
    expect(good.connections()).toBe(0);
  });

  it('checks an IP address again that was allowed when the webhook was created', async () => {
    const server = await listenAt('127.0.0.1');
    const url = `http://127.0.0.1:${server.port}/`;
    const resolver = new ScriptedResolver([[]]);
    const strict = [{ notifyAllowPrivate: [] }, { notifyAllowHttp: false }] as const;
    for (const changes of strict)
      expect(await send(senderWith(resolver, changes), url)).toMatchObject({ kind: 'unanswered' });
    expect([server.connections(), resolver.asked]).toEqual([0, 0]);
  });

  it('returns the status of a response whose body never ends, with the first KB', async () => {
    const server = await listenAt('127.0.0.1', 0, (_request, response) => {
      const pour = (): void => void response.write('x'.repeat(700), pour);
      response.on('error', () => undefined);
      response.writeHead(202, { 'retry-after': '7' });
      pour();
    });
    const result = await send(senderWith(new SilentResolver()), `http://127.0.0.1:${server.port}/`);
    expect(result).toEqual({ kind: 'answered', status: 202, body: 'x'.repeat(1024), retryAfterMs: 7000 });
  });

  it('reports a timeout of the host name, the connection or the response', async () => {
    const sender = senderWith(new SilentResolver(), { notifyTimeout: 100 });
    const mute = createSocketServer((socket) => void socket.resume());
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    const { port } = mute.address() as AddressInfo;
    const late = { kind: 'unanswered', reason: 'No response within 100 ms.' };
    expect(await send(sender, 'http://hooks.example.test/')).toEqual(late);
    expect(await send(sender, `http://127.0.0.1:${port}/`)).toEqual(late);
    await new Promise((resolve) => mute.close(resolve));
  });

  it('is aborted by the signal of its caller', async () => {
    const stop = new AbortController();
    const sent = send(senderWith(new SilentResolver()), 'http://hooks.example.test/', stop.signal);
    stop.abort();
    expect(await sent).toEqual({ kind: 'aborted' });
  });
});
