import { fields, items, text } from '../acp/fields.js';
import { commandLine } from '../acp/permissions.js';
import type { PlainEvent } from '../protocol/outgoing-events.js';

export interface FoundPullRequest {
  readonly url: string;
  /** That the command has named; undefined: the one that is checked out. */
  readonly branch: string | undefined;
  readonly status: 'open' | 'draft';
}

/** Commands that create one, or print the address of the one of the branch. */
const CREATING =
  /\bgh\s+pr\s+create\b|\bglab\s+mr\s+create\b|\bhub\s+pull-request\b|\btea\s+pulls?\s+create\b|\bgit\b.*\bpush\b/;
const ADDRESS =
  /https?:\/\/[^\s"'<>()[\]\\^`{|}\u001b]{1,1000}?\/(?:pull|pulls|pull-requests|-\/merge_requests)\/\d{1,15}(?![\w/])/g;
const HEAD = /\s(?:--head|-H|--source-branch|-s)[= ]+["']?([^\s"']+)/;
const DRAFT = /\s(?:--draft|-d|--wip)\b/;
/** Characters of a command and of its output. */
const MAX_COMMAND = 4_096;
const MAX_TEXT = 65_536;
const MAX_FOUND = 20;

/** Finds pull requests and merge requests of the run's repositories in the output of commands that create them. */
export class PullRequestFinder {
  private readonly outputs = new Map<string, string>();
  private readonly byUrl = new Map<string, FoundPullRequest>();

  /** `pages`: of the repositories of the run. */
  constructor(private readonly pages: readonly string[]) {}

  get found(): readonly FoundPullRequest[] {
    return [...this.byUrl.values()];
  }

  /** The page of the repository of a pull request. */
  pageOf(url: string): string | undefined {
    return this.pages.find((page) => url.toLowerCase().startsWith(`${page.toLowerCase()}/`));
  }

  /** `input`: of the call, as far as it is known. */
  observe({ kind, data }: PlainEvent, input: (toolCallId: string) => unknown): void {
    if (kind !== 'tool_call' || this.pages.length === 0) return;
    const id = String(data['tool_call_id']);
    const command = commandLine(fields(input(id)));
    if (command === undefined || !CREATING.test(command.slice(0, MAX_COMMAND))) return;
    const output = outputOf(data);
    if (output !== '') this.outputs.set(id, output.slice(-MAX_TEXT));
    if (data['status'] !== 'completed' && data['status'] !== 'failed') return;
    for (const [url] of (this.outputs.get(id) ?? '').matchAll(ADDRESS)) this.note(url, command);
    this.outputs.delete(id);
  }

  private note(url: string, command: string): void {
    if (this.pageOf(url) === undefined || this.byUrl.size >= MAX_FOUND) return;
    // Options of a push have other meanings.
    const [, options = ''] = /\b(?:create|pull-request)\b(.*)/s.exec(command) ?? [];
    this.byUrl.set(url, { url, branch: HEAD.exec(options)?.[1], status: DRAFT.test(options) ? 'draft' : 'open' });
  }
}

/** What a call has printed: text of its content, or its raw output. */
function outputOf({ content, output }: PlainEvent['data']): string {
  const shown = items(content).flatMap((item) => text(fields(item)['text']) ?? []);
  const raw =
    typeof output === 'string' ? output : Object.values(fields(output)).filter((value) => typeof value === 'string');
  return [...shown, ...(typeof raw === 'string' ? [raw] : raw)].join('\n');
}
