import { newUid } from '#platform/kernel';
import type { TestDatabase } from './database/test-database.js';

export interface AutomationShape {
  readonly factoryUid: string;
  readonly teamUid: string;
  readonly name?: string;
  readonly enabled?: boolean;
  readonly prompt?: string;
  readonly agentConfig?: object;
  readonly agentIdentityUid?: string;
  /** Default: a new user. */
  readonly authorUid?: string;
  readonly authorType?: 'user' | 'service_account';
  /** `webhook` / `received` triggers of these webhooks, with these payload filters. */
  readonly onWebhooks?: readonly { readonly uid: string; readonly payload?: object }[];
  /** Triggers as on the wire, with their subjects. */
  readonly triggers?: readonly { readonly subject: string; readonly trigger: { provider: string; event: string } }[];
}

/** Automations straight into the database, as the API would leave them. */
export class AutomationBuilder {
  constructor(private readonly database: Pick<TestDatabase, 'query'>) {}

  async build(shape: AutomationShape): Promise<{ uid: string; name: string }> {
    const [built] = await this.buildMany(1, () => shape);
    if (!built) throw new Error('PostgreSQL wrote no automation.');
    return built;
  }

  /** `count` automations in two statements. */
  async buildMany(
    count: number,
    shapeOf: (index: number) => AutomationShape,
  ): Promise<{ uid: string; name: string }[]> {
    const rows = Array.from({ length: count }, (_, index) => {
      const { onWebhooks = [], triggers = [], ...shape } = shapeOf(index);
      const own = onWebhooks.map(({ uid, payload }) => ({
        subject: uid,
        trigger: {
          provider: 'webhook',
          event: 'received',
          filter: { webhook_ids: [uid], ...(payload && { payload }) },
        },
      }));
      return { name: `automation ${index}`, ...shape, uid: newUid(), all: [...own, ...triggers] };
    });
    await this.database.query(
      `INSERT INTO headrace.automations (uid, factory_uid, team_uid, name, enabled, prompt, agent_config, agent_identity_uid, source, author_type, author_uid)
       SELECT a.uid, a.factory_uid, a.team_uid, a.name, a.enabled, a.prompt, a.agent_config, a.agent_identity_uid, 'api', a.author_type, a.author_uid
         FROM jsonb_to_recordset($1::jsonb) AS a (uid text, factory_uid text, team_uid text, name text, enabled boolean,
              prompt text, agent_config jsonb, agent_identity_uid text, author_type text, author_uid text)`,
      [
        JSON.stringify(
          rows.map((row) => ({
            uid: row.uid,
            factory_uid: row.factoryUid,
            team_uid: row.teamUid,
            name: row.name,
            enabled: row.enabled ?? true,
            prompt: row.prompt ?? 'Look at the payload.',
            agent_config: row.agentConfig ?? null,
            agent_identity_uid: row.agentIdentityUid ?? null,
            author_type: row.authorType ?? 'user',
            author_uid: row.authorUid ?? newUid(),
          })),
        ),
      ],
    );
    await this.database.query(
      `INSERT INTO headrace.automation_triggers (automation_id, position, factory_uid, provider, event, subject, trigger)
       SELECT a.id, t.position, a.factory_uid, t.provider, t.event, t.subject, t.trigger
         FROM jsonb_to_recordset($1::jsonb) AS t (uid text, position int, provider text, event text, subject text, trigger jsonb)
         JOIN headrace.automations a ON a.uid = t.uid`,
      [
        JSON.stringify(
          rows.flatMap(({ uid, all }) =>
            all.map(({ subject, trigger }, position) => ({
              ...{ uid, position, subject, trigger },
              provider: trigger.provider,
              event: trigger.event,
            })),
          ),
        ),
      ],
    );
    await this.database.query(
      `INSERT INTO headrace.automation_counts (factory_uid, used)
       SELECT factory_uid, count(*) FROM headrace.automations WHERE factory_uid = $1 GROUP BY 1
       ON CONFLICT (factory_uid) DO UPDATE SET used = excluded.used`,
      [rows[0]?.factoryUid],
    );
    return rows.map(({ uid, name }) => ({ uid, name }));
  }
}
