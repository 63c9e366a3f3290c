import { describe, expect, it } from 'vitest';
import type { ConversationNormalizer, Step, StoredProjection } from '#domain/conversations';
import type { RunEvent } from '#execution/runner-protocol';

/** As the database gives it back. */
const stored = (fold: StoredProjection): StoredProjection => JSON.parse(JSON.stringify(fold)) as StoredProjection;
const allSteps = (steps: readonly Step[]): Step[] => steps.flatMap((step) => [step, ...allSteps(step.steps)]);

/** What every normalizer must do with any log whatever. An adapter's spec is one call of this. */
export function conversationNormalizerConformance(name: string, normalizer: ConversationNormalizer): void {
  const open = (fold: StoredProjection = { seq: 0, steps: [] }) => normalizer.open(stored(fold));
  const atOnce = (events: readonly RunEvent[]) => {
    const folding = open();
    folding.add(events);
    return folding;
  };

  describe(`${name} as a conversation normalizer`, async () => {
    // Packages that do not test a normalizer need not install it.
    const [{ default: fc }, { anyRunLog }] = await Promise.all([
      import('fast-check'),
      import('./run-event-arbitrary.js'),
    ]);
    const cutsOf = fc.array(fc.nat(60), { maxLength: 5 }).map((cuts) => cuts.sort((a, b) => a - b));

    it('gives in parts, stored and read between them, what it gives at once', () => {
      fc.assert(
        fc.property(anyRunLog, cutsOf, (events, cuts) => {
          let fold: StoredProjection = { seq: 0, steps: [] };
          for (const [index, from] of [0, ...cuts].entries()) {
            const folding = open(fold);
            folding.add(events.slice(from, cuts[index] ?? events.length));
            fold = folding.state;
          }
          expect(open(fold).render()).toEqual(atOnce(events).render());
        }),
        { numRuns: 300 },
      );
    });

    it('tells which steps have changed, so that the others need not be stored again', () => {
      fc.assert(
        fc.property(anyRunLog, cutsOf, (events, cuts) => {
          const rows: unknown[] = [];
          let seq = 0;
          for (const to of [...cuts, events.length]) {
            const folding = open({ seq, steps: rows });
            folding.add(events.slice(seq, to));
            rows.splice(folding.changedFrom, rows.length, ...stored(folding.state).steps.slice(folding.changedFrom));
            ({ seq } = folding.state);
          }
          expect(rows).toEqual(stored(atOnce(events).state).steps);
        }),
        { numRuns: 300 },
      );
    });

    it('changes nothing when events come twice', () => {
      fc.assert(
        fc.property(anyRunLog, fc.nat(60), (events, from) => {
          const folding = atOnce(events);
          const before = stored(folding.state);
          folding.add(events.slice(from));
          expect(stored(folding.state)).toEqual(before);
        }),
      );
    });

    it('makes messages that say something, in turns, and every action’s result with it', () => {
      fc.assert(
        fc.property(anyRunLog, (events) => {
          const steps = atOnce(events).render();
          for (const { messages } of allSteps(steps)) {
            expect(messages.every(({ content }) => content.length > 0)).toBe(true);
            expect(messages.every(({ role }, index) => role !== messages[index + 1]?.role)).toBe(true);
            const blocks = messages.flatMap(({ content }) => content);
            const actions = blocks.flatMap((block) =>
              block.type === 'action' ? [[block.id, block.name, block.category]] : [],
            );
            const results = blocks.flatMap((block) =>
              block.type === 'action_result' ? [[block.action_id, block.name, block.category]] : [],
            );
            expect(results).toEqual(actions);
          }
          expect(JSON.stringify(steps).isWellFormed()).toBe(true);
        }),
        { numRuns: 300 },
      );
    });
  });
}
