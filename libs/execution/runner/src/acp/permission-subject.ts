import { createHash } from 'node:crypto';
import type { PermissionSubject } from '#execution/runner-protocol';
import type { PermissionFacts } from './permissions.js';

/** Longer values are cut, with a hash of the whole behind them, so that they still differ where the whole does. */
const MAX_VALUE_LENGTH = 1_024;
const KEPT_LENGTH = 256;
/** Kinds that say what happens to what; `other`, `think` and `switch_mode` may be anything. */
const TELLING_KINDS: readonly string[] = ['read', 'edit', 'delete', 'move', 'search', 'fetch', 'execute'];

/**
 * What the request is about, from the most exact that the agent tells: a command line, the origin of an address, the
 * tool's name, its kind, or else the title. `redact` takes secret values out, which must not leave the runner: two
 * commands that differ in such a value alone are the same.
 */
export function subjectOf(facts: PermissionFacts, title: string, redact: (text: string) => string): PermissionSubject {
  const { toolName, toolKind, commandLine, address } = facts;
  const subject = (type: PermissionSubject['type'], value: string): PermissionSubject => ({
    type,
    value: bounded(redact(value)),
    ...(toolName === undefined || type === 'tool' ? {} : { tool: bounded(redact(toolName)) }),
  });
  const command = commandLine?.trim();
  if (command !== undefined && command !== '') return subject('command', command);
  if (toolKind === 'fetch' && address !== undefined && URL.canParse(address))
    return subject('address', new URL(address).origin);
  // A tool that runs commands and does not say which could run any.
  if (toolKind === 'execute') return subject('title', title);
  if (toolName !== undefined && toolName !== '') return subject('tool', toolName);
  return toolKind !== undefined && TELLING_KINDS.includes(toolKind)
    ? subject('kind', toolKind)
    : subject('title', title);
}

export function isSameSubject(a: PermissionSubject, b: PermissionSubject): boolean {
  return a.type === b.type && a.value === b.value && a.tool === b.tool;
}

function bounded(value: string): string {
  if (value.length <= MAX_VALUE_LENGTH) return value;
  const hash = createHash('sha256').update(value).digest('hex');
  return `${value.slice(0, KEPT_LENGTH).replace(/[\ud800-\udbff]$/, '')}… (sha256:${hash})`;
}
