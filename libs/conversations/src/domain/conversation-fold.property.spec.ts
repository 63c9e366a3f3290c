import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyRunLog } from '#libs/testing';
import type { Block, Step } from './conversation.js';
import { ACTION_CATEGORIES } from './conversation.js';
import { ConversationFold, foldConversation, foldFrom } from './conversation-fold.js';
import { EMPTY_FOLD, type FoldState } from './fold-state.js';

const blocksOf = (step: Step): Block[] => step.messages.flatMap((message) => message.content);
const allSteps = (steps: Step[]): Step[] => steps.flatMap((step) => [step, ...allSteps(step.steps)]);
const stored = (state: FoldState): FoldState => JSON.parse(JSON.stringify(state)) as FoldState;

describe('the fold over any log', () => {
  it('gives in parts, stored and read between them, what it gives at once', () => {
    fc.assert(
      fc.property(anyRunLog, fc.array(fc.nat(60), { maxLength: 5 }), (events, cuts) => {
        let state: FoldState = stored(EMPTY_FOLD);
        const bounds = [0, ...cuts.sort((a, b) => a - b), events.length];
        for (const [index, from] of bounds.entries()) {
          state = stored(foldFrom(state, events.slice(from, bounds[index + 1])));
        }
        expect(new ConversationFold(state).render()).toEqual(foldConversation('c', events).steps);
      }),
      { numRuns: 300 },
    );
  });

  it('tells which steps have changed, so that the others need not be stored again', () => {
    fc.assert(
      fc.property(anyRunLog, fc.array(fc.nat(60), { maxLength: 5 }), (events, cuts) => {
        const rows: FoldState['steps'] = [];
        let seq = 0;
        for (const to of [...cuts.sort((a, b) => a - b), events.length]) {
          const fold = new ConversationFold(stored({ seq, steps: rows }));
          fold.add(events.slice(seq, to));
          const { state, changedFrom } = fold;
          rows.splice(changedFrom, rows.length, ...stored(state).steps.slice(changedFrom));
          seq = state.seq;
        }
        expect(rows).toEqual(stored(foldFrom(EMPTY_FOLD, events)).steps);
      }),
      { numRuns: 500 },
    );
  });

  it('changes nothing when events come twice', () => {
    fc.assert(
      fc.property(anyRunLog, fc.nat(60), (events, from) => {
        const once = foldFrom(EMPTY_FOLD, events);
        expect(foldFrom(once, events.slice(from))).toEqual(once);
      }),
    );
  });

  it('keeps its shape: one result right after each action, no empty message, roles in turn, text that stores', () => {
    fc.assert(
      fc.property(anyRunLog, (events) => {
        const { steps } = foldConversation('c', events);
        for (const step of allSteps(steps)) {
          expect(step.messages.every((message) => message.content.length > 0)).toBe(true);
          expect(step.messages.every(({ role }, index) => role !== step.messages[index + 1]?.role)).toBe(true);
          const parts = blocksOf(step).filter((block) => block.type === 'action' || block.type === 'action_result');
          for (const [index, block] of parts.entries()) {
            expect(block.category).toBe(ACTION_CATEGORIES[block.name]);
            const next = parts[index + 1];
            if (block.type === 'action')
              expect(next).toMatchObject({ type: 'action_result', action_id: block.id, name: block.name });
          }
        }
        expect(JSON.stringify(steps).isWellFormed()).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('leaves no call running when the run has ended, nor in a step that another one follows', () => {
    fc.assert(
      fc.property(anyRunLog, (events) => {
        const ended = [
          ...events,
          { ...(events.at(-1) ?? first), seq: events.length + 1, kind: 'run_errored' as const, data: {} },
        ];
        const { steps } = foldConversation('c', ended);
        const states = allSteps(steps).flatMap((step) =>
          blocksOf(step).flatMap((block) => (block.type === 'action_result' ? [block.state] : [])),
        );
        expect(states).not.toContain('running');
      }),
    );
  });
});

const first = { run_id: 'r', seq: 1, execution_id: null, kind: 'run_created' as const, at: new Date(0), data: {} };
