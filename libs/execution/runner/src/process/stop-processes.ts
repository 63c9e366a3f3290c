import type { AgentSession } from '../acp/agent-session.js';
import type { StopMode } from '../termination.js';
import { settlesWithin } from '../retry.js';
import type { ManagedProcess } from './managed-process.js';

export interface StopProcessesOptions {
  readonly stopMode: StopMode;
  readonly agent: ManagedProcess | null;
  readonly session: AgentSession | null;
  /** The response to the current prompt; null when the agent is idle. */
  readonly turn: Promise<unknown> | null;
  readonly setup: ManagedProcess | null;
  readonly stepMs: number;
  readonly urgent: AbortSignal;
}

/** Time for an agent that has responded to write its session. */
const LEAVE_MS = 500;
const CLOSE_MS = 1_000;

/**
 * Ends what the execution has started, by the given stop mode. Processes that it has started in turn are left to the sweep.
 */
export async function stopProcesses(options: StopProcessesOptions): Promise<void> {
  const { stopMode, agent, session, turn, setup, stepMs, urgent } = options;
  if (setup && !setup.hasExited) await endProcess(setup, stopMode === 'graceful' ? stepMs : 0, urgent);
  if (!agent) return;
  if (stopMode === 'close' && session && !urgent.aborted) {
    await settlesWithin(session.close(), CLOSE_MS, urgent);
    agent.stdin.end();
    await agent.exitsWithin(CLOSE_MS, urgent);
    return endProcess(agent, stepMs, urgent);
  }
  if (stopMode !== 'graceful' || urgent.aborted) return endProcess(agent, 0, urgent);
  if (session && turn) {
    session.cancel().catch(() => undefined); // an agent that does not receive it is ended below
    const answered = await settlesWithin(Promise.race([turn, agent.exited]), stepMs, urgent);
    if (answered) {
      agent.stdin.end();
      return endProcess(agent, Math.min(LEAVE_MS, stepMs), urgent);
    }
  }
  await endProcess(agent, stepMs, urgent);
}

/** SIGTERM to the group, SIGKILL to it after `graceMs`; with no grace SIGKILL at once. */
async function endProcess(process: ManagedProcess, graceMs: number, urgent: AbortSignal): Promise<void> {
  if (process.hasExited) return;
  if (graceMs > 0 && !urgent.aborted) {
    process.signal('SIGTERM');
    if (await process.exitsWithin(graceMs, urgent)) return;
  }
  process.signal('SIGKILL');
  // With a timeout: a process in an uninterruptible system call ends only when the call returns.
  await process.exitsWithin(2_000);
}
