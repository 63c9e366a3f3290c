import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HUGE, UNKNOWN } from '../agents/agents-room.js';
import { type AutomationsRoom, automationsOf, openAutomationsRoom, received } from './automations-room.js';

let room: AutomationsRoom;

beforeAll(async () => {
  room = await openAutomationsRoom();
});
afterAll(() => room.api.close());

const at = (uid: string, factory = room.factory) => `${automationsOf(factory)}/${uid}`;
const stored = async (uid: string) => {
  const [row] = await room.api.database.query<{ version: string; author_uid: string; source: string }>(
    'SELECT version::text, author_uid, source FROM automations WHERE uid = $1',
    [uid],
  );
  return row;
};
const asDefinition = (uid: string) =>
  room.api.database.query(`UPDATE automations SET source = 'definition' WHERE uid = $1`, [uid]);

describe('createAutomation', () => {
  it('201: shows what was asked for', async () => {
    const factory = await room.newFactory();
    const webhook = await room.newWebhook(factory);
    const triggers = [received(webhook, { action: ['opened'], n: { exists: false } }), received(webhook)];
    const body = await room.make({ triggers }, factory);
    expect(body).toEqual({
      uid: expect.stringMatching(/^[A-Za-z0-9]{22}$/),
      name: 'triage',
      enabled: true,
      prompt: 'Look at what was sent.',
      triggers,
      source: 'api',
      created_at: expect.stringMatching(/Z$/),
      updated_at: body.created_at,
    });
    expect(await room.ask(200, `GET ${at(body.uid, factory)}`)).toEqual(body);
    expect(await room.ask(200, `GET ${automationsOf(factory)}`)).toEqual({
      automations: [body],
      page_info: { has_next_page: false },
    });
    expect(await stored(body.uid)).toEqual({ version: '1', author_uid: room.admin.uid, source: 'api' });
  });

  it('writes what each trigger listens to into rows of its own', async () => {
    const [one, other] = [await room.newWebhook(), await room.newWebhook()];
    const { uid } = await room.make({ triggers: [received(one), received(other)] });
    const rows = await room.api.database.query(
      `SELECT t.position, t.provider, t.event, t.subject, t.factory_uid FROM automation_triggers t
         JOIN automations a ON a.id = t.automation_id WHERE a.uid = $1 ORDER BY t.position`,
      [uid],
    );
    const row = { provider: 'webhook', event: 'received', factory_uid: room.factory };
    expect(rows).toEqual([
      { ...row, position: 0, subject: one },
      { ...row, position: 1, subject: other },
    ]);
  });

  it('takes everything that a run’s configuration may say, and an identity', async () => {
    const { token } = room.admin;
    const { body: environment } = await room.api.request(201, 'POST /environments', {
      token,
      body: { config: { name: 'env' } },
    });
    const { body: server } = await room.api.request(201, 'POST /mcp-servers', {
      token,
      body: { name: 'tools', command: 'serve' },
    });
    const { body: identity } = await room.api.request(201, 'POST /agent/identities', {
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
    const body = await room.make({ agent_config, agent_identity_uid: identity.uid });
    expect(body).toMatchObject({ agent_config, agent_identity_uid: identity.uid });
    // What it has it may keep, when it is gone too.
    await room.ask(204, `DELETE /agent/identities/${identity.uid}`);
    await room.ask(204, `DELETE /mcp-servers/${server.uid}`);
    await room.ask(204, `DELETE /environments/${environment.uid}`);
    expect(await room.ask(200, `PUT ${at(body.uid)}`, body)).toMatchObject({ agent_config });
    const { errors } = await room.ask(
      403,
      `POST ${automationsOf(room.factory)}`,
      await room.valid({ ...body, uid: undefined, source: undefined, created_at: undefined, updated_at: undefined }),
    );
    expect(errors.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual([
      '/agent_config/environment_id',
      '/agent_config/mcp_servers/tools/warp_id',
      '/agent_identity_uid',
    ]);
  });

  it('413 and 415', async () => {
    const { token } = room.admin;
    const line = `POST ${automationsOf(room.factory)}`;
    await room.api.request(413, line, { token, body: HUGE, contentType: 'application/json' });
    await room.api.request(415, line, { token, body: 'name=x', contentType: 'text/plain' });
  });
});

describe('listAutomations', () => {
  it('pages by name, then uid, each once; prompts are cut', async () => {
    const factory = await room.newFactory();
    const prompt = 'p'.repeat(3000);
    const made: { name: string; uid: string }[] = [];
    for (const name of ['b', 'a', 'c', 'b', 'b', 'a', 'Z', 'é']) made.push(await room.make({ name, prompt }, factory));
    const whole = await room.ask(200, `GET ${automationsOf(factory)}`);
    const order = (list: { name: string; uid: string }[]) => list.map(({ name, uid }) => `${name} ${uid}`);
    expect(order(whole.automations).sort()).toEqual(order(made).sort());
    expect(whole.automations.every((one: { prompt: string }) => one.prompt.length === 2048)).toBe(true);
    for (const name of ['a', 'b']) {
      const uids = whole.automations
        .filter((one: { name: string }) => one.name === name)
        .map(({ uid }: { uid: string }) => uid);
      const [sorted] = await room.api.database.query<{ uids: string[] }>(
        'SELECT array_agg(u ORDER BY u) AS uids FROM unnest($1::text[]) u',
        [uids],
      );
      expect(uids).toEqual(sorted?.uids);
    }
    for (const limit of [1, 3, 4]) {
      const seen: { name: string; uid: string }[] = [];
      for (let cursor = ''; ;) {
        const page = await room.ask(200, `GET ${automationsOf(factory)}?limit=${limit}${cursor}`);
        seen.push(...page.automations);
        if (!page.page_info.has_next_page) break;
        expect(page.automations).toHaveLength(limit);
        cursor = `&cursor=${page.page_info.next_cursor}`;
      }
      expect(order(seen)).toEqual(order(whole.automations));
    }
    const {
      page_info: { next_cursor: cursor },
    } = await room.ask(200, `GET ${automationsOf(factory)}?limit=1`);
    const elsewhere = await room.newFactory();
    for (const line of [`${automationsOf(elsewhere)}?cursor=${cursor}`, `${automationsOf(factory)}?cursor=${cursor}x`])
      expect((await room.ask(400, `GET ${line}`)).errors).toEqual([{ pointer: '/cursor', detail: expect.any(String) }]);
    for (const limit of ['0', '501', 'x']) await room.ask(400, `GET ${automationsOf(factory)}?limit=${limit}`);
  });

  it('ends a page early where automations are large, and goes on with the next', async () => {
    const factory = await room.newFactory();
    const made: string[] = [];
    for (const name of ['a', 'b', 'c', 'd']) made.push((await room.make({ name }, factory)).uid);
    await room.api.database.query(
      `UPDATE headrace.automations SET agent_config = jsonb_build_object('base_prompt', repeat('x', 3500000)) WHERE factory_uid = $1`,
      [factory],
    );
    const pages: string[][] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const page: { automations: { uid: string }[]; page_info: { next_cursor?: string } } = await room.ask(
        200,
        `GET ${automationsOf(factory)}?limit=4${cursor && `&cursor=${cursor}`}`,
      );
      pages.push(page.automations.map(({ uid }) => uid));
      cursor = page.page_info.next_cursor;
    }
    expect(pages).toEqual([made.slice(0, 2), made.slice(2)]);
  });
});

describe('replaceAutomation', () => {
  it('sets all of it, moves the version, and notes who did it', async () => {
    const made = await room.make({ agent_config: { model_id: 'large' } });
    await room.api.advanceClock(1000);
    const webhook = await room.newWebhook();
    const asked = { name: 'other', enabled: false, prompt: 'Something else.', triggers: [received(webhook)] };
    const { body } = await room.api.request(200, `PUT ${at(made.uid)}`, { token: room.owner.token, body: asked });
    expect(body).toEqual({
      ...asked,
      uid: made.uid,
      source: 'api',
      created_at: made.created_at,
      updated_at: expect.any(String),
    });
    expect(body.updated_at > made.updated_at).toBe(true);
    expect(await room.ask(200, `GET ${at(made.uid)}`)).toEqual(body);
    expect(await stored(made.uid)).toEqual({ version: '2', author_uid: room.owner.uid, source: 'api' });
    const rows = await room.api.database.query(
      'SELECT subject FROM automation_triggers t JOIN automations a ON a.id = t.automation_id WHERE a.uid = $1',
      [made.uid],
    );
    expect(rows).toEqual([{ subject: webhook }]);
  });

  it('takes back what a GET answers, with a trigger whose webhook is deleted', async () => {
    const [gone, live] = [await room.newWebhook(), await room.newWebhook()];
    const { uid } = await room.make({ triggers: [received(gone, { a: [1] }), received(live)] });
    await room.ask(204, `DELETE /factories/${room.factory}/webhooks/${gone}`);
    const shown = await room.ask(200, `GET ${at(uid)}`);
    expect(shown.triggers).toEqual([
      { ...received(gone, { a: [1] }), obstacle: { code: 'webhook_deleted', detail: expect.any(String) } },
      received(live),
    ]);
    expect((await room.ask(200, `GET ${automationsOf(room.factory)}?limit=500`)).automations).toContainEqual(shown);
    const { updated_at: _then, ...same } = shown;
    expect(await room.ask(200, `PUT ${at(uid)}`, shown)).toMatchObject(same);
    // In another place, with its keys in another order.
    const { filter, event, provider } = shown.triggers[0];
    const moved = { ...shown, triggers: [shown.triggers[1], { filter, provider, event }] };
    expect((await room.ask(200, `PUT ${at(uid)}`, moved)).triggers[1]).toHaveProperty('obstacle');
    const changed = { ...shown, triggers: [received(gone, { a: [2] })] };
    const { errors } = await room.ask(400, `PUT ${at(uid)}`, changed);
    expect(errors).toEqual([{ pointer: '/triggers/0/filter/webhook_ids/0', detail: expect.any(String) }]);
  });

  it('422: the name of one from a definition is that of its file; all else may change', async () => {
    const made = await room.make({ name: 'defined' });
    await asDefinition(made.uid);
    const { error_code, errors } = await room.ask(422, `PUT ${at(made.uid)}`, { ...made, name: 'renamed' });
    expect([error_code, errors[0].pointer]).toEqual(['operation_not_supported', '/name']);
    const body = await room.ask(200, `PUT ${at(made.uid)}`, { ...made, enabled: false });
    expect(body).toMatchObject({ source: 'definition', enabled: false });
  });

  it('400, 404, 413 and 415', async () => {
    const made = await room.make();
    const { prompt: _prompt, ...incomplete } = made;
    expect((await room.ask(400, `PUT ${at(made.uid)}`, incomplete)).errors).toEqual([
      { pointer: '/prompt', detail: 'is required' },
    ]);
    await room.ask(404, `PUT ${at(UNKNOWN)}`, made);
    await room.ask(404, `PUT ${at(made.uid, await room.newFactory())}`, made);
    const { token } = room.admin;
    await room.api.request(413, `PUT ${at(made.uid)}`, { token, body: HUGE, contentType: 'application/json' });
    await room.api.request(415, `PUT ${at(made.uid)}`, { token, body: 'x', contentType: 'text/plain' });
    expect(await stored(made.uid)).toMatchObject({ version: '1' });
  });
});

describe('deleteAutomation', () => {
  it('204: it is gone, with what it listened to', async () => {
    const { uid } = await room.make();
    await room.ask(204, `DELETE ${at(uid)}`);
    await room.ask(404, `GET ${at(uid)}`);
    await room.ask(404, `DELETE ${at(uid)}`);
    const rows = await room.api.database.query(
      `SELECT 1 FROM automation_triggers t LEFT JOIN automations a ON a.id = t.automation_id WHERE a.id IS NULL`,
    );
    expect(rows).toEqual([]);
  });
});

describe('whoever does not manage the factory', () => {
  it('404 for other teams and what cannot be, 403 for a role that does not suffice, 400 for blanks', async () => {
    const { uid } = await room.make();
    for (const [factory, automation, status] of [
      ['%20', uid, 400],
      [room.factory, '%20', 400],
      ['no-factory', uid, 404],
      [room.factory, 'no-automation', 404],
      [UNKNOWN, uid, 404],
    ] as const) {
      await room.ask(status, `GET ${at(automation, factory)}`);
      await room.ask(status, `DELETE ${at(automation, factory)}`);
      await room.ask(status, `POST ${at(automation, factory)}/triggers/0/test`, { payload: 1 });
    }
    const { body } = await room.api.request(404, `GET ${at(uid)}`, { token: room.stranger.token });
    expect(body.detail).toBe('Factory not found.');
    for (const { token } of [room.member, room.viewer, room.bot])
      await room.api.request(403, `GET ${at(uid)}`, { token });
    await room.api.request(200, `GET ${at(uid)}`, { token: room.both.token });
  });
});
