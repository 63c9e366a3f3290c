import type pg from 'pg';
import { SchemaError } from './schema-state.js';

/**
 * What exists outside of a schema, with the version of its catalog row, and how many rows of which tables this session has
 * written. A foreign key to another table adds triggers there.
 */
const OTHERS = `
WITH other AS (
  SELECT oid FROM pg_namespace WHERE nspname NOT IN ($1, 'pg_catalog', 'information_schema') AND nspname !~ '^pg_(toast|temp)'
), relation AS (SELECT c.* FROM pg_class AS c JOIN other ON other.oid = c.relnamespace)
SELECT 'schema ' || n.nspname AS name, n.xmin || ' ' || n.ctid AS version FROM pg_namespace AS n JOIN other USING (oid)
UNION ALL SELECT 'relation ' || r.oid::regclass, pc.xmin || ' ' || pc.ctid FROM relation AS r JOIN pg_class AS pc USING (oid)
UNION ALL SELECT 'column ' || r.oid::regclass || '.' || a.attname, a.xmin || ' ' || a.ctid
  FROM relation AS r JOIN pg_attribute AS a ON a.attrelid = r.oid
UNION ALL SELECT 'trigger ' || t.tgname || ' of ' || r.oid::regclass, t.xmin || ' ' || t.ctid
  FROM relation AS r JOIN pg_trigger AS t ON t.tgrelid = r.oid
UNION ALL SELECT 'constraint ' || c.conname || ' of ' || r.oid::regclass, c.xmin || ' ' || c.ctid
  FROM relation AS r JOIN pg_constraint AS c ON c.conrelid = r.oid
UNION ALL SELECT 'policy ' || p.polname || ' of ' || r.oid::regclass, p.xmin || ' ' || p.ctid
  FROM relation AS r JOIN pg_policy AS p ON p.polrelid = r.oid
UNION ALL SELECT 'rule ' || w.rulename || ' of ' || r.oid::regclass, w.xmin || ' ' || w.ctid
  FROM relation AS r JOIN pg_rewrite AS w ON w.ev_class = r.oid
UNION ALL SELECT 'comment on ' || r.oid::regclass, string_agg(d.objsubid || ' ' || d.xmin || ' ' || d.ctid, ',' ORDER BY d.objsubid)
  FROM relation AS r JOIN pg_description AS d ON d.objoid = r.oid AND d.classoid = 'pg_class'::regclass GROUP BY r.oid
UNION ALL SELECT 'type ' || t.oid::regtype, t.xmin || ' ' || t.ctid
  FROM pg_type AS t JOIN other ON other.oid = t.typnamespace WHERE t.typrelid = 0 AND t.typelem = 0
UNION ALL SELECT 'extension ' || e.extname, e.xmin || ' ' || e.ctid FROM pg_extension AS e
UNION ALL SELECT 'default privileges of ' || n.nspname, a.xmin || ' ' || a.ctid
  FROM pg_default_acl AS a JOIN pg_namespace AS n ON n.oid = a.defaclnamespace JOIN other ON other.oid = n.oid
UNION ALL SELECT 'function ' || p.oid::regprocedure, p.xmin || ' ' || p.ctid FROM pg_proc AS p JOIN other ON other.oid = p.pronamespace
UNION ALL SELECT 'rows of ' || s.relid::regclass, (s.n_tup_ins + s.n_tup_upd + s.n_tup_del)::text
  FROM pg_stat_xact_user_tables AS s JOIN relation AS r ON r.oid = s.relid WHERE s.n_tup_ins + s.n_tup_upd + s.n_tup_del > 0`;

/**
 * Runs the SQL of a migration that may change one schema only, in the transaction of the caller. Rejects with a SchemaError when
 * it has changed anything else: the caller rolls back.
 */
export async function changeOwnSchema(
  client: pg.Client,
  { name, sql, schema }: { readonly name: string; readonly sql: string; readonly schema: string },
): Promise<void> {
  const quoted = client.escapeIdentifier(schema);
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${quoted}`);
  const before = await readOthers(client, schema);
  // Names without a schema are its own.
  await client.query(`SET LOCAL search_path = ${quoted}`);
  await client.query(`SELECT set_config('headrace.migration', $1, true)`, [sql]);
  // Within a block, the SQL cannot end the transaction.
  await client.query(`DO $$ BEGIN EXECUTE current_setting('headrace.migration'); END $$`);
  // Settings of the file must not reach our statements.
  await client.query('RESET ROLE; SET LOCAL statement_timeout = 0');
  // Deferred triggers run before the second reading, and not at the commit.
  await client.query('SET CONSTRAINTS ALL IMMEDIATE');
  const after = await readOthers(client, schema);
  const names = new Set([...before.keys(), ...after.keys()]);
  const changed = [...names].filter((object) => before.get(object) !== after.get(object)).sort();
  if (changed.length === 0) return;
  throw new SchemaError(
    'foreign_change',
    `Migration ${name} may change the schema ${schema} only, and changes ${changed.join(', ')}. Nothing of it was applied.`,
  );
}

async function readOthers(client: pg.Client, schema: string): Promise<Map<string, string>> {
  // Names are written with their schema.
  await client.query('SET LOCAL search_path = pg_catalog');
  const { rows } = await client.query<{ name: string; version: string }>(OTHERS, [schema]);
  return new Map(rows.map(({ name, version }) => [name, version]));
}
