import { printable } from '../cli/output.js';

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
  if (made + changed + gone === 0) return 'No changes.';
  const would = applied ? '' : 'Dry run: ';
  return `${would}${made} created, ${changed} updated, ${gone} deleted, ${same} unchanged.`;
}

interface Diagnostic {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** `path:line:column: message` for each diagnostic, the format that editors parse; null when the response has none. */
export function renderDiagnostics(body: Readonly<Record<string, unknown>>): string | null {
  const { diagnostics } = body;
  if (!Array.isArray(diagnostics)) return null;
  const lines = diagnostics.filter(isDiagnostic).map(({ path, line, column, message }) =>
    // An empty path means the definition as a whole.
    path === '' ? message : `${path}:${line}:${column}: ${message}`,
  );
  return lines.length === 0 ? null : `${lines.join('\n')}\n`;
}

function isDiagnostic(value: unknown): value is Diagnostic {
  if (typeof value !== 'object' || value === null) return false;
  const { path, line, column, message } = value as Partial<Record<keyof Diagnostic, unknown>>;
  return typeof path === 'string' && typeof message === 'string' && Number.isInteger(line) && Number.isInteger(column);
}
