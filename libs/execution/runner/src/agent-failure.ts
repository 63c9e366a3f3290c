import { RequestError } from '@agentclientprotocol/sdk';
import { fields, text } from './acp/fields.js';
import { chunkText } from './acp/content.js';
import {
  describeFailure,
  detailFor,
  failureKind,
  sessionFailureIn,
  vendorKind,
  withoutInternals,
} from './acp/model-failure.js';
import { AgentFailure } from './harness/launch.js';
import { describeExit, exitCodeOf, type ManagedProcess } from './process/managed-process.js';
import { errorText } from './runner-log.js';

const ACTIONS: readonly unknown[] = ['agent_thought_chunk', 'tool_call', 'tool_call_update', 'plan'];
const MAX_TEXT = 4_096;
/** How agents that report no failure with a type begin the text that they show in its place. */
const ERROR_TEXT =
  /^(?:API Error: |unexpected status [45]\d\d\b|exceeded retry limit, last status: |stream disconnected before |Missing environment variable: )/m;

/** What an agent has put out in a turn, as far as it tells whether its model has answered at all. */
export class TurnOutput {
  private said = '';
  private hasActed = false;

  start(): void {
    this.said = '';
    this.hasActed = false;
  }

  /** True when the update shows that the agent makes progress. */
  add(update: unknown): boolean {
    const { sessionUpdate: kind, content } = fields(update);
    if (kind === 'agent_message_chunk') {
      const chunk = chunkText(fields(content));
      if (this.said.length < MAX_TEXT) this.said += chunk;
      return chunk !== '';
    }
    const isAction = ACTIONS.includes(kind);
    this.hasActed ||= isAction;
    return isAction;
  }

  get isEmpty(): boolean {
    return !this.hasActed && this.said.trim() === '';
  }

  /** The error that is all that the agent has said; undefined when there is another output. */
  get errorText(): string | undefined {
    const at = this.hasActed ? -1 : this.said.search(ERROR_TEXT);
    return at < 0 ? undefined : this.said.slice(at).trim();
  }
}

const STDERR_SHOWN = 2_000;
const EXIT_WAIT_MS = 1_000;
const AUTH_REQUIRED = -32_000;
const GENERIC = /^(?:internal error)?$/i;

/** Why the agent did not answer: it reported an error, its process ended, or its answers made no sense. */
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
    const message = `The agent process ended during ${what} (${describeExit(exit)}).`;
    return new AgentFailure(message, { exitCode: exitCodeOf(exit), ...detailFor(message, lastOutput(stderr())) });
  }
  const message = `The agent broke off during ${what}: ${errorText(error)}.`;
  return new AgentFailure(message, detailFor(message, lastOutput(stderr())));
}

/** Agents put the reason into the message, into `data`, or into the provider's own answer as JSON. */
export function explainRequestError(what: string, error: RequestError, stderr: () => string): AgentFailure {
  const data = fields(error.data);
  const told = text(data['details']) ?? text(data['message']) ?? '';
  const output = GENERIC.test(error.message.trim()) ? told : [error.message, told].filter(Boolean).join('\n');
  const status = error.code >= 400 && error.code < 600 ? error.code : undefined;
  const typed = error.code === AUTH_REQUIRED ? 'credentials' : vendorKind(data['errorKind']);
  const opening = what === 'the turn' ? undefined : `The agent answered ${what} with an error`;
  const { message, report } = describeFailure(typed ?? failureKind(output, status), output, opening);
  // Without a reason of its own, what the agent has logged is the only one.
  const logged = output === '' ? detailFor(message, lastOutput(stderr())) : {};
  const failure = new AgentFailure(message, { ...logged, ...report });
  failure.cause = error;
  return failure;
}

/**
 * A turn that its agent calls ended although it has failed: with a typed failure beside the answer, with nothing but the
 * text of an error, or with nothing at all.
 */
export function failureOfTurn(
  response: { readonly stopReason: string; readonly _meta?: unknown },
  output: TurnOutput,
  hasUsage: boolean,
): AgentFailure | null {
  const typed = sessionFailureIn(response._meta);
  if (typed?.severity === 'error') return modelFailure(describeFailure(typed.kind, typed.title));
  if (response.stopReason !== 'end_turn' || hasUsage) return null;
  const { errorText: said } = output;
  if (said !== undefined) return modelFailure(describeFailure(failureKind(said), said));
  return output.isEmpty ? new AgentFailure('The agent ended its turn without any output.') : null;
}

const modelFailure = ({ message, report }: ReturnType<typeof describeFailure>): AgentFailure =>
  new AgentFailure(message, report);

const lastOutput = (stderr: string): string => withoutInternals(stderr.trim()).slice(-STDERR_SHOWN);
