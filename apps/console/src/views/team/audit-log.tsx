import { api, content } from '../../api/client';
import { Action, Empty, Failure, Time } from '../../components/basics';
import { textOf } from '../../components/operation';
import { More, usePages } from '../../components/pages';
import { Table } from '../../components/table';
import { download } from '../../components/download';
import { toIso, toLocalInput } from '../../format';
import { query, setQuery } from '../../router';
import { principal, team } from '../../session';

const PAGE = 50;
const TEXTS = ['action', 'actor', 'target'] as const;
const TIMES = ['after', 'before'] as const;
const FILTERS = [...TEXTS, ...TIMES] as const;
type Scope = 'team' | 'installation';

async function exportLog(scope: Scope): Promise<void> {
  const text = await content(api.GET('/audit-log/export', { params: { query: { scope } }, parseAs: 'text' }));
  const name = scope === 'team' ? 'audit-log.ndjson' : 'audit-log-of-the-installation.ndjson';
  download(name, 'application/x-ndjson', text);
}

export function AuditLog() {
  const value = (name: string): string => query.value.get(name) ?? '';
  const [action, actor, target, after, before] = FILTERS.map(value) as [string, string, string, string, string];
  const scope: Scope = value('scope') === 'installation' ? 'installation' : 'team';
  const filter = {
    limit: PAGE,
    scope,
    ...(action !== '' && { action }),
    ...(actor !== '' && { actor_uid: actor }),
    ...(target !== '' && { target_uid: target }),
    ...(after !== '' && { after: toIso(after) }),
    ...(before !== '' && { before: toIso(before) }),
  };
  const list = usePages(
    async (cursor) => {
      const page = { ...filter, ...(cursor !== undefined && { cursor }) };
      const { entries, page_info } = await content(api.GET('/audit-log', { params: { query: page } }));
      return { items: entries, page_info };
    },
    `${team.value ?? ''} ${JSON.stringify(filter)}`,
  );
  const only = (name: string, uid: string | undefined, text: string) =>
    uid === undefined ? (
      text
    ) : (
      <button
        type="button"
        class="plain text"
        title={`Only entries of ${text}`}
        onClick={() => setQuery({ [name]: uid })}
      >
        {text}
      </button>
    );
  return (
    <>
      <form
        class="tools"
        key={JSON.stringify(filter)}
        aria-label="Filters of the audit log"
        onSubmit={(event) => {
          event.preventDefault();
          const data = new FormData(event.currentTarget);
          setQuery({
            ...Object.fromEntries(TEXTS.map((name) => [name, textOf(data, name).trim()])),
            // Links mean the same time in every zone.
            ...Object.fromEntries(TIMES.map((name) => [name, toIso(textOf(data, name))])),
          });
        }}
      >
        {principal.value?.is_administrator === true && (
          <select
            aria-label="Entries"
            onChange={({ currentTarget }) =>
              setQuery({ scope: currentTarget.value === 'team' ? null : currentTarget.value })
            }
          >
            <option value="team">of the team</option>
            <option value="installation" selected={scope === 'installation'}>
              of the installation
            </option>
          </select>
        )}
        <input
          type="search"
          name="action"
          aria-label="Action"
          placeholder="An action, or a resource with a dot: member."
          defaultValue={action}
        />
        <input name="actor" aria-label="Actor" placeholder="UID of the actor" maxLength={64} defaultValue={actor} />
        <input
          name="target"
          aria-label="Target"
          placeholder="UID or name of the target"
          maxLength={256}
          defaultValue={target}
        />
        <label>
          After <input type="datetime-local" name="after" defaultValue={toLocalInput(after)} />
        </label>
        <label>
          Before <input type="datetime-local" name="before" defaultValue={toLocalInput(before)} />
        </label>
        <button>Filter</button>
        <button
          type="button"
          class="plain"
          onClick={() => setQuery(Object.fromEntries(FILTERS.map((name) => [name, null])))}
        >
          Remove the filters
        </button>
        <Action run={() => exportLog(scope)}>Export</Action>
      </form>
      <Failure message={list.failure} />
      {list.items === undefined && list.failure === '' && <p role="status">Loading …</p>}
      {list.items?.length === 0 && <Empty title="No entry matches" />}
      {list.items !== undefined && list.items.length > 0 && (
        <Table label="Audit log" columns={['Number', 'Time', 'Who', 'Action', 'Target', 'From']}>
          {list.items.map(({ seq, occurred_at: at, actor: by, target: of, source, ...entry }) => (
            <tr key={seq}>
              <td>{seq}</td>
              <td>
                <Time at={at} />
              </td>
              <td>{only('actor', by.uid, by.name ?? by.uid ?? by.type)}</td>
              <td>
                <code>{entry.action}</code>
              </td>
              <td>{only('target', of.uid, of.name ?? of.uid ?? '')}</td>
              <td>{source?.address}</td>
            </tr>
          ))}
        </Table>
      )}
      <More pages={list} />
    </>
  );
}
