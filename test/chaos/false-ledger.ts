import { check, type Findings, type Installation, type RunFacts } from './checks.js';
import type { Query } from './drain.js';
import { Ledger } from './ledger.js';

type Kind = keyof Findings;

/** One thing that must not be, made up, and the kind of finding that it has to lead to. */
interface Falsification {
  readonly name: string;
  readonly kind: Kind;
  readonly installation?: Partial<Installation>;
  readonly runs?: readonly RunFacts[];
}

const UNKNOWN_ID = '00000000-0000-7000-8000-000000000000';

/**
 * Checks that could not find anything prove nothing: compares falsified records of an installation without findings.
 * Returns the falsifications that were not found. What did not occur, such as a due time in a short test, is left out.
 */
export async function undetectedFalsifications(
  installation: Installation,
  runs: readonly RunFacts[],
): Promise<string[]> {
  const undetected: string[] = [];
  for (const { name, kind, ...changed } of falsifications(installation, runs)) {
    const findings = await check({ ...installation, ...changed.installation }, changed.runs ?? runs);
    if (findings[kind].length === 0) undetected.push(name);
  }
  return undetected;
}

function falsifications(installation: Installation, runs: readonly RunFacts[]): Falsification[] {
  const { ledger, witness } = installation;
  const executions = witness.executions();
  // A follow-up may have succeeded after the prompt of the run itself was lost.
  const followed = new Set(ledger.followups.map(({ runId }) => runId));
  const succeeded = runs.find(
    ({ run_id: runId, state, metadata }) =>
      state === 'SUCCEEDED' && metadata?.tag?.startsWith('create-') && !followed.has(runId),
  );
  const triggered = runs.find(({ metadata }) => metadata?.delivery_id !== undefined);
  const scheduled = runs.find(({ schedule }) => schedule !== undefined);
  const delivery = ledger.deliveries.find(({ deliveryId }) => deliveryId !== null);
  const without = (left: RunFacts): RunFacts[] => runs.filter((run) => run !== left);
  const found: Falsification[] = [
    {
      name: 'a run that was answered and does not exist',
      kind: 'lost',
      installation: {
        ledger: changed(ledger, { creates: [{ tag: 'create-0', idempotencyKey: null, runId: UNKNOWN_ID }] }),
      },
    },
  ];
  if (succeeded !== undefined) {
    const isOfRun = ([key]: [string, unknown]): boolean => key.startsWith(succeeded.run_id);
    found.push(
      { name: 'a create that made two runs', kind: 'doubled', runs: [...runs, { ...succeeded, run_id: UNKNOWN_ID }] },
      {
        name: 'a prompt that was executed twice',
        kind: 'doubled',
        installation: {
          witness: { executions: () => new Map([...executions].map(([key, times]) => [key, [...times, ...times]])) },
        },
      },
      {
        name: 'a prompt that was never executed',
        kind: 'lost',
        installation: {
          witness: { executions: () => new Map([...executions].filter((entry) => !isOfRun(entry))) },
        },
      },
      {
        name: 'a run that failed without a kill',
        kind: 'wrongEnds',
        runs: [...without(succeeded), { ...succeeded, state: 'FAILED' }],
      },
    );
  }
  if (delivery !== undefined) {
    const others = ledger.deliveries.filter((sent) => sent !== delivery);
    found.push(
      {
        name: 'a delivery that is not in the log',
        kind: 'lost',
        installation: { ledger: changed(ledger, { deliveries: [...others, { ...delivery, deliveryId: UNKNOWN_ID }] }) },
      },
      {
        name: 'a delivery that was accepted and never answered',
        kind: 'doubled',
        installation: {
          ledger: changed(ledger, { deliveries: [...others, { ...delivery, deliveryId: null }] }),
        },
      },
    );
  }
  if (triggered !== undefined)
    found.push(
      { name: 'a delivery that started two runs', kind: 'doubled', runs: [...runs, triggered] },
      { name: 'a delivery that started no run', kind: 'lost', runs: without(triggered) },
    );
  if (scheduled !== undefined)
    found.push(
      { name: 'a due time whose run does not exist', kind: 'lost', runs: without(scheduled) },
      {
        name: 'a run of a schedule without a due time',
        kind: 'doubled',
        runs: [...runs, { ...scheduled, run_id: UNKNOWN_ID }],
      },
      {
        name: 'due times that started nothing',
        kind: 'lost',
        installation: { query: withoutFirings(installation.query) },
      },
    );
  return found;
}

function changed(ledger: Ledger, lists: Partial<Pick<Ledger, 'creates' | 'deliveries'>>): Ledger {
  return Object.assign(new Ledger(), ledger, lists);
}

/** The database as if no firing of a schedule had been recorded. */
function withoutFirings(query: Query): Query {
  return async (text, values) => (text.includes('FROM schedule_firings') ? [] : query(text, values));
}
