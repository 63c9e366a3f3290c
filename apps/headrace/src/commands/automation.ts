import type { CommandModule } from '../cli/command.js';
import { readConfigFile } from '../cli/input.js';
import { printable, printJson, printResult, printTable, timeCell } from '../cli/output.js';
import { FACTORY_OPTION, FILE_OPTION } from '../cli/shared-options.js';
import type { ApiClient, Page } from '../remote/api-client.js';
import { apiCommand } from '../remote/connect.js';
import { findFactory } from '../remote/find-factory.js';

const MAX_PAGE = '500';

interface RemoteAutomation {
  readonly uid: string;
  readonly name: string;
  readonly enabled: boolean;
  readonly triggers: readonly { readonly provider: string; readonly event: string }[];
  readonly updated_at: string;
}

export const create = apiCommand({
  options: { ...FILE_OPTION, ...FACTORY_OPTION },
  run: async (api, values) => {
    const body = readConfigFile(values.file);
    const created = await api.post<RemoteAutomation>(await automationsPath(api, values.factory), body);
    printResult(values, created, created.uid);
  },
});

export const list = apiCommand({
  options: FACTORY_OPTION,
  run: async (api, values) => {
    const path = await automationsPath(api, values.factory);
    const automations: RemoteAutomation[] = [];
    const pages = api.pages<Page & { automations: RemoteAutomation[] }>(path, { limit: MAX_PAGE });
    for await (const page of pages) automations.push(...page.automations);
    printTable(values, automations, ['AUTOMATION', 'NAME', 'STATE', 'TRIGGERS', 'UPDATED'], (automation) => [
      ...[automation.uid, automation.name, stateOf(automation)],
      automation.triggers.map(({ provider, event }) => `${provider}.${event}`).join(', '),
      timeCell(automation.updated_at),
    ]);
  },
});

export const get = apiCommand({
  argument: 'uid',
  options: FACTORY_OPTION,
  run: async (api, { factory }, uid) => printJson(await api.get(await automationsPath(api, factory, uid))),
});

export const remove = apiCommand({
  argument: 'uid',
  options: FACTORY_OPTION,
  run: async (api, values, uid) => {
    await api.delete(await automationsPath(api, values.factory, uid));
    printResult(values, { uid, deleted: true }, `Automation ${printable(uid)} is deleted.`);
  },
});

/** Writes the automation back with another `enabled`; the API keeps the values that it masks. */
const setEnabled = (enabled: boolean): CommandModule =>
  apiCommand({
    argument: 'uid',
    options: FACTORY_OPTION,
    run: async (api, values, uid) => {
      const path = await automationsPath(api, values.factory, uid);
      const automation = await api.get<RemoteAutomation>(path);
      const changed = await api.request<RemoteAutomation>('PUT', path, { ...automation, enabled });
      printResult(values, changed, `Automation ${printable(changed.name)} is ${stateOf(changed)}.`);
    },
  });

export const enable = setEnabled(true);
export const disable = setEnabled(false);

async function automationsPath(api: ApiClient, factory: string | undefined, uid?: string): Promise<string> {
  const { uid: factoryUid } = await findFactory(api, factory);
  return `/factories/${factoryUid}/automations${uid === undefined ? '' : `/${encodeURIComponent(uid)}`}`;
}

const stateOf = ({ enabled }: RemoteAutomation): string => (enabled ? 'enabled' : 'disabled');
