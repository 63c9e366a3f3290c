import type { Caller } from '#platform/auth';
import { type FactoryAccess, managedFactory } from '#domain/factories';
import { type Issue, ProblemError } from '#platform/http';
import type {
  AutomationPageResult,
  CreateAutomationResult,
  DeleteAutomationResult,
  FindAutomationResult,
  ReplaceAutomationResult,
  TestTriggerResult,
} from '../application/automation-outcomes.js';
import type { TriggerScope } from '../application/trigger-provider.js';
import type { AutomationIssue } from '../domain/automation-issue.js';

type Result =
  | CreateAutomationResult
  | ReplaceAutomationResult
  | DeleteAutomationResult
  | FindAutomationResult
  | AutomationPageResult
  | TestTriggerResult;
type Refusal = Exclude<Result, { kind: 'created' | 'replaced' | 'deleted' | 'found' | 'page' | 'tested' }>;

/** What triggers of the factory may refer to, for those who manage it; throws for everybody else. */
export async function managedScope(access: FactoryAccess, caller: Caller, factoryUid: string): Promise<TriggerScope> {
  const { uid, teamUid } = await managedFactory(access, caller, factoryUid);
  return { factoryUid: uid, teamUid };
}

/** Answers to what a use case refuses. */
export function automationRefusal(refused: Refusal): ProblemError {
  switch (refused.kind) {
    case 'unknown':
      return new ProblemError('resource_not_found', 'The factory has no automation with this uid.');
    case 'unknown_trigger':
      return new ProblemError('resource_not_found', 'The automation has no trigger at this index; they count from 0.');
    case 'limit_reached':
      return new ProblemError('limit_reached', `A factory has at most ${refused.limit} automations.`);
    case 'name_is_defined': {
      const detail = 'is that of its file in the factory’s definition: rename it there';
      return new ProblemError('operation_not_supported', `\`name\` ${detail}.`, {
        errors: [{ pointer: '/name', detail }],
      });
    }
    case 'bad_cursor': {
      const detail = 'is not a cursor of these automations';
      return new ProblemError('invalid_request', `Query parameter \`cursor\` ${detail}.`, {
        errors: [{ pointer: '/cursor', detail }],
      });
    }
    case 'invalid':
      return invalidAutomation(refused.issues);
  }
}

/** A 403 where nothing is wrong but what it names: the same for what is not there and what may not be used. */
function invalidAutomation(issues: readonly AutomationIssue[]): ProblemError {
  const isForbidden = issues.every(({ kind }) => kind === 'not_authorized');
  const errors = issues.map(({ pointer, detail }) => ({ pointer, detail }));
  return isForbidden ? new ProblemError('not_authorized', sentences(errors), { errors }) : invalidFields(errors);
}

export const invalidFields = (errors: readonly Issue[]): ProblemError =>
  new ProblemError('invalid_request', sentences(errors), { errors });

const MAX_SENTENCES = 5;

function sentences(errors: readonly Issue[]): string {
  const told = errors.slice(0, MAX_SENTENCES).map(({ pointer, detail }) => `${nameOf(pointer)} ${detail}.`);
  const more = errors.length - told.length;
  return [...told, ...(more > 0 ? [`${more} more.`] : [])].join(' ');
}

/** `/triggers/0/filter/a~1b` as people write it: `triggers[0].filter.a/b`. */
function nameOf(pointer: string): string {
  if (pointer === '') return 'The body';
  const parts = pointer.slice(1).split('/');
  const name = parts
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : path === '' ? part : `${path}.${part}`), '');
  return `\`${name}\``;
}
