import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newUid } from '#platform/kernel';
import type { TestPrincipal } from '#testing';
import { ApiFixture, automationsOf, scheduleBody, SCHEDULES } from '../../support/api-fixture.js';
import { inTeam } from '../../support/api-requests.js';

const MAX_BYTES = 8 * 1024 * 1024;
const IDENTITIES = '/agent/identities';
const SERVERS = '/mcp-servers';

let fixture: ApiFixture;
let [team, otherTeam] = ['', ''];
/** Admin of both teams. */
let admin: TestPrincipal;
beforeAll(async () => {
  fixture = await ApiFixture.start();
  const { identities } = fixture.api;
  [team, otherTeam] = [await identities.team(), await identities.team()];
  admin = await identities.user({ [team]: 'admin', [otherTeam]: 'admin' });
});
afterAll(() => fixture.close());

const uids = (count: number): string[] => Array.from({ length: count }, () => newUid());
const make = async (path: string, body: object, of?: string): Promise<{ uid?: string; id?: string }> => {
  const headers = of === undefined ? {} : inTeam(of);
  return (await fixture.api.request(201, `POST ${path}`, { token: admin.token, body, headers })).body;
};
const list = async (path: string, of?: string) => {
  const headers = of === undefined ? {} : inTeam(of);
  return fixture.api.request(200, `GET ${path}`, { token: admin.token, headers });
};

function expectFull({ length }: string): void {
  expect(length).toBeLessThan(MAX_BYTES);
  expect(length).toBeGreaterThan(MAX_BYTES * 0.95);
}

describe('lists end at 8 MiB, of which large items do not displace small ones, and one owner not others', () => {
  it('of schedules', async () => {
    await fixture.database.query(
      `INSERT INTO headrace.schedules (uid, team_uid, creator_type, creator_uid, editor_type, editor_uid, name, cron, timezone,
         prompt, enabled, agent_config, mode, overlap_policy, jitter_seconds)
       SELECT uid, $2, 'user', $3, 'user', $3, 'a', '0 0 1 1 *', 'UTC', repeat(chr(1), 2048), false,
              jsonb_build_object('mcp_servers', jsonb_build_object('a', jsonb_build_object('command', repeat('x', 63000)))),
              'normal', 'skip', 0 FROM unnest($1::text[]) uid`,
      [uids(200), team, admin.uid],
    );
    const small = await make(SCHEDULES, scheduleBody({ name: 'z', team: true, enabled: false }), team);
    const config = { mcp_servers: { a: { command: 'x', args: Array(8).fill('x'.repeat(8000)) } } };
    const own = await make(SCHEDULES, scheduleBody({ name: 'z', team: false, enabled: false, agent_config: config }));
    const { body, text } = await list(SCHEDULES, team);
    expect(body.schedules.map(({ id }: { id: string }) => id)).toEqual(expect.arrayContaining([small.id, own.id]));
    expectFull(text);
  });

  it('of agent identities', async () => {
    await fixture.database.query(
      `WITH accounts AS (INSERT INTO headrace.service_accounts (uid, team_uid, name, is_agent_identity)
         SELECT uid, $2, uid, true FROM unnest($1::text[]) uid RETURNING uid)
       INSERT INTO headrace.agent_identities (uid, team_uid, name, skills, mcp_servers)
         SELECT uid, $2, 'a' || uid, array_fill(repeat('s', 1000), ARRAY[16]),
                jsonb_build_object('a', jsonb_build_object('command', repeat('x', 63000))) FROM accounts`,
      [uids(200), team],
    );
    const small = await make(IDENTITIES, { name: 'z' }, team);
    const other = await make(IDENTITIES, { name: 'z', prompt: 'x'.repeat(60_000) }, otherTeam);
    const ofTeam = await list(IDENTITIES, team);
    const names = ({ body }: typeof ofTeam) => body.agents.map(({ uid }: { uid: string }) => uid);
    expect(names(ofTeam)).toContain(small.uid);
    expectFull(ofTeam.text);
    expect(names(await list(IDENTITIES))).toEqual(expect.arrayContaining([small.uid, other.uid]));
  });

  it('of MCP servers', async () => {
    await fixture.database.query(
      `INSERT INTO headrace.mcp_servers (uid, team_uid, name, config)
       SELECT uid, $2, 'a' || uid, jsonb_build_object('command', 'x', 'args', jsonb_build_array(repeat('"', 30000)))
         FROM unnest($1::text[]) uid`,
      [uids(199), team],
    );
    const small = await make(SERVERS, { name: 'z', command: 'x' }, team);
    const other = await make(SERVERS, { name: 'z', command: 'x', args: Array(30).fill('x'.repeat(2000)) }, otherTeam);
    const ofTeam = await list(SERVERS, team);
    const names = ({ body }: typeof ofTeam) => body.mcp_servers.map(({ uid }: { uid: string }) => uid);
    expect(names(ofTeam)).toContain(small.uid);
    expectFull(ofTeam.text);
    expect(names(await list(SERVERS))).toEqual(expect.arrayContaining([small.uid, other.uid]));
  });
});

describe('pages of automations', () => {
  it('end at 8 MiB, of which prompts are a part', async () => {
    await fixture.createFactory();
    const { factory } = fixture;
    await fixture.database.query(
      `INSERT INTO headrace.automations (uid, factory_uid, team_uid, source, name, enabled, prompt, agent_config, author_type, author_uid)
       SELECT uid, $2, $3, 'api', uid, false, repeat(chr(1), 2048),
              jsonb_build_object('mcp_servers', jsonb_build_object('a', jsonb_build_object('command', repeat('x', 12000)))), 'user', $4
         FROM unnest($1::text[]) uid`,
      [uids(500), factory, fixture.team, fixture.admin.uid],
    );
    const seen = new Set<string>();
    for (let cursor: string | undefined; ;) {
      const after = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { body, text } = await fixture.api.request(200, `GET ${automationsOf(factory)}?limit=500${after}`, {
        token: fixture.admin.token,
      });
      expect(text.length).toBeLessThan(MAX_BYTES + 250_000);
      for (const { uid } of body.automations) seen.add(uid);
      cursor = body.page_info.next_cursor;
      if (!body.page_info.has_next_page) break;
    }
    expect(seen.size).toBe(500);
  });
});
