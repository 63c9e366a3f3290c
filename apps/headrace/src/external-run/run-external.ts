import { homedir } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { readHarnessesFile, type LogFields, type RunnerLog } from '#execution/runner';
import { carryOut } from '../runner-door/carry-out.js';
import { leave } from '../runner-door/json-log.js';
import { placeEnvironment } from '../runner-door/place-environment.js';
import { stopSignals } from '../runner-door/stop-signals.js';
import { takeFromEnvironment } from '../runner-door/take-from-environment.js';
import type { ApiClient } from '../remote/api-client.js';
import { connect } from '../remote/connect.js';
import { readExternalOptions } from './external-options.js';
import { JsonProgress, type Progress, type ToldEnd, type ToldRun } from './progress.js';
import { ReadableProgress } from './readable-progress.js';
import { runOrigin } from './run-origin.js';

interface RegisteredRun extends ToldRun {
  readonly token: string;
}

/** Nothing of the execution is left by then. */
const ASK_AGAIN_MS = 500;
const ASK_TIMES = 6;

/**
 * Registers a run with the API and carries it out here, as the person who started the command and in a directory of
 * theirs. Exit codes: 0 the run SUCCEEDED, 1 anything else, 2 wrong use.
 */
export async function runExternal(args: readonly string[]): Promise<number> {
  const options = readExternalOptions(args);
  const harnesses = readHarnessesFile(process.env.HARNESSES_FILE ?? '');
  const api = await connect(options.remote);
  takeFromEnvironment(['HEADRACE_TOKEN']);
  // From here on, so that nobody is left with a run that they wanted to stop.
  const signals = stopSignals(['SIGINT', 'SIGTERM', 'SIGHUP']);
  const body = { ...options.request, ...runOrigin(process.env) };
  const run = await api.request<RegisteredRun>('POST', '/agent/runs/external', body, options.team);
  const progress = openProgress(options.isJson);
  progress.begin(run, `${new URL(api.baseUrl).origin}/runs/${run.run_id}`);
  await carryOut(
    {
      base_url: api.baseUrl,
      execution_id: run.execution_id,
      token: run.token,
      harnesses,
      place_env: placeEnvironment(process.env),
      in_place: { work_dir: options.workspace, home_dir: homedir() },
    },
    {
      ...signals,
      log: complaints(),
      stopMeansCancel: true,
      endsWhenIdle: !options.isIdling,
      onEvent: (event) => progress.event(event),
    },
  );
  const end = await endOf(api, run.run_id);
  progress.end(end);
  return leave(end.state === 'SUCCEEDED' ? 0 : 1);
}

function openProgress(isJson: boolean): Progress {
  // Whoever reads may go away, as `| head` does; the run goes on.
  process.stdout.on('error', () => undefined);
  const write = (text: string): void => void process.stdout.write(text);
  return isJson ? new JsonProgress(write) : new ReadableProgress(write);
}

/** What has become of the run. The state of one that is lost shows only when the API has noticed. */
async function endOf(api: ApiClient, runId: string): Promise<ToldEnd> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { state, status_message: status } = await api.request<RemoteRun>('GET', `/agent/runs/${runId}`);
      return { state, ...(status === undefined ? {} : { message: status.message }) };
    } catch (error) {
      if (attempt === ASK_TIMES) return { state: 'UNKNOWN', message: error instanceof Error ? error.message : '' };
      await wait(ASK_AGAIN_MS * attempt);
    }
  }
}

interface RemoteRun {
  readonly state: string;
  readonly status_message?: { readonly message: string };
}

/** What the runner has to complain of, as people read it. */
function complaints(): RunnerLog {
  process.stderr.on('error', () => undefined);
  const say = (message: string, fields: LogFields = {}): void =>
    void process.stderr.write(
      `headrace: ${message}${fields.error === undefined ? '' : ` (${String(fields.error)})`}\n`,
    );
  return { info: () => undefined, warn: say, error: say };
}
