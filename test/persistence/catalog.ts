import type { TestDatabase } from '#testing';

const OURS = `n.nspname = 'headrace' AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = %.oid AND d.deptype = 'e')`;
const ours = (alias: string): string => OURS.replace('%', alias);

const PARTS: Readonly<Record<string, string>> = {
  extension: `SELECT e.extname AS name, n.nspname || ' ' || e.extversion AS detail
    FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace`,
  table: `SELECT c.relname AS name, concat_ws(' ', c.relkind, c.relpersistence, c.reloptions, c.relrowsecurity,
      pg_get_partkeydef(c.oid), pg_get_expr(c.relpartbound, c.oid), inhparent::regclass) AS detail
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_inherits ON inhrelid = c.oid
    WHERE ${ours('c')} AND c.relkind IN ('r', 'p', 'v', 'm', 'S') AND c.relname <> 'test_clock'`,
  column: `SELECT c.relname || '.' || a.attname AS name, concat_ws(' ', a.attnum, format_type(a.atttypid, a.atttypmod),
      CASE WHEN a.attnotnull THEN 'NOT NULL' END, 'identity=' || a.attidentity::text, 'generated=' || a.attgenerated::text,
      'storage=' || a.attstorage::text, (SELECT collname FROM pg_collation WHERE oid = a.attcollation),
      pg_get_expr(ad.adbin, ad.adrelid)) AS detail
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      LEFT JOIN pg_attrdef ad ON ad.adrelid = c.oid AND ad.adnum = a.attnum
    WHERE ${ours('c')} AND c.relkind IN ('r', 'p', 'v', 'm') AND a.attnum > 0 AND NOT a.attisdropped AND c.relname <> 'test_clock'`,
  constraint: `SELECT c.relname || '.' || x.conname AS name, pg_get_constraintdef(x.oid) || ' ' || x.convalidated::text AS detail
    FROM pg_constraint x JOIN pg_class c ON c.oid = x.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE ${ours('c')} AND c.relname <> 'test_clock'`,
  index: `SELECT c.relname AS name, pg_get_indexdef(c.oid) || ' ' || i.indisvalid::text AS detail
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
      JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE ${ours('c')} AND t.relname <> 'test_clock'`,
  function: `SELECT p.oid::regprocedure::text AS name, pg_get_functiondef(p.oid) AS detail
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE ${ours('p')} AND p.prokind IN ('f', 'p')`,
  trigger: `SELECT c.relname || '.' || g.tgname AS name, pg_get_triggerdef(g.oid) || ' ' || g.tgenabled::text AS detail
    FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE ${ours('c')} AND NOT g.tgisinternal`,
};

/** The schema `headrace` of a database: what each object is, by its kind and name. */
export async function readCatalog(database: Pick<TestDatabase, 'query'>): Promise<Record<string, string>> {
  const catalog: Record<string, string> = {};
  for (const [kind, query] of Object.entries(PARTS))
    for (const { name, detail } of await database.query<{ name: string; detail: string }>(query))
      catalog[`${kind} ${name}`] = detail;
  return catalog;
}
