import { describe, expect, it } from 'vitest';
import { type FollowupSituation, routeFollowup } from './followup-routing.js';
import { RUN_STATES } from './run-state.js';

type Expected = 'queued_prompt' | 'live_session' | 'handoff_execution' | 'queue_pending' | 'nothing_to_continue';

/** Contract, "Follow-up": state × session × conversation → where the message goes. */
const TABLE: readonly [FollowupSituation['state'], FollowupSituation['session'], boolean, Expected][] = [
  ['QUEUED', 'none', false, 'queued_prompt'],
  ['QUEUED', 'none', true, 'queued_prompt'],
  ['QUEUED', 'stopping', true, 'queued_prompt'],
  ['PENDING', 'open', false, 'queue_pending'],
  ['CLAIMED', 'open', false, 'queue_pending'],
  ['INPROGRESS', 'open', true, 'live_session'],
  ['BLOCKED', 'open', true, 'live_session'],
  ['BLOCKED', 'none', true, 'handoff_execution'],
  ['BLOCKED', 'none', false, 'nothing_to_continue'],
  ['SUCCEEDED', 'open', true, 'live_session'],
  ['SUCCEEDED', 'stopping', true, 'handoff_execution'],
  ['SUCCEEDED', 'none', true, 'handoff_execution'],
  ['SUCCEEDED', 'none', false, 'nothing_to_continue'],
  ['FAILED', 'open', true, 'live_session'],
  ['FAILED', 'debug', false, 'live_session'],
  ['FAILED', 'debug', true, 'live_session'],
  ['FAILED', 'stopping', true, 'handoff_execution'],
  ['FAILED', 'stopping', false, 'nothing_to_continue'],
  ['FAILED', 'none', true, 'handoff_execution'],
  ['FAILED', 'none', false, 'nothing_to_continue'],
  ['ERROR', 'open', true, 'handoff_execution'],
  ['ERROR', 'none', true, 'handoff_execution'],
  ['ERROR', 'none', false, 'nothing_to_continue'],
  ['CANCELLED', 'stopping', true, 'handoff_execution'],
  ['CANCELLED', 'none', true, 'handoff_execution'],
  ['CANCELLED', 'none', false, 'nothing_to_continue'],
];

describe('follow-up routing', () => {
  it.each(TABLE)('%s, session %s, conversation %s → %s', (state, session, hasConversation, expected) => {
    const decision = routeFollowup({ state, session, hasConversation, isMessageEmpty: false });
    expect('outcome' in decision ? decision.outcome : decision.refuse).toBe(expected);
  });

  it('knows a debug window of failed runs only: elsewhere it counts as closed', () => {
    for (const state of RUN_STATES.filter((candidate) => candidate !== 'FAILED')) {
      const rest = { state, hasConversation: true, isMessageEmpty: false } as const;
      expect(routeFollowup({ ...rest, session: 'debug' })).toEqual(routeFollowup({ ...rest, session: 'stopping' }));
    }
  });

  it('takes an empty message only when a saved conversation continues', () => {
    for (const state of RUN_STATES) {
      for (const session of ['open', 'debug', 'stopping', 'none'] as const) {
        const full = routeFollowup({ state, session, hasConversation: true, isMessageEmpty: false });
        const empty = routeFollowup({ state, session, hasConversation: true, isMessageEmpty: true });
        const continues = 'outcome' in full && full.outcome === 'handoff_execution';
        expect([state, session, empty]).toEqual([state, session, continues ? full : { refuse: 'empty_message' }]);
      }
    }
  });
});
