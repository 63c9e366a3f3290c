import { z } from 'zod';
import type { CommentAnswer } from '#execution/runner-protocol';
import { againUnless, type ControlPlane } from '../protocol/control-plane.js';
import { retry } from '../retry.js';
import { noResponse } from './child-runs.js';
import { RepeatedCalls } from './repeated-calls.js';
import type { RunTool, ToolResult } from './run-tool.js';

interface CommentOptions {
  readonly plane: Pick<ControlPlane, 'comment'>;
  readonly redact: (text: string) => string;
  readonly signal: AbortSignal;
}

const WAIT_SECONDS = 20;
const REQUEST_MS = 120_000;
const MAX_TEXT = 10_000;

const INPUT = z.object({
  text: z
    .string()
    .max(MAX_TEXT)
    .refine((text) => text.trim() !== '', 'must not be blank')
    .describe('The comment. It is shown as a quotation.'),
});

/** `target`: for the description. */
export function commentOnSource(target: string, { plane, redact, signal }: CommentOptions): RunTool {
  const writing = new RepeatedCalls<CommentAnswer>();
  const request = (key: string, text: string): Promise<CommentAnswer> => {
    const end = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]);
    const body = { key, text: redact(text), wait: WAIT_SECONDS };
    return retry(() => plane.comment(body), { firstMs: 200, maxMs: 3_000, signal: end, again: againUnless(end) });
  };
  return {
    name: 'comment_on_source',
    title: 'Comment on the source',
    description: `Adds a comment to ${target}, which has started this run. Your last message and the state of the run are shown there anyway: use it only if you were asked for a comment.`,
    input: INPUT,
    execute: async (input, call): Promise<ToolResult> => {
      const { text } = INPUT.parse(input);
      try {
        const answer = await writing.call(text, call, (key) => request(key, text));
        if ('problem' in answer) return { text: `The comment was not added. ${answer.problem}`, isError: true };
        return {
          text:
            answer.state === 'written'
              ? `The comment was added to ${answer.target}.`
              : `The comment will be added to ${answer.target}, as soon as its server accepts it.`,
        };
      } catch (error) {
        return noResponse(error);
      }
    },
  };
}
