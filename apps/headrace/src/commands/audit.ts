import { type ChainedEntry, type ChainHead, ChainVerifier } from '#platform/audit';
import { choice, CommandError, text } from '../cli/command.js';
import { printResult, printRows } from '../cli/output.js';
import { apiCommand } from '../remote/connect.js';

const SCOPE = {
  team: text('uid', 'Team, for users of several teams.'),
  scope: choice(['team', 'installation'], 'Entries of the team, or those that belong to no team. Default: team.'),
};

interface Entry {
  readonly seq: number;
  readonly occurred_at: string;
  readonly action: string;
  readonly actor: { readonly type: string; readonly uid?: string; readonly name?: string };
  readonly target: { readonly type: string; readonly uid?: string; readonly name?: string };
  readonly source?: { readonly address?: string };
}

const MAX_LISTED = 500;

export const list = apiCommand({
  options: {
    ...SCOPE,
    action: text('action', 'Only this action, or with a dot at the end all actions of a resource.'),
  },
  run: async (api, { team, scope = 'team', action, ...values }) => {
    const query = new URLSearchParams({ scope, limit: String(MAX_LISTED), ...(action !== undefined && { action }) });
    const { entries } = await api.get<{ entries: readonly Entry[] }>(`/audit-log?${query.toString()}`, team);
    const rows = entries.map(({ seq, occurred_at: at, actor, target, source, ...entry }) => [
      ...[seq, at, actor.name ?? actor.uid ?? actor.type, entry.action],
      ...[target.name ?? target.uid ?? '', source?.address ?? ''],
    ]);
    printRows(values, ['NUMBER', 'TIME', 'WHO', 'ACTION', 'TARGET', 'FROM'], rows);
  },
});

/** Each entry with its hash on a line, and the head at the end. */
export const exportLog = apiCommand({
  options: SCOPE,
  run: async (api, { team, scope = 'team' }) => {
    for await (const line of api.lines(`/audit-log/export?scope=${scope}`, team)) process.stdout.write(`${line}\n`);
  },
});

/** Exit code 0 when the chain is complete and unchanged, 1 otherwise. */
export const verify = apiCommand({
  options: SCOPE,
  run: async (api, { team, scope = 'team', ...values }) => {
    const verifier = new ChainVerifier();
    let head: ChainHead | null = null;
    for await (const line of api.lines(`/audit-log/export?scope=${scope}`, team)) {
      const value = JSON.parse(line) as ChainedEntry | { readonly head: ChainHead };
      if ('head' in value) head = value.head;
      else verifier.add(value);
    }
    if (head === null) throw new CommandError('the export is not complete.');
    const result = verifier.end(head);
    if (result.kind === 'invalid') throw new CommandError(`entry ${result.seq} of the audit log is ${result.reason}.`);
    const { seq, hash } = result.head;
    printResult(
      values,
      { valid: true, entries: seq, head: hash },
      `${seq} entries are complete and unchanged. Head: ${hash}`,
    );
  },
});
