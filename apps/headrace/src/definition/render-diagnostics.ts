interface Diagnostic {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** `path:line:column: message` for each thing that is wrong, as editors read it; null when the answer has none. */
export function renderDiagnostics(body: Readonly<Record<string, unknown>>): string | null {
  const { diagnostics } = body;
  if (!Array.isArray(diagnostics)) return null;
  const lines = diagnostics.filter(isDiagnostic).map(({ path, line, column, message }) =>
    // About the definition as a whole.
    path === '' ? message : `${path}:${line}:${column}: ${message}`,
  );
  return lines.length === 0 ? null : `${lines.join('\n')}\n`;
}

function isDiagnostic(value: unknown): value is Diagnostic {
  if (typeof value !== 'object' || value === null) return false;
  const { path, line, column, message } = value as Partial<Record<keyof Diagnostic, unknown>>;
  return typeof path === 'string' && typeof message === 'string' && Number.isInteger(line) && Number.isInteger(column);
}
