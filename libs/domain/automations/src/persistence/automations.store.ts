import type { AgentConfig, PrincipalRef } from '#domain/runs';
import type { Automation, AutomationFields, AutomationSource } from '../domain/automation.js';
import type { Trigger } from '../domain/trigger.js';
import { Injectable } from '@nestjs/common';
import { Database, type Queryable, type Statement } from '#platform/persistence';

export interface AutomationRow {
  id: string;
  uid: string;
  factory_uid: string;
  team_uid: string;
  name: string;
  enabled: boolean;
  prompt: string;
  agent_config: AgentConfig | null;
  agent_identity_uid: string | null;
  source: AutomationSource;
  author_type: PrincipalRef['type'];
  author_uid: string;
  version: string | number;
  created_at: Date;
  updated_at: Date;
  triggers: Trigger[];
}

/** The columns of {@link toAutomation}, of `automations AS a`. */
export const automationColumns = (prompt = 'a.prompt'): string =>
  `a.id, a.uid, a.factory_uid, a.team_uid, a.name, a.enabled, ${prompt} AS prompt, a.agent_config, a.agent_identity_uid,
  a.source, a.author_type, a.author_uid, a.version, a.created_at, a.updated_at,
  (SELECT coalesce(jsonb_agg(t.trigger ORDER BY t.position), '[]') FROM automation_triggers t
    WHERE t.automation_id = a.id) AS triggers`;

/** `env` and `headers` of MCP servers are encrypted. */
export const toAutomation = (row: AutomationRow): Automation => ({
  id: row.id,
  uid: row.uid,
  factoryUid: row.factory_uid,
  teamUid: row.team_uid,
  name: row.name,
  enabled: row.enabled,
  prompt: row.prompt,
  agentConfig: row.agent_config,
  agentIdentityUid: row.agent_identity_uid,
  triggers: row.triggers,
  source: row.source,
  author: { type: row.author_type, uid: row.author_uid },
  version: Number(row.version),
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

/** Length of a prompt in a list. */
const LISTED_PROMPT_CHARACTERS = 2048;

/** The fields that are written; `env` and `headers` of the MCP servers are encrypted. */
export interface WrittenAutomation extends Omit<AutomationFields, 'triggers'> {
  readonly author: PrincipalRef;
  /** Each with its subject. */
  readonly triggers: readonly { readonly trigger: Trigger; readonly subject: string }[];
}

export interface NewAutomation extends WrittenAutomation {
  readonly uid: string;
  readonly factoryUid: string;
  readonly teamUid: string;
  readonly source: AutomationSource;
}

/** A page starts after this automation. */
export interface AutomationPlace {
  readonly name: string;
  readonly uid: string;
}

interface ListedRow extends AutomationRow {
  found: number;
}

const oneWhere = (lock: string): string =>
  `SELECT ${automationColumns()} FROM automations a WHERE a.factory_uid = $1 AND a.uid = $2 ${lock}`;
const FIND: Statement = { name: 'automations.find', text: oneWhere('') };
const LOCK: Statement = { name: 'automations.lock', text: oneWhere('FOR NO KEY UPDATE OF a') };

/** A page ends before its configurations and triggers exceed this size, with at least one automation. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;
/** `found`: the number of rows before the page was cut to its size. */
const pageWhere = (condition: string): string =>
  `SELECT * FROM (
    SELECT listed.*, count(*) OVER ()::int AS found, row_number() OVER by_name AS place,
           sum(coalesce(octet_length(agent_config::text), 0) + octet_length(triggers::text)) OVER by_name AS bytes
      FROM (SELECT ${automationColumns(`left(a.prompt, ${LISTED_PROMPT_CHARACTERS})`)} FROM automations a
             WHERE a.factory_uid = $1${condition} ORDER BY a.name, a.uid LIMIT $2) listed
    WINDOW by_name AS (ORDER BY name, uid)) sized
  WHERE place = 1 OR bytes <= ${MAX_PAGE_BYTES} ORDER BY name, uid`;
const FIRST_PAGE: Statement = { name: 'automations.list', text: pageWhere('') };
const NEXT_PAGE: Statement = {
  name: 'automations.list-after',
  text: pageWhere(' AND (a.name, a.uid) > ($3, $4)'),
};
const DEFINED = `FROM automations a WHERE a.factory_uid = $1 AND a.source = 'definition' ORDER BY a.name, a.uid`;
const LOCK_DEFINED: Statement = {
  name: 'automations.lock-defined',
  text: `SELECT 1 ${DEFINED} FOR NO KEY UPDATE`,
};
const LIST_DEFINED: Statement = { name: 'automations.list-defined', text: `SELECT ${automationColumns()} ${DEFINED}` };
const INSERT: Statement = {
  name: 'automations.insert',
  text: `INSERT INTO automations (uid, factory_uid, team_uid, source, name, enabled, prompt, agent_config,
    agent_identity_uid, author_type, author_uid)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING id`,
};
const UPDATE: Statement = {
  name: 'automations.update',
  text: `UPDATE automations SET name = $2, enabled = $3, prompt = $4, agent_config = $5, agent_identity_uid = $6,
    author_type = $7, author_uid = $8, version = version + 1, updated_at = headrace.now()
  WHERE id = $1`,
};
const DELETE: Statement = {
  name: 'automations.delete',
  text: 'DELETE FROM automations WHERE factory_uid = $1 AND uid = $2 RETURNING 1',
};
const CLEAR_TRIGGERS: Statement = {
  name: 'automations.clear-triggers',
  text: 'DELETE FROM automation_triggers WHERE automation_id = $1',
};
const INSERT_TRIGGERS: Statement = {
  name: 'automations.insert-triggers',
  text: `INSERT INTO automation_triggers (automation_id, position, factory_uid, provider, event, subject, trigger)
  SELECT a.id, t.place - 1, a.factory_uid, t.provider, t.event, t.subject, t.trigger
    FROM automations a, unnest($2::text[], $3::text[], $4::text[], $5::jsonb[])
      WITH ORDINALITY AS t (provider, event, subject, trigger, place)
   WHERE a.id = $1`,
};

const RESERVE_QUOTA: Statement = {
  name: 'automations.take-place',
  text: `INSERT INTO automation_counts AS c (factory_uid, used) VALUES ($1, 1)
  ON CONFLICT (factory_uid) DO UPDATE SET used = c.used + 1 WHERE c.used < $2 RETURNING 1`,
};
const LOCK_QUOTA: Statement = {
  name: 'automations.lock-places',
  text: 'SELECT 1 FROM automation_counts WHERE factory_uid = $1 FOR UPDATE',
};
const READ_QUOTA: Statement = {
  name: 'automations.used-places',
  text: 'SELECT used FROM automation_counts WHERE factory_uid = $1',
};
const RELEASE_QUOTA: Statement = {
  name: 'automations.give-place-back',
  text: 'UPDATE automation_counts SET used = used - 1 WHERE factory_uid = $1',
};

/**
 * Automations with their triggers, which have separate rows. The quota is a row for each factory: a transaction that
 * creates or deletes an automation locks it first, so that the limit is exact.
 */
@Injectable()
export class AutomationsStore {
  constructor(private readonly database: Database) {}

  async find(factoryUid: string, uid: string, queryable: Queryable = this.database): Promise<Automation | null> {
    return first(await queryable.query<AutomationRow>(FIND, [factoryUid, uid]));
  }

  /** Locks it for this transaction. */
  async lock(tx: Queryable, factoryUid: string, uid: string): Promise<Automation | null> {
    return first(await tx.query<AutomationRow>(LOCK, [factoryUid, uid]));
  }

  /** By name, with truncated prompts; at most `limit`, and fewer when they are large. */
  async page(
    factoryUid: string,
    after: AutomationPlace | null,
    limit: number,
  ): Promise<{ readonly automations: Automation[]; readonly hasMore: boolean }> {
    const rows =
      after === null
        ? await this.database.query<ListedRow>(FIRST_PAGE, [factoryUid, limit + 1])
        : await this.database.query<ListedRow>(NEXT_PAGE, [factoryUid, limit + 1, after.name, after.uid]);
    const automations = rows.slice(0, limit).map(toAutomation);
    return { automations, hasMore: (rows[0]?.found ?? 0) > automations.length };
  }

  /** Locks the automations of the definition until the transaction ends. */
  async lockDefined(tx: Queryable, factoryUid: string): Promise<void> {
    await tx.query(LOCK_DEFINED, [factoryUid]);
  }

  /** The automations of the definition, by name. */
  async listDefined(tx: Queryable, factoryUid: string): Promise<Automation[]> {
    return (await tx.query<AutomationRow>(LIST_DEFINED, [factoryUid])).map(toAutomation);
  }

  async insert(tx: Queryable, automation: NewAutomation): Promise<void> {
    const { uid, factoryUid, teamUid, source } = automation;
    const [row] = await tx.query<{ id: string }>(INSERT, [
      ...[uid, factoryUid, teamUid, source],
      ...valuesOf(automation),
    ]);
    if (!row) throw new Error('A statement with RETURNING returned no row.');
    await this.insertTriggers(tx, row.id, automation);
  }

  /** Increments `version`. */
  async update(tx: Queryable, id: string, automation: WrittenAutomation): Promise<void> {
    await tx.query(UPDATE, [id, ...valuesOf(automation)]);
    await tx.query(CLEAR_TRIGGERS, [id]);
    await this.insertTriggers(tx, id, automation);
  }

  /** False when there is none. */
  async delete(tx: Queryable, factoryUid: string, uid: string): Promise<boolean> {
    return (await tx.query(DELETE, [factoryUid, uid])).length > 0;
  }

  /** False when the factory has `limit` automations. */
  async reserveQuota(tx: Queryable, factoryUid: string, limit: number): Promise<boolean> {
    return (await tx.query(RESERVE_QUOTA, [factoryUid, limit])).length > 0;
  }

  async lockQuota(tx: Queryable, factoryUid: string): Promise<void> {
    await tx.query(LOCK_QUOTA, [factoryUid]);
  }

  async usedQuota(tx: Queryable, factoryUid: string): Promise<number> {
    const [row] = await tx.query<{ used: number }>(READ_QUOTA, [factoryUid]);
    return row?.used ?? 0;
  }

  async releaseQuota(tx: Queryable, factoryUid: string): Promise<void> {
    await tx.query(RELEASE_QUOTA, [factoryUid]);
  }

  private async insertTriggers(tx: Queryable, id: string, { triggers }: WrittenAutomation): Promise<void> {
    await tx.query(INSERT_TRIGGERS, [
      id,
      triggers.map(({ trigger }) => trigger.provider),
      triggers.map(({ trigger }) => trigger.event),
      triggers.map(({ subject }) => subject),
      triggers.map(({ trigger }) => JSON.stringify(trigger)),
    ]);
  }
}

const valuesOf = (automation: WrittenAutomation): unknown[] => [
  automation.name,
  automation.enabled,
  automation.prompt,
  automation.agentConfig && JSON.stringify(automation.agentConfig),
  automation.agentIdentityUid,
  automation.author.type,
  automation.author.uid,
];

const first = ([row]: readonly AutomationRow[]): Automation | null => (row ? toAutomation(row) : null);
