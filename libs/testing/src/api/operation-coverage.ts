import type { OpenAPIObject } from '@nestjs/swagger';

/** Every operation can answer these; one test brings each about for all of them at once. */
const SHARED = new Set(['401', '429', '500', '503']);

interface Operation {
  readonly line: string;
  readonly method: string;
  readonly pattern: RegExp;
  readonly parameters: number;
  readonly statuses: readonly string[];
}

function operationsOf(document: OpenAPIObject): Operation[] {
  return Object.entries(document.paths)
    .flatMap(([path, item]) =>
      Object.entries(item as Record<string, { responses: Record<string, unknown> }>).map(([method, { responses }]) => ({
        line: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
        parameters: path.split('{').length,
        statuses: Object.keys(responses).filter((status) => !SHARED.has(status)),
      })),
    )
    .sort((a, b) => a.parameters - b.parameters);
}

/**
 * Documented statuses that no exchange has shown, as `METHOD /path status`. An exchange is a line `METHOD path status`,
 * the path relative to the API's base or below `/api/v1`.
 */
export function uncoveredStatuses(document: OpenAPIObject, exchanges: Iterable<string>): string[] {
  const operations = operationsOf(document);
  const seen = new Set<string>();
  for (const exchange of exchanges) {
    const [method, path = '', status] = exchange.split(' ');
    const relative = path.replace(/^\/api\/v1(?=\/)/, '');
    const operation = operations.find((candidate) => candidate.method === method && candidate.pattern.test(relative));
    if (operation) seen.add(`${operation.line} ${status}`);
  }
  return operations
    .flatMap(({ line, statuses }) => statuses.map((status) => `${line} ${status}`))
    .filter((wanted) => !seen.has(wanted));
}
