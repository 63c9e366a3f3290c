import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SchemaError } from '#platform/persistence';
import {
  createEmptyDatabase,
  startTestApi,
  startTestIngress,
  type TestApi,
  type TestDatabase,
  TestRunner,
} from '#testing';
import { checkMigrated, migrateAll } from '../../apps/headrace/src/process/migrations.js';
import { readCatalog } from './catalog.js';

/** Upgrades databases of version 0.1.0, whose migrations were not files. */

const read = (file: string): string => readFileSync(new URL(`version-0.1.0/${file}`, import.meta.url), 'utf8');
const before = JSON.parse(read('responses.json')) as {
  readonly token: string;
  readonly factory_uid: string;
  readonly environment_uid: string;
  readonly identity_uid: string;
  readonly webhook_uid: string;
  /** By path. */
  readonly responses: Readonly<Record<string, unknown>>;
};

/** A database as version 0.1.0 left it. */
async function earlierDatabase(): Promise<TestDatabase> {
  const database = await createEmptyDatabase();
  // As its connections had it: extensions are created in the first schema of the path.
  await database.query(`CREATE SCHEMA headrace`);
  await database.query(read('schema.sql'));
  await database.query(read('data.sql'));
  return database;
}

const ORIGIN = /http:\/\/127\.0\.0\.1:\d+/g;
const withoutOrigin = (body: unknown): unknown => JSON.parse(JSON.stringify(body).replaceAll(ORIGIN, 'http://origin'));

/** Fields of runs, of their timelines and of notification webhooks that version 0.1.0 did not have. */
const ADDED_FIELDS: ReadonlySet<string> = new Set([
  'root_run_id',
  'finished_at',
  'submitted_prompt',
  'factory_uid',
  'sequence',
  'format',
  'decisions',
]);
const withoutAddedFields = (body: unknown): unknown =>
  JSON.parse(
    JSON.stringify(body, function (this: object, key, value: unknown) {
      const hasAdded = 'run_id' in this || 'secret' in this;
      return hasAdded && ADDED_FIELDS.has(key) ? undefined : value;
    }),
  );

let database: TestDatabase;
let upgraded: Readonly<Record<string, string>>;
let api: TestApi;
beforeAll(async () => {
  database = await earlierDatabase();
  await migrateAll({ databaseUrl: database.url });
  upgraded = await readCatalog(database);
  api = await startTestApi({ database });
  // What an answer says of times that are still to come does not depend on when the test runs.
  await api.advanceClock(Date.parse('2026-11-22T21:30:00Z') - Date.now());
});
afterAll(async () => {
  await api.close();
  await database.close();
});

describe('a database of version 0.1.0', () => {
  it('has the same schema after the upgrade as a new database', async () => {
    const created = await createEmptyDatabase();
    try {
      await migrateAll({ databaseUrl: created.url });
      const expected = await readCatalog(created);
      // It also has the partitions of the months in which it was in use.
      const found = Object.entries(upgraded).filter(
        ([name]) => name in expected || !/run_events_\d{4}_\d\d/.test(name),
      );
      expect(Object.fromEntries(found)).toEqual(expected);
    } finally {
      await created.close();
    }
  });

  it.each(Object.keys(before.responses))(
    'returns the same response after the upgrade as before, apart from added fields: GET %s',
    async (path) => {
      const { body } = await api.request(200, `GET ${path}`, { token: before.token });
      expect(withoutOrigin(withoutAddedFields(body))).toEqual(withoutOrigin(before.responses[path]));
    },
  );

  it('decrypts managed secrets and the MCP servers of an agent identity for a new run after the upgrade', async () => {
    const { body } = await api.request(200, 'POST /agent/runs', {
      token: before.token,
      body: {
        prompt: 'Go.',
        agent_identity_uid: before.identity_uid,
        config: { environment_id: before.environment_uid },
      },
    });
    const { assignment } = await TestRunner.take(api, body.run_id as string);
    const text = JSON.stringify(assignment);
    for (const value of ['deploy-key', 'npm-token', 'mcp-env', 'mcp-header', 'registered-header'])
      expect(text).toContain(`value-of-${value}`);
  });

  it('accepts a signed delivery after the upgrade and recognizes a replayed one', async () => {
    const ingress = await startTestIngress({ database });
    try {
      const send = async (body: string, id: string): Promise<{ status: number; body: unknown }> => {
        const secret = 'value-of-the-webhook-secret-0123456789';
        const response = await fetch(`${ingress.url}/webhooks/w/${before.webhook_uid}`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'x-github-delivery': id,
            'x-github-event': 'issues',
            'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
          },
          body,
        });
        return { status: response.status, body: await response.json() };
      };
      expect((await send('{"action":"closed"}', 'delivery-2')).status).toBe(202);
      const path = `/factories/${before.factory_uid}/webhooks/${before.webhook_uid}/deliveries`;
      const log = before.responses[path] as { deliveries: { delivery_id: string }[] };
      expect(await send('{"action":"opened","number":7}', 'delivery-1')).toMatchObject({
        status: 202,
        body: { delivery_id: log.deliveries[0]?.delivery_id },
      });
    } finally {
      await ingress.close();
    }
  });

  it('accepts deliveries of an ingress process of version 0.1.0 after the upgrade', async () => {
    const [webhook] = await database.query<{ id: string; version: number }>(
      'SELECT id, version FROM headrace.webhooks',
    );
    const counted = JSON.stringify([{ webhook_id: webhook?.id, version: webhook?.version, outcome: 'J', size: 1 }]);
    expect(
      await database.query(
        `SELECT verdict, delivery_id, retry_ms FROM headrace.take_deliveries($1, '', '', 10, interval '1 minute')`,
        [counted],
      ),
    ).toEqual([{ verdict: 'counted', delivery_id: null, retry_ms: null }]);
  });

  it('applies no migration in a second upgrade', async () => {
    await checkMigrated(database.url);
    expect(await migrateAll({ databaseUrl: database.url })).toEqual([]);
  });
});

describe('a database with only some of the earlier migrations', () => {
  it('rejects a database that is too old with the required step, without changing it', async () => {
    const older = await earlierDatabase();
    try {
      await older.query(`DELETE FROM headrace.schema_migrations WHERE name = 'Runs1700000010701'`);
      for (const work of [() => migrateAll({ databaseUrl: older.url }), () => checkMigrated(older.url)]) {
        const error = await work().catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(SchemaError);
        expect((error as SchemaError).reason).toBe('too_old');
        expect((error as Error).message).toBe(
          'The database schema is too old for this version of Headrace: it lacks 1 earlier migration(s) (Runs1700000010701). Run `headrace migrate` of Headrace 0.1.0 at commit 95b390d, the last one with these migrations, and start this version afterwards.',
        );
      }
      expect(await older.query('SELECT count(*)::int AS n FROM headrace.schema_migrations')).toEqual([{ n: 40 }]);
    } finally {
      await older.close();
    }
  });
});

describe('database with an interrupted first migration', () => {
  it('migrates a database whose first migration was interrupted like a new database', async () => {
    const begun = await createEmptyDatabase();
    try {
      await begun.query(`CREATE SCHEMA headrace`);
      await begun.query(`CREATE TABLE headrace.schema_migrations (id serial PRIMARY KEY, timestamp bigint, name text)`);
      await migrateAll({ databaseUrl: begun.url });
      await checkMigrated(begun.url);
    } finally {
      await begun.close();
    }
  });
});
