import {
  inaccessibleReferences,
  invalidCursor,
  invalidInput,
  limitReached,
  notFound,
  ProblemError,
} from '#platform/http';
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
      return notFound('automation');
    case 'unknown_trigger':
      return new ProblemError('resource_not_found', 'The automation has no trigger at this index; it counts from 0.');
    case 'limit_reached':
      return limitReached('A factory', result.limit, 'automations');
    case 'name_is_defined': {
      const detail = 'is that of its file in the definition of the factory: rename it there';
      return new ProblemError('operation_not_supported', `\`name\` ${detail}.`, {
        errors: [{ pointer: '/name', detail }],
      });
    }
    case 'bad_cursor':
      return invalidCursor('these automations');
    case 'invalid':
      return invalidAutomation(result.issues);
  }
}

/** 403 when every issue is a reference that is not accessible: the same as for a reference that does not exist. */
function invalidAutomation(issues: readonly AutomationIssue[]): ProblemError {
  const isForbidden = issues.every(({ kind }) => kind === 'not_authorized');
  return isForbidden ? inaccessibleReferences(issues) : invalidInput(issues);
}
