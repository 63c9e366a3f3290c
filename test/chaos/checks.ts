import type { ChaosClient } from './chaos-client.js';
import type { Query } from './drain.js';
import type { Ledger, SentDelivery } from './ledger.js';
import { keyOf, type Witness } from './witness.js';

export interface RunFacts {
  readonly run_id: string;
  readonly state: string;
  readonly metadata?: Record<string, string>;
  readonly schedule?: { readonly schedule_id: string };
  readonly status_message?: { readonly error_code?: string; readonly message: string };
}

/** What must not be, each with the object that it concerns. */
export interface Findings {
  readonly lost: string[];
  readonly doubled: string[];
  readonly wrongEnds: string[];
}

const PAGE = 500;
const MINUTE_MS = 60_000;
/** Ends that a kill explains. FAILED only where the agent itself was killed. */
const LOST_EXECUTION = 'infrastructure_timeout';

/** Every run of the installation, as the API lists them. */
export async function listRuns(client: ChaosClient): Promise<RunFacts[]> {
  const path = `/agent/runs?limit=${PAGE}&sort_by=created_at&sort_order=asc`;
  return pages<RunFacts>(client, path, 'runs');
}

async function pages<T>(client: ChaosClient, path: string, field: string): Promise<T[]> {
  const found: T[] = [];
  for (let cursor = ''; ;) {
    const reply = await client.call('check', 'GET', `${path}${cursor}`);
    if (reply?.status !== 200) throw new Error(`GET ${path} was answered ${reply?.status ?? 'not at all'}.`);
    const body = reply.body as Record<string, unknown> & { page_info: { next_cursor?: string } };
    found.push(...(body[field] as T[]));
    if (body.page_info.next_cursor === undefined) return found;
    cursor = `&cursor=${encodeURIComponent(body.page_info.next_cursor)}`;
  }
}

export interface Installation {
  readonly client: ChaosClient;
  readonly factoryUid: string;
  readonly query: Query;
  readonly witness: Pick<Witness, 'executions'>;
  readonly ledger: Ledger;
  readonly runsOfKilledAgents: ReadonlySet<string>;
}

/** Compares what was sent and answered with what there is once everything has come to its end. */
export async function check(installation: Installation, runs: readonly RunFacts[]): Promise<Findings> {
  const findings: Findings = { lost: [], doubled: [], wrongEnds: [] };
  checkCreates(installation.ledger, runs, findings);
  await checkEnds(installation, runs, findings);
  await checkExecutions(installation, runs, findings);
  await checkDeliveries(installation, runs, findings);
  await checkSchedules(installation, runs, findings);
  return findings;
}

function checkCreates({ creates }: Ledger, runs: readonly RunFacts[], { lost, doubled }: Findings): void {
  const byTag = grouped(runs, (run) => run.metadata?.tag);
  for (const { tag, runId } of creates) {
    const found = byTag.get(tag) ?? [];
    if (runId !== null && !found.some((run) => run.run_id === runId)) lost.push(`${tag}: run ${runId} does not exist`);
    if (found.length > 1) doubled.push(`${tag}: created ${found.length} runs`);
  }
}

/** Every run ended in a documented state, for a reason that the test knows. */
async function checkEnds(
  { client, ledger, runsOfKilledAgents }: Installation,
  runs: readonly RunFacts[],
  findings: Findings,
): Promise<void> {
  for (const { run_id: runId, state, status_message: status } of runs) {
    if (state === 'SUCCEEDED') continue;
    const isExplained =
      (state === 'CANCELLED' && ledger.cancelled.has(runId)) ||
      (state === 'FAILED' && status?.error_code === 'agent_process_failed' && runsOfKilledAgents.has(runId)) ||
      (state === 'ERROR' && status?.error_code === LOST_EXECUTION);
    if (isExplained) continue;
    const events = (await timelineOf(client, runId)).map(({ event_type }) => event_type).join(' ');
    findings.wrongEnds.push(`run ${runId}: ${state} ${JSON.stringify(status)}, after ${events}`);
  }
}

/** A prompt was executed once, unless its run was cancelled or lost before; nothing was executed twice. */
async function checkExecutions(
  { client, ledger, witness }: Installation,
  runs: readonly RunFacts[],
  { lost, doubled }: Findings,
): Promise<void> {
  const executions = witness.executions();
  for (const [key, times] of executions) {
    if (times.length === 1) continue;
    const [runId = ''] = key.split(' ');
    const events = (await timelineOf(client, runId)).map(({ event_type: type, occurred_at: at }) => `${type} ${at}`);
    doubled.push(`${key}: executed ${times.length} times, at ${times.join(', ')}, with ${events.join(', ')}`);
  }
  const known = new Map(runs.map((run) => [run.run_id, run]));
  const wanted = [
    ...ledger.creates.flatMap(({ tag, runId }) => (runId === null ? [] : [{ tag, runId }])),
    ...ledger.followups.filter(({ accepted }) => accepted),
  ];
  for (const { tag, runId } of wanted) {
    const run = known.get(runId);
    if (run?.state !== 'SUCCEEDED' || executions.has(keyOf(runId, tag))) continue;
    // It may have been lost before a later follow-up succeeded.
    const events = await timelineOf(client, runId);
    const isExplained = events.some(({ event_type: type }) => /^run_(failed|errored|cancelled)$/.test(type));
    if (!isExplained) lost.push(`${keyOf(runId, tag)}: the run succeeded, but this prompt was never executed`);
  }
}

async function timelineOf(
  client: ChaosClient,
  runId: string,
): Promise<{ readonly event_type: string; readonly occurred_at: string }[]> {
  const reply = await client.call('check', 'GET', `/agent/runs/${runId}/timeline?limit=500`);
  return reply?.status === 200 ? (reply.body as { events: { event_type: string; occurred_at: string }[] }).events : [];
}

interface LoggedDelivery {
  readonly delivery_id: string;
  readonly outcome: string;
}

/** Each 202 is in the log once, and started one run for each automation that matches. */
async function checkDeliveries(
  { client, factoryUid, ledger }: Installation,
  runs: readonly RunFacts[],
  { lost, doubled }: Findings,
): Promise<void> {
  const started = new Map<string, number>();
  for (const { metadata } of runs) {
    if (metadata?.delivery_id === undefined) continue;
    const key = keyOf(metadata.delivery_id, metadata.automation_id ?? '');
    started.set(key, (started.get(key) ?? 0) + 1);
  }
  for (const [webhookUid, sent] of grouped(ledger.deliveries, (delivery) => delivery.webhookUid)) {
    const path = `/factories/${factoryUid}/webhooks/${webhookUid}/deliveries?limit=100`;
    const logged = await pages<LoggedDelivery>(client, path, 'deliveries');
    const accepted = grouped(
      logged.filter(({ outcome }) => outcome === 'Accepted'),
      (entry) => entry.delivery_id,
    );
    const unknown = new Set(accepted.keys());
    for (const { deliveryId, automationIds } of sent) {
      if (deliveryId === null) continue;
      unknown.delete(deliveryId);
      const entries = accepted.get(deliveryId)?.length ?? 0;
      if (entries === 0) lost.push(`delivery ${deliveryId}: answered 202, but not in the log`);
      if (entries > 1) doubled.push(`delivery ${deliveryId}: ${entries} times in the log`);
      checkStarted(deliveryId, automationIds, started, { lost, doubled });
    }
    for (const deliveryId of unknown) doubled.push(`delivery ${deliveryId}: accepted, but never answered`);
  }
  for (const [key, count] of started) if (count > 0) doubled.push(`${key}: started by a delivery that does not match`);
}

function checkStarted(
  deliveryId: string,
  automationIds: SentDelivery['automationIds'],
  started: Map<string, number>,
  { lost, doubled }: Pick<Findings, 'lost' | 'doubled'>,
): void {
  for (const automationId of automationIds) {
    const key = keyOf(deliveryId, automationId);
    const count = started.get(key) ?? 0;
    started.delete(key);
    if (count === 0) lost.push(`${key}: started no run`);
    if (count > 1) doubled.push(`${key}: started ${count} runs`);
  }
}

interface Firing {
  readonly due_at: Date;
  readonly outcome: string;
  readonly run_id: string | null;
  readonly missed_through: Date | null;
}

/** Each due time started one run, or lies in a recorded outage. */
async function checkSchedules(
  { query, ledger }: Installation,
  runs: readonly RunFacts[],
  { lost, doubled }: Findings,
): Promise<void> {
  const outages = await query<{ from_at: Date; until_at: Date }>('SELECT from_at, until_at FROM timer_outages');
  const bySchedule = grouped(runs, (run) => run.schedule?.schedule_id);
  for (const { id, pausedBetween } of ledger.schedules) {
    const [created] = await query<{ created_at: Date }>('SELECT created_at FROM schedules WHERE uid = $1', [id]);
    const firings = await query<Firing>('SELECT * FROM schedule_firings WHERE schedule_uid = $1', [id]);
    const started = new Set(firings.flatMap(({ run_id }) => run_id ?? []));
    const listed = bySchedule.get(id) ?? [];
    for (const { run_id } of listed)
      if (!started.has(run_id)) doubled.push(`schedule ${id}: run ${run_id} belongs to no due time`);
    for (const runId of started)
      if (!listed.some((run) => run.run_id === runId)) lost.push(`schedule ${id}: run ${runId} does not exist`);
    const [pausedFrom] = pausedBetween ?? [Date.now()];
    const first = Math.ceil((created?.created_at.getTime() ?? 0) / MINUTE_MS) * MINUTE_MS;
    for (let dueAt = first; dueAt < pausedFrom; dueAt += MINUTE_MS) {
      const isStarted = firings.some(({ due_at, outcome }) => outcome === 'started' && due_at.getTime() === dueAt);
      const isMissed = firings.some(
        ({ due_at, missed_through: through }) =>
          through !== null && due_at.getTime() <= dueAt && dueAt <= through.getTime(),
      );
      const isOutage = outages.some(
        ({ from_at, until_at }) => from_at.getTime() <= dueAt && dueAt <= until_at.getTime(),
      );
      if (!isStarted && !(isMissed && isOutage))
        lost.push(`schedule ${id}: nothing started at ${new Date(dueAt).toISOString()}, which lies in no outage`);
    }
  }
}

function grouped<T>(values: readonly T[], keyOfValue: (value: T) => string | undefined): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const key = keyOfValue(value);
    if (key !== undefined) groups.set(key, [...(groups.get(key) ?? []), value]);
  }
  return groups;
}
