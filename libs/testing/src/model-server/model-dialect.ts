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
  /** Results of tool calls that have come since then. */
  readonly toolResults: number;
  readonly isStream: boolean;
}

export type ModelStep =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tool'; readonly name: string; readonly args: JsonObject }
  /** Begins a response and never continues it. */
  | { readonly kind: 'hang' }
  /** Answers with an error; `retryAfter` seconds are in the header of this name. */
  | { readonly kind: 'fail'; readonly status: number; readonly message: string; readonly retryAfter?: number }
  /** Answers as a provider whose account has no credits left. */
  | { readonly kind: 'quota' }
  /** Answers as a gateway whose budget for the key is spent. */
  | { readonly kind: 'budget' }
  /** Cuts the connection without an answer. */
  | { readonly kind: 'cut' }
  /** Begins a text and cuts the connection. */
  | { readonly kind: 'midway' };

export type AnswerStep = Exclude<ModelStep, { readonly kind: 'fail' | 'quota' | 'budget' | 'cut' | 'midway' }>;

/** The tokens that each answer says it took. */
export const ANSWER_TOKENS = { input: 100, output: 20 } as const;

/** One provider's way to be asked, over HTTP. */
export interface ModelDialect {
  /** Whether a request with this path is one for the model. */
  readonly asks: (path: string) => boolean;
  readonly read: (body: JsonObject, path: string) => ModelRequest;
  /** The body of a stream of server-sent events; `hang`: its beginning. */
  readonly stream: (step: AnswerStep, model: string, id: string) => string | Buffer;
  /** Default: server-sent events. */
  readonly streamType?: string;
  /** The body of an answer at once. */
  readonly whole: (step: AnswerStep, model: string, id: string) => JsonObject;
  /** The body of an error. Default: as OpenAI and those who follow it have it. */
  readonly error?: (status: number, type: string, message: string) => JsonObject;
  /** The error of an account without credits. Default: as OpenAI has it. */
  readonly quota?: { readonly status: number; readonly type: string; readonly message: string };
}

export const event = (data: unknown, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
