import { closestName, type Issue, pointerOf, prefixIssues, type RejectionOf } from '#platform/kernel';
import { failed, type ListField, listIssue, MAX_VALUE, MAX_VALUES, patternCheck } from '../event-filter.js';
import { evaluatePayloadFilter } from '../payload-filter/evaluate.js';
import { isObject, type PayloadFilter } from '../payload-filter/filter.js';
import { parsePayloadFilter } from '../payload-filter/parse.js';
import { preview, previewList } from '../payload-filter/preview.js';
import type { Trigger, TriggerCheck } from '../trigger.js';
import { SLACK_EVENTS, type SlackEvent, type SlackEventName } from './slack-event.js';

/** Characters of a message that patterns are compared with; a pattern matches no longer text. */
const MAX_COMPARED = 4_096;
const FIELDS = ['channels', 'users', 'text', 'external_users', 'payload'] as const;
const fieldsOf = (event: unknown): readonly string[] => (event === 'command' ? ['commands', ...FIELDS] : FIELDS);

/** Which messages start the automation; null: all. */
export interface SlackFilter {
  /** Of the event `command`. */
  readonly commands: readonly string[] | null;
  readonly channels: readonly string[] | null;
  readonly users: readonly string[] | null;
  readonly text: readonly string[] | null;
  readonly externalUsers: boolean;
  readonly payload: PayloadFilter;
}

const LIST_NAMES = ['commands', 'channels', 'users', 'text'] as const;
type ListName = (typeof LIST_NAMES)[number];
const LISTS: Readonly<Record<ListName, ListField & { readonly itemPattern?: string; readonly form?: string }>> = {
  commands: {
    description: 'Commands, such as `/headrace`; case does not matter. Default: all.',
    itemPattern: '^/[^\\s/]+$',
    form: 'must be a command, such as /headrace',
  },
  channels: { description: 'Ids of channels, such as `C024BE91L`. Default: all.', itemPattern: '^[CDG][A-Z0-9]+$' },
  users: { description: 'Ids of users, such as `U061F7AUR`. Default: all.', itemPattern: '^[UW][A-Z0-9]+$' },
  text: {
    description:
      'Patterns of the whole message without mentions of the app, such as `deploy**`; case does not matter. Default: all.',
    isPattern: true,
  },
};

const ID_FORM = 'must be an id, such as C024BE91L or U061F7AUR';

/** JSON Schema of the fields of a trigger beside `provider` and `event`. */
export function slackTriggerSchema(event: SlackEventName) {
  const names = LIST_NAMES.filter((name) => name !== 'commands' || event === 'command');
  const lists = names.map((name) => {
    const { description, itemPattern } = LISTS[name];
    const items = { type: 'string', minLength: 1, maxLength: MAX_VALUE, ...(itemPattern && { pattern: itemPattern }) };
    return [name, { type: 'array', description, items, minItems: 1, maxItems: MAX_VALUES }] as const;
  });
  const filter = {
    type: 'object',
    description: `${SLACK_EVENTS[event]} All fields have to match.`,
    properties: {
      ...Object.fromEntries(lists),
      external_users: {
        type: 'boolean',
        default: false,
        description: 'Whether people of other workspaces start the automation, in channels that are shared with them.',
      },
      payload: {
        type: 'object',
        description: 'A payload filter, as in a trigger for a webhook. Default: no condition.',
      },
    },
    additionalProperties: false,
  };
  return { properties: { filter }, required: [] };
}

export type ReadSlackTrigger = { readonly kind: 'valid'; readonly filter: SlackFilter } | RejectionOf<'invalid'>;

export function readSlackTrigger(trigger: Trigger): ReadSlackTrigger {
  const { filter = {} } = trigger;
  if (!isObject(filter)) return { kind: 'invalid', issues: [{ pointer: '/filter', detail: 'must be an object' }] };
  const fields = fieldsOf(trigger.event);
  const issues: Issue[] = Object.keys(filter).flatMap((name) => {
    if (fields.includes(name)) return [];
    const near = closestName(name, fields);
    const hint = near === undefined ? `the filter of this event has ${fields.join(', ')}` : `did you mean ${near}?`;
    return [{ pointer: pointerOf('filter', name), detail: `is not a known field: ${hint}` }];
  });
  for (const name of LIST_NAMES.filter((one) => fields.includes(one) || one !== 'commands')) {
    const found = listIssue(filter[name], LISTS[name]) ?? itemIssue(filter[name], LISTS[name]);
    if (found !== null) issues.push({ ...found, pointer: `${pointerOf('filter', name)}${found.pointer}` });
  }
  const { external_users: externalUsers = false } = filter;
  if (typeof externalUsers !== 'boolean')
    issues.push({ pointer: '/filter/external_users', detail: 'must be true or false' });
  const payload = parsePayloadFilter(filter.payload ?? {});
  if (payload.kind === 'invalid') issues.push(...prefixIssues('/filter/payload', payload.issues));
  if (issues.length > 0 || payload.kind === 'invalid') return { kind: 'invalid', issues };
  const list = (name: ListName) => (filter[name] as readonly string[] | undefined) ?? null;
  return {
    kind: 'valid',
    filter: {
      commands: list('commands'),
      channels: list('channels'),
      users: list('users'),
      text: list('text'),
      externalUsers: externalUsers === true,
      payload: payload.filter,
    },
  };
}

/** Names of channels and users are not sent with messages, and change. */
function itemIssue(values: unknown, { itemPattern, form = ID_FORM }: (typeof LISTS)[ListName]): Issue | null {
  if (itemPattern === undefined || !Array.isArray(values)) return null;
  const index = (values as readonly string[]).findIndex((value) => !new RegExp(itemPattern).test(value));
  return index < 0 ? null : { pointer: `/${index}`, detail: form };
}

/** Whether the message starts the automation; checks without a condition are omitted. */
export function slackChecks(filter: SlackFilter, event: SlackEvent, payload: unknown): TriggerCheck[] {
  const text = event.text.toLowerCase().slice(0, MAX_COMPARED);
  const checks = [
    event.event === 'command' ? commandCheck(filter.commands, event.command) : null,
    event.isForeign && !filter.externalUsers
      ? failed('sender', `The user ${preview(event.user)} is of another workspace, and external_users is false.`)
      : null,
    idCheck('channel', filter.channels, event.channel),
    idCheck('user', filter.users, event.user),
    patternCheck('text', filter.text, [text], { subject: 'The text', isFolded: true }),
  ];
  const { matched, reason } = evaluatePayloadFilter(filter.payload, payload);
  return [
    { check: 'event', passed: true, reason: `The event is ${event.event}.` },
    ...checks.filter((check) => check !== null),
    ...(filter.payload.leaves > 0 || !matched ? [{ check: 'payload', passed: matched, reason }] : []),
  ];
}

function idCheck(check: 'channel' | 'user', allowed: readonly string[] | null, id: string): TriggerCheck | null {
  if (allowed === null) return null;
  return allowed.includes(id)
    ? { check, passed: true, reason: `The ${check} ${preview(id)} is allowed.` }
    : failed(check, `The ${check} ${preview(id)} is none of ${previewList(new Set(allowed))}.`);
}

function commandCheck(allowed: readonly string[] | null, command: string): TriggerCheck | null {
  if (allowed === null) return null;
  return allowed.some((one) => one.toLowerCase() === command.toLowerCase())
    ? { check: 'command', passed: true, reason: `The command ${preview(command)} is allowed.` }
    : failed('command', `The command ${preview(command)} is none of ${previewList(new Set(allowed))}.`);
}
