import type { Caller } from '#platform/auth';
import { type FactoryAccess, managedFactory } from '#domain/factories';
import {
  inaccessibleReferences,
  invalidCursor,
  invalidInput,
  limitReached,
  notFound,
  ProblemError,
} from '#platform/http';
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
      return notFound('automation');
    case 'unknown_trigger':
      return new ProblemError('resource_not_found', 'The automation has no trigger at this index; they count from 0.');
    case 'limit_reached':
      return limitReached('A factory', refused.limit, 'automations');
    case 'name_is_defined': {
      const detail = 'is that of its file in the factory’s definition: rename it there';
      return new ProblemError('operation_not_supported', `\`name\` ${detail}.`, {
        errors: [{ pointer: '/name', detail }],
      });
    }
    case 'bad_cursor':
      return invalidCursor('these automations');
    case 'invalid':
      return invalidAutomation(refused.issues);
  }
}

/** A 403 when all issues are references; it does not distinguish what does not exist from what may not be used. */
function invalidAutomation(issues: readonly AutomationIssue[]): ProblemError {
  const isForbidden = issues.every(({ kind }) => kind === 'not_authorized');
  return isForbidden ? inaccessibleReferences(issues) : invalidInput(issues);
}
