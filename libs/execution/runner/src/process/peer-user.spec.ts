import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { peerUser } from './peer-user.js';

const server = createServer();
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => void server.close());

async function connected(): Promise<{ client: Socket; accepted: Socket }> {
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [[accepted]] = await Promise.all([once(server, 'connection') as Promise<[Socket]>, once(client, 'connect')]);
  return { client, accepted };
}

it('is the user of an open connection', async () => {
  const { client, accepted } = await connected();
  expect(peerUser(accepted)).toBe(process.getuid?.());
  client.destroy();
  accepted.destroy();
});

it('is unknown for a connection that its process has closed, for which the system shows root', async () => {
  const { client, accepted } = await connected();
  const { remotePort, localPort } = accepted;
  client.end('a request');
  client.destroy();
  await once(client, 'close');
  expect(peerUser({ remotePort, localPort })).toBeNull();
  accepted.destroy();
});
