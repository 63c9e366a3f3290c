import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ApiFixture,
  automationsOf,
  definitionOf,
  filesOf,
  webhooksOf,
  webhookTrigger,
} from '../../support/api-fixture.js';
import { OVERSIZED_BODY, pointersOf, requestAnyStatus, UNKNOWN_UID } from '../../support/api-requests.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());

const call = async (status: number, line: string, body?: object, { token } = fixture.admin) =>
  (await fixture.request(status, line, { token, ...(body && { body }) })).body;
const create = async (fields: object = {}): Promise<string> =>
  (await call(201, 'POST /factory', { name: 'Made', ...fields })).uid;

describe('a factory', () => {
  it('is created, renamed and deleted', async () => {
    const made = await call(201, 'POST /factory', { name: 'CI', description: 'Builds.', alias: 'ci' });
    expect(made).toMatchObject({ name: 'CI', description: 'Builds.', alias: 'ci', scope: { uid: fixture.team } });
    expect(await call(200, `GET /factory/${made.uid}`)).toEqual(made);
    expect(await call(200, `PUT /factory/${made.uid}`, { name: 'CI on main' })).toMatchObject({
      ...{ uid: made.uid, name: 'CI on main', description: 'Builds.', alias: 'ci', created_at: made.created_at },
    });
    const bare = await call(200, `PUT /factory/${made.uid}`, { description: '', alias: null });
    expect(bare).toMatchObject({ name: 'CI on main', description: '' });
    expect(bare).not.toHaveProperty('alias');
    await call(204, `DELETE /factory/${made.uid}`);
    await call(404, `DELETE /factory/${made.uid}`);
    await call(404, `GET /factory/${made.uid}`);
    const { entries } = await call(200, `GET /audit-log?target_uid=${made.uid}`);
    expect(entries.map(({ action }: { action: string }) => action)).toEqual([
      ...['factory.deleted', 'factory.updated', 'factory.updated', 'factory.created'],
    ]);
  });

  it('has an alias that no other factory of its team has', async () => {
    await create({ alias: 'taken' });
    const other = await create();
    const again = await call(400, 'POST /factory', { name: 'Other', alias: 'taken' });
    expect(pointersOf(again)).toEqual(['/alias']);
    expect(pointersOf(await call(400, `PUT /factory/${other}`, { alias: 'taken' }))).toEqual(['/alias']);
    await call(201, 'POST /factory', { name: 'Other', alias: 'taken' }, fixture.stranger);
  });

  it.each([
    [{}, ['/name']],
    [{ name: ' ' }, ['/name']],
    [{ name: 'x'.repeat(201) }, ['/name']],
    [{ name: 'x', alias: '' }, ['/alias']],
    [{ name: 'x', alias: 'y'.repeat(65) }, ['/alias']],
    [{ name: 'x', description: 'y'.repeat(2001) }, ['/description']],
    [{ name: 'a\u0000b' }, ['/name']],
  ])('%# is rejected with the fields that are wrong', async (body, pointers) => {
    expect(pointersOf(await call(400, 'POST /factory', body))).toEqual(pointers);
  });

  it('is not written with a body of another type or size, or a malformed UID', async () => {
    const uid = await create();
    const { token } = fixture.admin;
    for (const line of ['POST /factory', `PUT /factory/${uid}`]) {
      await fixture.request(415, line, { token, body: '{}', contentType: 'text/plain' });
      await fixture.request(413, line, { token, body: OVERSIZED_BODY, contentType: 'application/json' });
    }
    await call(400, `PUT /factory/${uid}`, { unknown: 1 });
    await call(400, 'DELETE /factory/%20');
  });

  it('of another team, or with a role that manages none, is not changed', async () => {
    const uid = await create();
    await call(404, `PUT /factory/${uid}`, { name: 'x' }, fixture.stranger);
    await call(404, `DELETE /factory/${uid}`, undefined, fixture.stranger);
    await call(403, `PUT /factory/${uid}`, { name: 'x' }, fixture.member);
    await call(403, `DELETE /factory/${uid}`, undefined, fixture.bot);
    await call(404, `DELETE /factory/${UNKNOWN_UID}`);
    await call(200, `GET /factory/${uid}`);
  });
});

describe('deleting a factory', () => {
  it('names the webhooks and automations that it has, and succeeds without them', async () => {
    const uid = await create();
    const webhook = await call(201, `POST ${webhooksOf(uid)}`, { name: 'deploys' });
    const automation = await call(201, `POST ${automationsOf(uid)}`, {
      ...{ name: 'nightly', enabled: true, prompt: 'Go.', triggers: [webhookTrigger(webhook.uid)] },
    });
    const { detail, error_code: code } = await call(409, `DELETE /factory/${uid}`);
    expect(code).toBe('conflict');
    expect(detail).toContain('webhooks (deploys)');
    expect(detail).toContain('automations (nightly)');
    await call(204, `DELETE ${automationsOf(uid)}/${automation.uid}`);
    expect((await call(409, `DELETE /factory/${uid}`)).detail).not.toContain('automations');
    await call(204, `DELETE ${webhooksOf(uid)}/${webhook.uid}`);
    await call(204, `DELETE /factory/${uid}`);
  });

  it('names the agents of its definition, and succeeds after a definition without them was applied', async () => {
    const uid = await create();
    const apply = (files: Record<string, string>) => call(200, `PUT ${definitionOf(uid)}`, { files: filesOf(files) });
    const factory = { 'factory.yaml': 'schemaVersion: v1alpha1\nname: Defined\n' };
    await apply({ ...factory, 'agents/helper/agent.md': '---\ndescription: Helps.\n---\nHelp.\n' });
    expect((await call(409, `DELETE /factory/${uid}`)).detail).toContain('agents (helper)');
    await apply(factory);
    await call(204, `DELETE /factory/${uid}`);
  });

  it('keeps the log of its deleted webhooks until it expires', async () => {
    const uid = await create();
    const webhook = await call(201, `POST ${webhooksOf(uid)}`, { name: 'deploys' });
    const { database } = fixture.api;
    const rows = () => database.query('SELECT 1 FROM headrace.webhooks WHERE uid = $1', [webhook.uid]);
    await call(204, `DELETE ${webhooksOf(uid)}/${webhook.uid}`);
    await call(204, `DELETE /factory/${uid}`);
    expect(await rows()).toHaveLength(1);
  });

  it('and creating something in it at the same time leave nothing without a factory', async () => {
    for (let round = 0; round < 4; round += 1) {
      const uid = await create();
      // With and without a row that counts the webhooks, which is what both lock first.
      if (round % 2 === 1) {
        const { uid: webhook } = await call(201, `POST ${webhooksOf(uid)}`, { name: 'first' });
        await call(204, `DELETE ${webhooksOf(uid)}/${webhook}`);
      }
      const send = async (line: string, body?: object) =>
        (await requestAnyStatus(fixture.api, line, { token: fixture.admin.token, ...(body && { body }) })).status;
      const [deleted, ...created] = await Promise.all([
        send(`DELETE /factory/${uid}`),
        send(`POST ${webhooksOf(uid)}`, { name: 'a' }),
        send(`POST ${webhooksOf(uid)}`, { name: 'b' }),
        send(`POST ${automationsOf(uid)}`, {
          ...{ name: 'n', enabled: true, prompt: 'Go.' },
          triggers: [{ provider: 'schedule', event: 'due', filter: { cron: '0 3 * * *' } }],
        }),
      ]);
      expect([204, 409]).toContain(deleted);
      for (const status of created) expect([201, 400, 404]).toContain(status);
      const exists = (await requestAnyStatus(fixture.api, `GET /factory/${uid}`, { token: fixture.admin.token }))
        .status;
      expect(exists).toBe(deleted === 204 ? 404 : 200);
      if (deleted === 204) expect(created).not.toContain(201);
    }
  });
});
