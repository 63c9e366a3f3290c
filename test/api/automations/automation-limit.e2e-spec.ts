import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiFixture, automationsOf } from '../../support/api-fixture.js';
import { requestAnyStatus, sendConcurrently } from '../../support/api-requests.js';

const LIMIT = 2000;

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  await fixture.createFactory();
});
afterAll(() => fixture.close());

/** As so many requests would leave them. */
async function fill(factory: string, count: number): Promise<void> {
  await fixture.database.query(
    `INSERT INTO automations (uid, factory_uid, team_uid, name, enabled, prompt, source, author_type, author_uid)
     SELECT lpad(n::text, 22, 'f'), $1, $2, 'filler', true, 'Go.', 'api', 'user', $3 FROM generate_series(1, $4::int) n`,
    [factory, fixture.team, fixture.admin.uid, count],
  );
  await fixture.database.query('INSERT INTO automation_counts (factory_uid, used) VALUES ($1, $2)', [factory, count]);
}

const counted = async (factory: string) => {
  const [row] = await fixture.database.query(
    `SELECT (SELECT used FROM automation_counts WHERE factory_uid = $1) AS used,
       (SELECT count(*)::int FROM automations WHERE factory_uid = $1) AS automations`,
    [factory],
  );
  return row;
};

describe('a factory', () => {
  it('has at most 2,000 automations, also for concurrent requests', async () => {
    const factory = await fixture.createFactory();
    await fill(factory, LIMIT - 3);
    const line = `POST ${automationsOf(factory)}`;
    const request = { token: fixture.admin.token, body: await fixture.automationBody({}, factory) };
    const lock = 'LOCK TABLE headrace.automation_counts IN SHARE ROW EXCLUSIVE MODE';
    const answers = await sendConcurrently(fixture.api, lock, () =>
      Array.from({ length: 12 }, () => requestAnyStatus(fixture.api, line, request)),
    );
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(3);
    const codes = answers.filter(({ status }) => status === 403).map(({ body }) => body.error_code);
    expect(codes).toEqual(Array.from({ length: 9 }, () => 'limit_reached'));
    expect(await counted(factory)).toEqual({ used: LIMIT, automations: LIMIT });

    const gone = `DELETE ${automationsOf(factory)}/${made[0]?.body.uid}`;
    const deletions = await sendConcurrently(fixture.api, lock, () =>
      Array.from({ length: 3 }, () =>
        fixture.request(204, gone, { token: fixture.admin.token }).then(
          () => 204,
          () => 404,
        ),
      ),
    );
    expect(deletions.sort()).toEqual([204, 404, 404]);
    await fixture.requestAsAdmin(201, line, request.body);
    await fixture.requestAsAdmin(403, line, request.body);
    expect(await counted(factory)).toEqual({ used: LIMIT, automations: LIMIT });
  });

  it('does not count rejected requests', async () => {
    const factory = await fixture.createFactory();
    await fixture.createAutomation({}, factory);
    await fixture.requestAsAdmin(
      400,
      `POST ${automationsOf(factory)}`,
      await fixture.automationBody({ name: ' ' }, factory),
    );
    expect(await counted(factory)).toEqual({ used: 1, automations: 1 });
  });

  it('can be deleted with its automations', async () => {
    const factory = await fixture.createFactory();
    await fixture.createAutomation({}, factory);
    await fixture.database.query('DELETE FROM webhooks WHERE factory_uid = $1', [factory]);
    await fixture.database.query('DELETE FROM factories WHERE uid = $1', [factory]);
    expect(await counted(factory)).toEqual({ used: null, automations: 0 });
  });
});
