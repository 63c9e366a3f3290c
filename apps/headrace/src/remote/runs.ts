import { printable } from '../cli/output.js';

export interface RemoteRun {
  readonly run_id: string;
  readonly title: string;
  readonly state: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly run_time?: string;
  readonly session_link?: string;
  readonly source?: string;
  readonly rerun_of?: string;
  readonly status_message?: { readonly message: string; readonly error_code?: string; readonly detail?: string };
  readonly creator?: { readonly display_name?: string; readonly email?: string };
  readonly agent_config?: {
    readonly model_id?: string;
    readonly harness?: { readonly type?: string };
    readonly worker_host?: string;
  };
  readonly artifacts?: readonly { readonly artifact_type: string; readonly data: Readonly<Record<string, unknown>> }[];
  readonly request_usage?: { readonly inference_cost_usd?: number; readonly total_tokens?: number };
}

export interface RemoteRunPage {
  readonly runs: readonly RemoteRun[];
  readonly page_info: { readonly next_cursor?: string };
}

export const ENDED_STATES: readonly string[] = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];

/** A path segment: what was typed cannot name another resource. */
export const runPath = (runId: string, rest = ''): string => `/agent/runs/${encodeURIComponent(runId)}${rest}`;

export function renderRun(run: RemoteRun): string {
  const { status_message: status, agent_config: config, request_usage: usage } = run;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['Run', run.run_id],
    ['Title', run.title],
    ['State', run.state],
    ['Message', status && [status.message, status.error_code && `(${status.error_code})`].filter(Boolean).join(' ')],
    ['Detail', status?.detail?.split('\n', 1)[0]],
    ['Page', run.session_link],
    ['Source', run.source],
    ['Creator', run.creator?.display_name ?? run.creator?.email],
    ['Agent', config?.harness?.type],
    ['Model', config?.model_id],
    ['Worker host', config?.worker_host],
    ['Rerun of', run.rerun_of],
    ['Created', run.created_at],
    ['Updated', run.updated_at],
    ['Run time', run.run_time],
    ['Tokens', usage?.total_tokens?.toString()],
    ['Cost', usage?.inference_cost_usd === undefined ? undefined : `${usage.inference_cost_usd} USD`],
    ...(run.artifacts ?? []).map(({ artifact_type: type, data }) => {
      const name = [data['url'], data['filename'], data['title'], data['artifact_uid']].find(
        (value) => typeof value === 'string',
      );
      return ['Artifact', `${type} ${typeof name === 'string' ? name : ''}`] as const;
    }),
  ];
  const width = Math.max(...facts.map(([name]) => name.length));
  // Messages can have several lines. An indented line cannot be taken for another fact.
  const shown = (value: string) =>
    value
      .split('\n')
      .map(printable)
      .join(`\n${' '.repeat(width + 2)}`);
  return facts.flatMap(([name, value]) => (value ? [`${name.padEnd(width)}  ${shown(value)}`] : [])).join('\n');
}
