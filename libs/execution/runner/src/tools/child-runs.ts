import { z } from 'zod';
import {
  type ChildRun,
  MAX_AWAITED_RUNS,
  type StartRunAnswer,
  type StartRunRequest,
  type WaitForRunsRequest,
} from '#execution/runner-protocol';
import { truncateUtf8 } from '#platform/kernel';
import { againUnless, type ControlPlane, NoResponseError } from '../protocol/control-plane.js';
import { retry } from '../retry.js';
import { RepeatedCalls } from './repeated-calls.js';
import type { RunTool, ToolResult } from './run-tool.js';
import { untrustedLines } from './untrusted-text.js';

export interface ChildRunsOptions {
  readonly plane: Pick<ControlPlane, 'startRun' | 'childRun' | 'waitForRuns'>;
  readonly redact: (text: string) => string;
  /** Of the execution. */
  readonly signal: AbortSignal;
  /** Of the turn: its end and its interrupt end a wait. */
  readonly turnSignal: () => AbortSignal;
}

const START_MS = 120_000;
const POLL_SECONDS = 25;
const BACK_OFF = { firstMs: 200, maxMs: 3_000 } as const;
const MINUTE_MS = 60_000;
const DEFAULT_TIMEOUT_MINUTES = 60;
/** Bytes of what an agent gets of all runs together. */
const MAX_RESULTS = 32_768;
/** Characters that the results of many runs have at least. */
const MIN_RESULT = 300;
const MAX_PROMPT = 262_144;

const RUN_ID = z.uuid('must be the id of a run, which start_run returns');
const text = (max: number, description: string) => z.string().trim().min(1).max(max).optional().describe(description);

const START = z.object({
  prompt: z
    .string()
    .max(MAX_PROMPT)
    .refine((prompt) => prompt.trim() !== '', 'must not be blank')
    .describe('What the agent of the new run is to do. It knows nothing of this conversation.'),
  title: text(512, 'In a few words. Default: the first line of the prompt.'),
  environment_id: text(64, 'ID of another environment. Default: that of this run.'),
  agent_identity_uid: text(64, 'UID of another agent identity. Default: that of this run.'),
  harness: text(64, 'Another agent, such as `claude` or `codex`. Default: that of this run.'),
  model_id: text(256, 'Another model. Default: that of this run.'),
});
const GET = z.object({ run_id: RUN_ID });
const WAIT = z.object({
  run_ids: z
    .array(RUN_ID)
    .min(1)
    .max(MAX_AWAITED_RUNS)
    .optional()
    .describe('Default: all runs that you have started and whose results you have not got yet.'),
  timeout_minutes: z
    .number()
    .int()
    .min(1)
    .max(1_440)
    .default(DEFAULT_TIMEOUT_MINUTES)
    .describe('After this time the states so far are returned.'),
});

/** The tools for runs that an agent starts. Not used at the same time by two executions. */
export class ChildRunTools {
  private readonly starting = new RepeatedCalls<StartRunAnswer>();
  /** Runs of this execution whose results no call has returned. */
  private readonly unreported = new Set<string>();
  /** One wait after the other: the end of one would take the slot back from the runs that another one waits for. */
  private lastWait: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: ChildRunsOptions) {}

  get tools(): readonly RunTool[] {
    return [
      {
        name: 'start_run',
        title: 'Start a run',
        description:
          'Starts another run with its own agent and workspace, and returns its id at once. Use wait_for_runs for its result. The number of runs is limited.',
        input: START,
        execute: (input, signal) => this.start(START.parse(input), signal),
      },
      {
        name: 'get_run',
        title: 'Get a run',
        description: 'Returns the state of a run that this run has started, and its result if it has ended.',
        input: GET,
        execute: (input) => this.get(GET.parse(input).run_id),
      },
      {
        name: 'wait_for_runs',
        title: 'Wait for runs',
        description:
          'Waits until the runs that you have started have ended, and returns their results. This can take hours. If the call times out, use it again with exactly the same input.',
        input: WAIT,
        execute: (input, signal) => this.wait(WAIT.parse(input), signal),
      },
    ];
  }

  private async start(input: z.infer<typeof START>, signal: AbortSignal): Promise<ToolResult> {
    const { redact } = this.options;
    const { title, ...rest } = input;
    const request = { ...rest, prompt: redact(input.prompt), ...(title !== undefined && { title: redact(title) }) };
    try {
      const answer = await this.starting.call(JSON.stringify(input), signal, (key) =>
        this.request({ ...request, key }),
      );
      if ('problem' in answer) return { text: `The run was not started. ${answer.problem}`, isError: true };
      return { text: `The run was started.\nrun_id: ${answer.run_id}\nstate: ${answer.state}\ntitle: ${answer.title}` };
    } catch (error) {
      return noResponse(error);
    }
  }

  private async request(request: Omit<StartRunRequest, 'lease_epoch'>): Promise<StartRunAnswer> {
    const end = AbortSignal.any([this.options.signal, AbortSignal.timeout(START_MS)]);
    const answer = await retry(() => this.options.plane.startRun(request), {
      ...BACK_OFF,
      signal: end,
      again: againUnless(end),
    });
    if ('run_id' in answer) this.unreported.add(answer.run_id);
    return answer;
  }

  private async get(runId: string): Promise<ToolResult> {
    try {
      const answer = await this.options.plane.childRun(runId);
      if ('problem' in answer) return { text: answer.problem, isError: true };
      return { text: resultsOf([answer.run]).join('\n') };
    } catch (error) {
      return noResponse(error);
    }
  }

  private wait(input: z.infer<typeof WAIT>, signal: AbortSignal): Promise<ToolResult> {
    const deadline = performance.now() + input.timeout_minutes * MINUTE_MS;
    const end = AbortSignal.any([signal, this.options.turnSignal(), this.options.signal]);
    const result = this.lastWait.then(() => this.waitUntil(input.run_ids, deadline, end));
    this.lastWait = result.catch(() => undefined);
    return result;
  }

  private async waitUntil(
    wanted: readonly string[] | undefined,
    deadline: number,
    signal: AbortSignal,
  ): Promise<ToolResult> {
    // Until the first answer names all runs.
    let active = wanted === undefined;
    let runIds = [...(wanted ?? this.unreported)].slice(0, MAX_AWAITED_RUNS);
    while (!signal.aborted) {
      const leftSeconds = (deadline - performance.now()) / 1000;
      const mode = leftSeconds > 0 ? 'wait' : 'end';
      const wait = mode === 'end' ? POLL_SECONDS : Math.ceil(Math.min(POLL_SECONDS, leftSeconds));
      const request = { run_ids: runIds, active, mode, wait } as const;
      const answer = await this.poll(request, signal);
      if (answer === null) break;
      if ('problem' in answer) return { text: answer.problem, isError: true };
      ({ run_ids: runIds } = answer);
      active = false;
      if (answer.is_over) return this.waited(answer.runs);
    }
    await this.abandon();
    return { text: 'The wait was interrupted. The runs continue.', isError: true };
  }

  /** Null: aborted. */
  private async poll(request: Omit<WaitForRunsRequest, 'lease_epoch'>, signal: AbortSignal) {
    try {
      return await retry(() => this.options.plane.waitForRuns(request, signal), {
        ...BACK_OFF,
        signal,
        again: againUnless(signal),
      });
    } catch (error) {
      if (signal.aborted) return null;
      throw error;
    }
  }

  /** The agent continues: its execution needs a slot again. */
  private async abandon(): Promise<void> {
    const { signal, plane } = this.options;
    if (signal.aborted) return;
    const request = { run_ids: [], mode: 'abandon' as const, wait: 0 };
    await retry(() => plane.waitForRuns(request, signal), { ...BACK_OFF, signal, again: againUnless(signal) }).catch(
      (error: unknown) => {
        if (!signal.aborted) throw error;
      },
    );
  }

  private waited(runs: readonly ChildRun[]): ToolResult {
    if (runs.length === 0)
      return { text: 'There is no run to wait for: this run has started none that has not ended.' };
    const ended = runs.filter(({ has_ended: hasEnded }) => hasEnded);
    for (const { run_id: id } of ended) this.unreported.delete(id);
    const rest = ended.length < runs.length ? ' The timeout has passed; the others continue.' : '';
    return { text: [`${ended.length} of ${runs.length} runs have ended.${rest}`, ...resultsOf(runs)].join('\n') };
  }
}

/** What other agents have written is data for this one. Lines say what was cut. */
function resultsOf(runs: readonly ChildRun[]): string[] {
  const share = Math.max(MIN_RESULT, Math.floor((MAX_RESULTS * 0.75) / runs.length));
  const cut: string[] = [];
  const shown = runs.map(({ result, artifacts, ...run }) => {
    if (result === undefined) return { ...run, artifacts };
    const part = truncateUtf8(result, share);
    if (part.truncated) cut.push(run.run_id);
    return { ...run, result: part.text, artifacts };
  });
  const whole = truncateUtf8(JSON.stringify(shown, null, 2), MAX_RESULTS);
  return [
    ...untrustedLines('untrusted-results', whole.text),
    ...(cut.length > 0 ? [`Results are cut after ${share} bytes: ${cut.join(', ')}.`] : []),
    ...(whole.truncated ? [`All of it is cut after ${MAX_RESULTS} bytes. Use get_run for the other runs.`] : []),
  ];
}

export function noResponse(error: unknown): ToolResult {
  if (!(error instanceof NoResponseError)) throw error;
  return {
    text: 'The service does not respond. Use the tool again later, with exactly the same input.',
    isError: true,
  };
}
