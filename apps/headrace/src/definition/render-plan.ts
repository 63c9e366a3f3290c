import { printable } from '../cli/printable.js';

/** As the API tells it. */
export interface PlannedChange {
  readonly action: 'create' | 'update' | 'delete' | 'unchanged';
  readonly kind: string;
  readonly name: string;
  readonly uid?: string;
  readonly changes: readonly string[];
  readonly drifted: boolean;
}

export interface AppliedPlan {
  /** False for a dry run. */
  readonly applied: boolean;
  readonly plan: readonly PlannedChange[];
}

const SIGNS = { create: '+', update: '~', delete: '-', unchanged: '=' } as const;

/** The plan, a line for each resource, and how many of which. */
export function renderPlan({ applied, plan }: AppliedPlan): string {
  const kinds = Math.max(0, ...plan.map(({ kind }) => kind.length));
  const names = Math.max(0, ...plan.map(({ name }) => printable(name).length));
  const lines = plan.map((change) =>
    [SIGNS[change.action], change.kind.padEnd(kinds), printable(change.name).padEnd(names), ...remarks(change)]
      .join('  ')
      .trimEnd(),
  );
  return `${[...lines, '', counts(applied, plan)].join('\n')}\n`;
}

function remarks({ action, uid, changes, drifted }: PlannedChange): string[] {
  const drift = action === 'create' ? 'was deleted since the last apply' : 'was changed since the last apply';
  return [
    ...(uid === undefined ? [] : [uid]),
    ...(changes.length === 0 ? [] : [`(${changes.join(', ')})`]),
    ...(drifted ? [drift] : []),
  ];
}

function counts(applied: boolean, plan: readonly PlannedChange[]): string {
  const count = (action: PlannedChange['action']): number => plan.filter((change) => change.action === action).length;
  const [made, changed, gone, same] = [count('create'), count('update'), count('delete'), count('unchanged')];
  if (made + changed + gone === 0) return 'Nothing to do.';
  const would = applied ? '' : 'Would be: ';
  return `${would}${made} created, ${changed} updated, ${gone} deleted, ${same} unchanged.`;
}
