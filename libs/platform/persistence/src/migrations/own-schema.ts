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
UNION ALL SELECT 'function ' || p.oid::regprocedure, p.xmin || ' ' || p.ctid FROM pg_proc AS p JOIN other ON other.oid = p.pronamespace
UNION ALL SELECT 'rows of ' || s.relid::regclass, (s.n_tup_ins + s.n_tup_upd + s.n_tup_del)::text
  FROM pg_stat_xact_user_tables AS s JOIN relation AS r ON r.oid = s.relid WHERE s.n_tup_ins + s.n_tup_upd + s.n_tup_del > 0`;

/** Runs a migration that may change one schema only. Rejects with a SchemaError when it has changed anything else. */
export async function changeOwnSchema(
  client: pg.Client,
  { migration, schema }: { readonly migration: string; readonly schema: string },
  work: () => Promise<void>,
): Promise<void> {
  const quoted = client.escapeIdentifier(schema);
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${quoted}`);
  const before = await readOthers(client, schema);
  // Names without a schema are its own.
  await client.query(`SET LOCAL search_path = ${quoted}`);
  await work();
  const after = await readOthers(client, schema);
  await client.query('SET LOCAL search_path TO DEFAULT');
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => before.get(name) !== after.get(name),
  );
  if (changed.length === 0) return;
  throw new SchemaError(
    'foreign_change',
    `Migration ${migration} may change the schema ${schema} only, and changes ${changed.sort().join(', ')}. Nothing of it was applied.`,
  );
}

async function readOthers(client: pg.Client, schema: string): Promise<Map<string, string>> {
  // Names are written with their schema.
  await client.query('SET LOCAL search_path = pg_catalog');
  const { rows } = await client.query<{ name: string; version: string }>(OTHERS, [schema]);
  return new Map(rows.map(({ name, version }) => [name, version]));
}
