import { rmdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { readHarnessesFile, type LogFields, type RunnerLog } from '#execution/runner';
import { executeHandover } from '../runner/execute-handover.js';
import { exitSoon, inheritedEnvironment, removeFromEnvironment, stopSignals } from '../runner/runner-process.js';
import { type ApiClient, retryConflicts } from '../remote/api-client.js';
import { connect } from '../remote/connect.js';
import { type RemoteRun, runPath } from '../remote/runs.js';
import { type ExternalOptions, readExternalOptions, readResumeOptions, runOrigin } from './external-options.js';
import { type ExternalRun, JsonProgress, type Progress, ReadableProgress, type RunEnd } from './progress.js';

interface RegisteredRun extends ExternalRun {
  readonly token: string;
}

const RETRY_MS = 500;
const MAX_ATTEMPTS = 6;

/** A session of the run stores its last snapshot before it ends. */
const CLOSING_ATTEMPTS = 120;

/** Executes a new run on this machine, as this user. Exit codes: 0 the run SUCCEEDED, 1 any other end, 2 wrong usage. */
export async function runExternal(args: readonly string[]): Promise<number> {
  const options = readExternalOptions(args);
  const body = { ...options.request, ...runOrigin(process.env) };
  return execute(options, (api) => api.post<RegisteredRun>('/agent/runs/external', body, options.team));
}

/** As {@link runExternal}, for a run that has ended: with its conversation, and the files of its last snapshot. */
export async function resumeExternal(args: readonly string[]): Promise<number> {
  const { runId, message, hasCreatedWorkspace, ...options } = readResumeOptions(args);
  const path = runPath(runId, '/followups/external');
  return execute({ ...options, hasSnapshots: true }, async (api, signal) => {
    try {
      const send = () => api.post<RegisteredRun>(path, { message });
      return await retryConflicts(send, CLOSING_ATTEMPTS, RETRY_MS, signal);
    } catch (error) {
      if (hasCreatedWorkspace) rmdirSync(options.workspace);
      throw error;
    }
  });
}

async function execute(
  options: Omit<ExternalOptions, 'request' | 'team'>,
  register: (api: ApiClient, signal: AbortSignal) => Promise<RegisteredRun>,
): Promise<number> {
  const harnesses = readHarnessesFile(process.env.HARNESSES_FILE ?? '');
  const api = connect(options.remote);
  const { baseUrl } = await api.getConnection();
  removeFromEnvironment(['HEADRACE_TOKEN']);
  // Handled from here on, so that a signal always cancels the run that is about to be registered.
  const signals = stopSignals(['SIGINT', 'SIGTERM', 'SIGHUP']);
  const run = await register(api, signals.drain);
  const progress = openProgress(options.isJson);
  progress.begin(run, `${new URL(baseUrl).origin}/runs/${run.run_id}`);
  await executeHandover(
    {
      base_url: baseUrl,
      execution_id: run.execution_id,
      token: run.token,
      harnesses,
      place_env: inheritedEnvironment(process.env),
      in_place: { work_dir: options.workspace, home_dir: homedir(), has_snapshots: options.hasSnapshots },
    },
    {
      ...signals,
      log: textLog(),
      stopMeansCancel: true,
      endsWhenIdle: !options.isIdling,
      onEvent: (event) => progress.event(event),
    },
  );
  const end = await endOf(api, run.run_id);
  progress.end(end);
  return exitSoon(end.state === 'SUCCEEDED' ? 0 : 1);
}

function openProgress(isJson: boolean): Progress {
  // The reader of the output may exit first, as in `| head`; the run continues.
  process.stdout.on('error', () => undefined);
  const write = (text: string): void => void process.stdout.write(text);
  return isJson ? new JsonProgress(write) : new ReadableProgress(write);
}

/** The end of the run. The API may need a moment to record it. */
async function endOf(api: ApiClient, runId: string): Promise<RunEnd> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { state, status_message: status } = await api.get<RemoteRun>(runPath(runId));
      return { state, ...(status && { message: status.message }) };
    } catch (error) {
      if (attempt === MAX_ATTEMPTS) return { state: 'UNKNOWN', message: error instanceof Error ? error.message : '' };
      await wait(RETRY_MS * attempt);
    }
  }
}

function textLog(): RunnerLog {
  process.stderr.on('error', () => undefined);
  const say = (message: string, fields: LogFields = {}): void =>
    void process.stderr.write(
      `headrace: ${message}${fields.error === undefined ? '' : ` (${JSON.stringify(fields.error)})`}\n`,
    );
  return { info: () => undefined, warn: say, error: say };
}
