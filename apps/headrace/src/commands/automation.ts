import { parseArgs } from 'node:util';
import { onlyPositional, required } from '../cli/arguments.js';
import type { CommandModule } from '../cli/command.js';
import { printResult, printTable, timeCell } from '../cli/output.js';
import { printable } from '../cli/printable.js';
import { readConfigFile } from '../cli/read-config-file.js';
import type { ApiClient } from '../remote/api-client.js';
import { connect, REMOTE_OPTIONS } from '../remote/connect.js';
import { findFactory } from '../remote/find-factory.js';

const TEXT = { type: 'string' } as const;
const OPTIONS = { ...REMOTE_OPTIONS, factory: TEXT } as const;
const FILE_OPTIONS = { ...OPTIONS, file: TEXT } as const;
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
export const create: CommandModule = {
  run: async (args) => {
    const { values } = parseArgs({ args: [...args], options: FILE_OPTIONS });
    const body = readConfigFile(required('file', values.file));
    const api = await connect(values);
    const created = await api.request<RemoteAutomation>('POST', await automationsPath(api, values.factory), body);
    printResult(values, created, created.uid);
    return 0;
  },
};

export const list: CommandModule = {
  run: async (args) => {
    const { values } = parseArgs({ args: [...args], options: OPTIONS });
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
};

export const get: CommandModule = {
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
    const uid = onlyPositional('uid', positionals);
    const api = await connect(values);
    const path = await automationsPath(api, values.factory, uid);
    printResult({ json: true }, await api.request<RemoteAutomation>('GET', path), '');
    return 0;
  },
};

export const remove: CommandModule = {
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
    const uid = onlyPositional('uid', positionals);
    const api = await connect(values);
    await api.delete(await automationsPath(api, values.factory, uid));
    printResult(values, { uid, deleted: true }, `Automation ${printable(uid)} is deleted.`);
    return 0;
  },
};

/** Replaces the automation by itself with another `enabled`: masked values in it are kept by the API. */
const setEnabled = (enabled: boolean): CommandModule => ({
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
    const uid = onlyPositional('uid', positionals);
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
