import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { onlyPositional } from '../cli/arguments.js';
import { CommandError, type CommandModule, UsageError } from '../cli/command.js';
import { printResult, printTable, timeCell } from '../cli/output.js';
import { printable } from '../cli/printable.js';
import { type ApiClient, RefusedByApi } from '../remote/api-client.js';
import { connect, REMOTE_OPTIONS } from '../remote/connect.js';
import { followRun } from '../remote/follow-run.js';
import {
  OWNER_OPTIONS,
  readMetadata,
  readOwner,
  readRunConfig,
  readText,
  RUN_CONFIG_OPTIONS,
} from '../remote/run-options.js';
import type { RemoteRun, RemoteRunPage } from '../remote/runs.js';
import { renderRun, runPath } from '../remote/runs.js';

const TEXT = { type: 'string' } as const;
const LIST = { type: 'string', multiple: true, default: [] as string[] } as const;
const SWITCH = { type: 'boolean' } as const;
const MAX_PAGE = 500;

const CREATE_OPTIONS = {
  ...REMOTE_OPTIONS,
  ...OWNER_OPTIONS,
  ...RUN_CONFIG_OPTIONS,
  ...{ 'worker-host': TEXT, prompt: TEXT, title: TEXT, skill: TEXT, agent: TEXT, conversation: TEXT, parent: TEXT },
  ...{ attach: LIST, metadata: LIST, follow: SWITCH },
} as const;

/** The run's id goes to standard output, unless `--follow` writes the run itself there. */
export const create: CommandModule = {
  run: async (args) => {
    const { values } = parseArgs({ args: [...args], options: CREATE_OPTIONS });
    const config = readRunConfig(values);
    const body = {
      prompt: readText('prompt', values.prompt, values['token-file']),
      ...(config !== undefined && { config }),
      ...(values.title !== undefined && { title: values.title }),
      ...(values.skill !== undefined && { skill: values.skill }),
      ...(values.agent !== undefined && { agent_identity_uid: values.agent }),
      ...(values.conversation !== undefined && { conversation_id: values.conversation }),
      ...(values.parent !== undefined && { parent_run_id: values.parent }),
      ...(values.metadata.length > 0 && { metadata: readMetadata(values.metadata) }),
      ...(values.attach.length > 0 && { attachments: values.attach.map(readAttachment) }),
      ...readOwner(values),
    };
    const api = await connect(values);
    const created = await api.request<{ run_id: string; state: string }>('POST', '/agent/runs', body, values.team);
    const { run_id: runId } = created;
    process.stderr.write(`Run ${runId}: ${new URL(api.baseUrl).origin}/runs/${runId}\n`);
    if (values.follow === true) return followRun(api, runId, values);
    printResult(values, created, runId);
    return 0;
  },
};

const LIST_OPTIONS = {
  ...REMOTE_OPTIONS,
  ...{ team: TEXT, state: LIST, query: TEXT, schedule: TEXT, automation: TEXT, factory: TEXT, name: TEXT },
  ...{ sort: TEXT, limit: TEXT, cursor: TEXT },
} as const;

export const list: CommandModule = {
  run: async (args) => {
    const { values } = parseArgs({ args: [...args], options: LIST_OPTIONS });
    const query = new URLSearchParams({ limit: String(parseLimit(values.limit ?? '20')) });
    for (const state of values.state) query.append('state', state.toUpperCase());
    const filters = {
      ...{ q: values.query, name: values.name, schedule_id: values.schedule, automation_id: values.automation },
      ...{ factory_uid: values.factory, cursor: values.cursor, sort_by: values.sort },
    };
    for (const [name, value] of Object.entries(filters)) if (value !== undefined) query.set(name, value);
    const api = await connect(values);
    const path = `/agent/runs?${query.toString()}`;
    const page = await api.request<RemoteRunPage>('GET', path, undefined, values.team);
    if (values.json === true) printResult(values, page, '');
    else
      printTable(values, page.runs, ['RUN', 'STATE', 'TITLE', 'AGENT', 'CREATED', 'UPDATED'], (run) => [
        ...[run.run_id, run.state, run.title, run.agent_config?.harness?.type ?? null],
        ...[timeCell(run.created_at), timeCell(run.updated_at)],
      ]);
    const next = page.page_info.next_cursor;
    if (next !== undefined) process.stderr.write(`There are more: add --cursor ${next}\n`);
    return 0;
  },
};

export const get: CommandModule = {
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: REMOTE_OPTIONS, allowPositionals: true });
    const runId = onlyPositional('run-id', positionals);
    const api = await connect(values);
    const run = await api.request<RemoteRun>('GET', runPath(runId));
    printResult(values, run, renderRun(run));
    return 0;
  },
};

/** Exit code 0 when the run ends SUCCEEDED, 1 otherwise. */
export const follow: CommandModule = {
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: REMOTE_OPTIONS, allowPositionals: true });
    return followRun(await connect(values), onlyPositional('run-id', positionals), values);
  },
};

const FOLLOW_UP_OPTIONS = { ...REMOTE_OPTIONS, message: TEXT, follow: SWITCH } as const;

export const followUp: CommandModule = {
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: FOLLOW_UP_OPTIONS, allowPositionals: true });
    const runId = onlyPositional('run-id', positionals);
    const message = readText('message', values.message, values['token-file']);
    const api = await connect(values);
    const path = runPath(runId, '/followups');
    const accepted = await api.request<{ followup_id: string | null; outcome: string }>('POST', path, { message });
    const { followup_id: followupId } = accepted;
    if (values.follow === true) return followRun(api, runId, { ...values, ...(followupId !== null && { followupId }) });
    printResult(values, accepted, accepted.outcome);
    return 0;
  },
};

const CANCEL_ATTEMPTS = 8;
const CANCEL_RETRY_MS = 500;

export const cancel: CommandModule = {
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: REMOTE_OPTIONS, allowPositionals: true });
    const runId = onlyPositional('run-id', positionals);
    const cancelled = await cancelRun(await connect(values), runId);
    printResult(values, { run_id: cancelled }, `Run ${printable(cancelled)} is cancelled.`);
    return 0;
  },
};

/** A run that is just being offered to a worker answers 409 for a moment. */
async function cancelRun(api: ApiClient, runId: string): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await api.request<string>('POST', runPath(runId, '/cancel'));
    } catch (error) {
      const isConflict = error instanceof RefusedByApi && error.body.error_code === 'conflict';
      if (!isConflict || attempt === CANCEL_ATTEMPTS) throw error;
      await wait(CANCEL_RETRY_MS);
    }
  }
}

function readAttachment(path: string): Readonly<Record<string, string>> {
  try {
    const data = readFileSync(path).toString('base64');
    return { file_name: basename(path), mime_type: 'application/octet-stream', data };
  } catch (error) {
    throw new CommandError(`--attach ${path}: cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'}).`);
  }
}

function parseLimit(value: string): number {
  if (!/^[1-9]\d{0,2}$/.test(value) || Number(value) > MAX_PAGE)
    throw new UsageError(`--limit must be an integer between 1 and ${MAX_PAGE}`);
  return Number(value);
}
