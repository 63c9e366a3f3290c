import { z } from 'zod';
import type { Question, QuestionResult } from '../acp/permission-broker.js';
import type { RunTool, ToolResult } from './run-tool.js';

export const ASK_PERSON = 'ask_person';

export type AskPerson = (question: Question, signal: AbortSignal) => Promise<QuestionResult>;

const MAX_QUESTION = 2_000;
const MAX_OPTION = 160;

const INPUT = z
  .object({
    question: z
      .string()
      .trim()
      .min(1)
      .max(MAX_QUESTION)
      .describe('The question, with all that is needed to answer it.'),
    options: z
      .array(z.string().trim().min(1).max(MAX_OPTION))
      .min(2)
      .max(10)
      .refine((options) => new Set(options).size === options.length, 'must be different from each other')
      .optional()
      .describe('Answers to choose from, in a few words each.'),
    allow_text: z.boolean().default(true).describe('With options: whether a text may be the answer too.'),
  })
  .refine(({ options, allow_text: allowsText }) => allowsText || options !== undefined, {
    path: ['allow_text'],
    error: 'must be true without options',
  });

/** `ask`: waits until the question is answered, denied, expired or withdrawn. */
export function askPerson(ask: AskPerson): RunTool {
  return {
    name: ASK_PERSON,
    title: 'Ask a person',
    description:
      'Asks the people who follow this run a question and waits for the answer, which can take hours. If the call times out, use it again with exactly the same input to continue to wait. Use it only for a decision that you cannot make yourself.',
    input: INPUT,
    execute: async (input, signal) => {
      const { question: text, options = [], allow_text: allowText } = INPUT.parse(input);
      return resultOf(await ask({ text, options, allowText }, signal));
    },
  };
}

function resultOf(result: QuestionResult): ToolResult {
  switch (result.kind) {
    case 'answered': {
      const { answer, by } = result;
      const person = [by?.name ?? 'A person', ...(by === undefined ? [] : [`(${by.type})`])].join(' ');
      return {
        text: [
          `${person} has answered.`,
          ...(answer.option === undefined ? [] : [`Option: ${answer.option}`]),
          ...(answer.text === undefined ? [] : [`Text: ${answer.text}`]),
        ].join('\n'),
      };
    }
    case 'unanswered':
      return refused(result.note === undefined ? 'A person has declined to answer.' : `No answer: ${result.note}`);
    case 'withdrawn':
      return refused('The question was withdrawn before it was answered.');
    case 'no_turn':
      return refused('A question can only be asked during a turn.');
    case 'too_many':
      return refused('Too many questions are open. Wait for their answers.');
  }
}

const refused = (text: string): ToolResult => ({ text, isError: true });
