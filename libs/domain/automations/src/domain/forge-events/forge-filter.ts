import { closestName, type Issue, pointerOf, prefixIssues, type RejectionOf } from '#platform/kernel';
import { evaluatePayloadFilter } from '../payload-filter/evaluate.js';
import { isObject, type PayloadFilter } from '../payload-filter/filter.js';
import { parsePayloadFilter } from '../payload-filter/parse.js';
import { preview, previewList } from '../payload-filter/preview.js';
import type { Trigger, TriggerCheck } from '../trigger.js';
import {
  definitionOf,
  type ForgeEvent,
  type ForgeEventName,
  type ForgeProvider,
  UNKNOWN_ASSOCIATION,
} from './forge-event.js';
import { failed, type ListField, listIssue, MAX_VALUE, MAX_VALUES, patternCheck } from '../event-filter.js';

const ASSOCIATIONS = [
  'OWNER',
  'MEMBER',
  'COLLABORATOR',
  'CONTRIBUTOR',
  'FIRST_TIME_CONTRIBUTOR',
  'FIRST_TIMER',
  'MANNEQUIN',
  'NONE',
];
const WITH_RIGHTS = ['OWNER', 'MEMBER', 'COLLABORATOR'];
export const EVERYBODY = '*';

/** Which events of one kind start the automation; null: all. */
export interface ForgeFilter {
  readonly repositories: readonly string[] | null;
  readonly senders: readonly string[] | null;
  readonly authorAssociations: readonly string[] | null;
  readonly bots: boolean;
  readonly labels: readonly string[] | null;
  readonly branches: readonly string[] | null;
  readonly tags: readonly string[] | null;
  readonly paths: readonly string[] | null;
  readonly mention: string | null;
  readonly payload: PayloadFilter;
}

const LISTS: Readonly<Record<string, ListField>> = {
  repositories: {
    description: 'Patterns of full names of repositories, such as `acme/*`. Default: all.',
    isPattern: true,
  },
  senders: {
    description:
      'Names of the users whose actions start the automation, whatever their rights; `*` is everybody. Required on GitLab for issues and merge requests that are opened, and for comments.',
  },
  labels: { description: 'The added label, or a label of the issue or pull request, is one of these. Default: any.' },
  branches: {
    description: 'Patterns of branches; of a pull request the branch to merge into. Default: all.',
    isPattern: true,
  },
  tags: { description: 'Patterns of tags. Default: all.', isPattern: true },
  paths: { description: 'A changed file matches one of these patterns. Default: any.', isPattern: true },
  author_associations: {
    description: `Relation of the sender to the repository, where the event is open to people without rights. Default, without \`senders\`: ${WITH_RIGHTS.join(', ')}.`,
    values: ASSOCIATIONS,
  },
};

/** The names of the fields that the filter of an event has. */
function fieldsOf(provider: ForgeProvider, event: ForgeEventName): readonly string[] {
  const { filters, isOfPrograms } = definitionOf(event);
  const own = filters.filter((name) => provider === 'github' || name !== 'author_associations');
  return ['repositories', ...(isOfPrograms ? [] : ['senders', 'bots']), ...own, 'payload'];
}

const needsSenders = (provider: ForgeProvider, event: ForgeEventName): boolean =>
  provider === 'gitlab' && definitionOf(event).isOpenToAll === true;

function schemaOf(name: string): object {
  // Without its parts: the schema of a definition contains that of each event, and would need seconds to be compiled.
  if (name === 'payload')
    return { type: 'object', description: 'A payload filter, as in a trigger for a webhook. Default: no condition.' };
  if (name === 'bots') return { type: 'boolean', default: false, description: 'Whether bots start the automation.' };
  if (name === 'mention')
    return {
      type: 'string',
      minLength: 1,
      maxLength: MAX_VALUE,
      description: 'A word that the text contains, such as `@headrace`.',
    };
  const { description, values } = LISTS[name] ?? { description: '' };
  const items = { type: 'string', minLength: 1, maxLength: MAX_VALUE, ...(values && { enum: values }) };
  return { type: 'array', description, items, minItems: 1, maxItems: MAX_VALUES };
}

/** JSON Schema of the fields of a trigger beside `provider` and `event`. */
export function forgeTriggerSchema(provider: ForgeProvider, event: ForgeEventName) {
  const names = fieldsOf(provider, event);
  const required = needsSenders(provider, event) ? ['senders'] : [];
  const filter = {
    type: 'object',
    description: `${definitionOf(event).description} All fields have to match.`,
    properties: Object.fromEntries(names.map((name) => [name, schemaOf(name)])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
  return { properties: { filter }, required: required.length > 0 ? ['filter'] : [] };
}

export type ReadForgeTrigger = { readonly kind: 'valid'; readonly filter: ForgeFilter } | RejectionOf<'invalid'>;

export function readForgeTrigger(provider: ForgeProvider, event: ForgeEventName, trigger: Trigger): ReadForgeTrigger {
  const { filter = {} } = trigger;
  if (!isObject(filter)) return { kind: 'invalid', issues: [{ pointer: '/filter', detail: 'must be an object' }] };
  const names = fieldsOf(provider, event);
  const issues: Issue[] = [];
  for (const name of Object.keys(filter)) {
    if (names.includes(name)) continue;
    const near = closestName(name, names);
    const hint = near === undefined ? `the filter of this event has ${names.join(', ')}` : `did you mean ${near}?`;
    issues.push({ pointer: pointerOf('filter', name), detail: `is not a known field: ${hint}` });
  }
  const list = (name: string): readonly string[] | null => {
    const found = names.includes(name) ? listIssue(filter[name], LISTS[name]) : null;
    if (found !== null) issues.push({ ...found, pointer: `${pointerOf('filter', name)}${found.pointer}` });
    return found === null && names.includes(name) ? ((filter[name] as readonly string[] | undefined) ?? null) : null;
  };
  const { bots = false, mention = null } = filter;
  if (typeof bots !== 'boolean') issues.push({ pointer: '/filter/bots', detail: 'must be true or false' });
  if (mention !== null && !isText(mention))
    issues.push({ pointer: '/filter/mention', detail: `must be text of 1 to ${MAX_VALUE} characters without spaces` });
  const payload = parsePayloadFilter(filter.payload ?? {});
  if (payload.kind === 'invalid') issues.push(...prefixIssues('/filter/payload', payload.issues));
  const senders = list('senders');
  if (needsSenders(provider, event) && filter.senders === undefined)
    issues.push({
      pointer: '/filter/senders',
      detail: `is required: everybody can cause this event, and GitLab does not send their role. Name the users, or use ["${EVERYBODY}"]`,
    });
  const parsed = {
    repositories: list('repositories'),
    senders,
    authorAssociations:
      list('author_associations') ?? (definitionOf(event).isOfPrograms || senders !== null ? null : WITH_RIGHTS),
    bots: bots === true,
    labels: list('labels'),
    branches: list('branches'),
    tags: list('tags'),
    paths: list('paths'),
    mention: typeof mention === 'string' ? mention : null,
  };
  if (issues.length > 0 || payload.kind === 'invalid') return { kind: 'invalid', issues };
  return { kind: 'valid', filter: { ...parsed, payload: payload.filter } };
}

const isText = (value: unknown): boolean =>
  typeof value === 'string' && value !== '' && value.length <= MAX_VALUE && !/\s/.test(value);

interface CheckedEvent {
  readonly event: ForgeEvent;
  readonly payload: unknown;
  /** E-mail address with which agents commit. */
  readonly agentEmail: string;
}

/** Whether the event starts the automation; checks without a condition are omitted. */
export function forgeChecks(filter: ForgeFilter, { event, payload, agentEmail }: CheckedEvent): TriggerCheck[] {
  const { sender } = event;
  const checks: (TriggerCheck | null)[] = [
    ownCheck(event, agentEmail),
    event.refusal === null ? null : failed('cause', event.refusal),
    patternCheck('repository', filter.repositories, [event.repository.toLowerCase()], {
      subject: `The repository ${preview(event.repository)}`,
      isFolded: true,
    }),
    filter.bots || !sender.isBot || definitionOf(event.event).isOfPrograms === true
      ? null
      : failed('sender', `The sender ${preview(sender.name)} is a bot, and bots is false.`),
    senderCheck(filter.senders, sender.name),
    associationCheck(filter.authorAssociations, event),
    labelsCheck(filter.labels, event.labels),
    patternCheck('branch', filter.branches, event.branch === null ? [] : [event.branch], {
      subject: event.branch === null ? 'The event has no branch, which' : `The branch ${preview(event.branch)}`,
    }),
    patternCheck('tag', filter.tags, event.tag === null ? [] : [event.tag], {
      subject: event.tag === null ? 'The event has no tag, which' : `The tag ${preview(event.tag)}`,
    }),
    patternCheck('paths', filter.paths, event.paths, { subject: `None of the ${event.paths.length} changed files` }),
    mentionCheck(filter.mention, event.text),
  ];
  const { matched, reason } = evaluatePayloadFilter(filter.payload, payload);
  return [
    { check: 'event', passed: true, reason: `The event is ${event.event}.` },
    ...checks.filter((check) => check !== null),
    ...(filter.payload.leaves > 0 || !matched ? [{ check: 'payload', passed: matched, reason }] : []),
  ];
}

/** What agents write has a mark, and what they commit has their address: an automation never starts by its own work. */
function ownCheck({ isOfRun, commitEmail }: ForgeEvent, agentEmail: string): TriggerCheck | null {
  if (isOfRun) return failed('own', 'The text was written by a run.');
  if (commitEmail !== null && commitEmail.toLowerCase() === agentEmail.toLowerCase())
    return failed('own', 'The last commit was made by a run.');
  return null;
}

const has = (values: readonly string[], wanted: string): boolean =>
  values.some((value) => value.toLowerCase() === wanted.toLowerCase());

function senderCheck(senders: readonly string[] | null, name: string): TriggerCheck | null {
  if (senders === null) return null;
  if (senders.includes(EVERYBODY)) return { check: 'sender', passed: true, reason: 'Every sender is allowed.' };
  return has(senders, name)
    ? { check: 'sender', passed: true, reason: `The sender ${preview(name)} is allowed.` }
    : failed('sender', `The sender ${preview(name)} is none of ${previewList(new Set(senders))}.`);
}

function associationCheck(allowed: readonly string[] | null, { association, sender }: ForgeEvent): TriggerCheck | null {
  if (allowed === null || association === null) return null;
  if (association === UNKNOWN_ASSOCIATION)
    return failed(
      'sender_rights',
      `The event does not say whether the sender ${preview(sender.name)} has rights: \`senders\` can name the users.`,
    );
  const relation = `The sender has the association ${preview(association)}`;
  return allowed.includes(association)
    ? { check: 'sender_rights', passed: true, reason: `${relation}.` }
    : failed('sender_rights', `${relation}, which is none of ${allowed.join(', ')}.`);
}

function labelsCheck(wanted: readonly string[] | null, labels: readonly string[]): TriggerCheck | null {
  if (wanted === null) return null;
  const found = labels.find((label) => has(wanted, label));
  if (found !== undefined) return { check: 'labels', passed: true, reason: `There is the label ${preview(found)}.` };
  const given = labels.length === 0 ? 'There is no label' : `The labels are ${previewList(new Set(labels))}`;
  return failed('labels', `${given}, and one has to be one of ${previewList(new Set(wanted))}.`);
}

function mentionCheck(mention: string | null, text: string | null): TriggerCheck | null {
  if (mention === null) return null;
  return text !== null && mentions(text, mention)
    ? { check: 'mention', passed: true, reason: `The text contains ${preview(mention)}.` }
    : failed('mention', `The text does not contain ${preview(mention)} as a word.`);
}

const WORD = /[\p{L}\p{N}_-]/u;

/** As a word: `@headrace` is neither in `@headrace-bot` nor in `team@headrace`. Quoted lines are of somebody else. */
function mentions(text: string, mention: string): boolean {
  const folded = text
    .toLowerCase()
    .split('\n')
    .filter((line) => !line.trimStart().startsWith('>'))
    .join('\n');
  const wanted = mention.toLowerCase();
  for (let at = folded.indexOf(wanted); at >= 0; at = folded.indexOf(wanted, at + 1)) {
    const before = folded[at - 1] ?? ' ';
    const after = folded[at + wanted.length] ?? ' ';
    if (!WORD.test(before) && !WORD.test(after)) return true;
  }
  return false;
}
