import { Injectable } from '@nestjs/common';
import { Database, type Statement } from '#platform/persistence';
import type { AgentConfig, PrincipalRef } from '#domain/runs';
import type { Trigger, TriggerEvent } from '../domain/trigger.js';

/** A trigger that an event reaches, without what is only needed when it fires. */
export interface ReachedTrigger {
  readonly automationId: string;
  readonly automationUid: string;
  readonly version: string;
  readonly enabled: boolean;
  readonly position: number;
  readonly trigger: Trigger;
}

/** What an automation starts runs with. */
export interface FiringAutomation {
  readonly id: string;
  readonly uid: string;
  readonly name: string;
  readonly prompt: string;
  readonly agentConfig: AgentConfig | null;
  readonly agentIdentityUid: string | null;
  readonly author: PrincipalRef;
}

interface ReachedRow {
  stamp: string;
  /** Null: there is none, or nothing has changed. */
  automation_id: string | null;
  uid: string;
  version: string;
  enabled: boolean;
  position: number;
  trigger: Trigger;
}

interface FiringRow {
  id: string;
  uid: string;
  name: string;
  prompt: string;
  agent_config: AgentConfig | null;
  agent_identity_uid: string | null;
  author_type: PrincipalRef['type'];
  author_uid: string;
}

/** All triggers of a subject, or nothing but the stamp where they are as they were with the stamp `$5`. */
const REACHED: Statement = {
  name: 'automations.find-reached',
  text: `SELECT s.stamp, t.* FROM automation_stamps s LEFT JOIN LATERAL (
    SELECT t.automation_id, a.uid, a.version, a.enabled, t.position, t.trigger
      FROM automation_triggers t JOIN automations a ON a.id = t.automation_id
     WHERE s.stamp <> $5 AND t.factory_uid = $1 AND t.provider = $2 AND t.event = $3 AND t.subject = $4) t ON true
 WHERE s.factory_uid = $1 ORDER BY t.automation_id, t.position`,
};
/** Triggers that are remembered over all subjects. */
const MAX_REMEMBERED = 50_000;

const FIRING: Statement = {
  name: 'automations.load-firing',
  text: `SELECT a.id, a.uid, a.name, a.prompt, a.agent_config, a.agent_identity_uid, a.author_type, a.author_uid
  FROM unnest($1::bigint[], $2::bigint[]) AS f (id, version)
  JOIN automations a ON a.id = f.id AND a.version = f.version`,
};

/** What the firing of automations asks; the outside of {@link FireAutomations}' two round trips. */
@Injectable()
export class FiringStore {
  private readonly remembered = new Map<
    string,
    { readonly stamp: string; readonly triggers: readonly ReachedTrigger[] }
  >();
  private rememberedCount = 0;

  constructor(private readonly database: Database) {}

  /**
   * All triggers of the event's subject, those of disabled automations too, in the order of their automations. One round
   * trip, which brings them only when something of the factory's automations has changed since the last time.
   */
  async reached({ factoryUid, provider, event, subject }: TriggerEvent): Promise<readonly ReachedTrigger[]> {
    const key = `${factoryUid}/${provider}/${event}/${subject}`;
    const known = this.remembered.get(key);
    const values = [factoryUid, provider, event, subject, known?.stamp ?? '-1'];
    const rows = await this.database.query<ReachedRow>(REACHED, values);
    const [{ stamp } = { stamp: null }] = rows;
    // A factory without a stamp never had an automation.
    if (stamp === null) return [];
    if (known?.stamp === stamp) return known.triggers;
    const triggers = rows.flatMap(toReached);
    this.remember(key, stamp, triggers);
    return triggers;
  }

  private remember(key: string, stamp: string, triggers: readonly ReachedTrigger[]): void {
    this.rememberedCount += 1 + triggers.length;
    if (this.rememberedCount > MAX_REMEMBERED) {
      this.remembered.clear();
      this.rememberedCount = 1 + triggers.length;
    }
    this.remembered.set(key, { stamp, triggers });
  }

  /** Those that are still as they were when it was decided that they fire, by id. */
  async load(
    fired: readonly Pick<ReachedTrigger, 'automationId' | 'version'>[],
  ): Promise<Map<string, FiringAutomation>> {
    const rows = await this.database.query<FiringRow>(FIRING, [
      fired.map(({ automationId }) => automationId),
      fired.map(({ version }) => version),
    ]);
    return new Map(
      rows.map((row) => [
        row.id,
        {
          id: row.id,
          uid: row.uid,
          name: row.name,
          prompt: row.prompt,
          agentConfig: row.agent_config,
          agentIdentityUid: row.agent_identity_uid,
          author: { type: row.author_type, uid: row.author_uid },
        },
      ]),
    );
  }
}

const toReached = (row: ReachedRow): ReachedTrigger[] =>
  row.automation_id === null
    ? []
    : [
        {
          automationId: row.automation_id,
          automationUid: row.uid,
          version: row.version,
          enabled: row.enabled,
          position: row.position,
          trigger: row.trigger,
        },
      ];
