import type pg from 'pg';
import { type MigrationSource, sqlState } from '#platform/persistence';
import { EARLIER_SCHEMA } from '../../process/earlier-migrations.js';
import { schemaStateOf } from '../../process/migrations.js';
import { pluginMigrations } from '../../process/plugins.js';
import { type CheckResult, type DoctorCheck, fail, ok, reasonOf, warn } from '../check-result.js';
import type { DatabaseState } from '../database-probe.js';
import { locationOf } from '../secret-mask.js';

const OLDEST_MAJOR = 16;

export const databaseCheck: DoctorCheck = {
  name: 'database',
  uses: ['DATABASE_URL', 'HEADRACE_DATA_DIR'],
  examine: async (context) =>
    checkDatabase(
      await context.database.open(),
      // The check of the plugins reports why they cannot be loaded.
      pluginMigrations(await context.plugins().catch(() => [])),
    ),
};

function checkDatabase(state: DatabaseState, plugins: readonly MigrationSource[]): CheckResult | Promise<CheckResult> {
  switch (state.kind) {
    case 'stopped':
      return ok(
        `the embedded PostgreSQL ${state.major}, which is not running${state.existed ? '' : '; created at the first start'}`,
      );
    case 'unusable':
      return state.url === null
        ? fail(
            `the embedded PostgreSQL cannot be used (${reasonOf(state.error)})`,
            'Run the doctor as the user of Headrace, with the packages of `npm ci`, or set DATABASE_URL to a PostgreSQL server.',
          )
        : unreachable(state.error, state.url, 'DATABASE_URL');
    case 'open':
      return inspect(
        state.pool,
        state.isEmbedded ? 'the embedded PostgreSQL' : 'PostgreSQL',
        locationOf(state.url),
        plugins,
      );
  }
}

/** Explains why a PostgreSQL server cannot be used, and the fix. `setting`: the setting with its URL. */
export function unreachable(error: Error, url: string, setting: string): CheckResult {
  const place = locationOf(url);
  const state = sqlState(error) ?? '';
  if (state.startsWith('28'))
    return fail(
      `${place} rejects the user (${reasonOf(error)})`,
      `Fix user and password in ${setting}, or allow the role in pg_hba.conf.`,
    );
  if (state === '3D000') return fail(`${place}: database not found`, `Create it with \`createdb\`, or fix ${setting}.`);
  if (state === '53300')
    return fail(`${place} has too many connections`, 'Raise max_connections, or lower DATABASE_POOL_SIZE.');
  const { code } = (error instanceof AggregateError ? error.errors[0] : error) as { code?: unknown };
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return fail(`${place}: unknown host name (${code})`, `Fix the host in ${setting}, or the DNS.`);
  return fail(
    `${place} does not answer (${reasonOf(error)})`,
    `Start PostgreSQL there and make it reachable from this machine, or fix ${setting}.`,
  );
}

async function inspect(
  pool: pg.Pool,
  kind: string,
  place: string,
  plugins: readonly MigrationSource[],
): Promise<CheckResult> {
  const [server] = (await pool.query<Server>(SERVER)).rows;
  const major = Math.floor((server?.version ?? 0) / 10_000);
  const found = `${kind} ${major} at ${place}`;
  if (major < OLDEST_MAJOR)
    return fail(
      `${found}; ${OLDEST_MAJOR} or newer is required`,
      `Move the database to PostgreSQL ${OLDEST_MAJOR} or newer, then change DATABASE_URL.`,
    );
  if (server?.read_only === true)
    return fail(`${found} is read-only`, 'Set DATABASE_URL to the primary server, not a replica.');
  const schema = await checkSchema(pool, found, plugins);
  if (schema.verdict === 'fail') return schema;
  const { rows } = await pool.query<{ name: string }>(TABLES_WITHOUT_PRIVILEGES);
  if (rows.length === 0) return schema;
  return fail(
    `${found}: the role has no privileges on ${rows.map(({ name }) => name).join(', ')}`,
    'GRANT ALL ON SCHEMA headrace, and ALL ON ALL TABLES IN SCHEMA headrace, to the role; or use the role that ran `headrace migrate`.',
  );
}

async function checkSchema(pool: pg.Pool, found: string, plugins: readonly MigrationSource[]): Promise<CheckResult> {
  const { total, pending, unknown, changed, missing } = await schemaStateOf(pool, plugins);
  if (missing.length > 0)
    return fail(`${found} lacks ${missing.length} migrations of an earlier version`, EARLIER_SCHEMA.advice);
  if (pending.length > 0) return fail(`${found} lacks ${pending.length} of ${total} migrations`, 'headrace migrate');
  if (changed.length > 0)
    return fail(
      `${found} was migrated with other texts of ${changed.join(', ')}`,
      'Use the version of Headrace that migrated it.',
    );
  if (unknown.length > 0)
    return warn(
      `${found} was migrated by a newer version (${unknown.length} more migrations)`,
      'Use the newest version of Headrace among the processes of this installation.',
    );
  return ok(`${found}, ${total} migrations`);
}

interface Server {
  version: number;
  read_only: boolean;
}

const SERVER = `SELECT current_setting('server_version_num')::int AS version,
  pg_is_in_recovery() OR current_setting('transaction_read_only')::bool AS read_only`;

const TABLES_WITHOUT_PRIVILEGES = `SELECT c.relname AS name
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = 'headrace' AND c.relkind IN ('r', 'p') AND NOT (
    has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
    AND has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE')
    AND has_table_privilege(c.oid, 'DELETE'))
  ORDER BY c.relname LIMIT 3`;
