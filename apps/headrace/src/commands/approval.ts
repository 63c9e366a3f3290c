import { command, CommandError, flag, type OptionValues, text, UsageError } from '../cli/command.js';
import { printResult, printTable, timeCell } from '../cli/output.js';
import { REMOTE_OPTIONS, TEAM_FILTER } from '../cli/shared-options.js';
import type { ApiClient } from '../remote/api-client.js';
import { connect } from '../remote/connect.js';

const DECIDE_OPTIONS = {
  run: text('id', 'Run of the request. Required if several runs have a request with this id.'),
  note: text('text', 'Reason that the agent receives.'),
  ...REMOTE_OPTIONS,
};
const ALLOW_OPTIONS = { always: flag('Allow requests of the same kind for the rest of the run.'), ...DECIDE_OPTIONS };
/** Limits the number of requests of one command. */
const MAX_PAGES = 20;

interface RemoteApproval {
  readonly approval_id: string;
  readonly run_id: string;
  readonly run_title?: string;
  readonly title: string;
  readonly requested_at: string;
  readonly expires_at: string;
}

interface RemotePage {
  readonly approvals: readonly RemoteApproval[];
  readonly page_info: { readonly next_cursor?: string };
}

/** Pending permission requests, newest first. */
export const list = command({
  options: { ...TEAM_FILTER, ...REMOTE_OPTIONS },
  run: async (values) => {
    const { approvals, isComplete } = await pending(await connect(values), values.team);
    printTable(values, approvals, ['APPROVAL', 'RUN', 'RUN TITLE', 'ASKS', 'ASKED', 'DENIED AT'], (approval) => [
      ...[approval.approval_id, approval.run_id, approval.run_title ?? null, approval.title],
      ...[timeCell(approval.requested_at), timeCell(approval.expires_at)],
    ]);
    if (!isComplete) process.stderr.write('There are more requests; these are the newest.\n');
    return 0;
  },
});

export const allow = command({
  argument: 'approval-id',
  options: ALLOW_OPTIONS,
  run: async (values, id) => {
    return decide(await connect(values), id, values.always ? 'allow_always' : 'allow', values);
  },
});

export const deny = command({
  argument: 'approval-id',
  options: DECIDE_OPTIONS,
  run: async (values, id) => decide(await connect(values), id, 'deny', values),
});

async function decide(
  api: ApiClient,
  id: string,
  decision: 'allow' | 'allow_always' | 'deny',
  { run, note, ...output }: OptionValues<typeof DECIDE_OPTIONS>,
): Promise<number> {
  if (run?.trim() === '') throw new UsageError('--run is empty');
  const runId = run ?? (await runOf(api, id));
  const path = `/agent/runs/${encodeURIComponent(runId)}/approvals/${encodeURIComponent(id)}`;
  const body = { decision, ...(note === undefined ? {} : { note }) };
  const answer = await api.request<{ state: string }>('POST', path, body);
  printResult(output, answer, answer.state);
  return 0;
}

/** The runner of each run numbers its requests, so two runs may have a request with the same id. */
async function runOf(api: ApiClient, id: string): Promise<string> {
  const { approvals } = await pending(api, undefined);
  const [only, ...others] = approvals.filter(({ approval_id: known }) => known === id);
  if (!only)
    throw new CommandError(`pending permission request ${id} not found; \`headrace approval list\` shows the ids.`);
  if (others.length > 0) throw new CommandError('several runs have a request with this id; select the run with --run.');
  return only.run_id;
}

async function pending(
  api: ApiClient,
  team: string | undefined,
): Promise<{ approvals: readonly RemoteApproval[]; isComplete: boolean }> {
  const approvals: RemoteApproval[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const after = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const path = `/agent/approvals?state=pending&limit=100${after}`;
    const page = await api.request<RemotePage>('GET', path, undefined, team);
    approvals.push(...page.approvals);
    cursor = page.page_info.next_cursor;
    if (cursor === undefined) return { approvals, isComplete: true };
  }
  return { approvals, isComplete: false };
}
