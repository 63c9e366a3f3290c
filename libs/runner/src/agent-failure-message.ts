import { RequestError } from '@agentclientprotocol/sdk';
import { fields, text } from './acp/fields.js';
import { AgentFailure } from './harness/launch.js';
import { describeExit, exitCodeOf, type ManagedProcess } from './process/managed-process.js';
import { errorText } from './runner-log.js';

const STDERR_SHOWN = 2_000;
const EXIT_WAIT_MS = 1_000;

/** Why the agent did not answer: it said so, its process ended, or it stopped talking sense. */
export async function explainFailure(
  what: string,
  error: unknown,
  agent: ManagedProcess,
  stderr: () => string,
): Promise<AgentFailure> {
  if (error instanceof RequestError) {
    const detail = text(fields(error.data)['details']) ?? text(fields(error.data)['message']);
    const failure = new AgentFailure(
      `The agent answered ${what} with an error: ${error.message}${detail === undefined ? '' : ` (${detail})`}${tail(stderr())}`,
    );
    failure.cause = error;
    return failure;
  }
  if (await agent.exitsWithin(EXIT_WAIT_MS)) {
    const exit = await agent.exited;
    return new AgentFailure(
      `The agent process ended during ${what} (${describeExit(exit)}).${tail(stderr())}`,
      exitCodeOf(exit),
    );
  }
  return new AgentFailure(`The agent broke off during ${what}: ${errorText(error)}.${tail(stderr())}`);
}

function tail(stderr: string): string {
  const shown = stderr.trim().slice(-STDERR_SHOWN);
  return shown === '' ? '' : `\nIts last words:\n${shown}`;
}
