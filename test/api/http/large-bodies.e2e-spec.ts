import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { connectTo } from '../../support/raw-socket.js';

let fixture: ApiFixture;
beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());

/** Sends the headers of a request, and a body as far as it is read. */
function upload(path: string, token: string, bytes: number, method = 'POST') {
  const socket = connectTo(fixture.api.url);
  const state = { socket, text: '' };
  socket.on('data', (chunk) => (state.text += String(chunk)));
  const headers = ['Host: x', `Authorization: Bearer ${token}`, 'Content-Type: application/json'];
  socket.write(`${method} ${path} HTTP/1.1\r\n${[...headers, `Content-Length: ${bytes}`].join('\r\n')}\r\n\r\n`);
  return state;
}

const MIB = 1_048_576;
const RUNS = '/api/v1/agent/runs';
/** What the kernel keeps of a body that is not read is less than 15 MiB. */
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

  it('are not read of requests to the runner protocol without a valid token', async () => {
    const { execution } = await externalRun();
    const request = upload(pathOf(execution.id), 'invalid', 2 * MIB);
    await until(() => request.text.includes('HTTP/1.1 401'), 10_000, 'The request is rejected');
  });

  it('are not accepted by calls of runners that wait', async () => {
    const { execution } = await externalRun();
    const body = { lease_epoch: 1, run_ids: [], mode: 'all', wait: 25, more: 'x'.repeat(70_000) };
    await fixture.api.request(413, `POST /runner/v1/executions/${execution.id}/runs/wait`, {
      token: execution.token,
      body,
    });
  });

  it('can be repeated at the end of an execution', async () => {
    const { send } = await externalRun();
    const text = 'x'.repeat(200_000);
    const end = { lease_epoch: 1, outcome: 'failed', error_code: 'agent_process_failed', message: text, detail: text };
    for (let time = 0; time < 2; time += 1) expect(await send('finish', end)).toEqual({});
  });

  it('are read of eight requests of the runners of one owner at once, which delay no heartbeat', async () => {
    const { execution, send } = await externalRun();
    const slow = [
      ...Array.from({ length: 4 }, () => openEvents(execution)),
      ...Array.from({ length: 4 }, () => uploadManifest(execution, 20 * MIB, 15 * MIB)),
    ];
    await until(() => slow.every(isRead), 10_000, 'The first eight bodies are read');
    const waiting = [1, 2].map(() => uploadManifest(execution, 20 * MIB, 15 * MIB));
    expect(await send('beat', { lease_epoch: 1 })).toMatchObject({ desired: 'run' });
    expect(waiting.some(isRead)).toBe(false);
    for (const { socket } of slow) socket.destroy();
    await until(() => waiting.every(isRead), 10_000, 'The other bodies are read');
  });

  it('of executions that have ended do not delay those of others', async () => {
    const { execution, send } = await externalRun();
    await send('finish', { lease_epoch: 1, outcome: 'closed' });
    const other = (await externalRun()).execution;
    const ended = Array.from({ length: 9 }, () => openEvents(execution));
    await until(() => ended.filter(isRead).length === 8, 10_000, 'Eight bodies are read');
    const request = openEvents(other);
    await until(() => isRead(request), 10_000, 'The body of the other execution is read');
    expect(ended.filter(isRead)).toHaveLength(8);
  });

  it('are manifests of more than 256 KiB, too', async () => {
    const { execution } = await externalRun();
    const large = 300_000;
    const isRejected = ({ text }: { text: string }): boolean => text.includes('HTTP/1.1 400');
    const slow = Array.from({ length: 8 }, () => uploadManifest(execution, large, large - 1));
    // Until the eight have their permits, another one gets one as well.
    const waiting = await until(async () => {
      const next = uploadManifest(execution, large, large);
      const small = uploadManifest(execution, 1000, 1000);
      await until(() => isRejected(small), 10_000, 'A later small manifest is rejected');
      return !isRejected(next) && next;
    });
    slow[0]?.socket.destroy();
    await until(() => isRejected(waiting), 10_000, 'The large manifest is rejected');
  });
});

const pathOf = (executionId: string): string => `/api/v1/runner/v1/executions/${executionId}/events`;

function openEvents({ id, token }: { readonly id: string; readonly token: string }) {
  const request = upload(pathOf(id), token, 20 * MIB);
  request.socket.write(`{"lease_epoch":1,"events":["${'x'.repeat(15 * MIB)}`);
  return request;
}
/** Sends some bytes of a manifest, which is not valid. */
function uploadManifest(execution: { id: string; token: string }, bytes: number, sent: number) {
  const path = pathOf(execution.id).replace(/events$/, 'snapshots?lease_epoch=1&reason=turn&stored_bytes=1');
  const request = upload(path, execution.token, bytes, 'PUT');
  request.socket.write(Buffer.alloc(sent));
  return request;
}

/** A claimed external run. */
async function externalRun() {
  const { body } = await fixture.api.request(200, 'POST /agent/runs/external', {
    token: fixture.member.token,
    body: { prompt: 'Go.' },
  });
  const execution = { id: body.execution_id as string, token: body.token as string };
  const send = async (name: string, request: object) =>
    (
      await fixture.api.request(200, `POST /runner/v1/executions/${execution.id}/${name}`, {
        token: execution.token,
        body: request,
      })
    ).body as unknown;
  await send('claim', { protocol_version: 1, instance_id: 'test' });
  return { execution, send };
}
