import { useSignal } from '@preact/signals';
import type { DiffLine } from './line-diff';

/** More is shown when somebody asks for it. */
const MAX_LINES = 500;

interface DiffProps {
  readonly lines: readonly DiffLine[];
  /** Of one of several on the page. */
  readonly label?: string;
}

export function Diff({ lines, label }: DiffProps) {
  const limit = useSignal(MAX_LINES);
  const role = label === undefined ? 'group' : 'region';
  return (
    <>
      <div class="diff" tabIndex={0} role={role} aria-label={label ?? 'Differences'}>
        {lines.slice(0, limit.value).map(({ kind, text }) => (
          <div class={kind}>{text === '' ? ' ' : text}</div>
        ))}
      </div>
      {lines.length > limit.value && (
        <button type="button" onClick={() => (limit.value += 10 * MAX_LINES)}>
          Show more of {(lines.length - limit.value).toLocaleString()} lines
        </button>
      )}
    </>
  );
}
