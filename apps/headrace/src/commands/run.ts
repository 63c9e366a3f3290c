import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { flag, integer, list as repeated, requiredText, text } from '../cli/command.js';
import { readable } from '../cli/input.js';
import { printable, printJson, printResult, printTable, timeCell } from '../cli/output.js';
import { OWNER_OPTIONS, PLACED_RUN_OPTIONS, TEAM_FILTER } from '../cli/shared-options.js';
import { retryConflicts } from '../remote/api-client.js';
import { apiCommand } from '../remote/connect.js';
import { followRun } from '../remote/follow-run.js';
import { readMetadata, readRunConfig, readRunRequest, readText } from '../remote/run-options.js';
import { type RemoteRun, type RemoteRunPage, renderRun, runPath } from '../remote/runs.js';

const MAX_PAGE = 500;
const FOLLOW = { follow: flag('Show the run until it ends.') };

const CREATE_OPTIONS = {
  prompt: requiredText('text', 'Prompt; - reads standard input.'),
  title: text('text', 'Title. Default: derived from the prompt.'),
  skill: text('spec', 'Skill to execute.'),
  agent: text('uid', 'Agent identity to run as.'),
  ...PLACED_RUN_OPTIONS,
  conversation: text('id', 'Conversation to continue.'),
  parent: text('run-id', 'Parent run.'),
  attach: repeated('path', 'File to attach.'),
  metadata: repeated('key=value', 'Label of the run.'),
  ...FOLLOW,
  ...OWNER_OPTIONS,
};

/** The run's id goes to standard output, unless `--follow` writes the run itself there. */
export const create = apiCommand({
  options: CREATE_OPTIONS,
  run: async (api, values) => {
    const body = {
      ...readRunRequest(values),
      parent_run_id: values.parent,
      ...(values.metadata.length > 0 && { metadata: readMetadata(values.metadata) }),
      ...(values.attach.length > 0 && { attachments: values.attach.map(readAttachment) }),
    };
    const created = await api.post<{ run_id: string; state: string }>('/agent/runs', body, values.team);
    const { run_id: runId } = created;
    const { baseUrl } = await api.getConnection();
    process.stderr.write(`Run ${runId}: ${new URL(baseUrl).origin}/runs/${runId}\n`);
    if (values.follow) return followRun(api, runId, values);
    printResult(values, created, runId);
    return 0;
  },
});

const LIST_OPTIONS = {
  state: repeated('state', 'Only runs in this state.'),
  query: text('text', 'Only runs that contain these words.'),
  name: text('text', 'Only runs with this config name.'),
  schedule: text('id', 'Only runs of this schedule.'),
  automation: text('uid', 'Only runs of this automation.'),
  factory: text('uid', 'Only runs of this factory.'),
  ...TEAM_FILTER,
  sort: text('field', 'Field to sort by.'),
  limit: integer(1, MAX_PAGE, 'Number of runs. Default: 20.'),
  cursor: text('cursor', 'Cursor of the page.'),
};

export const list = apiCommand({
  options: LIST_OPTIONS,
  run: async (api, values) => {
    const query = new URLSearchParams({ limit: String(values.limit ?? 20) });
    for (const state of values.state) query.append('state', state.toUpperCase());
    const filters = {
      ...{ q: values.query, name: values.name, schedule_id: values.schedule, automation_id: values.automation },
      ...{ factory_uid: values.factory, cursor: values.cursor, sort_by: values.sort },
    };
    for (const [name, value] of Object.entries(filters)) if (value !== undefined) query.set(name, value);
    const page = await api.get<RemoteRunPage>(`/agent/runs?${query.toString()}`, values.team);
    if (values.json) printJson(page);
    else
      printTable(values, page.runs, ['RUN', 'STATE', 'TITLE', 'AGENT', 'CREATED', 'UPDATED'], (run) => [
        ...[run.run_id, run.state, run.title, run.agent_config?.harness?.type ?? null],
        ...[timeCell(run.created_at), timeCell(run.updated_at)],
      ]);
    const next = page.page_info.next_cursor;
    if (next !== undefined) process.stderr.write(`There are more runs: add --cursor ${next}\n`);
  },
});

export const get = apiCommand({
  argument: 'run-id',
  run: async (api, values, runId) => {
    const run = await api.get<RemoteRun>(runPath(runId));
    printResult(values, run, renderRun(run));
  },
});

/** Exit code 0 when the run ends SUCCEEDED, 1 otherwise. */
export const follow = apiCommand({
  argument: 'run-id',
  run: async (api, values, runId) => followRun(api, runId, values),
});

const FOLLOW_UP_OPTIONS = {
  message: requiredText('text', 'Message; - reads standard input.'),
  ...FOLLOW,
};

export const followUp = apiCommand({
  argument: 'run-id',
  options: FOLLOW_UP_OPTIONS,
  run: async (api, values, runId) => {
    const message = readText('message', values.message, values['token-file']);
    const path = runPath(runId, '/followups');
    const accepted = await api.post<{ followup_id: string | null; outcome: string }>(path, { message });
    const { followup_id: followupId } = accepted;
    if (values.follow) return followRun(api, runId, { ...values, ...(followupId !== null && { followupId }) });
    printResult(values, accepted, accepted.outcome);
    return 0;
  },
});

const RERUN_OPTIONS = {
  prompt: text('text', 'Replaces the prompt; - reads standard input.'),
  title: text('text', 'Replaces the title.'),
  ...PLACED_RUN_OPTIONS,
  metadata: repeated('key=value', 'Label of the run; the labels given replace those of the source.'),
  ...FOLLOW,
};

/** Options that are absent leave the input of the source as it is. */
export const rerun = apiCommand({
  argument: 'run-id',
  options: RERUN_OPTIONS,
  run: async (api, values, runId) => {
    const overrides = {
      prompt: values.prompt === undefined ? undefined : readText('prompt', values.prompt, values['token-file']),
      title: values.title,
      config: readRunConfig(values),
      ...(values.metadata.length > 0 && { metadata: readMetadata(values.metadata) }),
    };
    const created = await api.post<{ run_id: string; state: string }>(runPath(runId, '/rerun'), overrides);
    if (values.follow) return followRun(api, created.run_id, values);
    printResult(values, created, created.run_id);
    return 0;
  },
});

/** Not repeated after a conflict: the turn that begins then is not the one that the user has seen. */
export const interrupt = apiCommand({
  argument: 'run-id',
  run: async (api, values, runId) => {
    await api.post(runPath(runId, '/interrupt'));
    printResult(values, { run_id: runId }, `The current turn of run ${printable(runId)} is being interrupted.`);
  },
});

const CANCEL_ATTEMPTS = 8;
const CANCEL_RETRY_MS = 500;

export const cancel = apiCommand({
  argument: 'run-id',
  run: async (api, values, runId) => {
    // While a run is offered to a worker, a cancel gets a 409 for a moment.
    const send = () => api.post<string>(runPath(runId, '/cancel'));
    const cancelled = await retryConflicts(send, CANCEL_ATTEMPTS, CANCEL_RETRY_MS);
    printResult(values, { run_id: cancelled }, `Run ${printable(cancelled)} is cancelled.`);
  },
});

function readAttachment(path: string): Readonly<Record<string, string>> {
  const data = readable(`--attach ${path}:`, () => readFileSync(path, 'base64'));
  return { file_name: basename(path), mime_type: 'application/octet-stream', data };
}
