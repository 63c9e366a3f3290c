import { z } from 'zod';
import { PULL_REQUEST_STATUSES } from '#execution/runner-protocol';
import type { ArtifactSync } from '../artifacts/artifact-sync.js';
import { readEntry } from '../artifacts/artifact-list.js';
import { NoResponseError } from '../protocol/control-plane.js';
import type { PlainEvent } from '../protocol/outgoing-events.js';

export interface ToolResult {
  readonly text: string;
  readonly isError?: boolean;
}

/** A tool that the agent of a run can use. */
export interface RunTool {
  readonly name: string;
  readonly title: string;
  /** For the agent. */
  readonly description: string;
  readonly input: z.ZodObject;
  readonly execute: (input: unknown) => Promise<ToolResult>;
}

interface RunToolsOptions {
  readonly artifacts: ArtifactSync;
  readonly emit: (event: PlainEvent) => void;
  readonly signal: AbortSignal;
}

/** What an agent reads about its tools before its first prompt. */
export const TOOL_NOTICE = [
  'Tools of the MCP server `headrace`, which show the people who asked for this run what you do:',
  '`report_artifact` adds a file, a plan, a pull request or a link to the results of the run;',
  '`update_plan_status` shows the steps of your plan and which of them are done.',
].join('\n');

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

export function runTools({ artifacts, emit, signal }: RunToolsOptions): readonly RunTool[] {
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
  ];
}
