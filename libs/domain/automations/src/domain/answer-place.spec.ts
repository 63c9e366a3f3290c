import { describe, expect, it } from 'vitest';
import type { TriggerEvent } from './trigger.js';
import { answerPlaceOf } from './answer-place.js';
import { readGitlabEvents } from './forge-events/gitlab-event.js';

const note = (attributes: object, fields: object = {}) => {
  const payload = {
    object_kind: 'note',
    user: { username: 'ada' },
    project: { path_with_namespace: 'group/app', web_url: 'https://gitlab.example.com/group/app' },
    object_attributes: { id: 55, note: 'Why?', noteable_type: 'Issue', action: 'create', ...attributes },
    issue: { iid: 23 },
    ...fields,
  };
  const [details] = readGitlabEvents(payload);
  return answerPlaceOf({ provider: 'gitlab', details, readPayload: () => payload } as unknown as TriggerEvent);
};

describe('the place of an answer', () => {
  it('is the object of the event, on its server', () => {
    expect(note({})).toEqual({
      target: {
        provider: 'gitlab',
        host: 'gitlab.example.com',
        repository: 'group/app',
        kind: 'issue',
        number: '23',
      },
      reaction: 'comment/55',
    });
  });

  it('does not exist for comments that only members can read', () => {
    expect(note({ internal: true })).toBeNull();
    expect(note({}, { event_type: 'confidential_note' })).toBeNull();
  });
});
