import { expect, it } from 'vitest';
import { cancelled, closed, failed, fenced, Halted, Interruption } from './termination.js';

it('the first word stands; a later one only makes it quicker', async () => {
  const interruption = new Interruption();
  const waiting = interruption.orHalt(new Promise(() => undefined));
  interruption.decide(cancelled('ladder', 'by a person'));
  await expect(waiting).rejects.toBeInstanceOf(Halted);
  expect(interruption.urgent.aborted).toBe(false);
  interruption.decide(failed('agent_process_failed', 'because it was told to stop'));
  expect(interruption.ending).toMatchObject({ manner: 'kill', report: { outcome: 'cancelled' } });
  expect(interruption.urgent.aborted).toBe(true);
  interruption.decide(closed());
  expect(interruption.ending?.manner).toBe('kill');
  interruption.decide(fenced());
  expect(interruption.isFenced).toBe(true);
});

it('does not disturb what is done in time', async () => {
  expect(await new Interruption().orHalt(Promise.resolve(5))).toBe(5);
});
