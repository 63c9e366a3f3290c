import { filledText, text, UsageError } from '../cli/command.js';
import { printResult, printTable, timeCell } from '../cli/output.js';
import { TEAM_CHOICE, TEAM_FILTER } from '../cli/shared-options.js';
import { allOf, pathTo } from '../remote/administration.js';
import { apiCommand } from '../remote/connect.js';
import { findFactory } from '../remote/find-factory.js';

/** As in a definition's factory.yaml. */
const LIMITS = { name: 200, description: 2000, alias: 64 } as const;

interface ListedFactory {
  readonly uid: string;
  readonly name: string;
  readonly alias?: string;
  readonly scope: { readonly uid: string };
  readonly created_at: string;
}

interface FactoryTexts {
  readonly name?: string | undefined;
  readonly alias?: string | undefined;
  readonly description?: string | undefined;
}

export const create = apiCommand({
  argument: 'name',
  options: {
    ...TEAM_CHOICE,
    alias: filledText('text', 'Alias, unique in the team.'),
    description: text('text', 'Description.'),
  },
  check: (values, name) => {
    checkLength('<name>', LIMITS.name, name);
    checkTexts(values);
  },
  run: async (api, { team, alias, description, ...values }, name) => {
    const factory = await api.post<ListedFactory>('/factory', { name, alias, description }, team);
    printResult(values, factory, factory.uid);
  },
});

export const list = apiCommand({
  options: TEAM_FILTER,
  run: async (api, { team, ...values }) => {
    const factories = await allOf<ListedFactory>(api, '/factory', 'factories', {}, team);
    printTable(
      values,
      factories,
      ['UID', 'NAME', 'ALIAS', 'TEAM', 'CREATED'],
      ({ uid, name, alias, scope, ...rest }) => [...[uid, name, alias ?? null, scope.uid, timeCell(rest.created_at)]],
    );
  },
});

/** Only the given values; `none` removes the alias. */
export const update = apiCommand({
  argument: 'uid|alias',
  options: {
    name: filledText('text', 'Name.'),
    alias: filledText('text|none', 'Alias, unique in the team.'),
    description: text('text', 'Description.'),
  },
  check: (values) => {
    const { name, alias, description } = values;
    if (name === undefined && alias === undefined && description === undefined)
      throw new UsageError('nothing to update');
    checkTexts(values);
  },
  run: async (api, { name, alias, description, ...values }, wanted) => {
    const { uid } = await findFactory(api, wanted);
    const body = { name, description, alias: alias === 'none' ? null : alias };
    const factory = await api.request<ListedFactory>('PUT', pathTo('factory', uid), body);
    printResult(values, factory, `Factory ${uid} is updated.`);
  },
});

export const remove = apiCommand({
  argument: 'uid|alias',
  run: async (api, values, wanted) => {
    const { uid } = await findFactory(api, wanted);
    await api.delete(pathTo('factory', uid));
    printResult(values, { uid, deleted: true }, `Factory ${uid} is deleted.`);
  },
});

function checkTexts({ name = '', alias = '', description = '' }: FactoryTexts): void {
  checkLength('--name', LIMITS.name, name);
  checkLength('--description', LIMITS.description, description);
  checkLength('--alias', LIMITS.alias, alias);
}

function checkLength(option: string, limit: number, value: string): void {
  if (value.length > limit) throw new UsageError(`${option} must not exceed ${limit} characters`);
}
