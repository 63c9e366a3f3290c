import { CommandError, flag, type OptionValues, text, UsageError } from '../cli/command.js';
import { printResult, printTable, timeCell } from '../cli/output.js';
import { type RemoteValues, TEAM_FILTER } from '../cli/shared-options.js';
import type { ApiClient, Page } from '../remote/api-client.js';
import { apiCommand } from '../remote/connect.js';

const RUN_OPTION = {
  run: text('id', 'Run of the request. Required if several runs have a request with this id.'),
};
const DECIDE_OPTIONS = {
  ...RUN_OPTION,
  note: text('text', 'Reason that the agent receives.'),
};
const MAX_PAGES = 20;

interface RemoteApproval {
  readonly approval_id: string;
  readonly run_id: string;
  readonly run_title?: string;
  readonly title: string;
  readonly kind: string;
  readonly options: readonly { readonly option_id: string; readonly name: string }[];
  readonly requested_at: string;
  readonly expires_at: string;
}

export const list = apiCommand({
  options: TEAM_FILTER,
  run: async (api, values) => {
    const { approvals, isComplete } = await pending(api, values.team);
    printTable(values, approvals, ['APPROVAL', 'RUN', 'RUN TITLE', 'ASKS', 'ASKED', 'DENIED AT'], (approval) => [
      ...[approval.approval_id, approval.run_id, approval.run_title ?? null, asksFor(approval)],
      ...[timeCell(approval.requested_at), timeCell(approval.expires_at)],
    ]);
    if (!isComplete) process.stderr.write('There are more requests; these are the newest.\n');
  },
});

export const allow = apiCommand({
  argument: 'approval-id',
  options: { always: flag('Allow requests of the same kind for the rest of the run.'), ...DECIDE_OPTIONS },
  run: (api, values, id) => decide(api, id, values.always ? 'allow_always' : 'allow', values),
});

export const deny = apiCommand({
  argument: 'approval-id',
  options: DECIDE_OPTIONS,
  run: (api, values, id) => decide(api, id, 'deny', values),
});

export const answer = apiCommand({
  argument: 'approval-id',
  options: {
    ...RUN_OPTION,
    option: text('option', 'Number of an option, as `headrace approval list` shows it.'),
    text: text('text', 'Text of the answer, if the question accepts one.'),
  },
  run: (api, { option, text: answered, ...values }, id) =>
    send(api, id, { decision: 'answer', option_id: option, text: answered }, values),
});

/** A question with its options. */
function asksFor({ kind, title, options }: RemoteApproval): string {
  if (kind !== 'question' || options.length === 0) return title;
  return `${title} [${options.map(({ option_id: id, name }) => `${id}: ${name}`).join(', ')}]`;
}

const decide = (
  api: ApiClient,
  id: string,
  decision: 'allow' | 'allow_always' | 'deny',
  { note, ...values }: OptionValues<typeof DECIDE_OPTIONS> & RemoteValues,
): Promise<void> => send(api, id, { decision, note }, values);

async function send(
  api: ApiClient,
  id: string,
  body: Readonly<Record<string, string | undefined>>,
  { run, ...output }: OptionValues<typeof RUN_OPTION> & RemoteValues,
): Promise<void> {
  if (run?.trim() === '') throw new UsageError('--run is empty');
  const runId = run ?? (await runOf(api, id));
  const path = `/agent/runs/${encodeURIComponent(runId)}/approvals/${encodeURIComponent(id)}`;
  const decided = await api.post<{ state: string }>(path, body);
  printResult(output, decided, decided.state);
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
  let count = 0;
  const query = { state: 'pending', limit: '100' };
  for await (const page of api.pages<Page & { approvals: RemoteApproval[] }>('/agent/approvals', query, team)) {
    approvals.push(...page.approvals);
    count += 1;
    if (count === MAX_PAGES) return { approvals, isComplete: page.page_info.next_cursor === undefined };
  }
  return { approvals, isComplete: true };
}
