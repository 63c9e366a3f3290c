import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { until } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';

let fixture: ApiFixture;
const sockets: Socket[] = [];
beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(() => fixture.close());

/** Sends the headers of a request, and a body as far as it is read. */
function upload(path: string, token: string, bytes: number) {
  const { port } = new URL(fixture.api.url);
  const socket = connect(Number(port), '127.0.0.1');
  sockets.push(socket);
  const state = { socket, text: '' };
  socket.on('data', (chunk) => (state.text += String(chunk))).on('error', () => undefined);
  const headers = ['Host: x', `Authorization: Bearer ${token}`, 'Content-Type: application/json'];
  socket.write(`POST ${path} HTTP/1.1\r\n${[...headers, `Content-Length: ${bytes}`].join('\r\n')}\r\n\r\n`);
  return state;
}

const MIB = 1_048_576;
const RUNS = '/api/v1/agent/runs';
/** What the kernel and the socket keep of a body that is not read is far less. */
const isRead = ({ socket }: { socket: Socket }): boolean => socket.writableLength === 0;

describe('large request bodies', () => {
  it('are read of four requests of one caller at once, and do not delay small ones and those of others', async () => {
    const { member, admin } = fixture;
    const open = () => {
      const request = upload(RUNS, member.token, 20 * MIB);
      request.socket.write(`{"prompt":"${'x'.repeat(19 * MIB)}`);
      return request;
    };
    const slow = Array.from({ length: 4 }, open);
    await until(() => slow.every(isRead), 10_000, 'The first four bodies are read');
    const fifth = open();
    // Of another caller, and rejected only after it has been read.
    const other = upload(RUNS, admin.token, MIB);
    other.socket.write(`{"prompts":"${'x'.repeat(MIB - 14)}"}`);
    await until(() => other.text.includes('HTTP/1.1 400'), 10_000, 'The body of another caller is read');
    await fixture.requestAsMember(200, 'GET /agent/runs');
    await fixture.requestAs(member, 400, 'POST /agent/runs', { body: { prompts: 'small' } });
    expect(isRead(fifth)).toBe(false);
    slow[0]?.socket.destroy();
    await until(() => isRead(fifth), 10_000, 'The fifth body is read');
  });

  it('are not read of a request to the runner protocol without a valid token', async () => {
    const request = upload(
      '/api/v1/runner/v1/executions/01900000-0000-7000-8000-00000000dead/events',
      'invalid',
      2 * MIB,
    );
    await until(() => request.text.includes('HTTP/1.1 401'), 10_000, 'The request is rejected');
  });
});
