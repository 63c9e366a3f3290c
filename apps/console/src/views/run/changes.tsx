import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { api, ApiProblem, content, messageOf, type Schemas } from '../../api/client';
import { API_URL } from '../../base';
import { Action, Empty, Failure } from '../../components/basics';
import { copy } from '../../components/copy';
import { bytes } from '../../format';
import { query, setQuery } from '../../router';
import { unifiedLines } from '../../components/line-diff';
import { Diff } from '../../components/diff';
import { Output } from './output';

type ChangedFile = Schemas['ChangedFile'];

/** More changed lines than this are shown when somebody opens the file. */
const OPEN_LINES = 200;
const OPEN_FILES = 20;
const MAX_TEXT_BYTES = 512 * 1024;

export function Changes({ runId }: { readonly runId: string }) {
  const changes = useSignal<Schemas['ListRunChangesResponse'] | null | undefined>(undefined);
  const failure = useSignal('');
  useEffect(() => {
    content(api.GET('/agent/runs/{runId}/changes', { params: { path: { runId } } })).then(
      (found) => {
        changes.value = found;
      },
      (error: unknown) => {
        changes.value = null;
        // The run has no stored snapshot.
        if (!(error instanceof ApiProblem && error.status === 404)) failure.value = messageOf(error);
      },
    );
  }, [runId]);
  if (failure.value !== '') return <Failure message={failure.value} />;
  if (changes.value === undefined) return <p role="status">Loading …</p>;
  if (changes.value === null)
    return (
      <Empty title="No files are stored">
        <p>The files of a run are stored at the end of each turn, and deleted with the transcript.</p>
      </Empty>
    );
  const { files, truncated, to } = changes.value;
  if (files.length === 0) return <Empty title="No file has changed" />;
  return (
    <div class="changes">
      <Files files={files} />
      <div class="history">
        {truncated && <p class="muted">Not all changes are shown, because they exceed a limit.</p>}
        {files.map((file, index) => (
          <FileChange key={file.path} runId={runId} at={to.snapshot_id} file={file} isEarly={index < OPEN_FILES} />
        ))}
      </div>
    </div>
  );
}

const select = (path: string): void => {
  setQuery({ file: path });
  for (const element of document.querySelectorAll<HTMLElement>('[data-file]'))
    if (element.dataset['file'] === path) element.scrollIntoView();
};

/** The changed files by directory. */
function Files({ files }: { readonly files: readonly ChangedFile[] }) {
  const directories = useMemo(() => {
    const found = new Map<string, ChangedFile[]>();
    for (const file of files) {
      const directory = file.path.slice(0, file.path.lastIndexOf('/') + 1);
      found.set(directory, [...(found.get(directory) ?? []), file]);
    }
    return [...found];
  }, [files]);
  return (
    <nav class="files card" aria-label="Changed files">
      {directories.map(([directory, inside]) => (
        <div key={directory}>
          {directory !== '' && (
            <div class="muted directory">
              <bdi>{directory}</bdi>
            </div>
          )}
          {inside.map(({ path, additions, deletions, change }) => (
            <button type="button" class="plain" key={path} title={`${path}, ${change}`} onClick={() => select(path)}>
              <bdi>{path.slice(directory.length)}</bdi>
              {additions !== undefined && (
                <span class="muted">
                  +{additions} −{deletions ?? 0}
                </span>
              )}
            </button>
          ))}
        </div>
      ))}
    </nav>
  );
}

interface FileChangeProps {
  readonly runId: string;
  /** The snapshot after the changes. */
  readonly at: string;
  readonly file: ChangedFile;
  readonly isEarly: boolean;
}

function FileChange({ runId, at, file, isEarly }: FileChangeProps) {
  const { path, old_path: oldPath, change, additions = 0, deletions = 0, is_binary: isBinary, diff } = file;
  const isSmall = additions + deletions <= OPEN_LINES;
  const isOpen = useSignal((isEarly && isSmall) || query.peek().get('file') === path);
  const isSelected = query.value.get('file') === path;
  useEffect(() => {
    if (isSelected) isOpen.value = true;
  }, [isSelected]);
  return (
    <details
      class={`card call ${isSelected ? 'selected' : ''}`}
      data-file={path}
      open={isOpen.value}
      onToggle={({ currentTarget }) => {
        isOpen.value = currentTarget.open;
      }}
    >
      <summary>
        <code>
          <bdi>{oldPath === undefined ? path : `${oldPath} → ${path}`}</bdi>
        </code>{' '}
        <span class="muted">
          {change}
          {file.additions !== undefined && ` +${additions} −${deletions}`}
          {isBinary && ` binary, ${bytes(file.new_size_bytes ?? file.old_size_bytes ?? 0)}`}
        </span>
      </summary>
      {isOpen.value && (
        <div class="inside">
          <div class="actions">
            <Action class="small" run={() => copy(path)}>
              Copy path
            </Action>
            {change !== 'deleted' && <WholeFile runId={runId} at={at} file={file} />}
          </div>
          {diff !== undefined && <DiffOf text={diff} />}
        </div>
      )}
    </details>
  );
}

function DiffOf({ text }: { readonly text: string }) {
  const lines = useMemo(() => unifiedLines(text), [text]);
  return <Diff lines={lines} />;
}

function WholeFile({ runId, at, file }: Omit<FileChangeProps, 'isEarly'>) {
  const text = useSignal<string | null>(null);
  const url = `${API_URL}/agent/runs/${runId}/files?${new URLSearchParams({ path: file.path, at }).toString()}`;
  const open = async (): Promise<void> => {
    const { data, error, response } = await api.GET('/agent/runs/{runId}/files', {
      params: { path: { runId }, query: { path: file.path, at } },
      parseAs: 'text',
    });
    if (!response.ok) throw new ApiProblem(response.status, error?.detail ?? 'The file could not be read.');
    text.value = String(data);
  };
  const isText = !file.is_binary && (file.new_size_bytes ?? 0) <= MAX_TEXT_BYTES;
  return (
    <>
      {isText &&
        (text.value === null ? (
          <Action class="small" run={open}>
            Show the file
          </Action>
        ) : (
          <button type="button" class="small" onClick={() => (text.value = null)}>
            Hide the file
          </button>
        ))}
      <a href={url} download={file.path.split('/').at(-1) ?? file.path}>
        Download
      </a>
      {text.value !== null && (
        <div class="whole" role="group" aria-label={`Content of ${file.path}`}>
          <Output text={text.value} />
        </div>
      )}
    </>
  );
}
