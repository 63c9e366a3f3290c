import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { parseAnsi } from './ansi';
import type { DiffLine } from './diff';

/** More is shown when somebody asks for it. */
const MAX_SHOWN = 20_000;
const MAX_LINES = 500;

/** The output of a program, with its colours. */
export function Output({ text }: { readonly text: string }) {
  const isWhole = useSignal(false);
  const shown = isWhole.value ? text : text.slice(0, MAX_SHOWN);
  const spans = useMemo(() => parseAnsi(shown), [shown]);
  return (
    <>
      <pre tabIndex={0}>
        {spans.map(({ text: part, style }) => (style === '' ? part : <span class={style}>{part}</span>))}
      </pre>
      {shown.length < text.length && (
        <button type="button" onClick={() => (isWhole.value = true)}>
          Show {(text.length - shown.length).toLocaleString()} characters more
        </button>
      )}
    </>
  );
}

export function Diff({ lines }: { readonly lines: readonly DiffLine[] }) {
  const limit = useSignal(MAX_LINES);
  return (
    <>
      <div class="diff" tabIndex={0} role="group" aria-label="Differences">
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
