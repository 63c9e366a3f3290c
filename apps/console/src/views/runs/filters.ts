import { api, content, type paths } from '../../api/client';
import { toIso } from '../../format';
import { may } from '../../session';

export type RunQuery = NonNullable<paths['/agent/runs']['get']['parameters']['query']>;

export interface Choice {
  readonly value: string;
  readonly label: string;
}

export interface RunFilter {
  /** The parameter of the URL. */
  readonly name: string;
  readonly label: string;
  /** Values from which a user selects one; absent: a text. */
  readonly choices?: () => Promise<readonly Choice[]>;
  readonly isTime?: boolean;
  readonly placeholder?: string;
  readonly pattern?: string;
  /** Runs with any of several values match; otherwise a later value replaces the one before. */
  readonly isMultiple?: boolean;
  readonly toQuery: (values: readonly string[]) => RunQuery;
}

/** `SCHEDULED_AGENT` as `Scheduled agent`; short names such as `API` stay. */
const fixed = (values: readonly string[]) => (): Promise<readonly Choice[]> =>
  Promise.resolve(
    values.map((value) => ({
      value,
      label: value.length <= 3 ? value : value.charAt(0) + value.slice(1).toLowerCase().replaceAll('_', ' '),
    })),
  );
const SOURCES = [
  ...['API', 'CLI', 'LOCAL', 'WEB_APP', 'SCHEDULED_AGENT', 'CUSTOM_WEBHOOK', 'ORCHESTRATION', 'GITHUB_ACTION'],
  ...['GITHUB_WEBHOOK', 'GITLAB_WEBHOOK', 'AZURE_DEVOPS_WEBHOOK', 'LINEAR', 'SLACK', 'JIRA', 'TEAMS', 'MCP'],
];
const ARTIFACTS = ['PLAN', 'PULL_REQUEST', 'SCREENSHOT', 'FILE', 'DIFF', 'EXTERNAL_REFERENCE'];

const first = (values: readonly string[]): string => values[0] ?? '';

async function creators(): Promise<Choice[]> {
  const { members } = await content(api.GET('/members', { params: { query: { limit: 500 } } }));
  const accounts = may('service_accounts:manage')
    ? (await content(api.GET('/service-accounts', { params: { query: { limit: 500 } } }))).service_accounts
    : [];
  return [
    ...members.map(({ uid, display_name: label }) => ({ value: uid, label })),
    ...accounts.map(({ uid, name }) => ({ value: uid, label: name })),
  ];
}

async function automations(): Promise<Choice[]> {
  const { factories } = await content(api.GET('/factory', { params: { query: { limit: 100 } } }));
  const lists = await Promise.all(
    factories.map(({ uid: factoryUid }) =>
      content(
        api.GET('/factories/{factoryUid}/automations', { params: { path: { factoryUid }, query: { limit: 100 } } }),
      ),
    ),
  );
  return lists.flatMap((list) => list.automations.map(({ uid, name }) => ({ value: uid, label: name })));
}

/** Search and states have their own controls. */
export const FILTERS: readonly RunFilter[] = [
  {
    name: 'source',
    label: 'Source',
    choices: fixed(SOURCES),
    isMultiple: true,
    toQuery: (values) => ({ source: values as NonNullable<RunQuery['source']> }),
  },
  { name: 'creator', label: 'Creator', choices: creators, toQuery: (values) => ({ creator: first(values) }) },
  {
    name: 'executor',
    label: 'Agent identity',
    choices: async () =>
      (await content(api.GET('/agent/identities'))).agents.map(({ uid, name }) => ({ value: uid, label: name })),
    toQuery: (values) => ({ executor: first(values) }),
  },
  {
    name: 'skill',
    label: 'Skill',
    choices: async () =>
      (await content(api.GET('/agent', { params: {} }))).agents.flatMap(({ name, variants }) =>
        variants.map(({ id }) => ({ value: id, label: variants.length === 1 ? name : `${name} (${id})` })),
      ),
    toQuery: (values) => ({ skill: first(values) }),
  },
  {
    name: 'model',
    label: 'Model',
    placeholder: 'ID of the model',
    toQuery: (values) => ({ model_id: first(values) }),
  },
  {
    name: 'environment',
    label: 'Environment',
    choices: async () => [
      { value: 'empty-environment', label: 'None' },
      ...(await content(api.GET('/agent/environments'))).environments.map(({ uid, config: { name = uid } }) => ({
        value: uid,
        label: name,
      })),
    ],
    toQuery: (values) => ({ environment_id: first(values) }),
  },
  {
    name: 'schedule',
    label: 'Schedule',
    choices: async () =>
      (await content(api.GET('/agent/schedules'))).schedules.map(({ id, name }) => ({ value: id, label: name })),
    toQuery: (values) => ({ schedule_id: first(values) }),
  },
  {
    name: 'automation',
    label: 'Automation',
    choices: automations,
    toQuery: (values) => ({ automation_id: first(values) }),
  },
  {
    name: 'where',
    label: 'Executed',
    choices: () =>
      Promise.resolve([
        { value: 'REMOTE', label: 'by a worker' },
        { value: 'LOCAL', label: 'where its creator is' },
      ]),
    toQuery: (values) => ({ execution_location: first(values) as NonNullable<RunQuery['execution_location']> }),
  },
  {
    name: 'host',
    label: 'Worker host',
    placeholder: 'Name of the host',
    toQuery: (values) => ({ worker_host: first(values) }),
  },
  {
    name: 'label',
    label: 'Label',
    placeholder: 'key=value',
    pattern: '[^=]+=.*',
    isMultiple: true,
    toQuery: (values) => ({
      metadata: Object.fromEntries(values.map((text) => [text.split('=')[0] ?? '', text.slice(text.indexOf('=') + 1)])),
    }),
  },
  {
    name: 'after',
    label: 'Created after',
    isTime: true,
    toQuery: (values) => ({ created_after: toIso(first(values)) }),
  },
  {
    name: 'before',
    label: 'Created before',
    isTime: true,
    toQuery: (values) => ({ created_before: toIso(first(values)) }),
  },
  {
    name: 'artifact',
    label: 'Artifact',
    choices: fixed(ARTIFACTS),
    toQuery: (values) => ({ artifact_type: first(values) as NonNullable<RunQuery['artifact_type']> }),
  },
];

export const filterNames: readonly string[] = ['q', 'state', ...FILTERS.map(({ name }) => name)];

/** What the URL says, as parameters of the list of the API. */
export function queryOf(parameters: URLSearchParams): RunQuery {
  const q = parameters.get('q') ?? '';
  const states = parameters.getAll('state');
  return Object.assign(
    {
      ...(q !== '' && { q }),
      ...(states.length > 0 && { state: states as NonNullable<RunQuery['state']> }),
    },
    ...FILTERS.flatMap(({ name, toQuery }) => {
      const values = parameters.getAll(name);
      return values.length === 0 ? [] : [toQuery(values)];
    }),
  ) as RunQuery;
}
