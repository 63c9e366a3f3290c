import { command, type CommandModule, requiredText } from '../cli/command.js';
import { readConfigFile } from '../cli/input.js';
import { printable, printResult, printTable, timeCell } from '../cli/output.js';
import { FACTORY_OPTION, REMOTE_OPTIONS } from '../cli/shared-options.js';
import type { ApiClient } from '../remote/api-client.js';
import { connect } from '../remote/connect.js';
import { findFactory } from '../remote/find-factory.js';

const OPTIONS = { ...FACTORY_OPTION, ...REMOTE_OPTIONS };
const FILE_OPTIONS = { file: requiredText('path', 'JSON or YAML file; - reads standard input.'), ...OPTIONS };
const MAX_PAGE = '500';

interface RemoteAutomation {
  readonly uid: string;
  readonly name: string;
  readonly enabled: boolean;
  readonly triggers: readonly { readonly provider: string; readonly event: string }[];
  readonly updated_at: string;
}

interface RemotePage {
  readonly automations: readonly RemoteAutomation[];
  readonly page_info: { readonly next_cursor?: string };
}

/** The automation's UID goes to standard output. */
export const create = command({
  options: FILE_OPTIONS,
  run: async (values) => {
    const body = readConfigFile(values.file);
    const api = await connect(values);
    const created = await api.request<RemoteAutomation>('POST', await automationsPath(api, values.factory), body);
    printResult(values, created, created.uid);
    return 0;
  },
});

export const list = command({
  options: OPTIONS,
  run: async (values) => {
    const api = await connect(values);
    const path = await automationsPath(api, values.factory);
    const automations: RemoteAutomation[] = [];
    let cursor: string | undefined;
    do {
      const query = new URLSearchParams({ limit: MAX_PAGE, ...(cursor !== undefined && { cursor }) });
      const page = await api.request<RemotePage>('GET', `${path}?${query.toString()}`);
      automations.push(...page.automations);
      cursor = page.page_info.next_cursor;
    } while (cursor !== undefined);
    printTable(values, automations, ['AUTOMATION', 'NAME', 'STATE', 'TRIGGERS', 'UPDATED'], (automation) => [
      ...[automation.uid, automation.name, stateOf(automation)],
      automation.triggers.map(({ provider, event }) => `${provider}.${event}`).join(', '),
      timeCell(automation.updated_at),
    ]);
    return 0;
  },
});

export const get = command({
  argument: 'uid',
  options: OPTIONS,
  run: async (values, uid) => {
    const api = await connect(values);
    const path = await automationsPath(api, values.factory, uid);
    printResult({ json: true }, await api.request<RemoteAutomation>('GET', path), '');
    return 0;
  },
});

export const remove = command({
  argument: 'uid',
  options: OPTIONS,
  run: async (values, uid) => {
    const api = await connect(values);
    await api.delete(await automationsPath(api, values.factory, uid));
    printResult(values, { uid, deleted: true }, `Automation ${printable(uid)} is deleted.`);
    return 0;
  },
});

/** Writes the automation back with another `enabled`; the API keeps the values that it masks. */
const setEnabled = (enabled: boolean): CommandModule =>
  command({
    argument: 'uid',
    options: OPTIONS,
    run: async (values, uid) => {
      const api = await connect(values);
      const path = await automationsPath(api, values.factory, uid);
      const automation = await api.request<RemoteAutomation>('GET', path);
      const changed = await api.request<RemoteAutomation>('PUT', path, { ...automation, enabled });
      printResult(values, changed, `Automation ${printable(changed.name)} is ${stateOf(changed)}.`);
      return 0;
    },
  });

export const enable = setEnabled(true);
export const disable = setEnabled(false);

async function automationsPath(api: ApiClient, factory: string | undefined, uid?: string): Promise<string> {
  const { uid: factoryUid } = await findFactory(api, factory);
  return `/factories/${factoryUid}/automations${uid === undefined ? '' : `/${encodeURIComponent(uid)}`}`;
}

const stateOf = ({ enabled }: RemoteAutomation): string => (enabled ? 'enabled' : 'disabled');
