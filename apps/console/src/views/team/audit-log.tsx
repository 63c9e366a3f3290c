import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, content, messageOf, type Schemas } from '../../api/client';
import { Action, Empty, Failure, Time } from '../../components/basics';
import { Table } from '../../components/table';
import { query, setQuery } from '../../router';
import { team } from '../../session';

type Entry = Schemas['AuditEntryItem'];

const PAGE = 50;

/** Not by a link, which has no header for the team. */
async function download(): Promise<void> {
  const text = await content(api.GET('/audit-log/export', { parseAs: 'text' }));
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/x-ndjson' }));
  link.download = 'audit-log.ndjson';
  link.click();
  URL.revokeObjectURL(link.href);
}

export function AuditLog() {
  const entries = useSignal<readonly Entry[] | undefined>(undefined);
  const cursor = useSignal<string | undefined>(undefined);
  const failure = useSignal('');
  const action = query.value.get('action') ?? '';
  const read = async (from: string | undefined): Promise<void> => {
    try {
      const filter = { limit: PAGE, ...(action !== '' && { action }), ...(from !== undefined && { cursor: from }) };
      const page = await content(api.GET('/audit-log', { params: { query: filter } }));
      entries.value = [...(from === undefined ? [] : (entries.value ?? [])), ...page.entries];
      cursor.value = page.page_info.next_cursor;
      failure.value = '';
    } catch (error) {
      failure.value = messageOf(error);
    }
  };
  useEffect(() => void read(undefined), [action, team.value]);
  return (
    <>
      <div class="tools">
        <input
          type="search"
          aria-label="Action"
          placeholder="An action, or a resource with a dot: member."
          value={action}
          onChange={({ currentTarget }) => setQuery({ action: currentTarget.value.trim() })}
        />
        <Action run={download}>Export</Action>
      </div>
      <Failure message={failure.value} />
      {entries.value?.length === 0 && <Empty title="No entry matches" />}
      {entries.value !== undefined && entries.value.length > 0 && (
        <Table label="Audit log" columns={['Number', 'Time', 'Who', 'Action', 'Target', 'From']}>
          {entries.value.map(({ seq, occurred_at: at, actor, target, source, ...entry }) => (
            <tr key={seq}>
              <td>{seq}</td>
              <td>
                <Time at={at} />
              </td>
              <td>{actor.name ?? actor.uid ?? actor.type}</td>
              <td>
                <code>{entry.action}</code>
              </td>
              <td>{target.name ?? target.uid}</td>
              <td>{source?.address}</td>
            </tr>
          ))}
        </Table>
      )}
      {cursor.value !== undefined && (
        <p class="empty">
          <Action run={() => read(cursor.value)}>Show more</Action>
        </p>
      )}
    </>
  );
}
