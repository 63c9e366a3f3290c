import { expect, it } from 'vitest';
import { CONTINUE_PROMPT, Inbox } from '../conversation.js';

it('returns every follow-up once and in order, although it is repeated', async () => {
  const inbox = new Inbox();
  const first = inbox.next();
  inbox.receive([{ followup_id: 'a', message: 'one' }]);
  inbox.receive([
    { followup_id: 'a', message: 'one' },
    { followup_id: 'b', message: ' ', mode: 'plan' },
  ]);
  inbox.receive([
    { followup_id: 'b', message: ' ' },
    { followup_id: 'c', message: 'three' },
  ]);
  expect(await first).toEqual({ text: 'one', followupId: 'a' });
  expect(await inbox.next()).toEqual({ text: CONTINUE_PROMPT, followupId: 'b', mode: 'plan' });
  expect(await inbox.next()).toEqual({ text: 'three', followupId: 'c' });
});

it('accepts only follow-ups for a debug agent after a failed set-up, also when an earlier one becomes one', async () => {
  const inbox = new Inbox();
  inbox.receive([{ followup_id: 'a', message: 'for the run' }]);
  inbox.acceptDebugOnly();
  inbox.receive([
    { followup_id: 'a', message: 'for the run' },
    { followup_id: 'b', message: 'why?', debug: true },
  ]);
  expect(await inbox.next()).toEqual({ text: 'why?', followupId: 'b' });
  inbox.receive([{ followup_id: 'a', message: 'for the run', debug: true }]);
  expect(await inbox.next()).toEqual({ text: 'for the run', followupId: 'a' });
});
