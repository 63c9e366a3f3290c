import type { Automation } from '../domain/automation.js';
import type { AutomationIssue } from '../domain/automation-issue.js';
import type { Trigger, TriggerCheck } from '../domain/trigger.js';
import type { TriggerObstacle } from './trigger-provider.js';

export type UnknownAutomation = { readonly kind: 'unknown' };
export type InvalidAutomation = { readonly kind: 'invalid'; readonly issues: readonly AutomationIssue[] };
export type LimitReached = { readonly kind: 'limit_reached'; readonly limit: number };
/** The name of one from a definition is that of its file. */
export type NameIsDefined = { readonly kind: 'name_is_defined' };
export type BadCursor = { readonly kind: 'bad_cursor' };

/** An automation, and why some of its triggers cannot fire. */
export interface AutomationView {
  readonly automation: Automation;
  readonly obstacles: ReadonlyMap<Trigger, TriggerObstacle>;
}

export type CreateAutomationResult =
  { readonly kind: 'created'; readonly view: AutomationView } | LimitReached | InvalidAutomation;
export type ReplaceAutomationResult =
  { readonly kind: 'replaced'; readonly view: AutomationView } | UnknownAutomation | NameIsDefined | InvalidAutomation;
export type DeleteAutomationResult = { readonly kind: 'deleted' } | UnknownAutomation;
export type FindAutomationResult = { readonly kind: 'found'; readonly view: AutomationView } | UnknownAutomation;
export type AutomationPageResult =
  { readonly kind: 'page'; readonly views: readonly AutomationView[]; readonly nextCursor: string | null } | BadCursor;

export type TestTriggerResult =
  | { readonly kind: 'tested'; readonly wouldTrigger: boolean; readonly checks: readonly TriggerCheck[] }
  | UnknownAutomation
  | { readonly kind: 'unknown_trigger' }
  | InvalidAutomation;
