import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { parseSettings, type Settings, withSettings } from '#platform/config';
import { HostResolver, type ResolvedAddress } from '../application/ports.js';
import { AddressGuard } from './address-guard.js';
import { HttpSender } from './http-sender.js';
import { TargetRules } from './target-rules.js';

/** Gives one answer after the other; the last one again and again. */
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

function senderWith(resolver: HostResolver, changes: Partial<Settings> = {}): HttpSender {
  const settings = withSettings(parseSettings({}), {
    notifyAllowHttp: true,
    notifyAllowPrivate: ['127.0.0.1'],
    ...changes,
  });
  const guard = new AddressGuard(settings);
  return new HttpSender(settings, new TargetRules(settings, guard), guard, resolver);
}

const send = (sender: HttpSender, url: string, signal = new AbortController().signal) =>
  sender.send({ url, headers: { 'x-test': 'yes' }, body: '{}' }, signal);

describe('HttpSender', () => {
  it('connects to the address that it has checked, whatever the name leads to next', async () => {
    const good = await listenAt('127.0.0.1');
    const bad = await listenAt('127.0.0.2', good.port);
    const resolver = new ScriptedResolver([['127.0.0.1'], ['127.0.0.2']]);
    const sender = senderWith(resolver);
    const url = `http://hooks.example.test:${good.port}/`;
    expect(await send(sender, url)).toEqual({ kind: 'answered', status: 200, body: 'ok', retryAfterMs: 0 });
    expect([resolver.asked, good.connections(), bad.connections()]).toEqual([1, 1, 0]);
    // The next message asks anew, and is refused.
    expect(await send(sender, url)).toMatchObject({
      kind: 'unanswered',
      reason: expect.stringContaining('not public'),
    });
    expect([resolver.asked, good.connections(), bad.connections()]).toEqual([2, 1, 0]);
  });

  it('refuses a name that leads to one address that is not public beside one that is', async () => {
    const good = await listenAt('127.0.0.1');
    const resolver = new ScriptedResolver([['127.0.0.1', '10.0.0.1']]);
    expect(await send(senderWith(resolver), `http://hooks.example.test:${good.port}/`)).toEqual({
      kind: 'unanswered',
      reason: 'The host leads to an address that is not public.',
    });
    expect(good.connections()).toBe(0);
  });

  it('checks an address again that was allowed when it was given', async () => {
    const server = await listenAt('127.0.0.1');
    const url = `http://127.0.0.1:${server.port}/`;
    const resolver = new ScriptedResolver([[]]);
    const strict = [{ notifyAllowPrivate: [] }, { notifyAllowHttp: false }] as const;
    for (const changes of strict)
      expect(await send(senderWith(resolver, changes), url)).toMatchObject({ kind: 'unanswered' });
    expect([server.connections(), resolver.asked]).toEqual([0, 0]);
  });

  it('takes the status of an answer whose body never ends, and no more than its beginning', async () => {
    const server = await listenAt('127.0.0.1', 0, (_request, response) => {
      const pour = (): void => void response.write('x'.repeat(700), pour);
      response.on('error', () => undefined);
      response.writeHead(202, { 'retry-after': '7' });
      pour();
    });
    const result = await send(senderWith(new SilentResolver()), `http://127.0.0.1:${server.port}/`);
    expect(result).toEqual({ kind: 'answered', status: 202, body: 'x'.repeat(1024), retryAfterMs: 7000 });
  });

  it('gives up on a name, a server or an answer that does not come in time', async () => {
    const sender = senderWith(new SilentResolver(), { notifyTimeout: 100 });
    const mute = createSocketServer((socket) => void socket.resume());
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    const { port } = mute.address() as AddressInfo;
    const late = { kind: 'unanswered', reason: 'There was no answer within 100 ms.' };
    expect(await send(sender, 'http://hooks.example.test/')).toEqual(late);
    expect(await send(sender, `http://127.0.0.1:${port}/`)).toEqual(late);
    await new Promise((resolve) => mute.close(resolve));
  });

  it('is broken off by its caller', async () => {
    const stop = new AbortController();
    const sent = send(senderWith(new SilentResolver()), 'http://hooks.example.test/', stop.signal);
    stop.abort();
    expect(await sent).toEqual({ kind: 'broken_off' });
  });
});
