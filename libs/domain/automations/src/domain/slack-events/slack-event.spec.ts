import { describe, expect, it } from 'vitest';
import { eventsOf, readSlackCommand, readSlackMessage, withoutMentions } from './slack-event.js';

const BOT = 'U0LAN0Z89';
const callback = (event: object, envelope: object = {}) => ({
  type: 'event_callback',
  team_id: 'T061EG9R6',
  api_app_id: 'A0PNCHHK2',
  authorizations: [{ team_id: 'T061EG9R6', user_id: BOT, is_bot: true }],
  event: {
    type: 'app_mention',
    team: 'T061EG9R6',
    user: 'U061F7AUR',
    channel: 'C024BE91L',
    text: `<@${BOT}> Why is <@U061F7AUR> here?`,
    ts: '1515449522.000016',
    ...event,
  },
  ...envelope,
});

describe('a message of Slack', () => {
  it('has its text without the mention of the app, and a thread', () => {
    const message = readSlackMessage(callback({}));
    expect(message).toEqual({
      kind: 'mention',
      team: 'T061EG9R6',
      channel: 'C024BE91L',
      user: 'U061F7AUR',
      isForeign: false,
      text: 'Why is <@U061F7AUR> here?',
      ts: '1515449522.000016',
      threadTs: '1515449522.000016',
    });
    expect(readSlackMessage(callback({ thread_ts: '1515449000.000001' }))?.threadTs).toBe('1515449000.000001');
    expect(message && withoutMentions(callback({}), message)).toMatchObject({ event: { text: message?.text } });
  });

  it.each([
    ['of this app', { user: BOT }],
    ['of an app', { bot_id: 'B1' }],
    ['of this app as a user', { app_id: 'A0PNCHHK2' }],
    ['of Slackbot', { user: 'USLACKBOT' }],
    ['that was edited', { type: 'message', subtype: 'message_changed' }],
    ['that was deleted', { type: 'message', subtype: 'message_deleted' }],
    ['with an edited mention', { edited: {} }],
    [
      'of a channel that mentions the app, which is sent as a mention too',
      { type: 'message', channel_type: 'channel' },
    ],
    ['without a valid id', { channel: '../C1' }],
    ['without a valid time', { ts: '1515449522' }],
  ])('%s is not read', (_name, event) => {
    expect(readSlackMessage(callback(event))).toBeNull();
  });

  it('without the user of the app is not read', () => {
    expect(readSlackMessage(callback({}, { authorizations: [] }))).toBeNull();
    expect(readSlackMessage(null)).toBeNull();
  });

  it.each([
    ['has another workspace', { user_team: 'T0OTHER' }, {}, true],
    ['has another source', { source_team: 'T0OTHER' }, {}, true],
    ['has the same workspace in a shared channel', { user_team: 'T061EG9R6' }, { is_ext_shared_channel: true }, false],
    ['has no workspace in a shared channel', { team: undefined }, { is_ext_shared_channel: true }, true],
    ['has no workspace, in another one', { team: undefined }, { team_id: 'T0OTHER' }, true],
    ['has no workspace', { team: undefined }, {}, false],
  ])('of a user who %s', (_name, event, envelope, isForeign) => {
    expect(readSlackMessage(callback(event, envelope))?.isForeign).toBe(isForeign);
  });

  it.each([
    ['a mention', {}, true, ['mention']],
    ['a mention in a thread', { thread_ts: '1.000001' }, true, ['mention']],
    ['a direct message', { type: 'message', channel_type: 'im' }, false, ['direct_message']],
    [
      'a direct message in a thread',
      { type: 'message', channel_type: 'im', thread_ts: '1.000001' },
      true,
      ['reply', 'direct_message'],
    ],
    ['a reply', { type: 'message', text: 'Hi', thread_ts: '1.000001' }, true, ['reply']],
    ['a reply without a run', { type: 'message', text: 'Hi', thread_ts: '1.000001' }, false, []],
    ['a message', { type: 'message', text: 'Hi' }, true, []],
  ])('%s is these events', (_name, event, isOfRun, expected) => {
    const message = readSlackMessage(callback(event));
    expect(message && eventsOf(message, isOfRun).map((one) => one.event)).toEqual(expected);
  });
});

describe('a command of Slack', () => {
  const FORM = { command: '/headrace', text: ' fix it ', team_id: 'T1', channel_id: 'C1', user_id: 'U1' };

  it('has its text, the channel and the person', () => {
    const expected = { event: 'command', team: 'T1', channel: 'C1', user: 'U1', isForeign: false };
    expect(readSlackCommand(FORM)).toEqual({ ...expected, text: 'fix it', command: '/headrace' });
    expect(readSlackCommand({ ...FORM, text: undefined })?.text).toBe('');
  });

  it.each([
    ['without a slash', { command: 'headrace' }],
    ['without a name', { command: '/' }],
    ['with a blank', { command: '/head race' }],
    ['without a person', { user_id: undefined }],
    ['with a forged id', { channel_id: 'C1:U2' }],
  ])('%s is none', (_what, change) => {
    expect(readSlackCommand({ ...FORM, ...change })).toBeNull();
  });
});
