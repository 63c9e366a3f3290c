import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiFixture, automationsOf, webhookTrigger } from '../../support/api-fixture.js';
import { OVERSIZED_BODY, UNKNOWN_UID } from '../../support/api-requests.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  await fixture.createFactory();
});
afterAll(() => fixture.close());

const at = (uid: string, factory = fixture.factory) => `${automationsOf(factory)}/${uid}`;
const stored = async (uid: string) => {
  const [row] = await fixture.database.query<{ version: string; author_uid: string; source: string }>(
    'SELECT version::text, author_uid, source FROM automations WHERE uid = $1',
    [uid],
  );
  return row;
};
const asDefinition = (uid: string) =>
  fixture.database.query(`UPDATE automations SET source = 'definition' WHERE uid = $1`, [uid]);

describe('createAutomation', () => {
  it('returns 201 with the fields of the request', async () => {
    const factory = await fixture.createFactory();
    const webhook = await fixture.buildWebhook(factory);
    const triggers = [webhookTrigger(webhook, { action: ['opened'], n: { exists: false } }), webhookTrigger(webhook)];
    const body = await fixture.createAutomation({ triggers }, factory);
    expect(body).toEqual({
      uid: expect.stringMatching(/^[A-Za-z0-9]{22}$/),
      name: 'triage',
      enabled: true,
      prompt: 'Examine the payload.',
      triggers,
      source: 'api',
      created_at: expect.stringMatching(/Z$/),
      updated_at: body.created_at,
    });
    expect(await fixture.requestAsAdmin(200, `GET ${at(body.uid, factory)}`)).toEqual(body);
    expect(await fixture.requestAsAdmin(200, `GET ${automationsOf(factory)}`)).toEqual({
      automations: [body],
      page_info: { has_next_page: false },
    });
    expect(await stored(body.uid)).toEqual({ version: '1', author_uid: fixture.admin.uid, source: 'api' });
  });

  it('stores the subject of each trigger in a separate row', async () => {
    const [one, other] = [await fixture.buildWebhook(), await fixture.buildWebhook()];
    const { uid } = await fixture.createAutomation({ triggers: [webhookTrigger(one), webhookTrigger(other)] });
    const rows = await fixture.database.query(
      `SELECT t.position, t.provider, t.event, t.subject, t.factory_uid FROM automation_triggers t
         JOIN automations a ON a.id = t.automation_id WHERE a.uid = $1 ORDER BY t.position`,
      [uid],
    );
    const row = { provider: 'webhook', event: 'received', factory_uid: fixture.factory };
    expect(rows).toEqual([
      { ...row, position: 0, subject: one },
      { ...row, position: 1, subject: other },
    ]);
  });

  it('accepts every field of a run’s configuration, and an agent identity', async () => {
    const { token } = fixture.admin;
    const { body: environment } = await fixture.request(201, 'POST /environments', {
      token,
      body: { config: { name: 'env' } },
    });
    const { body: server } = await fixture.request(201, 'POST /mcp-servers', {
      token,
      body: { name: 'tools', command: 'serve' },
    });
    const { body: identity } = await fixture.request(201, 'POST /agent/identities', {
      token,
      body: { name: 'fixer' },
    });
    const agent_config = {
      model_id: 'large',
      environment_id: environment.uid,
      worker_host: 'office',
      skills: ['acme/tools:review'],
      mcp_servers: { tools: { warp_id: server.uid } },
      harness: { type: 'claude' },
      idle_timeout_minutes: 5,
    };
    const body = await fixture.createAutomation({ agent_config, agent_identity_uid: identity.uid });
    expect(body).toMatchObject({ agent_config, agent_identity_uid: identity.uid });
    // What it has it may keep, when it is gone too.
    await fixture.requestAsAdmin(204, `DELETE /agent/identities/${identity.uid}`);
    await fixture.requestAsAdmin(204, `DELETE /mcp-servers/${server.uid}`);
    await fixture.requestAsAdmin(204, `DELETE /environments/${environment.uid}`);
    expect(await fixture.requestAsAdmin(200, `PUT ${at(body.uid)}`, body)).toMatchObject({ agent_config });
    const { errors } = await fixture.requestAsAdmin(
      403,
      `POST ${automationsOf(fixture.factory)}`,
      await fixture.automationBody({
        ...body,
        uid: undefined,
        source: undefined,
        created_at: undefined,
        updated_at: undefined,
      }),
    );
    expect(errors.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual([
      '/agent_config/environment_id',
      '/agent_config/mcp_servers/tools/warp_id',
      '/agent_identity_uid',
    ]);
  });

  it('rejects a large body with 413, and another media type with 415', async () => {
    const { token } = fixture.admin;
    const line = `POST ${automationsOf(fixture.factory)}`;
    await fixture.request(413, line, { token, body: OVERSIZED_BODY, contentType: 'application/json' });
    await fixture.request(415, line, { token, body: 'name=x', contentType: 'text/plain' });
  });
});

describe('listAutomations', () => {
  it('returns pages by name, then uid, with each automation once and shortened prompts', async () => {
    const factory = await fixture.createFactory();
    const prompt = 'p'.repeat(3000);
    const made: { name: string; uid: string }[] = [];
    for (const name of ['b', 'a', 'c', 'b', 'b', 'a', 'Z', 'é'])
      made.push(await fixture.createAutomation({ name, prompt }, factory));
    const whole = await fixture.requestAsAdmin(200, `GET ${automationsOf(factory)}`);
    const order = (list: { name: string; uid: string }[]) => list.map(({ name, uid }) => `${name} ${uid}`);
    expect(order(whole.automations).sort()).toEqual(order(made).sort());
    expect(whole.automations.every((one: { prompt: string }) => one.prompt.length === 2048)).toBe(true);
    for (const name of ['a', 'b']) {
      const uids = whole.automations
        .filter((one: { name: string }) => one.name === name)
        .map(({ uid }: { uid: string }) => uid);
      const [sorted] = await fixture.database.query<{ uids: string[] }>(
        'SELECT array_agg(u ORDER BY u) AS uids FROM unnest($1::text[]) u',
        [uids],
      );
      expect(uids).toEqual(sorted?.uids);
    }
    for (const limit of [1, 3, 4]) {
      const seen: { name: string; uid: string }[] = [];
      for (let cursor = ''; ;) {
        const page = await fixture.requestAsAdmin(200, `GET ${automationsOf(factory)}?limit=${limit}${cursor}`);
        seen.push(...page.automations);
        if (!page.page_info.has_next_page) break;
        expect(page.automations).toHaveLength(limit);
        cursor = `&cursor=${page.page_info.next_cursor}`;
      }
      expect(order(seen)).toEqual(order(whole.automations));
    }
    const {
      page_info: { next_cursor: cursor },
    } = await fixture.requestAsAdmin(200, `GET ${automationsOf(factory)}?limit=1`);
    const elsewhere = await fixture.createFactory();
    for (const line of [`${automationsOf(elsewhere)}?cursor=${cursor}`, `${automationsOf(factory)}?cursor=${cursor}x`])
      expect((await fixture.requestAsAdmin(400, `GET ${line}`)).errors).toEqual([
        { pointer: '/cursor', detail: expect.any(String) },
      ]);
    for (const limit of ['0', '501', 'x'])
      await fixture.requestAsAdmin(400, `GET ${automationsOf(factory)}?limit=${limit}`);
  });

  it('ends a page early when automations are large, and continues with the next', async () => {
    const factory = await fixture.createFactory();
    const made: string[] = [];
    for (const name of ['a', 'b', 'c', 'd']) made.push((await fixture.createAutomation({ name }, factory)).uid);
    await fixture.database.query(
      `UPDATE headrace.automations SET agent_config = jsonb_build_object('base_prompt', repeat('x', 3500000)) WHERE factory_uid = $1`,
      [factory],
    );
    const pages: string[][] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const page: { automations: { uid: string }[]; page_info: { next_cursor?: string } } =
        await fixture.requestAsAdmin(200, `GET ${automationsOf(factory)}?limit=4${cursor && `&cursor=${cursor}`}`);
      pages.push(page.automations.map(({ uid }) => uid));
      cursor = page.page_info.next_cursor;
    }
    expect(pages).toEqual([made.slice(0, 2), made.slice(2)]);
  });
});

describe('replaceAutomation', () => {
  it('replaces all fields, increments the version, and stores who did it', async () => {
    const made = await fixture.createAutomation({ agent_config: { model_id: 'large' } });
    await fixture.api.advanceClock(1000);
    const webhook = await fixture.buildWebhook();
    const asked = { name: 'other', enabled: false, prompt: 'Something else.', triggers: [webhookTrigger(webhook)] };
    const { body } = await fixture.request(200, `PUT ${at(made.uid)}`, { token: fixture.owner.token, body: asked });
    expect(body).toEqual({
      ...asked,
      uid: made.uid,
      source: 'api',
      created_at: made.created_at,
      updated_at: expect.any(String),
    });
    expect(body.updated_at > made.updated_at).toBe(true);
    expect(await fixture.requestAsAdmin(200, `GET ${at(made.uid)}`)).toEqual(body);
    expect(await stored(made.uid)).toEqual({ version: '2', author_uid: fixture.owner.uid, source: 'api' });
    const rows = await fixture.database.query(
      'SELECT subject FROM automation_triggers t JOIN automations a ON a.id = t.automation_id WHERE a.uid = $1',
      [made.uid],
    );
    expect(rows).toEqual([{ subject: webhook }]);
  });

  it('accepts the response of a GET with a trigger whose webhook is deleted', async () => {
    const [gone, live] = [await fixture.buildWebhook(), await fixture.buildWebhook()];
    const { uid } = await fixture.createAutomation({
      triggers: [webhookTrigger(gone, { a: [1] }), webhookTrigger(live)],
    });
    await fixture.requestAsAdmin(204, `DELETE /factories/${fixture.factory}/webhooks/${gone}`);
    const shown = await fixture.requestAsAdmin(200, `GET ${at(uid)}`);
    expect(shown.triggers).toEqual([
      { ...webhookTrigger(gone, { a: [1] }), obstacle: { code: 'webhook_deleted', detail: expect.any(String) } },
      webhookTrigger(live),
    ]);
    expect(
      (await fixture.requestAsAdmin(200, `GET ${automationsOf(fixture.factory)}?limit=500`)).automations,
    ).toContainEqual(shown);
    const { updated_at: _then, ...same } = shown;
    expect(await fixture.requestAsAdmin(200, `PUT ${at(uid)}`, shown)).toMatchObject(same);
    // In another place, with its keys in another order.
    const { filter, event, provider } = shown.triggers[0];
    const moved = { ...shown, triggers: [shown.triggers[1], { filter, provider, event }] };
    expect((await fixture.requestAsAdmin(200, `PUT ${at(uid)}`, moved)).triggers[1]).toHaveProperty('obstacle');
    const changed = { ...shown, triggers: [webhookTrigger(gone, { a: [2] })] };
    const { errors } = await fixture.requestAsAdmin(400, `PUT ${at(uid)}`, changed);
    expect(errors).toEqual([{ pointer: '/triggers/0/filter/webhook_ids/0', detail: expect.any(String) }]);
  });

  it('rejects another name for an automation of a definition with 422, and accepts other changes', async () => {
    const made = await fixture.createAutomation({ name: 'defined' });
    await asDefinition(made.uid);
    const { error_code, errors } = await fixture.requestAsAdmin(422, `PUT ${at(made.uid)}`, {
      ...made,
      name: 'renamed',
    });
    expect([error_code, errors[0].pointer]).toEqual(['operation_not_supported', '/name']);
    const body = await fixture.requestAsAdmin(200, `PUT ${at(made.uid)}`, { ...made, enabled: false });
    expect(body).toMatchObject({ source: 'definition', enabled: false });
  });

  it('rejects invalid fields with 400, an unknown uid with 404, and invalid bodies with 413 and 415', async () => {
    const made = await fixture.createAutomation();
    const { prompt: _prompt, ...incomplete } = made;
    expect((await fixture.requestAsAdmin(400, `PUT ${at(made.uid)}`, incomplete)).errors).toEqual([
      { pointer: '/prompt', detail: 'is required' },
    ]);
    await fixture.requestAsAdmin(404, `PUT ${at(UNKNOWN_UID)}`, made);
    await fixture.requestAsAdmin(404, `PUT ${at(made.uid, await fixture.createFactory())}`, made);
    const { token } = fixture.admin;
    await fixture.request(413, `PUT ${at(made.uid)}`, { token, body: OVERSIZED_BODY, contentType: 'application/json' });
    await fixture.request(415, `PUT ${at(made.uid)}`, { token, body: 'x', contentType: 'text/plain' });
    expect(await stored(made.uid)).toMatchObject({ version: '1' });
  });
});

describe('deleteAutomation', () => {
  it('deletes the automation and its triggers with 204', async () => {
    const { uid } = await fixture.createAutomation();
    await fixture.requestAsAdmin(204, `DELETE ${at(uid)}`);
    await fixture.requestAsAdmin(404, `GET ${at(uid)}`);
    await fixture.requestAsAdmin(404, `DELETE ${at(uid)}`);
    const rows = await fixture.database.query(
      `SELECT 1 FROM automation_triggers t LEFT JOIN automations a ON a.id = t.automation_id WHERE a.id IS NULL`,
    );
    expect(rows).toEqual([]);
  });
});

describe('a caller who does not manage the factory', () => {
  it('gets 404 in other teams, 403 for a role that is not sufficient, and 400 for a blank uid', async () => {
    const { uid } = await fixture.createAutomation();
    for (const [factory, automation, status] of [
      ['%20', uid, 400],
      [fixture.factory, '%20', 400],
      ['no-factory', uid, 404],
      [fixture.factory, 'no-automation', 404],
      [UNKNOWN_UID, uid, 404],
    ] as const) {
      await fixture.requestAsAdmin(status, `GET ${at(automation, factory)}`);
      await fixture.requestAsAdmin(status, `DELETE ${at(automation, factory)}`);
      await fixture.requestAsAdmin(status, `POST ${at(automation, factory)}/triggers/0/test`, { payload: 1 });
    }
    const { body } = await fixture.request(404, `GET ${at(uid)}`, { token: fixture.stranger.token });
    expect(body.detail).toBe('Factory not found.');
    for (const { token } of [fixture.member, fixture.viewer, fixture.bot])
      await fixture.request(403, `GET ${at(uid)}`, { token });
    await fixture.request(200, `GET ${at(uid)}`, { token: fixture.adminOfBoth.token });
  });
});
