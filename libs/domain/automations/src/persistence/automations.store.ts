import { FactoryQuota } from '#domain/factories';
import type { PrincipalRef } from '#domain/runs';
import { type Automation, type AutomationFields, MAX_AUTOMATIONS } from '../domain/automation.js';
import type { Trigger } from '../domain/trigger.js';
import { Injectable } from '@nestjs/common';
import { Database, type Queryable, writtenRow, statement } from '#platform/persistence';

/** Of `automations AS a`. `env` and `headers` of MCP servers are encrypted. */
const columns = (prompt = 'a.prompt'): string =>
  `a.id, a.uid, a.factory_uid AS "factoryUid", a.team_uid AS "teamUid", a.name, a.enabled, ${prompt} AS prompt,
  a.agent_config AS "agentConfig", a.agent_identity_uid AS "agentIdentityUid", a.concurrency, a.answers,
  a.event_repository AS "eventRepository", a.source,
  json_build_object('type', a.author_type, 'uid', a.author_uid) AS author,
  a.version::int AS version, a.created_at AS "createdAt", a.updated_at AS "updatedAt",
  (SELECT coalesce(jsonb_agg(t.trigger ORDER BY t.position), '[]') FROM automation_triggers t
    WHERE t.automation_id = a.id) AS triggers`;

const LISTED_PROMPT_CHARACTERS = 2048;

/** The fields that are written; `env` and `headers` of the MCP servers are encrypted. */
export interface WrittenAutomation extends Omit<AutomationFields, 'triggers'> {
  readonly author: PrincipalRef;
  readonly triggers: readonly { readonly trigger: Trigger; readonly subject: string }[];
}

export type NewAutomation = WrittenAutomation & Pick<Automation, 'uid' | 'factoryUid' | 'teamUid' | 'source'>;

const oneWhere = (lock: string): string =>
  `SELECT ${columns()} FROM automations a WHERE a.factory_uid = $1 AND a.uid = $2 ${lock}`;
const FIND = statement('automations.find')`${oneWhere('')}`;
const LOCK = statement('automations.lock')`${oneWhere('FOR NO KEY UPDATE OF a')}`;

const LOCK_DECISIONS = statement('automations.lock-decisions')`
  SELECT coalesce((answers->>'decisions')::boolean, false) AS "isOpen" FROM automations
   WHERE factory_uid = $1 AND uid = $2 FOR SHARE`;

/** A page ends before its prompts, configurations and triggers exceed this size, with at least one automation. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;
/** `found`: the number of rows before the page was cut to its size. */
type Listed = Automation & { readonly found: number };
const pageWhere = (condition: string): string =>
  `SELECT * FROM (
    SELECT listed.*, count(*) OVER ()::int AS found, row_number() OVER by_name AS place,
           sum(octet_length(to_json(prompt)::text) + coalesce(octet_length("agentConfig"::text), 0) + octet_length(triggers::text))
             OVER by_name AS bytes
      FROM (SELECT ${columns(`left(a.prompt, ${LISTED_PROMPT_CHARACTERS})`)} FROM automations a
             WHERE a.factory_uid = $1${condition} ORDER BY a.name, a.uid LIMIT $2) listed
    WINDOW by_name AS (ORDER BY name, uid)) sized
  WHERE place = 1 OR bytes <= ${MAX_PAGE_BYTES} ORDER BY name, uid`;
const FIRST_PAGE = statement('automations.list')`${pageWhere('')}`;
const NEXT_PAGE = statement('automations.list-after')`${pageWhere(' AND (a.name, a.uid) > ($3, $4)')}`;
const DEFINED = `FROM automations a WHERE a.factory_uid = $1 AND a.source = 'definition' ORDER BY a.name, a.uid`;
const INSERT = statement('automations.insert')`
  INSERT INTO automations (uid, factory_uid, team_uid, source, name, enabled, prompt, agent_config,
    agent_identity_uid, concurrency, answers, event_repository, author_type, author_uid)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING id`;
const UPDATE = statement('automations.update')`
  UPDATE automations SET name = $2, enabled = $3, prompt = $4, agent_config = $5, agent_identity_uid = $6,
    concurrency = $7, answers = $8, event_repository = $9, author_type = $10, author_uid = $11, version = version + 1, updated_at = headrace.now()
  WHERE id = $1`;
const INSERT_TRIGGERS = statement('automations.insert-triggers')`
  INSERT INTO automation_triggers (automation_id, position, factory_uid, provider, event, subject, trigger)
  SELECT a.id, t.place - 1, a.factory_uid, t.provider, t.event, t.subject, t.trigger
    FROM automations a, unnest($2::text[], $3::text[], $4::text[], $5::jsonb[])
      WITH ORDINALITY AS t (provider, event, subject, trigger, place)
   WHERE a.id = $1`;

export const AUTOMATION_QUOTA = new FactoryQuota('automation_counts', 'used', MAX_AUTOMATIONS);

@Injectable()
export class AutomationsStore {
  constructor(private readonly database: Database) {}

  async find(factoryUid: string, uid: string): Promise<Automation | null> {
    const [automation] = await this.database.query<Automation>(FIND, [factoryUid, uid]);
    return automation ?? null;
  }

  async names(tx: Queryable, factoryUid: string): Promise<string[]> {
    const rows = await tx.query<{ name: string }>(
      'SELECT name FROM automations WHERE factory_uid = $1 ORDER BY name, uid',
      [factoryUid],
    );
    return rows.map(({ name }) => name);
  }

  async lock(tx: Queryable, factoryUid: string, uid: string): Promise<Automation | null> {
    const [automation] = await tx.query<Automation>(LOCK, [factoryUid, uid]);
    return automation ?? null;
  }

  /** Whether buttons in messages decide for its runs. It does not change until the transaction ends. */
  async lockDecisions(tx: Queryable, factoryUid: string, uid: string): Promise<boolean> {
    const [row] = await tx.query<{ isOpen: boolean }>(LOCK_DECISIONS, [factoryUid, uid]);
    return row?.isOpen === true;
  }

  /** By name, with truncated prompts; at most `limit`, and fewer when they are large. */
  async page(
    factoryUid: string,
    after: readonly [name: string, uid: string] | null,
    limit: number,
  ): Promise<{ readonly automations: Automation[]; readonly hasMore: boolean }> {
    const statement = after === null ? FIRST_PAGE : NEXT_PAGE;
    const values = [factoryUid, limit + 1, ...(after ?? [])];
    const rows = await this.database.query<Listed>(statement, values);
    const automations = rows.slice(0, limit);
    return { automations, hasMore: (rows[0]?.found ?? 0) > automations.length };
  }

  async lockDefined(tx: Queryable, factoryUid: string): Promise<void> {
    await tx.query(`SELECT 1 ${DEFINED} FOR NO KEY UPDATE`, [factoryUid]);
  }

  listDefined(tx: Queryable, factoryUid: string): Promise<Automation[]> {
    return tx.query(`SELECT ${columns()} ${DEFINED}`, [factoryUid]);
  }

  async insert(tx: Queryable, automation: NewAutomation): Promise<void> {
    const { uid, factoryUid, teamUid, source } = automation;
    const rows = await tx.query<{ id: string }>(INSERT, [uid, factoryUid, teamUid, source, ...valuesOf(automation)]);
    await this.insertTriggers(tx, writtenRow(rows).id, automation);
  }

  async update(tx: Queryable, id: string, automation: WrittenAutomation): Promise<void> {
    await tx.query(UPDATE, [id, ...valuesOf(automation)]);
    await tx.query('DELETE FROM automation_triggers WHERE automation_id = $1', [id]);
    await this.insertTriggers(tx, id, automation);
  }

  async delete(tx: Queryable, factoryUid: string, uid: string): Promise<boolean> {
    const rows = await tx.query('DELETE FROM automations WHERE factory_uid = $1 AND uid = $2 RETURNING 1', [
      factoryUid,
      uid,
    ]);
    return rows.length > 0;
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
  automation.concurrency && JSON.stringify(automation.concurrency),
  automation.answers && JSON.stringify(automation.answers),
  automation.eventRepository,
  automation.author.type,
  automation.author.uid,
];
