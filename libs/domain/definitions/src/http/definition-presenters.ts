import { type PlanAction, PLAN_ACTIONS, type PlanEntry } from '../domain/definition.js';
import type { ApplyFactoryDefinitionResponse, FactoryDefinitionChange } from './definition.dto.js';

export function presentPlan(applied: boolean, plan: readonly PlanEntry[]): ApplyFactoryDefinitionResponse {
  const count = (action: PlanAction): number => plan.filter((entry) => entry.action === action).length;
  const [create, update, remove, unchanged] = PLAN_ACTIONS.map(count);
  return {
    applied,
    plan: plan.map(presentChange),
    summary: { create: create ?? 0, update: update ?? 0, delete: remove ?? 0, unchanged: unchanged ?? 0 },
  };
}

const presentChange = ({ action, kind, name, path, uid, changes, drifted }: PlanEntry): FactoryDefinitionChange => ({
  action,
  kind,
  name,
  ...(path !== null && { path }),
  ...(uid !== null && { uid }),
  changes: [...changes],
  drifted,
});
