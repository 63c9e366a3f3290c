import { type Issue, ProblemError } from '#platform/http';
import type {
  CreateAutomationResult,
  DeleteAutomationResult,
  GetAutomationResult,
  ListAutomationsResult,
  ReplaceAutomationResult,
} from '../application/automations.service.js';
import type { TestTriggerResult } from '../application/test-trigger.js';
import type { AutomationIssue } from '../domain/automation.js';

type Success = 'created' | 'replaced' | 'deleted' | 'found' | 'page' | 'tested';
type Result =
  | CreateAutomationResult
  | ReplaceAutomationResult
  | DeleteAutomationResult
  | GetAutomationResult
  | ListAutomationsResult
  | TestTriggerResult;

/** The problem document of a result that is not a success. */
export function automationProblem(result: Exclude<Result, { kind: Success }>): ProblemError {
  switch (result.kind) {
    case 'unknown':
      return new ProblemError('resource_not_found', 'Automation not found.');
    case 'unknown_trigger':
      return new ProblemError('resource_not_found', 'The automation has no trigger at this index; it counts from 0.');
    case 'limit_reached':
      return new ProblemError('limit_reached', `A factory has at most ${result.limit} automations.`);
    case 'name_is_defined': {
      const detail = 'is that of its file in the definition of the factory: rename it there';
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
      return invalidAutomation(result.issues);
  }
}

/** 403 when every issue is a reference that is not accessible: the same as for a reference that does not exist. */
function invalidAutomation(issues: readonly AutomationIssue[]): ProblemError {
  const isForbidden = issues.every(({ kind }) => kind === 'not_authorized');
  const errors = issues.map(({ pointer, detail }) => ({ pointer, detail }));
  return isForbidden ? new ProblemError('not_authorized', sentences(errors), { errors }) : invalidFields(errors);
}

export const invalidFields = (errors: readonly Issue[]): ProblemError =>
  new ProblemError('invalid_request', sentences(errors), { errors });

const MAX_SENTENCES = 5;

function sentences(errors: readonly Issue[]): string {
  const shown = errors.slice(0, MAX_SENTENCES).map(({ pointer, detail }) => `${nameOf(pointer)} ${detail}.`);
  const more = errors.length - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more.`] : [])].join(' ');
}

/** `/triggers/0/filter/a~1b` becomes `triggers[0].filter.a/b`. */
function nameOf(pointer: string): string {
  if (pointer === '') return 'The body';
  const parts = pointer.slice(1).split('/');
  const name = parts
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : path === '' ? part : `${path}.${part}`), '');
  return `\`${name}\``;
}
