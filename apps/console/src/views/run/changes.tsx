import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, ApiProblem, content, messageOf, type Schemas } from '../../api/client';
import { Empty, Failure } from '../../components/basics';
import { bytes } from '../../format';

const MAX_LINES = 2000;

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
  const { files, truncated } = changes.value;
  if (files.length === 0) return <Empty title="No file has changed" />;
  return (
    <div class="history">
      {truncated && <p class="muted">Not all changes are shown, because they exceed a limit.</p>}
      {files.map((file) => (
        <details class="card call" key={file.path} open={files.length <= 5}>
          <summary>
            <code>{file.old_path === undefined ? file.path : `${file.old_path} → ${file.path}`}</code>{' '}
            <span class="muted">
              {file.change}
              {file.additions !== undefined && ` +${file.additions} −${file.deletions ?? 0}`}
              {file.is_binary && ` binary, ${bytes(file.new_size_bytes ?? file.old_size_bytes ?? 0)}`}
            </span>
          </summary>
          {file.diff !== undefined && <Diff text={file.diff} />}
        </details>
      ))}
    </div>
  );
}

function Diff({ text }: { readonly text: string }) {
  const lines = text.split('\n').slice(4);
  return (
    <div class="diff" tabIndex={0} role="group" aria-label="Differences">
      {lines.slice(0, MAX_LINES).map((line) => (
        <div
          class={
            line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : line.startsWith('@@') ? 'place' : ''
          }
        >
          {line === '' ? ' ' : line}
        </div>
      ))}
      {lines.length > MAX_LINES && <div class="place">… {lines.length - MAX_LINES} lines more</div>}
    </div>
  );
}
