import { ProblemError } from '#platform/http';
import {
  type DefinitionFile,
  type Diagnostic,
  PLAN_ACTIONS,
  type PlanAction,
  type PlanEntry,
} from '../domain/definition.js';
import type { ApplyFactoryDefinitionResponse } from './definition.dto.js';

export function presentPlan(applied: boolean, plan: readonly PlanEntry[]): ApplyFactoryDefinitionResponse {
  const count = (action: PlanAction): number => plan.filter((entry) => entry.action === action).length;
  const [create, update, remove, unchanged] = PLAN_ACTIONS.map(count);
  return {
    applied,
    plan: plan.map(({ path, uid, changes, ...entry }) => ({
      ...entry,
      path: path ?? undefined,
      uid: uid ?? undefined,
      changes: [...changes],
    })),
    summary: { create: create ?? 0, update: update ?? 0, delete: remove ?? 0, unchanged: unchanged ?? 0 },
  };
}

const MAX_SENTENCES = 5;

/** Nothing was applied. Every diagnostic is there twice: as an error of the request, and as it is. */
export function invalidDefinition(files: readonly DefinitionFile[], diagnostics: readonly Diagnostic[]): ProblemError {
  const places = new Map(files.map(({ path }, index) => [path, `/files/${index}/content`]));
  const errors = diagnostics.map((diagnostic) => ({
    pointer: places.get(diagnostic.path) ?? '/files',
    detail: located(diagnostic),
  }));
  const shown = errors.slice(0, MAX_SENTENCES).map(({ detail }) => detail);
  const more = errors.length - shown.length;
  return new ProblemError(
    'invalid_request',
    [`Nothing was applied. ${shown.join(' ')}`, ...(more > 0 ? [`${more} more.`] : [])].join(' '),
    { errors, members: { diagnostics } },
  );
}

const located = ({ path, line, column, message }: Diagnostic): string =>
  `${path === '' ? '' : `${path}:${line}:${column}: `}${message}`;
