import { FactoriesService } from '#domain/factories';
import { startTestApi, type TestApi, type TestResponse } from '#testing';
import { type AgentsRoom, openRoom } from '../agents/agents-room.js';

/** Contents by path. */
export type Files = Readonly<Record<string, string>>;

export interface PlannedChange {
  readonly action: string;
  readonly kind: string;
  readonly name: string;
  readonly path?: string;
  readonly uid?: string;
  readonly changes: readonly string[];
  readonly drifted: boolean;
}

export interface DefinitionsRoom extends AgentsRoom {
  readonly api: TestApi;
  newFactory(team?: string): Promise<string>;
  putSecret(name: string, value: string): Promise<void>;
  /** As the team's admin, with 200. */
  apply(factory: string, files: Files): Promise<TestResponse['body']>;
  dryRun(factory: string, files: Files): Promise<TestResponse['body']>;
  /** What an apply of these is refused with. */
  refused(factory: string, files: Files): Promise<TestResponse['body']>;
  exported(factory: string): Promise<Files>;
  /** Every row of every table that an apply may write, with all its columns. */
  snapshot(): Promise<string>;
}

const WRITTEN = [
  ...['factories', 'webhooks', 'webhook_counts', 'webhook_rates', 'automations', 'automation_triggers'],
  ...['automation_counts', 'agent_identities', 'service_accounts', 'managed_secrets', 'managed_secret_counts'],
  ...['factory_definitions', 'factory_files', 'factory_agents', 'factory_resources'],
];

export async function openDefinitionsRoom(): Promise<DefinitionsRoom> {
  const api = await startTestApi({ settings: { ingressPublicUrl: 'https://in.example.com' } });
  const people = await openRoom(api);
  const { token } = people.admin;
  const put = (status: number, query: string) => async (factory: string, files: Files) => {
    const body = { files: filesOf(files) };
    return (await api.request(status, `PUT ${definitionOf(factory)}${query}`, { token, body })).body;
  };
  return {
    ...people,
    api,
    newFactory: async (teamUid = people.team) => {
      const result = await api.app.get(FactoriesService, { strict: false }).create({ teamUid, name: 'Factory' });
      if (result.kind !== 'created') throw new Error(`No factory was made: ${result.kind}.`);
      return result.factory.uid;
    },
    putSecret: async (name, value) => {
      await api.request(200, `PUT /secrets/${name}`, { token, body: { value } });
    },
    apply: put(200, ''),
    dryRun: put(200, '?dry_run=true'),
    refused: put(400, ''),
    exported: async (factory) => {
      const { body } = await api.request(200, `GET ${definitionOf(factory)}`, { token });
      return Object.fromEntries(
        (body.files as { path: string; content: string }[]).map(({ path, content }) => [path, content]),
      );
    },
    snapshot: async () => {
      const rows = await api.database.query<{ row: string }>(
        WRITTEN.map((table) => `SELECT '${table} ' || row_to_json(t)::text AS row FROM ${table} t`).join(
          ' UNION ALL ',
        ) + ' ORDER BY row',
      );
      return rows.map(({ row }) => row).join('\n');
    },
  };
}

export const definitionOf = (factory: string): string => `/factories/${factory}/definition`;

export const filesOf = (files: Files): { path: string; content: string }[] =>
  Object.entries(files).map(([path, content]) => ({ path, content }));

export const FACTORY = 'schemaVersion: v1alpha1\nname: Builds\n';

export const automation = (webhookUid: string, lines = '', prompt = 'Find out why.'): string =>
  `---\n${lines}triggers:\n  - provider: webhook\n    event: received\n    filter:\n      webhook_ids: [${webhookUid}]\n---\n\n${prompt}\n`;

/** `create webhook ci`, … */
export const actionsOf = ({ plan }: { readonly plan: readonly PlannedChange[] }): string[] =>
  plan.map(({ action, kind, name }) => `${action} ${kind} ${name}`);

export function entryOf(
  { plan }: { readonly plan: readonly PlannedChange[] },
  kind: string,
  name: string,
): PlannedChange {
  const entry = plan.find((one) => one.kind === kind && one.name === name);
  if (!entry) throw new Error(`The plan says nothing of ${kind} ${name}.`);
  return entry;
}
