import type { JsonObject } from './json.js';

export interface OfferedTool {
  readonly name: string;
  /** JSON schema of its arguments. */
  readonly schema: JsonObject;
}

/** What an agent asks of its model, as far as a script wants to know. */
export interface ModelRequest {
  readonly model: string;
  readonly tools: readonly OfferedTool[];
  /** Text of the last message of the user's. */
  readonly userText: string;
  /** The result of a tool call has come since then. */
  readonly isAfterTool: boolean;
  readonly isStream: boolean;
}

export type ModelStep =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tool'; readonly name: string; readonly args: JsonObject }
  /** Begins a response and never continues it. */
  | { readonly kind: 'hang' }
  /** Answers with an error. */
  | { readonly kind: 'fail'; readonly status: number; readonly message: string }
  /** Cuts the connection without an answer. */
  | { readonly kind: 'cut' };

export type AnswerStep = Exclude<ModelStep, { readonly kind: 'fail' | 'cut' }>;

/** The tokens that each answer says it took. */
export const ANSWER_TOKENS = { input: 100, output: 20 } as const;

/** One provider's way to be asked, over HTTP. */
export interface ModelDialect {
  /** Whether a request with this path is one for the model. */
  readonly asks: (path: string) => boolean;
  readonly read: (body: JsonObject, path: string) => ModelRequest;
  /** The body of a stream of server-sent events; `hang`: its beginning. */
  readonly stream: (step: AnswerStep, model: string, id: string) => string;
  /** The body of an answer at once. */
  readonly whole: (step: AnswerStep, model: string, id: string) => JsonObject;
  /** The body of an error. Default: as OpenAI and those who follow it have it. */
  readonly error?: (status: number, type: string, message: string) => JsonObject;
}

export const event = (data: unknown, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
