import { expect, it } from 'vitest';
import { cancelled, closed, failed, fenced, TerminatedError, Termination } from './termination.js';

it('keeps the first decision; a later one can only make it faster', async () => {
  const termination = new Termination();
  const waiting = termination.race(new Promise(() => undefined));
  termination.decide(cancelled('graceful', 'by a person'));
  await expect(waiting).rejects.toBeInstanceOf(TerminatedError);
  expect(termination.urgent.aborted).toBe(false);
  termination.decide(failed('agent_process_failed', 'because it was stopped'));
  expect(termination.ending).toMatchObject({ stopMode: 'kill', report: { outcome: 'cancelled' } });
  expect(termination.urgent.aborted).toBe(true);
  termination.decide(closed());
  expect(termination.ending?.stopMode).toBe('kill');
  termination.decide(fenced());
  expect(termination.isFenced).toBe(true);
});

it('returns results that are ready before the termination', async () => {
  expect(await new Termination().race(Promise.resolve(5))).toBe(5);
});
