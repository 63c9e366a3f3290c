import { describe, expect, it } from 'vitest';
import type { SlackCommand, SlackMessageEvent } from './slack-event.js';
import { readSlackTrigger, slackChecks } from './slack-filter.js';

const EVENT: SlackMessageEvent = {
  event: 'mention',
  kind: 'mention',
  team: 'T1',
  channel: 'C1',
  user: 'U1',
  isForeign: false,
  text: 'Deploy web/app now',
  ts: '1.000001',
  threadTs: '1.000001',
};
const read = (filter: unknown) => readSlackTrigger({ provider: 'slack', event: 'mention', filter });

function matches(filter: object, event: Partial<SlackMessageEvent> = {}): boolean {
  const trigger = read(filter);
  if (trigger.kind === 'invalid') throw new Error(JSON.stringify(trigger.issues));
  return slackChecks(trigger.filter, { ...EVENT, ...event }, { event: { ts: '1' } }).every(({ passed }) => passed);
}

describe('the filter of a message', () => {
  it.each([
    [{}, true],
    [{ channels: ['C2', 'C1'] }, true],
    [{ channels: ['C2'] }, false],
    [{ users: ['U1'] }, true],
    [{ users: ['U2'] }, false],
    [{ text: ['deploy **'] }, true],
    [{ text: ['deploy'] }, false],
    [{ payload: { event: { ts: ['1'] } } }, true],
    [{ payload: { event: { ts: ['2'] } } }, false],
  ])('%j', (filter, expected) => {
    expect(matches(filter)).toBe(expected);
  });

  it('lets people of other workspaces start nothing unless it names them', () => {
    expect(matches({}, { isForeign: true })).toBe(false);
    expect(matches({ external_users: true }, { isForeign: true })).toBe(true);
  });

  it.each([
    [{ channel: ['C1'] }, '/filter/channel', 'is not a known field: did you mean channels?'],
    [{ channels: ['general'] }, '/filter/channels/0', 'must be an id, such as C024BE91L or U061F7AUR'],
    [{ users: [] }, '/filter/users', 'must be an array of 1 to 50 texts'],
    [{ external_users: 'yes' }, '/filter/external_users', 'must be true or false'],
    [{ text: ['*'.repeat(1)] }, null, ''],
    [{ payload: 1 }, '/filter/payload', expect.any(String)],
    ['no', '/filter', 'must be an object'],
  ])('%j is checked', (filter, pointer, detail) => {
    expect(read(filter)).toMatchObject(
      pointer === null ? { kind: 'valid' } : { kind: 'invalid', issues: [{ pointer, detail }] },
    );
  });
});

describe('the filter of a command', () => {
  const { team, channel, user, isForeign } = EVENT;
  const COMMAND: SlackCommand = {
    event: 'command',
    team,
    channel,
    user,
    isForeign,
    text: 'fix it',
    command: '/headrace',
  };
  const readCommand = (filter: unknown) => readSlackTrigger({ provider: 'slack', event: 'command', filter });

  it.each([
    [{}, true],
    [{ commands: ['/Headrace'] }, true],
    [{ commands: ['/deploy'] }, false],
    [{ commands: ['/headrace'], users: ['U1'], channels: ['C1'], text: ['fix *'] }, true],
    [{ users: ['U2'] }, false],
    [{ channels: ['C2'] }, false],
  ])('%j', (filter, expected) => {
    const trigger = readCommand(filter);
    if (trigger.kind === 'invalid') throw new Error(JSON.stringify(trigger.issues));
    expect(slackChecks(trigger.filter, COMMAND, {}).every(({ passed }) => passed)).toBe(expected);
  });

  it('has commands with their slash, which other events do not have', () => {
    const detail = 'must be a command, such as /headrace';
    expect(readCommand({ commands: ['headrace'] })).toMatchObject({
      issues: [{ pointer: '/filter/commands/0', detail }],
    });
    expect(read({ commands: ['/headrace'] })).toMatchObject({ issues: [{ pointer: '/filter/commands' }] });
  });
});
