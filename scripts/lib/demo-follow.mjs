import { setTimeout as delay } from 'node:timers/promises';
import { DemoFailed } from './api.mjs';
import { printNewEvents } from './demo-print.mjs';

const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];
const PATIENCE_MS = 120_000;

/** Run → how many of its timeline events stand on the screen. */
const printedEvents = new Map();

export const expect = (condition, message) => {
  if (!condition) throw new DemoFailed(message);
};

export const hasEnded = ({ state }) => ENDED.includes(state);

/** What `look` answers once it is something; fails when that takes too long. */
export async function until(look, complaint) {
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await delay(200)) {
    const found = await look();
    if (found) return found;
  }
  throw new DemoFailed(`${complaint()} after ${PATIENCE_MS / 1000} s.`);
}

/** Follows a run until `isDone(run, events)`, printing states and timeline events as they come. */
export async function follow(api, id, isDone) {
  let state = '';
  const look = async () => {
    const [run, events] = [await api.run(id), await api.timeline(id)];
    printedEvents.set(id, printNewEvents(events, printedEvents.get(id) ?? 0));
    if (run.state !== state) console.log(`   state: ${run.state}`);
    state = run.state;
    return isDone(run, events) ? run : null;
  };
  return until(look, () => `Run ${id} is still ${state}`);
}

/** Follows a run to its end, which has to be a good one. */
export async function followToSuccess(api, id) {
  const run = await follow(api, id, hasEnded);
  expect(run.state === 'SUCCEEDED', `The run ended ${run.state}: ${JSON.stringify(run.status_message)}`);
  return run;
}
