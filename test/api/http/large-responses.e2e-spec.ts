import type { Socket } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiFixture } from '../../support/api-fixture.js';
import { connectTo } from '../../support/raw-socket.js';
import type { TestPrincipal } from '#testing';

let fixture: ApiFixture;
beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());

const LIST = '/agent/environments';
const BYTES = 260_000;

/** Environments whose list has 16 MiB: half of them are shared with the caller. */
async function environmentsOf(caller: TestPrincipal): Promise<void> {
  const other = await fixture.api.identities.user();
  await fixture.api.database.query(
    `WITH made AS (INSERT INTO environments (uid, owner_user_uid, config, creator_type, creator_uid, editor_type, editor_uid)
       SELECT substr(md5(owner || n), 1, 22), owner, jsonb_build_object('name', 'a' || n, 'description', repeat('x', $3)),
              'user', owner, 'user', owner
         FROM unnest(ARRAY[$1, $2]) AS owner, generate_series(1, 32) AS n RETURNING uid, owner_user_uid)
     INSERT INTO environment_grants (uid, environment_uid, user_uid, creator_type, creator_uid)
       SELECT uid, uid, $1, 'user', $2 FROM made WHERE owner_user_uid = $2`,
    [caller.uid, other.uid, BYTES],
  );
}

/** Requests a list, and reads nothing of it but its first bytes. */
async function open(token: string): Promise<Socket> {
  const socket = connectTo(fixture.api.url);
  socket.write(`GET /api/v1${LIST} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  await once(socket, 'readable');
  return socket;
}

describe('lists without pages', () => {
  it('are sent to two clients of one caller at the same time, and do not delay other responses and those of others', async () => {
    const { member, admin } = fixture;
    await Promise.all([environmentsOf(member), environmentsOf(admin)]);
    const slow = await Promise.all(Array.from({ length: 2 }, () => open(member.token)));
    const { body, headers } = await fixture.api.request(503, `GET ${LIST}`, { token: member.token });
    expect(body).toMatchObject({
      error_code: 'resource_unavailable',
      detail: 'Too many lists are being sent: at most 2 at the same time for one caller or link, and 16 in all.',
    });
    expect(headers.get('retry-after')).toBe('10');
    await fixture.requestAsMember(200, 'GET /agent/runs');
    const { text } = await fixture.api.request(200, `GET ${LIST}`, { token: admin.token });
    expect(text.length).toBeGreaterThan(64 * BYTES);
    const waiting = fixture.api.request(200, `GET ${LIST}`, { token: member.token });
    slow[0]?.destroy();
    expect((await waiting).text.length).toBeGreaterThan(64 * BYTES);
  });
});
