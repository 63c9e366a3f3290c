import { Injectable } from '@nestjs/common';
import type { PrincipalRef } from '#domain/runs';
import { Database, type Queryable } from '#platform/persistence';
import type { AgentSettings, DefinitionFile } from '../domain/definition.js';
import type { AppliedDefinition } from '../domain/present-state.js';

@Injectable()
export class DefinitionsStore {
  constructor(private readonly database: Database) {}

  /** Of one statement: what belongs together, even while somebody applies. Null: nothing was applied yet. */
  async find(queryable: Queryable, factoryUid: string): Promise<AppliedDefinition | null> {
    const [row] = await queryable.query<{
      agent_defaults: AgentSettings;
      files: DefinitionFile[];
      agents: Record<string, string>;
      fingerprints: Record<string, string>;
    }>(
      `SELECT d.agent_defaults,
         (SELECT coalesce(jsonb_agg(jsonb_build_object('path', path, 'content', content) ORDER BY path), '[]')
            FROM factory_files WHERE factory_uid = $1) AS files,
         (SELECT coalesce(jsonb_object_agg(name, identity_uid), '{}') FROM factory_agents WHERE factory_uid = $1) AS agents,
         (SELECT coalesce(jsonb_object_agg(kind || '/' || name, fingerprint), '{}')
            FROM factory_resources WHERE factory_uid = $1) AS fingerprints
       FROM factory_definitions d WHERE d.factory_uid = $1`,
      [factoryUid],
    );
    return row
      ? {
          agentDefaults: row.agent_defaults,
          files: row.files,
          agents: new Map(Object.entries(row.agents)),
          fingerprints: new Map(Object.entries(row.fingerprints)),
        }
      : null;
  }

  /** All skills, by path, and which agent of the files this identity is. Of one statement, as above. */
  async findSkills(
    factoryUid: string,
    agentUid: string | null,
  ): Promise<{ readonly agent: string | null; readonly files: readonly DefinitionFile[] }> {
    const rows = await this.database.query<DefinitionFile & { agent: string | null }>(
      `SELECT path, content, (SELECT name FROM factory_agents WHERE factory_uid = $1 AND identity_uid = $2) AS agent
       FROM factory_files WHERE factory_uid = $1 AND path LIKE '%/SKILL.md' ORDER BY path`,
      [factoryUid, agentUid],
    );
    return { agent: rows[0]?.agent ?? null, files: rows.map(({ path, content }) => ({ path, content })) };
  }

  async save(tx: Queryable, factoryUid: string, appliedBy: PrincipalRef, applied: AppliedDefinition): Promise<void> {
    await tx.query(
      `INSERT INTO factory_definitions (factory_uid, agent_defaults, applied_by_type, applied_by_uid) VALUES ($1, $2, $3, $4)
       ON CONFLICT (factory_uid) DO UPDATE SET agent_defaults = excluded.agent_defaults,
         applied_by_type = excluded.applied_by_type, applied_by_uid = excluded.applied_by_uid, applied_at = headrace.now()`,
      [factoryUid, JSON.stringify(applied.agentDefaults), appliedBy.type, appliedBy.uid],
    );
    await this.saveFiles(tx, factoryUid, applied.files);
    await tx.query('DELETE FROM factory_agents WHERE factory_uid = $1', [factoryUid]);
    await tx.query(
      'INSERT INTO factory_agents (factory_uid, name, identity_uid) SELECT $1, * FROM unnest($2::text[], $3::text[])',
      [factoryUid, [...applied.agents.keys()], [...applied.agents.values()]],
    );
    const keys = [...applied.fingerprints.keys()];
    await tx.query('DELETE FROM factory_resources WHERE factory_uid = $1', [factoryUid]);
    await tx.query(
      `INSERT INTO factory_resources (factory_uid, kind, name, fingerprint)
       SELECT $1, split_part(key, '/', 1), substr(key, strpos(key, '/') + 1), fingerprint
       FROM unnest($2::text[], $3::text[]) AS applied (key, fingerprint)`,
      [factoryUid, keys, [...applied.fingerprints.values()]],
    );
  }

  /** Of files that stay as they are, the time stays too. */
  private async saveFiles(tx: Queryable, factoryUid: string, files: readonly DefinitionFile[]): Promise<void> {
    const paths = files.map(({ path }) => path);
    await tx.query('DELETE FROM factory_files WHERE factory_uid = $1 AND path <> ALL($2::text[])', [factoryUid, paths]);
    await tx.query(
      `INSERT INTO factory_files AS f (factory_uid, path, content) SELECT $1, * FROM unnest($2::text[], $3::text[])
       ON CONFLICT (factory_uid, path) DO UPDATE SET content = excluded.content, applied_at = headrace.now()
       WHERE f.content <> excluded.content`,
      [factoryUid, paths, files.map(({ content }) => content)],
    );
  }

  /** Uids of the identities of that name, by factory; those without one are not in it. */
  async identitiesNamed(name: string, factoryUids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.database.query<{ factory_uid: string; identity_uid: string }>(
      'SELECT factory_uid, identity_uid FROM factory_agents WHERE name = $1 AND factory_uid = ANY($2)',
      [name, factoryUids],
    );
    return new Map(rows.map((row) => [row.factory_uid, row.identity_uid]));
  }

  async agentDefaults(factoryUid: string): Promise<AgentSettings> {
    const [row] = await this.database.query<{ agent_defaults: AgentSettings }>(
      'SELECT agent_defaults FROM factory_definitions WHERE factory_uid = $1',
      [factoryUid],
    );
    return row?.agent_defaults ?? {};
  }
}
