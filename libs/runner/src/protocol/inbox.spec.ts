import { expect, it } from 'vitest';
import { CONTINUE_PROMPT, Inbox } from './inbox.js';

it('hears every follow-up once, in order, however often it is said', async () => {
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
