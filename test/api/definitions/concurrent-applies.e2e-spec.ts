import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiFixture, definitionOf, type Files, filesOf } from '../../support/api-fixture.js';
import { sendConcurrently } from '../../support/api-requests.js';
import { FACTORY, automation, entryOf } from './definition-plans.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: { ingressPublicUrl: 'https://in.example.com' } });
  await fixture.putSecret('ci-secret', 'swordfish-1');
});
afterAll(() => fixture.close());

const lockOf = (factory: string): string => `SELECT 1 FROM headrace.factories WHERE uid = '${factory}' FOR UPDATE`;

const WEBHOOK = 'secretName: ci-secret\n';
const version = (index: number): Files => ({
  'factory.yaml': `${FACTORY}description: Version ${index}\n`,
  'webhooks/shared.yaml': `${WEBHOOK}deliveryIdHeader: X-Version-${index}\n`,
  [`webhooks/only-${index}.yaml`]: WEBHOOK,
  [`agents/agent-${index}/agent.md`]: `---\n---\n\nVersion ${index}.\n`,
});

describe('applies of one factory at the same time', () => {
  it('run one after the other: the result is one complete definition', async () => {
    const factory = await fixture.createFactory();
    const versions = Array.from({ length: 6 }, (_, index) => version(index));
    const plans = await sendConcurrently(fixture.api, lockOf(factory), () =>
      versions.map((files) => fixture.applyDefinition(factory, files)),
    );
    expect(plans.filter(({ applied }) => applied)).toHaveLength(6);
    const exported = await fixture.exportDefinition(factory);
    expect(versions).toContainEqual(exported);
    expect((await fixture.applyDefinition(factory, exported)).summary).toMatchObject({
      create: 0,
      update: 0,
      delete: 0,
    });
    const rows = await fixture.database.query<{ webhooks: number; live: number; shared: number }>(
      `SELECT webhooks, (SELECT count(*)::int FROM webhooks WHERE factory_uid = $1 AND deleted_at IS NULL) AS live,
         (SELECT count(*)::int FROM webhooks WHERE factory_uid = $1 AND name = 'shared') AS shared
       FROM webhook_counts WHERE factory_uid = $1`,
      [factory],
    );
    // The one that they share was made once and kept.
    expect(rows).toEqual([{ webhooks: 2, live: 2, shared: 1 }]);
  });

  it('with the same files create the resources once, and the others report no change', async () => {
    const factory = await fixture.createFactory();
    const plans = await sendConcurrently(fixture.api, lockOf(factory), () =>
      Array.from({ length: 5 }, () => fixture.applyDefinition(factory, version(100))),
    );
    const created = plans.map(({ summary }) => summary.create).sort();
    expect(created).toEqual([0, 0, 0, 0, 3]);
  });
});

describe('an apply beside changes through the API', () => {
  it('waits for an earlier update, and corrects it', async () => {
    const factory = await fixture.createFactory();
    const files = { 'factory.yaml': FACTORY, 'webhooks/ci.yaml': WEBHOOK };
    const hook = entryOf(await fixture.applyDefinition(factory, files), 'webhook', 'ci').uid ?? '';
    const all = { ...files, 'automations/fix/automation.md': automation(hook) };
    const fix = entryOf(await fixture.applyDefinition(factory, all), 'automation', 'fix').uid ?? '';
    for (const [table, uid] of [
      ['webhooks', hook],
      ['automations', fix],
    ]) {
      const client = await inTransaction(`UPDATE headrace.${table} SET enabled = false WHERE uid = '${uid}'`);
      const applying = fixture.applyDefinition(factory, all);
      await commitWhenAwaited(client);
      const drifted = (await applying).plan.filter(({ action }: { action: string }) => action !== 'unchanged');
      expect(drifted).toMatchObject([{ action: 'update', uid, changes: ['enabled'], drifted: true }]);
    }
  });

  it('does not delay a dry run or an export', async () => {
    const factory = await fixture.createFactory();
    const files = { 'factory.yaml': FACTORY, 'webhooks/ci.yaml': WEBHOOK };
    await fixture.applyDefinition(factory, files);
    const client = await inTransaction(
      lockOf(factory),
      `SELECT 1 FROM headrace.webhooks WHERE factory_uid = '${factory}' FOR UPDATE`,
    );
    const { token } = fixture.admin;
    const body = { files: filesOf(files) };
    await fixture.request(200, `PUT ${definitionOf(factory)}?dry_run=true`, { token, body });
    await fixture.request(200, `POST ${definitionOf(factory)}/validate`, { token, body });
    expect(await fixture.exportDefinition(factory)).toEqual(files);
    await client.query('ROLLBACK');
    await client.end();
  });
});

/** A connection with an open transaction in which this has been done. */
async function inTransaction(...statements: readonly string[]): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: fixture.database.url });
  await client.connect();
  await client.query(['BEGIN', ...statements].join('; '));
  return client;
}

/** Commits once somebody waits for what the connection holds. */
async function commitWhenAwaited(client: pg.Client): Promise<void> {
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await expect.poll(async () => (await fixture.database.query(waiting)).length, { interval: 10 }).toBeGreaterThan(0);
  await client.query('COMMIT');
  await client.end();
}
