import { RequestError } from '@agentclientprotocol/sdk';
import { fields, text } from './acp/fields.js';
import { chunkText } from './acp/content.js';
import { failureKind, vendorKind } from './acp/failure-kind.js';
import { AgentFailure, modelFailure, detailFor, sessionFailureIn } from './acp/model-failure.js';
import { withoutInternals } from './acp/shown-text.js';
import { describeExit, exitCodeOf, type ManagedProcess } from './process/managed-process.js';
import { errorText } from './runner-log.js';

const ACTIONS: readonly unknown[] = ['agent_thought_chunk', 'tool_call', 'tool_call_update', 'plan'];
const MAX_TEXT = 4_096;
/** Beginnings of error texts of agents that report no typed failure. */
const ERROR_TEXT =
  /^(?:API Error: |unexpected status [45]\d\d\b|exceeded retry limit, last status: |stream disconnected before |Missing environment variable: )/;
/** Agents send them as text before the first answer of the model. */
const WARNINGS = /^(?:Warning: [^\n]*(?:\n\s*|$))*/;
/** A further sentence explains an error, which an agent does not do with its own. */
const SECOND_SENTENCE = /[.!?]\s+\S/;

/** Output of an agent in a turn, as far as it shows whether its model has responded. */
export class TurnOutput {
  private text = '';
  private hasActed = false;

  start(): void {
    this.text = '';
    this.hasActed = false;
  }

  add(update: unknown): boolean {
    const { sessionUpdate: kind, content } = fields(update);
    if (kind === 'agent_message_chunk') {
      const chunk = chunkText(fields(content));
      if (this.text.length < MAX_TEXT) this.text += chunk;
      return chunk !== '';
    }
    const isAction = ACTIONS.includes(kind);
    this.hasActed ||= isAction;
    return isAction;
  }

  get isEmpty(): boolean {
    return !this.hasActed && this.text.trim() === '';
  }

  /** The error, when it is the only output of the agent, or follows an unfinished answer. */
  get errorText(): string | undefined {
    if (this.hasActed) return undefined;
    const text = this.text.trim().replace(WARNINGS, '');
    if (ERROR_TEXT.test(text)) return text;
    return this.text.length < MAX_TEXT ? errorAtEnd(text) : undefined;
  }
}

/** The last paragraph, when it is nothing but an error and the text before does not announce a quotation. */
function errorAtEnd(text: string): string | undefined {
  const start = text.lastIndexOf('\n\n');
  const last = text.slice(start).trim();
  const isError = start >= 0 && ERROR_TEXT.test(last) && !/\n/.test(last) && !SECOND_SENTENCE.test(last);
  return isError && !text.slice(0, start).trimEnd().endsWith(':') ? last : undefined;
}

const STDERR_SHOWN = 2_000;
export const EXIT_WAIT_MS = 1_000;
export const AUTH_REQUIRED = -32_000;
const GENERIC = /^(?:internal error)?$/i;

export async function explainFailure(
  what: string,
  error: unknown,
  agent: ManagedProcess,
  stderr: () => string,
): Promise<AgentFailure> {
  if (error instanceof AgentFailure) return error;
  if (error instanceof RequestError) return explainRequestError(what, error, stderr);
  if (await agent.exitsWithin(EXIT_WAIT_MS)) {
    const exit = await agent.exited;
    const message = `The agent crashed: its process ended during ${what} (${describeExit(exit)}).`;
    return new AgentFailure(message, {
      // From outside, such as by a kernel without memory; with an exit code the agent has found a reason.
      retryable: exit.signal !== null,
      exitCode: exitCodeOf(exit),
      ...detailFor(message, lastOutput(stderr())),
    });
  }
  const message = `The agent failed during ${what}: ${errorText(error)}.`;
  return new AgentFailure(message, detailFor(message, lastOutput(stderr())));
}

/** The reason is in the message, in `data`, or in the provider's response as JSON. */
export function explainRequestError(what: string, error: RequestError, stderr: () => string): AgentFailure {
  const data = fields(error.data);
  const reason = text(data['details']) ?? text(data['message']) ?? '';
  const output = GENERIC.test(error.message.trim()) ? reason : [error.message, reason].filter(Boolean).join('\n');
  const status = error.code >= 400 && error.code < 600 ? error.code : undefined;
  const typed = error.code === AUTH_REQUIRED ? 'credentials' : vendorKind(data['errorKind']);
  const opening = what === 'the turn' ? undefined : `The agent answered ${what} with an error`;
  const { message, report } = modelFailure(typed ?? failureKind(output, status), output, opening);
  // Without a reason in the response, the agent's log is the only one.
  const logged = output === '' ? detailFor(message, lastOutput(stderr())) : {};
  return new AgentFailure(message, { ...logged, ...report }, error);
}

export function failureOfTurn(
  response: { readonly stopReason: string; readonly _meta?: unknown },
  output: TurnOutput,
  hasUsage: boolean,
): AgentFailure | null {
  const typed = sessionFailureIn(response._meta);
  if (typed?.severity === 'error') return modelFailure(typed.kind, typed.title);
  if (response.stopReason !== 'end_turn' || hasUsage) return null;
  const { errorText: error } = output;
  if (error !== undefined) return modelFailure(failureKind(error), error);
  return output.isEmpty ? new AgentFailure('The agent ended its turn without any output.') : null;
}

const lastOutput = (stderr: string): string => withoutInternals(stderr.trim()).slice(-STDERR_SHOWN);
