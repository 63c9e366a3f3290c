import { parseArgs } from 'node:util';
import { onlyPositional } from '../cli/arguments.js';
import { CommandError, type CommandModule, UsageError } from '../cli/command.js';
import { type OutputValues, printResult, printTable, timeCell } from '../cli/output.js';
import type { ApiClient } from '../remote/api-client.js';
import { connect, REMOTE_OPTIONS } from '../remote/connect.js';

const LIST_OPTIONS = { ...REMOTE_OPTIONS, team: { type: 'string' } } as const;
const DECIDE_OPTIONS = { ...REMOTE_OPTIONS, run: { type: 'string' }, note: { type: 'string' } } as const;
const ALLOW_OPTIONS = { ...DECIDE_OPTIONS, always: { type: 'boolean' } } as const;
/** More are not looked through: whoever has so many needs another tool. */
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

/** What waits for a person, newest first. */
export const list: CommandModule = {
  run: async (args) => {
    const { values } = parseArgs({ args: [...args], options: LIST_OPTIONS });
    const { approvals, isWhole } = await pending(await connect(values), values.team);
    printTable(values, approvals, ['APPROVAL', 'RUN', 'RUN TITLE', 'ASKS', 'ASKED', 'DENIED AT'], (approval) => [
      ...[approval.approval_id, approval.run_id, approval.run_title ?? null, approval.title],
      ...[timeCell(approval.requested_at), timeCell(approval.expires_at)],
    ]);
    if (!isWhole) process.stderr.write('There are more; these are the newest.\n');
    return 0;
  },
};

export const allow: CommandModule = {
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: ALLOW_OPTIONS, allowPositionals: true });
    const id = onlyPositional('approval-id', positionals);
    return decide(await connect(values), id, values.always === true ? 'allow_always' : 'allow', values);
  },
};

export const deny: CommandModule = {
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: DECIDE_OPTIONS, allowPositionals: true });
    return decide(await connect(values), onlyPositional('approval-id', positionals), 'deny', values);
  },
};

async function decide(
  api: ApiClient,
  id: string,
  decision: 'allow' | 'allow_always' | 'deny',
  { run, note, ...output }: OutputValues & { readonly run?: string; readonly note?: string },
): Promise<number> {
  if (run?.trim() === '') throw new UsageError('--run is empty');
  const runId = run ?? (await runOf(api, id));
  const path = `/agent/runs/${encodeURIComponent(runId)}/approvals/${encodeURIComponent(id)}`;
  const body = { decision, ...(note === undefined ? {} : { note }) };
  const answer = await api.request<{ state: string }>('POST', path, body);
  printResult(output, answer, answer.state);
  return 0;
}

/** Ids of approvals are the agents' runners': two runs may have the same. */
async function runOf(api: ApiClient, id: string): Promise<string> {
  const { approvals } = await pending(api, undefined);
  const [only, ...others] = approvals.filter(({ approval_id: known }) => known === id);
  if (!only) throw new CommandError(`no request ${id} waits; \`headrace approval list\` shows those that do.`);
  if (others.length > 0) throw new CommandError('several runs have a request of this id: name the run with --run.');
  return only.run_id;
}

async function pending(
  api: ApiClient,
  team: string | undefined,
): Promise<{ approvals: readonly RemoteApproval[]; isWhole: boolean }> {
  const approvals: RemoteApproval[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const after = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const path = `/agent/approvals?state=pending&limit=100${after}`;
    const page = await api.request<RemotePage>('GET', path, undefined, team);
    approvals.push(...page.approvals);
    cursor = page.page_info.next_cursor;
    if (cursor === undefined) return { approvals, isWhole: true };
  }
  return { approvals, isWhole: false };
}
