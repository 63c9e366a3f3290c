import { z } from 'zod';
import { PULL_REQUEST_STATUSES } from '#execution/runner-protocol';
import type { ArtifactSync } from '../artifacts/artifact-sync.js';
import { ForgeError } from '../forges/forge-api.js';
import type { PullRequests } from '../forges/pull-requests.js';
import { readEntry } from '../artifacts/artifact-list.js';
import { NoResponseError } from '../protocol/control-plane.js';
import type { PlainEvent } from '../protocol/outgoing-events.js';
import type { AttachmentFiles } from '../workspace/attachments.js';
import { askPerson, type AskPerson } from './ask-person.js';
import type { ChildRunTools } from './child-runs.js';
import { getEventPayload } from './event-payload.js';
import type { RunTool } from './run-tool.js';

export interface RunToolsOptions {
  readonly artifacts: ArtifactSync;
  readonly pullRequests: PullRequests;
  readonly files: AttachmentFiles;
  readonly emit: (event: PlainEvent) => void;
  readonly ask: AskPerson;
  /** Null: the run can start none. */
  readonly children: ChildRunTools | null;
  /** Null: no issue, pull request or thread has started the run, or there is no credential for it. */
  readonly comment: RunTool | null;
  readonly signal: AbortSignal;
}

export const TOOL_NOTICE = [
  'Tools of the MCP server `headrace`, which show the people who asked for this run what you do:',
  '`report_artifact` adds a file, a plan, a pull request or a link to the results of the run;',
  '`update_plan_status` shows the steps of your plan and which of them are done;',
  '`ask_person` asks them a question and waits for the answer.',
].join('\n');
/** Sentences about tools that only some runs have. */
const NOTICES: Readonly<Record<string, string>> = {
  create_pull_request:
    '`create_pull_request` creates a pull request or merge request for a branch that you have pushed.',
  start_run:
    '`start_run` starts another run with its own agent, `wait_for_runs` waits for such runs and returns their results, and `get_run` returns one.',
  comment_on_source:
    '`comment_on_source` adds a comment to the issue, pull request or thread that has started the run.',
  get_event_payload: '`get_event_payload` returns the payload of the event that started the run, or a part of it.',
};

/** What an agent reads about its tools before its first prompt. */
export const toolNotice = (tools: readonly RunTool[]): string =>
  [TOOL_NOTICE, ...tools.flatMap(({ name }) => NOTICES[name] ?? [])].join('\n');

const text = (description: string) => z.string().max(2_048).optional().describe(description);

const ARTIFACT = z.object({
  artifact_type: z
    .enum(['FILE', 'SCREENSHOT', 'PLAN', 'PULL_REQUEST', 'EXTERNAL_REFERENCE'])
    .describe(
      'FILE, SCREENSHOT and PLAN (Markdown) need `path`; PULL_REQUEST needs `url` and `branch`; EXTERNAL_REFERENCE needs `url` and `reference_type`.',
    ),
  path: text('Path of the file, absolute or relative to the working directory.'),
  url: text('Address of the pull request or of the reference.'),
  branch: text('Branch of the pull request.'),
  status: z.enum(PULL_REQUEST_STATUSES).optional().describe('State of the pull request.'),
  reference_type: text('What the reference is, such as `issue` or `deployment`.'),
  title: text('What it is, in a few words.'),
  description: text('What a screenshot or a file shows.'),
});

const PLAN = z.object({
  entries: z
    .array(
      z.object({
        content: z.string().min(1).max(4_096).describe('The step.'),
        status: z.enum(['pending', 'in_progress', 'completed']),
      }),
    )
    .min(1)
    .max(200)
    .describe('All steps of the plan, in their order. They replace the earlier ones.'),
});

const PULL_REQUEST = z.object({
  title: z.string().trim().min(1).max(256),
  body: z.string().max(65_536).default('').describe('Description in Markdown: what has changed and why.'),
  branch: z.string().min(1).max(256).optional().describe('The pushed branch. Default: the branch that is checked out.'),
  base: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe('The branch to merge into. Default: the default branch of the repository.'),
  draft: z.boolean().default(false),
  repository: text('Directory or URL of the repository. Required when the run has several.'),
});

export function runTools(options: RunToolsOptions): readonly RunTool[] {
  const { artifacts, pullRequests, files, emit, ask, children, comment, signal } = options;
  const payload = getEventPayload(files);
  return [
    {
      name: 'report_artifact',
      title: 'Report an artifact',
      description: 'Adds a result of your work to the run, for the people who asked for it.',
      input: ARTIFACT,
      execute: async (input) => {
        const entry = readEntry(ARTIFACT.parse(input));
        if (typeof entry === 'string') return { text: `The artifact ${entry}.`, isError: true };
        try {
          const problem = await artifacts.report(entry, signal);
          return problem === null
            ? { text: 'The artifact was added.' }
            : { text: `The artifact ${problem}.`, isError: true };
        } catch (error) {
          if (!(error instanceof NoResponseError)) throw error;
          return {
            text: 'The artifact could not be added: the service does not respond. Try again later.',
            isError: true,
          };
        }
      },
    },
    {
      name: 'update_plan_status',
      title: 'Update the status of the plan',
      description: 'Shows the people who asked for the run the steps of your plan and which of them are done.',
      input: PLAN,
      execute: (input) => {
        emit({ kind: 'plan', data: { entries: PLAN.parse(input).entries } });
        return Promise.resolve({ text: 'The plan was updated.' });
      },
    },
    askPerson(ask),
    ...(pullRequests.isPossible ? [createPullRequest(pullRequests, artifacts, signal)] : []),
    ...(payload === null ? [] : [payload]),
    ...(children?.tools ?? []),
    ...(comment === null ? [] : [comment]),
  ];
}

function createPullRequest(pullRequests: PullRequests, artifacts: ArtifactSync, signal: AbortSignal): RunTool {
  return {
    name: 'create_pull_request',
    title: 'Create a pull request',
    description:
      'Creates a pull request on GitHub or a merge request on GitLab for a branch that you have pushed. Returns the open one if the branch already has one.',
    input: PULL_REQUEST,
    execute: async (input) => {
      try {
        const { url, branch, status, isNew } = await pullRequests.create(PULL_REQUEST.parse(input), signal);
        const reference = { artifact_type: 'PULL_REQUEST', url, branch, status } as const;
        // One that exists can be of somebody else.
        const problem = await artifacts.report({ ...reference, ...(isNew && { created_by_run: true }) }, signal);
        const text = isNew
          ? `The pull request was created: ${url}`
          : `The branch already has an open pull request: ${url}`;
        return {
          text:
            problem === null ? text : `${text}\nIt was not added to the results of the run: the artifact ${problem}.`,
        };
      } catch (error) {
        if (error instanceof ForgeError) return { text: error.message, isError: true };
        if (!(error instanceof NoResponseError)) throw error;
        return {
          text: 'The service does not respond. Use the tool again later: it finds the pull request.',
          isError: true,
        };
      }
    },
  };
}
