import type { ApiFixture } from '../../support/api-fixture.js';

export interface PlannedChange {
  readonly action: string;
  readonly kind: string;
  readonly name: string;
  readonly path?: string;
  readonly uid?: string;
  readonly changes: readonly string[];
  readonly drifted: boolean;
}

/** The tables that an apply may write. */
const TABLES = [
  ...['factories', 'webhooks', 'webhook_counts', 'webhook_rates', 'automations', 'automation_triggers'],
  ...['automation_counts', 'agent_identities', 'service_accounts', 'managed_secrets', 'managed_secret_counts'],
  ...['factory_definitions', 'factory_files', 'factory_agents', 'factory_resources'],
];

/** Every row of every table that an apply may write, with all its columns. */
export async function definitionRows({ database }: ApiFixture): Promise<string> {
  const rows = await database.query<{ row: string }>(
    TABLES.map((table) => `SELECT '${table} ' || row_to_json(t)::text AS row FROM ${table} t`).join(' UNION ALL ') +
      ' ORDER BY row',
  );
  return rows.map(({ row }) => row).join('\n');
}

export const FACTORY = 'schemaVersion: v1alpha1\nname: Builds\n';

/** The file of an automation with one webhook trigger. */
export const automation = (webhookUid: string, lines = '', prompt = 'Find the cause.'): string =>
  `---\n${lines}triggers:\n  - provider: webhook\n    event: received\n    filter:\n      webhook_ids: [${webhookUid}]\n---\n\n${prompt}\n`;

/** The entries of a plan as `create webhook ci`. */
export const actionsOf = ({ plan }: { readonly plan: readonly PlannedChange[] }): string[] =>
  plan.map(({ action, kind, name }) => `${action} ${kind} ${name}`);

export function entryOf(
  { plan }: { readonly plan: readonly PlannedChange[] },
  kind: string,
  name: string,
): PlannedChange {
  const entry = plan.find((one) => one.kind === kind && one.name === name);
  if (!entry) throw new Error(`The plan does not contain ${kind} ${name}.`);
  return entry;
}
