import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyRunLog, conversationNormalizerConformance } from '#testing';
import { HeadraceEventsNormalizer } from '../application/normalizer-registry.js';
import { ACTION_CATEGORIES, type Block, type Step } from './conversation.js';
import { projectConversation, projectFrom } from '#testing';
import { EMPTY_PROJECTION } from './projection-state.js';

conversationNormalizerConformance('HeadraceEventsNormalizer', new HeadraceEventsNormalizer());

const allSteps = (steps: Step[]): Step[] => steps.flatMap((step) => [step, ...allSteps(step.steps)]);
const allBlocks = (steps: Step[]): Block[] =>
  allSteps(steps).flatMap((step) => step.messages.flatMap((message) => message.content));

describe('the projection of any log', () => {
  it('assigns every action to the category of its name', () => {
    fc.assert(
      fc.property(anyRunLog, (events) => {
        for (const block of allBlocks(projectConversation('c', events).steps)) {
          if (block.type === 'action') expect(block.category).toBe(ACTION_CATEGORIES[block.name]);
        }
      }),
    );
  });

  it('leaves no call running after the end of the run or of its step', () => {
    const end = { run_id: 'r', execution_id: null, kind: 'run_errored' as const, at: new Date(0), data: {} };
    fc.assert(
      fc.property(anyRunLog, (events) => {
        const { steps } = projectConversation('c', [...events, { ...end, seq: events.length + 1 }]);
        const states = allBlocks(steps).flatMap((block) => (block.type === 'action_result' ? [block.state] : []));
        expect(states).not.toContain('running');
      }),
    );
  });

  it('does not change the state that it continues from', () => {
    fc.assert(
      fc.property(anyRunLog, fc.nat(60), (events, cut) => {
        const state = projectFrom(EMPTY_PROJECTION, events.slice(0, cut));
        const before = structuredClone(state);
        projectFrom(state, events.slice(cut));
        expect(state).toEqual(before);
      }),
    );
  });
});
